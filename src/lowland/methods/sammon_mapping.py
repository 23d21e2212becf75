"""Sammon's mapping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lowland.blocks.distances.dissimilarities import dissimilarities
from lowland.blocks.scaling.out_of_sample import LeastStressPlacement
from lowland.blocks.scaling.sammon import sammon_coordinates
from lowland.data.open import open_rows
from lowland.data.rows import Rows
from lowland.errors import warn
from lowland.methods.base.distance_warnings import warn_if_distances, warn_of_one_point
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.point_map import PointMap
from lowland.methods.base.traits import ALL_PAIRS, StudyHints
from lowland.run.run import Run


class SammonMapping(
    PointMap,
    verb="sammon",
    tolerance=1e-5,
    study=StudyHints(all_pairs_up_to=ALL_PAIRS, beyond="sample", takes_distances=True),
):
    """Sammon's mapping: points whose distances are close to given ones, small distances counting as much as large.

    Problem: over points z_1 … z_n in k dimensions, minimize sum_{i<j} (δ_ij - |z_i - z_j|)²/δ_ij, as a fraction of
    sum_{i<j} δ_ij: the relative errors of the distances, not their absolute ones.

    1. Measure the distances δ of all rows, or take them as given (``blocks.distances.to_points``).
    2. Merge rows at distance zero: they share their coordinates, and nothing is divided by zero.
    3. Start from classical scaling (``blocks.spectra.leading``).
    4. Step by slope over second derivative, coordinate by coordinate, as Newton would; correct the steps by the
       curvature met on the way, and shorten one that raises the stress (``blocks.scaling.sammon``,
       ``blocks.optimize.lbfgs``).
    5. Turn the result to its principal axes. New rows are placed where their own stress is least
       (``blocks.scaling.out_of_sample``).

    Cost: n² k operations an iteration, some tens to hundreds of iterations; memory one n x n matrix, in float32 beyond
    4,096 rows. Prefer ``MDS`` where large distances should be kept, ``PCA`` for many rows.

    Attributes: ``embedding_`` (n, k), ``stress_`` (Sammon's, between 0 and 1 for all but absurd results),
    ``dissimilarity_matrix_`` (n, n), ``n_iter_``, ``converged_``, ``trace_`` (stress at the start and after each
    iteration), ``n_merged_`` (rows that share the place of an earlier one), ``X_fit_``, ``n_samples_``,
    ``n_features_in_``, ``feature_names_in_``.

    Reference: Sammon 1969, doi:10.1109/T-C.1969.222678.

    Examples
    --------
    >>> from lowland import SammonMapping
    >>> from lowland.data import load_dataset
    >>> sammon = SammonMapping().fit(load_dataset("iris").X)
    >>> sammon.embedding_.shape, sammon.n_merged_, round(sammon.stress_, 4)
    ((150, 2), 1, 0.004)
    """

    n_components: int = param(2, "Dimensions of the map.", at_least=1, positional=True)
    init: Literal["classical_mds", "random"] = param("classical_mds", "Where to start from.")
    max_iter: int = param(1000, "Most iterations.", at_least=1)
    tol: float = param(
        1e-6, "Stop when Newton's step is shorter than this share of the extent of the map, twice in a row.", at_least=0
    )
    random_state: RandomState = param(None, "Seed of a random start.", at_least=0)
    metric: str | Callable[..., float] = param(
        "euclidean", "How rows are compared, such as 'manhattan', or 'precomputed': they are distances of all pairs."
    )
    metric_params: dict[str, Any] | None = param(None, "Further arguments of the metric.")

    def fit(self, X: Any, y: Any = None, init: Any = None) -> Self:
        """Fit to the rows of X, or to distances of all pairs (metric='precomputed'), from ``init`` (n, k) if given."""
        return self._fit(X, y, init=init)

    def fit_transform(self, X: Any, y: Any = None, init: Any = None) -> Any:
        """Fit as ``fit`` does and return the coordinates, (n, k)."""
        return self._present(self.fit(X, y, init).embedding_, X)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, init: Any = None) -> None:
        """Distances, then coordinates of least stress."""
        data = dissimilarities(rows, run, self.metric, self.metric_params, owner="SammonMapping", missing=False)
        if data.X is not None:
            warn_if_distances(data.X, "SammonMapping")
        found = sammon_coordinates(
            data.D,
            self.n_components,
            init=self.init if init is None else data.in_unit_of_distances(open_rows(init).to_array()),
            tol=self.tol,
            max_iter=self.max_iter,
            rng=self._generator(),
            run=data.run,
        )
        n = data.D.shape[0]
        if found.n_merged == n - 1:
            warn_of_one_point("SammonMapping")
        self.embedding_ = data.in_unit(found.Z)
        self.trace_, self.stress_ = found.outcome.trace, found.stress
        self.n_iter_, self.converged_ = found.outcome.iterations, found.outcome.converged
        self.n_samples_, self.n_merged_ = n, found.n_merged
        self.dissimilarity_matrix_, self.X_fit_ = data.matrix, data.X
        if not self.converged_:
            warn(
                f"SammonMapping stopped after {self.n_iter_} iterations before its steps became short (stress "
                f"{self.stress_:.3g}). Raise max_iter or tol.",
                ConvergenceWarning,
            )

    def _facts(self) -> dict[str, Any]:
        return {"Sammon's stress": self.stress_, "rows merged": self.n_merged_}

    def _placing(self) -> LeastStressPlacement:
        return LeastStressPlacement(self.embedding_, self._distances_to(self.X_fit_), sammon=True)
