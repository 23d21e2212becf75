"""Fuzzy neighbor graphs: local scales, memberships, and the union of both directions of every edge."""

import numpy as np

from lowland.kernels.compile import kernel

_HALVINGS, _CLOSE = 64, 1e-5  # of the bisection: most steps, and the accepted error of the sum
_LEAST = 1e-3  # smallest scale, as a fraction of the mean distance


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


@kernel
def memberships(start, length, rho, sigma, weight):
    """Write exp(-(d - rho)+ / sigma) of every edge."""
    for i in range(start.size - 1):
        for p in range(start[i], start[i + 1]):
            beyond = length[p] - rho[i]
            weight[p] = np.exp(-beyond / sigma[i]) if beyond > 0 and sigma[i] > 0 else 1.0


@kernel
def transposed(start, to, weight, out_start, out_to, out_weight):
    """Write the edges by their targets: the transpose of a matrix in CSR form, sorted within its rows."""
    n = start.size - 1
    out_start[:] = 0
    for p in range(to.size):
        out_start[to[p] + 1] += 1
    for i in range(n):
        out_start[i + 1] += out_start[i]
    place = out_start[:n].copy()
    for i in range(n):
        for p in range(start[i], start[i + 1]):
            q = place[to[p]]
            place[to[p]] += 1
            out_to[q] = i
            out_weight[q] = weight[p]


@kernel
def union(start, to, weight, back_start, back_to, back_weight, mix, out_start, out_to, out_weight):
    """Write mix (A + A' - A∘A') + (1 - mix) A∘A' without its zeros, of A and its transpose; return its size.

    Both are sorted within their rows.
    """
    filled = 0
    for i in range(start.size - 1):
        out_start[i] = filled
        p, q = start[i], back_start[i]
        while p < start[i + 1] or q < back_start[i + 1]:
            j = to[p] if p < start[i + 1] else np.int32(start.size)
            other = back_to[q] if q < back_start[i + 1] else np.int32(start.size)
            here = there = np.float32(0)
            if j <= other:
                here = weight[p]
                p += 1
            if other <= j:
                there = back_weight[q]
                q += 1
            both = here * there
            value = mix * (here + there - both) + (1 - mix) * both
            if value > 0:
                out_to[filled], out_weight[filled] = min(j, other), value
                filled += 1
    out_start[start.size - 1] = filled
    return filled


@kernel
def strongest(start, to, weight, least, out_start, out_to, out_weight):
    """Write the edges of at least the weight ``least``; return their number. May overwrite its input."""
    filled, first = 0, start[0]
    for i in range(start.size - 1):
        last = start[i + 1]
        out_start[i] = filled
        for p in range(first, last):
            if weight[p] >= least:
                out_to[filled], out_weight[filled] = to[p], weight[p]
                filled += 1
        first = last
    out_start[start.size - 1] = filled
    return filled
