"""Isomap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.blocks.manifolds.geodesic_diagnostics import residual_variances, sampled, strain
from lowland.blocks.manifolds.neighbor_sweep import SweepStep, sweep_neighbors
from lowland.blocks.manifolds.shortest_paths import (
    IN_DOUBLE,
    GeodesicsToNewRows,
    PathMethod,
    geodesic_distances,
    landmark_coordinates,
    replace_infinite,
    symmetric_part,
)
from lowland.blocks.neighbors.graph import NeighborGraph
from lowland.blocks.scaling.classical import Placement, Scaling, bytes_to_solve, classical_scaling
from lowland.blocks.spectra.component_rules import ANY, Knee, Spectrum
from lowland.data.rows import Rows
from lowland.errors import DataWarning, ParameterError, warn
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.graph_map import GraphMap
from lowland.methods.base.landmarks import choose_landmarks
from lowland.methods.base.traits import StudyHints
from lowland.run.local import LocalRun
from lowland.run.run import Run, run_for

_STRAIGHT = 1e-3  # residual variance below which one dimension leaves nothing to explain


class Isomap(GraphMap, verb="isomap", tolerance=1e-7, study=StudyHints(n_neighbors=10, all_pairs_up_to=12_000)):
    """Isomap: a map that keeps distances along the surface on which the rows lie.

    Problem: points z_1 … z_n in k dimensions whose straight distances come closest, as in classical scaling, to the
    geodesic distances of the rows: the lengths of the shortest paths through neighbouring rows.

    1. Join each row to its neighbors (``blocks.neighbors.search``), and join or leave out other connected components
       (``blocks.neighbors.connectivity``).
    2. Find the shortest paths between all rows, or from landmarks to all (``blocks.manifolds.shortest_paths``).
    3. Scale the geodesic distances classically: Z = V Λ^½ of -½ J(D∘D)J (``blocks.scaling.classical``).
    4. With landmarks, and for new rows: geodesics through nearest training points, and Gower's formula.

    Cost: with l links, some n l operations for the paths of all pairs, n² numbers of memory (float32 beyond 4,096 rows)
    and some 20 n² (k + 10) for the eigenpairs; with m landmarks m l and m n. Prefer ``PCA`` where the surface is flat.
    One link across a gap spoils the map: look at ``neighbors_sweep``.

    Attributes: ``embedding_`` (n, k), ``dist_matrix_`` (n, n) (with landmarks (m, n), from them), ``eigenvalues_``
    (k,), ``lowest_eigenvalue_``, ``residual_variances_`` (1 - r² of geodesic and straight distances in 1, 2, … 10
    dimensions, of at most 1,000 rows; computed when read), ``elbow_`` (the dimension at which they bend),
    ``landmarks_`` (row numbers, or None), ``n_connected_components_``, ``component_labels_`` (n,), ``embedded_mask_``
    (n,), ``n_excluded_``, ``n_edges_added_``, ``recall_``, ``n_samples_``, ``solver_``, ``n_iter_``; for new rows
    ``points_``, ``weights_`` and ``mean_squares_``.

    Reference: Tenenbaum, de Silva and Langford 2000, doi:10.1126/science.290.5500.2319; de Silva and Tenenbaum 2004,
    Sparse multidimensional scaling using landmark points.

    Examples
    --------
    >>> from lowland import Isomap
    >>> from lowland.data import swiss_roll
    >>> isomap = Isomap(2, n_neighbors=8).fit(swiss_roll(800, seed=0).X)
    >>> isomap.embedding_.shape, isomap.n_connected_components_, isomap.elbow_
    ((800, 2), 1, 2)
    """

    n_components: int = param(2, "Dimensions of the map.", at_least=1, positional=True)
    n_neighbors: int | None = param(5, "Neighbours joined to each row; None with a radius.", at_least=1)
    radius: float | None = param(None, "Join all rows no farther apart than this, instead of n_neighbors.", above=0)
    eigen_solver: Literal["auto", "arpack", "dense"] = param(
        "auto", "'dense': all eigenvalues; 'auto' and 'arpack': the leading ones by iteration, beyond 1,000 rows."
    )
    tol: float = param(
        0.0, "Residual at which the iteration for eigenpairs stops; 0: 1e-9, or 1e-8 in float32.", at_least=0
    )
    max_iter: int | None = param(None, "Most iterations for the eigenpairs; None: as many as it takes.", at_least=1)
    path_method: PathMethod = param(
        "auto", "How shortest paths are found: 'D' (Dijkstra), 'FW' (Floyd and Warshall), or the quicker one."
    )
    neighbors_algorithm: Literal["auto", "brute", "kd_tree", "ball_tree", "approximate"] = param(
        "auto", "How neighbours are searched for."
    )
    n_jobs: int | None = param(None, "Accepted as in scikit-learn; lowland.config(threads=...) sets the threads.")
    metric: str | Callable[..., float] = param(
        "minkowski", "How rows are apart, or 'precomputed': X holds distances of all pairs, or is a sparse graph."
    )
    p: float = param(2.0, "Power of the Minkowski metric; 2: straight lines.", at_least=1)
    metric_params: dict[str, Any] | None = param(None, "Further arguments of the metric.")
    n_landmarks: int | None = param(
        None, "Rows whose geodesics are scaled, all others being placed by them; None: all, which is exact.", at_least=2
    )
    random_state: RandomState = param(None, "Seed of the choice of landmarks.", at_least=0)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, graph: Any = None) -> None:
        """Neighbours, geodesics, classical scaling, placement."""
        if self.n_neighbors is not None and self.radius is not None and graph is None:
            raise ParameterError(
                f"Both n_neighbors and radius are provided. Use Isomap(radius={self.radius}, n_neighbors=None) "
                "to join all rows within the radius."
            )
        X = rows.to_array() if rows.is_sparse else run.to_array(rows, "Isomap")  # (n, d)
        here = LocalRun()  # wherever the rows were, the graph is walked on this machine
        joined = self._graph(X, here, graph)
        marks = self._landmarks(joined)  # (m,) among the points that were kept, or None
        self._require(joined.n, marks, here)
        double = joined.n <= IN_DOUBLE and rows.dtype == np.float64
        D = geodesic_distances(
            joined, here, sources=marks, method=self.path_method, dtype=np.float64 if double else np.float32
        )  # (n, n) or (m, n)
        if self.disconnected == "ignore" and self.n_connected_components_ > 1:
            replace_infinite(D)
        scaling = classical_scaling(
            D if marks is None else symmetric_part(D, marks), self.n_components, here,
            whole=self.eigen_solver == "dense", tol=self.tol or None, max_iter=self.max_iter, fewer=True,
        )  # fmt: skip
        Z = scaling.Z if marks is None else landmark_coordinates(D, scaling)
        kind = X.data if is_sparse(X) else X
        self.dist_matrix_ = like(D, kind, getattr(xp_of(kind), D.dtype.name))
        self.landmarks_ = (
            None if marks is None else like(np.flatnonzero(self._kept_mask)[marks], kind, xp_of(kind).int64)
        )
        self.points_ = None if self._measure()[0] == "precomputed" else self._own_points(X, rows)
        self._keep(like(Z, kind), scaling)

    def _landmarks(self, graph: NeighborGraph) -> np.ndarray | None:
        """Rows spread evenly over all, and one of each component that would have none."""
        m, n = self.n_landmarks, graph.n
        if m is None:
            return None
        mark = choose_landmarks(n, m, self._generator, "Isomap")
        if mark is None:
            return None
        label = to_numpy(self.component_labels_)[self._kept_mask]
        without = np.setdiff1d(label, label[mark])
        if len(without):
            more = f"{len(without)} more were taken, so that each of {self.n_connected_components_} parts has one"
            warn(f"Isomap(n_landmarks={m}): {more}. Choose more landmarks, or more neighbours.", DataWarning)
        mark[[int(np.argmax(label == c)) for c in without]] = True
        return np.flatnonzero(mark)

    def _require(self, n: int, marks: np.ndarray | None, run: Run) -> None:
        """Refuse more dimensions than points span, and work beyond the budget, before it is begun."""
        m, points = (n, "points") if marks is None else (len(marks), "landmarks")
        if self.n_components >= m:
            raise ParameterError(
                f"Isomap(n_components={self.n_components}): {m} {points} span at most {m - 1} dimensions. "
                f"Choose at most {m - 1}{'' if marks is None else ', or more landmarks'}."
            )
        needed = m * n * (8 if n <= IN_DOUBLE else 4)
        needed += bytes_to_solve(m, self.n_components, whole=self.eigen_solver == "dense")
        remedy = "Choose n_landmarks" if marks is None else "Choose fewer landmarks"
        run.require(needed, f"Isomap of {n:,} rows, {m:,} of them scaled,", remedy)

    def _keep(self, Z: Array, scaling: Scaling) -> None:
        found, double = scaling.eigenvalues, xp_of(Z).float64
        if found.positive < self.n_components:
            warn(
                f"Isomap(n_components={self.n_components}): the geodesic distances have {found.positive} positive "
                "eigenvalues; the other coordinates are zero. Choose fewer components, or more neighbours.",
                DataWarning,
            )
        self.weights_, self.mean_squares_ = like(scaling.weights, Z, double), like(scaling.means, Z, double)
        self.eigenvalues_, self.lowest_eigenvalue_ = like(np.ascontiguousarray(found.leading), Z, double), found.lowest
        self.embedding_ = self._with_left_out(Z)
        self._record_convergence(scaling.outcome, "Raise tol or max_iter, or say eigen_solver='dense'.")

    # --- diagnostics ---

    @property
    def residual_variances_(self) -> np.ndarray:
        """1 - r² of geodesic and straight distances on maps of 1 to 10 dimensions, computed when this is read."""
        check_is_fitted(self)
        return residual_variances(self._sample())

    @property
    def elbow_(self) -> int:
        """The dimension at which the residual variances bend: what further ones explain is little; columns at most."""
        return self._elbow_of(self.residual_variances_)

    def _elbow_of(self, left: np.ndarray) -> int:
        if left[0] < _STRAIGHT or left[0] <= left[-1] or len(left) < 3:
            return 1
        choice = Knee().decide(Spectrum(left, float(left.sum()), len(left), self.n_samples_, len(left), ANY))
        assert choice is not None  # it sees all values there are
        elbow = choice.n_components + 1  # it counts what stands before the elbow
        return elbow if self.points_ is None else min(elbow, int(self.n_features_in_))

    def _sample(self) -> np.ndarray:
        """The geodesics among all rows, (s, s), or among 1,000 of them; with landmarks, among these."""
        D, marks = to_numpy(self.dist_matrix_), self._marks()
        some = sampled(len(D))
        return D[np.ix_(some, some if marks is None else marks[some])]

    def _marks(self) -> np.ndarray | None:
        """The numbers that the landmarks have among the rows that were kept."""
        if self.landmarks_ is None:
            return None
        return np.searchsorted(np.flatnonzero(self._kept_mask), to_numpy(self.landmarks_))

    def reconstruction_error(self) -> float:
        """Return |B - ZZ'| / n, B the scalar products that the geodesics stand for; with landmarks, of these."""
        check_is_fitted(self)
        D, marks = to_numpy(self.dist_matrix_), self._marks()
        kept = np.maximum(to_numpy(self.eigenvalues_), 0)
        return strain(D if marks is None else D[:, marks], to_numpy(self.mean_squares_), kept)

    def neighbors_sweep(self, X: Any, n_neighbors: Any = (5, 6, 8, 10, 12, 15, 20)) -> tuple[SweepStep, ...]:
        """Return what the graph becomes with each number of neighbors: components, paths, and edges that cut across.

        ``n_neighbors``: one number, or several. Nothing is fitted. X must fit in memory; beyond 2,000 rows, geodesics
        are those from 2,000 of them.
        """
        rows, _ = self._open(X, None)
        run = run_for(rows)
        X = run.to_array(rows, "Isomap.neighbors_sweep")
        metric, params = self._measure()
        return sweep_neighbors(
            X, n_neighbors, LocalRun(), n_components=self.n_components, metric=metric, params=params,
            search=self._search(),
        )  # fmt: skip

    def _facts(self) -> dict[str, Any]:
        left = self.residual_variances_
        return {
            **super()._facts(),
            "eigenvalues": self.eigenvalues_,
            "residual variance by dimensions": left.round(4),
            "elbow": self._elbow_of(left),
            "reconstruction error": self.reconstruction_error(),
        }

    # --- new rows ---

    def _placing(self) -> Placement:
        points, given = self.points_, self.points_ is None
        kept = None if self._kept_mask.all() or not given else np.flatnonzero(self._kept_mask)
        k = min(self.n_neighbors or 1, self.dist_matrix_.shape[1])
        near = None if given else self._nearest_among(points, k)
        through = GeodesicsToNewRows(
            to_numpy(self.dist_matrix_), near, k, self._distances_to(points), self.radius, kept
        )
        return Placement(self.weights_, self.mean_squares_, through)

    def _kept_points(self) -> int:
        return int(self.dist_matrix_.shape[1])
