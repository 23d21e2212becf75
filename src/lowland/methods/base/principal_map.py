"""Coordinates along principal axes, and the probability model they imply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lowland.arrays.namespace import Array, like, xp_of
from lowland.arrays.precision import as_double, result_dtype, rounding_in
from lowland.blocks.spectra.principal_axes import Axes
from lowland.blocks.statistics.moments import Moments
from lowland.errors import DataError, DataWarning, warn
from lowland.methods.base.linear_map import Affine
from lowland.methods.base.moments_map import MomentsMap


class PrincipalMap(MomentsMap):
    """Coordinates along principal axes: what PCA and its incremental form share."""

    if TYPE_CHECKING:
        whiten: bool  # declared as a parameter by the methods

    def _keep(self, axes: Axes, dtype: Any) -> None:
        """Set the fitted attributes, in the precision of the data."""
        columns, k, total = axes.columns, axes.choice.n_components, axes.spectrum.total
        if total == 0:
            warn(
                "The rows do not vary: every column is constant, or varies too little to be squared. "
                "All components are arbitrary.",
                DataWarning,
            )
        values = axes.pairs.values[:k]
        xp = xp_of(values)
        kind = result_dtype(xp, dtype)
        self.mean_ = columns.mean
        self.scale_ = columns.scale
        self.components_ = xp.astype(axes.pairs.vectors[:, :k].T, kind)  # (k, d)
        self.explained_variance_ = xp.astype(values, kind)
        self.explained_variance_ratio_ = xp.astype(values / total if total > 0 else values, kind)
        self.singular_values_ = xp.astype(xp.sqrt(values * (columns.n - 1)), kind)
        self.noise_variance_ = axes.discarded / (columns.most - k) if k < columns.most else 0.0
        self.total_variance_ = total
        self.discarded_variance_ = axes.discarded
        self.n_components_ = k
        self.n_samples_ = columns.rows
        self.n_effective_ = columns.n
        self.choice_ = axes.choice
        self._record_convergence(axes.outcome)

    def _moments_of_fit(self) -> Moments:
        """All components are the whole scatter, S = UΛU'(n - 1); fewer are not enough to go on from."""
        if self.discarded_variance_ > 0:
            raise DataError(
                f"fit kept {self.n_components_} of {self.n_features_in_} components: rows cannot be added exactly. "
                "Call partial_fit from the start on a new model, or use IncrementalPCA, which goes on after fit."
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
        return Affine(A * power_of_variances(self.explained_variance_, -0.5)[None, :] if self.whiten else A, self.mean_)

    def _decoding(self) -> Affine:
        B = self.components_
        if self.scale_ is not None:
            B = B * like(self.scale_, B)[None, :]
        return Affine(
            power_of_variances(self.explained_variance_, 0.5)[:, None] * B if self.whiten else B, None, self.mean_
        )

    def _encoding_width(self) -> int:
        return int(self.n_components_)

    def get_covariance(self) -> Array:
        """Return the covariance of the model: the kept components plus equal noise in all other directions."""
        U, extra = self._loadings()
        xp = xp_of(U)
        S = (U.T * extra[None, :]) @ U + self.noise_variance_ * like(xp.eye(U.shape[1]), U)
        return S if self.scale_ is None else S * like(self.scale_[:, None] * self.scale_[None, :], S)

    def get_precision(self) -> Array:
        """Return the inverse of the model's covariance, by the matrix inversion lemma: only k x k is inverted.

        Where all components are kept, those that do not vary count as varying by rounding.
        """
        U, extra = self._loadings()
        xp = xp_of(U)
        noise = self.noise_variance_
        least = float(xp.max(extra)) * float(xp.finfo(extra.dtype).eps)
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
                "The model's covariance is singular: some directions do not vary at all, so no row has a likelihood. "
                "Keep fewer components."
            ) from error

    def _loadings(self) -> tuple[Array, Array]:
        """Components and their variance beyond the noise, in float64."""
        values = as_double(self.explained_variance_)
        beyond = values - self.noise_variance_
        xp = xp_of(values)
        return as_double(self.components_), xp.where(beyond > 0, beyond, xp.zeros_like(beyond))


def power_of_variances(values: Array, power: float) -> Array:
    """Variances to a power, with a direction of no variance left at zero instead of infinity."""
    xp = xp_of(values)
    safe = xp.where(values > 0, values, xp.ones_like(values))
    return xp.where(values > 0, safe**power, xp.zeros_like(values))
