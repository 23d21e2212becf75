"""k-means: the nearest code vector of each row, and the sums per code vector in one pass."""

import numpy as np

from lowland.kernels.compile import vector_kernel


@vector_kernel
def scale_rows(X, shift, scale, Y, single):
    """Write (X - shift) * scale to Y, (m, d) float64, and to the first columns of ``single``, float32."""
    for i in range(X.shape[0]):
        x, y, z = X[i], Y[i], single[i]
        for j in range(x.size):
            value = (x[j] - shift[j]) * scale
            y[j] = value
            z[j] = value


@vector_kernel
def nearest_codes(Y, D, slack, rounding):
    """Return the index of the minimum of each column of D, (m,), and whether rounding error makes it uncertain.

    The third result is a lower bound of the distance to all other code vectors.
    D (k, m) is |w|² - 2w'y of the code vectors w and the rows y of Y (m, d). An entry has an error of at most
    ``rounding`` times |y|² + |w|²; ``slack`` (k,) is ``rounding`` times |w|². The inner loop runs over the rows and has
    no branches, so that it is vectorized.
    """
    k, m = D.shape
    best, least, own = np.zeros(m, np.int32), D[0].copy(), np.full(m, slack[0])
    low = np.full(m, D.dtype.type(np.inf))  # lower bound of the second smallest
    for a in range(1, k):
        values, s = D[a], slack[a]
        for i in range(m):
            value, before = values[i], least[i]
            better = value < before
            other = before - own[i] if better else value - s
            low[i] = other if other < low[i] else low[i]
            least[i] = value if better else before
            own[i] = s if better else own[i]
            best[i] = a if better else best[i]
    first, unsure, others = np.empty(m, np.int64), np.empty(m, np.bool_), np.empty(m)
    for i in range(m):
        length = 0.0
        for j in range(Y.shape[1]):
            length += Y[i, j] * Y[i, j]
        first[i] = best[i]
        unsure[i] = not low[i] - least[i] > own[i] + 2 * rounding * length
        others[i] = np.sqrt(max(0.0, low[i] + (1 - 2 * rounding) * length))
    return first, unsure, others


@vector_kernel
def resolve_codes(Y, W, tie, coincident, first, unsure, others):
    """Search the nearest code vectors of uncertain rows again by float64 distances; ties go to the lowest index.

    Overwrites ``first`` and ``others``, the distance to the nearest of the other code vectors.
    """
    squares = np.empty(W.shape[0])
    for i in range(Y.shape[0]):
        if not unsure[i]:
            continue
        y, least = Y[i], np.inf
        for a in range(squares.size):
            w, square = W[a], 0.0
            for j in range(y.size):
                square += (y[j] - w[j]) * (y[j] - w[j])
            squares[a] = square
            least = min(least, square)
        best, second = -1, np.inf
        for a in range(squares.size):
            if best < 0 and squares[a] <= least * (1 + tie) + coincident:
                best = a
            else:
                second = min(second, squares[a])
        first[i] = max(best, 0)  # NaN is reported by the sums
        others[i] = np.sqrt(second)


@vector_kernel
def add_rows(Y, first, weights, W, sums, counts):
    """Add each row, times its weight, to the sum of its code vector; return the weighted sum of |y - w|².

    Empty ``weights`` mean that every row counts once.
    """
    error = 0.0
    for i in range(Y.shape[0]):
        c = first[i]
        weight = weights[i] if weights.size else 1.0
        w, s = W[c], sums[c]
        square = 0.0
        for j in range(Y.shape[1]):
            y = Y[i, j]
            square += (y - w[j]) * (y - w[j])
            s[j] += weight * y
        counts[c] += weight
        error += weight * square
    return error


@vector_kernel
def rows_to_search(X, start, shift, scale, W, moved, moved_others, half, labels, upper, lower, which, Y, single):
    """Collect rows, from ``start``, whose bounds do not prove that their code vector is still the nearest.

    ``upper`` bounds the distance of a row to its code vector, ``lower`` that to all others; code vector c has moved by
    ``moved[c]``, the others by at most ``moved_others[c]``, and ``half[c]`` is half its distance to the nearest other
    one (Hamerly 2010). Label -1 means that nothing is known. The rows are written to ``which`` and, scaled, to Y and
    ``single``. Returns the next row and the number of rows collected, at most the size of ``which``.
    """
    filled, i = 0, start
    while i < X.shape[0] and filled < which.size:
        c, x, y, z = labels[i], X[i], Y[filled], single[filled]
        bound = 0.0
        if c >= 0:
            upper[i] += moved[c]
            lower[i] -= moved_others[c]
            bound = max(lower[i], half[c]) * (1 - 1e-8) - 1e-14  # a smaller difference counts as a tie
            if upper[i] < bound:
                i += 1
                continue
        for j in range(x.size):
            value = (x[j] - shift[j]) * scale
            y[j] = value
            z[j] = value
        if c >= 0:
            square, w = 0.0, W[c]
            for j in range(y.size):
                square += (y[j] - w[j]) * (y[j] - w[j])
            upper[i] = np.sqrt(square)
            if upper[i] < bound:
                i += 1
                continue
        which[filled] = i
        filled += 1
        i += 1
    return i, filled


@vector_kernel
def reassign_rows(Y, which, first, others, W, labels, upper, lower, sums, counts):
    """Assign the rows to the code vectors ``first``; add the changes of the sums and counts, return that of the error.

    ``others`` bounds the distances to the other code vectors.
    """
    error = 0.0
    for r in range(which.size):
        i, new = which[r], first[r]
        old = labels[i]
        lower[i] = others[r]
        if new == old:
            continue
        y, w, s = Y[r], W[new], sums[new]
        square = 0.0
        for j in range(y.size):
            square += (y[j] - w[j]) * (y[j] - w[j])
            s[j] += y[j]
        counts[new] += 1
        error += square
        if old >= 0:
            s = sums[old]
            for j in range(y.size):
                s[j] -= y[j]
            counts[old] -= 1
            error -= upper[i] * upper[i]
        labels[i] = new
        upper[i] = np.sqrt(square)
    return error


@vector_kernel
def sum_by_label(X, shift, scale, labels, W, sums, counts):
    """Add each scaled row to the sum of its code vector; return the sum of the squared distances."""
    error = 0.0
    for i in range(X.shape[0]):
        x, w, s = X[i], W[labels[i]], sums[labels[i]]
        square = 0.0
        for j in range(x.size):
            y = (x[j] - shift[j]) * scale
            square += (y - w[j]) * (y - w[j])
            s[j] += y
        counts[labels[i]] += 1
        error += square
    return error
