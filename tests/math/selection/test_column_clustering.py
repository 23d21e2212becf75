"""Distances of columns, their trees and cuts, and pooling."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import AgglomerativeClustering

from lowland.data.open import open_rows
from lowland.errors import DataError, DataWarning, ParameterError
from lowland.math.selection.column_clustering import (
    PoolColumns,
    SpreadGroups,
    cluster_tree,
    connectivity_graph,
    constrained_tree,
    cut_tree,
    named_groups,
    uses_spanning_tree,
)
from lowland.math.selection.column_distances import column_distances
from lowland.run.local import LocalRun


def distances(X, metric, **options):
    return column_distances(open_rows(X), LocalRun(), metric, **options)


def test_by_hand():
    D, n = distances(np.array([[0.0, 3.0], [0.0, 4.0]]), "euclidean")
    assert D.tolist() == [[0, 5], [5, 0]]
    assert n == 2
    assert distances(np.array([[0.0, 3.0], [0.0, 4.0]]), "manhattan")[0].tolist() == [[0, 7], [7, 0]]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "correlation", "chebyshev"])
def test_distances_agree_with_the_definition(metric):
    X = np.random.default_rng(0).standard_normal((40, 6)) + 3
    name = {"manhattan": "cityblock"}.get(metric, metric)
    np.testing.assert_allclose(distances(X, metric)[0], cdist(X.T, X.T, name), atol=1e-12)


def test_absolute_and_euclidean_forms_of_correlation():
    x = np.arange(5.0)
    X = np.column_stack([x, -2 * x + 1, x**2])
    r = np.corrcoef(X.T)
    np.testing.assert_allclose(distances(X, "absolute-correlation")[0], 1 - np.abs(r), atol=1e-12)
    np.testing.assert_allclose(distances(X, "correlation", as_euclidean=True)[0], np.sqrt(2 - 2 * r), atol=1e-7)


def test_nearly_equal_columns_keep_accurate_distances():
    x = np.random.default_rng(0).standard_normal(50)
    X = np.column_stack([x, x + 1e-9]) + 100
    np.testing.assert_allclose(distances(X, "euclidean")[0][0, 1], np.linalg.norm(X[:, 0] - X[:, 1]), rtol=1e-9)


def test_columns_without_a_distance_are_reported():
    X = np.column_stack([np.zeros(4), np.arange(4.0), np.ones(4)])
    with pytest.raises(DataError, match="zero in every row"):
        distances(X, "cosine")
    with pytest.warns(DataWarning, match="constant"):
        assert distances(X, "correlation")[0][0, 1] == 1
    with pytest.raises(ParameterError, match=r"shape \(3,\)"):
        distances(X, lambda columns: np.zeros(3))


PAIRS = np.array([[0.0, 1.0, 4.0, 6.0], [1.0, 0.0, 5.0, 5.0], [4.0, 5.0, 0.0, 2.0], [6.0, 5.0, 2.0, 0.0]])


@pytest.mark.parametrize(("linkage", "last"), [("single", 4.0), ("complete", 6.0), ("average", 5.0)])
def test_two_pairs_by_hand(linkage, last):
    tree = cluster_tree(PAIRS, linkage)
    assert tree.children[:2].tolist() == [[0, 1], [2, 3]]
    assert tree.heights.tolist() == [1.0, 2.0, last]
    assert tree.n_leaves == 4
    assert [tree.n_clusters_at(height) for height in (0.5, 1.5, 3.0, 10.0)] == [4, 3, 2, 1]
    labels = cut_tree(tree, 2)
    assert labels[0] == labels[1] != labels[2] == labels[3]
    assert cut_tree(tree, 1).tolist() == [0, 0, 0, 0]
    assert sorted(cut_tree(tree, 4)) == [0, 1, 2, 3]


def test_single_linkage_by_a_spanning_tree_gives_the_same_tree():
    D = cdist(*[np.random.default_rng(0).standard_normal((12, 3))] * 2)
    one, other = (cluster_tree(D, "single", spanning_tree=spans) for spans in (False, True))
    np.testing.assert_allclose(one.heights, other.heights)
    for k in (2, 5, 9):
        same = [labels[:, None] == labels[None, :] for labels in (cut_tree(one, k), cut_tree(other, k))]
        np.testing.assert_array_equal(*same)
    assert uses_spanning_tree("manhattan")
    assert not uses_spanning_tree("cosine")


@pytest.mark.parametrize("linkage", ["ward", "average", "complete"])
def test_groups_agree_with_scikit_learn(linkage):
    points = np.random.default_rng(1).standard_normal((15, 4))
    theirs = AgglomerativeClustering(4, linkage=linkage).fit(points).labels_
    np.testing.assert_array_equal(cut_tree(cluster_tree(cdist(points, points), linkage), 4), theirs)


@pytest.mark.parametrize("linkage", ["average", "single"])
@pytest.mark.parametrize("n_clusters", [None, 2])
def test_connectivity_of_a_path_merges_only_neighbors(n_clusters, linkage):
    """0 and 2 are nearest, but have no edge."""
    D = np.array([[0.0, 5.0, 1.0], [5.0, 0.0, 6.0], [1.0, 6.0, 0.0]])
    links = connectivity_graph(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), 3, lambda: D)
    labels = cut_tree(constrained_tree(links, D, linkage, n_clusters), 2)
    assert labels[0] == labels[1] != labels[2]


def test_components_of_the_graph_are_connected_with_a_warning():
    links = connectivity_graph(np.eye(4, k=1) * [1, 1, 0, 1], 4, lambda: PAIRS)
    with pytest.warns(DataWarning, match="2 connected components"):
        tree = constrained_tree(links, PAIRS, "average", None)
    assert tree.n_connected_components == 2
    assert len(tree.heights) == 3


def test_a_connectivity_is_checked():
    with pytest.raises(ParameterError, match="not a matrix of numbers"):
        connectivity_graph("abc", 3, lambda: PAIRS)
    with pytest.raises(ParameterError, match=r"shape \(2, 2\).* 3 columns"):
        connectivity_graph(lambda columns: np.eye(2), 3, lambda: PAIRS)


LABELS = np.array([1, 0, 1])
X = np.array([[1.0, 2.0, 5.0], [0.0, 4.0, -2.0]])


@pytest.mark.parametrize(
    ("pooling", "pooled"),
    [
        ("mean", [[2, 3], [4, -1]]),
        ("median", [[2, 3], [4, -1]]),
        ("max", [[2, 5], [4, 0]]),
        ("min", [[2, 1], [4, -2]]),
        (np.mean, [[2, 3], [4, -1]]),
        (np.sum, [[2, 6], [4, -2]]),
    ],
)
def test_pooling_by_hand(pooling, pooled):
    assert PoolColumns(LABELS, pooling)(X).tolist() == pooled


def test_groups_are_spread_over_their_columns():
    assert SpreadGroups(LABELS)(np.array([[2.0, 3.0]])).tolist() == [[3, 2, 3]]
    assert named_groups(LABELS, ["a", "b", "c"]) == {0: ["b"], 1: ["a", "c"]}


def test_nan_is_limited_to_its_row_and_a_wrong_function_is_refused():
    spoiled = np.where(X == 5, np.nan, X)
    assert np.isnan(PoolColumns(LABELS, "max")(spoiled)).all(axis=1).tolist() == [True, False]
    with pytest.raises(ParameterError, match="one number per row"):
        PoolColumns(LABELS, lambda columns, axis: columns.sum())(X)
