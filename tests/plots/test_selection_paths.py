"""Selection paths and coefficient paths."""

import numpy as np
import pytest

import lowland
from lowland import plots
from lowland.data import load_dataset
from lowland.errors import DataError


def test_selection_path_shows_every_step(drawn):
    wine = load_dataset("wine")
    selector = lowland.SequentialFeatureSelector(n_features_to_select=4, direction="floating-backward")
    path = selector.fit(wine.X, wine.y).path_
    ax = drawn(plots.selection_path(path))
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [step.score for step in path])
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert labels[0] == f"− {path[0].name}"
    assert len(labels) == len(path)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["removed", "added"]
    with pytest.raises(DataError, match="no steps"):
        plots.selection_path(())
    with pytest.raises(DataError, match=r"path does not contain steps.*model.path_"):
        plots.selection_path([1, 2])


def test_coefficient_paths_draw_the_columns_that_enter(drawn):
    alphas = [2.0, 1.0, 0.5]
    coefs = np.array([[0, 0, 0], [0, 1, 0], [0, 2, -3.0]])
    ax = drawn(plots.coefficient_paths(alphas, coefs, names="abc", chosen=1.0))
    np.testing.assert_array_equal([line.get_ydata() for line in ax.lines[:2]], coefs.T[[2, 1]])
    assert [text.get_text() for text in ax.texts] == ["c", "b"]
    assert ax.lines[2].get_xdata() == [1.0, 1.0]
    assert ax.xaxis_inverted()
    sizes = drawn(plots.coefficient_paths(alphas, np.stack([coefs, coefs], axis=1)))
    np.testing.assert_allclose(sizes.lines[0].get_ydata(), [0, 0, 3 * np.sqrt(2)])
    with pytest.raises(DataError, match="one row of coefficients"):
        plots.coefficient_paths(alphas, coefs[:2, :2])
    with pytest.raises(DataError, match="1 names for 3 columns"):
        plots.coefficient_paths(alphas, coefs, names=["a"])


def test_coefficients_of_lasso_path_and_penalty_of_the_model(drawn):
    linear_model = pytest.importorskip("sklearn.linear_model")
    wine = load_dataset("wine")
    alphas, coefs, _ = linear_model.lasso_path(wine.X, wine.y.astype(float), alphas=np.geomspace(100, 0.1, 20))
    ax = drawn(plots.coefficient_paths(alphas, coefs))
    assert len(ax.lines) == int((np.abs(coefs) > 0).any(axis=1).sum())
    selector = lowland.L1Selector(3).fit(wine.X, wine.y)
    ax = drawn(plots.coefficient_paths(selector))
    assert selector.alpha_ in [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "--"]
