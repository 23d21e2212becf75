"""The density term of densMAP: local radii in the map, and the forces that correlate them with those in the data."""

import numpy as np

from lowland.kernels.compile import kernel
from lowland.kernels.umap import BATCH, add_pairs, differences, powers

_NEAR = 1e-8  # added to squared radii before the logarithm


@kernel
def mean_squares(start, to, weight, all_start, all_to, all_length, out):
    """Write the mean squared length of the edges of each row, weighted; (n,).

    ``all_start``, ``all_to``, ``all_length`` are the lengths of edges in both directions. Edges without a length are
    left out. Both graphs are sorted by target.
    """
    for i in range(start.size - 1):
        total, squares, q = 0.0, 0.0, all_start[i]
        for p in range(start[i], start[i + 1]):
            while q < all_start[i + 1] and all_to[q] < to[p]:
                q += 1
            if q < all_start[i + 1] and all_to[q] == to[p]:
                total += weight[p]
                squares += weight[p] * np.float64(all_length[q]) ** 2
        out[i] = squares / total if total > 0 else 0.0


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
