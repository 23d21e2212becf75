"""A covariance or correlation matrix in place of rows: whether it is one, and the moments that have it."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from lowland.arrays.namespace import is_array, is_sparse, to_numpy
from lowland.blocks.factors.adequacy import listed, named
from lowland.blocks.factors.correlations import Correlations
from lowland.blocks.statistics.moments import Moments
from lowland.errors import DataError, ParameterError

_ALIKE = 1e-8  # fraction of the largest entry by which the two halves of a covariance may differ


def looks_like_covariance(X: Any) -> bool:
    """Whether a table is square and symmetric, with a positive diagonal that bounds the rest."""
    if X.shape[0] != X.shape[1] or X.shape[0] < 2:
        return False
    S = to_numpy(X.toarray() if is_sparse(X) else X)
    diagonal = np.diagonal(S)
    near = _ALIKE * float(diagonal.max())
    if not diagonal.min() > 0 or not np.allclose(S[0], S[:, 0], rtol=0, atol=near):  # most tables end here
        return False
    bound = np.sqrt(diagonal.astype(np.float64))
    return np.allclose(S, S.T, rtol=0, atol=near) and bool(np.all(np.abs(S) <= np.outer(bound, bound) + near))


def checked_noise(values: Any, d: int) -> np.ndarray:
    """Return noise variances to start from, (d,), or say what is wrong with them."""
    psi = np.asarray(to_numpy(values) if is_array(values) else values, dtype=np.float64)
    if psi.shape != (d,):
        raise DataError(f"The noise variances to start from have the shape {psi.shape}, and there are {d} columns.")
    if not np.isfinite(psi).all() or (psi < 0).any():
        raise DataError("The noise variances to start from have NaN, infinity or negative values.")
    return psi


def moments_of_covariance(S: Any, n: float, mean: np.ndarray | None, names: Any) -> Moments:
    """Return moments that have S as their covariance, or say what keeps S from being one of n rows."""
    if not isinstance(n, numbers.Real) or not n >= 2:
        raise ParameterError(f"n_samples={n!r}: a covariance needs at least 2 rows. Say how many rows S was made from.")
    S = checked_covariance(S, names)
    mean = np.zeros(len(S)) if mean is None else np.asarray(mean, dtype=np.float64)
    if not np.isfinite(mean).all():
        raise DataError("The mean contains NaN or infinity. Give a finite number for every column.")
    return Moments(float(n), int(n), mean, S * n, 0.0)


def checked_covariance(S: Any, names: Any) -> np.ndarray:
    """Return a covariance or correlation matrix as float64, or say what keeps it from being one."""
    S = np.asarray(S, dtype=np.float64)
    if S.shape[0] != S.shape[1]:
        raise DataError(
            f"A covariance has as many rows as columns; this table is {S.shape[0]} x {S.shape[1]}. "
            "Pass the covariance matrix, or call fit with the rows themselves."
        )
    apart = np.abs(S - S.T)
    if apart.max() > _ALIKE * np.abs(S).max():
        i, j = np.unravel_index(np.argmax(apart), S.shape)
        raise DataError(
            f"The covariance is not symmetric: {named(i, names)} with {named(j, names)} is {S[i, j]:.6g}, and the "
            f"other way round {S[j, i]:.6g}. Pass (S + S.T) / 2 if that is rounding."
        )
    S = (S + S.T) / 2
    flat = np.flatnonzero(np.diagonal(S) <= 0)
    if flat.size:
        raise DataError(
            f"{listed(flat, names)} of no variance: no factor explains a column that does not vary. Leave it out."
        )
    scale = np.sqrt(np.diagonal(S))
    correlations = Correlations(S / np.outer(scale, scale), np.diagonal(S), 0.0)
    least = float(correlations.pairs[0][0])
    if least < -_ALIKE:
        raise DataError(
            f"The covariance is not positive: its correlations have the eigenvalue {least:.3g}, and no rows have such "
            "a covariance. If it was put together from pairs of columns, use the rows that are complete."
        )
    collinear = correlations.collinear()
    if collinear.size:
        raise DataError(
            f"{listed(collinear, names)} perfectly collinear, each a combination of others: the likelihood has no "
            "maximum. Leave one of them out."
        )
    return S
