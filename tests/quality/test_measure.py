"""Confidence intervals of sampled measures: coverage, also where few rows have errors."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import binomtest

from lowland import quality
from lowland.math.statistics.intervals import confidence_interval, wilson_interval


@pytest.mark.parametrize("m", [20, 80, 500])
@pytest.mark.parametrize("share", [0.0005, 0.003, 0.02, 0.1, 0.5])
@pytest.mark.parametrize("wrong", [0.0, 0.6])
def test_intervals_cover_rare_errors(m, share, wrong):
    """All rows have the value one, except a few with a much lower value."""
    rng = np.random.default_rng(0)
    seen = rng.binomial(m, share, 4000)  # number of rows with errors
    mean = 1 - (1 - wrong) * seen / m
    spread = (1 - wrong) * np.sqrt(seen / m * (1 - seen / m) * m / (m - 1))
    low, high = confidence_interval(mean, spread, m, ends=(0.0, 1.0))
    true = 1 - (1 - wrong) * share
    assert np.mean((low <= true) & (true <= high)) > 0.93
    assert np.all(high - low > 1 / m)
    assert low.min() >= 0
    assert high.max() <= 1


def test_intervals_of_fractions_agree_with_scipy():
    for right, n in ((0, 7), (4, 20), (50, 100), (37, 37)):
        expected = binomtest(right, n).proportion_ci(method="wilson")
        assert wilson_interval(right / n, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_intervals_of_accuracy_are_wilson_intervals():
    m = 100_000  # where Student's t is the normal distribution
    for share in (0.0, 0.00005, 0.3, 1.0):
        spread = np.sqrt(share * (1 - share))
        assert confidence_interval(share, spread, m, ends=(0.0, 1.0)) == pytest.approx(
            wilson_interval(share, m), rel=1e-3, abs=1e-9
        )


def test_all_rows_have_no_interval_and_nearly_all_a_narrow_one():
    assert confidence_interval(0.7, 0.2, 50, 50, ends=(0.0, 1.0)) == pytest.approx((0.7, 0.7))
    low, high = confidence_interval(0.7, 0.2, 49, 50, ends=(0.0, 1.0))
    assert high - low < 0.03


def test_samples_without_errors_keep_a_wide_interval():
    """Three of 600 rows have been moved: most samples of 60 contain none, but need wide intervals."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 2))
    Z = X.copy()
    Z[[5, 100, 333]] = Z[[6, 101, 334]] + 0.01
    y = (X[:, 0] > 0).astype(int)
    y[[7, 99, 400]] ^= 1
    for of in (
        lambda **how: quality.trustworthiness(X, Z, **how),
        lambda **how: quality.continuity(X, Z, **how),
        lambda **how: quality.mean_relative_rank_errors(X, Z, **how)[0],
        lambda **how: quality.r_nx_area(X, Z, **how),
        lambda **how: quality.normalized_stress(X, Z, **how),
        lambda **how: quality.shepard(X, Z, **how).spearman,
        lambda **how: quality.nearest_neighbor_accuracy(Z, y, **how),
    ):
        value, found = of().value, [of(sample=60, random_state=seed) for seed in range(15)]
        assert np.mean([each.low <= value <= each.high for each in found]) > 0.85
        assert all(each.high - each.low > 1e-3 for each in found)


def test_intervals_stay_in_the_range_of_the_measure():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    for Z in (X, rng.standard_normal((300, 2))):
        for each in quality.evaluate(X, Z, np.arange(300) % 2, sample=30):
            assert each.low - 1e-12 <= each.value <= each.high + 1e-12
            assert each.low >= (-1.01 if each.name[:4] in ("silh", "Spea", "Pear", "area", "LCMC") else 0)
            assert each.high <= 1 + 1e-12
        curves = quality.co_ranking(X, Z, sample=30)
        assert np.all(curves.r_nx_low <= curves.r_nx + 1e-12)
        assert np.all(curves.r_nx_high >= curves.r_nx - 1e-12)
        assert curves.r_nx_high.max() <= 1 + 1e-12


def test_a_notebook_shows_a_measure_as_a_table_of_escaped_text():
    shown = quality.Measure(
        "<b>trust</b>", 0.98765, None, "higher", "Neighbors & more.", 0.98, 0.99, sample=2000
    )._repr_html_()
    for text in ("&lt;b&gt;trust&lt;/b&gt;", "0.9877", "0.98 to 0.99", "2,000", "Neighbors &amp; more.", "higher"):
        assert text in shown
    assert "<b>" not in shown
    assert "sampled" not in quality.Measure("stress", 0.1, None, "lower", "About.")._repr_html_()


def test_a_measure_describes_itself_and_is_a_number():
    plain = quality.Measure("name", 0.5, None, "lower", "About.")
    assert str(plain) == "name: 0.5 (lower is better). About."
    assert float(plain) == 0.5
    with pytest.raises(dataclasses.FrozenInstanceError):
        plain.value = 0
    drawn = quality.Measure("name", 0.5, None, "lower", "About.", 0.4, 0.6, 1500, 3)
    assert str(drawn) == (
        "name: 0.5 (95% CI 0.4 to 0.6, lower is better). About. Estimated from 1,500 sampled rows. "
        "Left out: 3 rows without coordinates."
    )


@pytest.mark.parametrize("of", [quality.trustworthiness, quality.continuity, quality.r_nx_area, quality.sammon_stress])
def test_intervals_are_as_wide_as_the_error_of_the_sample(of):
    """Not twice as wide, as if rows could be missing that are far worse than all that were sampled."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 6)) * [3, 2, 1, 1, 0.5, 0.5]
    Z = X[:, :2] + 0.5 * rng.standard_normal((1000, 2))
    value, found = of(X, Z, sample=None).value, [of(X, Z, sample=200, random_state=seed) for seed in range(40)]
    half = 1.96 * np.std([each.value for each in found], ddof=1)
    assert np.mean([each.high - each.low for each in found]) < 2 * 1.6 * half
    assert np.mean([each.low <= value <= each.high for each in found]) >= 0.9
