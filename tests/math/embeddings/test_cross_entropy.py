"""One epoch of UMAP against a plain loop; the sampling of edges; the value; the same bits on any number of threads."""

import numpy as np
import pytest

from lowland.kernels import umap as kernels
from lowland.kernels.compile import kernel
from lowland.kernels.counter_random import draw, key_of
from lowland.math.embeddings.cross_entropy import CrossEntropy, DensityTerm, EdgeForces, log_radii
from lowland.math.embeddings.descent import DescentStep, RowBlocks
from lowland.math.embeddings.fuzzy_graph import fuzzy_graph
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.run import Run

RUN, ALONE = Run(), RowBlocks(None, 1)
A, B = 1.577, 0.895
X = np.random.default_rng(0).normal(size=(90, 4)) * np.linspace(0.2, 3, 90)[:, None]
NEAR = nearest_neighbors(X, 9, RUN)
GRAPH = fuzzy_graph(NEAR, RUN)
Z = (4 * np.random.default_rng(1).normal(size=(90, 2))).astype(np.float32)


def problem(n=120, epochs=200, seed=3, **forces):
    X = np.random.default_rng(0).normal(size=(n, 5))
    graph = fuzzy_graph(nearest_neighbors(X, 9, RUN), RUN)
    return CrossEntropy.of(graph, EdgeForces(A, B, seed=seed, **forces), epochs, 1.0)


def map_of(n=120, k=2, scale=3.0):
    return (scale * np.random.default_rng(1).normal(size=(n, k))).astype(np.float32)


def negatives_of(seed, epoch, row, count, n):
    key, drawn = np.uint64(key_of(seed, epoch, row)), []
    for slot in range(0, count, 2):
        bits = int(draw(key, slot))
        drawn += [(bits >> 32) * n >> 32, (bits & 0xFFFFFFFF) * n >> 32]
    return drawn[:count]


def plain_gradient(objective, Z, epoch):
    """The forces of one epoch, pair by pair, in float64."""
    graph, forces, n = objective.graph, objective.forces, len(Z)
    a, b, G = forces.a, forces.b, np.zeros(Z.shape)
    Z = Z.astype(np.float64)
    for i in range(n):
        sampled = 0
        for p in range(graph.start[i], graph.start[i + 1]):
            rate = graph.weight[p]
            if np.floor(rate * np.float32(epoch + 1)) > np.floor(rate * np.float32(epoch)):
                sampled += 1
                d = Z[i] - Z[graph.to[p]]
                d2 = d @ d
                G[i] += 2 * np.clip(2 * a * b * d2 ** (b - 1) / (1 + a * d2**b) * d, -4, 4)
        for j in negatives_of(forces.seed, epoch, i, forces.negatives * sampled, n):
            d = Z[i] - Z[j]
            d2 = d @ d
            G[i] -= np.clip(forces.gamma * 2 * b / ((0.001 + d2) * (1 + a * d2**b)) * d, -4, 4)
    return G


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize(("epoch", "gamma", "negatives"), [(7, 1.0, 5), (8, 0.3, 2)])
def test_one_epoch_is_the_sum_over_sampled_edges_and_negatives(k, epoch, gamma, negatives):
    objective, Z = problem(gamma=gamma, negatives=negatives), map_of(k=k)
    G = np.empty_like(Z)
    objective.gradient(Z, DescentStep(epoch, 200, 0, {"density": 0.0}), G, ALONE)
    np.testing.assert_allclose(G, plain_gradient(objective, Z, epoch), atol=2e-4)


def test_a_hub_with_more_edges_than_a_batch():
    n = 400
    X = np.r_[np.zeros((1, 2)), np.random.default_rng(0).normal(size=(n - 1, 2))]
    star = nearest_neighbors(X, 3, RUN)
    star.to.reshape(n, 3)[1:, 0] = 0  # everyone has row 0 as a neighbor
    objective = CrossEntropy.of(fuzzy_graph(star, RUN), EdgeForces(A, B), 200, 1.0)
    Z, G = map_of(n), np.empty((n, 2), np.float32)
    objective.gradient(Z, DescentStep(0, 200, 0, {"density": 0.0}), G, ALONE)
    np.testing.assert_allclose(G, plain_gradient(objective, Z, 0), atol=2e-3)


def test_an_edge_is_sampled_in_proportion_to_its_weight():
    rate = np.array([1.0, 0.5, 0.3, 0.01], np.float32)
    counts, targets = np.zeros(4, int), np.empty(kernels.BATCH, np.int32)
    for epoch in range(200):
        _, m = kernels.sampled_edges(np.arange(4, dtype=np.int32), rate, 0, 4, epoch, targets)
        counts[targets[:m]] += 1
    assert abs(counts - [200, 100, 60, 2]).max() <= 1


def test_edges_that_are_never_sampled_are_left_out():
    few, many = (problem(epochs=epochs).graph for epochs in (10, 500))
    assert few.weight.min() >= 0.1
    assert few.weight.max() == 1
    assert len(many.to) > len(few.to)


@kernel
def powers(x, b, m, out, scratch):
    kernels.powers(x, b, m, out, scratch)  # only kernels can call it


def test_powers():
    x = np.exp(np.linspace(-30, 20, kernels.BATCH)).astype(np.float32)
    out, scratch = np.empty(kernels.BATCH, np.float32), np.empty((2, kernels.BATCH), np.float32)
    for b in (0.5, 0.895, 1.0, 1.33):
        powers(x, np.float32(b), kernels.BATCH, out, scratch)
        np.testing.assert_allclose(out, x.astype(float) ** b, rtol=1e-5)


def test_the_value_is_the_cross_entropy():
    objective, Z = problem(negatives=0), map_of()
    W, D = objective.graph.matrix().toarray(), ((Z[:, None] - Z[None]).astype(np.float64) ** 2).sum(axis=2)
    step = DescentStep(0, 200, 0, {"density": 0.0})
    edges = (W * np.log1p(A * D**B)).sum() / len(Z)
    assert objective.value(Z, step, ALONE) == pytest.approx(edges, rel=1e-5)
    with_repulsion = problem(negatives=5)
    away = D + 0.001
    np.fill_diagonal(away, np.inf)
    repulsion = (W.sum(axis=1) * np.log1p(1 / (A * away**B)).sum(axis=1)).sum() / (len(Z) - 1)
    expected = edges + 5 / 2 * repulsion / len(Z)
    estimates = [with_repulsion.value(Z, DescentStep(t, 200, 0, {"density": 0.0}), ALONE) for t in range(30)]
    assert np.mean(estimates) == pytest.approx(expected, rel=0.02)


def test_rows_at_the_same_place_have_finite_forces():
    objective, Z = problem(), np.zeros((120, 2), np.float32)
    G = np.empty_like(Z)
    objective.gradient(Z, DescentStep(0, 200, 0, {"density": 0.0}), G, ALONE)
    np.testing.assert_array_equal(G, 0)


# --- densMAP ----------------------------------------------------------------------------------------------------------


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
