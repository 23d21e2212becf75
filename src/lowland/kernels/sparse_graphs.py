"""Loops over a sparse symmetric matrix (CSR) and its graph."""

import numpy as np

from lowland.kernels.compile import kernel, vector_kernel


@kernel
def level_shape(indices, indptr):
    """Return the size of the widest level and the number of levels of the longest breadth-first search.

    Each connected part is searched twice, the second time from a vertex far from the first, and the second counts.
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
    """Write scale (A - center) Y - back Z over Z, (n, b) both, in the rows from ``begin`` to ``end``."""
    b = Y.shape[1]
    for i in range(begin, end):
        y, z = Y[i], Z[i]
        for c in range(b):
            z[c] = -scale * center * y[c] - back * z[c]
        for p in range(indptr[i], indptr[i + 1]):
            a, y = scale * data[p], Y[indices[p]]
            for c in range(b):
                z[c] += a * y[c]
