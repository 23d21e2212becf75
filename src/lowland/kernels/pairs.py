"""Sums over pairs of points, without a table of the pairs."""

import numpy as np

from lowland.kernels.compile import kernel


@kernel
def add_triweights(P, width):
    """Return the sum over pairs of (1 - |p_i - p_j|²/width²)³ where positive; P is (k, n)."""
    k, n = P.shape
    order = np.argsort(P[0])
    Q = np.ascontiguousarray(P[:, order].T)  # (n, k), in order along the first axis
    total = 0.0
    for a in range(n):
        for b in range(a + 1, n):
            if Q[b, 0] - Q[a, 0] >= width:  # the rest lies further still
                break
            r2 = 0.0
            for c in range(k):
                r2 += (Q[b, c] - Q[a, c]) ** 2
            t = 1.0 - r2 / (width * width)
            if t > 0.0:
                total += t * t * t
    return total


@kernel
def add_triweight_slopes(P, width, G):
    """Return the same sum and add its derivatives by the coordinates to G, (k, n)."""
    k, n = P.shape
    order = np.argsort(P[0])
    Q = np.ascontiguousarray(P[:, order].T)  # (n, k), in order along the first axis
    total = 0.0
    for a in range(n):
        for b in range(a + 1, n):
            if Q[b, 0] - Q[a, 0] >= width:
                break
            r2 = 0.0
            for c in range(k):
                r2 += (Q[b, c] - Q[a, c]) ** 2
            t = 1.0 - r2 / (width * width)
            if t > 0.0:
                total += t * t * t
                steep = 6.0 * t * t / (width * width)
                for c in range(k):
                    pull = steep * (Q[b, c] - Q[a, c])
                    G[c, order[a]] += pull
                    G[c, order[b]] -= pull
    return total
