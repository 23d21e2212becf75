"""Distances of chosen pairs of points, as powers: |x - y|² for p = 2, the sum of |x - y|^p in general, max for p = inf.

All searches sum a distance over the columns in their order, in float64 and without fused multiply-add, so that they
give identical bits.
"""

import numpy as np

from lowland.kernels.compile import kernel
from lowland.kernels.heaps import sort_by_value


@kernel
def power_of(t, p):
    """The contribution of one column to the power."""
    if p == 2.0:
        return t * t
    t = abs(t)
    return t if p == 1.0 or p == np.inf else t**p


@kernel
def power_between(x, y, p):
    """Return the power of the distance between two points."""
    total = 0.0
    for c in range(x.size):
        part = power_of(np.float64(x[c]) - np.float64(y[c]), p)
        total = max(total, part) if p == np.inf else total + part
    return total


@kernel
def powers_to_points(x, T, start, stop, p, out):
    """Write the powers to the points ``start`` to ``stop`` of T, (d, n); columns are added in their order."""
    m = stop - start
    out[:m] = 0.0
    for c in range(x.size):
        column, xc = T[c, start:stop], x[c]
        if p == 2.0:
            for a in range(m):
                t = xc - column[a]
                out[a] += t * t
        else:
            for a in range(m):
                part = power_of(xc - column[a], p)
                out[a] = max(out[a], part) if p == np.inf else out[a] + part


@kernel
def distances_by_columns(Q, T, p, out):
    """Write the powers between rows Q and points T, (d, b), to ``out``, (m, b)."""
    for i in range(Q.shape[0]):
        powers_to_points(Q[i], T, 0, T.shape[1], p, out[i])


@kernel
def _squares_of_four(x, a, b, c, d):
    """Squared distances of x to four points at once: the four sums are independent and run in parallel."""
    to_a, to_b, to_c, to_d = 0.0, 0.0, 0.0, 0.0
    for e in range(x.size):
        own = np.float64(x[e])
        s, t, u, v = own - np.float64(a[e]), own - np.float64(b[e]), own - np.float64(c[e]), own - np.float64(d[e])
        to_a += s * s
        to_b += t * t
        to_c += u * u
        to_d += v * v
    return to_a, to_b, to_c, to_d


@kernel
def _measure_row(x, X, p, places, values):
    """Write the powers between x and the points X[places]; an index out of range gives infinity."""
    n, count, start = X.shape[0], places.size, 0
    while p == 2.0 and start + 4 <= count:
        i, j, k, l = places[start], places[start + 1], places[start + 2], places[start + 3]  # noqa: E741
        if min(min(i, j), min(k, l)) < 0 or max(max(i, j), max(k, l)) >= n:
            break
        four = _squares_of_four(x, X[i], X[j], X[k], X[l])
        values[start], values[start + 1], values[start + 2], values[start + 3] = four
        start += 4
    for a in range(start, count):
        j = places[a]
        values[a] = power_between(x, X[j], p) if 0 <= j < n else np.inf


@kernel
def measure_candidates(Q, X, p, indices, values):
    """Write the powers between rows Q and the points X[indices], and sort both by them.

    An index out of range gives infinity.
    """
    for i in range(Q.shape[0]):
        _measure_row(Q[i], X, p, indices[i], values[i])
        sort_by_value(values[i], indices[i])


@kernel
def measure_table(Q, rows, X, places, p, values):
    """Write the powers between row Q[rows[a]] and the points X[places[a]], (m, k)."""
    for a in range(rows.size):
        _measure_row(Q[rows[a]], X, p, places[a], values[a])


@kernel
def measure_pairs(Q, rows, X, places, p, values):
    """Write the powers between the pairs Q[rows[a]] and X[places[a]]."""
    for a in range(rows.size):
        values[a] = power_between(Q[rows[a]], X[places[a]], p)
