"""UMAP: the fuzzy neighbor graph, forces along sampled edges with random negatives, and the densities of densMAP.

A row and all its edges belong to one thread.
"""

import numpy as np

from lowland.kernels.compile import inner_loop, kernel
from lowland.kernels.counter_random import below, draw, key_of
from lowland.kernels.descent_steps import adam_together
from lowland.kernels.team import BLOCK, meet, take

_HALVINGS, _CLOSE = 64, 1e-5  # of the bisection: most steps, and the accepted error of the sum
_LEAST = 1e-3  # smallest scale, as a fraction of the mean distance
BATCH = 64  # pairs that are computed together: vectors of them fit in the first-level cache
_LANES = 16  # pairs of a full vector
_CLIP = np.float32(4)  # largest coordinate of the force of one pair
_SOFT = np.float32(0.001)  # added to squared distances in the repulsion
_TINY = np.float32(1e-20)  # added to squared distances in divisions
_MANTISSA, _ONE, _BIAS, _SHIFT = 0x7FFFFF, 0x3F800000, 127, 23  # of float32
# least-squares fits at Chebyshev nodes: log2(1 + t) / t and 2**t for t in [0, 1], both within 2e-6
_L = tuple(
    np.float32(c) for c in (1.4426932, -0.7211627, 0.47770593, -0.33924776, 0.21558852, -0.09606625, 0.020490346)
)
_E = tuple(np.float32(c) for c in (0.9999999, 0.69315463, 0.24014077, 0.055863284, 0.008946215, 0.0018951073))
_DRAWS = 10  # random rows per row in the estimate of the objective
_HALF, _32 = np.uint64(0xFFFFFFFF), np.uint64(32)
_NEAR = 1e-8  # added to squared radii before the logarithm


# --- fuzzy graphs -----------------------------------------------------------------------------------------------------


@kernel
def local_scales(start, length, connectivity, mean, begin, end, rho, sigma):
    """Write the offset and the scale of the rows from ``begin`` to ``end``.

    rho is the distance to neighbor number ``connectivity`` (a fraction interpolates; zero distances do not count).
    sigma solves sum_j exp(-(d_j - rho)+ / sigma) = log2(neighbors + 1) by bisection. ``mean`` is the mean of all
    distances. Distances are sorted within each row.
    """
    whole = int(connectivity)
    part = connectivity - whole
    for i in range(begin, end):
        first, last = start[i], start[i + 1]
        count = last - first
        nonzero = first
        while nonzero < last and length[nonzero] <= 0:
            nonzero += 1
        offset = 0.0
        if last - nonzero >= connectivity and nonzero < last:
            if whole > 0:
                offset = np.float64(length[nonzero + whole - 1])
                if part > _CLOSE and nonzero + whole < last:
                    offset += part * (length[nonzero + whole] - offset)
            else:
                offset = part * length[nonzero]
        elif nonzero < last:
            offset = np.float64(length[last - 1])
        target, low, high, scale, total = np.log2(count + 1.0), 0.0, np.inf, 1.0, 0.0
        for p in range(first, last):
            total += length[p]
        own = total / (count + 1)  # the row itself counts, at distance zero
        for _ in range(_HALVINGS):
            found = 0.0
            for p in range(first, last):
                beyond = length[p] - offset
                found += np.exp(-beyond / scale) if beyond > 0 else 1.0
            if abs(found - target) < _CLOSE:
                break
            if found > target:
                high = scale
            else:
                low = scale
            scale = 2 * scale if high == np.inf else (low + high) / 2
        rho[i] = offset
        sigma[i] = max(scale, _LEAST * (own if offset > 0 else mean))


# --- forces -----------------------------------------------------------------------------------------------------------


@inner_loop
def powers(x, b, m, out, scratch):
    """Write x**b of the first m numbers, float32, with a relative error of at most 1e-5.

    x = 2**e (1 + t), so x**b = 2**(b (e + log2(1 + t))), by polynomials: loops without branches are vectorized, calls
    of the power function are not. ``scratch`` is (2, BATCH): no loop reads and writes the same memory.
    """
    mantissa, scale = scratch[0], scratch[1]
    raw, bits, exponent = x.view(np.int32), mantissa.view(np.int32), scale.view(np.int32)
    for p in range(m):
        bits[p] = (raw[p] & _MANTISSA) | _ONE
    for p in range(m):
        t = mantissa[p] - np.float32(1)
        log = _L[5] + t * _L[6]
        log = _L[3] + t * (_L[4] + t * log)
        log = t * (_L[0] + t * (_L[1] + t * (_L[2] + t * log)))
        power = b * (np.float32((raw[p] >> _SHIFT) - _BIAS) + log)
        power = min(max(power, np.float32(-126)), np.float32(126))
        floor = np.floor(power)
        t = power - floor
        out[p] = _E[0] + t * (_E[1] + t * (_E[2] + t * (_E[3] + t * (_E[4] + t * _E[5]))))
        exponent[p] = (np.int32(floor) + _BIAS) << _SHIFT
    for p in range(m):
        out[p] *= scale[p]


@inner_loop
def differences(Y, i, Z, targets, first, m, D, d2):
    """Write y_i - z_j of m targets j, from ``first``, to D (k, BATCH), and their squared lengths to d2.

    Returns m, rounded up to full vectors: zeros follow, which exert no force.
    """
    k, full = Z.shape[1], (m + _LANES - 1) // _LANES * _LANES
    D[:, m:full] = 0
    dx, dy, x, y = D[0], D[k - 1], Y[i, 0], Y[i, k - 1]
    for p in range(m):
        j = targets[first + p]
        dx[p], dy[p] = x - Z[j, 0], y - Z[j, k - 1]
    for p in range(full):
        d2[p] = dx[p] * dx[p]
    if k > 1:
        for p in range(full):
            d2[p] += dy[p] * dy[p]
    for c in range(1, k - 1):  # none in two dimensions
        d, z = D[c], Y[i, c]
        for p in range(m):
            d[p] = z - Z[targets[first + p], c]
        for p in range(full):
            d2[p] += d[p] * d[p]
    return full


@inner_loop
def add_pairs(D, factor, m, times, G, i):
    """Add ``times`` the sum of factor · difference over the first m pairs to row i of G, each coordinate clipped."""
    for c in range(G.shape[1]):
        d, total = D[c], np.float32(0)
        for p in range(m):
            total += min(max(factor[p] * d[p], -_CLIP), _CLIP)
        G[i, c] += times * total


@inner_loop
def factors(d2, power, m, a, pull, push, soft):
    """Overwrite the powers d^2b by the factors of the differences in the gradient of the pairs.

    Attraction, of log(1 + a d^2b): pull = 2b, push = 0. Repulsion, of -γ log(1 - 1 / (1 + a d^2b)): pull = 0,
    push = 2γb. ``soft`` is added to the squared distances.
    """
    for p in range(m):
        raised = a * power[p]
        power[p] = (pull * raised - push) / ((soft + d2[p]) * (np.float32(1) + raised))


@kernel
def sampled_edges(to, rate, first, last, epoch, targets):
    """Write the targets of the edges that are sampled in this epoch, from edge ``first``; return next edge and count.

    The k-th sample of an edge is in epoch ceil(k / rate), counted from 1: no state is needed.
    """
    m, p = 0, first
    before, now = np.float32(epoch), np.float32(epoch + 1)
    while p < last and m < BATCH:
        targets[m] = to[p]
        m += np.int32(rate[p] * now) - np.int32(rate[p] * before)
        p += 1
    return p, m


@kernel
def negatives(key, first, n, m, targets):
    """Write m random rows for the slots from ``first`` on, an even number; two slots share one draw."""
    n = np.uint64(n)
    for q in range(0, m, 2):
        drawn = draw(key, first + q)
        targets[q] = np.int32(((drawn >> _32) * n) >> _32)
        targets[q + 1] = np.int32(((drawn & _HALF) * n) >> _32)


@kernel
def epochs(
    team, threads, me, start, to, rate, Y, Z, a, b, gamma, per_edge, seed, first, own_draws, G, M, S, how, parts, sums
):  # fmt: skip
    """Move the rows of Y (m, k) by Adam, an epoch for each row of ``how``; without rows, write one gradient to G.

    ``adam_together`` says what ``how``, ``parts`` and ``sums`` hold, and ``_forces`` the rest.
    """
    m, blocks = Y.shape[0], parts.shape[0]
    for t in range(max(1, how.shape[0])):
        block = take(team)
        while block < blocks:
            begin, end = block * BLOCK, min(m, (block + 1) * BLOCK)
            _forces(start, to, rate, Y, Z, a, b, gamma, per_edge, seed, first + t, own_draws, begin, end, G)
            block = take(team)
        meet(team, threads)
        if t < how.shape[0]:
            adam_together(team, threads, me, Y, G, M, S, how[t], parts, sums[t])


@inner_loop
def _forces(start, to, rate, Y, Z, a, b, gamma, per_edge, seed, epoch, own_draws, begin, end, G):
    """Write the gradient of the rows of Y from ``begin`` to ``end``, (m, k) float32, among the rows of Z (n, k).

    A row is attracted along each of its edges that is sampled in this epoch, twice, as the edge would also move it from
    its other end; for each of them, it is repelled by ``per_edge`` random rows of Z, times ``gamma``. ``own_draws``: 1
    if every row has its own random rows, 0 if they are the same for all rows.
    """
    targets, D, d2 = np.empty(BATCH, np.int32), np.empty((Z.shape[1], BATCH), np.float32), np.empty(BATCH, np.float32)
    power, scratch = np.empty(BATCH, np.float32), np.empty((2, BATCH), np.float32)
    none, one, two = np.float32(0), np.float32(1), np.float32(2)
    for i in range(begin, end):
        G[i] = 0
        key, p, count, slot = key_of(seed, epoch, own_draws * i), start[i], 0, 0
        while p < start[i + 1] or slot < count:  # edges, then negatives
            if p < start[i + 1]:
                p, m = sampled_edges(to, rate, p, start[i + 1], epoch, targets)
                count += m * per_edge
                pull, push, soft, times = two * b, none, _TINY, two
            else:
                m = min(BATCH, count - slot)
                negatives(key, slot, Z.shape[0], m, targets)
                slot += m
                pull, push, soft, times = none, two * gamma * b, _SOFT, one
            full = differences(Y, i, Z, targets, 0, m, D, d2)
            powers(d2, b, full, power, scratch)
            factors(d2, power, full, a, pull, push, soft)
            add_pairs(D, power, full, times, G, i)


@kernel
def cross_entropy(start, to, weight, Z, a, b, gamma, per_edge, seed, epoch, begin, end):
    """Return the sum over the rows of w log(1 + a d^2b) along the edges, and of the repulsion from random rows.

    The repulsion of a row is estimated from ``_DRAWS`` random rows: half of gamma · per_edge · degree, times their mean
    of -log(1 - 1 / (1 + a d^2b)).
    """
    total = 0.0
    for i in range(begin, end):
        degree = 0.0
        for p in range(start[i], start[i + 1]):
            total += weight[p] * np.log1p(a * _squared(Z, i, np.int64(to[p])) ** b)
            degree += weight[p]
        key, repulsion, count = key_of(seed, epoch, i), 0.0, 0
        for slot in range(_DRAWS):
            j = below(draw(key, slot), Z.shape[0])
            if j != i:
                near = a * (_squared(Z, i, j) + _SOFT) ** b
                repulsion += np.log1p(1 / near)
                count += 1
        total += gamma * per_edge * degree * repulsion / (2 * max(count, 1))
    return total


@kernel
def _squared(Z, i, j):
    total = 0.0
    for c in range(Z.shape[1]):
        total += np.float64(Z[i, c] - Z[j, c]) ** 2
    return total


# --- densities --------------------------------------------------------------------------------------------------------


@kernel
def map_radii(start, to, Y, Z, a, b, begin, end, total, radius):
    """Write sum_j phi_ij of each row, with phi = 1 / (1 + a d^2b), and the log of the mean of d², weighted by phi."""
    D, d2 = np.empty((Z.shape[1], BATCH), np.float32), np.empty(BATCH, np.float32)
    power, scratch = np.empty(BATCH, np.float32), np.empty((2, BATCH), np.float32)
    for i in range(begin, end):
        similar, squares, p = 0.0, 0.0, start[i]
        while p < start[i + 1]:
            m = min(BATCH, start[i + 1] - p)
            differences(Y, i, Z, to, p, m, D, d2)
            powers(d2, b, m, power, scratch)
            for q in range(m):
                phi = 1.0 / (1.0 + a * power[q])
                similar += phi
                squares += phi * d2[q]
            p += m
        total[i] = max(similar, 1e-300)
        radius[i] = np.log(_NEAR + squares / total[i])


@kernel
def density_forces(start, to, Y, Z, a, b, total, radius, pull, all_total, all_radius, all_pull, begin, end, G):
    """Add to G, (m, k), the gradient of -sum_i pull_i · radius_i of both ends of every edge, each edge twice.

    ``total``, ``radius`` and ``pull`` belong to the rows of Y, those with ``all`` to the rows of Z.
    """
    D, d2 = np.empty((Z.shape[1], BATCH), np.float32), np.empty(BATCH, np.float32)
    power, scratch = np.empty(BATCH, np.float32), np.empty((2, BATCH), np.float32)
    for i in range(begin, end):
        p = start[i]
        while p < start[i + 1]:
            m = min(BATCH, start[i + 1] - p)
            differences(Y, i, Z, to, p, m, D, d2)
            powers(d2, b, m, power, scratch)
            for q in range(m):
                j, raised = to[p + q], a * np.float64(power[q])
                phi = 1.0 / (1.0 + raised)
                # of log(sum phi d² / sum phi) by d²: phi / sum · ((1 - b (1 - phi)) / mean + b (1 - phi) / d²)
                here, there = 1.0 - b * (1.0 - phi), b * (1.0 - phi) / (d2[q] + 1e-20)
                own = pull[i] * phi / total[i] * (here * np.exp(-radius[i]) + there)
                other = all_pull[j] * phi / all_total[j] * (here * np.exp(-all_radius[j]) + there)
                power[q] = -2.0 * (own + other)
            add_pairs(D, power, m, np.float32(2), G, i)
            p += m
