"""Ranks of neighbors by counting how many points are nearer, and the overlap of two neighbor orders.

Ties go to the lower index or, with ``around``, to the next index after the row, cyclically, so that no point is
preferred by many rows. A point has no rank among its own neighbors.
"""

import numpy as np

from lowland.kernels.compile import kernel, vector_kernel
from lowland.kernels.neighbor_search import comes_before, power_between, powers_to_points, sort_by_value

_ROUNDING = 1e-15  # a few roundings of double precision
_NONE, _ONE = np.float32(0), np.float32(1)


@vector_kernel
def _below(row, limit):
    """The number of smaller values; counted in floats, so that the loop is vectorized."""
    count = 0.0
    for j in range(row.size):
        count += 1.0 if row[j] < limit else 0.0
    return count


@vector_kernel
def _not_above(row, limit):
    count = 0.0
    for j in range(row.size):
        count += 1.0 if row[j] <= limit else 0.0
    return count


@kernel
def _turned(j, start, n):
    """The position of point j among n points counted cyclically from ``start``."""
    return j - start if j >= start else j - start + n


@kernel
def _ranks_in_row(row, me, around, targets, ranks):
    """Write the ranks of some points by the distances of all points from ``me``, one pass per target, no sorting."""
    start, n = me if around else 0, row.size
    for a in range(targets.size):
        j = targets[a]
        limit = row[j]
        if j >= start:
            found = _below(row[:start], limit) + _not_above(row[start:j], limit) + _below(row[j:], limit)
        else:
            found = _not_above(row[:j], limit) + _below(row[j:start], limit) + _not_above(row[start:], limit)
        if comes_before(row[me], _turned(me, start, n), limit, _turned(j, start, n)):
            found -= 1
        ranks[a] = 1 + np.int64(found)


@kernel
def rank_by_counting(D, own, around, targets, ranks):
    """Write the ranks of points ``targets[i]`` among the neighbors of point ``own[i]``, with distances D[i], (m, n).

    The nearest neighbor has rank 1.
    """
    for i in range(D.shape[0]):
        _ranks_in_row(D[i], own[i], around, targets[i], ranks[i])


@kernel
def rank_by_measuring(Q, T, p, own, around, targets, ranks):
    """The same from rows Q, (m, d), and all points T, (d, n): distances are compared while they are in the cache."""
    row = np.empty(T.shape[1])
    for i in range(Q.shape[0]):
        powers_to_points(Q[i], T, 0, T.shape[1], p, row)
        _ranks_in_row(row, own[i], around, targets[i], ranks[i])


@vector_kernel
def _counts_about(values, low, high):
    """The number of values below ``low``, and the number of values not above ``high``."""
    below, within = _NONE, _NONE  # counted in float32; a block is small enough for it
    for j in range(values.size):
        below += _ONE if values[j] < low else _NONE
        within += _ONE if values[j] <= high else _NONE
    return below, within


@kernel
def _between(values, low, high, places):
    """Write the indices of the values between two limits and return their number, without branches."""
    found = 0
    for j in range(values.size):
        places[found] = j
        found += np.int64(values[j] >= low) & np.int64(values[j] <= high)
    return found


@vector_kernel
def _square_between(x, y):
    total = 0.0
    for c in range(x.size):
        t = np.float64(x[c]) - np.float64(y[c])
        total += t * t
    return total


@kernel
def _is_nearer(x, y, place, power, other):
    """Whether y is nearer to x than a point at squared distance ``power``, or equally near and before it.

    A fast sum in any order decides almost always; near ties are summed in the order of the columns.
    """
    quick = _square_between(x, y)
    slack = _ROUNDING * (x.size + 8) * power
    if quick < power - slack:
        return True
    if quick > power + slack:
        return False
    return comes_before(power_between(x, y, 2.0), place, power, other)


@kernel
def count_by_products(V, add, first, own, around, targets, powers, scaled, squares, widest, u, X, counts):
    """Add to ``counts`` how many of the points from ``first`` on are nearer to row i than its targets.

    V[i, j] + add[j] is the squared distance to point ``first`` + j less ``squares[i]``, up to rounding error: below
    ``least`` the point is certainly nearer, above ``most`` certainly not. For those between, the exact distance is
    compared with ``powers``, the squared distances of the targets; ``scaled`` are the same in the unit of V. Returns
    how many there were.

    A sum of d products has an error of at most d roundings u of |a||b|; rounding the points and adding squares adds at
    most 8u (|a| + |b|)². Here a is the row, with |a|² in ``squares``, and ``widest`` the largest |b|.
    """
    width, n, kind = V.shape[1], len(X), V.dtype.type
    least_of_all, most_of_all = kind(-np.inf), kind(np.inf)
    values, places = np.empty_like(V[0]), np.empty(width + 1, dtype=np.int64)
    measured = 0
    for i in range(V.shape[0]):
        row, me, length = V[i], own[i], np.sqrt(squares[i])
        off = u * (2.0 * X.shape[1] * length * widest + 8.0 * (length + widest) ** 2)
        start = me if around else 0
        for b in range(width):
            values[b] = row[b] + add[b]
        if first <= me < first + width:
            values[me - first] = np.inf  # not its own neighbor
        for a in range(targets.shape[1]):
            j = targets[i, a]
            least = np.nextafter(kind(scaled[i, a] - off - squares[i]), least_of_all)
            most = np.nextafter(kind(scaled[i, a] + off - squares[i]), most_of_all)
            place = _turned(j, start, n)
            below, within = _counts_about(values, least, most)
            count = np.int64(below)
            if within > below:
                for b in range(_between(values, least, most, places)):
                    point = first + places[b]
                    if point != j:
                        measured += 1
                        count += _is_nearer(X[me], X[point], _turned(point, start, n), powers[i, a], place)
            counts[i, a] += count
    return measured


@kernel
def write_keys(D, own, around, last, keys):
    """Write keys that sort the points by their distances D, (m, n), from point ``own[i]``, which comes last.

    A key holds the bits of a distance, which are ordered as nonnegative distances are. The last bits, marked by
    ``last``, hold the place of the point among ties. Sorting numbers is several times as fast as sorting indices.
    """
    n = D.shape[1]
    for i in range(D.shape[0]):
        start = own[i] if around else 0
        for j in range(start):
            keys[i, j] = (D[i, j] & ~last) | np.uint64(j - start + n)
        for j in range(start, n):
            keys[i, j] = (D[i, j] & ~last) | np.uint64(j - start)
        keys[i, own[i]] = ~np.uint64(0)


@kernel
def points_of_keys(keys, own, around, last, D, out):
    """Write the points, (m, n - 1), of sorted keys, (m, n); the last bits of the distances D are compared as well."""
    n = keys.shape[1]
    for i in range(keys.shape[0]):
        line, begin = keys[i], 0
        for a in range(1, n):
            if a == n - 1 or (line[a] | last) != (line[begin] | last):
                if a - begin > 1:
                    _settle(line[begin:a], own[i], around, last, D[i])
                begin = a
        start = own[i] if around else 0
        for a in range(n - 1):
            out[i, a] = _point_at(start, line[a] & last, n)


@kernel
def _settle(keys, me, around, last, row):
    """Replace keys that agree in all but the last bits by the places of their points, sorted by distance."""
    start = me if around else 0
    values, places = np.empty(keys.size), np.empty(keys.size, dtype=np.int32)
    differ = False
    for a in range(keys.size):
        places[a] = keys[a] & last
        values[a] = row[_point_at(start, keys[a] & last, row.size)]
        differ |= values[a] != values[0]
    if differ:
        sort_by_value(values, places)
        for a in range(keys.size):
            keys[a] = places[a]


@kernel
def _point_at(start, place, n):
    """The point at a position among n points counted cyclically from ``start``."""
    j = start + np.int64(place)
    return j - n if j >= n else j


@kernel
def settle_nearest(D, own, near):
    """Break the ties among the nearest points, (m, k), by the cyclic order after the row.

    D, (m, n), are the distances of all points from ``own[i]``; ``near`` is sorted by them, with ties in any order. Ties
    also decide which points are among the k nearest.
    """
    m, k = near.shape
    for i in range(m):
        row, me, start = D[i], own[i], 0
        for stop in range(1, k + 1):
            value = row[near[i, start]]
            if stop == k or row[near[i, stop]] != value:
                if stop == k or stop - start > 1:
                    point, place = me, start
                    while place < stop:
                        point = point + 1 if point + 1 < row.size else 0
                        if row[point] == value:
                            near[i, place] = point
                            place += 1
                start = stop


@vector_kernel
def _accumulate(counts, weights, totals, squares):
    """Replace counts by their running sums, add these and their squares to two lines, return their weighted sum."""
    area = 0.0
    for K in range(1, counts.size):
        counts[K] += counts[K - 1]
    for K in range(totals.size):
        shared = counts[K + 1]
        totals[K] += shared
        squares[K] += shared * shared
        area += weights[K] * shared
    return area


@kernel
def compare_orders(ranks, order, k, weights, totals, squares, areas, errors):
    """Compare the ranks, (m, n), of points in one space with their order, (m, n - 1), in another.

    ``totals`` and ``squares``, (n - 1,), receive how many of the K nearest neighbors both share, for all K, summed over
    the rows, and ``areas``, (m,), the weighted sum over K of each row. ``errors``, (m, 5), receive four sums over the k
    neighbors of a row and how many of them both share. The sums: by how much the ranks of false and of missed
    neighbors exceed k, and the rank differences in the second and in the first neighborhood, relative to the rank.
    """
    last = order.shape[1]
    counts = np.empty(last + 1, dtype=np.int64)
    for i in range(order.shape[0]):
        counts[:] = 0
        errors[i, :] = 0.0
        for a in range(last):
            rho, r = ranks[i, order[i, a]], a + 1  # in the first space, and in the second
            counts[max(r, rho)] += 1
            if r <= k:
                errors[i, 0] += max(0, rho - k)
                errors[i, 2] += abs(rho - r) / r
                errors[i, 4] += rho <= k
            if rho <= k:
                errors[i, 1] += max(0, r - k)
                errors[i, 3] += abs(rho - r) / rho
        areas[i] = _accumulate(counts, weights, totals, squares)
