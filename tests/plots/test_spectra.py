"""Scree plots, distortion curves and decays."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

import lowland
from lowland import plots
from lowland.data import load_dataset
from lowland.errors import DataError, ParameterError
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
    assert ax.get_xlabel() == "number of components M"  # as in plots.reconstructions


def test_decay_draws_powers(drawn):
    ax = drawn(plots.decay([0.9, 0.5, -0.1], [1, 3]))
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [0.9**3, 0.5**3, 0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["t = 1", "t = 3"]
    with pytest.raises(DataError, match="list of one or more"):
        plots.decay([])


@pytest.mark.parametrize("draw", [plots.scree, plots.distortion_curve])
def test_invalid_spectra_are_refused(draw):
    with pytest.raises(DataError, match="list of one or more"):
        draw([])
    with pytest.raises(DataError, match="shape"):
        draw(np.ones((2, 2)))
    for choice in (7, -1, True, "two"):
        with pytest.raises(ParameterError, match="choice="):
            draw([2, 1, 0], choice=choice)
    with pytest.raises(DataError, match=r"eigenvalues add up to zero"):
        plots.scree([0.0, 0.0])
    with pytest.raises(DataError, match="contains strings"):
        draw(["a", "b"])
    with pytest.raises(DataError, match="NaN"):
        draw([1.0, np.nan])


def test_eigenvalues_that_are_not_of_a_random_walk_are_refused(drawn):
    for values in ([2, -1], [0.5, -1.1]):
        with pytest.raises(DataError, match=r"random walk.*DiffusionMap"):
            plots.decay(values)
    drawn(plots.decay([np.float32(1) + np.float32(2e-7), -1]))
