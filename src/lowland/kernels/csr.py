"""Loops over sparse rows (CSR) without converting them to dense."""

import numpy as np

from lowland.kernels.compile import kernel


@kernel
def add_gram(data, indices, indptr, weights, G):
    """Add sum_i w_i x_i x_i' to the lower triangle of G, (d, d) float64; indices must be sorted within each row."""
    for i in range(indptr.size - 1):
        for a in range(indptr[i], indptr[i + 1]):
            row = G[indices[a]]
            value = weights[i] * np.float64(data[a])
            for b in range(indptr[i], a + 1):
                row[indices[b]] += value * np.float64(data[b])


@kernel
def mark_above(data, indices, indptr, share, scale, first, last, marked):
    """Write whether each entry of rows first ... last - 1 is above share * scale_i * scale_j."""
    for i in range(first, last):
        for e in range(indptr[i], indptr[i + 1]):
            marked[e] = data[e] > share * scale[i] * scale[indices[e]]
