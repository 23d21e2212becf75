"""Projection onto principal axes, and the probabilistic model it implies."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lowland.arrays.namespace import Array, like, xp_of
from lowland.arrays.precision import as_double, result_dtype, rounding_in
from lowland.errors import DataError, DataWarning, warn
from lowland.math.spectra.principal_axes import Axes
from lowland.math.statistics.moments import Moments
from lowland.math.statistics.rescaling import dtype_of_squares
from lowland.methods.base.estimator import attribute
from lowland.methods.base.linear_map import Affine
from lowland.methods.base.moments_map import MomentsMap

if TYPE_CHECKING:
    from lowland.math.optimize.outcome import Outcome
    from lowland.math.spectra.component_rules import ComponentChoice

_NEAR = 1e3  # standard deviations between mean and origin that cost three digits of a projection


class PrincipalMap(MomentsMap):
    """Projection onto principal axes: the base class of PCA and IncrementalPCA."""

    if TYPE_CHECKING:
        whiten: bool  # declared as a parameter by the methods

    components_: Array = attribute("Principal axes, sorted by explained variance.", "(n_components_, n_features_in_)")
    explained_variance_: Array = attribute("Variance along each component.", "(n_components_,)")
    explained_variance_ratio_: Array = attribute(
        "Fraction of the total variance explained by each component.", "(n_components_,)"
    )
    singular_values_: Array = attribute("Singular values of the centered data.", "(n_components_,)")
    mean_: Array = attribute("Mean of each column, in float64.", "(n_features_in_,)")
    scale_: Array | None = attribute(
        "Standard deviation by which each column was divided; None without scaling.", "(n_features_in_,)"
    )
    noise_variance_: float = attribute("Mean variance of the discarded components.")
    total_variance_: float = attribute("Total variance, over all components.")
    discarded_variance_: float = attribute("Sum of the variances of the discarded components.")
    n_components_: int = attribute("Number of components.")
    n_effective_: float = attribute("Sum of the sample weights; the number of training rows without weights.")
    choice_: ComponentChoice = attribute("Number of components, the rule that chose it, and the reason.")
    solver_: Outcome = attribute("Solver that was used, the reason for it, and its convergence.")
    n_iter_: int = attribute("Number of iterations; 0 for a direct solver.")

    def _keep(self, axes: Axes, dtype: Any, measure: str = "residual") -> None:
        """Set the fitted attributes, in the precision of the data; ``measure`` is what the solver's trace holds."""
        columns, k, total = axes.columns, axes.choice.n_components, axes.spectrum.total
        if total == 0:
            warn(
                "Every column is constant, or its variance underflows, so the components are arbitrary. Check the "
                "data, or rescale it.",
                DataWarning,
            )
        values = axes.pairs.values[:k]
        xp = xp_of(values)
        kind = result_dtype(xp, dtype)
        self.mean_ = columns.mean
        self.scale_ = columns.scale
        self.components_ = xp.astype(axes.pairs.vectors[:, :k].T, kind)  # (k, d)
        self.explained_variance_ = xp.astype(values, dtype_of_squares(xp, float(values[0]) if k else 0.0, kind))
        self.explained_variance_ratio_ = xp.astype(values / total if total > 0 else values, kind)
        self.singular_values_ = xp.astype(xp.sqrt(values * (columns.n - 1)), kind)
        self.noise_variance_ = axes.discarded / (columns.most - k) if k < columns.most else 0.0
        self.total_variance_ = total
        self.discarded_variance_ = axes.discarded
        self.n_components_ = k
        self.n_samples_ = columns.rows
        self.n_effective_ = columns.n
        self.choice_ = axes.choice
        self._record_convergence(axes.outcome, measure=measure)

    def _moments_of_fit(self) -> Moments:
        """The scatter matrix S = UΛU'(n - 1), which takes all components to recover."""
        if self.discarded_variance_ > 0:
            raise DataError(
                f"fit kept {self.n_components_} of {self.n_features_in_} components, so more rows cannot be added "
                "exactly. Call partial_fit from the start on a new model, or use IncrementalPCA."
            )
        U = as_double(self.components_)
        S = (U.T * (as_double(self.explained_variance_) * (self.n_effective_ - 1))[None, :]) @ U
        if self.scale_ is not None:
            S = S * (self.scale_[:, None] * self.scale_[None, :])
        rounding = rounding_in(self.components_) ** 2
        return Moments(self.n_effective_, self.n_samples_, self.mean_, S, rounding)

    def _encoding(self) -> Affine:
        A = self.components_.T
        if self.scale_ is not None:
            A = A / like(self.scale_, A)[:, None]
        A = A * power_of_variances(self.explained_variance_, -0.5)[None, :] if self.whiten else A
        if _is_near_origin(self.mean_, self.scale_, self.explained_variance_):
            A = np.ascontiguousarray(A)  # the same product for a model from a file
            return Affine(A, None, -(self.mean_ @ A))  # without a centered copy of the rows
        return Affine(A, self.mean_)

    def _decoding(self) -> Affine:
        B = self.components_
        if self.scale_ is not None:
            B = B * like(self.scale_, B)[None, :]
        return Affine(
            power_of_variances(self.explained_variance_, 0.5)[:, None] * B if self.whiten else B, None, self.mean_
        )

    def _encoding_width(self) -> int:
        return int(self.components_.shape[0])  # a user may have kept fewer

    def get_covariance(self) -> Array:
        """Return the covariance matrix of the probabilistic model, (d, d): the components plus isotropic noise."""
        U, extra = self._loadings()
        xp = xp_of(U)
        S = (U.T * extra[None, :]) @ U + self.noise_variance_ * like(xp.eye(U.shape[1]), U)
        return S if self.scale_ is None else S * like(self.scale_[:, None] * self.scale_[None, :], S)

    def get_precision(self) -> Array:
        """Return the inverse of the model's covariance matrix, (d, d), by the matrix inversion lemma.

        With all components, those with zero variance are given a variance of the size of the rounding error.
        """
        U, extra = self._loadings()
        xp = xp_of(U)
        noise = self.noise_variance_
        least = float(xp.max(extra)) * float(xp.finfo(extra.dtype).eps) if extra.shape[0] else 0.0
        if self.n_components_ == self.n_features_in_ and least > 0:  # P = U' diag(1/e) U
            P = (U.T / xp.where(extra > least, extra, xp.zeros_like(extra) + least)[None, :]) @ U
        elif noise == 0:
            return self._inverse(self.get_covariance())
        else:  # P = (I - U' diag(e / (e + σ²)) U) / σ²
            P = (like(xp.eye(U.shape[1]), U) - (U.T * (extra / (extra + noise))[None, :]) @ U) / noise
        return P if self.scale_ is None else P / like(self.scale_[:, None] * self.scale_[None, :], P)

    def _inverse(self, S: Array) -> Array:
        try:
            return xp_of(S).linalg.inv(S)
        except Exception as error:  # every array library has a LinAlgError of its own
            raise DataError(
                "The model's covariance matrix is singular: some directions have zero variance, so the likelihood is "
                "undefined. Choose fewer components."
            ) from error

    def _loadings(self) -> tuple[Array, Array]:
        """Components and their variance in excess of the noise, in float64."""
        values = as_double(self.explained_variance_)
        beyond = values - self.noise_variance_
        xp = xp_of(values)
        return as_double(self.components_), xp.where(beyond > 0, beyond, xp.zeros_like(beyond))


def _is_near_origin(mean: Array, scale: Array | None, variances: Array) -> bool:
    """Whether projections of rows that are not centered keep all but three digits, of sixteen."""
    if not isinstance(variances, np.ndarray) or variances.dtype != np.float64:
        return False
    smallest = variances.min(where=variances > 0, initial=np.inf)
    far = np.abs(mean if scale is None else mean / scale).max(initial=0.0)
    return bool(np.isfinite(smallest) and far <= _NEAR * math.sqrt(smallest))


def power_of_variances(values: Array, power: float) -> Array:
    """Variances to a power; a zero variance stays zero instead of becoming infinite."""
    xp = xp_of(values)
    safe = xp.where(values > 0, values, xp.ones_like(values))
    return xp.where(values > 0, safe**power, xp.zeros_like(values))
