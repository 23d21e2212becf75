"""Truths of the figures: what is drawn equals what was given, the words are there, nothing global changes."""

import itertools
import re
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cbook import is_math_text
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import lowland
from lowland import plots, quality
from lowland.blocks.selection.subset_search import Step
from lowland.data import load_dataset
from lowland.errors import DataError, DataTypeError, MissingExtra, ParameterError
from lowland.plots.style import COLORS, STRONG, WEAK, WITH_COMPONENTS


@pytest.fixture(scope="module")
def digits():
    return load_dataset("digits")


@pytest.fixture(scope="module")
def pca(digits):
    return lowland.PCA().fit(digits.X)


def drawn(figure, tmp_path):
    """Render, so that whatever would fail only then fails here; return the only axes."""
    figure.savefig(tmp_path / "figure.png")
    return figure.axes[0]


# --- spectra


def test_scree_bars_are_the_shares(pca, tmp_path):
    choice = lowland.PCA(0.9).fit(load_dataset("digits").X).choice_
    ax = drawn(plots.scree(pca.explained_variance_[:30], pca.total_variance_, choice), tmp_path)
    bars = ax.patches
    assert len(bars) == 30
    np.testing.assert_allclose([bar.get_height() for bar in bars], 100 * pca.explained_variance_ratio_[:30])
    kept = [to_hex(bar.get_facecolor()) for bar in bars]
    assert kept == [STRONG] * 21 + [WEAK] * 9
    assert ax.get_title(loc="left") == "21 components explain 90.3% of the variance"
    assert "%" in ax.get_ylabel()


def test_scree_without_a_total_takes_the_sum(tmp_path):
    ax = drawn(plots.scree([3, 1], choice=1), tmp_path)
    assert [bar.get_height() for bar in ax.patches] == [75, 25]
    assert ax.get_title(loc="left") == "1 kept: 75.0% of the values shown"


def test_distortion_curve_is_the_numbers_given(pca, tmp_path):
    J = [pca.distortion(m) for m in range(65)]
    ax = drawn(plots.distortion_curve(J, choice=21), tmp_path)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), J)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(65))
    assert ax.lines[1].get_xdata()[0] == 21
    assert ax.texts[0].get_text() == f"J(21) = {J[21]:.3g}"
    assert ax.get_xlabel() == "components kept, M"  # as in plots.reconstructions


def test_decay_draws_powers(tmp_path):
    ax = drawn(plots.decay([0.9, 0.5, -0.1], [1, 3]), tmp_path)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [0.9**3, 0.5**3, 0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["t = 1", "t = 3"]
    with pytest.raises(DataError, match="list of one or more"):
        plots.decay([])


@pytest.mark.parametrize("draw", [plots.scree, plots.distortion_curve])
def test_spectra_refuse_what_makes_no_sense(draw):
    with pytest.raises(DataError, match="list of one or more"):
        draw([])
    with pytest.raises(DataError, match="shape"):
        draw(np.ones((2, 2)))
    for choice in (7, -1, True, "two"):
        with pytest.raises(ParameterError, match="choice="):
            draw([2, 1, 0], choice=choice)
    with pytest.raises(DataError, match="nothing"):
        plots.scree([0.0, 0.0])
    with pytest.raises(DataError, match="holds texts"):
        draw(["a", "b"])
    with pytest.raises(DataError, match="NaN"):
        draw([1.0, np.nan])


# --- points


def test_embedding_draws_each_class_with_its_own_colour_shape_and_name(digits, pca, tmp_path):
    Z = pca.transform(digits.X)
    figure = plots.embedding(Z, digits.y, title="digits", centers=True)
    ax = drawn(figure, tmp_path)
    assert len(ax.collections) == 10
    for digit, points in enumerate(ax.collections):
        np.testing.assert_array_equal(points.get_offsets(), Z[digits.y == digit, :2])
        assert to_hex(points.get_facecolor()[0]) == COLORS[digit]
    shapes = {points.get_paths()[0].vertices.tobytes() for points in ax.collections}
    assert len(shapes) == 10
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list("0123456789")
    assert [text.get_text() for text in ax.texts] == list("0123456789")
    assert ax.get_title(loc="left") == "digits"
    assert ax.get_aspect() == 1


def test_embedding_names_classes(tmp_path):
    iris = load_dataset("iris")
    ax = drawn(plots.embedding(iris.X, iris.y, label_names=iris.label_names), tmp_path)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["setosa", "versicolor", "virginica"]
    ax = drawn(plots.embedding(iris.X, np.array(iris.label_names)[iris.y], axis_names=("a", "b")), tmp_path)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["setosa", "versicolor", "virginica"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")


def test_embedding_shows_numbers_by_a_colour_bar(tmp_path):
    roll = load_dataset("swiss_roll", n=100)
    figure = plots.embedding(roll.X, roll.y)
    ax = drawn(figure, tmp_path)
    np.testing.assert_array_equal(ax.collections[0].get_array(), roll.y)
    assert len(figure.axes) == 2
    assert ax.get_legend() is None


def test_embedding_without_labels_takes_tensors(tmp_path):
    torch = pytest.importorskip("torch")
    Z = torch.arange(8.0).reshape(4, 2)
    ax = drawn(plots.embedding(Z), tmp_path)
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), Z.numpy())
    assert ax.get_legend() is None


def test_embeddings_stand_side_by_side_on_shared_axes(tmp_path):
    figure = Figure()
    for ax in figure.subplots(1, 2, sharex=True, sharey=True):
        plots.embedding(np.eye(3), ax=ax)
    figure.savefig(tmp_path / "side_by_side.png")
    assert figure.axes[0].get_adjustable() == "box"
    assert plots.embedding(np.eye(3)).axes[0].get_adjustable() == "datalim"


def test_more_classes_than_colours_stay_apart(tmp_path):
    marks = np.arange(30)
    ax = drawn(plots.embedding(np.eye(30), marks), tmp_path)
    looks = {(to_hex(points.get_facecolor()[0]), points.get_paths()[0].vertices.tobytes()) for points in ax.collections}
    assert len(looks) == 30
    with pytest.raises(ParameterError, match="31 classes"):
        plots.embedding(np.eye(31), np.arange(31))


def test_embedding_refuses_what_makes_no_sense():
    with pytest.raises(DataError, match="two columns"):
        plots.embedding(np.ones((5, 1)))
    with pytest.raises(DataError, match="one label a row"):
        plots.embedding(np.ones((5, 2)), np.ones(4))

    for Z, words in [
        (lowland.PCA(2), r"plots.embedding\(model.transform\(X\)\)"),
        ([["a", "b"]], "holds texts"),
        (np.full((3, 2), np.nan), "nothing to draw"),
        (np.ones((0, 2)), "nothing to draw"),
    ]:
        with pytest.raises(DataError, match=words):
            plots.embedding(Z)
    with pytest.raises(DataError, match="Make them all texts"):
        plots.embedding(np.eye(3), np.array([1, "a", 2], dtype=object))
    for wrong in ({"size": -1}, {"axis_names": ("a",)}):
        with pytest.raises(ParameterError, match="a size above 0, and two names"):
            plots.embedding(np.eye(3), **wrong)


@pytest.mark.parametrize("blank", [None, np.nan, "NA"])
def test_rows_without_a_label_are_grey(blank, tmp_path):
    blank = pytest.importorskip("pandas").NA if blank == "NA" else blank
    Z = np.arange(8.0).reshape(4, 2)
    ax = drawn(plots.embedding(Z, np.array(["a", blank, "b", "a"], dtype=object), centers=True), tmp_path)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "no label"]
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), Z[[1]])
    assert to_hex(ax.collections[0].get_facecolor()[0]) == WEAK
    np.testing.assert_array_equal(ax.collections[1].get_offsets(), Z[[0, 3]])
    ax = drawn(plots.embedding(Z, np.array([1, blank, 2, 1], dtype=object)), tmp_path)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1", "2", "no label"]
    ax = drawn(plots.embedding(Z, np.array([0.5, blank, 2, 1], dtype=object)), tmp_path)
    np.testing.assert_array_equal(ax.collections[1].get_array(), [0.5, 2, 1])


def test_embedding_shows_where_it_can_be_trusted(tmp_path):
    roll = load_dataset("swiss_roll", n=100)
    Z = roll.X[:, [0, 2]].copy()
    Z[3] = np.nan
    found = quality.trustworthiness(roll.X, Z, per_row=True)
    figure = plots.embedding(Z, found)
    ax = drawn(figure, tmp_path)
    np.testing.assert_array_equal(ax.collections[1].get_array(), np.delete(found.per_row, 3))
    assert len(ax.collections[0].get_offsets()) == 1  # the row without a value
    assert figure.axes[1].get_ylabel() == "trustworthiness"
    with pytest.raises(DataError, match="per_row=True"):
        plots.embedding(Z, quality.trustworthiness(roll.X, Z))


# --- judgements


def test_shepard_draws_pairs_and_the_best_scale(tmp_path):
    X = load_dataset("iris").X[:50]
    found = quality.shepard(X, X[:, :2])
    ax = drawn(plots.shepard(found), tmp_path)
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), np.column_stack([found.original, found.embedded]))
    (x, z) = ax.lines[0].get_data()
    assert z[1] * found.scale == pytest.approx(x[1])
    assert ax.get_title(loc="left").startswith(f"Spearman {found.spearman.value:.3f}")


def test_many_pairs_are_counted(tmp_path):
    X = load_dataset("iris").X
    found = quality.shepard(X, X[:, :2])
    figure = plots.shepard(found, title="iris")
    ax = drawn(figure, tmp_path)
    counts = 10 ** np.ma.compressed(ax.collections[0].get_array())
    assert counts.sum() == pytest.approx(150 * 149 / 2)
    assert len(figure.axes) == 2
    assert ax.get_title(loc="left") == "iris"


def test_rnx_curves_have_areas_and_bands(tmp_path):
    X = load_dataset("iris").X
    found = {"all": quality.co_ranking(X, X[:, :2]), "some": quality.co_ranking(X, X[:, :2], sample=50)}
    ax = drawn(plots.rnx_curve(found), tmp_path)
    for line, one in zip(ax.lines, found.values(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), one.r_nx)
    assert len(ax.collections) == 1  # the band of the sample
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == [f"{name}: area {one.area.value:.3f}" for name, one in found.items()]
    assert ax.get_xscale() == "log"
    with pytest.raises(DataError, match="no curve"):
        plots.rnx_curve({})
    with pytest.raises(DataError, match="ndarray is no curve"):
        plots.rnx_curve({"a": X})
    with pytest.raises(DataError, match=r"quality.shepard\(X, Z\)"):
        plots.shepard(X)


def test_residual_variances_mark_a_choice(tmp_path):
    ax = drawn(plots.residual_variances([0.5, 0.1, 0.09], choice=2), tmp_path)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1, 2, 3])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0.5, 0.1, 0.09])
    assert ax.texts[0].get_text() == "2: 0.1"
    for choice in (4, 1.5, "two"):
        with pytest.raises(ParameterError, match=f"choice={choice!r}: give a whole number from 1 to 3"):
            plots.residual_variances([0.5, 0.1, 0.09], choice=choice)
    with pytest.raises(DataError, match="one number for each"):
        plots.residual_variances([])


# --- columns


def test_loadings_are_bars(tmp_path):
    wine = load_dataset("wine")
    pca = lowland.PCA(4, scale=True).fit(wine.X)
    ax = drawn(plots.loadings(pca.components_, wine.names, most=2), tmp_path)
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, pca.components_[:2].ravel())
    assert [label.get_text() for label in ax.get_xticklabels()] == list(wine.names)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["component 1", "component 2"]
    ax = drawn(plots.loadings(np.ones((1, 50))), tmp_path)
    assert ax.get_xlabel() == "column"
    assert ax.patches[0].get_center()[0] == pytest.approx(1)  # counted from 1, as the names of fewer columns are


def test_the_title_of_loadings_stands_above_the_legend_in_a_narrow_panel():
    figure = Figure(figsize=(10, 3.3), layout="constrained")
    ax = figure.subplots(1, 3)[1]
    plots.loadings(np.eye(3), title="what the components are made of", ax=ax)
    FigureCanvasAgg(figure).draw()
    assert ax.get_legend().get_window_extent().y1 <= ax._left_title.get_window_extent().y0


def test_biplot_has_points_and_an_arrow_for_each_column(tmp_path):
    wine = load_dataset("wine")
    pca = lowland.PCA(2, scale=True).fit(wine.X)
    Z = pca.transform(wine.X)
    ax = drawn(plots.biplot(Z, pca.components_, wine.names, wine.y, label_names=wine.label_names), tmp_path)
    assert sum(len(points.get_offsets()) for points in ax.collections) == len(Z)
    arrows = {text.get_text(): np.array(text.xy) for text in ax.texts if text.get_text()}
    assert set(arrows) == set(wine.names)
    expected = dict(zip(wine.names, pca.components_.T, strict=True))
    scale = np.linalg.norm(arrows[wine.names[0]]) / np.linalg.norm(expected[wine.names[0]])
    for name in wine.names:
        np.testing.assert_allclose(arrows[name], scale * expected[name])
    assert len(ax.get_legend().get_texts()) == 3


@pytest.mark.parametrize(("panels", "data"), [(1, "wine"), (3, "wine"), (1, "iris"), (1, "digits")])
def test_names_of_a_biplot_do_not_overlap_and_stay_in_the_panel(panels, data):
    sample = load_dataset(data)
    pca = lowland.PCA(2, scale=data == "wine").fit(sample.X)
    figure = Figure(figsize=(10, 3.3) if panels == 3 else (6.2, 5.2), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    for ax in axes:
        plots.biplot(pca.transform(sample.X), pca.components_, sample.names, ax=ax)
    FigureCanvasAgg(figure).draw()
    frame = axes[-1].get_window_extent()
    named = [text for text in axes[-1].texts if text.get_text() and hasattr(text, "xy")]
    boxes = [Text.get_window_extent(text) for text in named]  # without the lines that lead to them
    assert len(boxes) == min(30, sample.X.shape[1])
    common = [Bbox.intersection(*pair) for pair in itertools.combinations(boxes, 2)]
    hidden = sum(box.width * box.height for box in common if box is not None)
    assert hidden < 0.02 * sum(box.width * box.height for box in boxes)
    assert all(frame.x0 - 2 < box.x0 and box.x1 < frame.x1 + 2 for box in boxes)


def test_a_biplot_says_that_short_arrows_are_left_out(tmp_path):
    rng = np.random.default_rng(0)
    Z, components = rng.standard_normal((20, 2)), rng.standard_normal((2, 40))
    ax = drawn(plots.biplot(Z, components), tmp_path)
    assert "the 30 longest of 40 arrows" in [text.get_text() for text in ax.texts]
    longest = np.argsort(-np.hypot(*components))[:30] + 1
    assert {text.get_text() for text in ax.texts if hasattr(text, "xy")} == {"", *map(str, longest)}
    ax = drawn(plots.biplot(Z, components[:, :30]), tmp_path)
    assert not any("longest" in text.get_text() for text in ax.texts)


def test_columns_refuse_what_makes_no_sense():
    pca = lowland.PCA(2).fit(load_dataset("iris").X)
    Z = pca.transform(load_dataset("iris").X)
    for wrong in (lambda: plots.biplot(pca, pca.components_), lambda: plots.biplot(Z, pca)):
        with pytest.raises(DataError, match=r"plots.biplot\(model.transform\(X\), model.components_\)"):
            wrong()
    with pytest.raises(DataError, match="changed places"):
        plots.biplot(pca.components_, Z)
    for wrong, words in [("pca", "holds texts"), ([[1.0, np.nan], [2.0, 3.0]], "NaN or infinity")]:
        for draw in (plots.loadings, lambda components: plots.biplot(Z, components)):
            with pytest.raises(DataError, match=words):
                draw(wrong)
    for most in (1.5, "2"):
        with pytest.raises(ParameterError, match="most="):
            plots.loadings(np.eye(3), most=most)
    with pytest.raises(DataError, match="2 names for 3"):
        plots.loadings(np.eye(3), ["a", "b"])
    with pytest.raises(DataError, match="one line a component"):
        plots.loadings(np.ones(3))
    with pytest.raises(ParameterError, match="most=0"):
        plots.loadings(np.eye(3), most=0)
    with pytest.raises(DataError, match="needs two"):
        plots.biplot(np.eye(3), np.ones((1, 3)))


# --- images


def test_reconstructions_stand_beside_the_rows(digits, pca, tmp_path):
    ax = drawn(plots.reconstructions(pca, digits.X[:2], digits.image_shape, (1, 10, 250)), tmp_path)
    mosaic = np.asarray(ax.images[0].get_array())
    assert [text.get_text() for text in ax.texts if text.get_text()] == ["given", "M = 1", "M = 10"]  # it has 64
    assert np.ma.masked_invalid(mosaic).count() == 2 * 3 * 64
    np.testing.assert_allclose(mosaic[2:10, 1:9].ravel(), digits.X[0])
    ten = lowland.PCA(10).fit(digits.X)
    np.testing.assert_allclose(
        mosaic[2:10, 19:27].ravel(), ten.inverse_transform(ten.transform(digits.X[:1]))[0], atol=1e-9
    )
    with pytest.raises(ParameterError, match="the model has 64"):
        plots.reconstructions(pca, digits.X[:2], digits.image_shape, (100,))
    for count in (1.5, "3", True, 0):
        with pytest.raises(ParameterError, match="give a whole number of at least 1"):
            plots.reconstructions(pca, digits.X[:2], digits.image_shape, (count, 5))
    for model in (pca.components_, lowland.Isomap(2)):
        with pytest.raises(DataError, match="brings no rows back"):
            plots.reconstructions(model, digits.X[:2], digits.image_shape)


def test_only_lines_with_titles_leave_room_for_them(digits, tmp_path):
    titled, plain = ["a", "b", "", ""], ["a", "b", "c", "d"]
    heights = [
        drawn(plots.images(digits.X[:4], (8, 8), columns=2, titles=words), tmp_path).images[0].get_array().shape[0]
        for words in (None, titled, plain)
    ]
    assert heights == [2 * 9 + 1, 10 + 9 + 1, 2 * 10 + 1]


def test_components_as_images_keep_every_pixel_and_its_sign(digits, pca, tmp_path):
    ax = drawn(plots.components_as_images(pca.components_[:6], digits.image_shape, columns=3), tmp_path)
    mosaic = np.asarray(ax.images[0].get_array())
    assert ax.images[0].get_clim() == (-1, 1)
    assert [text.get_text() for text in ax.texts] == list("123456")
    # six tiles of 8 x 8, each to its own scale
    tiles = [mosaic[top : top + 8, left : left + 8] for top in (2, 12) for left in (1, 10, 19)]
    for tile, component in zip(tiles, pca.components_, strict=False):
        np.testing.assert_allclose(tile.ravel(), component / np.abs(component).max())
    assert np.ma.masked_invalid(mosaic).count() == 6 * 64


def test_images_share_one_scale(digits, tmp_path):
    ax = drawn(plots.images(digits.X[:5], digits.image_shape, columns=5, titles=list("abcde")), tmp_path)
    assert ax.images[0].get_clim() == (0, 16)
    assert [text.get_text() for text in ax.texts] == list("abcde")


def test_a_component_of_zeros_is_drawn(tmp_path):
    ax = drawn(plots.components_as_images(np.zeros((1, 4)), (2, 2)), tmp_path)
    assert np.nanmax(np.abs(np.asarray(ax.images[0].get_array()))) == 0


def test_images_refuse_what_makes_no_sense(digits):
    with pytest.raises(DataError, match="need 81 columns"):
        plots.images(digits.X[:5], (9, 9))
    with pytest.raises(DataError, match="2 titles for 5 images"):
        plots.images(digits.X[:5], (8, 8), titles=["a", "b"])
    for columns in (0, 1.5):
        with pytest.raises(ParameterError, match=f"columns={columns}"):
            plots.images(digits.X[:5], (8, 8), columns=columns)
    with pytest.raises(ParameterError, match="image_shape=8"):
        plots.images(digits.X[:5], 8)
    for rows in (np.ones((0, 64)), np.full((2, 64), np.nan)):
        with pytest.raises(DataError, match="nothing to draw"):
            plots.images(rows, (8, 8))


# --- images around a cloud


def boxes(ax):
    return np.array([image.get_extent() for image in ax.images])[:, [0, 2, 1, 3]]  # left, bottom, right, top


def crossing(a, b, c, d):
    def side(p, q, r):
        return np.sign((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    return side(a, b, c) != side(a, b, d) and side(c, d, a) != side(c, d, b)


@pytest.mark.parametrize("shape", [(8, 8), (16, 4), (4, 16)])
@pytest.mark.parametrize("stretch", [0.01, 1.0, 30.0])
def test_thumbnails_stand_around_the_cloud_and_do_not_overlap(digits, pca, shape, stretch, tmp_path):
    Z = pca.transform(digits.X)[:, :2] * [1.0, stretch]
    rows = np.arange(0, 1750, 70)
    ax = drawn(plots.thumbnails(Z, digits.X, shape, rows), tmp_path)
    np.testing.assert_array_equal([image.get_array() for image in ax.images], digits.X[rows].reshape(-1, *shape))
    found = boxes(ax)
    for one, other in itertools.combinations(found, 2):
        assert (one[2:] <= other[:2]).any() or (other[2:] <= one[:2]).any()
    for left, bottom, right, top in found:
        inside = ([left, bottom] < Z) & ([right, top] > Z)
        assert not inside.all(axis=1).any()
        assert np.isclose((right - left) / (top - bottom), shape[1] / shape[0])
    leaders = [line.get_xydata() for line in ax.lines if len(line.get_xydata()) == 2]
    np.testing.assert_array_equal([line[0] for line in leaders], Z[rows])
    assert not any(crossing(*one, *other) for one, other in itertools.combinations(leaders, 2))
    assert (found[:, :2].min(axis=0) > [ax.get_xlim()[0], ax.get_ylim()[0]]).all()


def test_thumbnails_along_a_path(digits, pca, tmp_path):
    Z = pca.transform(digits.X)
    ax = drawn(plots.thumbnails(Z, digits.X, digits.image_shape, count=6, labels=digits.y, title="walk"), tmp_path)
    path = ax.lines[0].get_xydata()
    ends = Z[[Z[:, 0].argmin(), Z[:, 0].argmax()], :2]
    np.testing.assert_array_equal(path[[0, -1]], ends)
    assert len(ax.images) == 6
    np.testing.assert_array_equal(ax.images[0].get_array().ravel(), digits.X[Z[:, 0].argmin()])
    assert ax.get_title(loc="left") == "walk"
    line = np.array([[-20.0, 0.0], [20.0, 0.0]])
    ax = drawn(plots.thumbnails(Z, digits.X, digits.image_shape, path=line), tmp_path)
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), line)
    Z[500:] = np.nan
    ax = drawn(plots.thumbnails(Z, digits.X, digits.image_shape, [7], path=[3, 4, 5]), tmp_path)
    assert len(ax.images) == 1
    np.testing.assert_array_equal(ax.lines[0].get_xydata()[[0, -1]], Z[[3, 5], :2])


def test_a_single_place_can_be_drawn(tmp_path):
    ax = drawn(plots.thumbnails(np.zeros((3, 2)), np.eye(3, 4), (2, 2)), tmp_path)
    assert len(ax.images) == 1


def test_thumbnails_refuse_what_makes_no_sense(digits):
    Z, X = np.random.default_rng(0).random((9, 2)), digits.X[:9]
    for wrong, words in [
        (lambda: plots.thumbnails(Z[:, :1], X, (8, 8)), "needs two columns"),
        (lambda: plots.thumbnails(Z, X[:5], (8, 8)), "pixels of the same rows"),
        (lambda: plots.thumbnails(Z, X, (9, 9)), "need 81 columns"),
        (lambda: plots.thumbnails(Z, X, (8, 8), [9]), "does not place"),
        (lambda: plots.thumbnails(Z, X, (8, 8), [0.5]), "numbers of rows, from 0 to 8"),
        (lambda: plots.thumbnails(Z, X, (8, 8), path=[1]), "list of 2 or more"),
        (lambda: plots.thumbnails(Z, X, (8, 8), path=np.ones((1, 2))), "two or more finite points"),
        (lambda: plots.thumbnails(np.nan * Z, X, (8, 8)), "nothing to draw"),
    ]:
        with pytest.raises(DataError, match=words):
            wrong()
    with pytest.raises(ParameterError, match="count=0"):
        plots.thumbnails(Z, X, (8, 8), count=0)


# --- grids of units


@pytest.mark.parametrize(("topology", "corners"), [("hexagonal", 6), ("rectangular", 4)])
def test_u_matrix_has_a_cell_for_each_unit_where_the_model_has_it(topology, corners, tmp_path):
    som = lowland.SelfOrganizingMap((4, 6), topology=topology).fit(load_dataset("iris").X)
    ax = drawn(plots.u_matrix(som.u_matrix_, som.topology, title="iris"), tmp_path)
    cells = ax.collections[0]
    np.testing.assert_array_equal(cells.get_array(), som.u_matrix_.ravel())
    shapes = [path.vertices[:-1] for path in cells.get_paths()]  # the last closes the cell
    assert {len(shape) for shape in shapes} == {corners}
    np.testing.assert_allclose([shape.mean(axis=0) for shape in shapes], som.positions_, atol=1e-12)
    assert ax.get_title(loc="left") == "iris"
    assert ax.get_aspect() == 1


def test_component_planes_are_the_columns_of_the_units(tmp_path):
    som = lowland.SelfOrganizingMap((4, 6)).fit(load_dataset("iris").X)
    ax = drawn(plots.component_planes(som.prototypes_, som.grid_, names=list("abcd")), tmp_path)
    assert [text.get_text()[:2] for text in ax.texts] == ["a:", "b:", "c:", "d:"]
    assert ax.texts[0].get_text() == f"a: {som.prototypes_[:, 0].min():.3g} to {som.prototypes_[:, 0].max():.3g}"
    for j, panel in enumerate(ax.collections):
        np.testing.assert_array_equal(panel.get_array(), som.component_plane(j).ravel())


def test_hit_map_marks_by_area(tmp_path):
    ax = drawn(plots.hit_map([[4, 1], [0, 0]], "rectangular"), tmp_path)
    sides = [np.ptp(path.vertices[:, 0]) for path in ax.collections[1].get_paths()]
    np.testing.assert_allclose(np.array(sides) / sides[0], [1, 0.5, 0, 0])
    assert ax.get_title(loc="left") == "5 rows, 4 units, 2 of them empty"


def test_grids_of_units_refuse_what_makes_no_sense():
    for draw in (plots.u_matrix, plots.hit_map, lambda *given: plots.component_planes(given[0], (3, 1), *given[1:])):
        for wrong in ("square", [["a", "b"]]):
            with pytest.raises(DataError, match="holds texts"):
                draw(wrong)
        with pytest.raises(ParameterError, match="topology='square': choose 'hexagonal' or 'rectangular'"):
            draw(np.eye(3), "square")
    with pytest.raises(DataError, match="NaN"):
        plots.hit_map([[1.0, np.nan]])
    with pytest.raises(ParameterError, match="grid=6"):
        plots.component_planes(np.ones((6, 2)), 6)
    with pytest.raises(ParameterError, match="panels_across=0"):
        plots.component_planes(np.ones((6, 2)), (2, 3), panels_across=0)
    for draw in (plots.u_matrix, plots.hit_map):
        with pytest.raises(DataError, match="one number a unit"):
            draw(np.ones(4))
    with pytest.raises(DataError, match="a grid of 2 x 3 has 6"):
        plots.component_planes(np.ones((5, 2)), (2, 3))
    with pytest.raises(DataError, match="1 names for 2"):
        plots.component_planes(np.ones((6, 2)), (2, 3), names=["a"])


# --- manners


SOME = np.random.default_rng(0).standard_normal((12, 4))

CALLS = {
    "scree": lambda ax: plots.scree([2.0, 1.0], ax=ax),
    "distortion_curve": lambda ax: plots.distortion_curve([2.0, 1.0, 0.0], ax=ax),
    "decay": lambda ax: plots.decay([0.9, 0.5], ax=ax),
    "biplot": lambda ax: plots.biplot(np.eye(3), np.eye(3), ax=ax),
    "loadings": lambda ax: plots.loadings(np.eye(3), ax=ax),
    "shepard": lambda ax: plots.shepard(quality.shepard(SOME, SOME[:, :2]), ax=ax),
    "rnx_curve": lambda ax: plots.rnx_curve(quality.co_ranking(SOME, SOME[:, :2]), ax=ax),
    "residual_variances": lambda ax: plots.residual_variances([0.3, 0.1], ax=ax),
    "reconstructions": lambda ax: plots.reconstructions(lowland.PCA().fit(SOME), SOME[:2], (1, 4), (1, 2), ax=ax),
    "embedding": lambda ax: plots.embedding(np.eye(3), [0, 1, 2], ax=ax),
    "images": lambda ax: plots.images(np.eye(4), (2, 2), ax=ax),
    "thumbnails": lambda ax: plots.thumbnails(SOME, SOME, (2, 2), count=3, ax=ax),
    "components_as_images": lambda ax: plots.components_as_images(np.eye(4), (2, 2), ax=ax),
    "dendrogram": lambda ax: plots.dendrogram([[0, 1], [2, 3]], [1.0, 2.0], [0, 0, 1], ax=ax),
    "selection_path": lambda ax: plots.selection_path([Step(1, "add", 0, "a", 0.5, 1, (0,))], ax=ax),
    "coefficient_paths": lambda ax: plots.coefficient_paths([1.0, 0.5], [[0.0, 0.0], [1.0, 0.0]], ax=ax),
    "u_matrix": lambda ax: plots.u_matrix(np.eye(3), ax=ax),
    "component_planes": lambda ax: plots.component_planes(np.eye(4), (2, 2), ax=ax),
    "hit_map": lambda ax: plots.hit_map(np.eye(3), ax=ax),
}


def test_every_figure_is_called_here():
    assert sorted(CALLS) == sorted(plots.__all__)


@pytest.mark.parametrize("name", CALLS)
def test_draws_into_the_axes_given(name):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert CALLS[name](right) is figure
    assert not left.has_data()
    assert right.has_data()
    inner = Figure()
    part = inner.subfigures(1, 2)[0]
    assert CALLS[name](part.add_subplot()) is inner


@pytest.mark.parametrize("name", CALLS)
def test_changes_nothing_global(name):
    before = dict(matplotlib.rcParams)
    figure = CALLS[name](None)
    assert type(figure) is Figure
    assert dict(matplotlib.rcParams) == before
    if "matplotlib.pyplot" in sys.modules:
        assert not sys.modules["matplotlib.pyplot"].get_fignums()


@pytest.mark.parametrize("name", CALLS)
def test_says_what_to_install_without_matplotlib(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"lowland\[plot\]"):
        CALLS[name](None)


# --- words of users

ODD = r"$\no$"  # would be read as a formula, and one that does not exist
CURVE = quality.co_ranking(SOME, SOME[:, :2])
WITH_WORDS = {
    "embedding": lambda: plots.embedding(SOME, [ODD] * 6 + ["b"] * 6, axis_names=(ODD, ODD), title=ODD, centers=True),
    "colour bar": lambda: plots.embedding(SOME, quality.Measure(ODD, 1.0, SOME[:, 0], "higher", "")),
    "biplot": lambda: plots.biplot(SOME, SOME[:2], [ODD] * 4, axis_names=(ODD, ODD), title=ODD),
    "loadings": lambda: plots.loadings(np.eye(2), [ODD, "b"], title=ODD),
    "shepard": lambda: plots.shepard(quality.shepard(SOME, SOME[:, :2]), title=ODD),
    "rnx_curve": lambda: plots.rnx_curve({ODD: CURVE}, title=ODD),
    "residual_variances": lambda: plots.residual_variances([0.3, 0.1], title=ODD),
    "images": lambda: plots.images(np.eye(4), (2, 2), titles=[ODD] * 4),
    "thumbnails": lambda: plots.thumbnails(SOME, SOME, (2, 2), axis_names=(ODD, ODD), title=ODD),
    "dendrogram": lambda: plots.dendrogram([[0, 1], [2, 3]], names=[ODD] * 3, title=ODD),
    "selection_path": lambda: plots.selection_path([Step(1, "add", 0, ODD, 0.5, 1, (0,))]),
    "coefficient_paths": lambda: plots.coefficient_paths([1.0, 0.5], [[0.0, 0.0], [1.0, 2.0]], names=[ODD, ODD]),
    "u_matrix": lambda: plots.u_matrix(np.eye(3), title=ODD),
    "component_planes": lambda: plots.component_planes(np.eye(4), (2, 2), names=[ODD] * 4),
    "hit_map": lambda: plots.hit_map(np.eye(3), title=ODD),
}


@pytest.mark.parametrize("name", WITH_WORDS)
def test_dollar_signs_are_drawn_and_not_read_as_formulas(name, tmp_path):
    figure = WITH_WORDS[name]()
    drawn(figure, tmp_path)
    words = [text.get_text() for text in figure.findobj(Text)]
    assert any(r"\$\no\$" in word for word in words)  # matplotlib draws \$ as $
    assert not any(is_math_text(word) for word in words if "no" in word)


def test_names_that_begin_with_an_underscore_stand_in_the_legend(tmp_path):
    ax = drawn(plots.embedding(np.eye(3), ["_a", "b", "_c"]), tmp_path)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["_a", "_c", "b"]
    ax = drawn(plots.rnx_curve({"_a": CURVE}), tmp_path)
    assert ax.get_legend().get_texts()[0].get_text().startswith("_a: area")


# --- paths


def test_selection_path_shows_every_step(tmp_path):
    wine = load_dataset("wine")
    selector = lowland.SequentialFeatureSelector(n_features_to_select=4, direction="floating-backward")
    path = selector.fit(wine.X, wine.y).path_
    ax = drawn(plots.selection_path(path), tmp_path)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [step.score for step in path])
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert labels[0] == f"− {path[0].name}"
    assert len(labels) == len(path)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["removed", "added"]
    with pytest.raises(DataError, match="no steps"):
        plots.selection_path(())
    with pytest.raises(DataError, match="no steps of a selection"):
        plots.selection_path([1, 2])


# --- trees


def test_dendrogram_draws_every_join_at_its_height_and_colours_groups(tmp_path):
    wine = load_dataset("wine")
    model = lowland.FeatureAgglomeration(3, metric="correlation", linkage="average").fit(wine.X)
    figure = plots.dendrogram(model.children_, model.distances_, model.labels_, names=wine.names, title="wine")
    ax = drawn(figure, tmp_path)
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
    assert drawn_colors.count(WEAK) == 2  # the joins that the cut undoes
    assert ax.get_title(loc="left") == "wine"
    groups = [model.labels_[list(wine.names).index(name)] for name in labels]
    assert sum(a != b for a, b in itertools.pairwise(groups)) == 2  # each group stands together


def test_dendrogram_without_distances_or_with_many_leaves(tmp_path):
    ax = drawn(plots.dendrogram([[0, 1], [2, 3]]), tmp_path)
    assert [bar[1, 1] for bar in ax.collections[0].get_segments()] == [1, 2]
    assert ax.get_ylabel() == "step"
    chain = [[0, 1], *([i + 1, 100 + i - 1] for i in range(1, 99))]
    ax = drawn(plots.dendrogram(chain, np.arange(1.0, 100.0)), tmp_path)
    assert ax.get_xlabel() == "100 leaves"


def test_dendrogram_refuses_what_is_no_tree():
    with pytest.raises(DataError, match="two nodes a join"):
        plots.dendrogram([0, 1])
    for children in ([[0, 1], [0, 3]], [[0, 4], [1, 2]], [[0, 1], [2, 5]]):
        with pytest.raises(DataError, match="do not make one tree of 3 leaves"):
            plots.dendrogram(children)
    with pytest.raises(DataError, match="one distance a join"):
        plots.dendrogram([[0, 1], [2, 3]], [1.0])
    with pytest.raises(DataError, match="group of each leaf"):
        plots.dendrogram([[0, 1], [2, 3]], labels=[0, 1])
    with pytest.raises(DataError, match="2 names for 3 leaves"):
        plots.dendrogram([[0, 1], [2, 3]], names=["a", "b"])

    for children, words in [
        ([["a", "b"]], "holds texts"),
        ([[0.0, np.nan]], "NaN"),
        ([[0, 0.5]], "fractions"),
    ]:
        with pytest.raises(DataError, match=words):
            plots.dendrogram(children)
    for heights, words in [([1.0, np.nan], "distances holds NaN"), (["a", "b"], "distances holds texts")]:
        with pytest.raises(DataError, match=words):
            plots.dendrogram([[0, 1], [2, 3]], heights)
    with pytest.raises(DataError, match="1 of the 3 labels are NaN or None"):
        plots.dendrogram([[0, 1], [2, 3]], labels=[0, None, 1])


def test_dendrogram_takes_texts_as_groups(tmp_path):
    ax = drawn(plots.dendrogram([[0, 1], [2, 3]], [1.0, 2.0], ["b", "b", "a"]), tmp_path)
    assert [to_hex(color) for color in ax.collections[0].get_colors()] == [COLORS[1], WEAK]


def test_coefficient_paths_draw_the_columns_that_enter(tmp_path):
    alphas = [2.0, 1.0, 0.5]
    coefs = np.array([[0, 0, 0], [0, 1, 0], [0, 2, -3.0]])
    ax = drawn(plots.coefficient_paths(alphas, coefs, names="abc", chosen=1.0), tmp_path)
    np.testing.assert_array_equal([line.get_ydata() for line in ax.lines[:2]], coefs.T[[2, 1]])
    assert [text.get_text() for text in ax.texts] == ["c", "b"]
    assert ax.lines[2].get_xdata() == [1.0, 1.0]
    assert ax.xaxis_inverted()
    sizes = drawn(plots.coefficient_paths(alphas, np.stack([coefs, coefs], axis=1)), tmp_path)
    np.testing.assert_allclose(sizes.lines[0].get_ydata(), [0, 0, 3 * np.sqrt(2)])
    with pytest.raises(DataError, match="one row of coefficients"):
        plots.coefficient_paths(alphas, coefs[:2])
    with pytest.raises(DataError, match="1 names for 3 columns"):
        plots.coefficient_paths(alphas, coefs, names=["a"])


FITTED = {
    "Isomap": lambda: lowland.Isomap(2),
    "PCA": lambda: lowland.PCA(2),
    "TruncatedSVD": lambda: lowland.TruncatedSVD(2),
    "DiffusionMap": lambda: lowland.DiffusionMap(3),
    "SelfOrganizingMap": lambda: lowland.SelfOrganizingMap((3, 4)),
    "FeatureAgglomeration": lambda: lowland.FeatureAgglomeration(2),
    "L1Selector": lambda: lowland.L1Selector(2),
    "VectorQuantizer": lambda: lowland.VectorQuantizer(3),
}


@pytest.fixture(scope="module")
def fitted():
    iris = load_dataset("iris")
    X, y = iris.X[50:], iris.y[50:]  # without the species that lies apart, the graphs hang together
    return {name: make().fit(X, y) for name, make in FITTED.items()}


@pytest.mark.parametrize(
    ("name", "owner", "said"),
    [
        ("u_matrix", "SelfOrganizingMap", "plots.u_matrix(model.u_matrix_, model.topology)"),
        ("hit_map", "SelfOrganizingMap", "plots.hit_map(model.hits_, model.topology)"),
        (
            "component_planes",
            "SelfOrganizingMap",
            "plots.component_planes(model.prototypes_, model.grid_, model.topology)",
        ),
        (
            "dendrogram",
            "FeatureAgglomeration",
            "plots.dendrogram(model.children_, model.distances_, model.labels_)",
        ),
        ("selection_path", "L1Selector", "plots.selection_path(model.path_)"),
        ("coefficient_paths", "L1Selector", "plots.coefficient_paths(model.alphas_, model.coef_path_)"),
        ("scree", "PCA", "plots.scree(model.explained_variance_, model.total_variance_)"),
        ("scree", "TruncatedSVD", "plots.scree(model.explained_variance_)"),
        (
            "distortion_curve",
            "PCA",
            "plots.distortion_curve([model.distortion(M) for M in range(model.n_components_ + 1)])",
        ),
        ("decay", "DiffusionMap", "plots.decay(model.eigenvalues_, [1, model.diffusion_time_])"),
        ("residual_variances", "Isomap", "plots.residual_variances(model.residual_variances_)"),
        ("loadings", "PCA", "plots.loadings(model.components_)"),
        ("biplot", "PCA", "plots.biplot(model.transform(X), model.components_)"),
        ("components_as_images", "PCA", "plots.components_as_images(model.components_, image_shape)"),
        ("thumbnails", "Isomap", "plots.thumbnails(model.transform(X), X, image_shape)"),
        ("embedding", "Isomap", "plots.embedding(model.transform(X))"),
        ("images", "PCA", "plots.images(X, image_shape)"),
    ],
)
def test_what_a_figure_of_numbers_says_of_a_model_can_be_drawn(fitted, name, owner, said):
    model, X = fitted[owner], load_dataset("iris").X[50:]
    with pytest.raises(DataError, match=f"{owner} is a model, and numbers") as caught:
        getattr(plots, name)(model)
    assert str(caught.value).endswith(f"write {said}.")
    assert isinstance(eval(said, {"plots": plots, "model": model, "X": X, "image_shape": (2, 2)}), Figure)


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("scree", "Isomap", "Isomap is a model without explained_variance_, which you find in IncrementalPCA, PCA and"),
        ("loadings", "Isomap", "Isomap is a model without components_, which you find in FactorAnalysis, FastICA"),
        ("residual_variances", "PCA", "PCA is a model without residual_variances_, which you find in Isomap: fit"),
        ("u_matrix", "PCA", "PCA is a model without u_matrix_, which you find in SelfOrganizingMap: fit"),
        ("decay", "Isomap", "Isomap is a model without diffusion_time_, which you find in DiffusionMap: fit"),
        ("distortion_curve", "VectorQuantizer", "VectorQuantizer is a model without n_components_, which you find in"),
    ],
)
def test_a_model_without_the_numbers_is_told_who_has_them(fitted, name, given, said):
    with pytest.raises(DataError) as caught:
        getattr(plots, name)(fitted[given])
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("model", [lowland.PCA(), lowland.PCA])
def test_a_model_that_is_not_fitted_is_told_so(model):
    with pytest.raises(DataError, match=r"PCA is a model that is not fitted, and .*: fit it and write plots.loadings"):
        plots.loadings(model)


def test_the_methods_that_are_named_have_components():
    X = load_dataset("wine").X
    for name in re.findall(r"[A-Z]\w+", WITH_COMPONENTS):
        assert getattr(lowland, name)(2).fit(X).components_.shape == (2, 13)


@pytest.mark.parametrize("name", plots.__all__)
def test_arguments_that_do_not_fit_are_told_how_the_figure_is_called(name):
    with pytest.raises(DataTypeError, match=rf"^plots\.{name}: .*\. Write plots\.{name}\("):
        getattr(plots, name)()


def test_rows_and_coordinates_are_no_shepard_diagram():
    X = load_dataset("iris").X
    with pytest.raises(
        DataTypeError, match=r"too many positional arguments. Write plots.shepard\(quality.shepard\(X, Z"
    ):
        plots.shepard(X, X[:, :2])
    with pytest.raises(
        DataTypeError, match=r"missing a required argument: 'image_shape'. Write plots.images\(X, image"
    ):
        plots.images(X)
    with pytest.raises(DataTypeError, match=r"'image_shape'. Write plots.thumbnails\(model.transform\(X\), X, image"):
        plots.thumbnails(X[:, :2], X)


def test_a_class_without_a_name_is_refused(tmp_path):
    Z = np.eye(3, 2)
    with pytest.raises(DataError, match=r"There are 1 label_names, and labels up to 2. Give a name to each"):
        plots.embedding(Z, [0, 1, 2], label_names=["a"])
    ax = drawn(plots.embedding(Z, [-1, 0, 2], label_names=["a", "b", "c", "d"]), tmp_path)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["-1", "a", "c"]


def test_eigenvalues_of_no_walk_do_not_decay(tmp_path):
    for values in ([2, -1], [0.5, -1.1]):
        with pytest.raises(DataError, match="none of a random walk"):
            plots.decay(values)
    drawn(plots.decay([np.float32(1) + np.float32(2e-7), -1]), tmp_path)
