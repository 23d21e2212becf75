"""The neighborhood of the points: how neighbors are found, the connected components of their graph, the policy."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, is_sparse, like, take, to_numpy, xp_of
from lowland.data.rows import Rows, own_array
from lowland.errors import DataError, DataWarning, ParameterError, warn, with_remedy
from lowland.math.distances.sparse_rows import all_equal
from lowland.math.neighbors.connectivity import Components, Policy, ShortestBridges, connected, listed_sizes
from lowland.math.neighbors.graph import NeighborGraph, given_graph, graph_without_edges
from lowland.math.neighbors.search import NearestAmong, Search, nearest_neighbors, neighbors_within
from lowland.methods.base.method import Method, param
from lowland.methods.base.metric import Metric
from lowland.methods.base.params import shared_attributes
from lowland.run.run import Run

_LONGEST = 1e150  # the longest edge whose square, summed over many edges, does not overflow
SEARCHES: dict[str, Search] = {
    "auto": "auto", "brute": "products", "kd_tree": "tree", "ball_tree": "tree", "approximate": "approximate",
}  # fmt: skip
NeighborsAlgorithm = Literal["auto", "brute", "kd_tree", "ball_tree", "approximate"]
# the remedy where X is itself a disconnected graph
_NO_DISTANCES = "Add the missing edges to X, set `disconnected='largest'` or 'ignore', or pass the rows and graph=..."

GRAPH_ATTRIBUTES = shared_attributes(
    embedding_=(
        "Array", "Coordinates of the training points, NaN for points that were left out.", "(n_samples_, n_components)",
    ),
    points_=(
        "Array | None",
        "Training points with coordinates, with which new points are compared. None if only distances, affinities or a "
        "graph are known.",
        "(n_samples_ - n_excluded_, n_features_in_)",
    ),
    n_samples_=("int", "Number of training rows."),
    n_connected_components_=("int", "Number of connected components of the neighbor graph, as it was found."),
    component_labels_=(
        "Array", "Connected component of each training point. 0 is the largest.", "(n_samples_,)",
    ),
    embedded_mask_=("Array", "Whether each training point has coordinates.", "(n_samples_,)"),
    n_excluded_=("int", "Number of training points left out of the embedding."),
    n_edges_added_=("int", "Number of edges added to connect the components, by disconnected='connect'."),
    recall_=(
        "float",
        "Fraction of the true neighbors that were found, measured on 300 sampled points, or 1 for an exact search.",
    ),
    recall_interval_=("tuple[float, float]", "95% confidence interval of the recall, or (1, 1) for an exact search."),
    solver_=("Outcome", "Eigenvalue solver: which one, why, its iterations and whether it converged."),
    n_iter_=("int", "Number of iterations of the eigenvalue solver."),
)  # fmt: skip


def disconnected_parameter() -> Any:
    """Declare the parameter ``disconnected`` of a method that needs a connected graph."""
    return param(
        "connect",
        "What to do if the neighbor graph is disconnected: 'connect' adds the shortest edges between its connected "
        "components, 'largest' embeds only the largest one (other points are NaN), 'ignore' leaves the graph as it is, "
        "'error' raises an error.",
    )


def neighbors_algorithm_parameter() -> Any:
    """Declare the parameter ``neighbors_algorithm``."""
    return param("auto", "Nearest-neighbor search: 'auto' chooses. All are exact except 'approximate'.")


class GraphMethod(Method, attributes=GRAPH_ATTRIBUTES, takes_sparse=True):
    """A method on a neighbor graph of the rows, which a caller may pass to ``fit``."""

    def fit(self, X: Any, y: Any = None, graph: Any = None) -> Self:
        """Fit to the rows of X. ``graph``: your own neighbor graph, a sparse (n, n) matrix of edge lengths."""
        return self._fit(X, y, graph=graph)

    def fit_transform(self, X: Any, y: Any = None, graph: Any = None) -> Any:  # type: ignore[override]
        """Fit as ``fit`` does and return the coordinates, (n, k)."""
        return self.fit(X, y, graph)._returned_embedding(X)


def keep_components(model: Any, found: Components, X: Array) -> None:
    """Set the fitted attributes that describe the components, as arrays of the library that the rows came in."""
    xp = xp_of(X.data if is_sparse(X) else X)
    model.n_samples_, model.n_connected_components_ = len(found.labels), found.count
    model.component_labels_, model.embedded_mask_ = like(found.labels, X, xp.int64), like(found.kept, X, xp.bool)
    model.n_excluded_, model.n_edges_added_ = int(np.sum(~found.kept)), found.n_edges_added
    model.recall_, model.recall_interval_ = found.graph.recall, found.graph.recall_interval


@dataclass(frozen=True)
class Neighborhood:
    """How a method finds the neighbors of its points, and what it does if their graph is disconnected."""

    method: str  # the name of its class, for messages
    metric: Metric
    k: int | None  # neighbors of each point; None: those within the radius, or all stored in a sparse X
    radius: float | None = None
    search: Search = "auto"
    policy: Policy = "connect"
    rng: np.random.Generator | None = None
    parameter: str = "n_neighbors"  # the parameter that k comes from
    value: Any = None  # and its value
    remedy: str = ""  # what would make the graph connected, if not more neighbors
    reports_ignored: bool = True  # whether components that are left apart are reported
    takes_equal: bool = False  # whether all rows may be equal

    def is_given(self, X: Any) -> bool:
        """Whether X is itself a graph: a sparse matrix of distances."""
        return is_sparse(X) and self.metric.precomputed

    def graph(self, X: Array, run: Run, given: Any, *, symmetric: bool = True) -> Components:
        """Find the neighbors, or take the ``given`` ones, and apply the policy to the components of the graph."""
        return self.join(self.find(X, run, given), X, run, symmetric=symmetric)

    # --- neighbors ---

    def find(self, X: Array, run: Run, given: Any) -> NeighborGraph:
        """The neighbors of each point: searched for, ``given``, or stored in a sparse X."""
        if given is not None:
            return self._with_edges(given_graph(given, X.shape[0]))
        if self.is_given(X):
            return self._with_edges(self._stored(given_graph(X)))
        if self.radius is not None:
            return neighbors_within(
                X, self.radius, run, metric=self.metric.name, params=self.metric.params, search=self.search
            )
        if self.k is None:
            raise ParameterError("set `n_neighbors` or `radius`.", method=self.method, n_neighbors=None)
        n = X.shape[0]
        if self.k >= n:
            raise ParameterError(
                f"the data has {n} rows.", f"Choose at most {n - 1}.", method=self.method, n_neighbors=self.k
            )
        return nearest_neighbors(
            X, self.k, run, metric=self.metric.name, params=self.metric.params, search=self.search, rng=self.rng,
            takes_equal=self.takes_equal,
        )  # fmt: skip

    def _with_edges(self, graph: NeighborGraph) -> NeighborGraph:
        """A given graph, which must have edges: distances of neighbors are what the method works with."""
        if not len(graph.length):
            raise DataError(
                f"{self.method}: the graph has no edges. Store the distance of each point to its neighbors."
            )
        return graph

    def _stored(self, graph: NeighborGraph) -> NeighborGraph:
        """Of the distances stored in a sparse X: those within the radius, the shortest of each row, or all."""
        if self.radius is not None:
            return graph.within(self.radius)
        if self.k is None:
            return graph
        self.warn_of_few_stored(graph, self.k)
        return graph.nearest(self.k)

    def warn_of_few_stored(self, graph: NeighborGraph, k: int) -> None:
        """Warn of rows of a sparse X with fewer than k distances."""
        short = int(np.sum(np.diff(graph.start) < k))
        if short:
            rows = "1 row" if short == 1 else f"{short} rows"
            value = self.k if self.value is None else self.value
            warn(
                f"{self.method}({self.parameter}={value}): {rows} of {graph.n} in the sparse X store fewer than {k} "
                "distances (the diagonal does not count). All of these were used. Store more "
                f"distances, or choose a smaller `{self.parameter}`.",
                DataWarning,
            )

    def nearest_among(self, points: Array, k: int) -> NearestAmong:
        """Finds the nearest training points of new rows, exactly."""
        search = "auto" if self.search == "approximate" else self.search
        return NearestAmong(points, k, self.metric.name, self.metric.params, search)

    # --- connected components ---

    def join(self, graph: NeighborGraph, X: Array, run: Run, *, symmetric: bool = True) -> Components:
        """Apply the policy to the components of a graph, and report a disconnected one.

        ``symmetric``: edges in both directions. Otherwise those from each point to its own neighbors, and those added
        to connect components.
        """
        if float(graph.length.max(initial=0)) > _LONGEST:
            raise DataError(
                f"{self.method}: distances of neighbors, up to {graph.length.max():.2g}, are too large to be squared. "
                "Rescale the columns or the distances."
            )
        bridges = ShortestBridges(X, *self.metric)
        with with_remedy(_NO_DISTANCES) if self.is_given(X) else nullcontext():
            found = connected(
                graph, "ignore" if self.policy == "error" else self.policy, bridges, run, symmetric=symmetric
            )
        if found.count > 1 and (self.policy != "ignore" or self.reports_ignored):
            self._report(found, graph)
        return found

    def _report(self, found: Components, graph: NeighborGraph) -> None:
        """Warn that the graph is disconnected and say what was done; raise an error if that is the policy."""
        fact, remedy = f"{self.method}: {found.fact}", self.remedy_for(graph)
        if self.policy == "error":
            raise DataError(f"{fact}. {remedy}, or set `disconnected='connect'`, 'largest' or 'ignore'.")
        if self.policy == "largest":
            others = len(found.labels) - int(found.sizes[0])
            left = "other row is" if others == 1 else f"other {others} rows are"
            warn(
                f"{fact}. Only the largest component is embedded, and the {left} NaN. {remedy} to embed more.",
                DataWarning,
            )
        elif self.policy == "ignore":
            warn(
                f"{fact}. The components stay disconnected, and their positions relative to each other have no "
                f"meaning. {remedy}, or set `disconnected='connect'`.",
                DataWarning,
            )
        else:
            count, longest = found.n_edges_added, found.bridges.max()
            edges = f"1 edge, the shortest (length {longest:.3g})"
            if count > 1:
                edges = f"{count} edges, the shortest ones (length up to {longest:.3g})"
            warn(f"{fact}. They were connected by {edges}. {remedy} to avoid added edges.", DataWarning)

    def remedy_for(self, graph: NeighborGraph) -> str:
        """What would make the graph connected."""
        if graph.search == "given" and not self.remedy:
            return "Add edges to the graph"
        return self.remedy or ("Raise `radius`" if self.radius is not None else f"Raise `{self.parameter}`")

    def split(self, label: np.ndarray, remedy: str) -> Components:
        """Apply the policy to the components of affinities.

        There are no distances to connect the components by: 'connect' leaves them as they are, with a warning.
        """
        kept, sizes = np.ones(len(label), dtype=bool), np.bincount(label)
        if (count := len(sizes)) > 1:
            fact = (
                f"{self.method}: the affinities are disconnected, and the number of connected components is {count}: "
                f"{listed_sizes(sizes)} rows, with no affinity between them beyond rounding error"
            )
            if self.policy == "error":
                raise DataError(f"{fact}. {remedy}, or set `disconnected='largest'` or 'ignore'.")
            if self.policy == "largest":
                kept, others = label == 0, len(label) - int(sizes[0])
                left = "other row is" if others == 1 else f"other {others} rows are"
                warn(f"{fact}. Only the largest component is embedded, and the {left} NaN.", DataWarning)
            elif self.policy == "connect" or self.reports_ignored:
                connecting = self.policy == "connect"
                why = "Without distances they cannot be connected, so they" if connecting else "The components"
                warn(
                    f"{fact}. {why} stay disconnected, and the first coordinates only indicate the component. "
                    f"{remedy}.",
                    DataWarning,
                )
        return Components(graph_without_edges(len(label)), label, kept)

    def without_lone_points(self, found: Components) -> Components:
        """The graph of the points that have a neighbor or are one. The others are left out, with a warning."""
        graph = found.graph
        linked = np.diff(graph.start) > 0
        if linked.all():
            return found
        linked[graph.to] = True
        if linked.all():
            return found
        kept, alone = found.kept.copy(), int(np.sum(~linked))
        kept[kept] = linked
        points = "1 point has no neighbor and gets" if alone == 1 else f"{alone} points have no neighbor and get"
        how_many = "few" if alone <= 0.1 * len(kept) else "large number"
        warn(
            f"{self.method}: {points} NaN coordinates (see embedded_mask_; "
            f"`A {how_many} of your vertices were disconnected from the manifold`). "
            f"{self.remedy_for(graph)} to embed all points.",
            DataWarning,
        )
        return replace(found, graph=graph.among(linked), kept=kept)


def warn_of_weak_coordinates(method: str, count: int) -> None:
    """Warn of coordinates that only indicate a group of points with almost no affinity to the others."""
    if count:
        which, they = "The first coordinate has an eigenvalue", "It only indicates"
        if count > 1:
            which, they = f"The first {count} coordinates have eigenvalues", "They only indicate"
        warn(
            f"{method}: the graph is almost disconnected. {which} of zero up to rounding error. {they} groups of rows "
            "with almost no affinity to the others. Use more neighbors, or a wider kernel.",
            DataWarning,
        )


# --- embedded rows and rows left out ---


def embedded_mask(model: Any) -> np.ndarray:
    """The training rows of a fitted model that have coordinates, on the host, (n,) bool."""
    return to_numpy(model.embedded_mask_)


def rows_at(X: Array, kept: np.ndarray) -> Array:
    """The rows of X, (n, …), that are kept."""
    return X if kept.all() else take(X, kept)


def all_rows_equal(X: Array) -> bool:
    """Whether all rows are the same."""
    if is_sparse(X):
        return all_equal(X)
    host = to_numpy(X)
    return bool(np.all(host == host[:1]))


def given_neighbors(knn: Any, n: int, n_neighbors: int) -> NeighborGraph:
    """Return the graph of neighbors that the user computed, (n, k) each, without the rows themselves."""
    try:
        to, length = np.asarray(knn[0]), np.asarray(knn[1], dtype=np.float64)
    except (TypeError, ValueError, IndexError) as error:
        raise ParameterError("UMAP(precomputed_knn): pass a tuple of indices and distances, both (n, k).") from error
    if to.ndim != 2 or to.shape != length.shape or len(to) != n or to.shape[1] < n_neighbors:
        raise ParameterError(
            f"UMAP(precomputed_knn): indices of shape {to.shape} and distances of shape {length.shape}. Both must be "
            f"({n}, k) with k at least n_neighbors={n_neighbors}, each row first."
        )
    if to.dtype.kind not in "iuf" or (to.dtype.kind == "f" and not np.all(to == np.floor(to))):
        raise DataError(
            "UMAP(precomputed_knn): the first array has values that are not row numbers. Pass indices first and "
            "distances second. scikit-learn's kneighbors returns them in the other order."
        )
    if to.min() < 0 or to.max() >= n:
        raise DataError("UMAP(precomputed_knn): an index is out of range.")
    to = to.astype(np.int64)
    twice = np.flatnonzero(np.any(np.diff(np.sort(to, axis=1), axis=1) == 0, axis=1))
    if len(twice):
        raise DataError(
            f"UMAP(precomputed_knn): row {twice[0]} lists the same neighbor twice. List each neighbor of a row once, "
            "with indices first and distances second."
        )
    edges = scipy.sparse.coo_array((length.ravel(), (np.repeat(np.arange(n), to.shape[1]), to.ravel())), shape=(n, n))
    return given_graph(edges).nearest(n_neighbors - 1)


def distinct_rows(X: Array) -> tuple[np.ndarray, np.ndarray]:
    """The first of each set of equal rows, in their order, and the number of the set of each row, (n,)."""
    if is_sparse(X):
        X = X.tocsr(copy=True)
        X.eliminate_zeros()
        X.sum_duplicates()
        keys = [
            X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
        ]
        number: dict[bytes, int] = {}
        member = np.array([number.setdefault(key, len(number)) for key in keys])
        return np.unique(member, return_index=True)[1], member
    _, first, member = np.unique(to_numpy(X), axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[np.ravel(member)]


def own_points(X: Array, rows: Rows, kept: np.ndarray) -> Array:
    """The rows that have coordinates, in memory owned by the model: the caller may write to X."""
    return own_array(rows, X) if kept.all() else rows_at(X, kept)


def with_left_out(Z: Array, kept: np.ndarray) -> Array:
    """The embedding of all rows: NaN for those that were left out, (n, k)."""
    if kept.all():
        return Z
    whole = np.full((len(kept), Z.shape[1]), np.nan)
    whole[kept] = to_numpy(Z)
    return like(whole, Z)


def join_equals(model: Any, found: Components) -> None:
    """Give rows at distance zero of each other one place, so that a training row is transformed to its own place.

    A metric that skips missing values may be zero for rows that differ: they keep their places.
    """
    first, kept = found.graph.first_of_equals(), np.flatnonzero(found.kept)
    if np.array_equal(first, np.arange(len(first))) or model._measure().skips_missing:
        return
    rows = np.arange(len(found.kept))
    rows[kept] = kept[first]
    model.embedding_ = take(model.embedding_, rows)


# --- fitted models ---


def scikit_learn_neighbors(model: Any) -> Any:
    """A NearestNeighbors of scikit-learn, fitted to the embedded rows; made when it is read, and not saved."""
    from sklearn.neighbors import NearestNeighbors

    check_is_fitted(model)
    if model.points_ is None:
        raise AttributeError(f"{type(model).__name__} was fitted to distances or to a graph, not to rows.")
    metric, params = model._measure()
    if metric == "gower":
        raise AttributeError("scikit-learn has no metric 'gower', so there is no fitted NearestNeighbors.")
    params = dict(params)
    p, given = params.pop("p", 2), vars(model._params)
    k, radius, algorithm = given["n_neighbors"], given.get("radius"), given["neighbors_algorithm"]
    found = NearestNeighbors(
        n_neighbors=5 if k is None else k, radius=1.0 if radius is None else radius,
        algorithm="auto" if algorithm == "approximate" else algorithm, metric=metric, p=p,
        metric_params=params or None, n_jobs=given.get("n_jobs"),
    )  # fmt: skip
    points = model.points_
    return found.fit(points if is_sparse(points) else to_numpy(points))


def graph_facts(model: Any) -> dict[str, Any]:
    """What the summary of a model says about its graph."""
    facts: dict[str, Any] = {"connected components": model.n_connected_components_}
    if model.n_edges_added_:
        facts["edges added to connect them"] = model.n_edges_added_
    if model.n_excluded_:
        facts["rows left out"] = model.n_excluded_
    if model.recall_ < 1:
        low, high = model.recall_interval_
        facts["recall of the approximate search"] = f"{model.recall_:.4f} (95% CI {low:.4f} to {high:.4f})"
    return facts
