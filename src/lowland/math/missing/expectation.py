"""Maximum likelihood from incomplete rows: expectation-maximization of the mean and the covariance.

Only the missing values are latent. The E-step is one pass over the rows: each missing value is replaced by its
conditional mean, and the conditional covariances are added, which gives the expected moments. The M-step fits the model
to these moments as to those of complete rows, in closed form for principal components. With nothing missing, one
iteration is enough, and the rate of convergence depends only on the missing values (Dempster, Laird and Rubin 1977;
Little and Rubin 2002, section 11.2). SQUAREM (Varadhan and Roland 2008) extrapolates the moments.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from lowland.arrays.linalg import gram
from lowland.arrays.precision import rounding_of
from lowland.data.rows import Rows
from lowland.math.missing.latent_model import LatentModel
from lowland.math.optimize.outcome import Outcome, iteration_limit
from lowland.math.statistics.moments import Moments, without_zero_weights
from lowland.run.run import Run

TOL = 1e-6  # relative change of the expected moments
MAX_ITER = 1000
_CACHED, _BLOCK_ROWS = 1 << 18, 2048  # numbers that stay in the cache; at least as many rows at a time
_LONGEST = 64.0  # step of an extrapolation, in steps of plain iterations


@dataclass(frozen=True)
class Expected:
    """Expected sums of incomplete rows under a model, in its units and around its mean, and their likelihood."""

    n: float  # sum of the weights
    rows: int
    sums: np.ndarray  # (d,)
    products: np.ndarray  # (d, d)
    log_likelihood: float

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        return type(self)(
            self.n + other.n, self.rows + other.rows, self.sums + other.sums, self.products + other.products,
            self.log_likelihood + other.log_likelihood,
        )  # fmt: skip

    def is_finite(self) -> bool:
        """Whether infinity or an overflow is absent."""
        return bool(np.isfinite(self.products.diagonal()).all() and math.isfinite(self.log_likelihood))

    def in_units_of(self, model: LatentModel, dtype: Any) -> Moments:
        """Return the moments of the rows in their own units."""
        mean = self.sums / self.n  # near 0, so that little cancels
        scatter = (self.products - np.outer(self.sums, mean)) * np.outer(model.unit, model.unit)
        return Moments(self.n, self.rows, model.mean + model.unit * mean, scatter, rounding_of(dtype) ** 2)


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
        return found.in_units_of(model, rows.dtype), found.log_likelihood

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
    path = functools.partial(_along, step=step)
    tried = replace(c, mean=path(a.mean, b.mean, c.mean), scatter=path(a.scatter, b.scatter, c.scatter))
    try:
        np.linalg.cholesky(tried.scatter / np.outer(units, units) / tried.n + 1e-12 * np.eye(len(units)))
    except np.linalg.LinAlgError:
        return None
    return tried


def _along(a: np.ndarray, b: np.ndarray, c: np.ndarray, step: float) -> np.ndarray:
    return a + 2 * step * (b - a) + step**2 * (c - 2 * b + a)
