"""The nearest code of each row, and what a pass over rows sums for every code."""

import numpy as np

from lowland.kernels.compile import vector_kernel


@vector_kernel
def nearest_codes(Y, D, slack, rounding):
    """Return where each row of D is smallest, (m,), and whether rounding leaves a doubt.

    D (m, k) is |w|² - 2y'w of the rows Y (m, d). An entry may be off by ``rounding`` times |y|² + |w|²; ``slack`` (k,)
    is ``rounding`` times |w|².
    """
    m, k = D.shape
    first, unsure = np.empty(m, np.int64), np.empty(m, np.bool_)
    for i in range(m):
        best, least, low = 0, D[i, 0], D.dtype.type(np.inf)  # low: what another one may be at least
        for a in range(1, k):
            value = D[i, a]
            if value < least:
                low = min(low, least - slack[best])
                best, least = a, value
            else:
                low = min(low, value - slack[a])
        length = 0.0
        for j in range(Y.shape[1]):
            length += Y[i, j] * Y[i, j]
        first[i] = best
        unsure[i] = not low - least > slack[best] + 2 * rounding * length
    return first, unsure


@vector_kernel
def add_rows(Y, first, weights, W, sums, counts):
    """Add each row, times its weight, to what its code has won; return the weighted sum of |y - w|².

    ``weights`` is empty where every row counts once.
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
