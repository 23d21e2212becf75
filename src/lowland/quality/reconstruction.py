"""How much of the rows is lost on the way down and back: measures of methods that have an inverse.

The rows are read once, slab by slab, through the run; the table is never held whole, nor a sparse one made dense.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.blocks.distances.to_points import in_slabs
from lowland.blocks.statistics.moments import ColumnMoments
from lowland.errors import DataError, DataTypeError
from lowland.methods.base.linear_map import Affine
from lowland.methods.base.point_map import PointMap
from lowland.quality.measure import Measure

_LEAST = 1e-290  # sums of squares below have lost digits


def reconstruction_error(model: Any, X: Any, per_row: bool = False) -> Measure:
    """Return the mean over the rows of |x - x̂|², x̂ being the row that comes back from its coordinates.

    For PCA and the rows it was fitted to this is ``distortion()``, the sum of the discarded eigenvalues (with
    ``scale=True`` it is not: there the distortion counts scaled columns, this counts columns as they came).
    ``per_row=True`` also gives |x - x̂|² for each row: rows far above the mean do not look like the ones fitted.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> pca = PCA(2).fit(X)
    >>> round(float(quality.reconstruction_error(pca, X)), 4), round(pca.distortion(), 4)
    (0.1014, 0.1014)
    """
    rows, run, errors = _opened(model, X)
    if not per_row:
        total = run.fold(rows, errors, name="measuring rows")
        return _mean_error(rows, errors, total.squares / total.columns.rows)
    each = to_numpy(run.gather(errors.of_rows, rows, 1, name="measuring rows"))[:, 0]
    return _mean_error(rows, errors, float(each.mean()), each)


def explained_variance_fraction(model: Any, X: Any) -> Measure:
    """Return the share of the variance of X that survives: 1 - (sum of |x - x̂|²) / (sum of |x - mean|²).

    For PCA and the rows it was fitted to this is the sum of ``explained_variance_ratio_``. New rows may give less, and
    a model of other data less than nothing.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> round(quality.explained_variance_fraction(PCA(2).fit(X), X).value, 4)
    0.9777
    """
    return reconstruction_measures(model, X)[1]


def reconstruction_measures(model: Any, X: Any) -> tuple[Measure, Measure]:
    """Return ``reconstruction_error`` and ``explained_variance_fraction`` from one pass over the rows."""
    rows, run, errors = _opened(model, X)
    total = run.fold(rows, errors, name="measuring rows")
    spread = float(xp_of(total.columns.squares).sum(total.columns.squares))
    if spread <= _LEAST:
        raise DataError(
            f"All rows of {rows.source} are the same, or vary too little to be squared: there is no variance to "
            "explain. Pass other rows, or rescale the columns."
        )
    about = f"Share of the variance of {rows.source} that {errors.width} coordinates keep."
    explained = Measure("explained share", 1 - total.squares / spread, None, "higher", about)
    return _mean_error(rows, errors, total.squares / total.columns.rows), explained


def _mean_error(rows: Any, errors: SquaredErrorsOfRows, value: float, each: np.ndarray | None = None) -> Measure:
    about = f"Mean squared distance between {rows.source} and its reconstruction from {errors.width} coordinates."
    return Measure("reconstruction error", value, each, "lower", about)


def has_inverse_transform(model: Any) -> bool:
    """Whether a fitted method leads from coordinates back to rows."""
    return hasattr(model, "inverse_transform") and hasattr(model, "_decoding") and hasattr(model, "_encoding")


def no_inverse_transform(model: Any) -> str:
    """Return what to say of a method that does not lead back."""
    remedy = "Pass a fitted method with inverse_transform, such as PCA."
    if getattr(model, "fit_inverse_transform", None) is False:
        remedy = f"Fit {type(model).__name__}(fit_inverse_transform=True)."
    return f"A {type(model).__name__} has no way back from coordinates to rows that Lowland knows. {remedy}"


def _opened(model: Any, X: Any) -> tuple[Any, Any, SquaredErrorsOfRows]:
    if not has_inverse_transform(model):
        raise DataTypeError(no_inverse_transform(model))
    rows, run = model._rows_to_map(X)
    if isinstance(model, PointMap):  # as many numbers a row as points were kept
        rows = in_slabs(rows, model._kept_points())
    return rows, run, SquaredErrorsOfRows(model._encoding(), model._decoding(), int(model._encoding_width()))


@dataclass(frozen=True)
class ReconstructionSums:
    """Sum of the squared errors of rows, beside the moments of their columns. Parts of it add up."""

    squares: float
    columns: ColumnMoments

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        return type(self)(self.squares + other.squares, self.columns + other.columns)

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return math.isfinite(self.squares) and self.columns.is_finite()


@dataclass(frozen=True)
class SquaredErrorsOfRows:
    """|x - x̂|² of each row of a slab, in float64; an object, so that it can travel to a worker."""

    encode: Callable[[Any], Array]
    decode: Callable[[Any], Array]
    width: int  # how many coordinates a row is reduced to

    def __call__(self, X: Array) -> ReconstructionSums:
        """Return the statistic of one slab, to be folded."""
        each = self.of_rows(X)
        return ReconstructionSums(float(xp_of(each).sum(each)), ColumnMoments.of(X))

    def of_rows(self, X: Array) -> Array:
        """Return the squared errors of one slab, (m, 1)."""
        if is_sparse(X):
            if isinstance(self.encode, Affine) and isinstance(self.decode, Affine):
                return self._of_sparse(X, self.encode, self.decode)
            X = X.toarray()  # what comes back from these methods is dense as well
        X = as_double(X)  # in float32 the subtraction would measure rounding
        return xp_of(X).sum((X - self.decode(self.encode(X))) ** 2, axis=1)[:, None]

    def _of_sparse(self, X: Array, encode: Affine, decode: Affine) -> Array:
        """With x̂ = o + zB: |x - o - zB|² = |x - o|² - 2 z·B(x - o) + z·(BB')z, which only needs k columns beside X."""
        X = X.astype(np.float64)
        Z = encode(X)  # (m, k)
        B = like(decode.A, Z)  # (k, d)
        squares = np.asarray(X.multiply(X).sum(axis=1)).reshape(-1)  # a sparse matrix would give a np.matrix
        towards = X @ B.T
        if decode.offset is not None:
            o = like(decode.offset, Z)
            squares, towards = squares - 2 * (X @ o) + o @ o, towards - B @ o
        squares = squares + (Z * (Z @ (B @ B.T) - 2 * towards)).sum(axis=1)
        return squares.clip(min=0.0)[:, None]  # below zero is rounding
