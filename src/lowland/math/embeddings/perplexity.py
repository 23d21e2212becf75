"""Affinities of t-SNE: how similar two rows of the data are, as a joint distribution of all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import is_sparse, to_numpy
from lowland.errors import DataError
from lowland.math.embeddings.row_blocks import together
from lowland.math.neighbors.graph import NeighborGraph, fault_of
from lowland.run.local import LocalRun
from lowland.run.run import Run

_TOLERANCE = 1e-7  # of the entropy


def gaussian_affinities(
    graph: NeighborGraph, perplexity: float | Sequence[float], run: Run | None = None
) -> scipy.sparse.csr_array:
    """Return the joint affinities of the edges, (n, n): symmetric, their sum is 1.

    In each row they are proportional to exp(-b d²), with b such that the entropy is the logarithm of the perplexity.
    Several perplexities: the average of their affinities.
    """
    return joint(graph.matrix(conditional_affinities(graph, perplexity, run or LocalRun())))


def conditional_affinities(graph: NeighborGraph, perplexity: float | Sequence[float], run: Run) -> np.ndarray:
    """Return the affinities of the edges of each row, which sum to 1 in the row, (edges,)."""
    from lowland.kernels.perplexity import calibrate

    logs = np.log(np.atleast_1d(np.asarray(perplexity, dtype=np.float64)))
    P = np.zeros(len(graph.to))

    def rows(a: int, b: int) -> None:
        for log_perplexity in logs:
            calibrate(graph.start, graph.length, log_perplexity, _TOLERANCE, a, b, P)

    with together(run) as blocks:
        blocks.rows(graph.n, rows)
    return P / len(logs)


def uniform_affinities(graph: NeighborGraph) -> scipy.sparse.csr_array:
    """Return joint affinities that are equal for all neighbors of a row, (n, n)."""
    counts = np.maximum(np.diff(graph.start), 1)
    return joint(graph.matrix(np.repeat(1 / counts, np.diff(graph.start))))


def joint(P: Any) -> scipy.sparse.csr_array:
    """Return the average of affinities and their transpose, scaled to the sum 1, in rows of sorted columns."""
    S = scipy.sparse.csr_array(P + P.T)
    S.sort_indices()
    S.data /= S.data.sum()
    return S


def given_affinities(P: Any) -> scipy.sparse.csr_array:
    """Return the joint affinities of a matrix (n, n) of the user: averaged with its transpose, scaled to the sum 1.

    The diagonal is ignored. Raise a DataError if it is not valid.
    """
    if P.ndim != 2 or P.shape[0] != P.shape[1]:
        raise DataError(
            f"The affinities are {' x '.join(map(str, P.shape))}. They must be square, with one row and column per row."
        )
    P = scipy.sparse.coo_array(P if is_sparse(P) else to_numpy(P)).astype(np.float64)
    bad = np.flatnonzero(~((P.data >= 0) & np.isfinite(P.data)))
    if len(bad):
        i, j = int(P.coords[0][bad[0]]), int(P.coords[1][bad[0]])
        fault = fault_of(P.data[bad[0]]).replace("length", "value")
        raise DataError(
            f"The affinities have a {fault} in row {i + 1}, column {j + 1}. They must be finite and nonnegative."
        )
    other = (P.coords[0] != P.coords[1]) & (P.data > 0)
    if not other.any():
        raise DataError("The affinities of different rows are all zero. Pass a matrix with positive affinities.")
    kept = scipy.sparse.coo_array(
        (P.data[other] / P.data[other].max(), (P.coords[0][other], P.coords[1][other])), P.shape
    )
    return joint(kept.tocsr())
