"""Triweight kernel sums over pairs of points in up to three dimensions, without storing the pairs."""

import numpy as np

from lowland.kernels.compile import kernel


@kernel
def add_triweights(P, width):
    """Return the sum over pairs of (1 - |p_i - p_j|²/width²)³ where positive; P is (k, n), k up to 3."""
    k, n = P.shape
    Q = np.zeros((3, n))  # sorted by the first coordinate, so that the inner loop stops early
    Q[:k] = P[:, np.argsort(P[0])] / width
    x, y, z = Q[0], Q[1], Q[2]
    total = 0.0
    stop = 0
    for a in range(n):
        while stop < n and x[stop] - x[a] < 1.0:
            stop += 1
        for b in range(a + 1, stop):
            t = max(1.0 - (x[b] - x[a]) ** 2 - (y[b] - y[a]) ** 2 - (z[b] - z[a]) ** 2, 0.0)
            total += t * t * t
    return total


@kernel
def add_triweight_slopes(P, width, G):
    """Return the same sum and add its gradient with respect to the coordinates to G, (k, n)."""
    k, n = P.shape
    order = np.argsort(P[0])
    Q, slopes = np.zeros((3, n)), np.zeros((3, n))
    Q[:k] = P[:, order] / width
    x, y, z = Q[0], Q[1], Q[2]
    px, py, pz = slopes[0], slopes[1], slopes[2]
    total = 0.0
    stop = 0
    for a in range(n):
        while stop < n and x[stop] - x[a] < 1.0:
            stop += 1
        ax, ay, az = 0.0, 0.0, 0.0
        for b in range(a + 1, stop):
            dx, dy, dz = x[b] - x[a], y[b] - y[a], z[b] - z[a]
            t = max(1.0 - dx * dx - dy * dy - dz * dz, 0.0)
            total += t * t * t
            ax += t * t * dx
            ay += t * t * dy
            az += t * t * dz
            px[b] -= t * t * dx
            py[b] -= t * t * dy
            pz[b] -= t * t * dz
        px[a] += ax
        py[a] += ay
        pz[a] += az
    for c in range(k):
        for a in range(n):
            G[c, order[a]] += 6.0 * slopes[c, a] / width
    return total
