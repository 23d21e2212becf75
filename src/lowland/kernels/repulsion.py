"""Repulsion of t-SNE by an octree, and from a random sample of the rows.

The octree (Barnes and Hut 1986) has points sorted along the Morton curve, so that each cell is a range of them. The
cells are stored in depth-first order: a cell is followed by its descendants, and ``skip`` is the first cell after them.
A cell with one child is left out. So a traversal needs no stack.
"""

import numpy as np

from lowland.kernels.compile import inner_loop, kernel, vector_kernel
from lowland.kernels.counter_random import draw, fraction, key_of
from lowland.kernels.tsne import similarity_field

LEVELS = 21  # of halving: three numbers of 21 bits make a code of 63 bits
LEAF = 8  # points of a cell that is not divided
GROUP = 128  # points that share a list of cells: those of a largest cell with no more points


# --- octree -----------------------------------------------------------------------------------------------------------


@kernel
def morton_codes(Z, low, scale, codes):
    """Write the Morton code of each row of Z (n, 3): the bits of its three cell numbers in turn."""
    most = np.float64((1 << LEVELS) - 1)
    for i in range(Z.shape[0]):
        code = np.uint64(0)
        for c in range(3):
            x = np.uint64(min(max((np.float64(Z[i, c]) - low[c]) * scale, 0.0), most))
            x = (x | (x << np.uint64(32))) & np.uint64(0x001F00000000FFFF)
            x = (x | (x << np.uint64(16))) & np.uint64(0x001F0000FF0000FF)
            x = (x | (x << np.uint64(8))) & np.uint64(0x100F00F00F00F00F)
            x = (x | (x << np.uint64(4))) & np.uint64(0x10C30C30C30C30C3)
            x = (x | (x << np.uint64(2))) & np.uint64(0x1249249249249249)
            code |= x << np.uint64(2 - c)
        codes[i] = code


@kernel
def build_octree(codes, cells, groups):
    """Write the cells of sorted codes (n,): first point, point after the last, level, ``skip``; and the groups.

    Return the numbers of cells and of groups. ``cells`` has room for 2 n rows, ``groups`` for n first points.
    """
    stack = np.empty((8 * LEVELS + 8, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, codes.shape[0]
    height, count, n_groups, grouped = 1, 0, 0, 0
    while height > 0:
        height -= 1
        first, last = stack[height]
        different, level = codes[first] ^ codes[last - 1], LEVELS
        while different != 0:
            different >>= np.uint64(3)
            level -= 1
        cells[count, 0], cells[count, 1], cells[count, 2] = first, last, level
        count += 1
        divided = last - first > LEAF and level < LEVELS
        if first >= grouped and (last - first <= GROUP or not divided):
            groups[n_groups], grouped = first, last
            n_groups += 1
        if divided:
            shift = np.uint64(3 * (LEVELS - 1 - level))
            end = last
            for i in range(last - 1, first - 1, -1):  # the last child first: the stack reverses the order
                if i == first or codes[i] >> shift != codes[i - 1] >> shift:
                    stack[height, 0], stack[height, 1] = i, end
                    height += 1
                    end = i
    for i in range(count - 1, -1, -1):
        after = i + 1
        while after < count and cells[after, 0] < cells[i, 1]:
            after = cells[after, 3]
        cells[i, 3] = after
    return count, n_groups


@inner_loop
def _squared_distance(x, y, z, low, high):
    """From a point to the nearest point of a box."""
    dx = max(max(low[0] - x, x - high[0]), 0.0)
    dy = max(max(low[1] - y, y - high[1]), 0.0)
    dz = max(max(low[2] - z, z - high[2]), 0.0)
    return dx * dx + dy * dy + dz * dz


@vector_kernel
def repel_by_octree(T, order, cells, centers, sides, starts, theta, dof, G):
    """Write the repulsion sum_j u w (z_i - z_j) of groups of points to G; return their sum of w, without self.

    ``T`` (3, n) are the sorted points, ``order`` their rows in G. A group consists of the points from starts[g] to
    starts[g + 1]. It takes a cell as one heavy point if the side is less than ``theta`` times the distance of the
    center of mass from the group's bounding box; so that holds for each of its points.
    """
    n, limit, dtype = T.shape[1], theta * theta, T.dtype.type
    one, scale, power, total = dtype(1), dtype(1.0 / dof), dtype(-dof), 0.0
    X, Y, W, M = np.empty(n, T.dtype), np.empty(n, T.dtype), np.empty(n, T.dtype), np.empty(n, T.dtype)
    low, high, own = np.empty(3), np.empty(3), np.empty(n, np.int64)
    for g in range(starts.shape[0] - 1):
        a, b = starts[g], starts[g + 1]
        for c in range(3):
            low[c], high[c] = T[c, a], T[c, a]
            for i in range(a + 1, b):
                low[c], high[c] = min(low[c], np.float64(T[c, i])), max(high[c], np.float64(T[c, i]))
        cell, m = 0, 0
        while cell < cells.shape[0]:
            first, last, after = cells[cell, 0], cells[cell, 1], cells[cell, 3]
            x, y, z = centers[cell, 0], centers[cell, 1], centers[cell, 2]
            outside = last <= a or b <= first
            small = outside and sides[cell] * sides[cell] < limit * _squared_distance(x, y, z, low, high)
            leaf = after == cell + 1
            if small or (leaf and last - first > LEAF):  # a large leaf: points at one place
                X[m], Y[m], W[m], M[m] = x, y, z, last - first
                own[first:last] = m
                m += 1
            elif leaf:
                for j in range(first, last):
                    X[m], Y[m], W[m], M[m] = T[0, j], T[1, j], T[2, j], one
                    own[j] = m
                    m += 1
            else:
                after = cell + 1
            cell = after
        for i in range(a, b):
            x, y, z = T[0, i], T[1, i], T[2, i]
            row, f, g_, h = dtype(0), dtype(0), dtype(0), dtype(0)
            M[own[i]] -= one
            if dof == 1.0:
                for j in range(m):
                    dx, dy, dz = x - X[j], y - Y[j], z - W[j]
                    u = one / (one + (dx * dx + dy * dy + dz * dz))
                    w = M[j] * u
                    row += w
                    s = w * u
                    f += s * dx
                    g_ += s * dy
                    h += s * dz
            else:
                for j in range(m):
                    dx, dy, dz = x - X[j], y - Y[j], z - W[j]
                    d = one + scale * (dx * dx + dy * dy + dz * dz)
                    w = M[j] * d**power
                    row += w
                    s = w / d
                    f += s * dx
                    g_ += s * dy
                    h += s * dz
            M[own[i]] += one
            total += row
            G[order[i], 0], G[order[i], 1], G[order[i], 2] = f, g_, h
    return total


# --- sample -----------------------------------------------------------------------------------------------------------


@vector_kernel
def repel_by_sample(start, to, Z, dof, seed, iteration, size, first, last, G):
    """Write an unbiased estimate of the repulsion sum_j u w (z_i - z_j) of rows first ... last - 1 to G.

    Return the same estimate of their sum of w, without self. The rows of a block share a sample: one row of each of
    ``size`` equal ranges of rows, so that every row is expected size / n times. A sampled row counts n / size times.
    The rows at the ends of edges count once, whether they are in the sample or not.
    """
    n, k = Z.shape
    dtype = Z.dtype.type
    one, scale, power, weight = dtype(1), dtype(1.0 / dof), dtype(-dof), dtype(n / size)
    T, drawn, times = np.empty((k, size), Z.dtype), np.empty(size, np.int64), np.zeros(n, np.uint8)
    key = key_of(seed, iteration, first)
    for slot in range(size):
        j = min(n - 1, np.int64((slot + fraction(draw(key, slot))) * (n / size)))
        drawn[slot], times[j] = j, times[j] + 1
        for c in range(k):
            T[c, slot] = Z[j, c]
    total, slot, force, d = 0.0, 0, np.empty(k, Z.dtype), np.empty(size, Z.dtype)
    for i in range(first, last):
        while slot < size and drawn[slot] < i:  # drawn in the order of the rows
            slot += 1
        row = weight * similarity_field(Z[i], T, dof, slot, slot + times[i], d, force)
        for c in range(k):
            force[c] *= weight
        for e in range(start[i], start[i + 1]):
            j, u = to[e], one
            for c in range(k):
                u += scale * (Z[i, c] - Z[j, c]) ** 2
            w = one / u if dof == 1.0 else u**power
            w *= one - weight * times[j]
            row += w
            w /= u
            for c in range(k):
                force[c] += w * (Z[i, c] - Z[j, c])
        for c in range(k):
            G[i, c] = force[c]
        total += row
    return total
