"""What methods on a graph of neighbours share: how it is made, the parts it falls into, the neighbours of new rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.blocks.distances.metrics import check_metric
from lowland.blocks.distances.to_points import own_array
from lowland.blocks.neighbors.connectivity import Policy, ShortestLinks, connected
from lowland.blocks.neighbors.graph import (
    ByGivenDistances,
    NearestAmong,
    NeighborGraph,
    Search,
    given_graph,
    nearest_neighbors,
    neighbors_within,
)
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
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


class GraphMap(PointMap):
    """A method on a graph of neighbours. It declares ``n_neighbors``, and ``radius``, ``metric`` … where it has them.

    ``_solve`` asks for ``_graph(X, run)``, works on the points that were kept, and sets ``embedding_`` by
    ``_with_left_out``.
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
        self._given = graph
        try:
            return self._fit(X, y)
        finally:
            del self._given
            self.__dict__.pop("_rows", None)

    def fit_transform(self, X: Any, y: Any = None, graph: Any = None) -> Any:
        """Fit as ``fit`` does and return the coordinates, (n, k)."""
        return self._present(self.fit(X, y, graph).embedding_, X)

    def _check_rows(self, rows: Rows, *, reset: bool, least: int | None = None) -> None:
        super()._check_rows(rows, reset=reset, least=least)
        if reset:
            check_metric(*self._measure())
            self._rows = rows  # while they are fitted to

    # --- the graph ---

    def _graph(self, X: Array, run: Run, *, symmetric: bool = True) -> NeighborGraph:
        """The graph of neighbours, links in both directions, with the policy on its parts applied and told.

        Not ``symmetric``: the neighbours of each point alone, and the links added to join parts.
        """
        return self._joined(self._neighbors(X, run), X, run, symmetric=symmetric)

    def _joined(self, graph: NeighborGraph, X: Array, run: Run, *, symmetric: bool = True) -> NeighborGraph:
        """What the policy makes of a graph, told."""
        if float(graph.length.max(initial=0)) > _LONGEST:
            raise DataError(
                f"{type(self).__name__}: distances of neighbours, up to {graph.length.max():.2g}, are too large to be "
                "squared. Rescale the columns, or the distances that were given."
            )
        links = ShortestLinks(X, *self._measure())
        parts = connected(
            graph, self._policy(X), links, owner=type(self).__name__, run=run, remedy=self._remedy_for_parts(graph),
            symmetric=symmetric,
        )  # fmt: skip
        self._keep_parts(parts.label, parts.kept, X)
        self.n_edges_added_, self.recall_ = parts.links, graph.recall
        return parts.graph

    def _policy(self, X: Array) -> Policy:
        """What is done about parts: as asked for, unless these rows do not allow it."""
        return self.disconnected

    def _keep_parts(self, label: np.ndarray, kept: np.ndarray, X: Array) -> None:
        """Set what is told of the parts, in the library of the rows."""
        xp = xp_of(X.data if is_sparse(X) else X)
        self.n_samples_ = len(label)
        self.n_connected_components_, self.component_labels_ = int(label.max()) + 1, like(label, X, xp.int64)
        self.embedded_mask_, self.n_excluded_ = like(kept, X, xp.bool), int(np.sum(~kept))

    @property
    def _kept_mask(self) -> np.ndarray:
        """The rows that have a place, on the host, (n,) bool."""
        return to_numpy(self.embedded_mask_)

    def _remedy_for_parts(self, graph: NeighborGraph) -> str:
        """What would make the graph hang together."""
        if graph.search == "given":
            return "Add links to the graph"
        return "Raise radius" if getattr(self, "radius", None) is not None else "Raise n_neighbors"

    def _neighbors(self, X: Array, run: Run) -> NeighborGraph:
        """The neighbours of each row, as searched for or given."""
        metric, params = self._measure()
        if self._given is not None:
            return given_graph(self._given, X.shape[0])
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

    def _kept_rows(self, X: Array) -> Array:
        """The rows that have a place in the embedding."""
        kept = self._kept_mask
        return self._own(X) if kept.all() else xp_of(X).take(X, like(np.flatnonzero(kept), X, xp_of(X).int64), axis=0)

    def _own(self, X: Any) -> Any:
        """X, or a copy where it may be the caller's: what he writes to his must not change the model."""
        if "_rows" not in vars(self):  # nothing is being fitted
            return X
        return X.copy() if is_sparse(X) else own_array(self._rows, X)

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
        told: dict[str, Any] = {"parts of the graph": self.n_connected_components_}
        if self.n_edges_added_:
            told["links added to join them"] = self.n_edges_added_
        if self.n_excluded_:
            told["rows left out"] = self.n_excluded_
        if self.recall_ < 1:
            told["neighbours found by the approximate search"] = self.recall_
        return told
