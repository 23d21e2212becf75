"""Conditional means and covariances of missing values, row by row, under a latent linear model.

The rows are in units in which the noise has variance one, so their covariance is I + LL'. With V = chol(I + L'L)^-1 L',
its inverse is K = I - V'V. A row with m missing values needs the inverse of an m x m block of K, or of a k x k matrix,
whichever is smaller; rows of one pattern share it.
"""

import math

import numpy as np

from lowland.kernels.compile import kernel, vector_kernel

_LANES = 64  # patterns that are inverted together, in loops long enough to be vectorized


@vector_kernel
def center_observed(X, mean, unit, start, C, missing, squares, logs, keys):
    """Write (x - mean) / unit to C, zeros for missing values; sum the squares, and log unit² of the observed ones.

    ``missing`` lists the columns of the missing values, with room for one more. ``keys`` sort the rows by the number of
    missing values, then by a hash of their pattern; the lowest bits are the number of the row. C may be X.
    """
    n, d = X.shape
    scale, log_units = 1 / unit, 2 * np.log(unit)
    all_logs = log_units.sum()
    of_row, of_count = np.uint64(_bits(n)), np.uint64(64 - _bits(d))
    for i in range(n):
        row, out, at = X[i], C[i], start[i]
        code, hidden = np.uint64(1469598103934665603), 0.0
        if start[i + 1] > at:
            for j in range(d):  # without a branch, which could not be predicted
                missing[at] = j
                at += row[j] != row[j]
        for a in range(start[i], at):
            hidden += log_units[missing[a]]
            code = (code ^ np.uint64(missing[a] + 1)) * np.uint64(1099511628211)
        logs[i] = all_logs - hidden
        count = np.uint64(at - start[i]) << of_count
        keys[i] = count | (code >> (np.uint64(64) - of_count + of_row) << of_row) | np.uint64(i)
        total = 0.0
        for j in range(d):
            v = (row[j] - mean[j]) * scale[j]
            v = v if row[j] == row[j] else 0.0
            out[j] = v
            total += v * v
        squares[i] = total


@kernel
def _bits(n):
    """The number of bits of n."""
    count = 0
    while n >> count:
        count += 1
    return count


@kernel
def _same_pattern(start, missing, i, h):
    same = True
    for a in range(start[i + 1] - start[i]):
        same = same and missing[start[i] + a] == missing[start[h] + a]
    return same


@vector_kernel
def _invert_lanes(A, m, lanes, pivot, factor, determinants):
    """Invert the positive definite matrices A[:m, :m, lane] in place, in the lower triangle, by the sweep operator."""
    for lane in range(lanes):
        determinants[lane] = 1.0
    for p in range(m):
        P = A[p]
        for lane in range(lanes):
            determinants[lane] *= P[p, lane]
            pivot[lane] = 1 / P[p, lane]
        for i in range(p):  # swept rows: the inverse so far
            R = A[i]
            for lane in range(lanes):
                factor[lane] = P[i, lane] * pivot[lane]
            for j in range(i + 1):
                for lane in range(lanes):
                    R[j, lane] += factor[lane] * P[j, lane]
        for i in range(p + 1, m):  # the others: their regression on the swept ones, and the Schur complement
            R = A[i]
            for lane in range(lanes):
                factor[lane] = R[p, lane] * pivot[lane]
            for j in range(p):
                for lane in range(lanes):
                    R[j, lane] -= factor[lane] * P[j, lane]
            for j in range(p + 1, i + 1):
                Q = A[j]
                for lane in range(lanes):
                    R[j, lane] -= factor[lane] * Q[p, lane]
        for i in range(p + 1, m):
            for lane in range(lanes):
                A[i, p, lane] *= pivot[lane]
        for j in range(p):
            for lane in range(lanes):
                P[j, lane] *= -pivot[lane]
        for lane in range(lanes):
            P[p, lane] = pivot[lane]


@kernel
def _next_patterns(start, missing, order, at, first):
    """Find the next patterns of one size, at most as many as lanes; return how many, and where the next ones begin."""
    m = start[order[at] + 1] - start[order[at]]
    lanes, stop = 0, at
    while stop < order.size and start[order[stop] + 1] - start[order[stop]] == m:
        if lanes == 0 or not _same_pattern(start, missing, order[stop], order[first[lanes - 1]]):
            if lanes == first.size:
                break
            first[lanes] = stop
            lanes += 1
        stop += 1
    return lanes, stop


@vector_kernel
def complete_by_precision(T, start, missing, order, weights, V, K, values, extra, likelihood):
    """Write the conditional means to ``values``; add the covariances to the lower triangle of ``extra``, (d, d).

    ``order`` lists rows with missing values, sorted by their number and by pattern. ``V`` is (k, d), ``T`` is
    C V'. ``likelihood`` holds, per row, log det of the covariance plus |c|² - |t|², and becomes that of the observed
    values. Patterns of one size are processed together, one in each lane, so that every loop over lanes is vectorized.
    """
    most = start[order[-1] + 1] - start[order[-1]] if order.size else 0
    k = V.shape[0]
    A, t = np.empty((most, most, _LANES)), np.empty((k, _LANES))
    b, x = np.empty((most, _LANES)), np.empty((most, _LANES))
    columns = np.empty((most, _LANES), dtype=np.uint32)
    first, rows = np.empty(_LANES, dtype=np.int64), np.empty(_LANES, dtype=np.int64)
    pivot, factor, determinants, weight = np.empty(_LANES), np.empty(_LANES), np.empty(_LANES), np.empty(_LANES)
    at = 0
    while at < order.size:
        m = start[order[at] + 1] - start[order[at]]
        lanes, stop = _next_patterns(start, missing, order, at, first)
        for lane in range(lanes):
            rows[lane] = (first[lane + 1] if lane + 1 < lanes else stop) - first[lane]
            weight[lane] = 0.0
        if stop - at > lanes:  # the pattern with the most rows first, so that the lanes in use stay together
            by_rows, old_first, old_rows = np.argsort(-rows[:lanes]), first.copy(), rows.copy()
            for lane in range(lanes):
                first[lane], rows[lane] = old_first[by_rows[lane]], old_rows[by_rows[lane]]
        for lane in range(lanes):
            i = order[first[lane]]
            for p in range(m):
                columns[p, lane] = missing[start[i] + p]
        for p in range(m):
            for q in range(p + 1):
                to = A[p, q]
                for lane in range(lanes):
                    to[lane] = K[columns[p, lane], columns[q, lane]]
        _invert_lanes(A, m, lanes, pivot, factor, determinants)
        live = lanes
        for turn in range(rows[0]):  # the rows of each pattern, one at a time
            while rows[live - 1] <= turn:
                live -= 1
            for lane in range(live):
                i = order[first[lane] + turn]
                weight[lane] += weights[i]
                for q in range(k):
                    t[q, lane] = T[i, q]
            for p in range(m):
                to, column = b[p], columns[p]
                to[:live] = 0.0
                for q in range(k):
                    score = t[q]
                    for lane in range(live):
                        to[lane] += V[q, column[lane]] * score[lane]
            for p in range(m):
                to, own = x[p], b[p]
                to[:live] = 0.0
                for q in range(p):
                    entry, other, above = A[p, q], b[q], x[q]
                    for lane in range(live):
                        to[lane] += entry[lane] * other[lane]
                        above[lane] += entry[lane] * own[lane]
                entry = A[p, p]
                for lane in range(live):
                    to[lane] += entry[lane] * own[lane]
            factor[:live] = 0.0
            for p in range(m):
                for lane in range(live):
                    factor[lane] += b[p, lane] * x[p, lane]
            for lane in range(live):
                i = order[first[lane] + turn]
                likelihood[i] += math.log(determinants[lane]) - factor[lane]
                for p in range(m):
                    values[start[i] + p] = x[p, lane]
        for p in range(m):
            for q in range(p + 1):
                for lane in range(lanes):
                    extra[columns[p, lane], columns[q, lane]] += weight[lane] * A[p, q, lane]
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
