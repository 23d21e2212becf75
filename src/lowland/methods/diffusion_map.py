"""Diffusion maps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.data.rows import Rows
from lowland.errors import DataError, ParameterError
from lowland.math.distances.to_points import DistancesTo, check_distances, distance_matrix
from lowland.math.graphs.affinities import (
    affinity_components,
    edge_weights,
    kernel_sum_bandwidth,
    median_squared,
    sampled_distances,
    submatrix,
)
from lowland.math.graphs.laplacian import DiffusionCoordinates, diffusion_coordinates
from lowland.math.graphs.nystrom import HeatTo, Nystrom, NystromNearest
from lowland.math.neighbors.connectivity import Policy
from lowland.math.neighbors.search import ByGivenDistances
from lowland.methods.base import costs
from lowland.methods.base.choices import check_most, positional, refusal
from lowland.methods.base.method import RandomState, attribute, param
from lowland.methods.base.metric import METRIC_ATTRIBUTES, SKIP_MISSING, Metric
from lowland.methods.base.neighborhood import (
    SEARCHES,
    GraphMethod,
    Neighborhood,
    NeighborsAlgorithm,
    disconnected_parameter,
    embedded_mask,
    graph_facts,
    keep_components,
    neighbors_algorithm_parameter,
    own_points,
    rows_at,
    warn_of_weak_coordinates,
    with_left_out,
)
from lowland.methods.base.traits import StudyHints
from lowland.run.progress import pulsed_slices
from lowland.run.run import Run


class DiffusionMap(
    GraphMethod,
    verb="diffusion-map",
    title="diffusion map",
    group="Manifolds",
    cost=costs.diffusion,
    attributes=METRIC_ATTRIBUTES,
    tolerance=1e-9,
    missing_remedy=SKIP_MISSING,
    study=StudyHints(n_neighbors=30),
):
    """Diffusion map: coordinates whose Euclidean distances are the diffusion distances of a random walk on the data.

    The diffusion distance after t steps of the random walk P = D^(-1)K with stationary distribution π is |z_i - z_j|² =
    sum_k (P^t_ik - P^t_jk)²/π_k. It is the Euclidean distance of z = (λ_1^t ψ_1, λ_2^t ψ_2, …), with the eigenvalues
    and eigenvectors Pψ = λψ after the constant ψ_0. The first k coordinates are kept.

    1. Compute the distances d of all pairs or of neighbors.
    2. Choose the bandwidth ε and set K = exp(-d²/ε).
    3. Normalize by the density q = K1: K_ij / (q_i q_j)^α.
    4. Compute the smallest eigenvectors of I - D^(-1/2) K D^(-1/2), which are ψ√π.
    5. New points: Nyström extension ψ(x) = sum_i p(x, x_i) ψ_i / λ.

    See Also
    --------
    SpectralEmbedding : eigenvectors without time.
    Isomap : shortest paths instead of random walks.

    Notes
    -----
    Prefer ``SpectralEmbedding`` if only the edges of a neighbor graph matter, ``Isomap`` if geodesic distances should
    be preserved. Later coordinates can be functions of earlier ones.

    References
    ----------
    Coifman and Lafon 2006, Diffusion maps, Applied and Computational Harmonic Analysis,
    doi:10.1016/j.acha.2006.04.006.

    Bandwidth: Berry and Harlim 2016, Variable bandwidth diffusion kernels, Applied and Computational Harmonic
    Analysis, doi:10.1016/j.acha.2015.01.001.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import DiffusionMap
    >>> angle = 2 * np.pi * np.linspace(0, 1, 300, endpoint=False) ** 1.5  # a circle, sampled unevenly
    >>> Z = DiffusionMap(2).fit_transform(np.column_stack([np.cos(angle), np.sin(angle), angle * 0]))
    >>> radius = np.linalg.norm(Z, axis=1)
    >>> bool(radius.std() < 0.05 * radius.mean())  # the embedding is a circle
    True
    """

    n_components: int = positional(2, "Number of dimensions of the embedding.", at_least=1)
    n_neighbors: int | None = param(
        None,
        "Number of neighbors in a sparse kernel. Fewer are faster and more local. None uses all pairs, n² numbers.",
        at_least=1,
    )
    epsilon: float | Literal["auto", "median"] = param(
        "auto",
        "Bandwidth of the kernel exp(-d²/epsilon): a number, 'auto' (where the sum of the kernel grows fastest) "
        "or 'median' (the median of d²). A small bandwidth isolates points, a large one blurs the geometry.",
        above=0,
    )
    alpha: float = param(
        1.0,
        "Density normalization, from 0 (none) to 1 (full: the sampling density has no effect).",
        at_least=0,
        at_most=1,
    )
    t: float | Literal["auto"] = param(
        1.0,
        "Diffusion time, the number of steps of the random walk. A longer time shrinks the later coordinates "
        "more. 'auto' is the smallest integer with (λ_(k+1) / λ_1)^t at most 0.1.",
        at_least=0,
    )
    metric: str | Callable[..., Any] = param(
        "euclidean", "Distance metric, a function of two points, or 'precomputed': X is a distance matrix."
    )
    metric_params: dict[str, Any] | None = param(None, "Further arguments of the metric, such as {'p': 3}.")
    neighbors_algorithm: NeighborsAlgorithm = neighbors_algorithm_parameter()
    random_state: RandomState = param(
        None, "Seed for the eigenvalue solver and the recall of an approximate search.", at_least=0
    )
    disconnected: Policy = disconnected_parameter()

    eigenvalues_: Array = attribute(
        "Eigenvalues λ of the random walk after the first, which is 1, in decreasing order.", "(n_components,)"
    )
    diffusion_time_: float = attribute("Diffusion time t.")
    epsilon_: float = attribute("Bandwidth of the kernel.")
    dimension_: float | None = attribute(
        "Intrinsic dimension estimated from the growth of the kernel sum, or None unless epsilon='auto'."
    )
    stationary_: Array = attribute("Stationary distribution π of the random walk.", "(n_samples_ - n_excluded_,)")
    density_: Array = attribute("Density normalization q^-alpha of each embedded point.", "(n_samples_ - n_excluded_,)")
    reach_: Array | None = attribute(
        "Distance of each embedded point to its last neighbor, for new points. None without a neighbor search.",
        "(n_samples_ - n_excluded_,)",
    )

    def _metric(self) -> Metric:
        return Metric(self._params.metric, dict(self._params.metric_params or {}))

    def _neighborhood(self) -> Neighborhood:
        p = self._params
        return Neighborhood(
            "DiffusionMap", self._measure(), p.n_neighbors, search=SEARCHES[p.neighbors_algorithm],
            policy=p.disconnected, rng=self._start_generator(),
        )  # fmt: skip

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, graph: Any = None) -> None:
        X = run.to_array(rows, "DiffusionMap")
        run = Run()
        self._check_size(X)
        by_neighbors = self.n_neighbors is not None or graph is not None or self._neighborhood().is_given(X)
        K, label = self._neighbor_kernel(X, run, rows, graph) if by_neighbors else self._pair_kernel(X, run, rows)
        found = diffusion_coordinates(
            K, self.n_components, self.t, run, alpha=self.alpha, labels=label, rng=self._start_generator(), home=X
        )
        warn_of_weak_coordinates("DiffusionMap", found.n_weak)
        self._keep(found, X)
        self._record_convergence(found.outcome, "Set `n_neighbors`, or a larger `epsilon`.")

    def _keep(self, found: DiffusionCoordinates, X: Array) -> None:
        like_array = X.data if is_sparse(X) else X
        Z = like(found.Z, like_array)
        self.diffusion_time_ = found.time
        self.embedding_ = with_left_out(Z, embedded_mask(self))
        self.eigenvalues_ = like(found.eigenvalues, like_array)
        self.stationary_ = like(found.stationary, like_array, xp_of(Z).float64)
        self.density_ = like(found.density, X, xp_of(Z).float64)

    # --- the kernel ---

    def _neighbor_kernel(self, X: Array, run: Run, rows: Rows, given: Any) -> tuple[Any, np.ndarray]:
        """The kernel of neighbors and of each point with itself, a sparse matrix, and its connected components."""
        neighborhood = self._neighborhood()
        found = neighborhood.find(X, run, given)
        components = neighborhood.join(found, X, run)
        keep_components(self, components, X)
        graph, kept = components.graph, components.kept
        if not np.any(graph.length > 0):
            raise DataError("All rows are equal: all distances are zero. Check the data.")
        searched = given is None and not neighborhood.is_given(X)
        self.reach_ = like(found.table()[1][kept, -1], X) if searched else None
        self.points_ = own_points(X, rows, kept) if searched and self.metric != "precomputed" else None
        self._choose_bandwidth(np.concatenate([graph.length, np.zeros(graph.n, graph.length.dtype)]))
        K = edge_weights(graph, "heat", t=self.epsilon_, label=components.labels[kept])
        K = scipy.sparse.csr_array(K + scipy.sparse.eye_array(K.shape[0]))
        return K, affinity_components(K, loops=True)

    def _pair_kernel(self, X: Array, run: Run, rows: Rows) -> tuple[Array, np.ndarray]:
        """The kernel values of all pairs, and their connected components, which are reported."""
        n, given = X.shape[0], self.metric == "precomputed"
        D = check_distances(X) if given else distance_matrix(X, run, *self._measure())
        self._choose_bandwidth(sampled_distances(X, *self._measure()))
        xp, width = xp_of(D), math.prod(D.shape[1:])
        K = xp.concat([xp.exp(-((D[part, ...] / self.epsilon_**0.5) ** 2)) for part in pulsed_slices(n, width)])
        label = affinity_components(K, loops=True)
        components = self._neighborhood().split(label, "Raise `epsilon`")
        keep_components(self, components, X)
        kept = components.kept
        self.reach_ = None
        self.points_ = None if given else own_points(X, rows, kept)
        return (K if kept.all() else submatrix(K, kept)), label[kept]

    def _choose_bandwidth(self, distances: Array) -> None:
        """Set the bandwidth ε, by the rule that ``epsilon`` names."""
        self.dimension_ = None
        if self.epsilon == "auto":
            chosen = kernel_sum_bandwidth(distances)
            self.epsilon_, self.dimension_ = chosen.epsilon, chosen.dimension
        elif self.epsilon == "median":
            self.epsilon_ = median_squared(distances)
        else:
            self.epsilon_ = float(self.epsilon)

    # --- choices ---

    def _check_size(self, X: Array) -> None:
        n = X.shape[0]
        check_most(self, "n_components", n - 1, f"the data has {n} rows.")
        if self.n_neighbors is not None and self.n_neighbors >= n:
            raise refusal(self, f"the data has {n} rows.", f"Choose at most {n - 1}, or `None`.", "n_neighbors")

    # --- new rows ---

    def _encoding(self) -> Callable[[Array], Array]:
        """Nyström extension: z(x) = sum_i p(x, x_i) z_i / λ."""
        p, neighborhood, kept = self._params, self._neighborhood(), embedded_mask(self)
        lam = to_numpy(self.eigenvalues_).astype(np.float64)
        Z, offset = rows_at(self.embedding_, kept), np.zeros_like(lam)
        if self.reach_ is not None and self.points_ is not None:
            nearest = neighborhood.nearest_among(self.points_, min(3 * p.n_neighbors, int(Z.shape[0])))
            return NystromNearest(
                nearest, p.n_neighbors, self.reach_, Z, offset, lam, "heat", self.epsilon_, self.density_
            )
        if self.points_ is None and (p.metric != "precomputed" or self.reach_ is not None):
            raise ParameterError(
                "DiffusionMap cannot transform new rows: it was fitted to a neighbor graph alone. Fit it to rows, or "
                "to a distance matrix with `n_neighbors=None`."
            )
        distances = None if self.points_ is None else DistancesTo.of(self.points_, *neighborhood.metric)
        place = Nystrom(HeatTo(self.epsilon_, distances, relative=True), Z, offset, lam, self.density_)
        return ByGivenDistances(place, kept, p.n_neighbors) if neighborhood.metric.precomputed else place

    def _facts(self) -> dict[str, Any]:
        facts = {
            "eigenvalues": self.eigenvalues_[:10],
            "epsilon": self.epsilon_,
            "diffusion time": self.diffusion_time_,
        }
        return {**facts, **graph_facts(self)}
