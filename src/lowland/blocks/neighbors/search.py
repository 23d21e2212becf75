"""Choosing a search, the nearest neighbors of every row, and all neighbors within a radius."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import Array, on_accelerator, to_numpy
from lowland.blocks.distances.metrics import Metric, check_metric
from lowland.blocks.distances.to_points import check_distances
from lowland.blocks.neighbors.brute_force import BruteForce
from lowland.blocks.neighbors.graph import NeighborGraph
from lowland.blocks.neighbors.hnsw import Approximate, approximate_search, is_worth_it
from lowland.blocks.neighbors.kd_tree import KDTree
from lowland.blocks.neighbors.matrix_products import Products
from lowland.blocks.neighbors.metric_space import MetricSpace
from lowland.blocks.neighbors.searcher import Searcher
from lowland.blocks.neighbors.torch_search import TorchSearch
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.run.local import LocalRun
from lowland.run.run import Run

Search = Literal["auto", "tree", "products", "approximate"]

_FEW_POINTS = 512  # of which all pairs are compared before a tree is built, or its loops are compiled
_TREE_COLUMNS = 32  # beyond this many a tree is not tried
_TREE_FRACTION = 0.05  # of all points: where a tree measures more for each row, products are faster
_TREE_POINTS = 500  # which it may always
_SMALL = 1e-150  # distances of which none is longer may have lost their digits


def choose_searcher(X: Array, metric: Metric, params: dict[str, Any], search: Search, k: int) -> Searcher:
    """Choose how neighbours are searched for: a tree where it spares enough of the pairs, products, or comparisons."""
    check_metric(metric, params)
    space = MetricSpace.of(metric, params)
    if space is not None:
        space.check(X)
    if search == "approximate":
        return approximate_search(X, space)
    if not isinstance(X, np.ndarray) and on_accelerator(X):
        return TorchSearch(X, metric, params)
    if space is None:
        return BruteForce(X, metric, params)
    by_products: Searcher = Products(X, space) if space.p == 2 else BruteForce(X, metric, params)
    if search == "tree":
        return KDTree(X, space)
    if search == "products":
        return by_products
    if X.shape[1] <= _TREE_COLUMNS:
        if X.shape[0] <= _FEW_POINTS:
            return BruteForce(X, metric, params)
        tree = KDTree(X, space)
        if tree.points_measured(k) < max(_TREE_POINTS, _TREE_FRACTION * X.shape[0]):
            return tree
    return by_products


def nearest_neighbors(
    X: Array,
    k: int,
    run: Run | None = None,
    *,
    metric: Metric = "euclidean",
    params: dict[str, Any] | None = None,
    search: Search = "auto",
    rng: np.random.Generator | None = None,
) -> NeighborGraph:
    """Return the k nearest neighbors of every row, itself excluded; metric "precomputed": X holds the distances.

    Ties go to the lower index. No n x n matrix is formed.
    """
    run = run or LocalRun()
    n = X.shape[0]
    if k >= n:
        raise ParameterError(f"{k} neighbours of each row: the data has {n} rows. Choose at most {n - 1}.")
    X = check_distances(X) if metric == "precomputed" else X
    run.require(40 * n * k, f"A graph of {k} neighbours for each of {n:,} rows", "Choose fewer neighbours")
    searcher = choose_searcher(X, metric, params or {}, search, k)
    if search == "auto" and isinstance(searcher, Products) and is_worth_it(*X.shape):
        searcher = Approximate(X, searcher.space)
    indices, distances = all_found(*searcher.nearest(k, run), n)
    _refuse_if_equal(X, distances, metric, params or {})
    recall = 1.0
    if isinstance(searcher, Approximate):
        recall = searcher.recall(distances, run, rng or np.random.default_rng(0))
    return NeighborGraph.of_table(indices, _in_precision_of(X, distances), searcher.name, recall)


def neighbors_within(
    X: Array,
    radius: float,
    run: Run | None = None,
    *,
    metric: Metric = "euclidean",
    params: dict[str, Any] | None = None,
    search: Search = "auto",
) -> NeighborGraph:
    """Return, for every row, all others no farther than ``radius``, nearest first; warn of rows that have none."""
    run = run or LocalRun()
    X = check_distances(X) if metric == "precomputed" else X
    searcher = choose_searcher(X, metric, params or {}, "auto" if search == "approximate" else search, 10)
    start, to, length = searcher.within(radius, run)
    _refuse_if_equal(X, length, metric, params or {})
    isolated = np.flatnonzero(np.diff(start) == 0)
    if len(isolated):
        _report_isolated_rows(searcher, isolated, X.shape[0], radius, run)
    return NeighborGraph(start, to, _in_precision_of(X, length), searcher.name)


def _report_isolated_rows(searcher: Searcher, isolated: np.ndarray, n: int, radius: float, run: Run) -> None:
    _, nearest = searcher.nearest(1, run, rows=isolated)
    enough = _rounded_up(float(nearest.max()))
    if len(isolated) == n:
        raise DataError(
            f"A radius of {radius:g} leaves every row without a neighbour; with a radius of {enough:g} every row has "
            "one. Choose a larger radius, or a number of neighbours."
        )
    rows = "1 row" if len(isolated) == 1 else f"{len(isolated)} rows"
    warn(
        f"A radius of {radius:g} leaves {rows} of {n} without a neighbour; with a radius of {enough:g} every row has "
        "one. Choose a larger radius, or a number of neighbours.",
        DataWarning,
    )


def _rounded_up(x: float) -> float:
    """A number of three digits that is not smaller."""
    if x == 0:
        return x
    step = 10.0 ** (math.floor(math.log10(x)) - 2)
    return float(f"{math.ceil(x / step) * step:.3g}")


def all_found(indices: np.ndarray, distances: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Refuse an answer in which a neighbour is missing: kernels that walk the graph take every index for a point."""
    if indices.size and (indices.min() < 0 or indices.max() >= n or not np.isfinite(distances).all()):
        raise DataError("Some rows are infinitely far from all others. Rescale the columns, or leave such rows out.")
    return indices, distances


def _in_precision_of(X: Array, lengths: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        found = lengths.astype(to_numpy(X[:1, :1]).dtype)
    if not np.isfinite(found).all():
        raise DataError(f"Distances of rows are too large for {found.dtype}. Rescale the columns, or pass float64.")
    return found


def _refuse_if_equal(X: Array, lengths: np.ndarray, metric: Metric, params: dict[str, Any]) -> None:
    """Refuse rows that do not differ at all, or too little to be told apart: there is nothing to draw."""
    if float(lengths.max(initial=0)) > _SMALL:
        return
    space = MetricSpace.of(metric, params)
    if space is not None:
        space.check_differences(X)
    if lengths.max(initial=0) > 0:
        return
    if bool((X == 0).all()) if metric == "precomputed" else bool((X[:1, :] == X).all()):
        raise DataError("All rows are equal: none is nearer than another. Check the columns that were chosen.")
