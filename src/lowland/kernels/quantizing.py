"""The nearest code of each row, and what a pass over rows sums for every code."""

import numpy as np

from lowland.kernels.compile import vector_kernel


@vector_kernel
def nearest_codes(Y, D, most, rounding):
    """Return where each row of D is smallest, and where another entry lies within what rounding may have moved.

    D (m, k) is |w|² - 2y'w of the rows Y (m, d), in float32; ``most`` is the largest |w|², ``rounding`` the share of
    |y|² + |w|² by which an entry may be off.
    """
    m, k = D.shape
    first, unsure = np.empty(m, np.int64), np.zeros(m, np.bool_)
    for i in range(m):
        best, least, second = 0, D[i, 0], np.float32(np.inf)
        for a in range(1, k):
            value = D[i, a]
            if value < least:
                second = least
                best, least = a, value
            elif value < second:
                second = value
        length = 0.0
        for j in range(Y.shape[1]):
            length += Y[i, j] * Y[i, j]
        first[i] = best
        unsure[i] = not second - least > (length + most) * rounding
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
