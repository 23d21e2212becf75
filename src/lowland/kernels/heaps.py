"""The k smallest of many values, in a max-heap; ties go to the lower index.

Points with the label of the query are skipped; to skip only the query itself, labels are row numbers.
"""

import numpy as np

from lowland.kernels.compile import kernel, vector_kernel

_STRETCH = 64  # values compared together
_NONE, _ONE = np.float32(0), np.float32(1)


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
    _sink(values, indices, 0, value, index, size)


@kernel
def sort_heap(values, indices):
    """Sort a heap in place, the smallest first."""
    for size in range(values.size - 1, 0, -1):
        value, index = values[size], indices[size]
        values[size], indices[size] = values[0], indices[0]
        replace_top(values, indices, value, index, size)


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
