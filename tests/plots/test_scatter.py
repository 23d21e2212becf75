"""Scatter plots of an embedding."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from lowland import plots, quality
from lowland.data import load_dataset
from lowland.errors import DataError, ParameterError
from lowland.plots.style import COLORS, MARKERS, WEAK


def test_embedding_draws_each_class_with_its_own_color_shape_and_name(digits, pca, drawn):
    Z = pca.transform(digits.X)
    figure = plots.embedding(Z, digits.y, title="digits", centers=True)
    ax = drawn(figure)
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


def test_small_markers_of_all_classes_are_visible():
    classes = np.arange(len(MARKERS))
    figure = plots.embedding(np.column_stack([classes, classes]), classes, size=2)
    figure.set_dpi(72)
    figure.axes[0].set_axis_off()
    figure.axes[0].get_legend().remove()
    for shown in figure.axes[0].collections:
        for points in figure.axes[0].collections:
            points.set_visible(points is shown)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        assert np.asarray(canvas.buffer_rgba())[:, :, :3].min() < 240


def test_embedding_names_classes(drawn):
    iris = load_dataset("iris")
    ax = drawn(plots.embedding(iris.X, iris.y, label_names=iris.label_names))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["setosa", "versicolor", "virginica"]
    ax = drawn(plots.embedding(iris.X, np.array(iris.label_names)[iris.y], axis_names=("a", "b")))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["setosa", "versicolor", "virginica"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")


def test_classes_of_reliability_have_the_colors_of_their_meaning(drawn):
    calm, middle, warning = COLORS[0], COLORS[2], COLORS[1]
    Z = np.eye(3)[:, :2]
    for classes, colors in [(["uncertain", "unreliable", "reliable"], [calm, middle, warning]),
                            (["unreliable", "uncertain", "uncertain"], [middle, warning]),
                            (["other", "uncertain", "unreliable"], list(COLORS[:3]))]:  # fmt: skip
        ax = drawn(plots.embedding(Z, np.array(classes)))
        assert [text.get_text() for text in ax.get_legend().get_texts()] == sorted(set(classes))
        assert [to_hex(points.get_facecolor()[0]) for points in ax.collections] == colors


def test_embedding_shows_numbers_by_a_color_bar(drawn):
    roll = load_dataset("swiss_roll", n=100)
    figure = plots.embedding(roll.X, roll.y)
    ax = drawn(figure)
    np.testing.assert_array_equal(ax.collections[0].get_array(), roll.y)
    assert len(figure.axes) == 2
    assert ax.get_legend() is None


def test_embeddings_are_drawn_side_by_side_on_shared_axes(tmp_path):
    figure = Figure()
    for ax in figure.subplots(1, 2, sharex=True, sharey=True):
        plots.embedding(np.eye(3), ax=ax)
    figure.savefig(tmp_path / "side_by_side.png")
    assert figure.axes[0].get_adjustable() == "box"
    assert plots.embedding(np.eye(3)).axes[0].get_adjustable() == "datalim"


def test_more_classes_than_colors_are_distinguishable(drawn):
    marks = np.arange(30)
    ax = drawn(plots.embedding(np.eye(30), marks))
    looks = {(to_hex(points.get_facecolor()[0]), points.get_paths()[0].vertices.tobytes()) for points in ax.collections}
    assert len(looks) == 30
    with pytest.raises(ParameterError, match="31 classes"):
        plots.embedding(np.eye(31), np.arange(31))


@pytest.mark.parametrize("blank", [None, "NA"])
def test_rows_without_a_label_are_gray(blank, drawn):
    blank = pytest.importorskip("pandas").NA if blank == "NA" else blank
    Z = np.arange(8.0).reshape(4, 2)
    ax = drawn(plots.embedding(Z, np.array(["a", blank, "b", "a"], dtype=object), centers=True))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "no label"]
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), Z[[1]])
    assert to_hex(ax.collections[0].get_facecolor()[0]) == WEAK
    np.testing.assert_array_equal(ax.collections[1].get_offsets(), Z[[0, 3]])
    ax = drawn(plots.embedding(Z, np.array([1, blank, 2, 1], dtype=object)))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["1", "2", "no label"]
    ax = drawn(plots.embedding(Z, np.array([0.5, blank, 2, 1], dtype=object)))
    np.testing.assert_array_equal(ax.collections[1].get_array(), [0.5, 2, 1])


def test_embedding_shows_where_it_can_be_trusted(drawn):
    roll = load_dataset("swiss_roll", n=100)
    Z = roll.X[:, [0, 2]].copy()
    Z[3] = np.nan
    found = quality.trustworthiness(roll.X, Z, per_row=True)
    figure = plots.embedding(Z, found)
    ax = drawn(figure)
    np.testing.assert_array_equal(ax.collections[1].get_array(), np.delete(found.per_row, 3))
    assert len(ax.collections[0].get_offsets()) == 1  # the row without a value
    assert figure.axes[1].get_ylabel() == "trustworthiness"
    with pytest.raises(DataError, match="per_row=True"):
        plots.embedding(Z, quality.trustworthiness(roll.X, Z))


def test_a_class_without_a_name_is_refused(drawn):
    Z = np.eye(3, 2)
    with pytest.raises(DataError, match=r"1 label_names, .*labels go up to 2.*one name for each"):
        plots.embedding(Z, [0, 1, 2], label_names=["a"])
    ax = drawn(plots.embedding(Z, [-1, 0, 2], label_names=["a", "b", "c", "d"]))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["-1", "a", "c"]


def test_embedding_without_labels_takes_tensors(drawn):
    torch = pytest.importorskip("torch")
    Z = torch.arange(8.0).reshape(4, 2)
    ax = drawn(plots.embedding(Z))
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), Z.numpy())
    assert ax.get_legend() is None
