"""Dendrograms."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_hex

import lowland
from lowland import plots
from lowland.data import load_dataset
from lowland.errors import DataError
from lowland.plots.style import COLORS, WEAK


def test_dendrogram_draws_every_merge_at_its_height_and_colors_groups(drawn):
    wine = load_dataset("wine")
    model = lowland.FeatureAgglomeration(3, metric="correlation", linkage="average").fit(wine.X)
    figure = plots.dendrogram(model.children_, model.distances_, model.labels_, names=wine.names, title="wine")
    ax = drawn(figure)
    bars = ax.collections[0].get_segments()
    np.testing.assert_allclose([bar[1, 1] for bar in bars], model.distances_)
    np.testing.assert_allclose([bar[2, 1] for bar in bars], model.distances_)
    leaves = sorted(x for bar in bars for x, height in bar[[0, 3]] if height == 0)
    assert leaves == list(range(13))
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert sorted(labels) == sorted(wine.names)
    colors = {label.get_text(): to_hex(label.get_color()) for label in ax.get_xticklabels()}
    assert all(colors[name] == COLORS[group] for name, group in zip(wine.names, model.labels_, strict=True))
    drawn_colors = [to_hex(color) for color in ax.collections[0].get_colors()]
    assert drawn_colors.count(WEAK) == 2  # the merges above the cut
    assert ax.get_title(loc="left") == "wine"
    groups = [model.labels_[list(wine.names).index(name)] for name in labels]
    assert sum(a != b for a, b in itertools.pairwise(groups)) == 2  # the leaves of each group are adjacent


def test_dendrogram_without_distances_or_with_many_leaves(drawn):
    ax = drawn(plots.dendrogram([[0, 1], [2, 3]]))
    assert [bar[1, 1] for bar in ax.collections[0].get_segments()] == [1, 2]
    assert ax.get_ylabel() == "merge step"
    chain = [[0, 1], *([i + 1, 100 + i - 1] for i in range(1, 99))]
    ax = drawn(plots.dendrogram(chain, np.arange(1.0, 100.0)))
    assert ax.get_xlabel() == "100 leaves"


def test_dendrogram_refuses_invalid_trees():
    with pytest.raises(DataError, match=r"children.*two nodes per merge"):
        plots.dendrogram([0, 1])
    for children in ([[0, 1], [0, 3]], [[0, 4], [1, 2]], [[0, 1], [2, 5]]):
        with pytest.raises(DataError, match=r"one tree of 3 leaves.*compute_full_tree=True"):
            plots.dendrogram(children)
    with pytest.raises(DataError, match="one distance per merge"):
        plots.dendrogram([[0, 1], [2, 3]], [1.0])
    with pytest.raises(DataError, match="cluster of each leaf"):
        plots.dendrogram([[0, 1], [2, 3]], labels=[0, 1])
    with pytest.raises(DataError, match="2 names for 3 leaves"):
        plots.dendrogram([[0, 1], [2, 3]], names=["a", "b"])

    for children, words in [
        ([["a", "b"]], "contains strings"),
        ([[0.0, np.nan]], "NaN"),
        ([[0, 0.5]], "fractions"),
    ]:
        with pytest.raises(DataError, match=words):
            plots.dendrogram(children)
    for heights, words in [([1.0, np.nan], "distances contains NaN"), (["a", "b"], "distances contains strings")]:
        with pytest.raises(DataError, match=words):
            plots.dendrogram([[0, 1], [2, 3]], heights)
    with pytest.raises(DataError, match="1 of the 3 labels are NaN or None"):
        plots.dendrogram([[0, 1], [2, 3]], labels=[0, None, 1])


def test_dendrogram_accepts_strings_as_groups(drawn):
    ax = drawn(plots.dendrogram([[0, 1], [2, 3]], [1.0, 2.0], ["b", "b", "a"]))
    assert [to_hex(color) for color in ax.collections[0].get_colors()] == [COLORS[1], WEAK]


def test_a_linkage_matrix_of_scipy_is_drawn(drawn):
    from scipy.cluster.hierarchy import linkage

    X = np.random.default_rng(0).standard_normal((9, 3))
    merges = linkage(X, "average")
    ax = drawn(plots.dendrogram(merges))
    tops = sorted(path.vertices[:, 1].max() for path in ax.collections[0].get_paths())
    np.testing.assert_allclose(tops, merges[:, 2])
    assert ax.get_ylabel() == "merge distance"
