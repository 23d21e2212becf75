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
    first, unsure = np.empty(m, np.int64), np.empty(m, np.bool_)
    for i in range(m):
        length = 0.0
        for j in range(Y.shape[1]):
            length += Y[i, j] * Y[i, j]
        first[i] = best[i]
        unsure[i] = not low[i] - least[i] > own[i] + 2 * rounding * length
    return first, unsure


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
