"""Multidimensional scaling by least squares."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal, Self, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lowland.arrays.namespace import xp_of
from lowland.blocks.distances.dissimilarities import Dissimilarities, dissimilarities
from lowland.blocks.scaling.isotonic import IsotonicCurve
from lowland.blocks.scaling.majorization import Configuration, stress_majorization
from lowland.blocks.scaling.nonmetric import nonmetric_scaling
from lowland.blocks.scaling.out_of_sample import LeastStressPlacement
from lowland.data.open import open_rows
from lowland.data.rows import Rows
from lowland.errors import ParameterError, warn
from lowland.methods.base.distance_warnings import warn_if_distances, warn_of_one_point
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.point_map import PointMap
from lowland.methods.base.traits import ALL_PAIRS, StudyHints
from lowland.run.run import Run

_Class = TypeVar("_Class")


def _without_dissimilarity(cls: type[_Class]) -> type[_Class]:
    """Tell those who pass a parameter that scikit-learn has given up what its name is now."""
    make = cls.__init__

    @functools.wraps(make)
    def __init__(self: Any, *args: Any, **options: Any) -> None:  # noqa: N807  it takes the place of the one wrapped
        if "dissimilarity" in options:
            raise ParameterError(
                f"MDS(dissimilarity={options['dissimilarity']!r}): the parameter is called metric now, as in "
                f"scikit-learn. Write MDS(metric={options['dissimilarity']!r})."
            )
        make(self, *args, **options)

    cls.__init__ = __init__  # type: ignore[method-assign]
    return cls


@_without_dissimilarity
class MDS(
    PointMap,
    verb="mds",
    tolerance=1e-6,
    study=StudyHints(all_pairs_up_to=ALL_PAIRS, beyond="sample", takes_distances=True),
):
    """Multidimensional scaling by least squares: points whose distances are as close as can be to given ones.

    Problem: over points z_1 … z_n in k dimensions, minimize the stress sum_{i<j} w_ij (δ_ij - |z_i - z_j|)².
    Non-metric: the δ are first replaced by the disparities nearest to the distances that keep to the order of the δ.

    1. Measure the dissimilarities δ of all rows, or take them as given; NaN: not known
       (``blocks.distances.to_points``).
    2. Start from classical scaling (``blocks.spectra.leading``), and from as many random configurations as asked for.
    3. Move every point to where the others, each at its distance, would have it on average: the majorizing step, which
       never raises the stress; quasi-Newton directions over it take ten times fewer of them
       (``blocks.scaling.majorization``). Non-metric: before each step a monotone regression gives the disparities
       (``blocks.scaling.isotonic``).
    4. Turn the result to its principal axes. New rows are placed where their own stress is least
       (``blocks.scaling.out_of_sample``).

    Cost: n² k operations an iteration, some tens of iterations; memory one n x n matrix, in float32 beyond 4,096 rows.
    Non-metric: three such matrices more, on the host. Prefer ``PCA`` for linear structure and many rows,
    ``SammonMapping`` where small distances matter most.

    Attributes: ``embedding_`` (n, k), ``stress_`` (raw, or normalized as asked for), ``stress1_`` (Kruskal's stress-1,
    as R's smacof and isoMDS tell it), ``dissimilarity_matrix_`` (n, n), ``n_iter_``, ``converged_``, ``trace_`` (stress
    at the start and after each iteration), ``init_stresses_`` (stress reached from each start), ``curve_`` (2, m)
    (non-metric: dissimilarities and their disparities), ``X_fit_``, ``n_samples_``, ``n_features_in_``,
    ``feature_names_in_``.

    Reference: Kruskal 1964, doi:10.1007/BF02289565; de Leeuw and Mair 2009, doi:10.18637/jss.v031.i03.

    Examples
    --------
    >>> from lowland import MDS
    >>> from lowland.data import load_dataset
    >>> mds = MDS(2).fit(load_dataset("iris").X)
    >>> mds.embedding_.shape, round(mds.stress1_, 3)
    ((150, 2), 0.033)
    """

    n_components: int = param(2, "Dimensions of the configuration.", at_least=1, positional=True)
    metric_mds: bool = param(True, "Fit the dissimilarities themselves; if not, only their order (non-metric).")
    n_init: int = param(
        1, "Starts; the first is that of init, the others are random. The best result is kept.", at_least=1
    )
    init: Literal["classical_mds", "random"] = param("classical_mds", "Where the first start comes from.")
    max_iter: int = param(300, "Most iterations from each start.", at_least=1)
    verbose: int | bool = param(
        0, "Accepted as in scikit-learn, without effect: lowland.config or --progress shows it."
    )
    eps: float = param(
        1e-6, "Stop when an iteration lowers the stress by less than this share of the squared distances.", at_least=0
    )
    n_jobs: int | None = param(
        None, "Accepted as in scikit-learn, without effect: lowland.config or --threads sets them."
    )
    random_state: RandomState = param(None, "Seed of the random starts.", at_least=0)
    metric: str | Callable[..., float] = param(
        "euclidean", "How rows are compared, such as 'manhattan', or 'precomputed': they are distances of all pairs."
    )
    metric_params: dict[str, Any] | None = param(None, "Further arguments of the metric.")
    normalized_stress: bool | Literal["auto"] = param(
        "auto", "Tell the stress relative to the distances of the result; 'auto': only of non-metric scaling."
    )
    ties: Literal["primary", "secondary"] = param(
        "primary", "Non-metric: equal dissimilarities may get different disparities (primary) or not (secondary)."
    )
    solver: Literal["majorization", "gradient"] = param("majorization", "How the stress is minimized.")
    accelerate: bool = param(
        True, "Correct the majorizing steps by the curvature met on the way; if not, plain SMACOF."
    )

    def fit(self, X: Any, y: Any = None, init: Any = None, weights: Any = None) -> Self:
        """Fit to the rows of X, or to dissimilarities of all pairs (metric='precomputed').

        ``init`` (n, k) is a configuration to start from; ``weights`` (n, n) says how much each pair counts.
        """
        if isinstance(self.metric, bool):
            raise ParameterError(
                f"MDS(metric={self.metric}): whether to fit the dissimilarities or only their order is asked by "
                f"metric_mds now, as in scikit-learn. Write MDS(metric_mds={self.metric})."
            )
        return self._fit(X, y, init=init, pair_weights=weights)

    def fit_transform(self, X: Any, y: Any = None, init: Any = None, weights: Any = None) -> Any:
        """Fit as ``fit`` does and return the coordinates, (n, k)."""
        return self._present(self.fit(X, y, init, weights).embedding_, X)

    def _solve(
        self,
        rows: Rows,
        run: Run,
        y: np.ndarray | None,
        weights: np.ndarray | None,
        init: Any = None,
        pair_weights: Any = None,
    ) -> None:
        """Dissimilarities, then the lowest stress reached from the starts."""
        data = dissimilarities(
            rows,
            run,
            self.metric,
            self.metric_params,
            owner="MDS",
            missing=True,
            matrices=(1 if self.metric_mds else 4) + (0 if pair_weights is None else 2),
        )
        if data.X is not None:
            warn_if_distances(data.X, "MDS")
        scale = stress_majorization if self.metric_mds else functools.partial(nonmetric_scaling, ties=self.ties)
        found = scale(
            data.D,
            self.n_components,
            weights=None if pair_weights is None else open_rows(pair_weights).to_array(),
            init=self.init if init is None else data.in_unit_of_distances(open_rows(init).to_array()),
            n_init=self.n_init,
            eps=self.eps,
            max_iter=self.max_iter,
            solver=self.solver,
            accelerate=self.accelerate,
            rng=self._generator(),
            run=data.run,
        )
        self._keep(found, data)

    def _keep(self, found: Configuration, data: Dissimilarities) -> None:
        """Set the fitted attributes, in the unit and the precision of the data."""
        if found.squares == 0:
            warn_of_one_point("MDS")
        unit = data.unit if self.metric_mds else 1.0  # metric stress is made of squared distances
        normalized = not self.metric_mds if self.normalized_stress == "auto" else self.normalized_stress
        relative = found.normalized_stress if normalized else None
        self.stress_ = found.stress * unit * unit if relative is None else relative
        self.stress1_ = found.stress1
        self.embedding_ = xp_of(found.Z).astype(found.Z if unit == 1 else found.Z * unit, data.result_dtype)
        self.dissimilarity_matrix_, self.X_fit_ = data.matrix, data.X
        self.curve_ = None if found.curve is None else np.stack([found.curve.x * data.unit, found.curve.y])
        self.n_samples_ = int(found.Z.shape[0])
        self.n_iter_, self.converged_ = found.outcome.iterations, found.outcome.converged
        self.trace_ = tuple(stress * unit * unit for stress in found.outcome.trace)
        self.init_stresses_ = tuple(stress * unit * unit for stress in found.init_stresses)
        if not self.converged_:
            warn(
                f"MDS stopped after {self.n_iter_} iterations before the stress settled (the last one lowered it by "
                f"{self.trace_[-2] - self.trace_[-1]:.1e} of {self.trace_[-1]:.3g}). Raise max_iter or eps.",
                ConvergenceWarning,
            )

    def _facts(self) -> dict[str, Any]:
        return {"stress": self.stress_, "stress-1": self.stress1_}

    def _placing(self) -> LeastStressPlacement:
        curve = None if self.curve_ is None else IsotonicCurve(self.curve_[0], self.curve_[1])
        return LeastStressPlacement(self.embedding_, self._distances_to(self.X_fit_), curve)
