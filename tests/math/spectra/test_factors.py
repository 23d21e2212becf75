"""Factors that are sparse for most unknowns and dense for the last ones."""

import numpy as np
import pytest
from scipy import sparse

import lowland
from lowland.math.spectra.factors import BorderedFactor, DenseFactor
from lowland.math.spectra.trailing import trailing_eigenpairs
from lowland.run.run import Run

SETTINGS = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.01, "options": {"SymmetricMode": True}}


@pytest.fixture
def matrix(rng):
    """A matrix without a pattern, whose diagonal is too small to pivot on."""
    n = 1200
    return (sparse.random_array((n, n), density=0.01, rng=rng) + sparse.diags_array(rng.uniform(-1, 1, n))).tocsc()


def test_both_systems_are_solved_for_vectors_and_matrices(matrix, rng):
    factor, X = BorderedFactor.of(matrix, Run(), **SETTINGS), rng.normal(size=(1200, 3))
    assert len(factor.last.order) == 400
    for trans, A in (("N", matrix), ("T", matrix.T)):
        for x in (X, X[:, 0]):
            np.testing.assert_allclose(factor.solve(A @ x, trans), x, atol=1e-6)


def test_threads_change_no_bit_of_a_factor(matrix, rng):
    found = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            factor = BorderedFactor.of(matrix, Run(), **SETTINGS)
            found.append((factor.last.both, factor.solve(np.ones(1200))))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_singular_matrix_is_refused():
    with pytest.raises(RuntimeError, match="singular"):
        DenseFactor.of(np.zeros((3, 3), order="F"), Run())


def test_a_graph_without_small_separators_has_the_same_eigenpairs_by_both_factors(rng, monkeypatch):
    n = 600
    W = sparse.random_array((n, n), density=0.02, rng=rng)
    E = (sparse.eye_array(n) - W / W.sum(axis=1)[:, None]).tocsr()
    found, factors = [], []
    of = BorderedFactor.of
    monkeypatch.setattr(
        BorderedFactor, "of", lambda *args, **settings: factors.append(of(*args, **settings)) or factors[-1]
    )
    for least in (0, 10**6):
        monkeypatch.setattr("lowland.math.spectra.trailing._WORTH_DENSE", least)
        pairs = trailing_eigenpairs(
            (E.T @ E).tocsr(), 2, Run(), rng=np.random.default_rng(0), skip=1, root=E, solver="arpack"
        )
        assert pairs.solver == "arpack"
        found.append(pairs)
    assert len(factors) == 1
    np.testing.assert_allclose(found[0].values, found[1].values, rtol=1e-9)
    np.testing.assert_allclose(found[0].vectors, found[1].vectors, atol=1e-7)
