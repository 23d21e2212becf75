"""Reconstruction error and explained variance of methods with an inverse transform.

The rows are read once, chunk by chunk. The table is never held in memory as a whole, and sparse rows stay sparse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, as_double, is_sparse, like, to_numpy, xp_of
from lowland.docstrings import with_parameters
from lowland.errors import DataError, DataTypeError
from lowland.math.spectra.operators import Affine
from lowland.math.statistics.moments import ColumnMoments, Sums
from lowland.quality.measure import Measure

MODEL = """
model : fitted method with inverse_transform
    The method to evaluate, such as PCA.
X : array-like of shape (n, d) or path
    Points to reconstruct: training points or new points.
"""
_LEAST = 1e-290  # smaller sums of squares have lost digits to underflow


@with_parameters(MODEL)
def reconstruction_error(model: Any, X: Any, per_row: bool = False) -> Measure:
    """Return the reconstruction error: the mean of |x - x̂|², where x̂ is the inverse transform of the coordinates of x.

    Parameters
    ----------
    per_row : bool, default False
        Also return |x - x̂|² of each point. Points far above the mean are unlike the training points.

    Returns
    -------
    Measure
        Value of at least 0, lower is better.

    Notes
    -----
    For PCA and its training points this equals ``distortion()``, the sum of the discarded eigenvalues. With
    ``scale=True`` it does not: the distortion refers to standardized columns, the reconstruction error to the original
    columns.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> X = data.load_dataset("iris").X
    >>> pca = PCA(2).fit(X)
    >>> round(float(quality.reconstruction_error(pca, X)), 4), round(pca.distortion(), 4)
    (0.1014, 0.1014)
    """
    rows, run, errors = _opened(model, X)
    if not per_row:
        total = run.fold(rows, errors, name="computing reconstruction errors")
        return _mean_error(rows, errors, total.squares / total.columns.rows)
    each = to_numpy(run.gather(errors.of_rows, rows, 1, name="computing reconstruction errors"))[:, 0]
    return _mean_error(rows, errors, float(each.mean()), each)


@with_parameters(MODEL)
def explained_variance_fraction(model: Any, X: Any) -> Measure:
    """Return the explained variance ratio of the reconstruction: 1 - sum |x - x̂|² / sum |x - mean|².

    Returns
    -------
    Measure
        Value of at most 1, higher is better.

    Notes
    -----
    For PCA and its training points this is the sum of ``explained_variance_ratio_``. It can be lower for new points,
    and negative for a model of other data.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> X = data.load_dataset("iris").X
    >>> round(quality.explained_variance_fraction(PCA(2).fit(X), X).value, 4)
    0.9777
    """
    return reconstruction_measures(model, X)[1]


def reconstruction_measures(model: Any, X: Any) -> tuple[Measure, Measure]:
    """Return ``reconstruction_error`` and ``explained_variance_fraction`` from one pass over the points."""
    rows, run, errors = _opened(model, X)
    total = run.fold(rows, errors, name="computing reconstruction errors")
    spread = float(xp_of(total.columns.squares).sum(total.columns.squares))
    if spread <= _LEAST:
        raise DataError(
            f"All rows of {rows.source} are equal, or their variance underflows, so there is no variance to "
            "explain. Pass other rows, or rescale the columns."
        )
    about = (
        f"Fraction of the variance of {rows.source} explained by the reconstruction from {errors.width} coordinates."
    )
    explained = Measure("explained variance ratio", 1 - total.squares / spread, None, "higher", about)
    return _mean_error(rows, errors, total.squares / total.columns.rows), explained


def _mean_error(rows: Any, errors: SquaredErrorsOfRows, value: float, each: np.ndarray | None = None) -> Measure:
    about = (
        f"Mean squared distance between rows of {rows.source} and their reconstruction from {errors.width} coordinates."
    )
    return Measure("reconstruction error", value, each, "lower", about)


def has_inverse_transform(model: Any) -> bool:
    """Whether a fitted method has an inverse transform."""
    return hasattr(model, "inverse_transform") and hasattr(model, "_decoding") and hasattr(model, "_encoding")


def no_inverse_transform(model: Any) -> str:
    """Return the message for a method without an inverse transform."""
    remedy = "Use a fitted method that has one, such as PCA."
    if getattr(model, "fit_inverse_transform", None) is False:
        remedy = f"Fit `{type(model).__name__}(fit_inverse_transform=True)`."
    return f"{type(model).__name__} has no inverse transform. {remedy}"


def _opened(model: Any, X: Any) -> tuple[Any, Any, SquaredErrorsOfRows]:
    if not has_inverse_transform(model):
        raise DataTypeError(no_inverse_transform(model))
    rows, run = model._rows_to_map(X)
    return rows, run, SquaredErrorsOfRows(model._encoding(), model._decoding(), int(model._encoding_width()))


@dataclass(frozen=True)
class ReconstructionSums(Sums):
    """Sum of the squared errors of points, and the moments of their columns. Mergeable."""

    squares: float
    columns: ColumnMoments

    def is_finite(self) -> bool:
        """Whether there is no NaN, infinity or overflow."""
        return math.isfinite(self.squares) and self.columns.is_finite()


@dataclass(frozen=True)
class SquaredErrorsOfRows:
    """|x - x̂|² of each point of a chunk, in float64; an object that can be sent to a worker process."""

    encode: Callable[[Any], Array]
    decode: Callable[[Any], Array]
    width: int  # number of coordinates per row

    def __call__(self, X: Array) -> ReconstructionSums:
        """Return the statistic of one chunk, to be merged."""
        each = self.of_rows(X)
        return ReconstructionSums(float(xp_of(each).sum(each)), ColumnMoments.of(X))

    def of_rows(self, X: Array) -> Array:
        """Return the squared errors of one chunk, (m, 1)."""
        if is_sparse(X):
            if isinstance(self.encode, Affine) and isinstance(self.decode, Affine):
                return self._of_sparse(X, self.encode, self.decode)
            X = X.toarray()  # the reconstructions of these methods are dense, too
        X = as_double(X)  # in float32 the difference would be rounding error
        return xp_of(X).sum((X - self.decode(self.encode(X))) ** 2, axis=1)[:, None]

    def _of_sparse(self, X: Array, encode: Affine, decode: Affine) -> Array:
        """With x̂ = o + zB: |x - o - zB|² = |x - o|² - 2 z·B(x - o) + z·(BB')z, which needs only k columns beside X."""
        X = X.astype(np.float64)
        Z = encode(X)  # (m, k)
        B = like(decode.A, Z)  # (k, d)
        squares = np.asarray(X.multiply(X).sum(axis=1)).reshape(-1)  # scipy's spmatrix gives np.matrix
        towards = X @ B.T
        if decode.offset is not None:
            o = like(decode.offset, Z)
            squares, towards = squares - 2 * (X @ o) + o @ o, towards - B @ o
        squares = squares + (Z * (Z @ (B @ B.T) - 2 * towards)).sum(axis=1)
        return squares.clip(min=0.0)[:, None]  # negative values are rounding error
