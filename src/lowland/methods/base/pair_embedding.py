"""What PaCMAP and LocalMAP share: parameters, pairs, the start, and the place of new rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.data.rows import Rows
from lowland.errors import DataWarning, ParameterError, shown, warn, with_remedy
from lowland.math.embeddings.new_points import ByAttraction
from lowland.math.embeddings.pairs import (
    EXTRA,
    LocalAdjustment,
    PairCounts,
    PairForces,
    Pairs,
    above_zero,
    further_pairs,
    given_pairs,
    local_scales,
    mid_near_pairs,
    pair_phases,
    scaled_neighbors,
)
from lowland.math.embeddings.starts import ColumnReduction, classical_start, principal_start
from lowland.math.neighbors.connectivity import Components, Policy
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import ByGivenDistances
from lowland.math.optimize.outcome import Outcome
from lowland.math.statistics.rescaling import power_of_two
from lowland.methods.base.choices import check_most, ignored, positional
from lowland.methods.base.method import Method, RandomState, attribute, param
from lowland.methods.base.metric import SKIP_MISSING, Metric
from lowland.methods.base.neighbor_embedding import (
    EMBEDDING_ATTRIBUTES,
    EmbeddingProblem,
    added_edges,
    are_equal,
    embed,
    given_places,
    host_rows,
    ignored_components_parameter,
    join_neighbors,
    lacks_components,
    principal_places,
)
from lowland.methods.base.neighborhood import (
    Neighborhood,
    embedded_mask,
    graph_facts,
    join_equals,
    keep_components,
    own_points,
    rows_at,
)
from lowland.methods.base.traits import Callback
from lowland.run.run import Run

COLUMNS = 100  # columns that rows are reduced to
_START = 0.01  # of the principal components of rows whose values span 1
_TINY = 1e-4  # standard deviation of a random or given start
_SNAPSHOTS = (0, 10, 30, 60, 100, 120, 140, 170, 200, 250, 300, 350, 450)


def graph_neighbors(parameters: Mapping[str, Any], n: int, d: int) -> int | None:
    """How many neighbors a fit to rows searches for.

    None means not among the rows, but after a reduction of the columns.
    """
    if d > COLUMNS and parameters["apply_pca"]:
        return None
    counts = PairCounts.of(n, parameters["n_neighbors"], parameters["MN_ratio"], parameters["FP_ratio"])
    return min(counts.neighbors + EXTRA, n - 1)


class PairEmbedding(
    Method,
    attributes=EMBEDDING_ATTRIBUTES,
    takes_sparse=True,
    single=True,
    missing_remedy=SKIP_MISSING.replace("metric=", "distance="),
):
    """A map by forces along three kinds of pairs. A subclass may adjust the forces, by ``_adjustment``."""

    n_components: int = positional(2, "Number of dimensions of the embedding.", at_least=1)
    n_neighbors: int | None = positional(
        10,
        "Number of neighbors that attract a point. More neighbors preserve larger neighborhoods. None means 10, and "
        "above 10,000 points 15 more for every factor of 10. With few points fewer are used.",
        at_least=1,
    )
    MN_ratio: float = positional(
        0.5, "Mid-near pairs per neighbor. More pairs emphasize the global arrangement.", at_least=0
    )
    FP_ratio: float = positional(2.0, "Further pairs per neighbor. More pairs repel more and take longer.", above=0)
    pair_neighbors: np.ndarray | Sequence[Sequence[int]] | None = positional(
        None,
        "Your own pairs of neighbors, an (m, 2) array of row numbers. None means that they are chosen.",
        wanted="an (m, 2) array",
    )
    pair_MN: np.ndarray | Sequence[Sequence[int]] | None = positional(  # noqa: N815
        None, "Your own mid-near pairs, an (m, 2) array. None means that they are drawn.", wanted="an (m, 2) array"
    )
    pair_FP: np.ndarray | Sequence[Sequence[int]] | None = positional(  # noqa: N815
        None, "Your own further pairs, an (m, 2) array. None means that they are drawn.", wanted="an (m, 2) array"
    )
    distance: str | Callable[..., float] = positional(
        "euclidean", "Distance metric, or 'precomputed': X holds distances, or a function of two points."
    )
    lr: float = positional(1.0, "Learning rate of Adam.", above=0)
    num_iters: int | Sequence[int] | np.ndarray = positional(
        (100, 100, 250),
        "Iterations of the three phases. One number sets those of the last, after 100 and 100.",
        wanted="an integer or three integers, at least 0",
    )
    verbose: bool = ignored(False, "set lowland.config(progress=...) instead", package="pacmap", positional=True)
    apply_pca: bool = positional(
        True, "Reduce more than 100 columns to 100 by PCA before the search, if distance='euclidean'."
    )
    intermediate: bool = ignored(
        False, "pass a callback to fit instead, which receives snapshots", package="pacmap", positional=True
    )
    intermediate_snapshots: Sequence[int] = ignored(_SNAPSHOTS, package="pacmap", positional=True)
    random_state: RandomState = positional(None, "Seed of the pairs and of a random initialization.", at_least=0)
    save_tree: bool = ignored(False, "the model always keeps what transform needs", package="pacmap", positional=True)
    knn_backend: Literal["faiss", "annoy", "voyager"] = ignored(
        "faiss", "the search is chosen by its cost", package="pacmap"
    )
    metric_params: dict[str, Any] | None = param(None, "Further arguments of the metric.")
    init: Literal["pca", "random"] | np.ndarray | Sequence[Sequence[float]] = param(
        "pca",
        "Initialization: 'pca' (classical scaling of 1,000 points if values are missing or with "
        "distance='gower'), 'random', or an (n, n_components) array, whose columns are standardized.",
        wanted="'pca', 'random' or an (n, n_components) array",
    )
    disconnected: Policy = ignored_components_parameter()

    points_: Array | None = attribute(
        "Training points that have coordinates, after the reduction of their columns. New points are compared "
        "with them. None if only distances are known.",
        "(n_samples_ - n_excluded_, n_features_in_ or 100)",
    )
    scales_: Array = attribute(
        "Mean distance of each embedded point to its neighbors 4 to 6.", "(n_samples_ - n_excluded_,)"
    )
    n_neighbors_: int = attribute("Number of neighbors of each point that were used.")
    n_mid_near_: int = attribute("Number of mid-near pairs of each point that were used.")
    n_further_: int = attribute("Number of further pairs of each point that were used.")
    pair_neighbors_: Array = attribute("Pairs of neighbors, as row numbers.", "(pairs, 2)", saved=False)
    pair_MN_: Array = attribute(  # noqa: N815
        "Mid-near pairs, as row numbers.", "(pairs, 2)", saved=False
    )
    pair_FP_: Array = attribute(  # noqa: N815
        "Further pairs at the beginning, as row numbers.", "(pairs, 2)", saved=False
    )
    reduction_: ColumnReduction | None = attribute(
        "Mean and principal axes on which points are projected before they are compared, or None if they are not."
    )

    def fit(self, X: Any, y: Any = None, graph: Any = None, callback: Callback = None) -> Self:
        """Fit to the rows of X.

        ``graph``: your own neighbor graph, a sparse (n, n) matrix of edge lengths. ``callback`` receives a snapshot
        (iteration, total, embedding, value) every 50 iterations. If it returns False, the fit ends with the map so
        far. Ctrl-C also ends it with the map so far, and a warning.
        """
        return self._fit(X, y, graph=graph, callback=callback)

    def fit_transform(self, X: Any, y: Any = None, graph: Any = None, callback: Callback = None) -> Any:  # type: ignore[override]
        """Fit as ``fit`` does and return the coordinates, (n, k)."""
        return self.fit(X, y, graph, callback)._returned_embedding(X)

    def _solve(
        self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, graph: Any = None,
        callback: Callback = None,
    ) -> None:  # fmt: skip
        X = run.to_array(rows, type(self).__name__)
        run = Run()
        self._check_size(X)
        self.seed_ = int(self._generator().integers(2**31))
        neighborhood = self._neighborhood(X)
        found = join_neighbors(neighborhood, self._neighbors(neighborhood, X, run, graph), X, run)
        keep_components(self, found, X)
        self.points_ = None if neighborhood.metric.precomputed else own_points(X, rows, found.kept)
        problem = self._problem(rows_at(X, found.kept), found, run)
        embed(self, problem, found, X, run, callback, "lr")
        join_equals(self, found)

    # --- pairs ---

    def _check_size(self, X: Array) -> None:
        n, name = X.shape[0], type(self).__name__
        if self.intermediate:
            raise ParameterError(
                f"{name}(intermediate=True) is not supported. Pass fit(X, callback=...), which receives a snapshot "
                "every 50 iterations."
            )
        self._iterations()
        check_most(self, "n_components", n - 1, f"the data has {n} rows.")
        counts = PairCounts.of(n, self.n_neighbors, self.MN_ratio, self.FP_ratio)
        if counts.neighbors < 1 or counts.further < 1:
            raise ParameterError(
                f"{name}(n_neighbors={self.n_neighbors}, MN_ratio={self.MN_ratio:g}, FP_ratio={self.FP_ratio:g}): with "
                f"{n} rows, no neighbors or no further pairs are left. Pass more rows, or smaller ratios."
            )
        if self.n_neighbors is not None and counts.neighbors < self.n_neighbors:
            warn(
                f"`{name}(n_neighbors={self.n_neighbors})`: the data has {n} rows, too few for so many pairs. Each row "
                f"has {counts.neighbors} neighbors, {counts.mid_near} mid-near and {counts.further} further pairs. Set "
                f"`n_neighbors={counts.neighbors}` or `None` to avoid this warning.",
                DataWarning,
            )
        self.n_neighbors_, self.n_mid_near_, self.n_further_ = counts.neighbors, counts.mid_near, counts.further

    def _iterations(self) -> tuple[int, int, int]:
        given = (100, 100, self.num_iters) if isinstance(self.num_iters, int | np.integer) else tuple(self.num_iters)
        if len(given) != 3 or any(not isinstance(t, int | np.integer) or isinstance(t, bool) or t < 0 for t in given):
            raise ParameterError(
                f"{type(self).__name__}(num_iters={shown(self.num_iters)}): the parameter 'num_iters' must be an "
                "integer or three integers, at least 0."
            )
        return int(given[0]), int(given[1]), int(given[2])

    def _metric(self) -> Metric:
        return Metric(self._params.distance, dict(self._params.metric_params or {}), parameter="distance")

    def _neighborhood(self, X: Any = None) -> Neighborhood:
        """The neighbors of a fit to X, or with None those of new rows."""
        k = None if X is None else min(self.n_neighbors_ + EXTRA, int(X.shape[0]) - 1)
        return Neighborhood(
            type(self).__name__, self._measure(), k, policy=self._params.disconnected, rng=self._start_generator(),
            value=self._params.n_neighbors, reports_ignored=False, takes_equal=True,
        )  # fmt: skip

    def _neighbors(self, neighborhood: Neighborhood, X: Array, run: Run, given: Any) -> NeighborGraph:
        """The candidates: the nearest rows after the reduction, or the edges of a given graph."""
        wide = X.shape[1] > COLUMNS and self.apply_pca and self.distance == "euclidean" and given is None
        self.reduction_ = ColumnReduction.of(X, COLUMNS, run) if wide else None
        if given is None and neighborhood.is_given(X):  # all stored distances are candidates
            found = replace(neighborhood, k=None).find(X, run, None)
            neighborhood.warn_of_few_stored(found, self.n_neighbors_)
            return found
        return neighborhood.find(X if self.reduction_ is None else self.reduction_(X), run, given)

    def _problem(self, X: Array, found: Components, run: Run) -> EmbeddingProblem:
        P, values = host_rows(X) if self.reduction_ is None else self.reduction_(X), X.data if is_sparse(X) else X
        if self.reduction_ is not None:
            self.points_ = like(P, values)
        graph, scales = found.graph, local_scales(found.graph)
        self.scales_ = like(scales, values)
        near = self._given("pair_neighbors", graph.n)
        near = self._near(found, scales, run) if near is None else near
        mid = self._given("pair_MN", near.n)
        mid = self._mid_near(P, run) if mid is None else mid
        far = self._given("pair_FP", near.n)
        far = further_pairs(near, self.n_further_, self.seed_, run) if far is None else far
        rows = np.flatnonzero(found.kept)
        tables = [pairs.table(rows, values) for pairs in (near, mid, far)]
        self.pair_neighbors_, self.pair_MN_, self.pair_FP_ = tables
        objective = PairForces(near, mid, far, pair_phases(self._iterations(), self.lr), self._adjustment(near))
        reason = f"{len(near.to):,} pairs of neighbors, {len(mid.to):,} mid-near and {len(far.to):,} further pairs"
        given = X if self.reduction_ is None else P
        start = np.zeros((near.n, self.n_components)) if are_equal(self, X, graph) else self._start(given, run)
        return EmbeddingProblem(objective, np.ascontiguousarray(start, dtype=np.float32), Outcome("Adam", reason))

    def _near(self, found: Components, scales: np.ndarray, run: Run) -> Pairs:
        """The neighbors, of the candidates in the graph; the edges added to connect components are among them."""
        graph = found.graph
        if not found.n_edges_added:
            return scaled_neighbors(graph, scales, self.n_neighbors_, run)
        added = added_edges(found)
        own, bridges = graph.chosen(~added), graph.chosen(added)
        return scaled_neighbors(own, scales, self.n_neighbors_, run) + Pairs(bridges.start, bridges.to)

    def _adjustment(self, near: Pairs) -> LocalAdjustment | None:
        """What changes after the first two phases. None means nothing."""
        return None

    def _given(self, name: str, n: int) -> Pairs | None:
        pairs = getattr(self, name)
        if pairs is None:
            return None
        if n < self.n_samples_:
            raise ParameterError(
                f"{type(self).__name__}({name}=...): {self.n_samples_ - n} rows are left out, by "
                "disconnected='largest' or because they have no neighbor. Your own pairs need all points: set "
                "disconnected='connect'."
            )
        with with_remedy(f"Check {name}."):
            return given_pairs(pairs, n)

    def _mid_near(self, P: Any, run: Run) -> Pairs:
        if self._takes_graph(P) and self.n_mid_near_:
            raise ParameterError(
                f"{type(self).__name__}: mid-near pairs need distances between random rows, which a sparse matrix of "
                "distances does not store. Pass all distances, or rows and graph=..., or set MN_ratio=0."
            )
        return mid_near_pairs(P, self.n_mid_near_, self.seed_, run, *self._measure())

    # --- start ---

    def _start(self, P: Any, run: Run) -> np.ndarray:
        n, k, rng = P.shape[0], self.n_components, np.random.default_rng(self.seed_)
        if not isinstance(self.init, str):
            Z = given_places(self, "init", embedded_mask(self))
            spread = Z.std(axis=0)
            return _TINY * (Z - Z.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        if self.init == "random" or self._takes_graph(P):
            return _TINY * rng.standard_normal((n, k))
        if lacks_components(P, self._measure()):
            Z = principal_places(P, self._measure(), k, run, rng)
            return Z * (_START / (float(np.abs(Z).max()) or 1.0))
        values = P.data if is_sparse(P) else P
        low, high = (float(extreme(values)) for extreme in (xp_of(values).min, xp_of(values).max))
        low = min(low, 0.0) if is_sparse(P) else low
        unit = float(power_of_two(np.float64(max(abs(low), abs(high)))))
        span = high / unit - (0.0 if self.distance == "precomputed" else low / unit)
        scaled = P / unit
        find = classical_start if self.distance == "precomputed" else principal_start
        return find(scaled, k, run, rng) * (_START / (span or 1.0))

    def _takes_graph(self, P: Any) -> bool:
        """Whether rows are a sparse matrix of distances."""
        return is_sparse(P) and self._measure().precomputed

    # --- new rows ---

    def _encoding(self) -> Callable[[Array], Array]:
        kept = embedded_mask(self)
        Z = to_numpy(rows_at(self.embedding_, kept)).astype(np.float64)
        scales = above_zero(to_numpy(self.scales_).astype(np.float64))  # some may have been rounded to zero in float32
        if self._measure().precomputed:
            place = ByAttraction(None, None, scales, Z, self.n_neighbors_, np.flatnonzero(kept))
            return ByGivenDistances(place, kept)
        nearest = self._neighborhood().nearest_among(self.points_, min(self.n_neighbors_ + EXTRA, len(Z)))
        return ByAttraction(nearest, self.reduction_, scales, Z, self.n_neighbors_)

    def _facts(self) -> dict[str, Any]:
        return graph_facts(self)
