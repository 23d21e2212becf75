"""Shepard diagrams, R_NX curves and residual variances."""

import numpy as np
import pytest

from lowland import plots, quality
from lowland.data import load_dataset
from lowland.errors import DataError, DataTypeError, ParameterError


def test_shepard_draws_pairs_and_the_best_scale(drawn):
    X = load_dataset("iris").X[:50]
    found = quality.shepard(X, X[:, :2])
    ax = drawn(plots.shepard(found))
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), np.column_stack([found.original, found.embedded]))
    (x, z) = ax.lines[0].get_data()
    assert z[1] * found.scale == pytest.approx(x[1])
    assert ax.get_title(loc="left").startswith(f"Spearman {found.spearman.value:.3f}")


def test_many_pairs_are_counted(drawn):
    X = load_dataset("iris").X
    found = quality.shepard(X, X[:, :2])
    figure = plots.shepard(found, title="iris")
    ax = drawn(figure)
    counts = 10 ** np.ma.compressed(ax.collections[0].get_array())
    assert counts.sum() == pytest.approx(150 * 149 / 2)
    assert len(figure.axes) == 2
    assert ax.get_title(loc="left") == "iris"


def test_rnx_curves_have_areas_and_bands(drawn):
    X = load_dataset("iris").X
    found = {"all": quality.co_ranking(X, X[:, :2]), "some": quality.co_ranking(X, X[:, :2], sample=50)}
    ax = drawn(plots.rnx_curve(found))
    for line, one in zip(ax.lines, found.values(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), one.r_nx)
    assert len(ax.collections) == 1  # the band of the sample
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == [f"{name}: area {one.area.value:.3f}" for name, one in found.items()]
    assert ax.get_xscale() == "log"
    with pytest.raises(DataError, match=r"no curves.*quality.co_ranking"):
        plots.rnx_curve({})
    with pytest.raises(DataError, match=r"ndarray.*quality.co_ranking"):
        plots.rnx_curve({"a": X})
    with pytest.raises(DataError, match=r"quality.shepard\(X, Z\)"):
        plots.shepard(X)


def test_residual_variances_mark_a_choice(drawn):
    ax = drawn(plots.residual_variances([0.5, 0.1, 0.09], choice=2))
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1, 2, 3])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0.5, 0.1, 0.09])
    assert ax.texts[0].get_text() == "2: 0.1"
    for choice in (4, 1.5, "two"):
        with pytest.raises(ParameterError, match=f"choice={choice!r}: .*integer from 1 to 3"):
            plots.residual_variances([0.5, 0.1, 0.09], choice=choice)
    with pytest.raises(DataError, match="one residual variance per number of dimensions"):
        plots.residual_variances([])


def test_rows_and_coordinates_are_refused_by_shepard():
    X = load_dataset("iris").X
    with pytest.raises(
        DataTypeError, match=r"too many positional arguments. Write plots.shepard\(quality.shepard\(X, Z"
    ):
        plots.shepard(X, X[:, :2])
