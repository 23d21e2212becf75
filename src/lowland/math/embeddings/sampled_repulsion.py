"""Repulsion of t-SNE in any number of dimensions: exact from near rows, estimated from a sample of the others.

Near rows have the strongest and most different forces, so they are summed exactly: those at the ends of the edges of
the affinities. All others are estimated without bias from a random sample. It is kept for some iterations: with a new
one in each, the noise would change the signs of the gradient, and the descent would shorten its steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from lowland.math.embeddings.row_blocks import Together

_KEPT = 250  # iterations with the same sample


@dataclass(frozen=True)
class SampledRepulsion:
    """Estimates of the repulsive forces of a map and of the normalization of its similarities."""

    start: np.ndarray  # (n + 1,) where the edges of each row begin, int64
    to: np.ndarray  # (edges,) the rows that are summed exactly, uint32
    size: int  # of the sample, which the rows of a block share
    dof: float = 1.0
    seed: int = 0

    @classmethod
    def of(cls, P: scipy.sparse.csr_array, size: int, dof: float, seed: int) -> SampledRepulsion:
        """Sum exactly where P (n, n) has entries. It has none on the diagonal."""
        return cls(P.indptr.astype(np.int64), P.indices.astype(np.uint32), size, dof, seed)

    def __call__(self, Z: np.ndarray, G: np.ndarray, together: Together, iteration: int = -1) -> float:
        """Write an estimate of sum_j u w (z_i - z_j) to G (n, k); return one of the sum of w over all ordered pairs."""
        from lowland.kernels.sampled_repulsion import repel_by_sample

        size = min(self.size, len(Z))
        of_edges, of_draws = (self.start, self.to, Z, self.dof), (self.seed, iteration // _KEPT, size)
        return together.sum(len(Z), lambda a, b: repel_by_sample(*of_edges, *of_draws, a, b, G))
