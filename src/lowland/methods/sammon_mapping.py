"""Sammon mapping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.namespace import Array
from lowland.data.open import open_rows
from lowland.data.rows import Rows
from lowland.math.distances.to_points import DistancesTo, dissimilarities
from lowland.math.optimize.outcome import Snapshot
from lowland.math.scaling.new_points import LeastStressPlacement
from lowland.math.scaling.sammon import sammon_coordinates
from lowland.methods.base import costs
from lowland.methods.base.choices import positional
from lowland.methods.base.method import Method, RandomState, attribute, param
from lowland.methods.base.metric import METRIC_ATTRIBUTES, SKIP_MISSING, Metric, warn_if_distances, warn_of_one_point
from lowland.methods.base.traits import ALL_PAIRS, Callback, StudyHints
from lowland.run.run import Run


class SammonMapping(
    Method,
    verb="sammon",
    title="Sammon mapping",
    group="Distances",
    cost=costs.sammon,
    attributes=METRIC_ATTRIBUTES,
    missing_remedy=SKIP_MISSING,
    tolerance=1e-5,
    study=StudyHints(all_pairs_up_to=ALL_PAIRS, beyond="sample", takes_distances=True),
    warm={},
):
    """Sammon mapping: multidimensional scaling with stress weighted by 1/distance, which preserves small distances.

    Problem: over points z_1 … z_n in k dimensions, minimize sum_{i<j} (δ_ij - |z_i - z_j|)²/δ_ij, as a fraction of
    sum_{i<j} δ_ij.

    1. Compute the distances δ of all pairs of points, or check those passed.
    2. Merge duplicate points, at distance zero: they share their coordinates, and nothing is divided by zero.
    3. Initialize with classical scaling.
    4. Take Newton steps with the diagonal of the Hessian, accelerate them by L-BFGS, and shorten a step that increases
       the stress.
    5. Rotate the result to its principal axes. Out-of-sample extension: a new point is placed where its own stress is
       smallest.

    See Also
    --------
    MDS : all distances with equal weight.
    TSNE : neighbors instead of distances.

    Notes
    -----
    Prefer ``MDS`` where large distances should be preserved, and ``PCA`` for many points.

    References
    ----------
    Sammon 1969, A nonlinear mapping for data structure analysis, IEEE Transactions on Computers C-18,
    doi:10.1109/T-C.1969.222678.

    Examples
    --------
    >>> from lowland import SammonMapping
    >>> from lowland.data import load_dataset
    >>> sammon = SammonMapping().fit(load_dataset("iris").X)
    >>> sammon.embedding_.shape, sammon.n_merged_, round(sammon.stress_, 4)
    ((150, 2), 1, 0.004)
    """

    n_components: int = positional(2, "Number of dimensions of the embedding.", at_least=1)
    init: Literal["classical_mds", "random"] = param("classical_mds", "Initial configuration.")
    max_iter: int = param(1000, "Maximum number of iterations.", at_least=1)
    tol: float = param(
        1e-6,
        "Tolerance: length of a Newton step, as a fraction of the extent of the embedding. A smaller one takes "
        "more iterations.",
        at_least=0,
    )
    random_state: RandomState = param(None, "Seed of a random initialization.", at_least=0)
    metric: str | Callable[..., float] = param(
        "euclidean",
        "Distance metric, such as 'manhattan', or a function of two points, or 'precomputed': X is a distance matrix.",
    )
    metric_params: dict[str, Any] | None = param(None, "Keyword arguments of the metric.")

    embedding_: Array = attribute("Coordinates of the training points.", "(n_samples_, n_components)")
    stress_: float = attribute("Sammon stress: 0 is perfect, and 1 is that of all points in one place.")
    dissimilarity_matrix_: Array = attribute("Distances.", "(n_samples_, n_samples_)")
    X_fit_: Array | None = attribute("Training points, or None for a precomputed matrix.")
    n_merged_: int = attribute("Number of duplicate points that were merged with an earlier point.")
    n_iter_: int = attribute("Number of iterations.")
    converged_: bool = attribute("Whether the minimization converged.")
    trace_: tuple[float, ...] = attribute("Initial stress, and the stress after each iteration.")

    def fit(self, X: Any, y: Any = None, init: Any = None, callback: Callback = None) -> Self:
        """Fit to the rows of X, or to a distance matrix (metric='precomputed').

        ``init`` (n, k) is an initial configuration. ``callback`` receives a snapshot (iteration, total, embedding,
        value) after every iteration. If it returns False, the fit ends with the map so far.
        """
        return self._fit(X, y, init=init, callback=callback)

    def fit_transform(self, X: Any, y: Any = None, init: Any = None, callback: Callback = None) -> Any:  # type: ignore[override]
        """Fit as ``fit`` does and return the coordinates, (n, k)."""
        return self.fit(X, y, init, callback)._returned_embedding(X)

    def _solve(
        self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, init: Any = None,
        callback: Callback = None,
    ) -> None:  # fmt: skip
        data = dissimilarities(rows, run, *self._measure(), owner="SammonMapping", missing=False)
        if data.X is not None:
            warn_if_distances(data.X, "SammonMapping")

        def shown(iteration: int, Z: Array, stress: float) -> Any:
            assert callback is not None
            return callback(Snapshot(iteration, self.max_iter, data.in_unit(Z), stress))

        found = sammon_coordinates(
            data.D, self.n_components,
            init=self.init if init is None else data.in_unit_of_distances(open_rows(init).to_array()),
            tol=self.tol, max_iter=self.max_iter,
            rng=self._generator() if init is not None or self.init == "random" else None,
            run=data.run, watch=None if callback is None else shown,
        )  # fmt: skip
        n = data.D.shape[0]
        if found.n_merged == n - 1:
            warn_of_one_point("SammonMapping")
        self.embedding_ = data.in_unit(found.Z)
        self.trace_, self.stress_ = found.outcome.trace, found.stress
        self.converged_ = found.outcome.converged
        self.n_samples_, self.n_merged_ = n, found.n_merged
        self.dissimilarity_matrix_, self.X_fit_ = data.matrix, data.X
        count = found.outcome.iterations
        problem = f"SammonMapping did not converge: it stopped after {count} iteration{'s' * (count != 1)}"
        self._record_convergence(
            found.outcome, "Raise `max_iter` or `tol`.", problem=f"{problem} (stress {self.stress_:.3g})."
        )

    def _facts(self) -> dict[str, Any]:
        return {"Sammon stress": self.stress_, "duplicate rows merged": self.n_merged_}

    def _metric(self) -> Metric:
        return Metric(self._params.metric, dict(self._params.metric_params or {}))

    def _encoding(self) -> LeastStressPlacement:
        distances = None if self.X_fit_ is None else DistancesTo.of(self.X_fit_, *self._measure())
        return LeastStressPlacement(self.embedding_, distances, sammon=True)
