"""Truncated singular value decomposition: principal directions without centering."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.namespace import Array, xp_of
from lowland.arrays.precision import as_double, result_dtype
from lowland.blocks.spectra.leading import Eigenpairs
from lowland.blocks.spectra.principal_axes import SolverOptions, singular_axes
from lowland.blocks.statistics.moments import ColumnMoments, Moments
from lowland.data.rows import Rows
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.linear_map import Affine, LinearMap
from lowland.run.run import Run


class TruncatedSVD(LinearMap, verb="truncated-svd", streams=True, takes_sparse=True, min_rows=1):
    """Truncated singular value decomposition; on sparse tables of words, latent semantic analysis.

    Problem: the best approximation of rank k, min |X - U D V'|; V holds the leading eigenvectors of X'X, not centered.

    1. Sum the Gram matrix X'X over the rows, or only apply it where it is too wide (``blocks.spectra.operators``).
    2. Find its leading eigenpairs (``blocks.spectra.leading``); singular values are their roots.
    3. Coordinates are XV, the way back is ZV'.

    Cost: one pass and n d² + d³ operations up to 2000 columns; beyond, a few passes of n d k. Sparse rows stay sparse.
    Prefer ``PCA`` where the mean is not of interest: it also takes sparse rows.

    Attributes: ``components_`` (k, d), ``singular_values_``, ``explained_variance_`` (of each coordinate, divisor n),
    ``explained_variance_ratio_``, ``n_samples_``, ``solver_``.

    Reference: Deerwester et al. 1990, doi:10.1002/(SICI)1097-4571(199009)41:6<391::AID-ASI1>3.0.CO;2-9.

    Examples
    --------
    >>> from lowland import TruncatedSVD
    >>> from lowland.data import load_dataset
    >>> TruncatedSVD(2).fit_transform(load_dataset("iris").X).shape
    (150, 2)
    """

    n_components: int = param(2, "How many to keep.", at_least=1, positional=True)
    algorithm: Literal["arpack", "randomized"] = param(
        "randomized", "Which iteration finds the eigenpairs of a wide table."
    )
    n_iter: int | Literal["auto"] = param(
        "auto", "Power steps of 'randomized' on a wide table; 'auto' goes on until the residuals are small.", at_least=0
    )
    n_oversamples: int = param(10, "Extra columns 'randomized' carries along.", at_least=1)
    power_iteration_normalizer: Literal["auto", "QR", "LU", "none"] = param(
        "auto", "Accepted as in scikit-learn; blocks are always orthonormalised by QR."
    )
    random_state: RandomState = param(None, "Seed of the iteration's first block.", at_least=0)
    tol: float = param(0.0, "Residual at which the iteration stops; 0 takes the solver's own.", at_least=0)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to the rows of X."""
        return self._fit(X, y)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Leading eigenpairs of X'X, and the variance of the coordinates along them."""
        steps = None if self.n_iter == "auto" else int(self.n_iter)
        options = SolverOptions(self._generator(), self.tol, steps, self.n_oversamples)
        pairs, moments, chosen = singular_axes(rows, run, self.n_components, solver=self.algorithm, options=options)
        xp = xp_of(pairs.values)
        kind = result_dtype(xp, rows.dtype)
        variances = _variances(pairs, moments)
        total = float(xp.sum(moments.variances)) * (moments.n - 1) / moments.n if moments.n > 1 else 0.0
        self.components_ = xp.astype(pairs.vectors.T, kind)  # (k, d)
        self.singular_values_ = xp.astype(xp.sqrt(pairs.values), kind)
        self.explained_variance_ = xp.astype(variances, kind)
        self.explained_variance_ratio_ = xp.astype(variances / total if total > 0 else variances, kind)
        self.n_samples_ = moments.rows
        self._record_convergence(chosen)

    def _encoding(self) -> Affine:
        return Affine(self.components_.T)

    def _decoding(self) -> Affine:
        return Affine(self.components_)


def _variances(pairs: Eigenpairs, moments: Moments | ColumnMoments) -> Array:
    """The variance of each coordinate, divisor n: v'Sv/n, or from λ/n and the mean where there is no scatter."""
    xp, V = xp_of(pairs.values), pairs.vectors
    if isinstance(moments, Moments):
        return xp.sum(V * (as_double(moments.scatter) @ V), axis=0) / moments.n
    variances = pairs.values / moments.n - (moments.mean @ V) ** 2
    return xp.where(variances > 0, variances, xp.zeros_like(variances))
