"""Loadings, biplots and dendrograms."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import lowland
from lowland import CorrespondenceAnalysis, FactorAnalysisOfMixedData, MultipleCorrespondenceAnalysis, plots
from lowland.data import load_dataset
from lowland.errors import DataError
from lowland.plots.style import COLORS, WEAK


def test_loadings_are_bars(drawn):
    wine = load_dataset("wine")
    pca = lowland.PCA(4, scale=True).fit(wine.X)
    ax = drawn(plots.loadings(pca.components_, wine.names, most=2))
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, pca.components_[:2].ravel())
    assert [label.get_text() for label in ax.get_xticklabels()] == list(wine.names)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["component 1", "component 2"]
    ax = drawn(plots.loadings(np.ones((1, 50))))
    assert ax.get_xlabel() == "column"
    assert ax.patches[0].get_center()[0] == pytest.approx(1)  # counted from 1, as the names of fewer columns are


def test_biplot_has_points_and_an_arrow_for_each_column(drawn):
    wine = load_dataset("wine")
    pca = lowland.PCA(2, scale=True).fit(wine.X)
    Z = pca.transform(wine.X)
    ax = drawn(plots.biplot(Z, pca.components_, wine.names, wine.y, label_names=wine.label_names))
    assert sum(len(points.get_offsets()) for points in ax.collections) == len(Z)
    arrows = {text.get_text(): np.array(text.xy) for text in ax.texts if text.get_text()}
    assert set(arrows) == set(wine.names)
    expected = dict(zip(wine.names, pca.components_.T, strict=True))
    scale = np.linalg.norm(arrows[wine.names[0]]) / np.linalg.norm(expected[wine.names[0]])
    for name in wine.names:
        np.testing.assert_allclose(arrows[name], scale * expected[name])
    assert len(ax.get_legend().get_texts()) == 3


@pytest.mark.parametrize(("panels", "data"), [(3, "wine"), (1, "digits")])
def test_names_of_a_biplot_do_not_overlap_and_stay_in_the_panel(panels, data):
    sample = load_dataset(data)
    pca = lowland.PCA(2, scale=data == "wine").fit(sample.X)
    figure = Figure(figsize=(10, 3.3) if panels == 3 else (6.2, 5.2), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    for ax in axes:
        plots.biplot(pca.transform(sample.X), pca.components_, sample.names, ax=ax)
    figure.draw_without_rendering()
    frame = axes[-1].get_window_extent()
    named = [text for text in axes[-1].texts if text.get_text() and hasattr(text, "xy")]
    boxes = [Text.get_window_extent(text) for text in named]  # without the lines that lead to them
    assert len(boxes) == min(30, sample.X.shape[1])
    common = [Bbox.intersection(*pair) for pair in itertools.combinations(boxes, 2)]
    hidden = sum(box.width * box.height for box in common if box is not None)
    assert hidden < 0.02 * sum(box.width * box.height for box in boxes)
    assert all(frame.x0 - 2 < box.x0 and box.x1 < frame.x1 + 2 for box in boxes)


def test_a_biplot_says_that_short_arrows_are_left_out(drawn):
    rng = np.random.default_rng(0)
    Z, components = rng.standard_normal((20, 2)), rng.standard_normal((2, 40))
    ax = drawn(plots.biplot(Z, components))
    assert "30 longest of 40 arrows" in [text.get_text() for text in ax.texts]
    longest = np.argsort(-np.hypot(*components))[:30] + 1
    assert {text.get_text() for text in ax.texts if hasattr(text, "xy")} == {"", *map(str, longest)}
    ax = drawn(plots.biplot(Z, components[:, :30]))
    assert not any("longest" in text.get_text() for text in ax.texts)


def test_loadings_are_drawn_from_either_orientation(drawn):
    wine = load_dataset("wine")
    factors = lowland.FactorAnalysis(2).fit(wine.X)
    assert factors.loadings_.shape == (13, 2)
    for given in (factors.loadings_, factors.loadings_.T, factors):
        ax = drawn(plots.loadings(given, wine.names))
        assert [label.get_text() for label in ax.get_xticklabels()][:2] == list(wine.names[:2])
        np.testing.assert_allclose([bar.get_height() for bar in ax.patches], factors.loadings_.T.ravel())
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(factors.loadings_, index=wine.names, columns=["first", "second"])
    for table in (frame, frame.T):
        ax = drawn(plots.loadings(table))
        assert [label.get_text() for label in ax.get_xticklabels()][:2] == list(wine.names[:2])
    ax = drawn(plots.loadings(np.ones((5, 2)), ["a", "b"]))  # more components than columns: the names decide
    assert len(ax.patches) == 3 * 2


def test_of_many_columns_the_largest_loadings_are_named(drawn):
    rng = np.random.default_rng(0)
    table = rng.standard_normal((2, 100))
    table[0, 70] = 9
    figure = plots.loadings(table, [f"a rather long and detailed name of a column {i}" for i in range(100)])
    ax = drawn(figure)
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert 20 <= len(labels) <= 40
    assert any(label.endswith(" 70") for label in labels)
    assert min(np.diff(ax.get_xticks())) >= 2  # space for each name
    assert max(map(len, labels)) <= 28
    assert "of 100 named" in ax.get_xlabel()
    assert figure.get_figwidth() <= 14


def test_names_without_space_are_left_out_of_a_biplot(drawn):
    rng = np.random.default_rng(0)
    names = [f"a rather long and detailed name of a column {i}" for i in range(30)]
    ax = drawn(plots.biplot(rng.standard_normal((20, 2)), rng.standard_normal((2, 30)), names))
    named = [text for text in ax.texts if hasattr(text, "xy") and text.get_text()]
    assert 15 <= len(named) < 30
    assert f"30 arrows, {len(named)} named" in [text.get_text() for text in ax.texts]
    boxes = [Text.get_window_extent(text) for text in named]
    common = [Bbox.intersection(*pair) for pair in itertools.combinations(boxes, 2)]
    hidden = sum(box.width * box.height for box in common if box is not None)
    assert hidden < 0.03 * sum(box.width * box.height for box in boxes)


# --- rows with columns or levels as points ---

COUNTS = np.array([[4, 2, 3, 2], [4, 3, 7, 4], [25, 10, 12, 4], [18, 24, 33, 13], [10, 6, 7, 2]])


def written(figure):
    return {text.get_text() for text in figure.axes[0].texts} - {""}


def test_a_map_of_counts_has_rows_and_columns_at_their_coordinates():
    ca = CorrespondenceAnalysis(2).fit(COUNTS)
    figure = plots.biplot(ca, COUNTS, row_names=list("vwxyz"), point_names=["none", "light", "medium", "heavy"])
    assert written(figure) == {*"vwxyz", "none", "light", "medium", "heavy"}
    rows, columns = (np.asarray(drawn.get_offsets()) for drawn in figure.axes[0].collections)
    np.testing.assert_allclose(rows, ca.transform(COUNTS))
    np.testing.assert_allclose(np.sort(columns, axis=0), np.sort(ca.column_points_.coordinates, axis=0))


def test_maps_of_categories_and_of_mixed_tables():
    import pandas as pd

    frame = pd.DataFrame({"color": list("rgbrgb"), "size": list("SMSMSS"), "x": [1.0, 2, 3, 5, 5, 9]})
    mca = MultipleCorrespondenceAnalysis(2).fit(frame[["color", "size"]])
    names = {"color_r", "color_g", "color_b", "size_S", "size_M"}
    assert written(plots.biplot(mca, frame[["color", "size"]])) == names
    famd = FactorAnalysisOfMixedData(2).fit(frame)
    assert written(plots.biplot(famd, frame)) == names | {"x"}


def test_points_alone_and_many_points():
    rng = np.random.default_rng(0)
    figure = plots.biplot(rng.standard_normal((9, 2)), None, points=rng.standard_normal((50, 2)))
    assert any("30 longest of 50 points" in text for text in written(figure))
    with pytest.raises(DataError, match="components"):
        plots.biplot(rng.standard_normal((9, 2)), None)


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
