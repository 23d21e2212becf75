"""Conditional means and covariances of missing values, row by row, under a latent linear model.

The rows are in units in which the noise has variance one, so their covariance is I + LL'. With V = L chol(I + L'L)^-T,
its inverse is K = I - VV'. A row with m missing values needs the inverse of an m x m block of K, or of a k x k matrix,
whichever is smaller; rows of one pattern share it.
"""

import math

import numpy as np

from lowland.kernels.compile import kernel, vector_kernel

_LANES = 4  # patterns that are inverted together: as many numbers as a vector register holds


@kernel
def count_missing(X, counts):
    """Count the missing values (NaN) of each row, (n,)."""
    for i in range(X.shape[0]):
        row, m = X[i], 0
        for j in range(row.size):
            m += row[j] != row[j]
        counts[i] = m


@kernel
def add_observed(X, shift, weights, cells, weight, sums, squares):
    """Add the observed values of each column, less a shift, and their squares; return the number of empty rows."""
    empty = 0
    for i in range(X.shape[0]):
        row, w, seen = X[i], weights[i], 0
        for j in range(row.size):
            v = row[j] - shift[j]
            if row[j] == row[j]:
                seen += 1
                cells[j] += 1
                weight[j] += w
                sums[j] += w * v
                squares[j] += w * v * v
        empty += seen == 0
    return empty


@vector_kernel
def center_observed(X, mean, scale, start, C, missing, squares, pattern):
    """Write (x - mean) * scale to C, zeros for missing values; list their columns; hash each pattern. C may be X."""
    for i in range(X.shape[0]):
        row, out, at = X[i], C[i], start[i]
        code = np.uint64(1469598103934665603)
        if start[i + 1] > at:
            for j in range(row.size):
                if row[j] != row[j]:
                    missing[at] = j
                    at += 1
                    code = (code ^ np.uint64(j + 1)) * np.uint64(1099511628211)
        pattern[i] = code
        total = 0.0
        for j in range(row.size):
            v = (row[j] - mean[j]) * scale[j]
            v = v if row[j] == row[j] else 0.0
            out[j] = v
            total += v * v
        squares[i] = total


@kernel
def fill_missing(C, start, missing, values):
    """Write the values of the missing cells to C."""
    for i in range(C.shape[0]):
        out = C[i]
        for at in range(start[i], start[i + 1]):
            out[missing[at]] = values[at]


@kernel
def _same_pattern(start, missing, i, h):
    same = True
    for a in range(start[i + 1] - start[i]):
        same = same and missing[start[i] + a] == missing[start[h] + a]
    return same


@vector_kernel
def _invert_lanes(A, m, determinants):
    """Invert four positive definite matrices A[:m, :m, lane] in place, in the lower triangle, by the sweep operator."""
    determinants[:] = 1.0
    for p in range(m):
        P = A[p]
        d0, d1, d2, d3 = P[p, 0], P[p, 1], P[p, 2], P[p, 3]
        determinants[0] *= d0
        determinants[1] *= d1
        determinants[2] *= d2
        determinants[3] *= d3
        s0, s1, s2, s3 = 1 / d0, 1 / d1, 1 / d2, 1 / d3
        for i in range(p):  # swept rows: the inverse so far
            R = A[i]
            f0, f1, f2, f3 = P[i, 0] * s0, P[i, 1] * s1, P[i, 2] * s2, P[i, 3] * s3
            for j in range(i + 1):
                r0, r1 = R[j, 0] + f0 * P[j, 0], R[j, 1] + f1 * P[j, 1]
                r2, r3 = R[j, 2] + f2 * P[j, 2], R[j, 3] + f3 * P[j, 3]
                R[j, 0], R[j, 1], R[j, 2], R[j, 3] = r0, r1, r2, r3
        for i in range(p + 1, m):  # the others: their regression on the swept ones, and the Schur complement
            R = A[i]
            f0, f1, f2, f3 = R[p, 0] * s0, R[p, 1] * s1, R[p, 2] * s2, R[p, 3] * s3
            for j in range(p):
                r0, r1 = R[j, 0] - f0 * P[j, 0], R[j, 1] - f1 * P[j, 1]
                r2, r3 = R[j, 2] - f2 * P[j, 2], R[j, 3] - f3 * P[j, 3]
                R[j, 0], R[j, 1], R[j, 2], R[j, 3] = r0, r1, r2, r3
            for j in range(p + 1, i + 1):
                Q = A[j]
                r0, r1 = R[j, 0] - f0 * Q[p, 0], R[j, 1] - f1 * Q[p, 1]
                r2, r3 = R[j, 2] - f2 * Q[p, 2], R[j, 3] - f3 * Q[p, 3]
                R[j, 0], R[j, 1], R[j, 2], R[j, 3] = r0, r1, r2, r3
        for i in range(p + 1, m):
            R = A[i]
            R[p, 0], R[p, 1], R[p, 2], R[p, 3] = R[p, 0] * s0, R[p, 1] * s1, R[p, 2] * s2, R[p, 3] * s3
        for j in range(p):
            P[j, 0], P[j, 1], P[j, 2], P[j, 3] = -P[j, 0] * s0, -P[j, 1] * s1, -P[j, 2] * s2, -P[j, 3] * s3
        P[p, 0], P[p, 1], P[p, 2], P[p, 3] = s0, s1, s2, s3


@vector_kernel
def complete_by_precision(T, start, missing, order, weights, V, K, values, extra, likelihood):
    """Write the conditional means to ``values``; add the covariances to the lower triangle of ``extra``, (d, d).

    ``order`` lists rows with missing values, sorted by their number and by pattern. ``T`` is C V. ``likelihood`` holds,
    per row, log det of the covariance plus |c|² - |t|², and becomes that of the observed values.
    """
    most = start[order[-1] + 1] - start[order[-1]] if order.size else 0
    k = V.shape[1]
    A, B, b = np.empty((most, most, _LANES)), np.empty((most, most)), np.empty(most)
    first, determinants = np.empty(_LANES + 1, dtype=np.int64), np.empty(_LANES)
    at = 0
    while at < order.size:
        m = start[order[at] + 1] - start[order[at]]
        lanes, stop = 0, at
        while stop < order.size and start[order[stop] + 1] - start[order[stop]] == m:
            if lanes == 0 or not _same_pattern(start, missing, order[stop], order[first[lanes - 1]]):
                if lanes == _LANES:
                    break
                first[lanes] = stop
                lanes += 1
            stop += 1
        first[lanes] = stop
        for lane in range(_LANES):
            i = order[first[min(lane, lanes - 1)]]
            columns = missing[start[i] : start[i + 1]]
            for p in range(m):
                from_row, to = K[columns[p]], A[p]
                for q in range(p + 1):
                    to[q, lane] = from_row[columns[q]]
        _invert_lanes(A, m, determinants)
        for lane in range(lanes):
            i = order[first[lane]]
            columns = missing[start[i] : start[i + 1]]
            for p in range(m):
                for q in range(p + 1):
                    B[p, q] = B[q, p] = A[p, q, lane]
            log_det, weight = math.log(determinants[lane]), 0.0
            for h in range(first[lane], first[lane + 1]):
                i = order[h]
                t, out, explained = T[i], values[start[i] : start[i + 1]], 0.0
                for p in range(m):
                    row, total = V[columns[p]], 0.0
                    for q in range(k):
                        total += row[q] * t[q]
                    b[p] = total
                for p in range(m):
                    row, total = B[p], 0.0
                    for q in range(m):
                        total += row[q] * b[q]
                    out[p] = total
                    explained += b[p] * total
                likelihood[i] += log_det - explained
                weight += weights[i]
            for p in range(m):
                to, row = extra[columns[p]], B[p]
                for q in range(p + 1):
                    to[columns[q]] += weight * row[q]
        at = stop


@vector_kernel
def _invert(M):
    """Invert a positive definite matrix in place, by Gauss-Jordan elimination; return its log determinant."""
    log_det = 0.0
    for p in range(M.shape[0]):
        P = M[p]
        log_det += math.log(P[p])
        scale = 1 / P[p]
        P[p] = 1.0
        for j in range(P.size):
            P[j] *= scale
        for i in range(P.size):
            if i != p:
                R = M[i]
                factor = R[p]
                R[p] = 0.0
                for j in range(P.size):
                    R[j] -= factor * P[j]
    return log_det


@vector_kernel
def _observed_information(columns, L, information, M):
    """M = I + L_o'L_o of the observed columns, from I + L'L where fewer are missing than observed."""
    k, m = L.shape[1], columns.size
    subtract = 2 * m <= L.shape[0]
    sign = -1.0 if subtract else 1.0
    for p in range(k):
        for q in range(k):
            M[p, q] = information[p, q] if subtract else (1.0 if p == q else 0.0)
    a = 0
    for j in range(L.shape[0]):
        is_missing = a < m and columns[a] == j
        a += is_missing
        if is_missing == subtract:
            row = L[j]
            for p in range(k):
                to, factor = M[p], sign * row[p]
                for q in range(k):
                    to[q] += factor * row[q]


@vector_kernel
def complete_by_factors(start, missing, order, weights, squares, scores, L, information, values, extra, likelihood):
    """The same by k x k systems, for rows with many missing values; ``scores`` is C L, ``squares`` are those of C."""
    k = L.shape[1]
    M, z, y = np.empty((k, k)), np.empty(k), np.empty(k)
    log_det, weight = 0.0, 0.0
    for at in range(order.size):
        i = order[at]
        columns = missing[start[i] : start[i + 1]]
        last = order[at - 1] if at else i
        if at == 0 or start[last + 1] - start[last] != columns.size or not _same_pattern(start, missing, i, last):
            _observed_information(columns, L, information, M)
            log_det, weight = _invert(M), 0.0
        b, out, explained = scores[i], values[start[i] : start[i + 1]], 0.0
        for p in range(k):
            total, row = 0.0, M[p]
            for q in range(k):
                total += row[q] * b[q]
            z[p] = total
            explained += b[p] * total
        for a in range(columns.size):
            row, total = L[columns[a]], 0.0
            for p in range(k):
                total += row[p] * z[p]
            out[a] = total
        likelihood[i] = log_det + squares[i] - explained
        weight += weights[i]
        after = order[at + 1] if at + 1 < order.size else -1
        if (
            after < 0 or start[after + 1] - start[after] != columns.size or not _same_pattern(start, missing, i, after)
        ):  # the last row of its pattern: I + L_m M^-1 L_m'
            for a in range(columns.size):
                row, to = L[columns[a]], extra[columns[a]]
                for p in range(k):
                    total, other = 0.0, M[p]
                    for q in range(k):
                        total += other[q] * row[q]
                    y[p] = total
                to[columns[a]] += weight
                for c in range(a + 1):
                    row, total = L[columns[c]], 0.0
                    for p in range(k):
                        total += y[p] * row[p]
                    to[columns[c]] += weight * total
