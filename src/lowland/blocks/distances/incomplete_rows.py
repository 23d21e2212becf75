"""Distances of rows with missing values (NaN): only the columns that both rows have count.

``nan_euclidean`` is scikit-learn's metric of this name. Gower's dissimilarity (1971) also takes categories, as codes,
and ordered categories.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.errors import ParameterError

_NEAR = 1e-6  # squared distance over squared lengths below which products have lost too much precision
_BLOCK = 1 << 22  # numbers in a block of differences


def nan_euclidean(A: Array, B: Array) -> Array:
    """Return √(d/s sum (a - b)²) over the s shared columns of the d, for all pairs of rows; NaN where s = 0.

    Missing values are zeros, and the lengths of the rows count shared columns only: three matrix products.
    """
    xp = xp_of(A, B)
    in_a, in_b = (~xp.isnan(each) for each in (A, B))
    counts = xp.sum(xp.astype(in_b, B.dtype), axis=0)
    sums = xp.sum(xp.where(in_b, B, xp.zeros_like(B)), axis=0)
    center = (sums / xp.where(counts > 0, counts, xp.ones_like(counts)))[None, :]
    A0, B0 = xp.where(in_a, A - center, xp.zeros_like(A)), xp.where(in_b, B - center, xp.zeros_like(B))
    M, N = xp.astype(in_a, A.dtype), xp.astype(in_b, B.dtype)
    shared = M @ N.T
    lengths = (A0 * A0) @ N.T + M @ (B0 * B0).T
    S = lengths - 2 * (A0 @ B0.T)
    near = np.nonzero(to_numpy(_NEAR * lengths >= S))
    if len(near[0]):
        S = like(_by_differences([to_numpy(each) for each in (A0, B0, M, N)], to_numpy(S).copy(), near), S)
    found = xp.sqrt(S * A.shape[1] / xp.where(shared > 0, shared, xp.ones_like(shared)))
    return xp.where(shared > 0, found, xp.full_like(found, float("nan")))


def _by_differences(parts: list[np.ndarray], S: np.ndarray, near: tuple[np.ndarray, ...]) -> np.ndarray:
    """S with the squared distances of some pairs computed from differences."""
    A, B, M, N = parts
    step = max(1, _BLOCK // A.shape[1])
    for start in range(0, len(near[0]), step):
        i, j = (part[start : start + step] for part in near)
        S[i, j] = np.sum(((A[i] - B[j]) * M[i] * N[j]) ** 2, axis=1)
    return S


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
    w = np.ones(d) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (d,) or not (w >= 0).all() or not w.sum() > 0:
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
    given = given.astype(np.int64) if given.size else np.empty(0, dtype=np.int64)
    if given.ndim != 1 or (given.size and (given.min() < 0 or given.max() >= d)):
        raise ParameterError(
            f"The metric 'gower': {name!r} must list columns by their positions, 0 to {d - 1}, or be a mask."
        )
    return given


def gower(
    A: Array, B: Array, kinds: np.ndarray, spans: np.ndarray, levels: tuple[np.ndarray, ...], w: np.ndarray
) -> Array:
    """Return the weighted mean over shared columns of |a - b| / range, of a ≠ b, or of the difference of ranks.

    A numeric difference beyond the range of the training rows counts as 1. NaN where two rows share no column.
    """
    P, Q = (np.asarray(to_numpy(each), dtype=np.float64) for each in (A, B))
    total, weight = np.zeros((len(P), len(Q))), np.zeros((len(P), len(Q)))
    for j in np.flatnonzero(w > 0):
        a, b = P[:, j], Q[:, j]
        both = ~np.isnan(a)[:, None] & ~np.isnan(b)[None, :]
        if kinds[j] == 1:
            apart = (a[:, None] != b[None, :]).astype(np.float64)
        else:
            if kinds[j] == 2:
                a, b = (_ranks(each, levels[j]) for each in (a, b))
            apart = np.minimum(np.abs(a[:, None] - b[None, :]) / spans[j], 1.0)
        total += np.where(both, w[j] * apart, 0.0)
        weight += w[j] * both
    D = np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), np.nan)
    return like(D, A)


def _ranks(values: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Positions among the levels; NaN stays NaN, and a value between two levels is halfway between their ranks."""
    left, right = np.searchsorted(levels, values, "left"), np.searchsorted(levels, values, "right")
    return np.where(np.isnan(values), np.nan, (left + right - 1) / 2)
