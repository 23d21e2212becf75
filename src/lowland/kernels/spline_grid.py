"""Cubic B-splines on a regular grid of 1, 2 or 3 dimensions: spread points to nodes, read a potential back.

A grid is passed flat, with ``steps`` (k,), the distance in memory of two nodes along each axis; the last is 1. A point
of cell c along an axis touches the nodes c ... c + 3, with the place of node 0 at ``origin``.
"""

import numpy as np

from lowland.kernels.compile import kernel, vector_kernel


@kernel
def extent(Z, low, high):
    """Write the smallest and the largest coordinate along each axis."""
    low[:], high[:] = np.inf, -np.inf
    for i in range(Z.shape[0]):
        for c in range(Z.shape[1]):
            low[c] = min(low[c], Z[i, c])
            high[c] = max(high[c], Z[i, c])


@vector_kernel
def sort_by_bands(Z, origin, inverse_spacing, height, start, rows):
    """Sort the rows by bands of ``height`` cells along the first axis: band b has rows[start[b]:start[b + 1]]."""
    n, bands = Z.shape[0], start.size - 1
    start[:] = 0
    for i in range(n):
        start[1 + min(bands - 1, int((Z[i, 0] - origin[0]) * inverse_spacing) // height)] += 1
    for b in range(bands):
        start[b + 1] += start[b]
    place = start[:-1].copy()
    for i in range(n):
        b = min(bands - 1, int((Z[i, 0] - origin[0]) * inverse_spacing) // height)
        rows[place[b]] = i
        place[b] += 1


@vector_kernel
def _weights(u, W):
    """The four values of the spline at a place 0 <= u < 1 within its cell."""
    o = 1.0 - u
    W[0] = o * o * o / 6.0
    W[1] = 2.0 / 3.0 - u * u * (2.0 - u) / 2.0
    W[2] = 2.0 / 3.0 - o * o * (2.0 - o) / 2.0
    W[3] = u * u * u / 6.0


@vector_kernel
def _slopes(u, D):
    """Their derivatives."""
    o = 1.0 - u
    D[0] = -o * o / 2.0
    D[1] = u * (1.5 * u - 2.0)
    D[2] = o * (2.0 - 1.5 * o)
    D[3] = u * u / 2.0


@vector_kernel
def spread(Z, rows, origin, inverse_spacing, steps, grid):
    """Add a unit charge at each of the ``rows`` of Z to the nodes around it."""
    k = Z.shape[1]
    W = np.empty((k, 4))
    lines = 4 ** (k - 1)  # of four nodes, along the last axis
    for i in rows:
        corner = 0
        for c in range(k):
            u = (Z[i, c] - origin[c]) * inverse_spacing
            cell = int(u)
            corner += cell * steps[c]
            _weights(u - cell, W[c])
        for line in range(lines):
            at, w = corner, 1.0
            if k >= 2:
                at += (line & 3) * steps[k - 2]
                w *= W[k - 2, line & 3]
            if k == 3:
                at += (line >> 2) * steps[0]
                w *= W[0, line >> 2]
            for m in range(4):
                grid[at + m] += w * W[k - 1, m]


@vector_kernel
def read_potential(Z, first, last, origin, inverse_spacing, steps, grid, G):
    """Write -1/2 the gradient of the potential at rows first ... last - 1 to G; return the sum of the potential."""
    k = Z.shape[1]
    W, D, force = np.empty((k, 4)), np.empty((k, 4)), np.empty(k)
    lines, total = 4 ** (k - 1), 0.0
    for i in range(first, last):
        corner = 0
        for c in range(k):
            u = (Z[i, c] - origin[c]) * inverse_spacing
            cell = int(u)
            corner += cell * steps[c]
            _weights(u - cell, W[c])
            _slopes(u - cell, D[c])
            force[c] = 0.0
        for line in range(lines):
            at, w = corner, 1.0
            if k >= 2:
                at += (line & 3) * steps[k - 2]
                w *= W[k - 2, line & 3]
            if k == 3:
                at += (line >> 2) * steps[0]
                w *= W[0, line >> 2]
            value, slope = 0.0, 0.0
            for m in range(4):
                value += grid[at + m] * W[k - 1, m]
                slope += grid[at + m] * D[k - 1, m]
            total += w * value
            force[k - 1] += w * slope
            if k == 2:
                force[0] += D[0, line & 3] * value
            if k == 3:
                force[1] += W[0, line >> 2] * D[1, line & 3] * value
                force[0] += D[0, line >> 2] * W[1, line & 3] * value
        for c in range(k):
            G[i, c] = -0.5 * inverse_spacing * force[c]
    return total


# A cubic B-spline four times as wide is a sum of 13 splines: coarse node J has fine nodes 4 J - 9 ... 4 J + 3. Coarse
# node 0 is the first that touches fine node 0.
_TAPS = np.array([1, 4, 10, 20, 31, 40, 44, 40, 31, 20, 10, 4, 1]) / 64.0
_RATIO, _FIRST = 4, 9


@vector_kernel
def coarsen_rows(A, first, last, R):
    """Move the charges of rows first ... last - 1 of A (m, fine) to the coarse nodes of R (m, coarse)."""
    m, zero = A.shape[1], A.dtype.type(0)
    taps = _TAPS.astype(A.dtype)
    line = np.zeros(_RATIO * R.shape[1] + taps.size, A.dtype)
    for i in range(first, last):
        line[_FIRST : _FIRST + m] = A[i]
        for J in range(R.shape[1]):
            total = zero
            for t in range(taps.size):
                total += taps[t] * line[_RATIO * J + t]
            R[i, J] = total


@vector_kernel
def coarsen_columns(A, C):
    """Move the charges of the columns of A (fine, m) to the coarse nodes of C (coarse, m)."""
    taps = _TAPS.astype(A.dtype)
    C[:] = 0
    for J in range(C.shape[0]):
        for t in range(taps.size):
            i = _RATIO * J - _FIRST + t
            if 0 <= i < A.shape[0]:
                for j in range(A.shape[1]):
                    C[J, j] += taps[t] * A[i, j]


@vector_kernel
def add_refined(C, first, last, A):
    """Add to rows first ... last - 1 of A the coefficients of fine splines that equal the coarse ones of C."""
    m, coarse, taps = A.shape[1], C.shape[1], np.zeros(4 * _RATIO, A.dtype)
    taps[: _TAPS.size] = _TAPS
    between, line = np.zeros(3 + coarse, A.dtype), np.empty(_RATIO * coarse, A.dtype)  # three zeros before the first
    for i in range(first, last):
        between[3:] = 0
        for J in range((i + _FIRST - _TAPS.size + _RATIO) // _RATIO, (i + _FIRST) // _RATIO + 1):
            w = taps[i + _FIRST - _RATIO * J]
            for j in range(coarse):
                between[3 + j] += w * C[J, j]
        for r in range(_RATIO):
            for J in range(coarse):
                line[_RATIO * J + r] = (
                    taps[r] * between[J + 3]
                    + taps[r + 4] * between[J + 2]
                    + taps[r + 8] * between[J + 1]
                    + taps[r + 12] * between[J]
                )
        for j in range(m):
            A[i, j] += line[_FIRST + j]


@vector_kernel
def place_in_field(Y, to, p, inverse_dof, origin, inverse_spacing, steps, grid, cells, inverse_mean, rate, rounds, Z):
    """Move each row of Z (m, k) by gradient descent: attracted to its neighbors, repelled by a tabulated potential.

    The neighbors ``to`` (m, neighbors) are rows of Y with the affinities ``p``. The step is ``rate`` times
    sum_j p_j u_j (z - y_j) + 1/2 gradient of the potential * ``inverse_mean``; beyond the grid, the repulsion is that
    at its border.
    """
    k = Z.shape[1]
    force, inside, push = np.empty(k), np.empty((1, k)), np.empty((1, k))
    for i in range(Z.shape[0]):
        for _ in range(rounds):
            force[:] = 0.0
            for e in range(to.shape[1]):
                d = 1.0
                for c in range(k):
                    d += inverse_dof * (Z[i, c] - Y[to[i, e], c]) ** 2
                w = p[i, e] / d
                for c in range(k):
                    force[c] += w * (Z[i, c] - Y[to[i, e], c])
            for c in range(k):
                inside[0, c] = min(max(Z[i, c], origin[c]), origin[c] + cells[c] / inverse_spacing)
            read_potential(inside, 0, 1, origin, inverse_spacing, steps, grid, push)
            for c in range(k):
                Z[i, c] -= rate * (force[c] - inverse_mean * push[0, c])
