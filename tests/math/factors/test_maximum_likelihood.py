"""Maximum likelihood factors of a correlation matrix."""

import numpy as np
import pytest

from lowland.math.factors.maximum_likelihood import (
    degrees_of_freedom,
    factor_loadings,
    fewest_by_bic,
    first_uniquenesses,
    free_parameters,
    inverse_of,
    most_factors,
)


@pytest.mark.parametrize(("d", "most"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (6, 3), (7, 3), (24, 17)])
def test_degrees_of_freedom(d, most):
    assert most_factors(d) == most
    assert degrees_of_freedom(d, most) >= 0 > degrees_of_freedom(d, most + 1)


def test_three_columns_and_one_factor_by_hand():
    """R_ij = l_i l_j: l_1² = R_12 R_13 / R_23, and so on; the fit is exact."""
    R = np.array([[1.0, 0.72, 0.63], [0.72, 1.0, 0.56], [0.63, 0.56, 1.0]])
    for method in ("uniqueness", "em"):
        found = factor_loadings(R, 1, method=method, tol=1e-13, max_iter=20_000)
        assert found.outcome.converged
        np.testing.assert_allclose(found.loadings[:, 0], [0.9, 0.8, 0.7], atol=1e-4)
        np.testing.assert_allclose(found.uniquenesses, [0.19, 0.36, 0.51], atol=1e-4)
        assert found.deviance == pytest.approx(np.linalg.slogdet(R)[1] + 3, abs=1e-9)  # log|R| + tr I


def test_the_result_of_each_initialization_is_recorded():
    R = np.corrcoef(np.random.default_rng(0).standard_normal((40, 6)).T)
    found = factor_loadings(R, 2, n_starts=4, lower=0.005)
    assert len(found.start_deviances) == 4
    assert found.deviance <= min(found.start_deviances) + 1e-9
    assert len(factor_loadings(R, 6, n_starts=4).start_deviances) == 1


def test_initial_uniquenesses_come_from_multiple_correlations():
    R = np.array([[1.0, 0.6], [0.6, 1.0]])
    np.testing.assert_allclose(first_uniquenesses(R, 1, 1e-6), 0.75 * (1 - 0.36))  # (1 - k/2d)(1 - R²)
    np.testing.assert_allclose(inverse_of(R), np.linalg.inv(R))
    assert inverse_of(np.ones((2, 2))) is None
    assert np.all(first_uniquenesses(np.ones((2, 2)), 1, 1e-6) > 0)


def test_the_number_of_factors_with_the_smallest_bic():
    rng = np.random.default_rng(0)
    L = np.zeros((8, 2))
    L[:4, 0] = L[4:, 1] = 0.8
    X = rng.standard_normal((500, 2)) @ L.T + 0.6 * rng.standard_normal((500, 8))
    R = np.corrcoef(X.T)
    choice, found = fewest_by_bic(R, 500, lambda k: factor_loadings(R, k))
    assert choice.n_components == found.loadings.shape[1] == 2
    bic = 500 * found.deviance + np.log(500) * free_parameters(8, 2)
    assert choice.evidence["bic"][1] == pytest.approx(bic) == choice.evidence["bic"].min()
