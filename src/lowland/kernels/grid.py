"""Repulsion of t-SNE by cubic B-splines on a grid, and its descent on a plane, which all threads execute together.

A grid of 1, 2 or 3 dimensions is passed flat, with ``steps`` (k,), the distance in memory of two nodes along each axis;
the last is 1. A point of cell c along an axis touches the nodes c ... c + 3, with the place of node 0 at ``origin``.
A point outside of the grid, or at NaN, makes its results NaN or meaningless, but touches no memory beyond the grid.

On a plane, the charges are convolved with w by Fourier transforms of twice the length along each axis. ``LANES`` lines
are transformed at once, one for each element of a vector (Stockham's algorithm, which needs no bit reversal).
"""

import math

import numpy as np

from lowland.kernels.compile import inner_loop, kernel, vector_kernel
from lowland.kernels.descent_steps import add_parts, momentum_rows
from lowland.kernels.team import BLOCK, count_team_blocks, meet, take
from lowland.kernels.tsne import attract_on_plane

LANES = 16  # lines
CROWD = 2.0  # similarity of a row to all others, on average: below, the error of its own potential counts
_MARGIN = 8  # nodes between the farthest two points and the place where the transform wraps around
_BAND = 8  # cells or more: the nodes touched by two bands of the same parity are disjoint
_BANDS = _SHARES = 64  # or fewer


# --- the grid ---------------------------------------------------------------------------------------------------------


@kernel
def extent(Z, low, high):
    """Write the smallest and the largest coordinate along each axis."""
    low[:], high[:] = np.inf, -np.inf
    for i in range(Z.shape[0]):
        for c in range(Z.shape[1]):
            low[c] = min(low[c], Z[i, c])
            high[c] = max(high[c], Z[i, c])


@kernel
def fast_length(count):
    """Return the smallest length of count or more that is fast to transform: 1, 3, 5 or 9 times a power of two."""
    shortest = 1
    while shortest < count:
        shortest *= 2
    for odd in (3, 5, 9):
        length = odd
        while length < count:
            length *= 2
        shortest = min(shortest, length)
    return shortest


@kernel
def choose_grid(low, high, spacing, cells, origin, nodes):
    """Write the place of node 0 and the numbers of nodes for a map of this extent; return the spacing.

    A small map has a finer grid, with ``cells`` along its longer side, down to a quarter of the spacing. Numbers of
    nodes and spacings come from a short list, so that the transform of w is rarely computed again.
    """
    span = 1e-9
    for c in range(low.size):
        span = max(span, high[c] - low[c])
    if span < cells * spacing:
        spacing *= max(0.25, 2.0 ** -math.floor(math.log2(cells * spacing / span)))
    for c in range(low.size):
        wanted = (high[c] - low[c]) / spacing
        wanted = wanted if wanted < 2.0**40 else 2.0**40  # far more than are ever used, also for NaN
        nodes[c] = fast_length(int(wanted) + 6 + _MARGIN)
        origin[c] = (low[c] + high[c]) / 2 - spacing * (math.floor(wanted) / 2 + 2)
    return spacing


# --- charges and potential --------------------------------------------------------------------------------------------


@inner_loop
def _weights(u, W):
    """The four values of the spline at a place 0 <= u < 1 within its cell."""
    o = 1.0 - u
    W[0] = o * o * o / 6.0
    W[1] = 2.0 / 3.0 - u * u * (2.0 - u) / 2.0
    W[2] = 2.0 / 3.0 - o * o * (2.0 - o) / 2.0
    W[3] = u * u * u / 6.0


@inner_loop
def _slopes(u, D):
    """Their derivatives."""
    o = 1.0 - u
    D[0] = -o * o / 2.0
    D[1] = u * (1.5 * u - 2.0)
    D[2] = o * (2.0 - 1.5 * o)
    D[3] = u * u / 2.0


@inner_loop
def _corner(Z, i, origin, inverse_spacing, steps, size, U, W):
    """Return the first node that row i touches; write its place within its cell to U, and the splines there to W."""
    corner = 0
    for c in range(U.size):
        u = (Z[i, c] - origin[c]) * inverse_spacing
        cell = int(u)
        corner += cell * steps[c]
        U[c] = u - cell
        _weights(U[c], W[c])
    return max(0, min(corner, size - 1 - 3 * steps.sum()))


@inner_loop
def _line(line, corner, steps, W):
    """Return the first node of a line of four, and the product of the splines across it."""
    k, at, w = steps.size, corner, 1.0
    if k >= 2:
        at += (line & 3) * steps[k - 2]
        w *= W[k - 2, line & 3]
    if k == 3:
        at += (line >> 2) * steps[0]
        w *= W[0, line >> 2]
    return at, w


@inner_loop
def _spread(Z, rows, origin, inverse_spacing, steps, grid):
    k = Z.shape[1]
    U, W, lines = np.empty(k), np.empty((k, 4)), 4 ** (k - 1)  # of four nodes, along the last axis
    for i in rows:
        corner = _corner(Z, i, origin, inverse_spacing, steps, grid.size, U, W)
        for line in range(lines):
            at, w = _line(line, corner, steps, W)
            for m in range(4):
                grid[at + m] += w * W[k - 1, m]


@vector_kernel
def spread(Z, origin, inverse_spacing, steps, grid):
    """Add a unit charge at each row of Z to the nodes around it."""
    _spread(Z, np.arange(Z.shape[0]), origin, inverse_spacing, steps, grid)


@inner_loop
def _read(Z, first, last, origin, inverse_spacing, steps, grid, G):
    k = Z.shape[1]
    U, W, D, force = np.empty(k), np.empty((k, 4)), np.empty((k, 4)), np.empty(k)
    lines, total = 4 ** (k - 1), 0.0
    for i in range(first, last):
        corner = _corner(Z, i, origin, inverse_spacing, steps, grid.size, U, W)
        for c in range(k):
            _slopes(U[c], D[c])
            force[c] = 0.0
        for line in range(lines):
            at, w = _line(line, corner, steps, W)
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


@vector_kernel
def read_potential(Z, origin, inverse_spacing, steps, grid, G):
    """Write -1/2 the gradient of the potential at the rows of Z to G; return the sum of the potential."""
    return _read(Z, 0, Z.shape[0], origin, inverse_spacing, steps, grid, G)


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
            _read(inside, 0, 1, origin, inverse_spacing, steps, grid, push)
            for c in range(k):
                Z[i, c] -= rate * (force[c] - inverse_mean * push[0, c])


# --- Fourier transforms of LANES lines --------------------------------------------------------------------------------


@kernel
def _by_four(xr, xi, yr, yi, s, m, wave, n):
    """One step of a transform: m butterflies of four values, each of s numbers in a row.

    No kernel of the transforms may reorder sums, so that every compiled copy has the same bits.
    """
    t = n // (4 * m)
    for p in range(m):
        w1r, w1i = wave[0, p * t], wave[1, p * t]
        w2r, w2i = wave[0, 2 * p * t], wave[1, 2 * p * t]
        w3r, w3i = wave[0, 3 * p * t], wave[1, 3 * p * t]
        a, b, c, d = s * p, s * (p + m), s * (p + 2 * m), s * (p + 3 * m)
        x0r, x1r, x2r, x3r = xr[a : a + s], xr[b : b + s], xr[c : c + s], xr[d : d + s]
        x0i, x1i, x2i, x3i = xi[a : a + s], xi[b : b + s], xi[c : c + s], xi[d : d + s]
        a, b, c, d = 4 * s * p, 4 * s * p + s, 4 * s * p + 2 * s, 4 * s * p + 3 * s
        y0r, y1r, y2r, y3r = yr[a : a + s], yr[b : b + s], yr[c : c + s], yr[d : d + s]
        y0i, y1i, y2i, y3i = yi[a : a + s], yi[b : b + s], yi[c : c + s], yi[d : d + s]
        for q in range(s):
            pr, pi, mr, mi = x0r[q] + x2r[q], x0i[q] + x2i[q], x0r[q] - x2r[q], x0i[q] - x2i[q]
            ur, ui, vr, vi = x1r[q] + x3r[q], x1i[q] + x3i[q], x1r[q] - x3r[q], x1i[q] - x3i[q]
            y0r[q], y0i[q] = pr + ur, pi + ui
            er, ei = pr - ur, pi - ui
            y2r[q], y2i[q] = er * w2r - ei * w2i, er * w2i + ei * w2r
            er, ei = mr + vi, mi - vr
            y1r[q], y1i[q] = er * w1r - ei * w1i, er * w1i + ei * w1r
            er, ei = mr - vi, mi + vr
            y3r[q], y3i[q] = er * w3r - ei * w3i, er * w3i + ei * w3r


@kernel
def _by_radix(xr, xi, yr, yi, s, m, r, wave, n):
    """The same for butterflies of r values."""
    t = n // (r * m)
    for p in range(m):
        for to in range(r):
            b = (r * p + to) * s
            br, bi = yr[b : b + s], yi[b : b + s]
            br[:], bi[:] = 0, 0
            for of in range(r):
                at = (to * p * t + to * of % r * (n // r)) % n
                wr, wi, a = wave[0, at], wave[1, at], s * (p + of * m)
                ar, ai = xr[a : a + s], xi[a : a + s]
                for q in range(s):
                    br[q] += ar[q] * wr - ai[q] * wi
                    bi[q] += ar[q] * wi + ai[q] * wr


@kernel
def transform(xr, xi, yr, yi, n, wave):
    """Transform LANES lines of n numbers; return whether the result is in y instead of x.

    x and y (n * LANES,) have real and imaginary parts, in the order of the numbers; ``wave`` (2, n) has the cosines and
    sines of -2π i / n. With real and imaginary parts exchanged, it is n times the inverse transform.
    """
    m, s, moved = n, LANES, False
    while m > 1:
        r = 4 if m % 4 == 0 else 2 if m % 2 == 0 else 3 if m % 3 == 0 else 5
        m //= r
        if r == 4:
            _by_four(xr, xi, yr, yi, s, m, wave, n)
        else:
            _by_radix(xr, xi, yr, yi, s, m, r, wave, n)
        xr, xi, yr, yi = yr, yi, xr, xi
        s *= r
        moved = not moved
    return moved


@kernel
def convolve(team, threads, charges, spectrum, waves, field, lines, other):
    """Convolve charges (m0, m1) with w, in place.

    ``spectrum`` (p0 / 2 + 1, columns) is the transform of w over that of the splines and over p0 p1, the lengths of the
    transforms; it is even and real. ``waves`` (2, 2, the longer length) serve both axes. ``field`` (2, m0, columns)
    holds the transforms along the last axis, ``lines`` and ``other`` belong to the thread.
    """
    (m0, m1), half = charges.shape, spectrum.shape[0] - 1
    p0, columns, p1 = 2 * half, spectrum.shape[1], 2 * m1
    across, along = waves[0], waves[1]
    group = take(team)
    while group * 2 * LANES < m0:  # the lines of two groups of rows are real and imaginary parts
        first = group * 2 * LANES
        _load_rows(charges, first, p1, lines)
        moved = transform(lines[0], lines[1], other[0], other[1], p1, along)
        found = other if moved else lines
        _store_halves(found, first, p1, field)
        group = take(team)
    meet(team, threads)
    group = take(team)
    while group * LANES < columns:
        first = group * LANES
        for part in range(2):
            for i in range(m0):
                lines[part, i * LANES : (i + 1) * LANES] = field[part, i, first : first + LANES]
            lines[part, m0 * LANES : p0 * LANES] = 0
        moved = transform(lines[0], lines[1], other[0], other[1], p0, across)
        x, y = (other, lines) if moved else (lines, other)
        for i in range(p0):
            for q in range(LANES):
                factor = spectrum[min(i, p0 - i), first + q]
                x[0, i * LANES + q] *= factor
                x[1, i * LANES + q] *= factor
        moved = transform(x[1], x[0], y[1], y[0], p0, across)
        found = y if moved else x
        for part in range(2):
            for i in range(m0):
                field[part, i, first : first + LANES] = found[part, i * LANES : (i + 1) * LANES]
        group = take(team)
    meet(team, threads)
    group = take(team)
    while group * 2 * LANES < m0:
        first = group * 2 * LANES
        _load_halves(field, first, p1, lines)
        moved = transform(lines[1], lines[0], other[1], other[0], p1, along)
        _store_rows(other if moved else lines, first, charges)
        group = take(team)
    meet(team, threads)


@kernel
def _load_rows(charges, first, length, lines):
    m0, m1 = charges.shape
    for part in range(2):
        for q in range(LANES):
            i = first + part * LANES + q
            for j in range(m1):
                lines[part, j * LANES + q] = charges[i, j] if i < m0 else 0
        lines[part, m1 * LANES : length * LANES] = 0


@kernel
def _store_rows(lines, first, charges):
    m0, m1 = charges.shape
    for part in range(2):
        for i in range(first + part * LANES, min(m0, first + (part + 1) * LANES)):
            q = i - first - part * LANES
            for j in range(m1):
                charges[i, j] = lines[part, j * LANES + q]


@kernel
def _store_halves(lines, first, length, field):
    """The transforms A and B of the real lines a and b from that of a + ib: X + X* and (X - X*) / i, over two."""
    half = np.float32(0.5)
    for j in range(length // 2 + 1):
        at, opposite = j * LANES, (length - j) % length * LANES
        for q in range(min(LANES, field.shape[1] - first)):
            field[0, first + q, j] = half * (lines[0, at + q] + lines[0, opposite + q])
            field[1, first + q, j] = half * (lines[1, at + q] - lines[1, opposite + q])
        for q in range(min(LANES, field.shape[1] - first - LANES)):
            field[0, first + LANES + q, j] = half * (lines[1, at + q] + lines[1, opposite + q])
            field[1, first + LANES + q, j] = half * (lines[0, opposite + q] - lines[0, at + q])


@kernel
def _load_halves(field, first, length, lines):
    """A + iB at all frequencies, from their first halves: A and B are those of real lines."""
    zero = np.float32(0)
    for q in range(LANES):
        i, k = first + q, first + LANES + q
        for j in range(length // 2 + 1):
            ar, ai = (field[0, i, j], field[1, i, j]) if i < field.shape[1] else (zero, zero)
            br, bi = (field[0, k, j], field[1, k, j]) if k < field.shape[1] else (zero, zero)
            lines[0, j * LANES + q], lines[1, j * LANES + q] = ar - bi, ai + br
            if 0 < j < length - j:
                at = (length - j) * LANES + q
                lines[0, at], lines[1, at] = ar + bi, br - ai


# --- the descent on a plane -------------------------------------------------------------------------------------------


@vector_kernel
def iterate_on_plane(
    team, threads, me, Z, start, to, p, dof, spacing, cells, strengths, how, state, grid, rooms, sums
):  # fmt: skip
    """Move the rows of Z (n, 2) by gradient descent with momentum, once for each row of ``how``; return how often.

    Without rows, write sum_j u w (z_i - z_j) to the last of ``state`` and the sum of w, with those of each row and
    itself, to ``sums[0, 0]``. The ``grid`` has a spacing, numbers of nodes, a spectrum and waves. The descent ends
    before an iteration whose map needs another grid, or whose sum of w says that the rows are too far apart.
    ``start``, ``to`` and ``p`` are the edges, ``strengths`` the factors of their attraction.
    """
    (G, V, gains, R), (given, nodes, spectrum, waves) = state, grid
    charges, field, extents, counts, order, totals, parts = rooms
    n, blocks, moves = Z.shape[0], parts.shape[0], how.shape[0] > 0
    low, high, origin = np.empty(2), np.empty(2), np.empty(2)
    wanted, steps = np.empty(2, np.int64), np.array([charges.shape[1], 1])
    lines = np.empty((2, 2 * max(nodes[0], nodes[1]) * LANES), Z.dtype)
    other = np.empty_like(lines)
    flat, (shares, bands) = charges.reshape(-1), counts.shape
    places = Z.reshape(-1).view(np.int64)  # both coordinates of a row
    height, firsts, place = max(_BAND, -(-nodes[0] // bands)), np.empty(bands + 1, np.int64), np.empty(bands, np.int64)
    for t in range(max(1, how.shape[0])):
        # the grid
        block = take(team)
        while block < blocks:
            extent(Z[block * BLOCK : (block + 1) * BLOCK], extents[block, 0], extents[block, 1])
            block = take(team)
        meet(team, threads)
        extent(extents.reshape(-1, 2), low, high)
        same = choose_grid(low, high, spacing, cells, origin, wanted) == given
        if not (same and wanted[0] == nodes[0] and wanted[1] == nodes[1]):
            return t
        # rows sorted by bands of nodes, those of a band in their order
        inverse = 1.0 / given
        share = take(team)
        while share < shares:
            counts[share] = 0
            for i in range(share * n // shares, (share + 1) * n // shares):
                counts[share, _band(Z, i, origin, inverse, height, bands)] += 1
            flat[share * flat.size // shares : (share + 1) * flat.size // shares] = 0
            share = take(team)
        meet(team, threads)
        _first_places(counts, firsts)
        share = take(team)
        while share < shares:
            place[:] = firsts[:bands]
            for before in range(share):
                for band in range(bands):
                    place[band] += counts[before, band]
            for i in range(share * n // shares, (share + 1) * n // shares):
                band = _band(Z, i, origin, inverse, height, bands)
                order[place[band]] = i
                place[band] += 1
            share = take(team)
        meet(team, threads)
        # charges: no two threads write to the same node
        for parity in range(2):
            band = 2 * take(team) + parity
            while band < bands:
                _spread(Z, order[firsts[band] : firsts[band + 1]], origin, inverse, steps, flat)
                band = 2 * take(team) + parity
            meet(team, threads)
        convolve(team, threads, charges, spectrum, waves, field, lines, other)
        # forces
        block = take(team)
        while block < blocks:
            a, b = block * BLOCK, min(n, (block + 1) * BLOCK)
            totals[block] = _read(Z, a, b, origin, inverse, steps, flat, R)
            if moves:
                attract_on_plane(start, to, p, Z, places, 1.0 / dof, a, b, G)
            block = take(team)
        meet(team, threads)
        total = 0.0
        for block in range(blocks):
            total += totals[block]
        if not moves:
            sums[0, 0] = total
            return 0
        if not total - n > CROWD * n:
            return t
        block = take(team)
        while block < blocks:
            a, b = block * BLOCK, min(n, (block + 1) * BLOCK)
            push = np.float32(4.0 / (total - n))
            for i in range(a, b):
                for c in range(2):
                    G[i, c] = strengths[t] * G[i, c] - push * R[i, c]
            parts[block] = momentum_rows(Z, G, V, gains, a, b, how[t, 0], how[t, 1], how[t, 2], how[t, 3])
            block = take(team)
        meet(team, threads)
        if me == 0:
            add_parts(parts, sums[t])
    return how.shape[0]


@inner_loop
def _band(Z, i, origin, inverse, height, bands):
    return max(0, min(bands - 1, int((Z[i, 0] - origin[0]) * inverse) // height))


@kernel
def _first_places(counts, firsts):
    """Write where the rows of each band begin, (bands + 1,)."""
    firsts[:] = 0
    for block in range(counts.shape[0]):
        for band in range(counts.shape[1]):
            firsts[band + 1] += counts[block, band]
    for band in range(counts.shape[1]):
        firsts[band + 1] += firsts[band]


def rooms_of(n: int, nodes: np.ndarray, columns: int) -> tuple[np.ndarray, ...]:
    """Return the arrays that the iterations share, for n rows, a grid and the columns of its spectrum."""
    blocks, bands = count_team_blocks(n), -(-nodes[0] // max(_BAND, -(-nodes[0] // _BANDS)))
    return (
        np.empty(nodes, np.float32),
        np.zeros((2, nodes[0], columns), np.float32),
        np.empty((blocks, 2, 2)),
        np.empty((min(_SHARES, blocks), bands), np.int64),
        np.empty(n, np.int32),
        np.empty(blocks),
        np.empty((blocks, 2)),
    )
