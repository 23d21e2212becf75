"""A latent Gaussian model of rows with missing values: x = mean + Wy + noise, with y standard normal.

The noise of column j has variance unit_j². In these units the covariance of a row is I + LL', L = W / unit. The
likelihood of the observed values is maximized by expectation-maximization, in which only the missing values are latent.
The E-step is one pass over the rows: each missing value is replaced by its conditional mean, and the conditional
covariances are added, which gives the expected moments. The M-step fits the model to these moments as to those of
complete rows. With nothing missing, one iteration is enough, and the rate of convergence depends only on the missing
values (Dempster, Laird and Rubin 1977; Little and Rubin 2002, section 11.2). SQUAREM (Varadhan and Roland 2008)
extrapolates the moments.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from lowland.arrays.linalg import gram
from lowland.arrays.namespace import Array, dense, is_sparse, like, rounding_of, to_numpy, xp_of
from lowland.arrays.records import record
from lowland.data.rows import Rows
from lowland.errors import DataWarning, warn
from lowland.math.optimize.outcome import Outcome, iteration_limit
from lowland.math.statistics.moments import Moments, Sums, without_zero_weights
from lowland.run.run import Run

_SMALLER = 4  # m missing values: an m x m inverse, four patterns at a time, costs less than k x k systems up to m = 4k


class LatentFactors(NamedTuple):
    """The inverse K = I - V'V of I + LL', and the Cholesky factor ``root`` of ``information``, I + L'L."""

    V: np.ndarray  # (k, d)
    K: np.ndarray  # (d, d)
    information: np.ndarray  # (k, k)
    root: np.ndarray  # (k, k)
    log_det: float


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
        information = np.eye(self.L.shape[1]) + self.L.T @ self.L
        root = np.linalg.cholesky(information)
        V = np.linalg.solve(root, self.L.T)
        K = -(V.T @ V)
        K[np.diag_indices(len(K))] += 1
        return LatentFactors(V, K, information, root, 2 * float(np.log(np.diagonal(root)).sum()))

    def completed(self, X: Any, weights: np.ndarray | None = None) -> CompletedRows:
        """Return the rows of one slab with their missing values replaced by conditional means."""
        from lowland.kernels import conditional_means as kernels  # numba is loaded only for incomplete rows

        given = dense(X)
        X = np.ascontiguousarray(given, dtype=np.float64)
        (n, d), k = X.shape, self.L.shape[1]
        counts = np.isnan(X).sum(axis=1)
        start = np.concatenate([[0], np.cumsum(counts)])
        C = np.empty((n, d)) if np.may_share_memory(X, given) else X  # a copy may be overwritten
        missing, values = np.empty(start[-1] + 1, dtype=np.int32), np.empty(start[-1])
        squares, logs, keys = np.empty(n), np.empty(n), np.empty(n, dtype=np.uint64)
        kernels.center_observed(X, self.mean, self.unit, start, C, missing, squares, logs, keys)
        f, extra = self.factors, np.zeros((d, d))
        w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        T = C @ f.V.T
        distances = f.log_det + squares - np.einsum("ij,ij->i", T, T)
        order = (np.sort(keys) & np.uint64((1 << n.bit_length()) - 1)).astype(np.int64)  # rows of one pattern in turn
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
        C[np.repeat(np.arange(n), counts), missing[:-1]] = values
        extra += np.tril(extra, -1).T
        return CompletedRows(C, extra, counts, missing[:-1], values, distances)

    def log_likelihoods(self, completed: CompletedRows) -> np.ndarray:
        """Return the log-likelihood of the observed values of each row, (n,)."""
        observed = len(self.mean) - completed.counts
        return -(completed.distances + observed * math.log(2 * math.pi)) / 2


@dataclass(frozen=True)
class CompletedRows:
    """The rows of a slab, centered and in units of the noise, with conditional means for the missing values."""

    C: np.ndarray  # (n, d)
    extra: np.ndarray  # (d, d) sum of the conditional covariances of the missing values
    counts: np.ndarray  # (n,) missing values of each row
    missing: np.ndarray  # columns of the missing values, row by row
    values: np.ndarray  # their conditional means
    distances: np.ndarray  # (n,) log det of the observed covariance plus the squared distance


@dataclass(frozen=True)
class ImputeRows:
    """Rows to rows with missing values replaced by conditional means; observed values stay as they are."""

    model: LatentModel

    def __call__(self, X: Any) -> Array:
        """Complete one slab."""
        found = self.model.completed(X)
        i, j = np.repeat(np.arange(len(found.counts)), found.counts), found.missing
        rows = np.array(dense(X))
        rows[i, j] = found.values * self.model.unit[j] + self.model.mean[j]
        return rows if is_sparse(X) else like(rows, X)


@dataclass(frozen=True)
class CompletedThen:
    """Rows to a function of the completed rows: for a linear one, its conditional mean given the observed values."""

    model: LatentModel
    then: Callable[[Any], Array]

    def __call__(self, X: Any) -> Array:
        """Map one slab; warn of rows without any value."""
        values = X.data if is_sparse(X) else to_numpy(X)
        with np.errstate(over="ignore", invalid="ignore"):
            complete = not np.isnan(values.sum()) or not np.isnan(values).any()
        if complete:
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


def warn_of_empty_rows(count: int) -> None:
    """Warn of rows without any value."""
    if count:
        one = count == 1
        warn(
            f"{count} row{' has' if one else 's have'} no value at all, so {'its' if one else 'their'} coordinates are "
            "those of the mean, 0. Such rows do not affect a fit. Drop them.",
            DataWarning,
        )


# --- expectation-maximization -----------------------------------------------------------------------------------------


TOL = 1e-6  # relative change of the expected moments
MAX_ITER = 1000
_CACHED, _BLOCK_ROWS = 1 << 18, 2048  # numbers that stay in the cache; at least as many rows at a time
_LONGEST = 64.0  # step of an extrapolation, in steps of plain iterations


@dataclass(frozen=True)
class Expected(Sums):
    """Expected sums of incomplete rows under a model, in its units and around its mean, and their likelihood."""

    n: float  # sum of the weights
    rows: int
    sums: np.ndarray  # (d,)
    products: np.ndarray  # (d, d)
    log_likelihood: float

    def is_finite(self) -> bool:
        """Whether infinity or an overflow is absent."""
        return bool(np.isfinite(self.products.diagonal()).all() and math.isfinite(self.log_likelihood))


@dataclass(frozen=True)
class ExpectRows:
    """The E-step of one slab; picklable, so that it can be sent to a worker. Rows without any value are left out."""

    model: LatentModel

    def __call__(self, X: Any, weights: np.ndarray | None = None) -> Expected:
        """Return the expected sums of one slab."""
        X, weights = without_zero_weights(X, weights)
        step = max(_BLOCK_ROWS, _CACHED // X.shape[1])
        parts = (
            self._few(X[start : start + step], None if weights is None else weights[start : start + step])
            for start in range(0, max(1, X.shape[0]), step)
        )
        return functools.reduce(operator.add, parts)

    def _few(self, X: Any, weights: np.ndarray | None) -> Expected:
        """The expected sums of a few rows, which stay in the cache from the first step to the last."""
        found = self.model.completed(X, weights)
        log_likelihoods = self.model.log_likelihoods(found)
        C, extra, empty = found.C, found.extra, found.counts == X.shape[1]
        w = np.ones(len(C)) if weights is None else np.asarray(weights, dtype=np.float64)
        if empty.any():
            extra = extra - w[empty].sum() * (np.eye(C.shape[1]) + self.model.L @ self.model.L.T)
            C, w, log_likelihoods = C[~empty], w[~empty], log_likelihoods[~empty]
        sums = w @ C
        G = gram(C if weights is None else C * np.sqrt(w)[:, None])
        return Expected(float(w.sum()), len(C), sums, G + extra, float(log_likelihoods @ w))


@dataclass(frozen=True)
class LikelihoodFit:
    """The maximum of the likelihood: the expected moments there, the model, and the iterations."""

    moments: Moments
    model: LatentModel
    outcome: Outcome  # its trace is the log-likelihood

    @property
    def log_likelihood(self) -> float:
        """The log-likelihood of the observed values."""
        return self.outcome.trace[-1]


def expectation_maximization(
    rows: Rows,
    run: Run,
    start: LatentModel,
    fit: Callable[[Moments], LatentModel],
    *,
    weights: np.ndarray | None = None,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
) -> LikelihoodFit:
    """Maximize the likelihood of the observed values; ``fit`` is the M-step, a model of the moments of complete rows.

    It stops where an iteration changes the expected moments, in units of the columns' standard deviations, by at most
    ``tol`` relative to them. Each iteration is one pass over the rows.
    """

    def expect(model: LatentModel) -> tuple[Moments, float]:
        found = run.fold(rows, ExpectRows(model), weights, name="expectation-maximization")
        mean = found.sums / found.n  # near 0, so that little cancels
        scatter = (found.products - np.outer(found.sums, mean)) * np.outer(model.unit, model.unit)
        in_own_units = model.mean + model.unit * mean
        return Moments(found.n, found.rows, in_own_units, scatter, rounding_of(rows.dtype) ** 2), found.log_likelihood

    (moments, first), model = expect(start), start
    trace, history, passes, change = [first], [moments], 1, math.inf
    while passes < max_iter and change > tol:
        tried = _extrapolated(*history) if len(history) == 3 else None
        model = fit(tried or moments)
        new, value = expect(model)
        passes += 1
        if tried is not None and value < trace[-1]:  # too long a step: go on from the last plain iteration
            history = [moments]
            continue
        change = _change(tried or moments, new)
        moments, history = new, [new] if tried is not None else [*history, new][-3:]
        trace.append(value)
    converged = change <= tol
    reason = f"the moments changed by less than {tol:g}" if converged else iteration_limit(max_iter)
    return LikelihoodFit(moments, model, Outcome("em", "", passes, converged, tuple(trace), reason))


def _scaled(moments: Moments, deviations: np.ndarray) -> np.ndarray:
    """Mean and covariance as one vector, in units of the columns."""
    mean = moments.mean / deviations
    return np.concatenate([(moments.scatter / np.outer(deviations, deviations) / moments.n).ravel(), mean])


def _deviations(moments: Moments) -> np.ndarray:
    variances = np.diagonal(moments.scatter) / moments.n
    return np.sqrt(np.where(variances > 0, variances, 1.0))


def _change(old: Moments, new: Moments) -> float:
    """The relative change of the moments."""
    units = _deviations(new)
    mean = np.linalg.norm((new.mean - old.mean) / units) ** 2
    size = np.outer(units, units) * new.n
    return math.sqrt(mean + np.linalg.norm((new.scatter - old.scatter) / size) ** 2) / float(
        np.linalg.norm(new.scatter / size) or 1.0
    )


def _extrapolated(a: Moments, b: Moments, c: Moments) -> Moments | None:
    """SQUAREM: from three successive moments along their quadratic path; None where the scatter is not definite."""
    units = _deviations(c)
    x, y, z = (_scaled(each, units) for each in (a, b, c))
    r, v = y - x, z - 2 * y + x
    curvature = float(np.linalg.norm(v))
    step = min(_LONGEST, float(np.linalg.norm(r)) / curvature) if curvature > 0 else 1.0
    if step <= 1:
        return None

    def along(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return x + 2 * step * (y - x) + step**2 * (z - 2 * y + x)

    tried = replace(c, mean=along(a.mean, b.mean, c.mean), scatter=along(a.scatter, b.scatter, c.scatter))
    try:
        np.linalg.cholesky(tried.scatter / np.outer(units, units) / tried.n + 1e-12 * np.eye(len(units)))
    except np.linalg.LinAlgError:
        return None
    return tried
