"""Curves: scree plots, distortions, decays, Shepard diagrams, R_NX, residual variances, and paths of selections."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

import lowland
from lowland import plots, quality
from lowland.data import load_dataset
from lowland.errors import DataError, ParameterError
from lowland.evidence.sweep import Setting, Sweep
from lowland.plots.style import STRONG, WEAK


def test_scree_bars_are_explained_variance_ratios(pca, drawn):
    choice = lowland.PCA(0.9).fit(load_dataset("digits").X).choice_
    ax = drawn(plots.scree(pca.explained_variance_[:30], pca.total_variance_, choice))
    bars = ax.patches
    assert len(bars) == 30
    np.testing.assert_allclose([bar.get_height() for bar in bars], 100 * pca.explained_variance_ratio_[:30])
    kept = [to_hex(bar.get_facecolor()) for bar in bars]
    assert kept == [STRONG] * 21 + [WEAK] * 9
    assert ax.get_title(loc="left") == "21 components explain 90.3% of the variance"
    assert "%" in ax.get_ylabel()


def test_scree_without_a_total_takes_the_sum(drawn):
    ax = drawn(plots.scree([3, 1], choice=1))
    assert [bar.get_height() for bar in ax.patches] == [75, 25]
    assert ax.get_title(loc="left") == "1 of 2 components: 75.0% of the values shown"


def test_distortion_curve_is_the_numbers_given(pca, drawn):
    J = [pca.distortion(m) for m in range(65)]
    ax = drawn(plots.distortion_curve(J, choice=21))
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), J)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), np.arange(65))
    assert ax.lines[1].get_xdata()[0] == 21
    assert ax.texts[0].get_text() == f"J(21) = {J[21]:.3g}"
    assert ax.get_xlabel() == "number of components m"  # as in plots.reconstructions


def test_decay_draws_powers(drawn):
    ax = drawn(plots.decay([0.9, 0.5, -0.1], [1, 3]))
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [0.9**3, 0.5**3, 0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["t = 1", "t = 3"]
    with pytest.raises(DataError, match="list of one or more"):
        plots.decay([])


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
    with pytest.raises(DataError, match="list of one or more"):
        plots.residual_variances([])


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


@pytest.mark.parametrize("second", [{}, {"min_dist": 0.1234567}])
def test_a_sweep_names_every_setting_and_says_which_are_best_equivalent_and_worse(drawn, second):
    settings = []
    for score, equivalent in ((0.5, True), (0.6, True), (0.3, False)):
        parameters = {"n_neighbors": round(100 * score), **second}
        name = ", ".join(f"{key}={value}" for key, value in parameters.items())
        interval = (score - 0.1, score + 0.1)
        settings.append(Setting(name, parameters, None, score, interval, 0.8, (0.7, 0.9), equivalent))
    ax = drawn(plots.sweep(Sweep(settings)))
    ticks = [text.get_text() for text in (ax.get_yticklabels() if second else ax.get_xticklabels())]
    assert ticks == ([s.name for s in settings] if second else ["50", "60", "30"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["best", "equivalent to it", "worse"]
    colors = [to_hex(bars.lines[0].get_color()) for bars in ax.containers]
    assert colors[0] == colors[1] == STRONG != colors[2] != WEAK
    ring = next(line for line in ax.lines if line.get_markersize() == 11)
    assert [float(value) for value in (ring.get_xdata() if second else ring.get_ydata())] == [0.6]
