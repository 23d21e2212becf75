"""Principal axes of rows, complete or not, and whitening matrices."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from lowland import PCA, FactorAnalysis, LinearDiscriminantAnalysis
from lowland.data.open import open_rows
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.math.spectra.component_rules import Cumulative, Fixed
from lowland.math.spectra.operators import centered_product
from lowland.math.spectra.principal_axes import (
    SolverOptions,
    choose_solver,
    principal_axes,
    principal_axes_of_covariance,
    singular_axes,
)
from lowland.math.spectra.probabilistic_axes import FitComponents, axes_of_incomplete_rows, components_model
from lowland.math.spectra.whitening_matrices import whitening_matrix
from lowland.math.statistics.available_cases import AvailableColumns
from lowland.math.statistics.moments import ColumnMoments, Moments
from lowland.run.run import Run

X = np.random.default_rng(0).standard_normal((40, 6)) @ np.diag([5.0, 4, 3, 2, 1, 0.5]) + 3
SOLVERS = ["full", "covariance_eigh", "power", "arpack", "randomized", "auto"]


def test_three_by_three_by_hand():
    """A block of two correlated columns and an uncorrelated one: λ = 4 + 1, 3, 4 - 1."""
    S = np.array([[4.0, 1.0, 0.0], [1.0, 4.0, 0.0], [0.0, 0.0, 3.5]])
    found = principal_axes_of_covariance(S)
    np.testing.assert_allclose(found.values, [5.0, 3.5, 3.0])
    np.testing.assert_allclose(found.vectors[:, 0], np.array([1.0, 1.0, 0.0]) / np.sqrt(2), atol=1e-12)
    np.testing.assert_allclose(found.vectors[:, 1], [0.0, 0.0, 1.0], atol=1e-12)
    one = principal_axes_of_covariance(S, 1, solver="arpack", options=SolverOptions(tol=1e-12))
    np.testing.assert_allclose(one.values, [5.0])


def test_iterations_on_a_covariance_matrix_need_no_run():
    variances = np.linspace(1, 2, 60) ** 8
    found = principal_axes_of_covariance(np.diag(variances), 2, solver="arpack")
    np.testing.assert_allclose(found.values, variances[:-3:-1])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [False, True])
def test_every_solver_finds_the_axes_of_the_covariance(solver, scale):
    S = np.corrcoef(X.T) if scale else np.cov(X.T)
    expected = principal_axes_of_covariance(S, 3)
    for rows in (open_rows(X), open_rows([X[:9], X[9:]])):
        axes = principal_axes(rows, Run(), Fixed(3), solver=solver, scale=scale)
        np.testing.assert_allclose(axes.pairs.values[:3], expected.values, rtol=1e-8)
        np.testing.assert_allclose(axes.pairs.vectors[:, :3], expected.vectors, atol=1e-5)
        assert axes.discarded == pytest.approx(np.trace(S) - expected.values.sum())
        assert axes.outcome.converged


def test_wide_tables_are_solved_by_the_gram_matrix_of_the_rows():
    wide = X.T.copy()  # 6 rows of 40 columns
    S = np.cov(wide.T)
    for given in (wide, scipy.sparse.csr_matrix(wide)):
        axes = principal_axes(open_rows(given), Run(), Fixed(4), solver="covariance_eigh")
        np.testing.assert_allclose(axes.pairs.values, np.linalg.eigvalsh(S)[::-1][:4], rtol=1e-10)
        np.testing.assert_allclose(S @ axes.pairs.vectors, axes.pairs.vectors * axes.pairs.values, atol=1e-8)


def test_too_many_components_and_too_large_tables_are_refused():
    with pytest.raises(ParameterError, match=r"must be between 1 and 6 \(min\(n_samples, n_features\)=6\)"):
        principal_axes(open_rows(X), Run(), Fixed(7))
    with pytest.raises(DataTypeError, match=r"'full'.*sparse.*covariance_eigh"):
        principal_axes(open_rows(scipy.sparse.csr_matrix(X)), Run(), Fixed(2), solver="full")
    with pytest.raises(DataError, match="overflow to infinity"):
        _ = ColumnMoments(3.0, 3, np.zeros(2), np.array([np.inf, 1.0]), 0.0).variances


def test_the_solver_is_chosen_by_size_and_budget():
    assert choose_solver("arpack", open_rows(X), 2, 10**9).reason == "requested"
    assert choose_solver("auto", open_rows(X), 2, 10**9).name == "full"
    tall = open_rows(np.zeros((5000, 3)))
    assert choose_solver("auto", tall, 2, 10**9).name == "covariance_eigh"
    assert choose_solver("auto", tall, 2, 10).name == "randomized"


def test_singular_vectors_of_rows_that_are_not_centered():
    pairs, _, outcome = singular_axes(open_rows(X), Run(), 2, solver="arpack", options=SolverOptions())
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(pairs.values, s[:2] ** 2)
    np.testing.assert_allclose(np.abs(pairs.vectors.T), np.abs(Vt[:2]), atol=1e-10)
    assert outcome.name == "covariance_eigh"
    far, _, _ = singular_axes(open_rows(X + 1e7), Run(), 2, solver="arpack", options=SolverOptions())
    np.testing.assert_allclose(far.values[1], np.linalg.svd(X + 1e7)[1][1] ** 2, rtol=1e-6)
    with pytest.raises(ParameterError, match=r"must be <= n_features\(6\)"):
        singular_axes(open_rows(X), Run(), 7, solver="arpack", options=SolverOptions())


def table(n=300, d=6):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) * 3 + rng.standard_normal((n, d))


def test_the_m_step_is_probabilistic_pca():
    X = table()
    model = FitComponents(2, np.ones(6), Run())(Moments.of(X))
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    noise = values[:4].mean()
    S = (vectors[:, 4:] * (values[4:] - noise)) @ vectors[:, 4:].T + noise * np.eye(6)
    found = (np.eye(6) + model.L @ model.L.T) * np.outer(model.unit, model.unit)
    np.testing.assert_allclose(found, S, atol=1e-9)


def test_a_model_without_noise_stays_finite():
    model = components_model(np.eye(3)[:, :1], np.array([2.0]), 0.0, np.zeros(3), np.ones(3))
    assert np.isfinite(model.L).all()
    assert (model.unit > 0).all()
    found = model.completed(np.array([[1.0, np.nan, 0.0]]))
    assert np.isfinite(found.C).all()


@pytest.mark.parametrize("rule", [Cumulative(0.6), Fixed(2)])
def test_a_rule_decides_and_the_fit_has_as_many_components(rule):
    X = table()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    axes = axes_of_incomplete_rows(open_rows(X), Run(), rule, AvailableColumns.of(X), tol=1e-8)
    k = axes.choice.n_components
    assert k <= 2
    assert axes.pairs.vectors.shape[1] >= k
    assert axes.outcome.name == "em"
    assert axes.outcome.converged


@pytest.mark.parametrize(("scale", "words"), [(1e-160, "too small"), (1e160, "too large")])
@pytest.mark.parametrize(
    "est", [PCA(2, missing="em"), FactorAnalysis(1, missing="em"), LinearDiscriminantAnalysis(missing="available")]
)
def test_squares_out_of_range_are_an_error(est, scale, words):
    X = np.random.default_rng(0).standard_normal((40, 4)) * [4, 3, 2, 1]
    X[::7, 1] = np.nan
    for given in (X * scale, [X[:15] * scale, X[15:] * scale]):
        with pytest.raises(DataError, match=words):
            clone(est).fit(given, np.arange(40) % 2)


def test_two_by_two_by_hand():
    """Eigenvalues 9 and 1 along (1, 1)/√2 and (1, -1)/√2; S = CC' with C = [[√5, 0], [4/√5, 3/√5]]."""
    S = np.array([[5.0, 4.0], [4.0, 5.0]])
    r = np.sqrt(0.5)
    np.testing.assert_allclose(whitening_matrix(S, "pca").W, [[r / 3, r / 3], [r, -r]])
    np.testing.assert_allclose(whitening_matrix(S, "zca").W, [[2 / 3, -1 / 3], [-1 / 3, 2 / 3]])
    C = np.array([[np.sqrt(5), 0.0], [4 / np.sqrt(5), 3 / np.sqrt(5)]])
    np.testing.assert_allclose(whitening_matrix(S, "cholesky").W, np.linalg.inv(C), atol=1e-12)


def test_leading_directions_only():
    S = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
    found = whitening_matrix(S, "pca", 2)
    assert found.W.shape == (2, 3)
    assert found.values.shape == (3,)
    assert whitening_matrix(np.diag([1.0, 0.1]), tol=0.5).rank == 1


def test_single_precision_is_centered_at_the_exact_mean(rng):
    """float32 rounds a mean near 10,000 by up to 5e-4; the product does not."""
    X = (rng.standard_normal((200, 4)) + 10_000.123456).astype(np.float32)
    mean, V = X.mean(axis=0, dtype=np.float64), rng.standard_normal((4, 2)).astype(np.float32)
    exact = (X.astype(np.float64) - mean) @ V
    np.testing.assert_allclose(centered_product(X, mean, V), exact, atol=2e-6 * np.abs(exact).max())
