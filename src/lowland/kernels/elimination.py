"""Sparse elimination of the first unknowns of a linear system, which leaves a dense system for the last ones.

Sparse columns and rows are given by ``start``, ``place`` and ``value``, as in SciPy.
"""

import numpy as np

from lowland.kernels.compile import kernel


@kernel
def lower_rows(ustart, uplace, uvalue, start, place, value, first, last, counts, places, values):
    """Write rows ``first`` to ``last`` of L, where LU = A for an upper triangle U, (h, h), and given rows A.

    A row of U begins with its diagonal. ``counts``, (last - first,), receives the entries of each row of L; these go to
    ``places`` and ``values``. Returns their number.
    """
    h = ustart.size - 1
    x, filled = np.zeros(h), 0
    for i in range(first, last):
        begun, k = filled, h
        for a in range(start[i], start[i + 1]):
            x[place[a]] = value[a]
            k = min(k, place[a])
        while k < h:
            if x[k] != 0.0:
                a = ustart[k]
                v = x[k] / uvalue[a]
                x[k] = 0.0
                for b in range(a + 1, ustart[k + 1]):
                    x[uplace[b]] -= uvalue[b] * v
                places[filled], values[filled] = k, v
                filled += 1
            k += 1
        counts[i - first] = filled - begun
    return filled


@kernel
def eliminate(lstart, lplace, lvalue, start, place, value, first, last, S):
    """Write columns ``first`` to ``last`` of S = A22 - L21 L11⁻¹ A12, where the columns of A are A12 above A22.

    The columns of L, of the first h unknowns, are L11 without its diagonal of ones above L21.
    """
    h = lstart.size - 1
    x = np.zeros(h + S.shape[0])
    for j in range(first, last):
        k = h
        for a in range(start[j], start[j + 1]):
            x[place[a]] = value[a]
            k = min(k, place[a])
        while k < h:
            v = x[k]
            if v != 0.0:
                x[k] = 0.0
                for a in range(lstart[k], lstart[k + 1]):
                    x[lplace[a]] -= lvalue[a] * v
            k += 1
        for i in range(S.shape[0]):
            S[i, j] = x[h + i]
            x[h + i] = 0.0
