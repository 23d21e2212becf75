"""Nearest neighbours: a tree of boxes, and the smallest of rows of distances.

Whatever finds a neighbour, its distance is summed over the columns in their order, in float64 and without fused
products, so that all ways to search give the same bits; of equally near points the one of the lower index comes first.
A point whose label is that of the query is passed over: labels are row numbers where only the row itself is meant.

What is kept of a distance is its power: |x - y|² for p = 2, the sum of |x - y|^p in general, the largest for p = inf.
"""

import numpy as np

from lowland.kernels.compile import kernel, vector_kernel

_ROUNDED_DOWN = 1 - 1e-13  # sums taken in another order may differ by so much
_STRETCH = 64  # values looked at together
_NONE, _ONE = np.float32(0), np.float32(1)
MIXED = -2  # the label of a box with points of several labels


@kernel
def _power_of(t, p):
    """One column's part in the distance."""
    if p == 2.0:
        return t * t
    t = abs(t)
    return t if p == 1.0 or p == np.inf else t**p


@kernel
def _power_between(x, y, p):
    total = 0.0
    for c in range(x.size):
        part = _power_of(np.float64(x[c]) - np.float64(y[c]), p)
        total = max(total, part) if p == np.inf else total + part
    return total


# --- the k smallest, kept as a heap with the largest on top ---


@kernel
def _before(value, index, other_value, other_index):
    return value < other_value or (value == other_value and index < other_index)


@kernel
def _sink(values, indices, at, value, index, size):
    """Put a point at a place of a heap that has become free, or below."""
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and _before(values[child], indices[child], values[child + 1], indices[child + 1]):
            child += 1
        if not _before(value, index, values[child], indices[child]):
            break
        values[at], indices[at] = values[child], indices[child]
        at = child
    values[at], indices[at] = value, index


@kernel
def _replace_top(values, indices, value, index, size):
    """Put a nearer point in the place of the farthest."""
    _sink(values, indices, 0, value, index, size)


@kernel
def _sort_heap(values, indices):
    """Turn a heap into a list, the smallest first."""
    for size in range(values.size - 1, 0, -1):
        value, index = values[size], indices[size]
        values[size], indices[size] = values[0], indices[0]
        _replace_top(values, indices, value, index, size)


@kernel
def sort_heaps(values, indices):
    """Sort every row of two tables of heaps, nearest first."""
    for i in range(values.shape[0]):
        _sort_heap(values[i], indices[i])


# --- the tree ---


@kernel
def _divide(keys, order, first, last, middle):
    """Order points so that those before ``middle`` have no larger keys than those after it, ties by index."""
    while first < last:
        # the middle one of three as pivot
        a, b, c = first, (first + last) // 2, last
        if _before(keys[b], order[b], keys[a], order[a]):
            a, b = b, a
        if _before(keys[c], order[c], keys[b], order[b]):
            b = c if _before(keys[a], order[a], keys[c], order[c]) else a
        key, index = keys[b], order[b]
        i, j = first, last
        while i <= j:
            while _before(keys[i], order[i], key, index):
                i += 1
            while _before(key, index, keys[j], order[j]):
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
    """Divide points at the median of the widest side of their box, ``depth`` times.

    Boxes are numbered as in a heap: those below box b are 2b + 1 and 2b + 2. Box b holds the points
    order[borders[b, 0] : borders[b, 1]] between the corners lows[b] and highs[b], the lowest index being lowest[b].
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
            _divide(keys, order, start, stop - 1, middle)
            borders[2 * b + 1, 0], borders[2 * b + 1, 1] = start, middle
            borders[2 * b + 2, 0], borders[2 * b + 2, 1] = middle, stop


@kernel
def label_boxes(labels, borders, box_labels):
    """Write the one label of the points in each box, or MIXED; ``labels`` are in the order of the tree."""
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
    """No more than the distance to any point of a box, also after rounding."""
    total = 0.0
    if p == 2.0:
        for c in range(x.size):
            t = max(max(low[c] - x[c], x[c] - high[c]), 0.0)
            total += t * t
    else:
        for c in range(x.size):
            part = _power_of(max(max(low[c] - x[c], x[c] - high[c]), 0.0), p)
            total = max(total, part) if p == np.inf else total + part
    return total * _ROUNDED_DOWN


@kernel
def _to_points(x, T, start, stop, p, out):
    """Write the distances to some points, T being (d, n): columns are added in their order, many points at once."""
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
                part = _power_of(xc - column[a], p)
                out[a] = max(out[a], part) if p == np.inf else out[a] + part


@kernel
def _most_points(borders):
    """Points of the largest box that is not divided."""
    most = 0
    for b in range(borders.shape[0] // 2, borders.shape[0]):
        most = max(most, borders[b, 1] - borders[b, 0])
    return most


@kernel
def nearest_in_tree(T, order, borders, lows, highs, lowest, labels, box_labels, Q, own, p, values, indices):
    """Write the k nearest of the points T, (d, n) in the order of the tree, to each row of Q, nearest first.

    ``labels`` belong to T, ``own`` to Q. Rows with fewer than k points to choose from end with infinity and -1. Returns
    how many distances were measured.
    """
    boxes = borders.shape[0]
    n, k = T.shape[1], values.shape[1]
    waiting, gaps = np.empty(64, dtype=np.int64), np.empty(64)
    to = np.empty(_most_points(borders))
    measured = 0
    for i in range(Q.shape[0]):
        x, mine = Q[i], own[i]
        near, who = values[i], indices[i]
        near[:], who[:] = np.inf, n
        waiting[0], gaps[0] = 0, 0.0
        top = 1
        while top > 0:
            top -= 1
            b = waiting[top]
            if not _before(gaps[top], lowest[b], near[0], who[0]) or box_labels[b] == mine:
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
                _to_points(x, T, start, stop, p, to)
                for a in range(start, stop):
                    value = to[a - start]
                    if value <= near[0] and labels[a] != mine and _before(value, order[a], near[0], who[0]):
                        _replace_top(near, who, value, order[a], k)
        _sort_heap(near, who)
        for a in range(k):
            if near[a] == np.inf:
                who[a] = -1
    return measured


@kernel
def shortest_from_parts(T, order, borders, lows, highs, lowest, labels, box_labels, places, p, values, indices):
    """Write the nearest point of another label to the points at ``places`` of T, which are in the order of labels.

    Points farther from all others than one of their own label before them are left with infinity: the shortest link of
    a part is what is asked for.
    """
    boxes = borders.shape[0]
    waiting, gaps = np.empty(64, dtype=np.int64), np.empty(64)
    to = np.empty(_most_points(borders))
    best = np.inf
    n = T.shape[1]
    for i in range(places.size):
        x, mine = T[:, places[i]].copy(), labels[places[i]]
        if i == 0 or labels[places[i - 1]] != mine:
            best = np.inf
        near, who = best, n
        waiting[0], gaps[0] = 0, 0.0
        top = 1
        while top > 0:
            top -= 1
            b = waiting[top]
            if not _before(gaps[top], lowest[b], near, who) or box_labels[b] == mine:
                continue
            if 2 * b + 2 < boxes:
                left, right = 2 * b + 1, 2 * b + 2
                to_left, to_right = _to_box(x, lows[left], highs[left], p), _to_box(x, lows[right], highs[right], p)
                if to_right < to_left:
                    left, right, to_left, to_right = right, left, to_right, to_left
                if to_right <= near:
                    waiting[top], gaps[top] = right, to_right
                    top += 1
                waiting[top], gaps[top] = left, to_left
                top += 1
            else:
                start, stop = borders[b, 0], borders[b, 1]
                _to_points(x, T, start, stop, p, to)
                for a in range(start, stop):
                    if labels[a] != mine and _before(to[a - start], order[a], near, who):
                        near, who = to[a - start], order[a]
        values[i] = near if who < n else np.inf
        indices[i] = who if who < n else -1
        best = min(best, near)


@kernel
def within_in_tree(T, order, borders, lows, highs, Q, own, p, reach, starts, values, indices):
    """Write the points of T no farther than ``reach`` from each row of Q but itself; row i's begin at starts[i].

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
                _to_points(x, T, start, stop, p, to)
                for a in range(start, stop):
                    if to[a - start] <= reach and order[a] != own[i]:
                        if values.size:
                            values[starts[i] + found], indices[starts[i] + found] = to[a - start], order[a]
                        found += 1
        if values.size:
            _sort_links(values[starts[i] : starts[i] + found], indices[starts[i] : starts[i] + found])
        else:
            starts[i] = found


@kernel
def _sort_links(values, indices):
    """Sort by value, ties by index: a heap is made, then taken apart."""
    size = values.size
    for at in range(size // 2 - 1, -1, -1):
        _sink(values, indices, at, values[at], indices[at], size)
    _sort_heap(values, indices)


# --- rows of distances ---


@vector_kernel
def _any_below(row, add, top):
    """Whether any of some values is to be kept: mostly none is, which vector registers tell at once."""
    count = _NONE  # in float32, since sums of integers would be widened to 64 bits
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
    """Merge V[i, j] + add[j], (m, b), into the heaps of the smallest of each row; column j is point ``first`` + j."""
    m, width = V.shape
    k = values.shape[1]
    for i in range(m):
        row, near, who, mine = V[i], values[i], indices[i], own[i]
        for start in range(0, width, _STRETCH):
            stop = min(start + _STRETCH, width)
            if _any_below(row[start:stop], add[start:stop], near[0]):
                for j in range(start, stop):
                    value = row[j] + add[j]
                    if value <= near[0] and labels[j] != mine and _before(value, first + j, near[0], who[0]):
                        _replace_top(near, who, value, first + j, k)


@kernel
def keep_smallest_of_columns(V, add, first, own, labels, values, indices):
    """The same for the columns of V: V[i, j] + add[i] goes into the heap j, and row i is point ``first`` + i."""
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
                    if _before(value, first + i, values[j, 0], indices[j, 0]):
                        _replace_top(values[j], indices[j], value, first + i, k)
                        tops[j] = values[j, 0]


@kernel
def keep_nearest(Q, T, p, first, own, labels, values, indices):
    """Merge the distances of rows Q to points T, (d, b), into the heaps of the smallest of each row."""
    b, k = T.shape[1], values.shape[1]
    to = np.empty(b)
    for i in range(Q.shape[0]):
        near, who, mine = values[i], indices[i], own[i]
        _to_points(Q[i], T, 0, b, p, to)
        for j in range(b):
            if to[j] <= near[0] and labels[j] != mine and _before(to[j], first + j, near[0], who[0]):
                _replace_top(near, who, to[j], first + j, k)


@kernel
def distances_by_columns(Q, T, p, out):
    """Write the distances of rows Q to points T, (d, b), to ``out``, (m, b)."""
    for i in range(Q.shape[0]):
        _to_points(Q[i], T, 0, T.shape[1], p, out[i])


@kernel
def _squares_of_four(x, a, b, c, d):
    """Squared distances of x to four points at once: each sum waits for its own terms only."""
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
    """Write the distances of x to the points of X that ``places`` names; a place beyond them stands for none."""
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
        values[a] = _power_between(x, X[j], p) if 0 <= j < n else np.inf


@kernel
def measure_candidates(Q, X, p, indices, values):
    """Write the distances of rows Q to the points of X that ``indices`` names, and sort both by them.

    An index beyond the points stands for none.
    """
    for i in range(Q.shape[0]):
        _measure_row(Q[i], X, p, indices[i], values[i])
        _sort_links(values[i], indices[i])


@kernel
def measure_table(Q, rows, X, places, p, values):
    """Write the distances of rows Q[rows] to the points of X that the row of ``places`` beside each names, (m, k)."""
    for a in range(rows.size):
        _measure_row(Q[rows[a]], X, p, places[a], values[a])


@kernel
def measure_pairs(Q, rows, X, places, p, values):
    """Write the distances of the pairs of rows Q[rows] and X[places]."""
    for a in range(rows.size):
        values[a] = _power_between(Q[rows[a]], X[places[a]], p)


# --- graphs ---


@kernel
def both_directions(start, to, length, out_start, out_to, out_length):
    """Write every link in both directions, once, in the order of the points it leads to; of two lengths the shorter.

    ``out_start`` is (n + 1,), the others twice the links. Returns how many links there are then.
    """
    n = start.size - 1
    places = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        for a in range(start[i], start[i + 1]):
            places[i + 1] += 1
            places[to[a] + 1] += 1
    for i in range(n):
        places[i + 1] += places[i]
    ends = places[:n].copy()
    for i in range(n):
        for a in range(start[i], start[i + 1]):
            j = to[a]
            out_to[ends[i]], out_length[ends[i]] = j, length[a]
            ends[i] += 1
            out_to[ends[j]], out_length[ends[j]] = i, length[a]
            ends[j] += 1
    kept = 0
    for i in range(n):
        first, last = places[i], places[i + 1]
        _sort_links(out_to[first:last], out_length[first:last])  # by point, of the same the shorter first
        out_start[i] = kept
        for a in range(first, last):
            if kept == out_start[i] or out_to[kept - 1] != out_to[a]:
                out_to[kept], out_length[kept] = out_to[a], out_length[a]
                kept += 1
    out_start[n] = kept
    return kept


@kernel
def label_parts(start, to, label):
    """Write the part of each point, numbered in the order of their first points; return how many there are."""
    n = label.size
    root = np.arange(n)
    for i in range(n):
        for a in range(start[i], start[i + 1]):
            x, y = i, np.int64(to[a])
            while root[x] != x:
                root[x] = root[root[x]]
                x = root[x]
            while root[y] != y:
                root[y] = root[root[y]]
                y = root[y]
            root[max(x, y)] = min(x, y)
    count = 0
    for i in range(n):
        if root[i] == i:
            label[i] = count
            count += 1
        else:
            label[i] = label[root[i]]  # a lower one, labelled before
    return count
