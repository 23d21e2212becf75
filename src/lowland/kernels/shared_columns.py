"""Distances of incomplete rows: only the columns that both rows have count. NaN where they share none.

Columns are added in their order, in float64 and without fused multiply-add, as in ``pair_distances``.
"""

import numpy as np

from lowland.kernels.compile import kernel

NUMBER, CATEGORY, SQUARE = 0, 1, 2  # min(|t| scale, 1), t ≠ 0, and t², of the difference t


@kernel
def _part(t, kind, scale):
    """The contribution of one column."""
    if kind == 2:
        return t * t
    if kind == 1:
        return 0.0 if t == 0.0 else 1.0
    t = abs(t) * scale
    return t if t < 1.0 else 1.0


@kernel
def _add_complete(x, column, kind, scale, w, total):
    """Add a column in which no point is missing."""
    if kind == 2:
        for a in range(column.size):
            t = x - column[a]
            total[a] += t * t
    elif kind == 1:
        for a in range(column.size):
            total[a] += w if column[a] != x else 0.0
    else:
        for a in range(column.size):
            t = abs(x - column[a]) * scale
            total[a] += w * (t if t < 1.0 else 1.0)


@kernel
def _add_incomplete(x, column, kind, scale, w, total, weight):
    """Add a column where the points have a value."""
    if kind == 2:
        for a in range(column.size):
            t = x - column[a]
            known = t == t
            total[a] += t * t if known else 0.0
            weight[a] += 1.0 if known else 0.0
    elif kind == 1:
        for a in range(column.size):
            y = column[a]
            known = y == y
            total[a] += w if known and y != x else 0.0
            weight[a] += w if known else 0.0
    else:
        for a in range(column.size):
            t = abs(x - column[a]) * scale
            known = t == t
            total[a] += w * (t if t < 1.0 else 1.0) if known else 0.0
            weight[a] += w if known else 0.0


@kernel
def _distance(total, weight, squared, d):
    """The distance of two rows: √(d / shared columns · sum of squares), or a weighted mean; NaN without a column."""
    if weight == 0.0:
        return np.nan
    return np.sqrt(total * (d / weight)) if squared else total / weight


@kernel
def shared_distances(Q, T, kinds, scales, w, complete, out):
    """Write the distances between rows Q, (m, d), and points T, (d, b), to ``out``, (m, b).

    ``complete``: the columns in which no point is missing, also among points that are not in T.
    """
    weight = np.empty(T.shape[1])
    squared = kinds.size > 0 and kinds[0] == 2
    for i in range(Q.shape[0]):
        total, common = out[i], 0.0
        total[:], weight[:] = 0.0, 0.0
        for c in range(kinds.size):
            x = Q[i, c]
            if np.isnan(x):
                continue
            if complete[c]:
                common += w[c]
                _add_complete(x, T[c], kinds[c], scales[c], w[c], total)
            else:
                _add_incomplete(x, T[c], kinds[c], scales[c], w[c], total, weight)
        for a in range(total.size):
            total[a] = _distance(total[a], common + weight[a], squared, kinds.size)


@kernel
def shared_table(Q, P, places, kinds, scales, w, complete, out):
    """Write the distances between row Q[i] and the points P[places[i]], (m, k)."""
    squared = kinds.size > 0 and kinds[0] == 2
    for i in range(Q.shape[0]):
        for a in range(places.shape[1]):
            y, total, common, weight = P[places[i, a]], 0.0, 0.0, 0.0
            for c in range(kinds.size):
                t = Q[i, c] - y[c]
                if np.isnan(t):
                    continue
                total += w[c] * _part(t, kinds[c], scales[c])
                if complete[c]:
                    common += w[c]
                else:
                    weight += w[c]
            out[i, a] = _distance(total, common + weight, squared, kinds.size)
