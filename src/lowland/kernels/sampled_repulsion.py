"""Repulsion of t-SNE from a random sample of the rows, in any number of dimensions."""

import numpy as np

from lowland.kernels.compile import vector_kernel
from lowland.kernels.counter_random import draw, fraction, key_of
from lowland.kernels.tsne_forces import similarity_field


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
    T, times = np.empty((k, size), Z.dtype), np.zeros(n, np.uint8)
    key = key_of(seed, iteration, first)
    for slot in range(size):
        j = min(n - 1, np.int64((slot + fraction(draw(key, slot))) * (n / size)))
        times[j] += 1
        for c in range(k):
            T[c, slot] = Z[j, c]
    total, force, d = 0.0, np.empty(k, Z.dtype), np.empty(size, Z.dtype)
    for i in range(first, last):
        row = weight * (similarity_field(Z[i], T, dof, d, force) - times[i])
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
