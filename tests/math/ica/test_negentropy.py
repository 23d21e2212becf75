"""Negentropy and mutual_information of components whose answers are known."""

import numpy as np
import pytest

from lowland.math.ica.negentropy import ShapeOf, count_gaussian, mutual_information, negentropies


def shape_of(Y):
    Y = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    return ShapeOf(np.eye(Y.shape[1]))(Y)


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(0)


def test_negentropy_of_known_densities(rng):
    """Close to the true H(normal) − H(y) where that is known, and equal to the formula."""
    n = 200_000
    Y = np.stack([rng.standard_normal(n), rng.uniform(size=n), rng.laplace(size=n), rng.exponential(size=n)], axis=1)
    J = negentropies(shape_of(Y))
    half = np.log(2 * np.pi * np.e) / 2
    true = np.array([0, half - np.log(np.sqrt(12)), half - 1 - np.log(np.sqrt(2)), half - 1])
    assert J[0] < 1e-4
    assert np.all(J[1:] > 0.35 * true[1:])
    assert np.all(J[1:] < 1.25 * true[1:])
    # uniform: E exp(−y²/2) over [−√3, √3] by hand, and no skew
    bell = np.sqrt(2 * np.pi) * 0.9167354833364496 / (2 * np.sqrt(3))
    assert J[1] == pytest.approx(24 / (16 * np.sqrt(3) - 27) * (bell - np.sqrt(0.5)) ** 2, rel=0.02)


def test_dependence_is_zero_for_independent_columns_and_grows_with_common_parts(rng):
    n = 50_000
    Y = rng.laplace(size=(n, 4))
    assert np.all(mutual_information(shape_of(Y)) < 1e-3)
    loud = np.exp(rng.standard_normal(n))[:, None]
    Y[:, :2] *= loud  # two components with dependent magnitudes, but uncorrelated
    shared = mutual_information(shape_of(Y))
    assert np.all(shared[:2] > 0.05)
    assert np.all(shared[2:] < 1e-3)


def test_dependence_of_normal_functions_is_the_textbook_formula(rng):
    """One pair of functions, one pair of components: I = −½ log(det S / (det S_11 det S_22))."""
    y = rng.laplace(size=(20_000, 2))
    y[:, 1] = np.abs(y[:, 0]) * rng.choice([-1, 1], 20_000) + 0.3 * y[:, 1]
    y = (y - y.mean(axis=0)) / y.std(axis=0)
    e = np.exp(-(y**2) / 2)
    S = np.cov(np.hstack([e, y * e]).T, bias=True)[np.ix_([0, 2, 1, 3], [0, 2, 1, 3])] + 1e-4 * np.eye(4)
    det = np.linalg.det
    expected = -np.log(det(S) / (det(S[:2, :2]) * det(S[2:, 2:]))) / 2 - 2 / 20_000
    np.testing.assert_allclose(mutual_information(shape_of(y)), expected, rtol=1e-6)


def test_two_valued_sources_and_few_rows(rng):
    signs = rng.choice([-1.0, 1.0], (1000, 2))
    assert np.all(mutual_information(shape_of(signs)) < 0.01)
    assert np.all(
        mutual_information(shape_of(signs + 0.001 * signs[:, ::-1])) < 0.01
    )  # a small contribution of the other is not detected
    assert np.isnan(mutual_information(shape_of(rng.standard_normal((20, 5))))).all()


def test_gaussian_components_are_counted():
    n = 1000
    assert count_gaussian(np.array([0.2, 0.1, 0.05]), n) == 0
    assert count_gaussian(np.array([0.2, 0.1, 0.001]), n) == 1
    assert count_gaussian(np.array([0.2, 0.002, 0.001]), n) == 2
    assert count_gaussian(np.array([0.002, 0.002, 0.001]), 150) == 0  # too few rows to decide
