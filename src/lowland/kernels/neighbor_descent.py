"""Approximate neighbor search: trees of random splits, and rounds in which neighbors of neighbors are compared.

Points are in single precision. Every task writes to rows of its own and reads what no task of its round writes, so
results are the same on any number of threads. A list holds the nearest points found, nearest first, each point once;
``fresh`` marks those that no round has looked at.
"""

import numpy as np

from lowland.kernels.compile import inner_loop, kernel
from lowland.kernels.counter_random import below, draw, key_of
from lowland.kernels.neighbor_search import comes_before, divide, power_of, powers_to_points

_SEEN = 4096  # places of the table of the last points compared; a power of two
_MIX = 2654435761  # 2**32 / golden ratio


@inner_loop
def _power(x, y, p):
    """The power of the distance of two points, in single precision."""
    total = np.float32(0)
    if p == 2.0:
        for c in range(x.size):
            t = x[c] - y[c]
            total += t * t
    elif p == 1.0:
        for c in range(x.size):
            total += abs(x[c] - y[c])
    else:
        for c in range(x.size):
            part = np.float32(power_of(x[c] - y[c], p))
            total = max(total, part) if p == np.inf else total + part
    return total


@inner_loop
def _product(x, y):
    total = np.float32(0)
    for c in range(x.size):
        total += x[c] * y[c]
    return total


@kernel
def split(A, order, seed, level, node, depth):
    """Split a node of a tree at medians, down to ``depth``.

    Node j of a level holds order[(j n) >> level : ((j + 1) n) >> level]. The direction is the difference of two of its
    points.
    """
    n, d = A.shape
    across = np.empty(d, dtype=A.dtype)
    keys = np.empty(((node + 1) * n >> level) - (node * n >> level), dtype=np.float32)
    base = node * n >> level
    for below_it in range(depth - level):
        at = level + below_it
        for j in range(node << below_it, (node + 1) << below_it):
            start, middle, stop = j * n >> at, (2 * j + 1) * n >> (at + 1), (j + 1) * n >> at
            key = key_of(seed, at, j)
            a, b = order[start + below(draw(key, 0), stop - start)], order[start + below(draw(key, 1), stop - start)]
            for c in range(d):
                across[c] = A[a, c] - A[b, c]
            for i in range(start, stop):
                keys[i - base] = _product(across, A[order[i]])
            divide(keys[start - base : stop - base], order[start:stop], 0, stop - start - 1, middle - start)


@kernel
def _offer(near, who, new, value, index):
    """Insert a point into a list, unless it is in the list already or too far; return the number of points inserted."""
    last = near.size - 1
    if not comes_before(value, index, near[last], who[last]):
        return 0
    for a in range(who.size):
        if who[a] == index:
            return 0
    at = last
    while at > 0 and comes_before(value, index, near[at - 1], who[at - 1]):
        near[at], who[at], new[at] = near[at - 1], who[at - 1], new[at - 1]
        at -= 1
    near[at], who[at], new[at] = value, index, 1
    return 1


@kernel
def compare_in_leaves(A, order, p, depth, first, stop, values, indices, fresh):
    """Compare all pairs of points in each of some leaves of a tree."""
    n, d = A.shape
    for leaf in range(first, stop):
        low, high = leaf * n >> depth, (leaf + 1) * n >> depth
        m = high - low
        T, to = np.empty((d, m), dtype=A.dtype), np.empty(m, dtype=A.dtype)
        for i in range(m):
            x = A[order[low + i]]
            for c in range(d):
                T[c, i] = x[c]
        for i in range(m):
            u = order[low + i]
            near, who, new = values[u], indices[u], fresh[u]
            powers_to_points(A[u], T, 0, m, p, to)
            for j in range(m):
                if to[j] <= near[-1] and j != i:
                    _offer(near, who, new, to[j], order[low + j])


@kernel
def write_lists(indices, fresh, seed, first, stop, room, lists):
    """Write the lists of the points ``first`` to ``stop``: their nearest ones, then points that they are neighbors of.

    An entry is twice the index, plus one if the edge is fresh. Of the points that have a point as their neighbor, a
    random sample is taken, fresh edges first; -1 ends a list.
    """
    n, k = indices.shape[0], lists.shape[1] - room
    filled, counts = np.zeros(stop - first, dtype=np.int32), np.zeros(stop - first, dtype=np.int32)
    for u in range(first, stop):
        for a in range(k):
            lists[u, a] = 2 * indices[u, a] + fresh[u, a]
        for a in range(k, k + room):
            lists[u, a] = -1
    for wanted in (1, 0):
        for w in range(stop - first):
            filled[w] = min(filled[w] + counts[w], room) if wanted == 0 else 0
            counts[w] = 0
        for v in range(n):
            for a in range(k):
                u = indices[v, a]
                if first <= u < stop and fresh[v, a] == wanted:
                    free, count = room - filled[u - first], counts[u - first]
                    place = count if count < free else below(draw(key_of(seed, wanted, u), count), count + 1)
                    if place < free:
                        lists[u, k + filled[u - first] + place] = 2 * v + wanted
                    counts[u - first] += 1


@kernel
def compare_in_lists(A, p, lists, first, stop, values, indices, fresh):
    """Compare points ``first`` to ``stop`` with the lists of their lists, if an edge on the way is fresh.

    Returns the number of points inserted.
    """
    seen = np.full(_SEEN, -1)
    inserted = 0
    for u in range(first, stop):
        x, near, who, new = A[u], values[u], indices[u], fresh[u]
        for a in range(new.size):
            new[a] = 0
        for a in range(lists.shape[1]):
            link = lists[u, a]
            if link < 0:
                break
            w = link >> 1
            for b in range(lists.shape[1]):
                other = lists[w, b]
                if other < 0:
                    break
                v = np.int64(other >> 1)
                if (link | other) & 1 == 0 or v == u:
                    continue
                place, code = (v * _MIX >> 16) % _SEEN, (np.int64(u) << 32) + v
                if seen[place] == code:
                    continue
                seen[place] = code
                value = _power(x, A[v], p)
                if value <= near[-1]:
                    inserted += _offer(near, who, new, value, v)
    return inserted
