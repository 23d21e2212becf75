"""Monotone regression: agreement with scikit-learn, invariants, and ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from lowland.math.scaling.isotonic import IsotonicCurve, curve_through, isotonic, monotone_regression, rank

numbers = st.lists(st.floats(-100, 100), min_size=1, max_size=40)


@given(numbers, st.integers(0, 5))
def test_agrees_with_scikit_learn(y, seed):
    w = np.random.default_rng(seed).uniform(0.1, 3, len(y))
    y = np.array(y)
    np.testing.assert_allclose(isotonic(y), isotonic_regression(y), atol=1e-9)
    np.testing.assert_allclose(isotonic(y, w), isotonic_regression(y, sample_weight=w), atol=1e-9)


@given(numbers)
def test_isotonic_regression_is_monotone_keeps_the_mean_and_is_a_projection(y):
    fitted = isotonic(np.array(y))
    assert (np.diff(fitted) >= 0).all()
    assert fitted.mean() == pytest.approx(np.mean(y), abs=1e-9)
    np.testing.assert_allclose(isotonic(fitted), fitted, atol=1e-12)


def test_ties_by_hand():
    delta = np.array([1.0, 2.0, 2.0, 3.0])
    d = np.array([1.0, 4.0, 2.0, 3.0])
    ranking = rank(delta)
    assert ranking.has_ties
    # primary: 2.0 before 4.0, then 4.0 and 3.0 are pooled
    np.testing.assert_allclose(monotone_regression(d, ranking, "primary"), [1, 3.5, 2, 3.5])
    # secondary: both tied ones get their mean 3, which 3.0 does not violate
    np.testing.assert_allclose(monotone_regression(d, ranking, "secondary"), [1, 3, 3, 3])


def test_missing_values_are_excluded(rng):
    delta = np.array([3.0, np.nan, 1.0, 2.0])
    fitted = monotone_regression(np.array([1.0, 99.0, 2.0, 3.0]), rank(delta))
    assert np.isnan(fitted[1])
    np.testing.assert_allclose(fitted[[2, 3, 0]], [2, 2, 2])


def test_the_curve_interpolates_the_regression(rng):
    delta, d = rng.random(200), rng.random(200)
    ranking = rank(delta)
    fitted = monotone_regression(d, ranking)
    curve = curve_through(delta, fitted, ranking)
    assert len(curve.x) < 60
    np.testing.assert_allclose(curve(delta), fitted, atol=1e-12)
    assert curve(np.array([-1.0, 9.0])).tolist() == [fitted.min(), fitted.max()]


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_the_curve_in_other_array_libraries(library):
    xp = pytest.importorskip(library)
    curve = IsotonicCurve(np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 2.5]))
    x = np.array([[-1.0, 0.0, 0.5], [1.0, 2.0, 7.0]])
    np.testing.assert_allclose(np.asarray(curve(xp.asarray(x))), curve(x), atol=1e-12)
