"""What methods on a graph of neighbors share: how it is made, its connected components, the neighbors of new rows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.blocks.distances.metrics import check_metric
from lowland.blocks.distances.to_points import own_array
from lowland.blocks.neighbors.connectivity import ConnectedComponents, Policy, ShortestBridges, connected
from lowland.blocks.neighbors.graph import NeighborGraph, given_graph
from lowland.blocks.neighbors.out_of_sample import ByGivenDistances, NearestAmong
from lowland.blocks.neighbors.search import Search, nearest_neighbors, neighbors_within
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn, with_remedy
from lowland.methods.base.estimator import param
from lowland.methods.base.point_map import PointMap
from lowland.run.run import Run

_LONGEST = 1e150  # whose square, summed over many links, is a number
_SEARCHES: dict[str, Search] = {
    "auto": "auto",
    "brute": "products",
    "kd_tree": "tree",
    "ball_tree": "tree",
    "approximate": "approximate",
}
# what a graph of several components lacks where X is itself a graph
_NO_DISTANCES = "Add the missing links to it, say disconnected='largest' or 'ignore', or pass rows with graph=..."


class GraphMap(PointMap):
    """A method on a graph of neighbours. It declares ``n_neighbors``, and ``radius``, ``metric`` … where it has them.

    ``_solve``, which receives the graph that was passed to ``fit``, or None, asks for ``_graph(X, run, graph)``, works
    on the points that were kept, and sets ``embedding_`` by ``_with_left_out``.
    """

    if TYPE_CHECKING:
        n_neighbors: int | None

    disconnected: Policy = param(
        "connect",
        "Where the graph falls into parts: join them by the shortest links, keep the largest (other rows become NaN), "
        "ignore it as textbooks do, or stop with an error.",
    )

    def fit(self, X: Any, y: Any = None, graph: Any = None) -> Self:
        """Fit to the rows of X. ``graph``: neighbours that you know, a sparse (n, n) matrix of their distances."""
        return self._fit(X, y, graph=graph)

    def fit_transform(self, X: Any, y: Any = None, graph: Any = None) -> Any:
        """Fit as ``fit`` does and return the coordinates, (n, k)."""
        return self._present(self.fit(X, y, graph).embedding_, X)

    def _check_rows(self, rows: Rows, *, reset: bool, least: int | None = None) -> None:
        super()._check_rows(rows, reset=reset, least=least)
        if reset:
            check_metric(*self._measure())

    # --- the graph ---

    def _graph(self, X: Array, run: Run, given: Any, *, symmetric: bool = True) -> NeighborGraph:
        """The graph of neighbors, edges in both directions, with the policy on its components applied and reported.

        Not ``symmetric``: the neighbors of each point alone, and the edges added to join components.
        """
        return self._joined(self._neighbors(X, run, given), X, run, symmetric=symmetric)

    def _joined(self, graph: NeighborGraph, X: Array, run: Run, *, symmetric: bool = True) -> NeighborGraph:
        """What the policy makes of a graph; several components are reported."""
        if float(graph.length.max(initial=0)) > _LONGEST:
            raise DataError(
                f"{type(self).__name__}: distances of neighbours, up to {graph.length.max():.2g}, are too large to be "
                "squared. Rescale the columns, or the distances that were given."
            )
        policy, bridges = self._policy(X), ShortestBridges(X, *self._measure())
        with with_remedy(_NO_DISTANCES) if is_sparse(X) else nullcontext():
            found = connected(graph, "ignore" if policy == "error" else policy, bridges, run, symmetric=symmetric)
        if found.count > 1:
            self._report_components(found, policy, self._remedy_for_components(graph))
        self._keep_components(found.labels, found.kept, X)
        self.n_edges_added_, self.recall_ = len(found.bridges), graph.recall
        return found.graph

    def _report_components(self, found: ConnectedComponents, policy: Policy, remedy: str) -> None:
        """Say that there are several components, and what was done; never silently. An error, if that is the policy."""
        fact = f"{type(self).__name__}: {found.fact}"
        if policy == "error":
            raise DataError(f"{fact}. {remedy}, or say disconnected='connect', 'largest' or 'ignore'.")
        if policy == "largest":
            others = len(found.labels) - int(found.sizes[0])
            left = "other row is" if others == 1 else f"other {others} rows are"
            warn(f"{fact}. The largest was kept; the {left} NaN. {remedy} to keep more.", DataWarning)
        elif policy == "ignore":
            warn(
                f"{fact}. They were left as they are, and their places to each other mean nothing. {remedy}, or say "
                "disconnected='connect'.",
                DataWarning,
            )
        else:
            count, longest = len(found.bridges), found.bridges.max()
            edges = "1 link, the shortest there is" if count == 1 else f"{count} links, the shortest there are"
            warn(
                f"{fact}. They were joined by {edges} (up to {longest:.3g} long). {remedy} to do without.", DataWarning
            )

    def _keep_by_affinity(self, label: np.ndarray, remedy: str, X: Array) -> np.ndarray:
        """Apply the policy to components of affinities and report them; return the points that are kept, (n,) bool.

        There are no distances to join components by: 'connect' leaves them as they are, as textbooks do.
        """
        kept, count, sizes = np.ones(len(label), dtype=bool), int(label.max()) + 1, np.bincount(label)
        if count > 1:
            listed = ", ".join(map(str, sizes[:5])) + (", …" if count > 5 else "")
            fact = (
                f"{type(self).__name__}: no affinity beyond rounding links the {count} parts that the points fall "
                f"into, of {listed} points"
            )
            if self.disconnected == "error":
                raise DataError(f"{fact}. {remedy}, or say disconnected='largest' or 'ignore'.")
            if self.disconnected == "largest":
                kept = label == 0
                warn(f"{fact}. The largest was kept; the other {len(label) - sizes[0]} rows are NaN.", DataWarning)
            else:
                joining = self.disconnected == "connect"
                why = "Affinities tell no distances to join them by, so they" if joining else "They"
                warn(
                    f"{fact}. {why} were left as they are: the first coordinates only mark the parts. {remedy}.",
                    DataWarning,
                )
        self._keep_components(label, kept, X)
        self.n_edges_added_, self.recall_ = 0, 1.0
        return kept

    def _warn_of_weak_coordinates(self, count: int) -> None:
        """Warn of coordinates that do no more than mark points which hardly anything joins to the others."""
        if count:
            which = (
                "The first coordinate has an eigenvalue"
                if count == 1
                else f"The first {count} coordinates have eigenvalues"
            )
            warn(
                f"{which} hardly to be told from zero: next to nothing links some points with the others, and it only "
                "marks them. Link them by more neighbours, or by a wider kernel.",
                DataWarning,
            )

    def _policy(self, X: Array) -> Policy:
        """What is done about several components: as asked for, unless these rows do not allow it."""
        return self.disconnected

    def _keep_components(self, label: np.ndarray, kept: np.ndarray, X: Array) -> None:
        """Set the attributes that describe the components, in the library of the rows."""
        xp = xp_of(X.data if is_sparse(X) else X)
        self.n_samples_ = len(label)
        self.n_connected_components_, self.component_labels_ = int(label.max()) + 1, like(label, X, xp.int64)
        self.embedded_mask_, self.n_excluded_ = like(kept, X, xp.bool), int(np.sum(~kept))

    @property
    def _kept_mask(self) -> np.ndarray:
        """The rows that have a place, on the host, (n,) bool."""
        return to_numpy(self.embedded_mask_)

    def _remedy_for_components(self, graph: NeighborGraph) -> str:
        """What would make the graph connected."""
        if graph.search == "given":
            return "Add links to the graph"
        return "Raise radius" if getattr(self, "radius", None) is not None else "Raise n_neighbors"

    def _neighbors(self, X: Array, run: Run, given: Any) -> NeighborGraph:
        """The neighbors of each row, as searched for or ``given``."""
        metric, params = self._measure()
        if given is not None:
            return given_graph(given, X.shape[0])
        radius = getattr(self, "radius", None)
        if self._is_given(X):
            return self._stored(given_graph(X), radius)
        if radius is not None:
            return neighbors_within(X, radius, run, metric=metric, params=params, search=self._search())
        k, n = self._k(X), X.shape[0]
        if k >= n:
            raise ParameterError(
                f"{type(self).__name__}(n_neighbors={k}): the data has {n} rows. Choose at most {n - 1}."
            )
        return nearest_neighbors(X, k, run, metric=metric, params=params, search=self._search(), rng=self._generator())

    def _stored(self, graph: NeighborGraph, radius: float | None) -> NeighborGraph:
        """Of the distances that a sparse X holds, those within the radius, the shortest of each row, or all."""
        if radius is not None:
            return graph.within(radius)
        k = self.n_neighbors
        if k is None:
            return graph
        short = int(np.sum(np.diff(graph.start) < k))
        if short:
            rows = "1 row" if short == 1 else f"{short} rows"
            warn(
                f"{type(self).__name__}(n_neighbors={k}): {rows} of the sparse X of {graph.n} hold fewer distances, "
                "the diagonal not counted; all of these were taken. Store more, or choose fewer neighbours.",
                DataWarning,
            )
        return graph.nearest(k)

    def _k(self, X: Array) -> int:
        """How many neighbours each point has, where not all of a radius are taken."""
        if self.n_neighbors is None:
            raise ParameterError(f"{type(self).__name__}(n_neighbors=None): give n_neighbors or radius.")
        return self.n_neighbors

    def _measure(self) -> tuple[Any, dict[str, Any]]:
        """The metric and its parameters; a method may have none, and then rows are compared by straight lines."""
        metric = getattr(self, "metric", "euclidean")
        params = dict(getattr(self, "metric_params", None) or {})
        if metric == "minkowski" and hasattr(self, "p"):
            params.setdefault("p", self.p)
        return metric, params

    def _search(self) -> Search:
        return _SEARCHES[getattr(self, "neighbors_algorithm", "auto")]

    def _is_given(self, X: Any) -> bool:
        """Whether X is itself a graph: a sparse matrix of distances."""
        return is_sparse(X) and self._measure()[0] == "precomputed"

    def _takes(self, rows: Rows) -> bool:
        return super()._takes(rows) or self._measure()[0] == "precomputed"

    # --- points kept and left out, and new ones ---

    def _embedded(self, X: Array) -> Array:
        """Of what belongs to all rows, that of the rows that have a place in the embedding."""
        kept = self._kept_mask
        return X if kept.all() else xp_of(X).take(X, like(np.flatnonzero(kept), X, xp_of(X).int64), axis=0)

    def _own_points(self, X: Array, rows: Rows) -> Array:
        """The rows that have a place in the embedding, in memory of the model's own."""
        return self._own(X, rows) if self._kept_mask.all() else self._embedded(X)

    def _own(self, X: Any, rows: Rows) -> Any:
        """X, or a copy where it may be the caller's: what is written to that must not change the model."""
        return X.copy() if is_sparse(X) else own_array(rows, X)

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
        radius = getattr(self, "radius", None)
        return ByGivenDistances(place, self._kept_mask, None if radius else self.n_neighbors, radius)

    def _nearest_among(self, points: Array, k: int) -> NearestAmong:
        """What finds the neighbours of new rows among the points that were kept."""
        search = self._search()
        return NearestAmong(points, k, *self._measure(), "auto" if search == "approximate" else search)

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"parts of the graph": self.n_connected_components_}
        if self.n_edges_added_:
            facts["links added to join them"] = self.n_edges_added_
        if self.n_excluded_:
            facts["rows left out"] = self.n_excluded_
        if self.recall_ < 1:
            facts["neighbours found by the approximate search"] = self.recall_
        return facts
