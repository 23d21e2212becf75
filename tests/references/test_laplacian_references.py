"""Agreement with Belkin and Niyogi's own code, run in GNU Octave: the numbers in the JSON file beside this one."""

import json
from pathlib import Path

import numpy as np
import pytest

from lowland import SpectralEmbedding
from lowland.math.graphs.affinities import edge_weights
from lowland.math.graphs.laplacian import Laplacian, slowest_modes
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.run import Run

HERE = Path(__file__).parent
CASES = [("swissroll300_k8", 8), ("swissroll1000_k10", 10)]


def reference(name):
    found = json.loads((HERE / "leigs_belkin_swissroll.json").read_text())["result"][name]
    E = np.array(found["E_desc"])[:, ::-1]  # ascending, the constant first
    return np.array(found["X"]), np.array(found["eigs_desc"])[::-1], np.array(found["rows_of_E"]), E


@pytest.mark.parametrize(("name", "k"), CASES)
def test_leigs_from_the_blocks(name, k):
    X, values, rows, E = reference(name)
    run = Run()
    W = edge_weights(nearest_neighbors(X, k, run).symmetric(), "binary")
    L = Laplacian.of(W, run, normalized=False)
    label, rng = np.zeros(len(X), dtype=int), np.random.default_rng(0)
    modes = slowest_modes(L, 5, run, label=label, rng=rng, drop_first=False)
    np.testing.assert_allclose(modes.values, values, atol=1e-10)
    signs = np.sign(np.sum(modes.vectors[rows] * E, axis=0))
    np.testing.assert_allclose(modes.vectors[rows] * signs, E, atol=1e-9)


@pytest.mark.parametrize(("name", "k"), CASES)
def test_leigs_from_the_method(name, k):
    X, values, rows, E = reference(name)
    model = SpectralEmbedding(4, n_neighbors=k + 1, weights="binary", laplacian="unnormalized").fit(X)
    np.testing.assert_allclose(model.eigenvalues_, values[1:], atol=1e-10)
    signs = np.sign(np.sum(model.embedding_[rows] * E[:, 1:], axis=0))
    np.testing.assert_allclose(model.embedding_[rows] * signs, E[:, 1:], atol=1e-9)
