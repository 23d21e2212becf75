"""Legends of many or long names: short, in columns, next to axes that keep their size."""

import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from lowland import plots, quality
from lowland.plots.names import shorten

LONG = [f"a class with a very long descriptive name, number {i}" for i in range(30)]
SOME = np.random.default_rng(0).standard_normal((600, 2))


def test_short_names_are_kept_and_long_ones_keep_their_ends_and_differences():
    assert shorten(["a", "bc"], 10) == ["a", "bc"]
    short = shorten(LONG, 20)
    assert len(set(short)) == len(LONG)
    assert all(len(name) <= 24 for name in short)
    assert short[7].startswith("a class")
    assert short[7].endswith(" 7")
    assert shorten(["x" * 50 + "a" + "y" * 50, "x" * 50 + "b" + "y" * 50], 10)[0] != "x…y"
    assert len(set(shorten(["x" * 50 + "a" + "y" * 50, "x" * 50 + "b" + "y" * 50], 10))) == 2
    assert shorten(["two\nlines"], 20) == ["two lines"]


@pytest.mark.parametrize(("classes", "names"), [(3, None), (20, None), (30, LONG)])
def test_a_legend_leaves_the_axes_their_size_and_stays_in_the_figure(classes, names):
    figure = plots.embedding(SOME, np.arange(600) % classes, label_names=names)
    figure.draw_without_rendering()
    ax = figure.axes[0]
    box, frame, whole = ax.get_legend().get_window_extent(), ax.get_window_extent(), figure.bbox
    assert len(ax.get_legend().get_texts()) == classes
    assert frame.width > 0.6 * 550
    assert frame.height > 0.6 * 460
    assert box.x0 >= 0
    assert box.y0 >= -1
    assert box.x1 <= whole.x1 + 1
    assert box.y1 <= whole.y1 + 1
    assert not ax.xaxis.label.get_window_extent().overlaps(box)
    assert not frame.overlaps(box)


def test_a_long_legend_does_not_push_the_axes_out_of_a_panel():
    figure = Figure(figsize=(8, 5), layout="constrained")
    ax = figure.subplots(1, 2)[0]
    plots.embedding(SOME, np.arange(600) % 20, label_names=LONG, ax=ax)
    figure.draw_without_rendering()
    assert ax.get_window_extent().height > 100
    assert (figure.get_figwidth(), figure.get_figheight()) == (8, 5)


def test_many_curves_have_their_legend_below():
    curve = quality.co_ranking(SOME[:40], SOME[:40, :1])
    figure = plots.rnx_curve(dict.fromkeys(LONG[:12], curve))
    figure.draw_without_rendering()
    ax = figure.axes[0]
    assert not ax.get_window_extent().overlaps(ax.get_legend().get_window_extent())
    assert ax.get_window_extent().height > 200
    assert all("area" in text.get_text() for text in ax.get_legend().get_texts())
    inside = plots.rnx_curve([curve, curve])
    inside.draw_without_rendering()
    ax = inside.axes[0]
    assert ax.get_window_extent().overlaps(ax.get_legend().get_window_extent())
    assert ax.get_legend().get_texts()[1].get_text().startswith("2: area")


def test_names_at_the_centers_of_classes_do_not_overlap():
    figure = plots.embedding(SOME, np.arange(600) % 20, label_names=LONG, centers=True)  # all centers are close
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == 20
    common = [Bbox.intersection(*pair) for pair in itertools.combinations(boxes, 2)]
    hidden = sum(box.width * box.height for box in common if box is not None)
    assert hidden < 0.02 * sum(box.width * box.height for box in boxes)


def test_a_legend_of_many_components_has_several_lines_below_the_title():
    figure = plots.loadings(np.random.default_rng(0).standard_normal((20, 30)), most=20, title="all components")
    figure.draw_without_rendering()
    ax = figure.axes[0]
    box = ax.get_legend().get_window_extent()
    assert box.x1 <= figure.bbox.x1 + 1
    assert box.y1 <= ax._left_title.get_window_extent().y0
