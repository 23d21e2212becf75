"""Loops over a sparse matrix (CSR) and its graph, and shortest paths from many sources at once.

The edges of point i are ``to[start[i]:start[i + 1]]``.
"""

import numpy as np

from lowland.kernels.compile import kernel
from lowland.kernels.neighbor_search import sort_by_value
from lowland.kernels.team import BLOCK, meet, take

# --- sparse graphs ----------------------------------------------------------------------------------------------------


@kernel
def level_shape(indices, indptr):
    """Return the size of the widest level and the number of levels of the longest breadth-first search.

    Each connected component is searched twice, the second time from a point far from the first; the second counts.
    """
    n = indptr.size - 1
    seen = np.zeros(n, np.int8)
    queue = np.empty(n, np.int32)
    widest, longest = 0, 0
    for first in range(n):
        start = first
        for sweep in range(1, 3):
            if seen[start] >= sweep:
                break
            queue[0] = start
            seen[start] = sweep
            head, tail, levels = 0, 1, 0
            while head < tail:
                end = tail  # queue[head:end] is one level
                levels += 1
                if sweep == 2:
                    widest = max(widest, end - head)
                for q in range(head, end):
                    i = queue[q]
                    for p in range(indptr[i], indptr[i + 1]):
                        j = indices[p]
                        if seen[j] < sweep:
                            seen[j] = sweep
                            queue[tail] = j
                            tail += 1
                head = end
            start = queue[tail - 1]
            if sweep == 2:
                longest = max(longest, levels)
    return widest, longest


@kernel
def symmetrize(start, to, length, out_start, out_to, out_length):
    """Write every edge in both directions, once each, sorted by target; of two lengths the shorter counts.

    ``out_start`` is (n + 1,), the others have twice the number of edges. Returns the number of edges written.
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
        sort_by_value(out_to[first:last], out_length[first:last])  # by target, the shorter of duplicates first
        out_start[i] = kept
        for a in range(first, last):
            if kept == out_start[i] or out_to[kept - 1] != out_to[a]:
                out_to[kept], out_length[kept] = out_to[a], out_length[a]
                kept += 1
    out_start[n] = kept
    return kept


@kernel
def filter_steps(team, threads, values, indices, indptr, Y, Z, scale, center, back, steps):
    """Replace Z by scale (A - center) Y - back Z for a sparse A, then Y in the same way, and so on."""
    n, sums = Y.shape[0], np.empty(Y.shape[1])
    for _ in range(steps):
        block = take(team)
        while block * BLOCK < n:
            for i in range(block * BLOCK, min(n, (block + 1) * BLOCK)):
                sums[:] = 0.0
                for e in range(indptr[i], indptr[i + 1]):
                    value, j = values[e], indices[e]
                    for c in range(sums.size):
                        sums[c] += value * Y[j, c]
                for c in range(sums.size):
                    Z[i, c] = scale * (sums[c] - center * Y[i, c]) - back * Z[i, c]
            block = take(team)
        meet(team, threads)
        Y, Z = Z, Y


@kernel
def label_components(start, to, label):
    """Write the connected component of each point, numbered in the order of their first points; return their number."""
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
            label[i] = label[root[i]]  # a lower index, labeled before
    return count


# --- shortest paths ---------------------------------------------------------------------------------------------------


@kernel
def paths_from(start, to, length, sources, place, width, lanes, D, rows):
    """Write the length of the shortest path from each source to every point to its row of D; inf if there is none.

    A bucket version of Dijkstra's algorithm for ``lanes`` sources at a time: ``dist`` (n, lanes) holds the shortest
    paths so far. Points wait in a ring of buckets, one per ``width`` of distance, until their edges are relaxed for all
    lanes at once; they wait again if a path to them becomes shorter. The result does not depend on the order of
    relaxation. Point v of the graph is column ``place[v]`` of D.
    """
    n, m = len(start) - 1, len(sources)
    per_width = length.dtype.type(1.0 / width)
    ring, longest = 2, length.dtype.type(0)
    for e in range(len(length)):
        longest = max(longest, length[e])
    while ring < longest * per_width + 3:
        ring *= 2
    mask = np.uint32(ring - 1)
    dist = np.empty((n, lanes), dtype=length.dtype)
    mine = np.empty(lanes, dtype=length.dtype)
    key = np.empty(n, dtype=length.dtype)  # a lower bound of the paths not yet relaxed
    head = np.empty(ring, dtype=np.int32)  # the first point in each bucket
    chain = np.empty((n, 2), dtype=np.int32)  # the next and the previous point in the same bucket
    where = np.empty(n, dtype=np.int32)  # the bucket, counted from the source; -1: the point does not wait
    head[:], where[:] = -1, -1
    for first in range(0, m, lanes):
        count = min(lanes, m - first)
        dist[:] = np.inf
        waiting, now = 0, 0
        for s in range(count):
            v = np.uint32(sources[first + s])
            dist[v, s], key[v] = 0.0, 0.0
            if where[v] < 0:
                waiting += 1
                _lay(v, now, mask, head, chain, where)
        while waiting:
            top = head[np.uint32(now) & mask]
            if top < 0:
                now += 1
                continue
            u = np.uint32(top)
            _take(u, mask, head, chain, where)
            waiting -= 1
            so_far = key[u]
            for s in range(lanes):
                mine[s] = dist[u, s]
            for e in range(start[u], start[np.uint64(u) + np.uint64(1)]):
                v, w = np.uint32(to[np.uint64(e)]), length[np.uint64(e)]
                shorter = False
                for s in range(lanes):
                    shorter |= mine[s] + w < dist[v, s]
                if not shorter:
                    continue
                for s in range(lanes):
                    new, old = mine[s] + w, dist[v, s]
                    dist[v, s] = new if new < old else old
                least = so_far + w
                bucket = max(now, np.int32(least * per_width))
                if where[v] < 0:
                    waiting += 1
                    key[v] = least
                    _lay(v, bucket, mask, head, chain, where)
                elif least < key[v]:
                    key[v] = least
                    if bucket < where[v]:
                        _take(v, mask, head, chain, where)
                        _lay(v, bucket, mask, head, chain, where)
        for s in range(count):
            row = D[rows[first + s]]
            for v in range(n):
                row[place[v]] = dist[v, s]


@kernel
def _lay(v, bucket, mask, head, chain, where):
    """Insert point v at the head of a bucket."""
    b = np.uint32(bucket) & mask
    following = head[b]
    chain[v, 0], chain[v, 1] = following, -1
    if following >= 0:
        chain[np.uint32(following), 1] = np.int32(v)
    head[b] = np.int32(v)
    where[v] = bucket


@kernel
def _take(v, mask, head, chain, where):
    """Remove point v from its bucket."""
    following, before = chain[v, 0], chain[v, 1]
    if before >= 0:
        chain[np.uint32(before), 0] = following
    else:
        head[np.uint32(where[v]) & mask] = following
    if following >= 0:
        chain[np.uint32(following), 1] = before
    where[v] = -1


@kernel
def in_balls(start, to, seeds, size, taken, seen, queue, out):
    """Write all points to ``out`` (n,), ``size`` at a time: a seed and the nearest, by number of edges, not yet taken.

    A ball visits no more points than ``queue`` holds, so that the last balls cost no more than the first. ``taken``,
    (n,) bool, are all false, and ``seen``, (n,), negative.
    """
    filled = 0
    for i in range(seeds.size):
        seed = seeds[i]
        if taken[seed]:
            continue
        queue[0], seen[seed] = seed, i
        begin, end, found = 0, 1, 0
        while begin < end and found < size:
            u = queue[begin]
            begin += 1
            if not taken[u]:
                taken[u] = True
                out[filled] = u
                filled, found = filled + 1, found + 1
            for e in range(start[u], start[u + 1]):
                v = to[e]
                if seen[v] != i and end < queue.size:
                    seen[v] = i
                    queue[end] = v
                    end += 1


@kernel
def distances_via_neighbors(start, to, length, D, by_columns, out):
    """Write the minimum over a row's neighbors v of its distance to v plus the distances D[v] to all others.

    ``out`` is (rows, m), D is (n, m), or (m, n) if ``by_columns``.
    """
    for r in range(len(start) - 1):
        out[r] = np.inf
        for e in range(start[r], start[r + 1]):
            v, w = to[e], length[e]
            for j in range(out.shape[1]):
                d = w + (D[j, v] if by_columns else D[v, j])
                out[r, j] = min(out[r, j], d)
