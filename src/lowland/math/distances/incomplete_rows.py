"""Distances of rows with missing values (NaN), over the columns that both have: nan_euclidean, and Gower's (1971)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy
from lowland.errors import DataError, ParameterError

_STRETCH = 512  # points compared at a time, so that their columns stay in the cache


@dataclass(frozen=True)
class SharedColumns:
    """How the columns of incomplete rows are compared, and the points they are compared with."""

    points: np.ndarray  # (n, d) float64, with ranks in place of ordered values
    kinds: np.ndarray  # (d,) of kernels.neighbor_search
    scales: np.ndarray  # (d,) one over the range
    w: np.ndarray  # (d,)
    levels: tuple[np.ndarray, ...]  # of the columns that are ranked; empty for the others
    complete: np.ndarray  # (d,) bool: the columns in which no point is missing

    @classmethod
    def of(cls, points: np.ndarray, metric: str, params: dict[str, Any]) -> SharedColumns:
        """The comparison with these points; ``params`` are those of the user."""
        if metric == "nan_euclidean":
            return _euclidean(points)
        return _gower(points, **learn_gower(points, **params))

    def coded(self, X: np.ndarray) -> np.ndarray:
        """The rows as float64, ordered values as ranks."""
        return rank_levels(X, self.levels)

    def distances(self, Q: np.ndarray, points: np.ndarray) -> np.ndarray:
        """The distances of coded rows to some of the points, (m, b); NaN if they share no column."""
        from lowland.kernels.neighbor_search import shared_distances

        T, out = np.ascontiguousarray(points.T), np.empty((len(Q), len(points)))
        shared_distances(Q, T, self.kinds, self.scales, self.w, self.complete, out)
        return out

    def to_all(self, Q: np.ndarray) -> np.ndarray:
        """The distances of coded rows to all points, (m, n)."""
        out = np.empty((len(Q), len(self.points)))
        for start in range(0, len(self.points), _STRETCH):
            out[:, start : start + _STRETCH] = self.distances(Q, self.points[start : start + _STRETCH])
        return out

    def of_pairs(self, Q: np.ndarray, places: np.ndarray) -> np.ndarray:
        """The distances of coded row i to the points ``places[i]``, (m, k)."""
        return np.concatenate([self.distances(Q[i : i + 1], self.points[to]) for i, to in enumerate(places)])


def no_shared_column(i: int, j: int) -> DataError:
    """Return the error for two rows, counted from 0, that have no column in common."""
    return DataError(
        f"Row {i + 1} and row {j + 1} have no column in which both have a value, so their distance is undefined. "
        f"Drop row {i + 1}, or impute the missing values, for instance with `lowland.impute(X, 'mean')`. Stress "
        "minimization accepts undefined distances."
    )


def first_unshared(A: np.ndarray, B: np.ndarray) -> tuple[int, int] | None:
    """Return the numbers of the first rows of A and B that have no column in common. None means all pairs have one."""
    in_a, in_b = (~np.isnan(np.asarray(each, dtype=np.float64)) for each in (A, B))
    for start in range(0, len(in_a), _STRETCH):
        none = in_a[start : start + _STRETCH].astype(np.float32) @ in_b.T.astype(np.float32) == 0
        if none.any():
            i, j = np.argwhere(none)[0]
            return start + int(i), int(j)
    return None


# --- Euclidean --------------------------------------------------------------------------------------------------------


def nan_euclidean(A: Array, B: Array) -> Array:
    """Return √(d/s sum (a - b)²) over the s shared columns of the d, for all pairs of rows; NaN where s = 0."""
    found = _euclidean(to_numpy(B))
    return like(found.to_all(found.coded(to_numpy(A))), A)


def _euclidean(points: np.ndarray) -> SharedColumns:
    from lowland.kernels.neighbor_search import SQUARE

    d = points.shape[1]
    P, ones = np.ascontiguousarray(points, dtype=np.float64), np.ones(d)
    complete = np.asarray(~np.isnan(P).any(axis=0))
    return SharedColumns(P, np.full(d, SQUARE), ones, ones, (np.empty(0),) * d, complete)


# --- Gower's dissimilarity --------------------------------------------------------------------------------------------


def learn_gower(points: Array, categorical: Any = (), ordered: Any = (), weights: Any = None) -> dict[str, Any]:
    """Return what Gower's dissimilarity needs: ranges of the numeric columns, the levels of the ordered ones."""
    P = np.asarray(to_numpy(points), dtype=np.float64)
    d = P.shape[1]
    kinds = np.zeros(d, dtype=np.int64)  # 0 numeric, 1 categorical, 2 ordered
    for name, columns, kind in (("categorical", categorical, 1), ("ordered", ordered, 2)):
        chosen = _positions(columns, d, name)
        if (kinds[chosen] != 0).any():
            raise ParameterError("The metric 'gower': a column is both in 'categorical' and in 'ordered'. Choose one.")
        kinds[chosen] = kind
    try:
        w = np.ones(d) if weights is None else np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        w = np.empty(0)
    if w.shape != (d,) or not (w >= 0).all() or not 0 < w.sum() < np.inf:
        raise ParameterError(
            f"The weights of the metric 'gower' must be nonnegative numbers, one for each of the {d} columns, and not "
            "all zero."
        )
    levels = tuple(np.unique(P[~np.isnan(P[:, j]), j]) if kinds[j] == 2 else np.empty(0) for j in range(d))
    with np.errstate(invalid="ignore"):
        low, high = np.nanmin(P, axis=0, initial=np.inf), np.nanmax(P, axis=0, initial=-np.inf)
    spans = np.array([len(levels[j]) - 1 if kinds[j] == 2 else high[j] - low[j] for j in range(d)])
    return {"kinds": kinds, "spans": np.where(spans > 0, spans, 1.0), "levels": levels, "w": w}


def _positions(columns: Any, d: int, name: str) -> np.ndarray:
    given = np.asarray(columns)
    if given.dtype == bool and given.shape == (d,):
        return np.flatnonzero(given)
    given = np.empty(0, dtype=np.int64) if not given.size else given
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given.size and (given.min() < 0 or given.max() >= d)):
        raise ParameterError(
            f"The metric 'gower': {name!r} must list columns by their positions, 0 to {d - 1}, or by their names if "
            "the table has names, or be a mask."
        )
    return given


def gower(
    A: Array, B: Array, kinds: np.ndarray, spans: np.ndarray, levels: tuple[np.ndarray, ...], w: np.ndarray
) -> Array:
    """Return the weighted mean over shared columns of |a - b| / range, of a ≠ b, or of the difference of ranks.

    A numeric difference beyond the range of the training rows counts as 1. NaN where two rows share no column.
    """
    P, Q = (np.asarray(to_numpy(each), dtype=np.float64) for each in (A, B))
    found = _gower(Q, kinds, spans, levels, w)
    return like(found.to_all(found.coded(P)), A)


def _gower(
    points: np.ndarray, kinds: np.ndarray, spans: np.ndarray, levels: tuple[np.ndarray, ...], w: np.ndarray
) -> SharedColumns:
    from lowland.kernels.neighbor_search import CATEGORY, NUMBER

    P = rank_levels(points, levels)
    P[:, w == 0] = np.nan  # a column without weight counts as if both values were missing
    return SharedColumns(
        P, np.where(kinds == 1, CATEGORY, NUMBER), 1 / spans, w, levels, np.asarray(~np.isnan(P).any(axis=0))
    )  # fmt: skip


def rank_levels(X: np.ndarray, levels: tuple[np.ndarray, ...]) -> np.ndarray:
    """A copy of the rows as float64; ordered values as ranks, one between two levels halfway between their ranks."""
    Y = np.array(X, dtype=np.float64, order="C")
    for j, own in enumerate(levels):
        if len(own):
            left, right = (np.searchsorted(own, Y[:, j], side) for side in ("left", "right"))
            Y[:, j] = np.where(np.isnan(Y[:, j]), np.nan, (left + right - 1) / 2)
    return Y
