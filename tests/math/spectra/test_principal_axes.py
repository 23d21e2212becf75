"""Principal axes: every route from a table to the eigenpairs of its covariance gives the same."""

import numpy as np
import pytest
import scipy.sparse

from lowland.data.open import open_rows
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.component_rules import Cumulative, Fixed
from lowland.math.spectra.principal_axes import (
    AxesRequest,
    SolverOptions,
    axes_of_moments,
    choose_solver,
    principal_axes,
    principal_axes_of_covariance,
    singular_axes,
)
from lowland.math.statistics.moments import ColumnMoments, Moments
from lowland.run.local import LocalRun

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


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("scale", [False, True])
def test_every_solver_finds_the_axes_of_the_covariance(solver, scale):
    S = np.corrcoef(X.T) if scale else np.cov(X.T)
    expected = principal_axes_of_covariance(S, 3)
    for rows in (open_rows(X), open_rows([X[:9], X[9:]])):
        axes = principal_axes(rows, LocalRun(), Fixed(3), solver=solver, scale=scale)
        np.testing.assert_allclose(axes.pairs.values[:3], expected.values, rtol=1e-8)
        np.testing.assert_allclose(axes.pairs.vectors[:, :3], expected.vectors, atol=1e-5)
        assert axes.discarded == pytest.approx(np.trace(S) - expected.values.sum())
        assert axes.outcome.converged


def test_wide_tables_are_solved_by_the_gram_matrix_of_the_rows():
    wide = X.T.copy()  # 6 rows of 40 columns
    S = np.cov(wide.T)
    for given in (wide, scipy.sparse.csr_matrix(wide)):
        axes = principal_axes(open_rows(given), LocalRun(), Fixed(4), solver="covariance_eigh")
        np.testing.assert_allclose(axes.pairs.values, np.linalg.eigvalsh(S)[::-1][:4], rtol=1e-10)
        np.testing.assert_allclose(S @ axes.pairs.vectors, axes.pairs.vectors * axes.pairs.values, atol=1e-8)


def test_moments_suffice_and_a_rule_chooses_the_number():
    wanted = AxesRequest(Cumulative(0.9), Outcome("covariance_eigh"))
    axes = axes_of_moments(Moments.of(X), LocalRun(), wanted)
    fractions = np.cumsum(np.linalg.eigvalsh(np.cov(X.T))[::-1]) / np.trace(np.cov(X.T))
    assert axes.choice.n_components == int(np.argmax(fractions > 0.9)) + 1
    assert axes.spectrum.whole


def test_too_many_components_and_too_large_tables_are_refused():
    with pytest.raises(ParameterError, match=r"must be between 1 and 6 \(min\(n_samples, n_features\)=6\)"):
        principal_axes(open_rows(X), LocalRun(), Fixed(7))
    with pytest.raises(DataTypeError, match=r"'full'.*sparse.*covariance_eigh"):
        principal_axes(open_rows(scipy.sparse.csr_matrix(X)), LocalRun(), Fixed(2), solver="full")
    with pytest.raises(DataError, match="overflow to infinity"):
        _ = ColumnMoments(3.0, 3, np.zeros(2), np.array([np.inf, 1.0]), 0.0).variances


def test_the_solver_is_chosen_by_size_and_budget():
    assert choose_solver("arpack", open_rows(X), 2, 10**9).reason == "requested"
    assert choose_solver("auto", open_rows(X), 2, 10**9).name == "full"
    tall = open_rows(np.zeros((5000, 3)))
    assert choose_solver("auto", tall, 2, 10**9).name == "covariance_eigh"
    assert choose_solver("auto", tall, 2, 10).name == "randomized"


def test_singular_vectors_of_rows_that_are_not_centered():
    pairs, _, outcome = singular_axes(open_rows(X), LocalRun(), 2, solver="arpack", options=SolverOptions())
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    np.testing.assert_allclose(pairs.values, s[:2] ** 2)
    np.testing.assert_allclose(np.abs(pairs.vectors.T), np.abs(Vt[:2]), atol=1e-10)
    assert outcome.name == "covariance_eigh"
    far, _, _ = singular_axes(open_rows(X + 1e7), LocalRun(), 2, solver="arpack", options=SolverOptions())
    np.testing.assert_allclose(far.values[1], np.linalg.svd(X + 1e7)[1][1] ** 2, rtol=1e-6)
    with pytest.raises(ParameterError, match=r"must be <= n_features\(6\)"):
        singular_axes(open_rows(X), LocalRun(), 7, solver="arpack", options=SolverOptions())
