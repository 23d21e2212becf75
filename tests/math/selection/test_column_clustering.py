"""Trees of columns: by hand from a distance matrix, compared with scikit-learn, and with a connectivity graph."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import AgglomerativeClustering

from lowland.errors import DataWarning, ParameterError
from lowland.math.selection.column_clustering import (
    cluster_tree,
    connectivity_graph,
    constrained_tree,
    cut_tree,
    uses_spanning_tree,
)

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
