"""A k-d tree: nested boxes, each split at the median of its widest side.

Distances are the powers of ``pair_distances``; ties go to the lower index. Points with the label of the query are
skipped; to skip only the query itself, labels are row numbers.
"""

import numpy as np

from lowland.kernels.compile import kernel, vector_kernel
from lowland.kernels.heaps import comes_before, replace_top, sort_by_value, sort_heap
from lowland.kernels.pair_distances import power_of, powers_to_points

_ROUNDED_DOWN = 1 - 1e-13  # covers the rounding error of sums in another order
MIXED = -2  # the label of a box with points of several labels


@kernel
def _divide(keys, order, first, last, middle):
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
            _divide(keys, order, start, stop - 1, middle)
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
def nearest_in_tree(T, order, borders, lows, highs, lowest, labels, box_labels, Q, own, p, values, indices):
    """Write the k nearest of the points T, (d, n) in the order of the tree, for each row of Q, nearest first.

    ``labels`` belong to T, ``own`` to Q. Rows with fewer than k candidates end with infinity and -1. Returns the number
    of distances computed.
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
        sort_heap(near, who)
        for a in range(k):
            if near[a] == np.inf:
                who[a] = -1
    return measured


@kernel
def shortest_to_other_labels(T, order, borders, lows, highs, lowest, labels, box_labels, places, p, values, indices):
    """Write the nearest point with another label for the points at ``places`` of T, which are sorted by label.

    Only the shortest edge of each label is needed: points that cannot improve on an earlier one of their label get
    infinity.
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
            if not comes_before(gaps[top], lowest[b], near, who) or box_labels[b] == mine:
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
                powers_to_points(x, T, start, stop, p, to)
                for a in range(start, stop):
                    if labels[a] != mine and comes_before(to[a - start], order[a], near, who):
                        near, who = to[a - start], order[a]
        values[i] = near if who < n else np.inf
        indices[i] = who if who < n else -1
        best = min(best, near)


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
