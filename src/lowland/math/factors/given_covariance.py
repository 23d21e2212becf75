"""A covariance or correlation matrix in place of rows: its checks and its moments."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from lowland.arrays.namespace import is_array, is_sparse, to_numpy
from lowland.errors import DataError, ParameterError
from lowland.math.factors.adequacy import listed, named
from lowland.math.factors.correlations import Correlations
from lowland.math.statistics.moments import Moments

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
    """Return checked initial noise variances, (d,)."""
    psi = np.asarray(to_numpy(values) if is_array(values) else values, dtype=np.float64)
    if psi.shape != (d,):
        raise DataError(f"The initial noise variances have shape {psi.shape}, but there are {d} columns.")
    if not np.isfinite(psi).all() or (psi < 0).any():
        raise DataError("The initial noise variances contain NaN, infinity or negative values.")
    return psi


def moments_of_covariance(S: Any, n: float, mean: np.ndarray | None, names: Any) -> Moments:
    """Return moments with the covariance S of n rows, checked."""
    if not isinstance(n, numbers.Real) or not n >= 2:
        raise ParameterError(
            f"a covariance needs at least 2 rows, not {n!r}. Pass the number of rows that it was computed from."
        )
    S = checked_covariance(S, names)
    mean = np.zeros(len(S)) if mean is None else np.asarray(mean, dtype=np.float64)
    if not np.isfinite(mean).all():
        raise DataError("The mean contains NaN or infinity. Pass one finite number per column.")
    return Moments(float(n), int(n), mean, S * n, 0.0)


def checked_covariance(S: Any, names: Any) -> np.ndarray:
    """Return a covariance or correlation matrix as float64, checked."""
    S = np.asarray(S, dtype=np.float64)
    if S.shape[0] != S.shape[1]:
        raise DataError(
            f"The covariance matrix is {S.shape[0]} x {S.shape[1]}, but it must be square. "
            "Pass a square matrix, or fit to rows instead."
        )
    apart = np.abs(S - S.T)
    if apart.max() > _ALIKE * np.abs(S).max():
        i, j = np.unravel_index(np.argmax(apart), S.shape)
        raise DataError(
            f"The covariance matrix is not symmetric: the entry of {named(i, names)} with {named(j, names)} is "
            f"{S[i, j]:.6g}, its transpose {S[j, i]:.6g}. If this is rounding error, average it with its transpose "
            "(`(S + S.T) / 2`)."
        )
    S = (S + S.T) / 2
    flat = np.flatnonzero(np.diagonal(S) <= 0)
    if flat.size:
        raise DataError(f"{listed(flat, names)} constant: the variance is not positive. Remove constant columns.")
    scale = np.sqrt(np.diagonal(S))
    correlations = Correlations(S / np.outer(scale, scale), np.diagonal(S), 0.0)
    least = float(correlations.pairs[0][0])
    if least < -_ALIKE:
        raise DataError(
            f"The covariance matrix is not positive semidefinite: its correlation matrix has the eigenvalue "
            f"{least:.3g}. If it was computed with pairwise deletion of missing values, use complete rows only."
        )
    collinear = correlations.collinear()
    if collinear.size:
        raise DataError(
            f"{listed(collinear, names)} perfectly collinear, so the likelihood is unbounded. Remove one of these "
            "columns."
        )
    return S
