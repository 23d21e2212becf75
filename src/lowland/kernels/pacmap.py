"""Pairs of rows, their random draws, and the forces along them, for PaCMAP and LocalMAP.

Pairs are grouped by row: those of row i are at ``start[i]:start[i + 1]`` of ``to``. For the forces, each pair is listed
at both of its rows, so that one thread can add up all forces on a row.
"""

import numpy as np

from lowland.kernels.compile import inner_loop, kernel, vector_kernel
from lowland.kernels.counter_random import below, draw, key_of
from lowland.kernels.descent_steps import adam_together
from lowland.kernels.team import BLOCK, meet, take

_ONE = np.float32(1)
_TRIES = 100  # draws for one further row that is near in the map

# --- pairs ------------------------------------------------------------------------------------------------------------


@kernel
def nearest_scaled(start, to, length, own, scale, most, first, chosen, a, b):
    """Of the candidates of rows a to b, write the ``most`` with the smallest length² / (own_i scale_j).

    Those of row i go to ``chosen`` from ``first[i]`` on, nearest first; ties go to the earlier candidate.
    """
    values = np.empty(most)
    for i in range(a, b):
        kept, base = 0, first[i]
        for e in range(start[i], start[i + 1]):
            value = length[e] / own[i] * (length[e] / scale[to[e]])
            if kept == most and value >= values[most - 1]:
                continue
            at = kept if kept < most else most - 1
            while at > 0 and value < values[at - 1]:
                values[at], chosen[base + at] = values[at - 1], chosen[base + at - 1]
                at -= 1
            values[at], chosen[base + at] = value, to[e]
            kept = min(kept + 1, most)


@kernel
def _is_among(j, listed):
    found = False
    for e in range(listed.size):
        found |= listed[e] == j
    return found


@kernel
def draw_candidates(n, seed, width, a, b, drawn):
    """Fill ``drawn`` (b - a, s * width) with random rows, for rows a to b; each ``width`` of a row are distinct."""
    for i in range(a, b):
        key, count = key_of(seed, 0, i), 0
        for at in range(drawn.shape[1]):
            group = drawn[i - a, at - at % width : at]
            while True:
                j = below(draw(key, count), n)
                count += 1
                if j != i and not _is_among(j, group):
                    break
            drawn[i - a, at] = j


@kernel
def draw_further(n, seed, start, to, first, further, a, b):
    """Write random rows that are not neighbors of rows a to b: those of row i at ``first[i]:first[i + 1]``."""
    for i in range(a, b):
        key, count = key_of(seed, 1, i), 0
        near, own = to[start[i] : start[i + 1]], further[first[i] : first[i + 1]]
        for at in range(own.size):
            while True:
                j = below(draw(key, count), n)
                count += 1
                if j != i and not _is_among(j, near) and not _is_among(j, own[:at]):
                    break
            own[at] = j


@kernel
def redraw_further(Z, radius, seed, iteration, start, to, first, further, a, b):
    """The same, within ``radius`` of the row in the map Z; after 100 draws in vain, the former row stays."""
    n, k = Z.shape
    for i in range(a, b):
        key, count = key_of(seed, iteration, i), 0
        near, own = to[start[i] : start[i + 1]], further[first[i] : first[i + 1]]
        for at in range(own.size):
            for _ in range(_TRIES):
                j = below(draw(key, count), n)
                count += 1
                square = np.float32(0)
                for c in range(k):
                    e = Z[i, c] - Z[j, c]
                    square += e * e
                if square > radius * radius or j == i or _is_among(j, near) or _is_among(j, own[:at]):
                    continue
                own[at] = j
                break


@kernel
def list_at_both_ends(start, to, both_start, both):
    """List every pair at both of its rows: first the pairs of lower rows, then its own, then those of higher rows."""
    n = start.size - 1
    both_start[:] = 0
    for i in range(n):
        both_start[i + 1] += start[i + 1] - start[i]
        for e in range(start[i], start[i + 1]):
            both_start[to[e] + 1] += 1
    for i in range(n):
        both_start[i + 1] += both_start[i]
    place = both_start[:-1].copy()
    for i in range(n):
        for e in range(start[i], start[i + 1]):
            j = to[e]
            both[place[i]] = j
            place[i] += 1
            both[place[j]] = i
            place[j] += 1


# --- forces -----------------------------------------------------------------------------------------------------------
# With D = 1 + |z_i - z_j|², the three terms are w c D / (c + D) up to a constant, c = 10, 10,000 and 1 (w negative):
# the gradient at z_i is 2 w c / (c + D)² (z_i - z_j).


@inner_loop
def _force_2d(Z, x, y, to, c, w):
    fx, fy = np.float32(0), np.float32(0)
    c1, w = np.float32(c + 1.0), np.float32(2.0 * w * c)
    for e in range(to.size):
        j = to[e]
        dx, dy = x - Z[j, 0], y - Z[j, 1]
        t = c1 + dx * dx + dy * dy
        f = w / (t * t)
        fx += f * dx
        fy += f * dy
    return fx, fy


@inner_loop
def _local_force_2d(Z, x, y, to, c, w):
    """The same divided by the root of D."""
    fx, fy = np.float32(0), np.float32(0)
    c, w = np.float32(c), np.float32(2.0 * w * c)
    for e in range(to.size):
        j = to[e]
        dx, dy = x - Z[j, 0], y - Z[j, 1]
        D = _ONE + dx * dx + dy * dy
        t = c + D
        f = w / (t * t * np.sqrt(D))
        fx += f * dx
        fy += f * dy
    return fx, fy


@vector_kernel
def iterations_2d(
    team, threads, me, Z, near, near_to, mid, mid_to, far, far_to, weights, G, M, S, how, parts, sums
):  # fmt: skip
    """Move the rows of Z (n, 2) by Adam, once for each row of ``how``; without rows, write one gradient to G.

    ``weights`` has the four weights of each iteration. ``adam_together`` says what the others hold.
    """
    n, blocks = Z.shape[0], parts.shape[0]
    for t in range(weights.shape[0]):
        w_near, w_mid, w_far, local = weights[t, 0], weights[t, 1], weights[t, 2], weights[t, 3]
        block = take(team)
        while block < blocks:
            a, b = block * BLOCK, min(n, (block + 1) * BLOCK)
            _gradient_2d(Z, near, near_to, mid, mid_to, far, far_to, w_near, w_mid, w_far, local, a, b, G)
            block = take(team)
        meet(team, threads)
        if t < how.shape[0]:
            adam_together(team, threads, me, Z, G, M, S, how[t], parts, sums[t])


@inner_loop
def _gradient_2d(Z, near, near_to, mid, mid_to, far, far_to, w_near, w_mid, w_far, local, a, b, G):
    """Write the gradient at rows a to b of Z (n, 2), float32. ``local`` above 0: LocalMAP's attraction, times it."""
    for i in range(a, b):
        x, y = Z[i, 0], Z[i, 1]
        gx, gy = _force_2d(Z, x, y, far_to[far[i] : far[i + 1]], 1.0, -w_far)
        listed = near_to[near[i] : near[i + 1]]
        if local > 0.0:
            fx, fy = _local_force_2d(Z, x, y, listed, 10.0, local * w_near)
        else:
            fx, fy = _force_2d(Z, x, y, listed, 10.0, w_near)
        gx, gy = gx + fx, gy + fy
        if w_mid > 0.0:
            fx, fy = _force_2d(Z, x, y, mid_to[mid[i] : mid[i + 1]], 10000.0, w_mid)
            gx, gy = gx + fx, gy + fy
        G[i, 0], G[i, 1] = gx, gy


@kernel
def _add_force(Z, i, to, c, w, local, out):
    k = Z.shape[1]
    for e in range(to.size):
        j = to[e]
        D = 1.0
        for q in range(k):
            d = np.float64(Z[i, q] - Z[j, q])
            D += d * d
        f = 2.0 * w * c / ((c + D) * (c + D))
        if local:
            f /= np.sqrt(D)
        for q in range(k):
            out[q] += f * np.float64(Z[i, q] - Z[j, q])


@kernel
def gradient(Z, near, near_to, mid, mid_to, far, far_to, w_near, w_mid, w_far, local, a, b, G):
    """The same for a map of any dimension, (n, k)."""
    out = np.empty(Z.shape[1])
    for i in range(a, b):
        out[:] = 0.0
        _add_force(Z, i, far_to[far[i] : far[i + 1]], 1.0, -w_far, False, out)
        scaled = local * w_near if local > 0.0 else w_near
        _add_force(Z, i, near_to[near[i] : near[i + 1]], 10.0, scaled, local > 0.0, out)
        if w_mid > 0.0:
            _add_force(Z, i, mid_to[mid[i] : mid[i + 1]], 10000.0, w_mid, False, out)
        for q in range(out.size):
            G[i, q] = out[q]


@kernel
def _terms(Z, i, to, c, local):
    """The sum of D / (c + D) over the pairs of a row; if ``local``, of the integral of the local attraction."""
    total, root = 0.0, np.sqrt(c)
    for e in range(to.size):
        D = 1.0
        for q in range(Z.shape[1]):
            d = np.float64(Z[i, q] - Z[to[e], q])
            D += d * d
        if local:
            r = np.sqrt(D)
            total += r / (c + D) + np.arctan(r / root) / root
        else:
            total += D / (c + D)
    return total


@kernel
def value(Z, near, near_to, mid, mid_to, far, far_to, w_near, w_mid, w_far, local, a, b):
    """Return the objective of rows a to b: half of each of their pairs, which are listed twice."""
    total = 0.0
    for i in range(a, b):
        listed = near_to[near[i] : near[i + 1]]
        total += (local if local > 0.0 else 1.0) * w_near * _terms(Z, i, listed, 10.0, local > 0.0)
        if w_mid > 0.0:
            total += w_mid * _terms(Z, i, mid_to[mid[i] : mid[i + 1]], 10000.0, False)
        total += w_far * ((far[i + 1] - far[i]) - _terms(Z, i, far_to[far[i] : far[i + 1]], 1.0, False))
    return total / 2.0
