"""NIPALS: principal components one after the other, by alternating regressions on the observed cells (Wold 1966)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like
from lowland.data.rows import Rows
from lowland.math.missing.latent_model import dense
from lowland.math.optimize.outcome import Outcome, iteration_limit
from lowland.math.spectra.leading import fix_signs
from lowland.math.statistics.available import AvailableColumns
from lowland.math.statistics.moments import without_zero_weights
from lowland.run.run import Run

MAX_ITER = 500  # per component


@dataclass(frozen=True)
class DeflatedRows:
    """Scores of rows on components in turn: each regresses the residual row on an axis, then subtracts its fit.

    Only observed cells count. With complete rows and orthonormal axes, the scores are the projections.
    """

    axes: np.ndarray  # (c, d), unit vectors
    mean: np.ndarray  # (d,)
    scale: np.ndarray  # (d,)

    def residuals(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the residuals of one slab, zero where missing, the mask of observed cells, and the scores."""
        X = np.asarray(dense(X), dtype=np.float64)
        observed = ~np.isnan(X)
        E = np.where(observed, (X - self.mean) / self.scale, 0.0)
        Z = np.empty((len(X), len(self.axes)))
        for c, axis in enumerate(self.axes):
            Z[:, c] = scores_on(E, observed, axis)
            E -= np.where(observed, np.outer(Z[:, c], axis), 0.0)
        return E, observed, Z

    def __call__(self, X: Any) -> Array:
        """Return the scores of one slab, (n, c)."""
        Z = self.residuals(X)[2]
        return Z.astype(X.dtype, copy=False) if is_sparse(X) else like(Z, X, X.dtype)

    def completed(self, X: Any) -> Array:
        """Return one slab with missing values replaced by the fit of all components."""
        _, observed, Z = self.residuals(X)
        filled = np.where(observed, dense(X), (Z @ self.axes) * self.scale + self.mean)
        return filled if is_sparse(X) else like(filled, X, X.dtype)


@dataclass(frozen=True)
class WhitenedScores:
    """Scores of rows, multiplied by ``factors`` (k,) if given."""

    deflation: DeflatedRows
    factors: Array | None

    def __call__(self, X: Any) -> Array:
        """Return the scores of one slab."""
        Z = self.deflation(X)
        return Z if self.factors is None else Z * like(self.factors, Z)[None, :]


def scores_on(E: np.ndarray, observed: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Return the slope of each row's regression on an axis over its observed cells; 0 where there is no information."""
    lengths = observed @ (axis * axis)
    return (E @ axis) / np.where(lengths > 0, lengths, 1.0)


@dataclass(frozen=True)
class Regressions:
    """Sums for the regression of each column on the scores, and the sizes of scores and residuals."""

    products: np.ndarray  # (d,) sum of residual times score
    squares: np.ndarray  # (d,) sum of squared scores over observed cells
    variance: float  # sum of squared scores
    left: float  # sum of squared residuals after the component

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        return type(self)(
            self.products + other.products, self.squares + other.squares, self.variance + other.variance,
            self.left + other.left,
        )  # fmt: skip

    def is_finite(self) -> bool:
        """Whether infinity or an overflow is absent."""
        return bool(np.isfinite(self.products).all() and np.isfinite(self.left))


@dataclass(frozen=True)
class RegressOn:
    """One alternation on a slab: scores on the axis, then the sums for a new axis."""

    before: DeflatedRows
    axis: np.ndarray

    def __call__(self, X: Any, weights: np.ndarray | None = None) -> Regressions:
        """Return the sums of one slab."""
        X, weights = without_zero_weights(X, weights)
        E, observed, _ = self.before.residuals(X)
        t = scores_on(E, observed, self.axis)
        w = np.ones(len(t)) if weights is None else weights
        left = np.where(observed, E - np.outer(t, self.axis), 0.0)
        return Regressions((w * t) @ E, (w * t * t) @ observed, float(w @ (t * t)), float(w @ np.sum(left**2, axis=1)))


@dataclass(frozen=True)
class NipalsComponents:
    """Axes (k, d), the sums of squared scores, and the sums of squared residuals before and after each component."""

    axes: np.ndarray
    squares: np.ndarray  # (k,)
    left: np.ndarray  # (k + 1,)
    outcome: Outcome


def nipals(
    rows: Rows,
    run: Run,
    k: int,
    found: AvailableColumns,
    scale: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    tol: float = 1e-8,
) -> NipalsComponents:
    """Return k components of incomplete rows; each iteration is one pass over the rows.

    The axes of incomplete rows are not exactly orthogonal, nor the scores uncorrelated.
    """
    axes, squares = np.zeros((0, rows.d)), []
    left = [float(np.sum(found.squares / scale**2))]
    trace: list[float] = []
    converged = True
    for c in range(k):
        before = DeflatedRows(axes, found.mean, scale)
        axis = _first_axis(rows.d, c, found.squares / scale**2)
        for _ in range(MAX_ITER):
            sums = run.fold(rows, RegressOn(before, axis), weights, name=f"NIPALS, component {c + 1}")
            new = sums.products / np.where(sums.squares > 0, sums.squares, 1.0)
            length = float(np.linalg.norm(new))
            if not length > 0:
                break
            new /= length
            trace.append(float(np.linalg.norm(new - axis)))
            axis = new
            if trace[-1] <= tol:
                break
        else:
            converged = False
        axes = np.vstack([axes, fix_signs(axis[:, None]).T])
        sums = run.fold(rows, RegressOn(before, axes[c]), weights, name=f"NIPALS, component {c + 1}")
        squares.append(sums.variance)
        left.append(sums.left)
    reason = f"every axis changed by less than {tol:g}" if converged else iteration_limit(MAX_ITER)
    outcome = Outcome(
        "nipals", f"{found.missing_fraction:.1%} of the values are missing", len(trace), converged, tuple(trace), reason
    )
    return NipalsComponents(axes, np.asarray(squares), np.asarray(left), outcome)


def _first_axis(d: int, c: int, variances: np.ndarray) -> np.ndarray:
    """A start that is rarely orthogonal to the axis: the columns by variance, with signs that differ by component."""
    signs = np.random.default_rng(c).standard_normal(d)
    axis = np.sqrt(np.maximum(variances, 0.0)) * signs
    size = float(np.linalg.norm(axis))
    return axis / size if size > 0 else np.full(d, d**-0.5)
