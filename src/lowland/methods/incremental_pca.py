"""Principal components of rows that arrive in batches."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

import numpy as np

from lowland.blocks.optimize.outcome import Outcome
from lowland.blocks.spectra.component_rules import as_rule
from lowland.blocks.spectra.principal_axes import AxesRequest, axes_of_moments
from lowland.blocks.statistics.moments import Moments
from lowland.data.rows import ArrayRows, Rows
from lowland.methods.base.estimator import param
from lowland.methods.base.principal_map import PrincipalMap
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run


class IncrementalPCA(
    PrincipalMap,
    verb="incremental-pca",
    streams=True,
    takes_sparse=True,
    study=StudyHints(why_left_out="It finds PCA's axes, from rows that come in batches."),
):
    """Principal component analysis of batches: the exact answer, not an approximation that forgets.

    Problem: that of PCA, S u = λ u, with S the covariance of all rows seen so far.

    1. Merge the moments of every batch (``blocks.statistics.moments``): count, mean, scatter.
    2. When a result is read, find the leading eigenpairs of the covariance (``blocks.spectra.leading``).

    Cost: b d² a batch of b rows, d³ once at the end, memory d². A batch may hold fewer rows than components.
    Prefer ``PCA`` where the data come at once, also from a file: it chooses among solvers.

    Attributes: as PCA, with ``var_`` (variance of each column, divisor n), ``n_samples_seen_`` and ``batch_size_``.

    Reference: Chan, Golub and LeVeque 1983, doi:10.1080/00031305.1983.10483115.

    Examples
    --------
    >>> from lowland import IncrementalPCA
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> ipca = IncrementalPCA(n_components=2).partial_fit(X[:100]).partial_fit(X[100:])
    >>> ipca.n_samples_seen_
    150
    """

    n_components: int | None = param(None, "How many to keep; None for all.", at_least=1, positional=True)
    whiten: bool = param(False, "Divide each coordinate by its standard deviation.")
    copy: bool = param(True, "Accepted as in scikit-learn; the input is never written to.")
    batch_size: int | None = param(
        None, "Rows summed at a time by fit; None: as many as run fastest. The answer is the same.", at_least=1
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of X; ``sample_weight`` counts repetitions."""
        return self._fit(X, y, sample_weight)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Sum the moments batch by batch, then read the result."""
        run.require(3 * 8 * rows.d**2, f"The {rows.d} x {rows.d} covariance", "Use PCA(svd_solver='randomized')")
        if self.batch_size is not None and isinstance(rows, ArrayRows):
            rows = dataclasses.replace(rows, most_rows=self.batch_size)
        self._moments, self._dtype = run.fold(rows, Moments.of, weights, name="summing moments"), rows.dtype
        self._solve_moments(self._moments, run)
        self.batch_size_ = rows.slab

    def _solve_moments(self, moments: Moments, run: Run) -> None:
        """The leading eigenpairs of the merged covariance."""
        chosen = Outcome("covariance_eigh", "the covariance merges exactly, batch by batch")
        self._keep(axes_of_moments(moments, run, AxesRequest(as_rule(self.n_components), chosen)), self._dtype)
        self.var_ = moments.variances * ((moments.n - 1) / moments.n)
        self.n_samples_seen_ = moments.rows
