"""Principal axes as PCA and IncrementalPCA keep them: attributes, projection, and the probabilistic model."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, as_double, dtype_of_squares, like, result_dtype, rounding_in, xp_of
from lowland.errors import DataError, DataWarning, warn
from lowland.math.spectra.operators import Affine
from lowland.math.spectra.principal_axes import Axes
from lowland.math.statistics.moments import Moments
from lowland.methods.base.choices import refusal
from lowland.methods.base.params import shared_attributes

_NEAR = 1e3  # standard deviations between mean and origin that cost three digits of a projection

PRINCIPAL_ATTRIBUTES = shared_attributes(
    components_=("Array", "Principal axes, sorted by explained variance.", "(n_components_, n_features_in_)"),
    explained_variance_=("Array", "Variance along each component.", "(n_components_,)"),
    explained_variance_ratio_=(
        "Array", "Fraction of the total variance explained by each component.", "(n_components_,)",
    ),
    singular_values_=("Array", "Singular values of the centered data.", "(n_components_,)"),
    mean_=("Array", "Mean of each column, in float64.", "(n_features_in_,)"),
    scale_=(
        "Array | None", "Standard deviation by which each column was divided, or None without scaling.",
        "(n_features_in_,)",
    ),
    noise_variance_=("float", "Mean variance of the discarded components."),
    total_variance_=("float", "Total variance, over all components."),
    discarded_variance_=("float", "Sum of the variances of the discarded components."),
    n_components_=("int", "Number of components."),
    n_effective_=("float", "Sum of the sample weights, or the number of training rows without weights."),
    choice_=("ComponentChoice", "Number of components, the rule that chose it, and the reason."),
    solver_=("Outcome", "Solver that was used, the reason for it, and its convergence."),
    n_iter_=("int", "Number of iterations, or 0 for a direct solver."),
)  # fmt: skip


def keep_axes(model: Any, axes: Axes, dtype: Any, measure: str = "residual") -> None:
    """Set the fitted attributes, in the precision of the data; ``measure`` is what the solver's trace holds."""
    columns, k, total = axes.columns, axes.choice.n_components, axes.spectrum.total
    if total == 0:
        warn(
            "Every column is constant, or its variance underflows, so the components are arbitrary and explain "
            "nothing. Pass columns that vary, or rescale tiny values.",
            DataWarning,
        )
    values = axes.pairs.values[:k]
    xp = xp_of(values)
    kind = result_dtype(xp, dtype)
    model.mean_ = columns.mean
    model.scale_ = columns.scale
    model.components_ = xp.astype(axes.pairs.vectors[:, :k].T, kind)  # (k, d)
    model.explained_variance_ = xp.astype(values, dtype_of_squares(xp, float(values[0]) if k else 0.0, kind))
    model.explained_variance_ratio_ = xp.astype(values / total if total > 0 else values, kind)
    model.singular_values_ = xp.astype(xp.sqrt(values * (columns.n - 1)), kind)
    model.noise_variance_ = axes.discarded / (columns.most - k) if k < columns.most else 0.0
    model.total_variance_ = total
    model.discarded_variance_ = axes.discarded
    model.n_components_ = k
    model.n_samples_ = columns.rows
    model.n_effective_ = columns.n
    model.choice_ = axes.choice
    model._record_convergence(axes.outcome, measure=measure)


def check_below_all(model: Any, k: int, n: int, d: int, solver: str) -> None:
    """Raise an error if ARPACK, which finds all components but one at most, cannot find k of an n x d table.

    ``solver`` is the parameter that chose ARPACK.
    """
    most = min(n, d)
    if k >= most:
        fact = f"n_components={k} must be strictly less than min(n_samples, n_features)={most} with {solver}='arpack'"
        remedy = f"Choose at most {most - 1}, or another `{solver}`."
        raise refusal(model, f"the data has {n} rows and {d} columns (`{fact}`).", remedy, "n_components", solver)


def moments_of_axes(model: Any) -> Moments:
    """The scatter matrix S = UΛU'(n - 1), which takes all components to recover."""
    if model.discarded_variance_ > 0:
        raise DataError(
            f"fit kept {model.n_components_} of {model.n_features_in_} components, so more rows cannot be added "
            "exactly. Call partial_fit from the start on a new model, or use IncrementalPCA."
        )
    U = as_double(model.components_)
    S = (U.T * (as_double(model.explained_variance_) * (model.n_effective_ - 1))[None, :]) @ U
    if model.scale_ is not None:
        S = S * (model.scale_[:, None] * model.scale_[None, :])
    rounding = rounding_in(model.components_) ** 2
    return Moments(model.n_effective_, model.n_samples_, model.mean_, S, rounding)


def project(model: Any) -> Affine:
    """The map from rows to principal components."""
    A = model.components_.T
    if model.scale_ is not None:
        A = A / like(model.scale_, A)[:, None]
    A = A * power_of_variances(model.explained_variance_, -0.5)[None, :] if model.whiten else A
    variances = model.explained_variance_
    if isinstance(variances, np.ndarray) and variances.dtype == np.float64:
        smallest = variances.min(where=variances > 0, initial=np.inf)
        far = np.abs(model.mean_ if model.scale_ is None else model.mean_ / model.scale_).max(initial=0.0)
        if np.isfinite(smallest) and far <= _NEAR * math.sqrt(smallest):  # rows need not be centered to keep digits
            A = np.ascontiguousarray(A)  # the same product for a model from a file
            return Affine(A, None, -(model.mean_ @ A))
    return Affine(A, model.mean_)


def reconstruct(model: Any) -> Affine:
    """The map from principal components back to rows."""
    B = model.components_
    if model.scale_ is not None:
        B = B * like(model.scale_, B)[None, :]
    return Affine(
        power_of_variances(model.explained_variance_, 0.5)[:, None] * B if model.whiten else B, None, model.mean_
    )


def in_precision_of_fit(model: Any, S: Array) -> Array:
    """A matrix of the model in the precision of the data, or in float64 where float32 cannot hold it."""
    xp = xp_of(S)
    return xp.astype(S, dtype_of_squares(xp, float(xp.max(xp.abs(S))), model.components_.dtype))


def model_covariance(model: Any) -> Array:
    """Return the covariance matrix of the probabilistic model, (d, d): the components plus isotropic noise."""
    U, extra = _loadings(model)
    xp = xp_of(U)
    S = (U.T * extra[None, :]) @ U + model.noise_variance_ * like(xp.eye(U.shape[1]), U)
    return S if model.scale_ is None else S * like(model.scale_[:, None] * model.scale_[None, :], S)


def model_precision(model: Any) -> Array:
    """Return the inverse of the model's covariance matrix, (d, d), by the matrix inversion lemma.

    With all components, those with zero variance get a variance of the size of the rounding error.
    """
    U, extra = _loadings(model)
    xp = xp_of(U)
    noise = model.noise_variance_
    least = float(xp.max(extra)) * float(xp.finfo(extra.dtype).eps) if extra.shape[0] else 0.0
    if model.n_components_ == model.n_features_in_ and least > 0:  # P = U' diag(1/e) U
        P = (U.T / xp.where(extra > least, extra, xp.zeros_like(extra) + least)[None, :]) @ U
    elif noise == 0:
        return _inverse(model_covariance(model))
    else:  # P = (I - U' diag(e / (e + σ²)) U) / σ²
        P = (like(xp.eye(U.shape[1]), U) - (U.T * (extra / (extra + noise))[None, :]) @ U) / noise
    return P if model.scale_ is None else P / like(model.scale_[:, None] * model.scale_[None, :], P)


def _inverse(S: Array) -> Array:
    try:
        return xp_of(S).linalg.inv(S)
    except Exception as error:  # every array library has a LinAlgError of its own
        raise DataError(
            "The model's covariance matrix is singular: some directions have zero variance, so the likelihood is "
            "undefined. Choose fewer components."
        ) from error


def _loadings(model: Any) -> tuple[Array, Array]:
    """Components and their variance in excess of the noise, in float64."""
    values = as_double(model.explained_variance_)
    beyond = values - model.noise_variance_
    xp = xp_of(values)
    return as_double(model.components_), xp.where(beyond > 0, beyond, xp.zeros_like(beyond))


def power_of_variances(values: Array, power: float) -> Array:
    """Variances to a power; a zero variance stays zero instead of becoming infinite."""
    xp = xp_of(values)
    safe = xp.where(values > 0, values, xp.ones_like(values))
    return xp.where(values > 0, safe**power, xp.zeros_like(values))
