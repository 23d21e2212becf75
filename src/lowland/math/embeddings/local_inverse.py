"""Rows from places in a map: weighted linear regression of the rows on the map coordinates in each neighborhood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.math.neighbors.out_of_sample import NearestAmong

_RIDGE = 1e-3  # of the slopes, in units of the radius of the neighborhood


@dataclass(frozen=True)
class LocalRegression:
    """Predicts the row at a place in the map from the k nearest training rows there.

    The weight of a neighbor decreases from one to zero at the farthest one: (1 - (d / h)³)³ (Cleveland 1979). Slopes
    have a ridge penalty, so that neighbors on one line do not extrapolate without bound.
    """

    Z: np.ndarray  # (n, p) places of the training rows
    points: Any  # (n, d) training rows, sparse or not
    nearest: NearestAmong

    @classmethod
    def of(cls, Z: np.ndarray, points: Any, k: int) -> LocalRegression:
        """Prepare the search of the k nearest places."""
        Z = np.ascontiguousarray(Z, dtype=np.float64)
        return cls(Z, points, NearestAmong(Z, min(k, len(Z))))

    def __call__(self, places: Array) -> Array:
        """Return rows, (m, d)."""
        Y = np.ascontiguousarray(to_numpy(places), dtype=np.float64)
        found = self.rows_at(Y, *self.nearest(Y))
        return like(found, places, places.dtype)

    def rows_at(self, Y: np.ndarray, to: np.ndarray, length: np.ndarray) -> np.ndarray:
        """Return the predictions at Y (m, p), from neighbors and their distances in the map, both (m, k)."""
        m, k = to.shape
        H = regression_weights(Y, self.Z[to], length)
        sums = scipy.sparse.csr_array((H.ravel(), to.ravel(), np.arange(m + 1) * k), shape=(m, len(self.Z)))
        points = self.points if is_sparse(self.points) else to_numpy(self.points)
        rows = sums @ points
        return rows.toarray() if is_sparse(rows) else rows

    def leave_one_out_error(self, most: int = 500) -> float:
        """Return the relative error of training rows predicted from the others: √(sum |x - x̂|² / sum |x - mean|²).

        At most ``most`` rows are predicted, evenly spaced in their order.
        """
        n = len(self.Z)
        which = np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
        if n < 3:
            return float("nan")
        to, length = NearestAmong(self.Z, min(self.nearest.k + 1, n))(self.Z[which])
        own = to == which[:, None]
        own[~own.any(axis=1), -1] = True  # many duplicates are nearer than the row itself
        shape = (len(which), to.shape[1] - 1)
        found = self.rows_at(self.Z[which], to[~own].reshape(shape), length[~own].reshape(shape))
        X = self.points[which].toarray() if is_sparse(self.points) else self._taken(which)
        error = float(np.sum((X - found) ** 2))
        spread = float(np.sum((X - X.mean(axis=0)) ** 2))
        return float(np.sqrt(error / spread)) if spread > 0 else 0.0

    def _taken(self, which: np.ndarray) -> np.ndarray:
        xp = xp_of(self.points)
        return to_numpy(xp.take(self.points, like(which, self.points, xp.int64), axis=0)).astype(np.float64)


def regression_weights(Y: np.ndarray, near: np.ndarray, length: np.ndarray, ridge: float = _RIDGE) -> np.ndarray:
    """Return the weights of the neighbors in the prediction, (m, k): they sum to one, and may be negative.

    ``near`` (m, k, p) are the places of the neighbors, ``length`` (m, k) their distances from Y (m, p).
    """
    h = length[:, -1:] * (1 + 1e-3)  # the farthest neighbor keeps a small weight
    h = np.where(h > 0, h, 1.0)
    w = (1 - np.minimum(length / h, 1) ** 3) ** 3
    w /= w.sum(axis=1, keepdims=True)
    A = np.concatenate([np.ones((*length.shape, 1)), (near - Y[:, None, :]) / h[:, :, None]], axis=2)  # (m, k, p + 1)
    AW = A * w[:, :, None]
    S = np.einsum("mki,mkj->mij", AW, A)
    slopes = np.arange(1, A.shape[2])
    S[:, slopes, slopes] += ridge
    first = np.zeros((len(Y), A.shape[2], 1))
    first[:, 0] = 1
    return np.einsum("mki,mi->mk", AW, np.linalg.solve(S, first)[:, :, 0])
