"""Leading eigenpairs of matrices and operators."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from lowland.data.open import open_rows
from lowland.errors import ParameterError
from lowland.math.spectra.leading import Iteration, all_eigenvalues, fix_signs, leading_eigenpairs, with_null_space
from lowland.math.spectra.operators import (
    Divided,
    DoubleCentered,
    RowsGram,
    centered_product,
    centered_transposed_product,
    times_rows,
)
from lowland.run.run import Run


def test_power_method_converges_at_the_ratio_of_eigenvalues():
    S = np.diag(np.concatenate([[10.0], 5 * np.ones(3), np.linspace(1, 0.1, 40)]))
    pairs = leading_eigenpairs(S, 1, run=Run(), solver="power", options=Iteration(oversamples=0, tol=1e-10))
    ratios = np.array(pairs.trace[6:16]) / np.array(pairs.trace[5:15])
    np.testing.assert_allclose(ratios, 0.5, rtol=0.02)  # residuals fall by 5/10 a step
    assert pairs.converged


def test_a_two_by_two_matrix_by_hand():
    pairs = leading_eigenpairs(np.array([[2.0, 1.0], [1.0, 2.0]]), 2, run=Run())
    np.testing.assert_allclose(pairs.values, [3.0, 1.0])
    np.testing.assert_allclose(pairs.vectors, np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2))


def test_some_pairs_of_nearly_equal_eigenvalues():
    """LAPACK's driver for some pairs may return none of a matrix this near to the identity."""
    A = np.eye(200) - 1 / 200
    pairs = leading_eigenpairs(A, 3, run=Run(), solver="eigh")
    np.testing.assert_allclose(pairs.values, 1.0)
    np.testing.assert_allclose(A @ pairs.vectors, pairs.vectors, atol=1e-12)


@pytest.mark.parametrize("solver", ["eigh", "krylov", "power", "subspace"])
def test_every_solver_finds_the_same_pairs(solver):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((80, 80)))[0]
    values = 2.0 ** -np.arange(80)
    A = Q * values @ Q.T
    steps = 40 if solver == "subspace" else None
    pairs = leading_eigenpairs(A, 4, run=Run(), solver=solver, options=Iteration(max_iter=steps))
    assert pairs.converged
    np.testing.assert_allclose(pairs.values, values[:4], rtol=1e-9)
    np.testing.assert_allclose(pairs.vectors, fix_signs(Q[:, :4]), atol=1e-6)
    assert np.all(pairs.residuals < 1e-6)

    class Operator:
        shape = (80, 80)

        def __matmul__(self, V):
            return A @ V

    if solver != "eigh":
        options = Iteration(max_iter=steps, like_array=np.zeros((1, 80)))
        applied = leading_eigenpairs(Operator(), 4, run=Run(), solver=solver, options=options)
        np.testing.assert_allclose(applied.values, values[:4], rtol=1e-9)


@pytest.mark.parametrize("solver", ["krylov", "power"])
@pytest.mark.parametrize("unit", [2.0**-600, 2.0**600])
def test_iterations_do_not_depend_on_the_unit_of_the_matrix(solver, unit):
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 40)))[0]
    A = Q * 2.0 ** -np.arange(40) @ Q.T
    one, other = (leading_eigenpairs(u * A, 3, run=Run(), solver=solver) for u in (1, unit))
    np.testing.assert_array_equal(other.values, unit * one.values)
    np.testing.assert_array_equal(other.vectors, one.vectors)


def test_signs_are_fixed_by_the_first_of_the_largest_entries():
    V = np.array([[0.1, -0.7, 0.5], [-0.9, 0.7, -0.5]])
    expected = np.array([[-0.1, 0.7, 0.5], [0.9, -0.7, -0.5]])
    np.testing.assert_array_equal(fix_signs(V), expected)
    torch = pytest.importorskip("torch")
    np.testing.assert_array_equal(fix_signs(torch.asarray(V)).numpy(), expected)


def test_negative_eigenvalues_of_a_definite_matrix_are_rounding_errors():
    A = np.diag([1.0, -1e-17, -0.5])
    assert leading_eigenpairs(A, 3, run=Run()).values.tolist() == [1.0, 0.0, 0.0]
    assert leading_eigenpairs(A, 3, run=Run(), definite=False).values.tolist() == [1.0, -1e-17, -0.5]
    assert all_eigenvalues(A).tolist() == [1.0, -1e-17, -0.5]
    with pytest.raises(ParameterError, match=r"4 eigenpairs.*size 3.*1 to 3"):
        leading_eigenpairs(A, 4, run=Run())


def test_the_basis_of_a_null_space_is_unique():
    """Any rotation of the vectors of eigenvalue zero leads to the same answer."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    A = Q[:, :2] * [3.0, 2.0] @ Q[:, :2].T
    pairs = leading_eigenpairs(A, 5, run=Run())
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    turned = replace(pairs, vectors=np.hstack([pairs.vectors[:, :2], pairs.vectors[:, 2:] @ turn]))
    one, other = (with_null_space(p, 5, 1e-12) for p in (pairs, turned))
    np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-12)
    np.testing.assert_allclose(one.vectors.T @ one.vectors, np.eye(5), atol=1e-12)
    np.testing.assert_array_equal(one.values[2:], 0)


rng = np.random.default_rng(0)
X, V = rng.standard_normal((30, 5)) + 10, rng.standard_normal((5, 2))
mean, scale, run = X.mean(axis=0), X.std(axis=0), Run()
C = (X - mean) / scale


@pytest.mark.parametrize("given", [X, [X[:7], X[7:]], scipy.sparse.csr_matrix(X)])
def test_the_gram_matrix_of_centered_and_scaled_rows(given):
    operator = RowsGram(open_rows(given), run, mean, scale, None)
    assert operator.shape == (5, 5)
    np.testing.assert_allclose(operator @ V, C.T @ C @ V, rtol=1e-9)
    np.testing.assert_allclose(Divided(operator, 29.0) @ V, C.T @ C @ V / 29, rtol=1e-9)


@pytest.mark.parametrize("constant", [0.0, 1.5])
def test_distances_centered_without_being_formed(constant):
    D = np.abs(np.subtract.outer(X[:, 0], X[:, 0]))
    J, W = np.eye(30) - 1 / 30, rng.standard_normal((30, 2))
    longer = D + constant * (1 - np.eye(30))
    operator = DoubleCentered(open_rows(D), run, distances=True, constant=constant)
    np.testing.assert_allclose(operator @ W, -J @ longer**2 @ J @ W / 2, atol=1e-10)
    np.testing.assert_allclose(operator.row_means(D), (longer**2).mean(axis=1))
    plain = DoubleCentered(open_rows(D), run)
    np.testing.assert_allclose(plain @ W, J @ D @ J @ W, atol=1e-10)
    np.testing.assert_allclose(times_rows(open_rows(D), W, run), D @ W)


def test_centered_products_dense_sparse_and_in_float32():
    Y = rng.standard_normal((30, 2))
    for rows in (X, scipy.sparse.csr_matrix(X)):
        np.testing.assert_allclose(centered_product(rows, mean, V), (X - mean) @ V, atol=1e-12)
        np.testing.assert_allclose(centered_transposed_product(rows, mean, Y), (X - mean).T @ Y, atol=1e-12)
    far = (X + 1e5).astype(np.float32)
    exact = (far.astype(np.float64) - far.mean(axis=0, dtype=np.float64)) @ V
    found = centered_product(far, far.mean(axis=0, dtype=np.float64), V.astype(np.float32))
    np.testing.assert_allclose(found, exact, atol=1e-5)  # the rounding error of the mean is corrected
    np.testing.assert_array_equal(centered_product(X, None, V), X @ V)
