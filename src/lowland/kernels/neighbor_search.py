"""Exact neighbor search: heaps of the k smallest values, distances of pairs, incomplete rows, and a k-d tree.

Distances are powers: |x - y|² for p = 2, the sum of |x - y|^p in general, max for p = inf. All searches sum a distance
over the columns in their order, in float64 and without fused multiply-add, so that they give identical bits. Of
incomplete rows, only the columns that both rows have count; the distance is NaN where they share none.

Ties go to the lower index. Points with the label of the query are skipped; to skip only the query itself, labels are
row numbers. The boxes of the tree are split at the median of their widest side.
"""

import numpy as np

from lowland.kernels.compile import kernel, vector_kernel

_STRETCH = 64  # values compared together
_NONE, _ONE = np.float32(0), np.float32(1)
NUMBER, CATEGORY, SQUARE = 0, 1, 2  # min(|t| scale, 1), t ≠ 0, and t², of the difference t
_ROUNDED_DOWN = 1 - 1e-13  # covers the rounding error of sums in another order
MIXED = -2  # the label of a box with points of several labels


# --- heaps ------------------------------------------------------------------------------------------------------------


@kernel
def comes_before(value, index, other_value, other_index):
    """Whether a value is smaller than another, or equal with a lower index."""
    return value < other_value or (value == other_value and index < other_index)


@kernel
def _sink(values, indices, at, value, index, size):
    """Sift a point down from a free position of a heap."""
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and comes_before(values[child], indices[child], values[child + 1], indices[child + 1]):
            child += 1
        if not comes_before(value, index, values[child], indices[child]):
            break
        values[at], indices[at] = values[child], indices[child]
        at = child
    values[at], indices[at] = value, index


@kernel
def replace_top(values, indices, value, index, size):
    """Replace the farthest point by a nearer one."""
    _sink(values, indices, 0, value, indices.dtype.type(index), size)


@kernel
def sort_heap(values, indices):
    """Sort a heap in place, the smallest first."""
    for size in range(values.size - 1, 0, -1):
        value, index = values[size], indices[size]
        values[size], indices[size] = values[0], indices[0]
        _sink(values, indices, 0, value, index, size)


@kernel
def sort_heaps(values, indices):
    """Sort every row of two tables of heaps, nearest first."""
    for i in range(values.shape[0]):
        sort_heap(values[i], indices[i])


@kernel
def sort_by_value(values, indices):
    """Heapsort by value, ties by index."""
    size = values.size
    for at in range(size // 2 - 1, -1, -1):
        _sink(values, indices, at, values[at], indices[at], size)
    sort_heap(values, indices)


@vector_kernel
def _any_below(row, add, top):
    """Whether any of some values is to be kept: usually none is, which a vectorized loop finds quickly."""
    count = _NONE  # in float32, since integer sums would be widened to 64 bits
    for j in range(row.size):
        count += _ONE if row[j] + add[j] <= top else _NONE
    return count > _NONE


@vector_kernel
def _any_below_each(row, more, tops):
    count = _NONE
    for j in range(row.size):
        count += _ONE if row[j] + more <= tops[j] else _NONE
    return count > _NONE


@kernel
def keep_smallest(V, add, first, own, labels, values, indices):
    """Merge V[i, j] + add[j], (m, b), into the heap of the smallest of row i; column j is point ``first`` + j."""
    m, width = V.shape
    k = values.shape[1]
    for i in range(m):
        row, near, who, mine = V[i], values[i], indices[i], own[i]
        for start in range(0, width, _STRETCH):
            stop = min(start + _STRETCH, width)
            if _any_below(row[start:stop], add[start:stop], near[0]):
                for j in range(start, stop):
                    value = row[j] + add[j]
                    if value <= near[0] and labels[j] != mine and comes_before(value, first + j, near[0], who[0]):
                        replace_top(near, who, value, first + j, k)


@kernel
def keep_smallest_of_columns(V, add, first, own, labels, values, indices):
    """The same for the columns of V: V[i, j] + add[i] goes into heap j, and row i is point ``first`` + i."""
    m, width = V.shape
    k = values.shape[1]
    tops = values[:, 0].copy()
    for i in range(m):
        row, more, theirs = V[i], add[i], labels[i]
        for start in range(0, width, _STRETCH):
            stop = min(start + _STRETCH, width)
            if _any_below_each(row[start:stop], more, tops[start:stop]):
                for j in range(start, stop):
                    value = row[j] + more
                    if value > tops[j] or own[j] == theirs:
                        continue
                    if comes_before(value, first + i, values[j, 0], indices[j, 0]):
                        replace_top(values[j], indices[j], value, first + i, k)
                        tops[j] = values[j, 0]


# --- distances of pairs -----------------------------------------------------------------------------------------------


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


# --- incomplete rows --------------------------------------------------------------------------------------------------


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


# --- k-d tree ---------------------------------------------------------------------------------------------------------


@kernel
def divide(keys, order, first, last, middle):
    """Partition points so that those before ``middle`` have no larger keys than those after it, ties by index."""
    while first < last:
        # the median of three as pivot
        a, b, c = first, (first + last) // 2, last
        if comes_before(keys[b], order[b], keys[a], order[a]):
            a, b = b, a
        if comes_before(keys[c], order[c], keys[b], order[b]):
            b = c if comes_before(keys[a], order[a], keys[c], order[c]) else a
        key, index = keys[b], order[b]
        i, j = first, last
        while i <= j:
            while comes_before(keys[i], order[i], key, index):
                i += 1
            while comes_before(key, index, keys[j], order[j]):
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            last = j
        elif middle >= i:
            first = i
        else:
            return


@kernel
def build_tree(X, depth, order, borders, lows, highs, lowest):
    """Split points at the median of the widest side of their box, ``depth`` times.

    Boxes are numbered as in a heap: the children of box b are 2b + 1 and 2b + 2. Box b contains the points
    order[borders[b, 0] : borders[b, 1]] between the corners lows[b] and highs[b]; lowest[b] is their lowest index.
    """
    n, d = X.shape
    keys = np.empty(n)
    for i in range(n):
        order[i] = i
    borders[0, 0], borders[0, 1] = 0, n
    inner = 2**depth - 1
    for b in range(borders.shape[0]):
        start, stop = borders[b, 0], borders[b, 1]
        low, high = lows[b], highs[b]
        low[:], high[:] = np.inf, -np.inf
        least = n
        for a in range(start, stop):
            i = order[a]
            least = min(least, i)
            for c in range(d):
                x = X[i, c]
                low[c] = min(low[c], x)
                high[c] = max(high[c], x)
        lowest[b] = least
        if b < inner:
            wide = 0
            for c in range(1, d):
                if high[c] - low[c] > high[wide] - low[wide]:
                    wide = c
            middle = (start + stop) // 2
            for a in range(start, stop):
                keys[a] = X[order[a], wide]
            divide(keys, order, start, stop - 1, middle)
            borders[2 * b + 1, 0], borders[2 * b + 1, 1] = start, middle
            borders[2 * b + 2, 0], borders[2 * b + 2, 1] = middle, stop


@kernel
def label_boxes(labels, borders, box_labels):
    """Write the common label of the points in each box, or MIXED; ``labels`` are in the order of the tree."""
    boxes = borders.shape[0]
    for b in range(boxes - 1, -1, -1):
        if 2 * b + 2 < boxes:
            one = box_labels[2 * b + 1]
            box_labels[b] = one if one == box_labels[2 * b + 2] else MIXED
        else:
            start, stop = borders[b, 0], borders[b, 1]
            one = labels[start]
            for a in range(start + 1, stop):
                if labels[a] != one:
                    one = MIXED
                    break
            box_labels[b] = one


@vector_kernel
def _to_box(x, low, high, p):
    """A lower bound of the distance to any point of a box, also after rounding."""
    total = 0.0
    if p == 2.0:
        for c in range(x.size):
            t = max(max(low[c] - x[c], x[c] - high[c]), 0.0)
            total += t * t
    else:
        for c in range(x.size):
            part = power_of(max(max(low[c] - x[c], x[c] - high[c]), 0.0), p)
            total = max(total, part) if p == np.inf else total + part
    return total * _ROUNDED_DOWN


@kernel
def _most_points(borders):
    """The number of points in the largest leaf."""
    most = 0
    for b in range(borders.shape[0] // 2, borders.shape[0]):
        most = max(most, borders[b, 1] - borders[b, 0])
    return most


@kernel
def nearest_in_tree(
    T, order, borders, lows, highs, lowest, labels, box_labels, Q, own, p, one_per_label, values, indices
):
    """Write the k nearest of the points T, (d, n) in the order of the tree, for each row of Q, nearest first.

    ``labels`` belong to T, ``own`` to Q. Rows with fewer than k candidates end with infinity and -1. With
    ``one_per_label``, k is 1, Q is sorted by label, and only the nearest point of each label is needed: rows that
    cannot improve on an earlier one of their label get none. Returns the number of distances computed.
    """
    boxes = borders.shape[0]
    n, k = T.shape[1], values.shape[1]
    waiting, gaps = np.empty(64, dtype=np.int64), np.empty(64)
    to = np.empty(_most_points(borders))
    measured, best = 0, np.inf
    for i in range(Q.shape[0]):
        x, mine = Q[i], own[i]
        near, who = values[i], indices[i]
        if not one_per_label or i == 0 or own[i - 1] != mine:
            best = np.inf
        near[:], who[:] = best, n
        waiting[0], gaps[0] = 0, 0.0
        top = 1
        while top > 0:
            top -= 1
            b = waiting[top]
            if not comes_before(gaps[top], lowest[b], near[0], who[0]) or box_labels[b] == mine:
                continue
            if 2 * b + 2 < boxes:
                left, right = 2 * b + 1, 2 * b + 2
                to_left, to_right = _to_box(x, lows[left], highs[left], p), _to_box(x, lows[right], highs[right], p)
                if to_right < to_left:
                    left, right, to_left, to_right = right, left, to_right, to_left
                if to_right <= near[0]:
                    waiting[top], gaps[top] = right, to_right
                    top += 1
                waiting[top], gaps[top] = left, to_left
                top += 1
            else:
                start, stop = borders[b, 0], borders[b, 1]
                measured += stop - start
                powers_to_points(x, T, start, stop, p, to)
                for a in range(start, stop):
                    value = to[a - start]
                    if value <= near[0] and labels[a] != mine and comes_before(value, order[a], near[0], who[0]):
                        replace_top(near, who, value, order[a], k)
        best = min(best, near[0])
        sort_heap(near, who)
        for a in range(k):
            if near[a] == np.inf or who[a] == n:
                near[a], who[a] = np.inf, -1
    return measured


@kernel
def within_in_tree(T, order, borders, lows, highs, Q, own, p, reach, starts, values, indices):
    """Write the points of T within ``reach`` of each row of Q, except itself; those of row i begin at starts[i].

    With empty ``values`` they are only counted, in starts.
    """
    boxes = borders.shape[0]
    waiting = np.empty(64, dtype=np.int64)
    to = np.empty(_most_points(borders))
    for i in range(Q.shape[0]):
        x = Q[i]
        found = 0
        waiting[0] = 0
        top = 1
        while top > 0:
            top -= 1
            b = waiting[top]
            if _to_box(x, lows[b], highs[b], p) > reach:
                continue
            if 2 * b + 2 < boxes:
                waiting[top], waiting[top + 1] = 2 * b + 1, 2 * b + 2
                top += 2
            else:
                start, stop = borders[b, 0], borders[b, 1]
                powers_to_points(x, T, start, stop, p, to)
                for a in range(start, stop):
                    if to[a - start] <= reach and order[a] != own[i]:
                        if values.size:
                            values[starts[i] + found], indices[starts[i] + found] = to[a - start], order[a]
                        found += 1
        if values.size:
            sort_by_value(values[starts[i] : starts[i] + found], indices[starts[i] : starts[i] + found])
        else:
            starts[i] = found
