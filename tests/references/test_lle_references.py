"""Agreement with the programs of Roweis, of Donoho and Grimes, and of Zhang and Zha, run in Octave."""

import json
from pathlib import Path

import numpy as np
import pytest
import sklearn.manifold

from lowland import LocallyLinearEmbedding
from lowland.math.graphs.locally_linear import graph_with_points, tangent_alignment, weight_matrix
from lowland.math.neighbors.search import nearest_neighbors
from lowland.math.spectra.trailing import trailing_eigenpairs
from lowland.run.run import Run

RESULT = json.loads((Path(__file__).parent / "lle_swissroll300.json").read_text())["result"]
X = np.array(RESULT["X"])
RUN = Run()


def apart(Z, Y):
    """The sine of the largest angle between the spans of two embeddings."""
    A, B = np.linalg.qr(Z)[0], np.linalg.qr(Y)[0]
    return np.linalg.norm(B - A @ (A.T @ B), 2)


@pytest.mark.parametrize("k", [8, 12])
def test_standard_lle_agrees_with_roweis_and_saul(k):
    theirs = RESULT[f"roweis_k{k}"]
    ours = LocallyLinearEmbedding(2, n_neighbors=k).fit(X)
    assert apart(ours.embedding_, np.array(theirs["Y"])) < 1e-6
    np.testing.assert_allclose(ours.eigenvalues_, theirs["eigenvalues"], rtol=1e-5)
    np.testing.assert_allclose(ours.reconstruction_error_, np.sum(theirs["eigenvalues"]), rtol=1e-5)


@pytest.mark.parametrize("k", [8, 12])
def test_weights_agree_with_roweis_and_saul(k):
    theirs = RESULT[f"roweis_k{k}"]
    W = weight_matrix(X, nearest_neighbors(X, k, RUN), RUN)
    np.testing.assert_allclose(W[[0], theirs["neighbours of point 0"]], theirs["weights of point 0"], rtol=1e-9)


def test_hessian_lle_agrees_with_donoho_and_grimes_and_scikit_learn_does_not():
    theirs = RESULT["donoho_k10"]
    Y = np.array(theirs["Y"])
    ours = LocallyLinearEmbedding(2, n_neighbors=10, method="hessian").fit(X)
    assert apart(ours.embedding_, Y) < 1e-8
    np.testing.assert_allclose(ours.eigenvalues_, theirs["eigenvalues"], rtol=1e-9)
    peer = sklearn.manifold.LocallyLinearEmbedding(n_neighbors=10, method="hessian", eigen_solver="dense").fit(X)
    assert apart(peer.embedding_, Y) > 0.01


def test_ltsa_with_the_point_itself_agrees_with_zhang_and_zha():
    theirs = RESULT["zhang_K11"]
    graph = graph_with_points(nearest_neighbors(X, 10, RUN))
    M = tangent_alignment(X, graph, 2, RUN, kind="ltsa").sum(len(X))
    pairs = trailing_eigenpairs(M, 2, RUN, rng=np.random.default_rng(0), skip=1)
    assert apart(pairs.vectors, np.array(theirs["T"])) < 1e-8
    np.testing.assert_allclose(pairs.values, theirs["eigenvalues"], rtol=1e-9)
