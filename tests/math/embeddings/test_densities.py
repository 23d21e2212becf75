"""Local radii, and the gradient of their correlation."""

import numpy as np
import pytest

from lowland.math.embeddings.cross_entropy import CrossEntropy, EdgeForces
from lowland.math.embeddings.densities import DensityTerm, log_radii
from lowland.math.embeddings.descent import DescentStep
from lowland.math.embeddings.fuzzy_graph import fuzzy_graph
from lowland.math.embeddings.row_blocks import Together
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun

RUN, ALONE = LocalRun(), Together(None, 1)
A, B = 1.577, 0.895
X = np.random.default_rng(0).normal(size=(90, 4)) * np.linspace(0.2, 3, 90)[:, None]
NEAR = nearest_neighbors(X, 9, RUN)
GRAPH = fuzzy_graph(NEAR, RUN)
Z = (4 * np.random.default_rng(1).normal(size=(90, 2))).astype(np.float32)


def term(**options):
    return DensityTerm(log_radii(GRAPH, NEAR), A, B, float(GRAPH.weight.sum()), **options)


def test_radii_of_the_data_are_weighted_means_of_squared_distances():
    D2, W = ((X[:, None] - X[None]) ** 2).sum(axis=2), GRAPH.matrix().toarray()
    np.testing.assert_allclose(log_radii(GRAPH, NEAR), np.log(1e-8 + (W * D2).sum(1) / W.sum(1)), rtol=1e-5)


def plain_correlation(Z, found):
    D2 = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    phi = np.where(GRAPH.matrix().toarray() > 0, 1 / (1 + A * D2**B), 0)
    radius = np.log(1e-8 + (phi * D2).sum(1) / phi.sum(1))
    return (radius @ found.standard) / (len(Z) - 1) / np.sqrt(radius.var() + found.shift)


def test_the_correlation_is_that_of_the_definition():
    assert term().correlation(GRAPH, Z, ALONE) == pytest.approx(plain_correlation(Z.astype(float), term()), rel=1e-4)


@pytest.mark.parametrize("k", [2, 3])
def test_the_gradient_is_that_of_the_correlation(k):
    found, n = term(), 90
    Z = 4 * np.random.default_rng(2).normal(size=(n, k))
    G = np.zeros((n, k), np.float32)
    found.add_gradient(GRAPH, Z.astype(np.float32), 0.05, G, ALONE)
    numeric = np.zeros((5, k))
    for i in range(5):
        for c in range(k):
            up, down = Z.copy(), Z.copy()
            up[i, c] += 1e-5
            down[i, c] -= 1e-5
            numeric[i, c] = (plain_correlation(up, found) - plain_correlation(down, found)) / 2e-5
    expected = -0.05 * found.scale * numeric * (n - 1) / n
    np.testing.assert_allclose(G[:5], expected, rtol=0.02, atol=1e-4)


def test_the_term_acts_in_the_last_part_only():
    objective = CrossEntropy.of(GRAPH, EdgeForces(A, B), 100, 1.0, term(part=0.3))
    assert [phase.iterations for phase in objective.phases] == [70, 30]
    assert [phase.weights["density"] for phase in objective.phases] == [0.0, 2.0]
    assert objective.phases[0].rate_end == pytest.approx(objective.phases[1].rate)
    with_term, without = np.empty_like(Z), np.empty_like(Z)
    objective.gradient(Z, DescentStep(80, 100, 1, {"density": 2.0}), with_term, ALONE)
    objective.gradient(Z, DescentStep(80, 100, 1, {"density": 0.0}), without, ALONE)
    assert not np.allclose(with_term, without)
