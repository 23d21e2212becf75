"""Shortest paths in a graph (start, to, length): from many points at once, and between all of a dense matrix."""

import numpy as np

from lowland.kernels.compile import kernel


@kernel
def paths_from(start, to, length, sources, place, width, lanes, D, rows):
    """Write the length of the shortest path from each source to every point into its row of D; inf where none is.

    ``lanes`` sources are carried at a time: ``dist`` (n, lanes) holds the shortest path from each so far. Points wait
    in a ring of buckets, one for every ``width`` of distance, until their paths are passed on to their neighbours, all
    lanes at once; they wait again if a path to them becomes shorter. What remains is the least of all sums from the
    source on, whatever the order in which they were met. Point v of the graph is column ``place[v]`` of D.
    """
    n, m = len(start) - 1, len(sources)
    per_width = length.dtype.type(1.0 / width)
    ring = 2
    while len(length) and ring < length.max() * per_width + 3:
        ring *= 2
    mask = np.uint32(ring - 1)
    dist = np.empty((n, lanes), dtype=length.dtype)
    mine = np.empty(lanes, dtype=length.dtype)
    key = np.empty(n, dtype=length.dtype)  # the shortest path that was not yet passed on, or less
    head = np.full(ring, -1, dtype=np.int32)  # the first point in each bucket
    chain = np.empty((n, 2), dtype=np.int32)  # the next and the one before in the same bucket
    where = np.full(n, -1, dtype=np.int32)  # the bucket, counted from the source on; -1: the point does not wait
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
    """Put point v first into a bucket."""
    b = np.uint32(bucket) & mask
    following = head[b]
    chain[v, 0], chain[v, 1] = following, -1
    if following >= 0:
        chain[np.uint32(following), 1] = np.int32(v)
    head[b] = np.int32(v)
    where[v] = bucket


@kernel
def _take(v, mask, head, chain, where):
    """Take point v out of its bucket."""
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
    """Write all points into ``out`` (n,), ``size`` at a time: a seed and the nearest, by edges, not yet taken.

    A ball looks at no more than ``reach`` points, so that the last ones, between others, cost no more than the first.
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
    """Let the paths of D (n, n), lengths or inf, also lead through points ``first`` to ``last`` (Floyd and Warshall).

    First those of these points themselves; any other row then meets their rows, which stay in the cache, one by one.
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
    """Take for each pair in rows ``first`` to ``last`` of D (n, n) the smaller of its two numbers, tile by tile."""
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
    """Write min over a row's neighbours of its distance to them plus theirs in D to all others, out (rows, m).

    D is (n, m); ``by_columns``: (m, n).
    """
    for r in range(len(start) - 1):
        out[r] = np.inf
        for e in range(start[r], start[r + 1]):
            v, w = to[e], length[e]
            for j in range(out.shape[1]):
                d = w + (D[j, v] if by_columns else D[v, j])
                out[r, j] = min(out[r, j], d)
