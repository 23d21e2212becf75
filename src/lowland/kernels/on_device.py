"""Loops for CUDA devices, in Triton: forces along the edges of a map, splines on a grid, and groups of near points.

A chain of array operations launches ten kernels for what one of these does, and writes every intermediate result. One
program owns a row of the map and adds its edges in their order, so the bits are the same every time.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

GROUP = 64  # points that are searched together
_EDGES, _POINTS, _TILE = 32, 256, 128
_STEP, _FIRST, _SECOND = (
    tl.constexpr(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)  # of SplitMix64


def _wide(k: int) -> int:
    return max(2, triton.next_power_of_2(k))


# --- forces along edges -----------------------------------------------------------------------------------------------


@triton.jit
def _pull(start, to, weight, Z, G, scale, inverse, local, R, factor, over, K: tl.constexpr, WIDE: tl.constexpr,
          WEIGHTED: tl.constexpr, SQUARED: tl.constexpr, LOCAL: tl.constexpr, ADDED: tl.constexpr, LESS: tl.constexpr,
          EDGES: tl.constexpr):  # fmt: skip
    i = tl.program_id(0).to(tl.int64)
    c, e = tl.arange(0, WIDE), tl.arange(0, EDGES)
    z = tl.load(Z + i * K + c, mask=c < K, other=0.0)
    total = tl.zeros((EDGES, WIDE), tl.float32)
    last = tl.load(start + i + 1)
    for first in range(tl.load(start + i), last, EDGES):
        here = first + e < last
        j = tl.load(to + first + e, mask=here, other=0).to(tl.int64)
        D = z[None, :] - tl.load(Z + j[:, None] * K + c[None, :], mask=here[:, None] & (c < K)[None, :], other=0.0)
        d2 = tl.sum(D * D, 1)
        u = 1 / (1 + d2 * inverse)
        if SQUARED:
            u = u * u
        if WEIGHTED:
            u = u * tl.load(weight + first + e, mask=here, other=0.0)
        if LOCAL:
            u = u * local / tl.sqrt(1 + d2)
        total += tl.where(here, scale * u, 0.0)[:, None] * D
    g = tl.sum(total, 0)
    if ADDED:
        g += tl.load(G + i * K + c, mask=c < K, other=0.0)
    if LESS:
        g -= tl.load(R + i * K + c, mask=c < K, other=0.0) * (factor / tl.load(over)).to(tl.float32)
    tl.store(G + i * K + c, g, mask=c < K)


def pull(edges: Any, weight: Any, Z: Any, G: Any, scale: float, inverse: float, *, squared: bool = False,
         local: float = 0.0, added: bool = False, less: tuple[Any, float, Any] | None = None) -> None:  # fmt: skip
    """Write scale · sum_j w (z_i - z_j) u to G, or add it, over the edges of each row, u = 1 / (1 + inverse d²).

    ``squared``: u². ``local``: times local / sqrt(1 + d²). Without ``weight``, w is 1. ``less``: forces R, a factor
    and a total on the device; R · factor / total is subtracted.
    """
    R, factor, over = (Z, 0.0, Z) if less is None else less
    _pull[(Z.shape[0],)](
        edges.start, edges.to, Z if weight is None else weight, Z, G, float(scale), float(inverse), float(local),
        R, float(factor), over, Z.shape[1], _wide(Z.shape[1]), weight is not None, squared, local > 0, added,
        less is not None, _EDGES, num_warps=1,
    )  # fmt: skip


@triton.jit
def _mixed(x):
    x = (x ^ (x >> 30)) * _FIRST
    x = (x ^ (x >> 27)) * _SECOND
    return x ^ (x >> 31)


@triton.jit(do_not_specialize=["epoch", "seed", "n"])
def _sampled(start, to, weight, Z, G, n, epoch, seed, a, b, gamma, clip, K: tl.constexpr, WIDE: tl.constexpr,
             NEGATIVES: tl.constexpr, EDGES: tl.constexpr):  # fmt: skip
    i = tl.program_id(0).to(tl.int64)
    c, e = tl.arange(0, WIDE), tl.arange(0, EDGES)
    z = tl.load(Z + i * K + c, mask=c < K, other=0.0)
    total = tl.zeros((EDGES, WIDE), tl.float32)
    last = tl.load(start + i + 1)
    key = seed.to(tl.uint64) + _STEP
    for first in range(tl.load(start + i), last, EDGES):
        w = tl.load(weight + first + e, mask=first + e < last, other=0.0)
        now = tl.floor(w * (epoch + 1)) > tl.floor(w * epoch)
        near = now[:, None] & (c < K)[None, :]
        j = tl.load(to + first + e, mask=now, other=0).to(tl.int64)
        D = z[None, :] - tl.load(Z + j[:, None] * K + c[None, :], mask=near, other=0.0)
        d2 = tl.sum(D * D, 1) + 1e-20
        power = tl.exp2(b * tl.log2(d2))
        factor = 2 * a * b * power / (d2 * (1 + a * power))
        force = 2 * tl.minimum(tl.maximum(factor[:, None] * D, -clip), clip)
        item = (first + e).to(tl.uint64) * _STEP
        for draw in range(NEGATIVES):
            number = (epoch * NEGATIVES + draw).to(tl.uint64)
            x = _mixed(item + _mixed(key + number * _STEP)) >> 32
            j = ((x * n.to(tl.uint64)) >> 32).to(tl.int64)
            D = z[None, :] - tl.load(Z + j[:, None] * K + c[None, :], mask=near, other=0.0)
            d2 = tl.sum(D * D, 1)
            factor = -2 * gamma * b / ((0.001 + d2) * (1 + a * tl.exp2(b * tl.log2(d2))))
            force += tl.minimum(tl.maximum(factor[:, None] * D, -clip), clip)
        total += tl.where(now[:, None], force, 0.0)
    tl.store(G + i * K + c, tl.sum(total, 0), mask=c < K)


def sampled_forces(edges: Any, weight: Any, Z: Any, G: Any, epoch: int, seed: int, curve: tuple[float, float],
                   gamma: float, negatives: int, clip: float) -> None:  # fmt: skip
    """Write the forces of one epoch of UMAP to G: sampled edges attract, random rows repel."""
    n, k = Z.shape
    _sampled[(n,)](
        edges.start, edges.to, weight, Z, G, n, epoch, seed, *curve, float(gamma), clip, k, _wide(k), negatives,
        _EDGES, num_warps=1,
    )  # fmt: skip


# --- steps ------------------------------------------------------------------------------------------------------------


@triton.jit(do_not_specialize=["n"])
def _momentum(Z, G, V, gains, n, rate, momentum, least, longest, K: tl.constexpr, WIDE: tl.constexpr,
              POINTS: tl.constexpr):  # fmt: skip
    i = tl.program_id(0) * POINTS + tl.arange(0, POINTS)
    c = tl.arange(0, WIDE)
    here, at = (i < n)[:, None] & (c < K)[None, :], i[:, None] * K + c[None, :]
    g, v = tl.load(G + at, mask=here, other=0.0), tl.load(V + at, mask=here, other=0.0)
    gain = tl.load(gains + at, mask=here, other=0.0)
    gain = tl.maximum(tl.where((g > 0) != (v > 0), gain + 0.2, gain * 0.8), least)
    v = momentum * v - rate * gain * g
    length = tl.sqrt(tl.sum(v * v, 1))
    v = v * tl.where(length > longest, longest / length, 1.0)[:, None]
    tl.store(gains + at, gain, mask=here)
    tl.store(V + at, v, mask=here)
    tl.store(Z + at, tl.load(Z + at, mask=here, other=0.0) + v, mask=here)


def momentum_step(Z: Any, G: Any, V: Any, gains: Any, rate: float, rule: Any) -> None:
    """Move the rows of Z with the velocities V and a gain for each coordinate."""
    n, k = Z.shape
    _momentum[(triton.cdiv(n, _POINTS),)](
        Z, G, V, gains, n, float(rate), rule.momentum, rule.least_gain, rule.longest, k, _wide(k), _POINTS
    )


@triton.jit(do_not_specialize=["count"])
def _adam(Z, G, M, S, moved, count, rate, beta1, rest1, beta2, rest2, first, second, eps, NUMBERS: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * NUMBERS + tl.arange(0, NUMBERS)
    here = i < count
    g = tl.load(G + i, mask=here, other=0.0)
    m = beta1 * tl.load(M + i, mask=here, other=0.0) + rest1 * g
    s = beta2 * tl.load(S + i, mask=here, other=0.0) + rest2 * g * g
    step = rate * (m / first) / (tl.sqrt(s / second) + eps)
    tl.store(M + i, m, mask=here)
    tl.store(S + i, s, mask=here)
    tl.store(moved + i, step, mask=here)
    tl.store(Z + i, tl.load(Z + i, mask=here, other=0.0) - step, mask=here)


def adam_step(Z: Any, G: Any, M: Any, S: Any, moved: Any, rate: float, first: float, second: float, rule: Any) -> None:
    """Move Z by a step of Adam with the moments M and S, which is written to ``moved``."""
    count, rests = Z.numel(), (1 - rule.beta1, 1 - rule.beta2)  # whose digits would be lost in single precision
    _adam[(triton.cdiv(count, 1024),)](
        Z, G, M, S, moved, count, float(rate), rule.beta1, rests[0], rule.beta2, rests[1], first, second, rule.eps, 1024
    )


# --- splines on a grid ------------------------------------------------------------------------------------------------


@triton.jit
def _spline(t, p: tl.constexpr):
    s = 1 - t
    if p == 0:
        return s * s * s / 6
    if p == 1:
        return (3 * t * t * t - 6 * t * t + 4) / 6
    if p == 2:
        return (3 * s * s * s - 6 * s * s + 4) / 6
    return t * t * t / 6


@triton.jit
def _slope(t, p: tl.constexpr):
    if p == 0:
        return -(1 - t) * (1 - t) / 2
    if p == 1:
        return (3 * t * t - 4 * t) / 2
    if p == 2:
        return (4 * (1 - t) - 3 * (1 - t) * (1 - t)) / 2
    return t * t / 2


@triton.jit
def _cell(Z, low, i, here, inverse, axis: tl.constexpr):
    u = (tl.load(Z + 2 * i + axis, mask=here, other=0.0) - tl.load(low + axis)) * inverse + 2
    cell = tl.floor(u)
    return u - cell, cell.to(tl.int64) - 1


@triton.jit(do_not_specialize=["n", "across"])
def _spread(Z, low, charges, n, inverse, across, unit, COPIES: tl.constexpr, POINTS: tl.constexpr):
    i = tl.program_id(0) * POINTS + tl.arange(0, POINTS)
    here = i < n
    charges += (tl.program_id(0) % COPIES).to(tl.int64) * across * across
    s, row = _cell(Z, low, i, here, inverse, 0)
    t, column = _cell(Z, low, i, here, inverse, 1)
    for p in tl.static_range(4):
        for q in tl.static_range(4):
            charge = (_spline(s, p) * _spline(t, q)).to(tl.float64) * unit
            tl.atomic_add(charges + (row + p) * across + column + q, (charge + 0.5).to(tl.int64), mask=here)


def spread(Z: Any, low: Any, inverse: float, charges: Any, unit: float) -> None:
    """Add the splines of all points to the copies of charges (c, m, m), integers of the given unit.

    The order of the additions does not matter, nor which copy a point goes to. Points that share nodes wait for one
    another, so a small grid has many copies.
    """
    n, (copies, m, _) = Z.shape[0], charges.shape
    _spread[(triton.cdiv(n, _POINTS),)](Z, low, charges, n, inverse, m, float(unit), copies, _POINTS)


@triton.jit(do_not_specialize=["n", "across"])
def _read(Z, low, potential, F, own, n, inverse, across, scale, POINTS: tl.constexpr):
    i = tl.program_id(0) * POINTS + tl.arange(0, POINTS)
    here = i < n
    s, row = _cell(Z, low, i, here, inverse, 0)
    t, column = _cell(Z, low, i, here, inverse, 1)
    value, x, y = tl.zeros((POINTS,), tl.float32), tl.zeros((POINTS,), tl.float32), tl.zeros((POINTS,), tl.float32)
    for p in tl.static_range(4):
        for q in tl.static_range(4):
            at = tl.load(potential + (row + p) * across + column + q, mask=here, other=0.0)
            value += _spline(s, p) * _spline(t, q) * at
            x += _slope(s, p) * _spline(t, q) * at
            y += _spline(s, p) * _slope(t, q) * at
    tl.store(F + 2 * i, x * scale, mask=here)
    tl.store(F + 2 * i + 1, y * scale, mask=here)
    tl.store(own + i, value, mask=here)


def read(Z: Any, low: Any, inverse: float, potential: Any, F: Any, own: Any, scale: float) -> None:
    """Write the slopes of the potential at all points, times ``scale``, to F (n, 2) and its values to ``own`` (n,)."""
    n = Z.shape[0]
    _read[(triton.cdiv(n, _POINTS),)](
        Z, low, potential, F, own, n, inverse, potential.stride(0), float(scale), _POINTS
    )  # fmt: skip


# --- shortest paths ---------------------------------------------------------------------------------------------------


@triton.jit(do_not_specialize=["m"])
def _relax(start, to, length, D, changed, m, SOURCES: tl.constexpr):
    v = tl.program_id(0).to(tl.int64)
    s = tl.program_id(1) * SOURCES + tl.arange(0, SOURCES)
    here = s < m
    old = tl.load(D + v * m + s, mask=here, other=0.0)
    best = old
    for e in range(tl.load(start + v), tl.load(start + v + 1)):
        u = tl.load(to + e).to(tl.int64)
        best = tl.minimum(best, tl.load(D + u * m + s, mask=here, other=0.0) + tl.load(length + e))
    shorter = best < old
    tl.store(D + v * m + s, best, mask=here & shorter)
    tl.atomic_max(changed, tl.max(shorter.to(tl.int32), 0))


def relax(start: Any, to: Any, length: Any, D: Any, changed: Any) -> None:
    """Shorten the distances (n, m) of all points from m sources along every edge; set ``changed`` if one was.

    Other programs may shorten a distance meanwhile. The end, where nothing can be shortened, is the same.
    """
    n, m = D.shape
    _relax[(n, triton.cdiv(m, 256))](start, to, length, D, changed, m, 256, num_warps=2)


# --- groups of near points --------------------------------------------------------------------------------------------


@triton.jit(do_not_specialize=["m", "groups"])
def _least(A, a, B, b, b2, out, m, groups, D: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr,
           ROWS: tl.constexpr, TILES: tl.constexpr):  # fmt: skip
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    d, j = tl.arange(0, DEPTH), tl.arange(0, GROUP)
    here = (i < m)[:, None]
    rows = i[:, None] * D + d[None, :]
    high, rest = tl.load(A + rows, mask=here, other=0.0), tl.load(a + rows, mask=here, other=0.0)
    first = tl.program_id(1) * TILES
    for g in range(first, tl.minimum(first + TILES, groups)):
        at = (g * GROUP + j).to(tl.int64)
        points = at[None, :] * D + d[:, None]
        near = tl.load(B + points)
        dots = tl.dot(high, near)
        dots = tl.dot(rest, near, dots)
        dots = tl.dot(high, tl.load(b + points), dots)
        for more in tl.static_range(DEPTH, D, DEPTH):
            front, near = tl.load(A + rows + more, mask=here, other=0.0), tl.load(B + points + more)
            dots = tl.dot(front, near, dots)
            dots = tl.dot(tl.load(a + rows + more, mask=here, other=0.0), near, dots)
            dots = tl.dot(front, tl.load(b + points + more), dots)
        least = tl.min(tl.load(b2 + at)[None, :] - 2 * dots, 1)
        tl.store(out + i * groups + g, least, mask=i < m)


def least_of_groups(A: tuple[Any, Any], B: tuple[Any, Any], b2: Any, out: Any) -> None:
    """Write the least |b|² - 2a'b of each row a and group of points b to ``out`` (rows, groups).

    Rows and points, (·, D), are sums of two numbers in half precision. D is 16, 32 or a multiple of 64. A product of
    two remainders is left out: it is below the rounding error of single precision.
    """
    (m, d), groups = A[0].shape, out.shape[1]
    tiles = 32
    _least[(triton.cdiv(m, _TILE), triton.cdiv(groups, tiles))](
        *A, *B, b2, out, m, groups, d, min(d, 64), GROUP, _TILE, tiles, num_warps=4, num_stages=3
    )  # fmt: skip


@triton.jit(do_not_specialize=["n", "across"])
def _measured(Q, own, P, groups, out, n, across, D: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr):
    i, g = tl.program_id(0).to(tl.int64), tl.program_id(1)
    d = tl.arange(0, DEPTH)
    j = tl.load(groups + i * across + g) * GROUP + tl.arange(0, GROUP)
    total = tl.zeros((GROUP,), tl.float32)
    for at in tl.static_range(0, D, DEPTH):
        E = tl.load(P + j[:, None] * D + at + d[None, :]) - tl.load(Q + i * D + at + d)[None, :]
        total += tl.sum(E * E, 1)
    apart = (j < n) & (j != tl.load(own + i))
    tl.store(out + (i * across + g) * GROUP + tl.arange(0, GROUP), tl.where(apart, total, float("inf")))


def measure_groups(Q: Any, own: Any, P: Any, groups: Any, out: Any, n: int) -> None:
    """Write the squared distances of each row to the points of its groups to ``out`` (rows, groups of a row · GROUP).

    They are infinite for the row itself, at ``own``, and beyond the n points.
    """
    m, across = groups.shape
    d = P.shape[1]
    _measured[(m, across)](Q, own, P, groups, out, n, across, d, min(d, 64), GROUP, num_warps=2)
