"""Multidimensional scaling by least squares."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.namespace import Array, xp_of
from lowland.data.open import open_rows
from lowland.data.rows import Rows
from lowland.errors import warn
from lowland.math.distances.to_points import Dissimilarities, DistancesTo, dissimilarities
from lowland.math.optimize.outcome import Snapshot, Watch
from lowland.math.scaling.isotonic import IsotonicCurve
from lowland.math.scaling.majorization import Configuration, stress_majorization
from lowland.math.scaling.new_points import LeastStressPlacement
from lowland.math.scaling.nonmetric import nonmetric_scaling
from lowland.methods.base import costs
from lowland.methods.base.choices import ignored, positional, refusal
from lowland.methods.base.method import Method, RandomState, attribute, param
from lowland.methods.base.metric import (
    METRIC_ATTRIBUTES,
    SKIP_MISSING,
    Metric,
    warn_if_distances,
    warn_of_lost_squares,
    warn_of_one_point,
)
from lowland.methods.base.traits import ALL_PAIRS, Callback, StudyHints
from lowland.run.run import Run


class MDS(
    Method,
    verb="mds",
    group="Distances",
    cost=costs.stress,
    attributes=METRIC_ATTRIBUTES,
    missing_remedy=SKIP_MISSING,
    tolerance=1e-6,
    study=StudyHints(all_pairs_up_to=ALL_PAIRS, beyond="sample", takes_distances=True),
    warm={},
):
    """Multidimensional scaling by least squares (SMACOF): an embedding whose distances approximate dissimilarities.

    Problem: over points z_1 … z_n in k dimensions, minimize the stress sum_{i<j} w_ij (δ_ij - |z_i - z_j|)². For
    non-metric MDS the δ are replaced by disparities, the monotone transformation of the δ that is closest to the
    distances |z_i - z_j|.

    1. Compute the dissimilarities δ of all pairs of points, or check those passed, where NaN means missing.
    2. Initialize with classical scaling, and with n_init - 1 random configurations.
    3. Minimize the stress by majorization: the Guttman transform, which never increases it. Quasi-Newton steps
       preconditioned by it need about a tenth of the iterations. For non-metric MDS, a monotone regression before each
       step gives the disparities.
    4. Rotate the result to its principal axes. Out-of-sample extension: a new point is placed where its own stress is
       smallest.

    See Also
    --------
    ClassicalMDS : eigenvectors instead of iterations.
    SammonMapping : more weight on small distances.
    TSNE : neighbors instead of distances.

    Notes
    -----
    Prefer ``PCA`` for linear structure and many points, ``SammonMapping`` where small distances matter most, and
    ``ClassicalMDS`` for a unique solution without iteration.

    References
    ----------
    Kruskal 1964, Multidimensional scaling by optimizing goodness of fit to a nonmetric hypothesis, Psychometrika 29,
    doi:10.1007/BF02289565.

    de Leeuw and Mair 2009, Multidimensional scaling using majorization: SMACOF in R, Journal of Statistical Software
    31, doi:10.18637/jss.v031.i03.

    Examples
    --------
    >>> from lowland import MDS
    >>> from lowland.data import load_dataset
    >>> mds = MDS(2).fit(load_dataset("iris").X)
    >>> mds.embedding_.shape, round(mds.stress1_, 3)
    ((150, 2), 0.033)
    """

    n_components: int = positional(2, "Number of dimensions of the embedding.", at_least=1)
    metric_mds: bool = param(
        True, "True approximates the dissimilarities (metric), False only their order (non-metric)."
    )
    n_init: int = param(
        1,
        "Number of initializations: the first is `init`, the others are random. The best result is kept. More "
        "initializations are less likely to stop at a poor local minimum.",
        at_least=1,
    )
    init: Literal["classical_mds", "random"] = param("classical_mds", "First initial configuration.")
    max_iter: int = param(300, "Maximum number of iterations per initialization.", at_least=1)
    verbose: int | bool = ignored(0, "set lowland.config(progress=True) instead")
    eps: float = param(
        1e-6,
        "Tolerance: decrease of the stress per iteration, as a fraction of the squared distances. A smaller one "
        "takes more iterations.",
        at_least=0,
    )
    n_jobs: int | None = ignored(None, "set lowland.config(threads=...) instead")
    random_state: RandomState = param(None, "Seed of the random initializations.", at_least=0)
    dissimilarity: Literal["euclidean", "precomputed", "deprecated"] = param(
        "deprecated", "The former name of metric, accepted with a warning until scikit-learn 1.10 removes it."
    )
    metric: str | Callable[..., float] = param(
        "euclidean",
        "Distance metric, such as 'manhattan', or a function of two points, or 'precomputed': X is a distance matrix.",
        former=(True, False),  # of metric_mds
    )
    metric_params: dict[str, Any] | None = param(None, "Keyword arguments of the metric.")
    normalized_stress: bool | Literal["auto"] = param(
        "auto", "Report stress_ relative to the distances of the embedding. 'auto' does so only for non-metric MDS."
    )
    ties: Literal["primary", "secondary"] = param(
        "primary", "Non-metric: tied dissimilarities may get different disparities ('primary') or not ('secondary')."
    )
    solver: Literal["majorization", "gradient"] = param(
        "majorization",
        "Algorithm that minimizes the stress. 'gradient' is accelerated gradient descent, which converges more slowly.",
    )
    accelerate: bool = param(True, "Accelerate majorization by L-BFGS. False is plain SMACOF.")

    embedding_: Array = attribute("Coordinates of the training points.", "(n_samples_, n_components)")
    stress_: float = attribute("Raw stress, or normalized stress if normalized_stress selects it.")
    stress1_: float = attribute("Kruskal's stress-1, as in R's smacof and isoMDS.")
    dissimilarity_matrix_: Array = attribute("Dissimilarities.", "(n_samples_, n_samples_)")
    curve_: np.ndarray | None = attribute(
        "Dissimilarities and their disparities, (2, m), at the corners of the monotone regression. None for metric MDS."
    )
    X_fit_: Array | None = attribute("Training points, or None for a precomputed matrix.")
    n_iter_: int = attribute("Number of iterations of the best initialization.")
    converged_: bool = attribute("Whether the best initialization converged.")
    trace_: tuple[float, ...] = attribute("Initial stress, and the stress after each iteration.")
    init_stresses_: tuple[float, ...] = attribute("Final stress of each initialization.")

    def fit(self, X: Any, y: Any = None, init: Any = None, weights: Any = None, callback: Callback = None) -> Self:
        """Fit to the rows of X, or to a dissimilarity matrix (metric='precomputed').

        ``init`` (n, k) is an initial configuration, and ``weights`` (n, n) are the weights of the pairs. ``callback``
        receives a snapshot (iteration, total, embedding, value) after every iteration. If it returns False, the fit
        ends with the map so far.
        """
        return self._fit(X, y, init=init, pair_weights=weights, callback=callback)

    def fit_transform(  # type: ignore[override]
        self, X: Any, y: Any = None, init: Any = None, weights: Any = None, callback: Callback = None
    ) -> Any:
        """Fit as ``fit`` does and return the coordinates, (n, k)."""
        return self.fit(X, y, init, weights, callback)._returned_embedding(X)

    def _solve(
        self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, init: Any = None,
        pair_weights: Any = None, turned: bool = True, callback: Callback = None,
    ) -> None:  # fmt: skip
        self._warn_of_former_names()
        data = dissimilarities(rows, run, *self._measure(), owner="MDS", missing=True)
        if data.X is not None:
            warn_if_distances(data.X, "MDS")
        scale = stress_majorization if self._is_metric else functools.partial(nonmetric_scaling, ties=self.ties)
        draws = init is not None or self.init == "random" or self.n_init > 1  # a given start may be perturbed
        found = scale(
            data.D, self.n_components,
            weights=None if pair_weights is None else open_rows(pair_weights).to_array(),
            init=self.init if init is None else data.in_unit_of_distances(open_rows(init).to_array()),
            n_init=self.n_init, eps=self.eps, max_iter=self.max_iter, solver=self.solver, accelerate=self.accelerate,
            turned=turned, rng=self._generator() if draws else None, run=data.run,
            watch=None if callback is None else self._watch(callback, data),
        )  # fmt: skip
        self._keep(found, data)

    def _watch(self, callback: Callable[[Snapshot], Any], data: Dissimilarities) -> Watch:
        """Report configurations in the unit of the data."""
        unit = data.unit if self._is_metric else 1.0
        return lambda iteration, Z, value: callback(Snapshot(iteration, self.max_iter, Z * unit, 2 * value * unit**2))

    def _keep(self, found: Configuration, data: Dissimilarities) -> None:
        if found.squares == 0:
            warn_of_one_point("MDS")
        unit = data.unit if self._is_metric else 1.0  # metric stress has the unit of squared distances
        normalized = not self._is_metric if self.normalized_stress == "auto" else self.normalized_stress
        relative = found.normalized_stress if normalized else None
        self.stress_ = found.stress * unit * unit if relative is None else relative
        warn_of_lost_squares("MDS.stress_", found.stress if relative is None else relative, self.stress_)
        self.stress1_ = found.stress1
        self.embedding_ = xp_of(found.Z).astype(found.Z if unit == 1 else found.Z * unit, data.result_dtype)
        self.dissimilarity_matrix_, self.X_fit_ = data.matrix, data.X
        self.curve_ = None if found.curve is None else np.stack([found.curve.x * data.unit, found.curve.y])
        self.n_samples_ = int(found.Z.shape[0])
        self.converged_ = found.outcome.converged
        self.trace_ = tuple(stress * unit * unit for stress in found.outcome.trace)
        self.init_stresses_ = tuple(stress * unit * unit for stress in found.init_stresses)
        n = found.outcome.iterations
        last = f", last decrease {self.trace_[-2] - self.trace_[-1]:.1e}" if n else ""
        problem = f"MDS did not converge: it stopped after {n} iteration{'s' * (n != 1)}"
        self._record_convergence(
            replace(found.outcome, trace=self.trace_),
            "Raise `max_iter` or `eps`.",
            problem=f"{problem} (stress {self.trace_[-1]:.3g}{last}).",
        )

    # --- former names of parameters, until scikit-learn removes them ---

    @property
    def _is_metric(self) -> bool:
        return bool(self.metric) if isinstance(self.metric, bool) else self.metric_mds

    def _metric(self) -> Metric:
        p = self._params
        named = "euclidean" if isinstance(p.metric, bool) else p.metric
        return Metric(named if p.dissimilarity == "deprecated" else p.dissimilarity, dict(p.metric_params or {}))

    def _warn_of_former_names(self) -> None:
        """Warn as scikit-learn does; raise an error where an old name contradicts the new one."""
        if self.dissimilarity != "deprecated":
            if not isinstance(self.metric, bool) and self.metric != "euclidean":
                reason = "You provided both ``dissimilarity`` and ``metric``. Please use only ``metric``."
                raise refusal(self, reason, "", "dissimilarity", "metric")
            warn(
                "The ``dissimilarity`` parameter is deprecated and will be removed in 1.10. Use ``metric`` instead: "
                f"`MDS(metric={self.dissimilarity!r})`.",
                FutureWarning,
            )
        if isinstance(self.metric, bool):
            warn(
                f"Use `metric_mds={self.metric}` instead of `metric={self.metric}`. The support for "
                "metric={True/False} will be dropped in 1.10.",
                FutureWarning,
            )

    def _facts(self) -> dict[str, Any]:
        return {"stress": self.stress_, "stress-1": self.stress1_}

    def _encoding(self) -> LeastStressPlacement:
        curve = None if self.curve_ is None else IsotonicCurve(self.curve_[0], self.curve_[1])
        distances = None if self.X_fit_ is None else DistancesTo.of(self.X_fit_, *self._measure())
        return LeastStressPlacement(self.embedding_, distances, curve)
