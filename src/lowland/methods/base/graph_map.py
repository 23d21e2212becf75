"""What methods on a neighbor graph share: how it is built, its connected components, the neighbors of new rows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.data.rows import Rows, own_array
from lowland.errors import DataError, DataWarning, ParameterError, warn, with_remedy
from lowland.math.distances.metrics import check_metric
from lowland.math.neighbors.connectivity import (
    ConnectedComponents,
    Policy,
    ShortestBridges,
    connected,
    listed_sizes,
)
from lowland.math.neighbors.graph import NeighborGraph, given_graph
from lowland.math.neighbors.out_of_sample import ByGivenDistances, NearestAmong
from lowland.math.neighbors.search import Search, nearest_neighbors, neighbors_within
from lowland.math.optimize.outcome import Outcome
from lowland.methods.base.method import attribute, param
from lowland.methods.base.point_map import PointMap
from lowland.run.run import Run

_LONGEST = 1e150  # the longest edge whose square, summed over many edges, does not overflow
_SEARCHES: dict[str, Search] = {
    "auto": "auto",
    "brute": "products",
    "kd_tree": "tree",
    "ball_tree": "tree",
    "approximate": "approximate",
}
# the remedy where X is itself a disconnected graph
_NO_DISTANCES = "Add the missing edges to X, set disconnected='largest' or 'ignore', or pass the rows and graph=..."


class GraphMap(PointMap, takes_sparse=True):
    """A method on a neighbor graph. A subclass declares ``n_neighbors``, and ``radius``, ``metric`` … if it has them.

    ``_solve`` receives the graph that was passed to ``fit``, or None. It calls ``_graph(X, run, graph)``, embeds the
    points that the policy keeps, and sets ``embedding_`` by ``_with_left_out``.
    """

    if TYPE_CHECKING:
        n_neighbors: int | None

    disconnected: Policy = param(
        "connect",
        "What to do if the neighbor graph is disconnected: 'connect' adds the shortest edges between its connected "
        "components, 'largest' embeds only the largest one (other rows are NaN), 'ignore' leaves the graph as it is, "
        "'error' raises an error.",
    )

    embedding_: Array = attribute(
        "Coordinates of the training rows; NaN for rows that were left out.", "(n_samples_, n_components)"
    )
    points_: Array | None = attribute(
        "Training rows that have coordinates; new rows are compared with them. None if only distances, affinities or a "
        "graph are known.",
        "(n_samples_ - n_excluded_, n_features_in_)",
    )
    n_samples_: int = attribute("Number of training rows.")
    n_connected_components_: int = attribute("Number of connected components of the neighbor graph, as it was found.")
    component_labels_: Array = attribute(
        "Connected component of each training row; 0 is the largest component.", "(n_samples_,)"
    )
    embedded_mask_: Array = attribute("Whether each training row has coordinates.", "(n_samples_,)")
    n_excluded_: int = attribute("Number of training rows left out of the embedding.")
    n_edges_added_: int = attribute("Number of edges added to connect the components, by disconnected='connect'.")
    recall_: float = attribute(
        "Fraction of the true nearest neighbors that were found, measured on 300 sampled rows; 1 for an exact search."
    )
    solver_: Outcome = attribute("Eigenvalue solver: which one, why, its iterations and whether it converged.")
    n_iter_: int = attribute("Number of iterations of the eigenvalue solver.")

    def fit(self, X: Any, y: Any = None, graph: Any = None) -> Self:
        """Fit to the rows of X. ``graph``: your own neighbor graph, a sparse (n, n) matrix of edge lengths."""
        return self._fit(X, y, graph=graph)

    def fit_transform(self, X: Any, y: Any = None, graph: Any = None) -> Any:
        """Fit as ``fit`` does and return the coordinates, (n, k)."""
        return self.fit(X, y, graph)._returned_embedding(X)

    def _check_rows(self, rows: Rows, *, reset: bool, least: int | None = None) -> None:
        super()._check_rows(rows, reset=reset, least=least)
        if reset:
            check_metric(*self._measure())

    # --- the neighbor graph ---

    def _graph(self, X: Array, run: Run, given: Any, *, symmetric: bool = True) -> NeighborGraph:
        """The neighbor graph with edges in both directions, after the policy for its components; this is reported.

        If not ``symmetric``: the edges from each point to its own neighbors, and those added to connect components.
        """
        return self._joined(self._neighbors(X, run, given), X, run, symmetric=symmetric)

    def _joined(self, graph: NeighborGraph, X: Array, run: Run, *, symmetric: bool = True) -> NeighborGraph:
        """The graph after the policy for its components; a disconnected graph is reported."""
        if float(graph.length.max(initial=0)) > _LONGEST:
            raise DataError(
                f"{type(self).__name__}: distances of neighbors, up to {graph.length.max():.2g}, are too large to be "
                "squared. Rescale the columns, or the given distances."
            )
        policy, bridges = self._policy(X), ShortestBridges(X, *self._measure())
        with with_remedy(_NO_DISTANCES) if self._is_given(X) else nullcontext():
            found = connected(graph, "ignore" if policy == "error" else policy, bridges, run, symmetric=symmetric)
        if found.count > 1:
            self._report_components(found, policy, self._remedy_for_components(graph))
        self._keep_components(found.labels, found.kept, X)
        self.n_edges_added_, self.recall_ = len(found.bridges), graph.recall
        return found.graph

    def _report_components(self, found: ConnectedComponents, policy: Policy, remedy: str) -> None:
        """Warn that the graph is disconnected and say what was done; raise an error if that is the policy."""
        fact = f"{type(self).__name__}: {found.fact}"
        if policy == "error":
            raise DataError(f"{fact}. {remedy}, or set disconnected='connect', 'largest' or 'ignore'.")
        if policy == "largest":
            others = len(found.labels) - int(found.sizes[0])
            left = "other row is" if others == 1 else f"other {others} rows are"
            warn(
                f"{fact}. Only the largest component is embedded; the {left} NaN. {remedy} to embed more.", DataWarning
            )
        elif policy == "ignore":
            warn(
                f"{fact}. The components stay disconnected, and their positions relative to each other have no "
                f"meaning. {remedy}, or set disconnected='connect'.",
                DataWarning,
            )
        else:
            count, longest = len(found.bridges), found.bridges.max()
            edges = f"1 edge, the shortest (length {longest:.3g})"
            if count > 1:
                edges = f"{count} edges, the shortest ones (length up to {longest:.3g})"
            warn(f"{fact}. They were connected by {edges}. {remedy} to avoid added edges.", DataWarning)

    def _keep_by_affinity(self, label: np.ndarray, remedy: str, X: Array) -> np.ndarray:
        """Apply the policy to the components of an affinity matrix; return the points that are kept, (n,) bool.

        There are no distances to connect the components by: 'connect' leaves them as they are. A warning says so.
        """
        kept, count, sizes = np.ones(len(label), dtype=bool), int(label.max()) + 1, np.bincount(label)
        if count > 1:
            fact = (
                f"{type(self).__name__}: the affinities are disconnected: {count} connected components of "
                f"{listed_sizes(sizes)} rows, with no affinity between them beyond rounding error"
            )
            if self.disconnected == "error":
                raise DataError(f"{fact}. {remedy}, or set disconnected='largest' or 'ignore'.")
            if self.disconnected == "largest":
                kept, others = label == 0, len(label) - int(sizes[0])
                left = "other row is" if others == 1 else f"other {others} rows are"
                warn(f"{fact}. Only the largest component is embedded; the {left} NaN.", DataWarning)
            else:
                connecting = self.disconnected == "connect"
                why = "Without distances they cannot be connected, so they" if connecting else "The components"
                warn(
                    f"{fact}. {why} stay disconnected, and the first coordinates only indicate the component. "
                    f"{remedy}.",
                    DataWarning,
                )
        self._keep_components(label, kept, X)
        self.n_edges_added_, self.recall_ = 0, 1.0
        return kept

    def _warn_of_weak_coordinates(self, count: int) -> None:
        """Warn of coordinates that only indicate a group of points with almost no affinity to the others."""
        if count:
            which, they = "The first coordinate has an eigenvalue", "It only indicates"
            if count > 1:
                which, they = f"The first {count} coordinates have eigenvalues", "They only indicate"
            warn(
                f"{type(self).__name__}: the graph is almost disconnected. {which} of zero up to rounding error. "
                f"{they} groups of rows with almost no affinity to the others. Use more neighbors, or a wider kernel.",
                DataWarning,
            )

    def _policy(self, X: Array) -> Policy:
        """What to do about several components: the parameter, unless the data does not allow it."""
        return self.disconnected

    def _keep_components(self, label: np.ndarray, kept: np.ndarray, X: Array) -> None:
        """Set the attributes that describe the components, as arrays of the library that the rows came in."""
        xp = xp_of(X.data if is_sparse(X) else X)
        self.n_samples_ = len(label)
        self.n_connected_components_, self.component_labels_ = int(label.max()) + 1, like(label, X, xp.int64)
        self.embedded_mask_, self.n_excluded_ = like(kept, X, xp.bool), int(np.sum(~kept))

    @property
    def _kept_mask(self) -> np.ndarray:
        """The rows that have coordinates, on the host, (n,) bool."""
        return to_numpy(self.embedded_mask_)

    def _remedy_for_components(self, graph: NeighborGraph) -> str:
        """What would make the graph connected."""
        if graph.search == "given":
            return "Add edges to the graph"
        return "Raise radius" if vars(self._params).get("radius") is not None else "Raise n_neighbors"

    def _neighbors(self, X: Array, run: Run, given: Any) -> NeighborGraph:
        """The neighbors of each row, searched for or ``given``."""
        metric, params = self._measure()
        if given is not None:
            return self._with_edges(given_graph(given, X.shape[0]))
        radius = vars(self._params).get("radius")
        if self._is_given(X):
            return self._with_edges(self._stored(given_graph(X), radius))
        if radius is not None:
            return neighbors_within(X, radius, run, metric=metric, params=params, search=self._search())
        k, n = self._k(X), X.shape[0]
        if k >= n:
            raise ParameterError(
                f"{type(self).__name__}(n_neighbors={k}): the data has {n} rows. Choose at most {n - 1}."
            )
        return nearest_neighbors(
            X, k, run, metric=metric, params=params, search=self._search(), rng=self._start_generator()
        )

    def _with_edges(self, graph: NeighborGraph) -> NeighborGraph:
        """A given graph, which must have edges: distances of neighbors are what the method works with."""
        if not len(graph.length):
            raise DataError(
                f"{type(self).__name__}: the given graph has no edges. Store the distance of each row to its neighbors."
            )
        return graph

    def _stored(self, graph: NeighborGraph, radius: float | None) -> NeighborGraph:
        """Of the distances stored in a sparse X: those within the radius, the shortest of each row, or all."""
        if radius is not None:
            return graph.within(radius)
        if self.n_neighbors is None:
            return graph
        self._warn_of_few_stored(graph, self.n_neighbors)
        return graph.nearest(self.n_neighbors)

    def _warn_of_few_stored(self, graph: NeighborGraph, k: int, parameter: str = "n_neighbors") -> None:
        """Warn of rows of a sparse X with fewer than k distances, the number that ``parameter`` asks for."""
        short = int(np.sum(np.diff(graph.start) < k))
        if short:
            rows = "1 row" if short == 1 else f"{short} rows"
            warn(
                f"{type(self).__name__}({parameter}={getattr(self, parameter)}): {rows} of {graph.n} in the sparse X "
                f"store fewer than {k} distances (the diagonal does not count); all stored distances of these were "
                f"used. Store more distances, or choose a smaller {parameter}.",
                DataWarning,
            )

    def _k(self, X: Array) -> int:
        """The number of neighbors of each point, if no radius is set."""
        if self.n_neighbors is None:
            raise ParameterError(f"{type(self).__name__}(n_neighbors=None): set n_neighbors or radius.")
        return self.n_neighbors

    def _chosen_metric(self) -> tuple[Any, dict[str, Any]]:
        """The metric and its parameters; Euclidean distances for methods without a metric parameter."""
        given = vars(self._params)
        metric = given.get("metric", "euclidean")
        params = dict(given.get("metric_params") or {})
        if metric == "minkowski" and "p" in given:
            params.setdefault("p", given["p"])
        return metric, params

    def _search(self) -> Search:
        return _SEARCHES[vars(self._params).get("neighbors_algorithm", "auto")]

    def _is_given(self, X: Any) -> bool:
        """Whether X is itself a graph: a sparse matrix of distances."""
        return is_sparse(X) and self._measure()[0] == "precomputed"

    # --- embedded rows, rows left out, new rows ---

    def _embedded(self, X: Array) -> Array:
        """The rows of X, (n, …), that belong to embedded training rows."""
        kept = self._kept_mask
        if is_sparse(X):
            return X if kept.all() else X[np.flatnonzero(kept)]
        return X if kept.all() else xp_of(X).take(X, like(np.flatnonzero(kept), X, xp_of(X).int64), axis=0)

    def _own_points(self, X: Array, rows: Rows) -> Array:
        """The training rows that have coordinates, in memory owned by the model."""
        return self._own(X, rows) if self._kept_mask.all() else self._embedded(X)

    def _own(self, X: Any, rows: Rows) -> Any:
        """X, or a copy if it may be the caller's array: writing to that must not change the model."""
        return own_array(rows, X)

    def _with_left_out(self, Z: Array) -> Array:
        """The embedding of all rows: NaN for those that were left out, (n, k)."""
        kept = self._kept_mask
        if kept.all():
            return Z
        whole = np.full((len(kept), Z.shape[1]), np.nan)
        whole[kept] = to_numpy(Z)
        return like(whole, Z)

    def _encoding(self) -> Callable[[Array], Array]:
        place = self._placing()
        if self._measure()[0] != "precomputed":
            return place
        radius = vars(self._params).get("radius")
        return ByGivenDistances(place, self._kept_mask, None if radius else self._params.n_neighbors, radius)

    def _nearest_among(self, points: Array, k: int) -> NearestAmong:
        """Finds the nearest training points of new rows."""
        search = self._search()
        return NearestAmong(points, k, *self._measure(), "auto" if search == "approximate" else search)

    def _fitted_neighbors(self) -> Any:
        """A NearestNeighbors of scikit-learn, fitted to the embedded rows; made when it is read, and not saved."""
        from sklearn.neighbors import NearestNeighbors

        check_is_fitted(self)
        if self.points_ is None:
            raise AttributeError(f"{type(self).__name__} was fitted to distances or to a graph, not to rows.")
        metric, params = self._measure()
        if metric == "gower":
            raise AttributeError("scikit-learn has no metric 'gower', so there is no fitted NearestNeighbors.")
        p = params.pop("p", 2)
        algorithm = vars(self._params).get("neighbors_algorithm", "auto")
        k, radius = self._params.n_neighbors, vars(self._params).get("radius")
        found = NearestNeighbors(
            n_neighbors=5 if k is None else k, radius=1.0 if radius is None else radius,
            algorithm="auto" if algorithm == "approximate" else algorithm, metric=metric, p=p,
            metric_params=params or None, n_jobs=vars(self._params).get("n_jobs"),
        )  # fmt: skip
        points = self.points_
        return found.fit(points if is_sparse(points) else to_numpy(points))

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"connected components": self.n_connected_components_}
        if self.n_edges_added_:
            facts["edges added to connect them"] = self.n_edges_added_
        if self.n_excluded_:
            facts["rows left out"] = self.n_excluded_
        if self.recall_ < 1:
            facts["recall of the approximate search"] = self.recall_
        return facts
