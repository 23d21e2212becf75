"""A latent linear model of rows with missing values: x = mean + Wy + noise, with y standard normal.

The noise of column j has variance unit_j². In these units the covariance of a row is I + LL', L = W / unit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.arrays.records import record
from lowland.errors import DataWarning, warn

_SMALLER = 4  # m missing values: an m x m inverse, four patterns at a time, costs less than k x k systems up to m = 4k


@record
@dataclass(frozen=True)
class LatentModel:
    """Mean, noise and loadings of the columns; what it says about the missing values of a row."""

    mean: np.ndarray  # (d,)
    unit: np.ndarray  # (d,) standard deviation of the noise
    L: np.ndarray  # (d, k) loadings in these units

    @functools.cached_property
    def factors(self) -> LatentFactors:
        """The matrices that every row needs."""
        return LatentFactors.of(self.L)

    def completed(self, X: Any, weights: np.ndarray | None = None) -> CompletedRows:
        """Return the rows of one slab with their missing values replaced by conditional means."""
        from lowland.kernels import incomplete_rows as kernels  # numba is loaded only for incomplete rows

        given = dense(X)
        X = np.ascontiguousarray(given, dtype=np.float64)
        (n, d), k = X.shape, self.L.shape[1]
        counts = np.empty(n, dtype=np.int64)
        kernels.count_missing(X, counts)
        start = np.concatenate([[0], np.cumsum(counts)])
        C = np.empty((n, d)) if np.may_share_memory(X, given) else X  # a copy may be overwritten
        missing, values = np.empty(start[-1] + 1, dtype=np.int32), np.empty(start[-1])
        squares, logs, keys = np.empty(n), np.empty(n), np.empty(n, dtype=np.uint64)
        kernels.center_observed(X, self.mean, self.unit, start, C, missing, squares, logs, keys)
        f, extra = self.factors, np.zeros((d, d))
        w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        T = C @ f.V.T
        distances = f.log_det + squares - np.einsum("ij,ij->i", T, T)
        order = kernels.rows_of_keys(np.sort(keys))  # rows of one pattern follow each other
        few, many = np.searchsorted(counts[order], [1, min(_SMALLER * k, d - k) + 1])
        if k == 0:  # independent columns: nothing predicts a missing value
            few = many = n
            values[:] = 0.0
            np.fill_diagonal(extra, np.bincount(missing[:-1], np.repeat(w, counts), d))
        kernels.complete_by_precision(T, start, missing, order[few:many], w, f.V, f.K, values, extra, distances)
        if many < n:
            kernels.complete_by_factors(
                start, missing, order[many:], w, squares, T @ f.root.T, self.L, f.information, values, extra, distances
            )
        distances += logs
        kernels.fill_missing(C, start, missing, values)
        extra += np.tril(extra, -1).T
        return CompletedRows(C, extra, counts, missing[:-1], values, distances)

    def log_likelihoods(self, completed: CompletedRows) -> np.ndarray:
        """Return the log-likelihood of the observed values of each row, (n,)."""
        observed = len(self.mean) - completed.counts
        return -(completed.distances + observed * math.log(2 * math.pi)) / 2


@dataclass(frozen=True)
class LatentFactors:
    """The inverse K = I - V'V of I + LL', and the Cholesky factor ``root`` of I + L'L."""

    V: np.ndarray  # (k, d)
    K: np.ndarray  # (d, d)
    information: np.ndarray  # (k, k)
    root: np.ndarray  # (k, k)
    log_det: float

    @classmethod
    def of(cls, L: np.ndarray) -> LatentFactors:
        """Return the matrices of one model."""
        information = np.eye(L.shape[1]) + L.T @ L
        root = np.linalg.cholesky(information)
        V = np.linalg.solve(root, L.T)
        K = -(V.T @ V)
        K[np.diag_indices(len(K))] += 1
        return cls(V, K, information, root, 2 * float(np.log(np.diagonal(root)).sum()))


@dataclass(frozen=True)
class CompletedRows:
    """The rows of a slab, centered and in units of the noise, with conditional means for the missing values."""

    C: np.ndarray  # (n, d)
    extra: np.ndarray  # (d, d) sum of the conditional covariances of the missing values
    counts: np.ndarray  # (n,) missing values of each row
    missing: np.ndarray  # columns of the missing values, row by row
    values: np.ndarray  # their conditional means
    distances: np.ndarray  # (n,) log det of the observed covariance plus the squared distance

    @property
    def row_of_missing(self) -> np.ndarray:
        """The row of each missing value."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


@dataclass(frozen=True)
class ImputeRows:
    """Rows to rows with missing values replaced by conditional means; observed values stay as they are."""

    model: LatentModel

    def __call__(self, X: Any) -> Array:
        """Complete one slab."""
        found = self.model.completed(X)
        i, j = found.row_of_missing, found.missing
        values = found.values * self.model.unit[j] + self.model.mean[j]
        rows = np.array(dense(X))
        rows[i, j] = values
        return rows if is_sparse(X) else like(rows, X)


@dataclass(frozen=True)
class CompletedThen:
    """Rows to a function of the completed rows: for a linear one, its conditional mean given the observed values."""

    model: LatentModel
    then: Callable[[Any], Array]

    def __call__(self, X: Any) -> Array:
        """Map one slab; warn of rows without any value."""
        if all_observed(X):
            return self.then(X)
        warn_of_empty_rows(int(np.isnan(dense(X)).all(axis=1).sum()))
        return self.then(ImputeRows(self.model)(X))


@dataclass(frozen=True)
class ObservedLikelihoods:
    """Rows to the log-likelihoods of their observed values, (m, 1) float64."""

    model: LatentModel

    def __call__(self, X: Any) -> Array:
        """Return the log-likelihoods of one slab."""
        found = self.model.log_likelihoods(self.model.completed(X))[:, None]
        return found if is_sparse(X) else like(found, X, xp_of(X).float64)


def all_observed(X: Any) -> bool:
    """Whether no value is missing; sparse rows are never copied for it."""
    values = X.data if is_sparse(X) else to_numpy(X)
    with np.errstate(over="ignore", invalid="ignore"):
        return not np.isnan(values.sum()) or not np.isnan(values).any()


def warn_of_empty_rows(count: int) -> None:
    """Warn of rows without any value."""
    if count:
        one = count == 1
        warn(
            f"{count} row{' has' if one else 's have'} no value at all, so {'its' if one else 'their'} coordinates are "
            "those of the mean, 0. Such rows do not affect a fit. Drop them.",
            DataWarning,
        )


def dense(X: Any) -> np.ndarray:
    """Return a slab as a dense array on the host."""
    return X.toarray() if is_sparse(X) else to_numpy(X)
