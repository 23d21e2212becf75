"""Diffusion maps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.blocks.distances.metrics import check_metric
from lowland.blocks.distances.to_points import check_distances, distance_matrix
from lowland.blocks.manifolds.bandwidth import kernel_sum_bandwidth, median_squared, sampled_distances
from lowland.blocks.manifolds.diffusion import DiffusionCoordinates, diffusion_coordinates
from lowland.blocks.manifolds.graph_affinities import affinity_components, among, edge_weights, require_graph
from lowland.blocks.manifolds.nystrom import HeatTo, Nystrom, NystromNearest
from lowland.data.rows import ArrayRows, Rows
from lowland.errors import DataError, ParameterError
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.graph_map import GraphMap
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run, run_for


class DiffusionMap(GraphMap, verb="diffusion-map", tolerance=1e-9, study=StudyHints(n_neighbors=30)):
    """Diffusion map: coordinates in which straight distances say how far apart a random walk finds two points.

    Problem: z with |z_i - z_j|² = sum_k (P^t_ik - P^t_jk)²/π_k, the distance after t steps of the walk P = D^(-1)K on
    the rows, with π its stationary distribution. The answer: z = (λ_1^t ψ_1, λ_2^t ψ_2, …) with Pψ = λψ, of which the
    first few are kept.

    1. Measure distances d, of all pairs or of neighbors (``blocks.distances.to_points``, ``blocks.neighbors.search``).
    2. Choose the bandwidth ε (``blocks.manifolds.bandwidth``) and take K = exp(-d²/ε).
    3. Divide out the density q = K1: K_ij / (q_i q_j)^α (``blocks.manifolds.diffusion``).
    4. Find the slowest eigenvectors of I - D^(-1/2) K D^(-1/2), which are ψ√π (``blocks.manifolds.laplacian``).
    5. New rows: ψ(x) = sum_i p(x, x_i) ψ_i / λ (Nystrom, ``blocks.manifolds.nystrom``), exact on the rows fitted.

    Cost: n² (d + 20 k) operations and 8 n² bytes; with n_neighbors the search, then some hundreds of products with a
    sparse matrix. Prefer ``SpectralEmbedding`` where only the links count, ``Isomap`` where lengths should be kept.

    Attributes: ``embedding_`` (n, k), ``eigenvalues_`` (k,) λ of P after the first, which is 1, ``diffusion_time_``,
    ``epsilon_``, ``dimension_`` (that the kernel's sum tells of; epsilon='auto' only), ``stationary_`` (n,) π,
    ``density_`` (n,) q^-α, ``reach_``, ``points_``, ``n_connected_components_``, ``component_labels_``,
    ``embedded_mask_``, ``n_excluded_``, ``n_edges_added_``, ``recall_``, ``n_samples_``, ``solver_``, ``n_iter_``.

    Reference: Coifman and Lafon 2006, doi:10.1016/j.acha.2006.04.006; the width: Berry and Harlim 2016,
    doi:10.1016/j.acha.2015.01.001.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import DiffusionMap
    >>> angle = 2 * np.pi * np.linspace(0, 1, 300, endpoint=False) ** 1.5  # a circle, denser at one end
    >>> Z = DiffusionMap(2).fit_transform(np.column_stack([np.cos(angle), np.sin(angle), angle * 0]))
    >>> radius = np.linalg.norm(Z, axis=1)
    >>> bool(radius.std() < 0.05 * radius.mean())  # found as a circle all the same
    True
    """

    n_components: int = param(2, "Dimensions of the map.", at_least=1, positional=True)
    n_neighbors: int | None = param(
        None, "Neighbours whose kernel values are kept; None: those of all pairs, n² numbers.", at_least=1
    )
    epsilon: float | Literal["auto", "median"] = param(
        "auto",
        "Width of the kernel exp(-d²/epsilon); 'auto': where the kernel's sum grows fastest; 'median': the median d².",
        above=0,
    )
    alpha: float = param(
        1.0, "How much of the rows' density is divided out: 0 none, 1 all, ½ in between.", at_least=0, at_most=1
    )
    t: float | Literal["auto"] = param(
        1.0,
        "Steps of the walk; 'auto': the fewest after which the first coordinate left out counts a tenth of the first.",
        at_least=0,
    )
    metric: str | Callable[..., Any] = param(
        "euclidean", "How rows are apart: a metric, a function of two rows, or 'precomputed' for a distance matrix."
    )
    metric_params: dict[str, Any] | None = param(None, "Further arguments of the metric, such as {'p': 3}.")
    neighbors_algorithm: Literal["auto", "brute", "kd_tree", "ball_tree", "approximate"] = param(
        "auto", "How neighbours are searched for; 'auto' takes the cheapest exact way."
    )
    random_state: RandomState = param(None, "Seed of the solver's start and of an approximate search.", at_least=0)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, graph: Any = None) -> None:
        """Kernel, density, walk, slowest eigenvectors, coordinates."""
        check_metric(self.metric, self.metric_params)
        X = run.to_array(rows, "DiffusionMap")
        run = run_for(ArrayRows(X)) if not is_sparse(X) else run
        self._check_size(X)
        by_neighbors = self.n_neighbors is not None or graph is not None or self._is_given(X)
        K, label = self._neighbor_kernel(X, run, rows, graph) if by_neighbors else self._pair_kernel(X, run, rows)
        found = diffusion_coordinates(
            K, self.n_components, self.t, run, alpha=self.alpha, labels=label, rng=self._generator()
        )
        self._warn_of_weak_coordinates(found.n_weak)
        self._keep(found, X)
        self._record_convergence(found.outcome, "Set n_neighbors, or a larger epsilon.")

    def _keep(self, found: DiffusionCoordinates, X: Array) -> None:
        """Set the fitted attributes, in the precision and library of the rows."""
        like_array = X.data if is_sparse(X) else X
        Z = like(found.Z, like_array)
        self.diffusion_time_ = found.time
        self.embedding_ = self._with_left_out(Z)
        self.eigenvalues_ = like(found.eigenvalues, like_array)
        self.stationary_ = like(found.stationary, like_array, xp_of(Z).float64)
        self.density_ = like(found.density, X, xp_of(Z).float64)

    # --- the kernel ---

    def _neighbor_kernel(self, X: Array, run: Run, rows: Rows, given: Any) -> tuple[Any, np.ndarray]:
        """The kernel of neighbors, and of each point with itself, a sparse matrix, and the components it leaves."""
        require_graph(X.shape[0], self.n_neighbors, self.n_components, run)
        found = self._neighbors(X, run, given)
        graph = self._joined(found, X, run)
        if not np.any(graph.length > 0):
            raise DataError("All rows are equal: no neighbour is nearer than another. Check the data.")
        searched = given is None and not self._is_given(X)
        self.reach_ = like(found.table()[1][self._kept_mask, -1], X) if searched else None
        self.points_ = self._own_points(X, rows) if searched and self.metric != "precomputed" else None
        self._choose_bandwidth(np.concatenate([graph.length, np.zeros(graph.n, graph.length.dtype)]))
        K = edge_weights(graph, "heat", t=self.epsilon_, label=to_numpy(self.component_labels_)[self._kept_mask])
        K = scipy.sparse.csr_array(K + scipy.sparse.eye_array(K.shape[0]))
        return K, affinity_components(K, loops=True)

    def _pair_kernel(self, X: Array, run: Run, rows: Rows) -> tuple[Array, np.ndarray]:
        """The kernel values of all pairs, and their components, which are reported."""
        n, given = X.shape[0], self.metric == "precomputed"
        size = ArrayRows(X).dtype.itemsize
        run.require(2.5 * size * n * n, f"The {n} x {n} kernel values of all pairs", "Set n_neighbors")
        self._choose_bandwidth(sampled_distances(X, *self._measure()))
        D = check_distances(X) if given else distance_matrix(X, run, *self._measure())
        K = _heat(D, self.epsilon_)
        label = affinity_components(K, loops=True)
        kept = self._keep_by_affinity(label, "Raise epsilon", X)
        self.reach_ = None
        self.points_ = None if given else self._own_points(X, rows)
        return (K if kept.all() else among(K, kept)), label[kept]

    def _choose_bandwidth(self, distances: Array) -> None:
        """ε by the rule asked for."""
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
        n, k = X.shape[0], self.n_components
        if k > n - 1:
            raise ParameterError(f"DiffusionMap(n_components={k}): the data has {n} rows. Choose at most {n - 1}.")
        if self.n_neighbors is not None and self.n_neighbors >= n:
            raise ParameterError(
                f"DiffusionMap(n_neighbors={self.n_neighbors}): the data has {n} rows. Choose at most {n - 1}, or None."
            )

    # --- new rows ---

    def _placing(self) -> Callable[[Array], Array]:
        """Nystrom's extension: z(x) = sum_i p(x, x_i) z_i / λ."""
        lam = to_numpy(self.eigenvalues_).astype(np.float64)
        Z, offset = self._embedded(self.embedding_), np.zeros_like(lam)
        if self.reach_ is not None and self.points_ is not None:
            assert self.n_neighbors is not None
            nearest = self._nearest_among(self.points_, min(3 * self.n_neighbors, int(Z.shape[0])))
            return NystromNearest(
                nearest, self.n_neighbors, self.reach_, Z, offset, lam, "heat", self.epsilon_, self.density_
            )
        if self.points_ is None and (self.metric != "precomputed" or self.reach_ is not None):
            raise ParameterError(
                "DiffusionMap cannot place new rows among points of which only a graph is known. Fit rows, or all "
                "distances with n_neighbors=None."
            )
        return Nystrom(
            HeatTo(self.epsilon_, self._distances_to(self.points_), relative=True), Z, offset, lam, self.density_
        )

    def _facts(self) -> dict[str, Any]:
        facts = {
            "eigenvalues": self.eigenvalues_[:10],
            "epsilon": self.epsilon_,
            "diffusion time": self.diffusion_time_,
        }
        return {**facts, **super()._facts()}


def _heat(D: Array, epsilon: float) -> Array:
    """exp(-d²/ε), on the host in place of distances that we measured ourselves."""
    xp = xp_of(D)
    return xp.exp(-((D / epsilon**0.5) ** 2))
