"""Principal component analysis of rows that arrive in batches."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array
from lowland.data.rows import ArrayRows, Rows
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.component_rules import as_rule
from lowland.math.spectra.principal_axes import AxesRequest, axes_of_moments
from lowland.math.statistics.moments import Moments
from lowland.methods.base import costs
from lowland.methods.base.choices import ignored, positional, refusal
from lowland.methods.base.method import attribute, param
from lowland.methods.base.moments import MomentsMethod
from lowland.methods.base.principal import (
    PRINCIPAL_ATTRIBUTES,
    in_precision_of_fit,
    keep_axes,
    model_covariance,
    model_precision,
    moments_of_axes,
    project,
    reconstruct,
)
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run


class IncrementalPCA(
    MomentsMethod,
    verb="incremental-pca",
    title="incremental PCA",
    group="Linear",
    cost=costs.moments,
    axis="PC",
    attributes=PRINCIPAL_ATTRIBUTES,
    linear=True,
    streams=True,
    takes_sparse=True,
    study=StudyHints(why_left_out="It gives the same components as PCA, from rows that arrive in batches."),
):
    """Incremental PCA: exact principal components of all rows seen so far, updated batch by batch.

    Problem: that of PCA, S u = λ u, where S is the covariance matrix of all rows seen so far.

    1. Merge the moments of each batch: count, mean and scatter matrix.
    2. Compute the leading eigenpairs of the covariance matrix when a result is first read.

    See Also
    --------
    PCA : all rows at once, files included.

    Notes
    -----
    A batch may have fewer rows than there are components.

    The result is exact for every batch size, unlike that of scikit-learn's class of this name, which truncates after
    each batch. Prefer ``PCA`` where all data is available, even in a file larger than memory: it chooses among solvers
    and accepts rules for the number of components.

    References
    ----------
    Chan, T. F., Golub, G. H., and LeVeque, R. J. (1983). Algorithms for computing the sample variance: analysis and
    recommendations. The American Statistician. doi:10.1080/00031305.1983.10483115

    Examples
    --------
    >>> from lowland import IncrementalPCA
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> ipca = IncrementalPCA(n_components=2).partial_fit(X[:100]).partial_fit(X[100:])
    >>> ipca.n_samples_seen_
    150
    """

    n_components: int | None = positional(None, "Number of components. None means all.", at_least=1)
    whiten: bool = param(False, "Scale each coordinate to unit variance.")
    copy: bool = ignored(True, "the input is never modified")
    batch_size: int | None = param(
        None, "Rows per batch in fit. None chooses the fastest size. The result does not depend on it.", at_least=1
    )

    var_: Array = attribute("Variance of each column, divisor n.", "(n_features_in_,)")
    n_samples_seen_: int = attribute("Number of rows seen so far.")
    batch_size_: int = attribute("Rows per batch.", when="after fit, not after partial_fit")

    def partial_fit(  # type: ignore[override]  # the order of scikit-learn
        self, X: Any, y: Any = None, check_input: bool = True, sample_weight: Any = None
    ) -> Self:
        """Add the rows of X to the training data so far. The result equals that of one fit to all rows.

        ``check_input`` is accepted for compatibility with scikit-learn and has no effect.
        """
        return super().partial_fit(X, y, sample_weight)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        if self.batch_size is not None and isinstance(rows, ArrayRows):
            rows = dataclasses.replace(rows, most_rows=self.batch_size)
        super()._solve(rows, run, y, weights)
        self.batch_size_ = rows.slab

    def _solve_moments(self, moments: Moments, run: Run) -> None:
        k, d, n = self._params.n_components, moments.mean.shape[0], max(moments.rows, int(moments.n))
        if k is not None and k > min(n, d):
            limit = (
                f"invalid for n_features={d}, need more rows than columns for IncrementalPCA processing"
                if k > d
                else f"must be less or equal to the batch number of samples {n} for the first partial_fit call"
            )
            reason = f"the data has {n} rows and {d} columns (`n_components={k} {limit}`)."
            raise refusal(self, reason, f"Choose at most {min(n, d)}.", "n_components")
        chosen = Outcome("covariance_eigh", "the covariance of batches merges exactly")
        wanted = AxesRequest(as_rule(self._params.n_components), chosen)
        keep_axes(self, axes_of_moments(moments, run, wanted), self._fitted.dtype)
        self.var_ = moments.variances * ((moments.n - 1) / moments.n)
        self.n_samples_seen_ = moments.rows

    def _moments_of_fit(self) -> Moments:
        return moments_of_axes(self)

    def _encoding(self) -> Any:
        return project(self)

    def _decoding(self) -> Any:
        return reconstruct(self)

    def _encoding_width(self) -> int:
        return int(self.components_.shape[0])  # a user may have kept fewer

    def get_covariance(self) -> Array:
        """Return the covariance matrix of the probabilistic model, (d, d): the components plus isotropic noise."""
        return in_precision_of_fit(self, model_covariance(self))

    def get_precision(self) -> Array:
        """Return the inverse of the model's covariance matrix, (d, d), by the matrix inversion lemma.

        With all components, those with zero variance get a variance of the size of the rounding error.
        """
        return in_precision_of_fit(self, model_precision(self))
