"""The pseudo-inverse of E'E from a factor of E, and where there is none."""

import threading

import numpy as np
import pytest
import scipy.sparse.linalg
from scipy import sparse

import lowland
from lowland.errors import Stopped
from lowland.math.spectra import trailing
from lowland.math.spectra.root_factor import root_costs, root_inverse
from lowland.run.local import LocalRun


def errors_of_random_weights(n, m=6, seed=0):
    """I - W for a random directed graph, of weights of both signs that sum to one, (n, n)."""
    rng = np.random.default_rng(seed)
    W = np.zeros((n, n))
    for i in range(n):
        W[i, rng.choice(np.delete(np.arange(n), i), m, replace=False)] = rng.random(m) - 0.2
    return sparse.csr_array(np.eye(n) - W / W.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("columns", [(), (3,)])
def test_it_is_the_pseudo_inverse_up_to_constants(rng, columns):
    E = errors_of_random_weights(120)
    b = rng.standard_normal((120, *columns))
    b -= b.mean(axis=0)
    solve = root_inverse(E, LocalRun())
    x = solve(b)
    expected = np.linalg.pinv((E.T @ E).toarray(), hermitian=True) @ b
    np.testing.assert_allclose(x - x.mean(axis=0), expected, atol=1e-7 * np.abs(expected).max())


def test_two_sinks_have_no_inverse():
    E = sparse.block_diag([errors_of_random_weights(30), errors_of_random_weights(40)]).tocsr()
    assert root_inverse(E, LocalRun()) is None


def test_a_further_null_vector_is_noticed():
    """Points on a line at equal distances, each the mean of its neighbors; the ends extrapolate: straight lines fit."""
    n = 50
    W = sparse.diags_array([np.full(n - 1, 0.5), np.full(n - 1, 0.5)], offsets=[-1, 1]).tolil()
    W[0, [1, 2]], W[n - 1, [n - 2, n - 3]] = (2, -1), (2, -1)
    solve = root_inverse((sparse.eye_array(n) - W).tocsr(), LocalRun())
    assert solve is None or not np.abs(solve(np.arange(n) - (n - 1) / 2)).max() < 1e10


def test_wider_graphs_cost_more():
    line = (sparse.eye_array(2000) - sparse.diags_array([np.ones(1999)], offsets=[1])).tocsr()
    assert root_costs(line) < root_costs(errors_of_random_weights(2000))


@pytest.mark.parametrize("method", ["root", "shifted"])
def test_a_stop_during_the_factorization_is_no_failure_of_it(monkeypatch, method):
    """Stopped is also a RuntimeError, as the error of a singular matrix is."""
    release = threading.Event()
    monkeypatch.setattr(scipy.sparse.linalg, "splu", lambda *_, **__: release.wait(60))
    E = errors_of_random_weights(30)
    try:
        with lowland.config(progress=lambda event: False), pytest.raises(Stopped):
            root_inverse(E, LocalRun()) if method == "root" else trailing._sparse_factor(E, 1.0, LocalRun())
    finally:
        release.set()
