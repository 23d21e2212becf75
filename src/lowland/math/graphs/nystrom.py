"""Nyström extension: coordinates of new rows from their affinities with the training points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, as_double, is_sparse, like, to_numpy, xp_of
from lowland.errors import DataError
from lowland.math.distances.metrics import allows_nan
from lowland.math.distances.to_points import DistancesTo
from lowland.math.graphs.affinities import EdgeWeights
from lowland.math.neighbors.search import NearestAmong
from lowland.run.run import all_finite

_DUPLICATE = 1e-6  # fraction of the farthest neighbor's distance, within which a row counts as a training row
_FLAT = 1e-14  # fraction of the degree below which an eigenvalue is rounding error, and not divided by
_FLAT_NEAREST = 1e-3  # the same if only the nearest points are known, which is approximate


@dataclass(frozen=True)
class HeatTo:
    """exp(-d²/ε) between the rows of a slab and points; an object that can be sent to a worker.

    ``relative``: divided by the value of the nearest point, so that normalized sums work for rows at any distance.
    """

    epsilon: float
    distances: DistancesTo | None  # None: the rows are distances
    relative: bool = False

    def __call__(self, X: Array) -> Array:
        """Return the kernel values of one slab, in its precision."""
        if is_sparse(X) and self.distances is None:
            raise DataError(
                "transform needs the distances of the new rows to all training rows, and a sparse matrix lacks some. "
                "Pass them as a dense array."
            )
        D = X if self.distances is None else self.distances(X)
        xp = xp_of(D)
        if self.distances is None:
            _refuse_rows(xp.any(X < 0, axis=1), "has a negative distance. Distances must be nonnegative.")
        D2 = as_double(D) ** 2
        if self.relative:
            D2 = D2 - xp.min(D2, axis=1)[:, None]
        return xp.astype(xp.exp(-D2 / self.epsilon), X.dtype, copy=False)


@dataclass(frozen=True)
class FunctionWith:
    """Affinities with points by a function that returns the affinity matrix of the rows it gets."""

    affinity: Callable[[Any], Any]
    points: Array

    def __call__(self, X: Array) -> Array:
        """Call the function with new and training rows together, and return the block between them."""
        m = X.shape[0]
        if is_sparse(X) or is_sparse(self.points):
            both = scipy.sparse.vstack([X, self.points], format="csr")
        else:
            both = xp_of(X).concat([X, like(self.points, X)], axis=0)
        W = self.affinity(both)[:m, m:]
        return W if is_sparse(W) else like(W, X)


def check_new_affinities(X: Any) -> Any:
    """Return given affinities with the training points, sparse or dense, after a check."""
    negative = (X < 0).sum(axis=1) > 0 if is_sparse(X) else xp_of(X).any(X < 0, axis=1)
    _refuse_rows(negative, "has a negative affinity. Affinities are similarities and must be nonnegative.")
    return X


@dataclass(frozen=True)
class Nystrom:
    """Coordinates of new rows from their affinities w with all points: z = Σ w_i z_i / (offset + slope Σ w_i).

    Since W z = (1 - λ) D z on the training points, offset 0 and slope 1 - λ reproduce them. If w includes the affinity
    c of a point with itself and W does not, the offset is cλ; if L is not normalized, the offset is -λ and the slope 1.
    """

    affinity: Callable[[Any], Any]
    Z: Array  # (n, k)
    offset: np.ndarray  # (k,)
    slope: np.ndarray  # (k,)
    density: Array | None = None  # (n,) multiplies the affinities

    def __call__(self, X: Array) -> Array:
        """Return the coordinates of a slab of rows."""
        W = self.affinity(X)
        if is_sparse(W):
            sums = like(W.sum(axis=1), self.offset)[:, None]
            return like(_divided(W @ to_numpy(self.Z), sums, self.offset, self.slope), W)
        W = as_double(W)
        if self.density is not None:
            W = W * like(self.density, W)[None, :]
        sums = xp_of(W).sum(W, axis=1)[:, None]
        return like(_divided(W @ like(self.Z, W), sums, like(self.offset, W), like(self.slope, W)), X, X.dtype)


@dataclass(frozen=True)
class NystromNearest:
    """Coordinates of new rows from the points they would have edges to; a training row gets its own coordinates.

    As in the graph, these are the row's k nearest points, and the points that would have it among their own k nearest,
    searched for among the 3k nearest.
    """

    nearest: NearestAmong  # of 3k points
    k: int
    reach: Array  # (n,) distance from each point to its k-th neighbor
    Z: Array  # (n, c)
    offset: np.ndarray  # (c,)
    slope: np.ndarray  # (c,)
    weights: EdgeWeights = "binary"
    epsilon: float | None = None  # of heat weights
    density: Array | None = None  # (n,)

    def __call__(self, X: Array) -> Array:
        """Return the coordinates of a slab of rows; computed on the host."""
        if not (all_finite(X) or (allows_nan(self.nearest.metric) and not is_sparse(X))):  # the run reports where
            return like(np.full((X.shape[0], self.Z.shape[1]), np.nan), X)
        indices, distances = self.nearest(X)  # (m, 3k) both
        w = self._weights(indices, distances.astype(np.float64))
        Z = to_numpy(self.Z)
        sums = np.einsum("mi,mij->mj", w, Z[indices].astype(np.float64))
        placed = _divided(sums, w.sum(axis=1)[:, None], self.offset, self.slope, _FLAT_NEAREST)
        duplicate = distances[:, 0] <= _DUPLICATE * distances[:, -1]
        placed[duplicate] = Z[indices[duplicate, 0]]
        placed[np.isnan(distances[:, 0])] = np.nan  # comparable with too few points: the run reports it
        return like(placed, X, X.dtype)

    def _weights(self, indices: np.ndarray, D: np.ndarray) -> np.ndarray:
        """The weights of the edges from each row to the points that were found, (m, 3k)."""
        ahead = np.broadcast_to(np.arange(D.shape[1]) < self.k, D.shape)
        back = to_numpy(self.reach)[indices] >= D
        if self.weights == "average":
            return (ahead.astype(np.float64) + back) / 2
        w = (ahead | back).astype(np.float64)
        if self.weights == "heat":
            assert self.epsilon is not None
            w *= np.exp((D[:, :1] ** 2 - D**2) / self.epsilon)  # relative to the nearest: the sums are normalized
        return w if self.density is None else w * to_numpy(self.density)[indices]


def _divided(sums: Array, degrees: Array, offset: Array, slope: Array, flat: float = _FLAT) -> Array:
    """sums / (offset + slope degrees); if the divisor is zero up to rounding error, the mean of the neighbors."""
    xp = xp_of(sums)
    _refuse_rows(
        degrees[:, 0] <= _FLAT * float(xp.max(xp.abs(offset))),
        "has no affinity with any training row, so it cannot be embedded. Remove such rows.",
    )
    by = offset[None, :] + slope[None, :] * degrees
    return sums / xp.where(xp.abs(by) > flat * degrees, by, degrees)


def _refuse_rows(fault: Array, words: str) -> None:
    """Raise an error for the first marked row of a slab, (m,) bool."""
    if bool(xp_of(fault).any(fault)):
        i = int(np.argmax(to_numpy(fault)))
        raise DataError(f"Row {i} of the {fault.shape[0]} rows in this chunk {words}")
