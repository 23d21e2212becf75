"""Loops over a sparse matrix (CSR) and its graph: the edges of point i are ``to[start[i]:start[i + 1]]``."""

import numpy as np

from lowland.kernels.compile import kernel, vector_kernel
from lowland.kernels.heaps import sort_by_value


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


@vector_kernel
def filter_step(data, indices, indptr, begin, end, Y, Z, center, scale, back):
    """Overwrite Z by scale (A - center I) Y - back Z, (n, b) both, in the rows from ``begin`` to ``end``."""
    b = Y.shape[1]
    for i in range(begin, end):
        y, z = Y[i], Z[i]
        for c in range(b):
            z[c] = -scale * center * y[c] - back * z[c]
        for p in range(indptr[i], indptr[i + 1]):
            a, y = scale * data[p], Y[indices[p]]
            for c in range(b):
                z[c] += a * y[c]


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
