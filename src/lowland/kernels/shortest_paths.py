"""Shortest paths in a graph (start, to, length): from many sources at once, and between all points of a dense one."""

import numpy as np

from lowland.kernels.compile import kernel


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
    ring = 2
    while len(length) and ring < length.max() * per_width + 3:
        ring *= 2
    mask = np.uint32(ring - 1)
    dist = np.empty((n, lanes), dtype=length.dtype)
    mine = np.empty(lanes, dtype=length.dtype)
    key = np.empty(n, dtype=length.dtype)  # a lower bound of the paths not yet relaxed
    head = np.full(ring, -1, dtype=np.int32)  # the first point in each bucket
    chain = np.empty((n, 2), dtype=np.int32)  # the next and the previous point in the same bucket
    where = np.full(n, -1, dtype=np.int32)  # the bucket, counted from the source; -1: the point does not wait
    for first in range(0, m, lanes):
        count = min(lanes, m - first)
        dist[:] = np.inf
        waiting, now = 0, np.int32(0)
        for s in range(count):
            v = np.uint32(sources[first + s])
            dist[v, s], key[v] = 0.0, 0.0
            if where[v] < 0:
                waiting += 1
                _lay(v, now, mask, head, chain, where)
        while waiting:
            top = head[np.uint32(now) & mask]
            if top < 0:
                now += np.int32(1)
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
def in_balls(start, to, seeds, size, reach, out):
    """Write all points to ``out`` (n,), ``size`` at a time: a seed and the nearest, by number of edges, not yet taken.

    A ball visits at most ``reach`` points, so that the last balls cost no more than the first.
    """
    n = len(start) - 1
    taken = np.zeros(n, dtype=np.bool_)
    seen = np.full(n, -1, dtype=np.int32)
    queue = np.empty(reach, dtype=np.int32)
    filled = 0
    for i in range(n):
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
                if seen[v] != i and end < reach:
                    seen[v] = i
                    queue[end] = v
                    end += 1


@kernel
def paths_through(D, first, last):
    """Update D (n, n), lengths or inf, by paths through points ``first`` to ``last`` (Floyd-Warshall algorithm).

    First the rows of these points, then all other rows, which reuse the former from the cache.
    """
    for k in range(first, last):
        through = D[k].copy()
        for i in range(first, last):
            _through(D, i, D[i, k], through)
    ready = D[first:last].copy()
    for i in range(len(D)):
        if i < first or i >= last:
            for k in range(first, last):
                _through(D, i, D[i, k], ready[k - first])


@kernel
def _through(D, i, so_far, through):
    if so_far < np.inf:
        for j in range(len(through)):
            new, old = so_far + through[j], D[i, j]
            D[i, j] = new if new < old else old


@kernel
def mirror(D, first, last):
    """Replace both entries of each pair in rows ``first`` to ``last`` of D (n, n) by the smaller, tile by tile."""
    tile = 64
    for top in range(first, last, tile):
        for left in range(0, top + tile, tile):
            for i in range(top, min(top + tile, last)):
                for j in range(left, min(left + tile, i)):
                    d = min(D[i, j], D[j, i])
                    D[i, j] = d
                    D[j, i] = d


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
