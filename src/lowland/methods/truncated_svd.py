"""Truncated singular value decomposition: PCA without centering."""

from __future__ import annotations

from typing import Literal

import numpy as np

from lowland.arrays.namespace import Array, as_double, dtype_of_squares, result_dtype, xp_of
from lowland.data.rows import Rows
from lowland.math.spectra.leading import Eigenpairs
from lowland.math.spectra.operators import Affine
from lowland.math.spectra.principal_axes import SolverOptions, singular_axes
from lowland.math.statistics.moments import ColumnMoments, Moments
from lowland.methods.base import costs
from lowland.methods.base.choices import ignored, positional
from lowland.methods.base.method import InvertibleMethod, RandomState, attribute, param
from lowland.methods.base.principal import check_below_all
from lowland.run.run import Run


class TruncatedSVD(
    InvertibleMethod,
    verb="truncated-svd",
    title="truncated SVD",
    group="Linear",
    cost=costs.uncentered,
    linear=True,
    streams=True,
    takes_sparse=True,
    min_rows=1,
):
    """Truncated SVD: best rank-k approximation without centering, as in latent semantic analysis of text.

    Problem: the best approximation of rank k in the least-squares sense, min |X - U D V'|², with U'U = V'V = I and D
    diagonal. The columns of V are the leading eigenvectors of X'X. X is not centered.

    1. Sum the Gram matrix X'X over the rows, or for a wide table only compute products with it.
    2. Compute its leading eigenpairs. Their square roots are the singular values.
    3. Transform by Z = XV. The inverse transform is ZV'.

    See Also
    --------
    PCA : the same after centering.
    CorrespondenceAnalysis : counts, by chi-squared distances.

    Notes
    -----
    Sparse data stays sparse.

    Without centering, the first component points to the mean where the data lies far from the origin. Prefer ``PCA``
    where the mean carries no information: it accepts sparse data too.

    References
    ----------
    Eckart, C., and Young, G. (1936). The approximation of one matrix by another of lower rank. Psychometrika.
    doi:10.1007/BF02288367

    Deerwester, S., Dumais, S. T., Furnas, G. W., Landauer, T. K., and Harshman, R. (1990). Indexing by latent semantic
    analysis. Journal of the American Society for Information Science.
    doi:10.1002/(SICI)1097-4571(199009)41:6<391::AID-ASI1>3.0.CO;2-9

    Examples
    --------
    >>> from lowland import TruncatedSVD
    >>> from lowland.data import load_dataset
    >>> TruncatedSVD(2).fit_transform(load_dataset("iris").X).shape
    (150, 2)
    """

    n_components: int = positional(
        2, "Number of components. More components approximate the table more closely.", at_least=1
    )
    algorithm: Literal["arpack", "randomized"] = param(
        "randomized", "Iterative solver for wide tables. Others are solved directly."
    )
    n_iter: int | Literal["auto"] = param(
        "auto", "Number of power iterations of 'randomized'. 'auto' iterates to convergence.", at_least=0
    )
    n_oversamples: int = param(10, "Additional random vectors of 'randomized'.", at_least=1)
    power_iteration_normalizer: Literal["auto", "QR", "LU", "none"] = ignored("auto", "QR is always used")
    random_state: RandomState = param(None, "Seed for the random initialization of the iterative solvers.", at_least=0)
    tol: float = param(
        0.0, "Relative residual at which an iterative solver stops. 0 means the solver's default.", at_least=0
    )

    components_: Array = attribute("Right singular vectors as rows.", "(n_components, n_features_in_)")
    singular_values_: Array = attribute("Singular values of the table, not centered.", "(n_components,)")
    explained_variance_: Array = attribute("Variance of each coordinate, divisor n.", "(n_components,)")
    explained_variance_ratio_: Array = attribute(
        "Fraction of the total variance explained by each component.", "(n_components,)"
    )
    n_iter_: int = attribute("Number of iterations, or 0 for a direct solver.")

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        if self.algorithm == "arpack" and rows.n is not None and self.n_components <= rows.d:
            check_below_all(self, self.n_components, rows.n, rows.d, "algorithm")
        steps = None if self.n_iter == "auto" else int(self.n_iter)
        rng = self._generator if self.algorithm == "randomized" else self._start_generator
        options = SolverOptions(rng, self.tol, steps, self.n_oversamples)
        pairs, moments, chosen = singular_axes(rows, run, self.n_components, solver=self.algorithm, options=options)
        xp = xp_of(pairs.values)
        kind = result_dtype(xp, rows.dtype)
        variances = _variances(pairs, moments)
        total = float(xp.sum(moments.variances)) * (moments.n - 1) / moments.n if moments.n > 1 else 0.0
        self.components_ = xp.astype(pairs.vectors.T, kind)  # (k, d)
        self.singular_values_ = xp.astype(xp.sqrt(pairs.values), kind)
        self.explained_variance_ = xp.astype(variances, dtype_of_squares(xp, float(xp.max(variances)), kind))
        self.explained_variance_ratio_ = xp.astype(variances / total if total > 0 else variances, kind)
        self.n_samples_ = moments.rows
        self._record_convergence(chosen)

    def _encoding(self) -> Affine:
        return Affine(self.components_.T)

    def _decoding(self) -> Affine:
        return Affine(self.components_)


def _variances(pairs: Eigenpairs, moments: Moments | ColumnMoments) -> Array:
    """The variance of each coordinate, divisor n: v'Sv/n, or λ/n - (mean'v)² without a scatter matrix."""
    xp, V = xp_of(pairs.values), pairs.vectors
    if isinstance(moments, Moments):
        return xp.sum(V * (as_double(moments.scatter) @ V), axis=0) / moments.n
    variances = pairs.values / moments.n - (moments.mean @ V) ** 2
    return xp.where(variances > 0, variances, xp.zeros_like(variances))
