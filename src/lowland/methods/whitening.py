"""Whitening: uncorrelated coordinates of unit variance."""

from __future__ import annotations

from typing import Literal

from lowland.arrays.namespace import Array, dtype_of_squares, result_dtype, rounding_of, xp_of
from lowland.errors import DataError
from lowland.math.spectra.operators import Affine
from lowland.math.spectra.whitening_matrices import whitening_matrix
from lowland.math.statistics.moments import Moments, refuse_tiny_columns
from lowland.methods.base import costs
from lowland.methods.base.choices import check_most, positional, refusal
from lowland.methods.base.method import attribute, param
from lowland.methods.base.moments import MomentsMethod
from lowland.run.run import Run


class Whitening(
    MomentsMethod,
    verb="whitening",
    title="whitening",
    group="Linear",
    cost=costs.moments,
    scale_free=True,
    linear=True,
    streams=True,
    takes_sparse=True,
):
    """Whitening (sphering): linear transformation to uncorrelated coordinates of unit variance.

    Problem: find W with W S W' = I, where S is the covariance matrix of the points. A rotation of a solution is also a
    solution, so ``method`` selects one: coordinates in descending order of variance (pca), closest to the columns
    (zca), a triangular W (cholesky), or the first two after standardizing the columns (pca-cor, zca-cor).

    1. Sum the moments of the data.
    2. Compute the whitening matrix from the eigenpairs of the covariance.
    3. Transform by z = W(x - mean). The inverse transform uses the pseudo-inverse of W.

    See Also
    --------
    PCA : components with their variances.
    FastICA : independent components, which begins with whitening.

    Notes
    -----
    Directions of zero variance are dropped instead of divided by zero. ``rank_`` counts the others. pca, pca-cor and
    cholesky then return ``rank_`` columns. Whitening amplifies noise in directions of small variance: raise ``tol``, or
    prefer ``PCA(whiten=True)`` to keep a few components chosen by a rule.

    References
    ----------
    Kessy, A., Lewin, A., and Strimmer, K. (2018). Optimal whitening and decorrelation. The American Statistician.
    doi:10.1080/00031305.2016.1277159

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import Whitening
    >>> from lowland.data import load_dataset
    >>> Z = Whitening(method="zca").fit_transform(load_dataset("iris").X)
    >>> bool(np.allclose(np.cov(Z.T), np.eye(4)))
    True
    """

    n_components: int | None = positional(
        None, "Number of coordinates (pca and pca-cor only). None means all.", at_least=1
    )
    method: Literal["pca", "zca", "cholesky", "pca-cor", "zca-cor"] = param("pca", "Type of whitening matrix.")
    tol: float | None = param(
        None,
        "Fraction of the largest eigenvalue below which a direction is dropped. A larger one drops more. None "
        "means rounding error.",
        at_least=0,
    )

    whitening_: Array = attribute("Whitening matrix W.", "(n_coordinates, n_features_in_)")
    dewhitening_: Array = attribute("Pseudo-inverse of the whitening matrix.", "(n_features_in_, n_coordinates)")
    mean_: Array = attribute("Mean of each column, in float64.", "(n_features_in_,)")
    eigenvalues_: Array = attribute(
        "Eigenvalues of the covariance matrix, or of the correlation matrix for the -cor methods.", "(n_features_in_,)"
    )
    rank_: int = attribute("Number of directions of nonzero variance.")

    def _solve_moments(self, moments: Moments, run: Run) -> None:
        d = moments.mean.shape[0]
        if self._params.n_components is not None and self._params.method not in ("pca", "pca-cor"):
            remedy = "Leave `n_components=None`, or choose `method='pca'` or 'pca-cor'."
            raise refusal(self, "this method keeps all directions.", remedy, "n_components", "method")
        check_most(self, "n_components", d, f"the data has {d} columns.")
        xp = xp_of(moments.scatter)
        kind = result_dtype(xp, self._fitted.dtype)
        tol = rounding_of(self._fitted.dtype) if self._params.tol is None else self._params.tol
        S, variances = moments.covariance, moments.variances
        if self._params.method.endswith("-cor"):
            refuse_tiny_columns(variances, moments.mean)
        found = whitening_matrix(
            S, self._params.method, self._params.n_components, variances=variances, tol=tol, run=run
        )
        if found.rank == 0:
            raise DataError("All columns are constant, so there is nothing to whiten. Check the data.")
        self.mean_ = moments.mean
        self.whitening_ = xp.astype(found.W, kind)
        self.dewhitening_ = xp.astype(found.inverse, kind)
        largest = float(xp.max(found.values)) if found.values.shape[0] else 0.0
        self.eigenvalues_ = xp.astype(found.values, dtype_of_squares(xp, largest, kind))
        self.rank_ = found.rank
        self._record_convergence(found.outcome, "Raise `tol`, which drops directions of small variance.")
        self.n_samples_ = moments.rows

    def _encoding(self) -> Affine:
        return Affine(self.whitening_.T, self.mean_)

    def _decoding(self) -> Affine:
        return Affine(self.dewhitening_.T, None, self.mean_)
