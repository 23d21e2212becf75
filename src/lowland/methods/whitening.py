"""Whitening: coordinates of unit variance and no correlation."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.namespace import xp_of
from lowland.arrays.precision import result_dtype, rounding_of
from lowland.blocks.spectra.whitening_matrices import whitening_matrix
from lowland.blocks.statistics.moments import Moments
from lowland.data.rows import Rows
from lowland.errors import DataError, ParameterError
from lowland.methods.base.estimator import param
from lowland.methods.base.linear_map import Affine
from lowland.methods.base.moments_map import MomentsMap
from lowland.run.run import Run


class Whitening(MomentsMap, verb="whitening", streams=True, takes_sparse=True):
    """Whitening (sphering): a linear map after which the columns have unit variance and no correlation.

    Problem: W with W S W' = I, S the covariance of the rows. A rotated solution is one too, so ``method`` says what
    else is wanted: coordinates in order of variance (pca), as close to the columns as can be (zca), triangular
    (cholesky), or the same after standardising the columns (pca-cor, zca-cor).

    1. Sum the moments of the rows (``blocks.statistics.moments``).
    2. Form the whitening matrix from the eigenpairs of the covariance (``blocks.spectra.whitening_matrices``).
    3. Coordinates are z = W(x - mean); the way back multiplies by the inverse of W on the span of the data.

    Cost: one pass, n d² + d³. Directions without variance are left out, never divided by zero: ``rank_`` counts the
    others, and pca, pca-cor and cholesky then return as many columns as the rank.
    Prefer ``PCA(whiten=True)`` for a few components chosen by a rule.

    Attributes: ``whitening_`` (k, d), ``dewhitening_`` (d, k), ``mean_``, ``rank_``, ``eigenvalues_``, ``n_samples_``.

    Reference: Kessy, Lewin and Strimmer 2018, doi:10.1080/00031305.2016.1277159.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import Whitening
    >>> from lowland.data import load_dataset
    >>> Z = Whitening(method="zca").fit_transform(load_dataset("iris").X)
    >>> bool(np.allclose(np.cov(Z.T), np.eye(4)))
    True
    """

    n_components: int | None = param(
        None, "How many coordinates to keep (pca and pca-cor only); None for all.", at_least=1, positional=True
    )
    method: Literal["pca", "zca", "cholesky", "pca-cor", "zca-cor"] = param("pca", "Which whitening matrix.")
    tol: float | None = param(
        None,
        "Share of the largest eigenvalue below which a direction counts as constant; None: rounding error.",
        at_least=0,
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of X; ``sample_weight`` counts repetitions."""
        return self._fit(X, y, sample_weight)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Moments, then the matrix."""
        run.require(4 * 8 * rows.d**2, f"The {rows.d} x {rows.d} covariance", "Reduce the columns first with PCA")
        self._moments, self._dtype = run.fold(rows, Moments.of, weights, name="summing moments"), rows.dtype
        self._solve_moments(self._moments, run)

    def _solve_moments(self, moments: Moments, run: Run) -> None:
        """The whitening matrix of the merged covariance."""
        d = moments.mean.shape[0]
        if self.n_components is not None and self.method not in ("pca", "pca-cor"):
            raise ParameterError(
                f"Whitening(method={self.method!r}) keeps all directions: leave n_components=None, "
                "or choose method='pca' or 'pca-cor'."
            )
        if self.n_components is not None and self.n_components > d:
            raise ParameterError(
                f"Whitening(n_components={self.n_components}): the data has {d} columns. Choose at most {d}."
            )
        xp = xp_of(moments.scatter)
        kind = result_dtype(xp, self._dtype)
        tol = rounding_of(self._dtype) if self.tol is None else self.tol
        S, variances = moments.covariance, moments.variances
        found = whitening_matrix(S, self.method, self.n_components, variances=variances, tol=tol, run=run)
        if found.rank == 0:
            raise DataError("All columns are constant: there is no direction to whiten. Check the data.")
        self.mean_ = moments.mean
        self.whitening_ = xp.astype(found.W, kind)
        self.dewhitening_ = xp.astype(found.inverse, kind)
        self.eigenvalues_ = xp.astype(found.values, kind)
        self.rank_ = found.rank
        self.n_samples_ = moments.rows

    def _encoding(self) -> Affine:
        return Affine(self.whitening_.T, self.mean_)

    def _decoding(self) -> Affine:
        return Affine(self.dewhitening_.T, None, self.mean_)
