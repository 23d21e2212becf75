"""Isomap."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, is_sparse, like, on_accelerator, to_numpy, xp_of
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.math.distances.to_points import DistancesTo
from lowland.math.graphs.geodesics import (
    IN_DOUBLE,
    GeodesicsToNewRows,
    PathMethod,
    SweepStep,
    elbow,
    geodesic_distances,
    landmark_coordinates,
    replace_infinite,
    residual_variances,
    sample_points,
    strain,
    sweep_neighbors,
    symmetric_part,
)
from lowland.math.neighbors.connectivity import Components, Policy
from lowland.math.neighbors.search import ByGivenDistances
from lowland.math.scaling.classical import Placement, Scaling, classical_scaling
from lowland.methods.base import costs
from lowland.methods.base.choices import choose_landmarks, ignored, positional, refusal
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
    scikit_learn_neighbors,
    with_left_out,
)
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run, run_for

_SHORTEST = 1e-150  # a longest edge below this: its square underflows


class Isomap(
    GraphMethod,
    verb="isomap",
    group="Manifolds",
    cost=costs.geodesic,
    attributes=METRIC_ATTRIBUTES,
    tolerance=1e-7,
    missing_remedy=SKIP_MISSING,
    study=StudyHints(n_neighbors=10, all_pairs_up_to=12_000),
):
    """Isomap: nonlinear dimensionality reduction that preserves geodesic distances along a manifold.

    With D the matrix of geodesic distances, the lengths of the shortest paths in the neighbor graph, Isomap solves the
    problem of classical multidimensional scaling: minimize |B - ZZ'| over Z (n, k), where B = -½ J(D∘D)J and
    J = I - 11'/n. The solution is Z = V Λ^½, from the k largest eigenvalues Λ of B and their eigenvectors V.

    1. Build the neighbor graph and handle its connected components.
    2. Compute the geodesic distances between all points, or from landmarks to all points.
    3. Apply classical scaling to them.
    4. Place other points and new points by Gower's formula, from geodesic distances through their nearest training
       points.

    See Also
    --------
    LocallyLinearEmbedding : local weights instead of shortest paths.
    DiffusionMap : many paths instead of the shortest.
    ClassicalMDS : Euclidean instead of geodesic distances.

    Notes
    -----
    Prefer ``PCA`` if the data is close to a linear subspace, and ``LocallyLinearEmbedding`` or ``SpectralEmbedding`` if
    only neighborhoods matter. A single short-circuit edge across a gap distorts the whole embedding: check
    ``neighbors_sweep``. Holes in the manifold stretch it, since shortest paths lead around them.

    References
    ----------
    Tenenbaum, de Silva and Langford 2000, A global geometric framework for nonlinear dimensionality reduction,
    Science, doi:10.1126/science.290.5500.2319.

    De Silva and Tenenbaum 2004, Sparse multidimensional scaling using landmark points, Technical report, Stanford
    University.

    Examples
    --------
    >>> from lowland import Isomap
    >>> from lowland.data import swiss_roll
    >>> isomap = Isomap(2, n_neighbors=8).fit(swiss_roll(800, seed=0).X)
    >>> isomap.embedding_.shape, isomap.n_connected_components_, isomap.elbow_
    ((800, 2), 1, 2)
    """

    n_components: int = positional(2, "Number of dimensions of the embedding.", at_least=1)
    n_neighbors: int | None = param(
        5,
        "Number of neighbors of each point. With too few the graph is disconnected, with too many shortcuts cross "
        "gaps. None if `radius` is set.",
        at_least=1,
    )
    radius: float | None = param(
        None, "Connect all points within this distance instead of the n_neighbors nearest.", above=0, at_most=math.inf
    )
    eigen_solver: Literal["auto", "arpack", "dense"] = param(
        "auto",
        "'dense' computes all eigenvalues. 'auto' and 'arpack' compute the leading ones, iteratively above 1,000 "
        "points.",
    )
    tol: float = param(
        0.0, "Tolerance of the iterative eigenvalue solver. 0 means 1e-9, or 1e-8 for float32.", at_least=0
    )
    max_iter: int | None = param(
        None, "Maximum number of iterations of the eigenvalue solver. None means no limit.", at_least=1
    )
    path_method: PathMethod = param(
        "auto", "Shortest-path algorithm: 'auto' and 'D' (Dijkstra), or 'FW' (Floyd-Warshall), which is slower."
    )
    neighbors_algorithm: NeighborsAlgorithm = neighbors_algorithm_parameter()
    n_jobs: int | None = ignored(None, "set lowland.config(threads=...) instead")
    metric: str | Callable[..., float] = param(
        "minkowski",
        "Distance metric, a function of two points, or 'precomputed': X is a distance matrix or a sparse neighbor "
        "graph.",
    )
    p: float = param(
        2.0,
        "Power of the Minkowski metric. 2 is the Euclidean distance, 1 the Manhattan distance.",
        at_least=1,
        at_most=math.inf,
    )
    metric_params: dict[str, Any] | None = param(None, "Further arguments of the metric.")
    n_landmarks: int | None = param(
        None,
        "Number of landmark points (landmark Isomap). Fewer are faster and less accurate. None uses all points, "
        "which is exact.",
        at_least=2,
    )
    random_state: RandomState = param(None, "Seed for the choice of landmarks.", at_least=0)
    disconnected: Policy = disconnected_parameter()

    dist_matrix_: Array = attribute(
        "Geodesic distances between embedded points, or with landmarks from the landmarks to all points.",
        "(n_samples_, n_samples_) or (n_landmarks, n_samples_)",
    )
    eigenvalues_: Array = attribute("Largest eigenvalues of B, in decreasing order.", "(n_components,)")
    lowest_eigenvalue_: float = attribute(
        "Most negative eigenvalue of B that was computed, or 0. It is negative if the geodesic distances are not "
        "Euclidean."
    )
    landmarks_: Array | None = attribute("Row numbers of the landmarks, or None without landmarks.", "(n_landmarks,)")
    weights_: Array = attribute(
        "Weights of Gower's formula, for new points.", "(n_landmarks or n_samples_, n_components)"
    )
    mean_squares_: Array = attribute(
        "Mean squared geodesic distance of each point or landmark, for new points.", "(n_landmarks or n_samples_,)"
    )

    def _metric(self) -> Metric:
        p = self._params
        power = {"p": p.p} if p.metric == "minkowski" else {}
        return Metric(p.metric, {**power, **(p.metric_params or {})})

    def _neighborhood(self) -> Neighborhood:
        p = self._params
        return Neighborhood(
            "Isomap", self._measure(), p.n_neighbors, p.radius, SEARCHES[p.neighbors_algorithm], p.disconnected,
            self._start_generator(),
        )  # fmt: skip

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, graph: Any = None) -> None:
        if self.n_neighbors is not None and self.radius is not None and graph is None:
            raise ParameterError(
                f"Both `n_neighbors` and `radius` are provided. Use `Isomap(radius={self.radius}, n_neighbors=None)` "
                "to connect all rows within the radius."
            )
        neighborhood = self._neighborhood()
        given = rows.is_sparse and neighborhood.metric.precomputed  # a graph, whose edges are checked there
        X = rows.to_array() if given else run.to_array(rows, "Isomap")  # (n, d)
        here = Run()  # shortest paths are computed on this machine, also for rows from a cluster
        found = neighborhood.graph(X, here, graph)
        keep_components(self, found, X)
        if 0 < (longest := float(found.graph.length.max(initial=0))) < _SHORTEST:
            raise DataError(
                f"Isomap: distances of neighbors, at most {longest:.2g}, are too small to be squared. Rescale the "
                "columns or the distances."
            )
        marks = self._landmarks(found)  # (m,) numbers among the embedded points, or None
        n = found.graph.n
        self._check_dimensions(n if marks is None else len(marks), "rows" if marks is None else "landmarks")
        double = n <= IN_DOUBLE and rows.dtype == np.float64
        D = geodesic_distances(
            found.graph,
            here,
            sources=marks,
            method=self.path_method,
            dtype=np.float64 if double else np.float32,
            home=X,
        )  # (n, n) or (m, n)
        if self.disconnected == "ignore" and self.n_connected_components_ > 1:
            D = to_numpy(D)
            replace_infinite(D)
        kind = X.data if is_sparse(X) else X
        self.dist_matrix_ = like(D, kind, getattr(xp_of(kind), str(D.dtype).rpartition(".")[2]))
        among = self.dist_matrix_ if on_accelerator(kind) else D  # scaled on the device
        scaling = classical_scaling(
            among if marks is None else symmetric_part(D, marks), self.n_components, here,
            whole=self.eigen_solver == "dense", tol=self.tol or None, max_iter=self.max_iter,
        )  # fmt: skip
        Z = scaling.Z if marks is None else landmark_coordinates(D, scaling)
        self.landmarks_ = None if marks is None else like(np.flatnonzero(found.kept)[marks], kind, xp_of(kind).int64)
        self.points_ = None if neighborhood.metric.precomputed else own_points(X, rows, found.kept)
        self.embedding_ = with_left_out(like(Z, kind), found.kept)
        self._keep(scaling)

    def _landmarks(self, found: Components) -> np.ndarray | None:
        """Rows spread evenly over all, and one more from each component that would have none."""
        mark = choose_landmarks(self, lambda: found.graph.n)
        if mark is None:
            return None
        label = found.labels[found.kept]
        without = np.setdiff1d(label, label[mark])
        if len(without):
            added = "1 landmark was" if len(without) == 1 else f"{len(without)} landmarks were"
            warn(
                f"`Isomap(n_landmarks={self.n_landmarks})`: {len(without)} of {self.n_connected_components_} connected "
                f"components had no landmark, so {added} added. Raise `n_landmarks` or `n_neighbors`.",
                DataWarning,
            )
        mark[[int(np.argmax(label == c)) for c in without]] = True
        return np.flatnonzero(mark)

    def _check_dimensions(self, m: int, points: str) -> None:
        if self.n_components >= m:
            remedy = f"Choose at most {m - 1}{', or more landmarks' * (points == 'landmarks')}."
            raise refusal(self, f"{m} {points} span at most {m - 1} dimensions.", remedy, "n_components")

    def _keep(self, scaling: Scaling) -> None:
        Z = self.embedding_
        found, double = scaling.eigenvalues, xp_of(Z).float64
        if found.positive < self.n_components:
            positive = "1 positive eigenvalue" if found.positive == 1 else f"{found.positive} positive eigenvalues"
            warn(
                f"`Isomap(n_components={self.n_components})`: classical scaling of the geodesic distances has only "
                f"{positive}, so the other coordinates are zero. Lower `n_components`, or raise `n_neighbors`.",
                DataWarning,
            )
        self.weights_, self.mean_squares_ = like(scaling.weights, Z, double), like(scaling.means, Z, double)
        self.eigenvalues_, self.lowest_eigenvalue_ = like(np.ascontiguousarray(found.leading), Z, double), found.lowest
        self._record_convergence(scaling.outcome, "Raise `tol` or `max_iter`, or set `eigen_solver='dense'`.")

    # --- as in scikit-learn, made when they are read ---

    @property
    def nbrs_(self) -> Any:
        """A fitted sklearn.neighbors.NearestNeighbors of the embedded points, as in scikit-learn. Made on access."""
        return scikit_learn_neighbors(self)

    @property
    def kernel_pca_(self) -> Any:
        """A fitted sklearn.decomposition.KernelPCA of the geodesic distances, as in scikit-learn. Made on access."""
        from sklearn.decomposition import KernelPCA

        check_is_fitted(self)
        if self.landmarks_ is not None:
            raise AttributeError("Isomap with landmarks has no kernel_pca_: distances of all pairs are not known.")
        D = to_numpy(self.dist_matrix_).astype(np.float64)
        p = self._params
        found = KernelPCA(
            n_components=p.n_components, kernel="precomputed", eigen_solver=p.eigen_solver, tol=p.tol,
            max_iter=p.max_iter, n_jobs=p.n_jobs,
        )  # fmt: skip
        return found.fit(-0.5 * D**2)

    # --- diagnostics ---

    @property
    def residual_variances_(self) -> np.ndarray:
        """Residual variances 1 - r² between geodesic and Euclidean distances, for embeddings of 1 to 10 dimensions.

        Computed on access, on at most 1,000 points.
        """
        check_is_fitted(self)
        return residual_variances(self._sample())

    @property
    def elbow_(self) -> int:
        """Elbow of the residual variances: an estimate of the intrinsic dimension, at most the number of columns."""
        return self._elbow_of(self.residual_variances_)

    def _elbow_of(self, left: np.ndarray) -> int:
        found = elbow(left, self.n_samples_)
        return found if self.points_ is None else min(found, int(self.n_features_in_))

    def _sample(self) -> np.ndarray:
        """The geodesic distances between all rows, (s, s), or 1,000 sampled ones; with landmarks, between these."""
        D, marks = to_numpy(self.dist_matrix_), self._marks()
        some = sample_points(len(D))
        return D[np.ix_(some, some if marks is None else marks[some])]

    def _marks(self) -> np.ndarray | None:
        if self.landmarks_ is None:
            return None
        return np.searchsorted(np.flatnonzero(embedded_mask(self)), to_numpy(self.landmarks_))

    def reconstruction_error(self) -> float:
        """Return |B - ZZ'| / n, with B = -½ J(D∘D)J of the geodesic distances D of all points or of the landmarks."""
        check_is_fitted(self)
        D, marks = to_numpy(self.dist_matrix_), self._marks()
        kept = np.maximum(to_numpy(self.eigenvalues_), 0)
        return strain(D if marks is None else D[:, marks], to_numpy(self.mean_squares_), kept)

    def neighbors_sweep(self, X: Any, n_neighbors: Any = (5, 6, 8, 10, 12, 15, 20)) -> tuple[SweepStep, ...]:
        """Return how the neighbor graph changes with n_neighbors: components, geodesic distances, short circuits.

        ``n_neighbors`` is one integer or several. Nothing is fitted. X must fit in memory. Above 2,000 points, geodesic
        distances from 2,000 sampled points are used.
        """
        rows, _ = self._open(X, None)
        self._admit_missing(rows)
        run = run_for(rows)
        X = run.to_array(rows, "Isomap.neighbors_sweep")
        metric = self._metric()
        params = metric.columns(rows) if metric.reads_text else metric.params
        return sweep_neighbors(
            X, n_neighbors, Run(), n_components=self.n_components, metric=metric.name, params=params,
            search=SEARCHES[self.neighbors_algorithm],
        )  # fmt: skip

    def _facts(self) -> dict[str, Any]:
        left = self.residual_variances_
        return {
            **graph_facts(self),
            "eigenvalues": self.eigenvalues_,
            "residual variance by dimension": left.round(4),
            "elbow": self._elbow_of(left),
            "reconstruction error": self.reconstruction_error(),
        }

    # --- new rows ---

    def _encoding(self) -> Placement | ByGivenDistances:
        p, points, given = self._params, self.points_, self.points_ is None
        neighborhood, kept = self._neighborhood(), embedded_mask(self)
        k = min(p.n_neighbors or 1, self.dist_matrix_.shape[1])
        near = None if given else neighborhood.nearest_among(points, k)
        distances = None if given else DistancesTo.of(points, *neighborhood.metric)
        numbers = None if kept.all() or not given else np.flatnonzero(kept)
        through = GeodesicsToNewRows(to_numpy(self.dist_matrix_), near, k, distances, p.radius, numbers)
        place = Placement(self.weights_, self.mean_squares_, through)
        if not neighborhood.metric.precomputed:
            return place
        return ByGivenDistances(place, kept, None if p.radius else p.n_neighbors, p.radius)

    def _working_width(self) -> int:
        return int(self.dist_matrix_.shape[1])
