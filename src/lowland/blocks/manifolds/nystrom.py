"""Nystrom extension: coordinates of new rows from their affinities with the training points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.blocks.distances.kernel_functions import KernelWith
from lowland.blocks.distances.to_points import DistancesTo
from lowland.blocks.manifolds.graph_affinities import EdgeWeights
from lowland.blocks.neighbors.out_of_sample import NearestAmong
from lowland.errors import DataError
from lowland.run.run import all_finite

_DUPLICATE = 1e-6  # of the farthest neighbor's distance, within which a row is taken to be a training row
_FLAT = 1e-14  # of the degree, below which an eigenvalue is rounding, and not divided by
_FLAT_NEAREST = 1e-3  # the same where only the nearest points are known, which is not exact


@dataclass(frozen=True)
class HeatTo:
    """exp(-d²/ε) of a slab's rows with points; an object, so that it can travel to a worker.

    ``relative`` to the nearest point of each row, which then has 1: for sums that are normalised, however far the row.
    """

    epsilon: float
    distances: DistancesTo | None  # None: the rows are distances
    relative: bool = False

    def __call__(self, X: Array) -> Array:
        """Of one slab, in its precision."""
        if is_sparse(X):
            raise DataError(
                "transform wants the distances of new rows to all fitted rows, and a sparse matrix leaves some out. "
                "Pass them as a dense array."
            )
        xp = xp_of(X)
        if self.distances is None:
            _refuse_rows(xp.any(X < 0, axis=1), "has a negative distance. Distances are zero or more.")
        D = X if self.distances is None else self.distances(X)
        D2 = as_double(D) ** 2
        if self.relative:
            D2 = D2 - xp.min(D2, axis=1)[:, None]
        return xp.astype(xp.exp(-D2 / self.epsilon), X.dtype, copy=False)


@dataclass(frozen=True)
class FunctionWith:
    """Affinities with points by a function that makes the matrix of all rows it is given."""

    affinity: Callable[[Any], Any]
    points: Array

    def __call__(self, X: Array) -> Array:
        """Ask the function for new and fitted rows together, and take the part that is between them."""
        xp, m = xp_of(X), X.shape[0]
        return like(self.affinity(xp.concat([X, like(self.points, X)], axis=0))[:m, m:], X)


@dataclass(frozen=True)
class GivenWith:
    """Affinities with the fitted points that were given, sparse or not."""

    def __call__(self, X: Any) -> Any:
        """They are the rows."""
        negative = (X < 0).sum(axis=1) > 0 if is_sparse(X) else xp_of(X).any(X < 0, axis=1)
        _refuse_rows(
            negative, "has a negative affinity. An affinity says how strongly points are joined: zero or more."
        )
        return X


@dataclass(frozen=True)
class Nystrom:
    """Coordinates of new rows from their affinities w with all points: z = Σ w_i z_i / (offset + slope Σ w_i).

    With W z = (1 - λ) D z on the fitted points, offset 0 and slope 1 - λ give it back. Where W leaves out the affinity
    c of a point with itself and w does not, offset cλ mends it; where L is not normalized, offset -λ and slope 1 do.
    """

    affinity: KernelWith | HeatTo | FunctionWith | GivenWith
    Z: Array  # (n, k)
    offset: np.ndarray  # (k,)
    slope: np.ndarray  # (k,)
    density: Array | None = None  # (n,) multiplies the affinities

    def __call__(self, X: Array) -> Array:
        """Place a slab."""
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
    """Coordinates of new rows from the points they would be joined to; a row that is a fitted one has its place.

    As in the graph, these are the row's k nearest points, and those points whose own k nearest it would be among,
    looked for among the 3k nearest.
    """

    nearest: NearestAmong  # of 3k points
    k: int
    reach: Array  # (n,) from each point to its k-th neighbour
    Z: Array  # (n, c)
    offset: np.ndarray  # (c,)
    slope: np.ndarray  # (c,)
    weights: EdgeWeights = "binary"
    epsilon: float | None = None  # of heat weights
    density: Array | None = None  # (n,)

    def __call__(self, X: Array) -> Array:
        """Place a slab; the neighbours' side of it on the host."""
        if not all_finite(X):  # told by who gathers the slabs
            return like(np.full((X.shape[0], self.Z.shape[1]), np.nan), X)
        indices, distances = self.nearest(X)  # (m, 3k) both
        w = self._weights(indices, distances.astype(np.float64))
        Z = to_numpy(self.Z)
        sums = np.einsum("mi,mij->mj", w, Z[indices].astype(np.float64))
        placed = _divided(sums, w.sum(axis=1)[:, None], self.offset, self.slope, _FLAT_NEAREST)
        duplicate = distances[:, 0] <= _DUPLICATE * distances[:, -1]
        placed[duplicate] = Z[indices[duplicate, 0]]
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
            w *= np.exp((D[:, :1] ** 2 - D**2) / self.epsilon)  # the sums are normalised, however far the row
        return w if self.density is None else w * to_numpy(self.density)[indices]


def _divided(sums: Array, degrees: Array, offset: Array, slope: Array, flat: float = _FLAT) -> Array:
    """sums / (offset + slope degrees); where an eigenvalue leaves nothing to divide by, the mean of the neighbours."""
    xp = xp_of(sums)
    _refuse_rows(
        degrees[:, 0] <= _FLAT * float(xp.max(xp.abs(offset))),
        "has no affinity with any of the fitted points, so it has no place among them. Leave such rows out.",
    )
    by = offset[None, :] + slope[None, :] * degrees
    return sums / xp.where(xp.abs(by) > flat * degrees, by, degrees)


def _refuse_rows(fault: Array, words: str) -> None:
    """Refuse the first row of a slab that is at fault, (m,) bool."""
    if bool(xp_of(fault).any(fault)):
        i = int(np.argmax(to_numpy(fault)))
        raise DataError(f"Row {i} of the {fault.shape[0]} placed at a time {words}")
