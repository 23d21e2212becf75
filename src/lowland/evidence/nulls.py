"""Null data: tables with the columns of the data and none of its structure."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import is_sparse, slices, to_numpy
from lowland.errors import DataError
from lowland.math.scaling.classical import classical_scaling
from lowland.run.settings import require_memory

Null = Literal["independent", "gaussian"]
_CELLS = 1 << 20  # numbers that are drawn at a time
_ROUNDING = 1e-6  # size of a principal coordinate, relative to the first, below which it is rounding error
_MOST_COLUMNS = 3000  # for a covariance matrix of sparse columns


def draw_null(X: Any, null: Null, rng: np.random.Generator, *, pairwise: bool = False, counts: bool = False) -> Any:
    """Return a table of the same shape without structure.

    "independent" permutes each column by itself: every column keeps its values, and no column depends on another.
    "gaussian" draws from a normal distribution with the mean and covariance of the rows: linear dependence stays, and
    nothing else, and for a method of counts its negative values become 0. Distances are first turned into principal
    coordinates, whose columns are permuted or redrawn.
    """
    n, d = X.shape
    if pairwise:
        return distances(draw_null(principal_coordinates(X), null, rng))
    if is_sparse(X) and null == "independent":
        return _permuted_sparse(X, rng)
    bytes_each = X.dtype.itemsize if null == "independent" or X.dtype.kind == "f" else 8
    require_memory(float(n) * d * bytes_each, "A table of null data", "Reduce the columns first, or test a sample")
    if null == "independent":
        return _permuted(X, rng)
    drawn = _gaussian(X, rng)
    return np.maximum(drawn, 0, out=drawn) if counts else drawn


def principal_coordinates(D: np.ndarray) -> np.ndarray:
    """Return points with these distances, as far as they are Euclidean: all coordinates of classical scaling.

    The coordinate of the largest variance comes first. Those that are rounding errors are left out.
    """
    require_memory(4.0 * D.nbytes, "Null data for these distances", "Test a sample of the rows")
    Z = np.asarray(to_numpy(classical_scaling(D, len(D), whole=True).Z))
    size = np.abs(Z).max(axis=0)
    return Z[:, size >= _ROUNDING * size[0]]


def _permuted(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    out = np.empty_like(X)
    for j in range(X.shape[1]):
        out[:, j] = X[rng.permutation(len(X)), j]
    return out


def _permuted_sparse(X: Any, rng: np.random.Generator) -> Any:
    """Each column's entries move to random rows."""
    C = X.tocsc(copy=True)
    for start, stop in zip(C.indptr[:-1], C.indptr[1:], strict=True):
        C.indices[start:stop] = np.sort(rng.choice(C.shape[0], stop - start, replace=False))
    return C.tocsr()


def _gaussian(X: Any, rng: np.random.Generator) -> np.ndarray:
    n, d = X.shape
    if is_sparse(X):
        if d > _MOST_COLUMNS:
            raise DataError(
                f"The Gaussian null needs the covariance matrix of {d:,} sparse columns. Use `null='independent'`, or "
                "reduce the columns first, for example with `TruncatedSVD(50)`."
            )
        X = X.toarray()
    mean = X.mean(axis=0, dtype=np.float64)
    steps = slices(n, max(1, _CELLS // d))
    if n <= d:
        _, s, V = np.linalg.svd(X - mean, full_matrices=False)
    else:
        centered = (np.asarray(X[rows], dtype=np.float64) - mean for rows in steps)
        values, vectors = np.linalg.eigh(sum(C.T @ C for C in centered))
        s, V = np.sqrt(np.maximum(values, 0)), vectors.T
    root = s[:, None] * V / np.sqrt(max(n - 1, 1))
    out = np.empty((n, d), dtype=X.dtype if X.dtype.kind == "f" else np.float64)
    for rows in steps:  # at most one copy of the table
        out[rows] = rng.standard_normal((rows.stop - rows.start, len(s))) @ root + mean
    return out


def distances(Y: np.ndarray) -> np.ndarray:
    """Return the distances of all pairs of points."""
    from scipy.spatial.distance import cdist

    D = cdist(Y, Y)
    np.fill_diagonal(D, 0.0)
    return (D + D.T) / 2
