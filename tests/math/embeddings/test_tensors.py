"""Objectives on a device agree with those on the host."""

import itertools

import numpy as np
import pytest
import scipy.sparse

from lowland.math.embeddings import kl_divergence
from lowland.math.embeddings.cross_entropy import CrossEntropy, DensityTerm, EdgeForces, log_radii
from lowland.math.embeddings.descent import DescentStep, RowBlocks
from lowland.math.embeddings.fuzzy_graph import fuzzy_graph
from lowland.math.embeddings.kl_divergence import (
    Anchor,
    KLDivergence,
    gaussian_affinities,
    plus_transpose,
    schedule,
)
from lowland.math.embeddings.pairs import LocalAdjustment, PairForces, further_pairs, given_pairs, pair_phases
from lowland.math.embeddings.repulsion import ExactRepulsion, GridRepulsion
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.run import Run

torch = pytest.importorskip("torch")
SERIAL = RowBlocks(None, 1)
RNG = np.random.default_rng(0)
N = 300
NEAR = nearest_neighbors(RNG.standard_normal((N, 4)), 9)
GRAPH = fuzzy_graph(NEAR, Run())
Z = (3 * RNG.standard_normal((N, 2))).astype(np.float32)
STEP = DescentStep(0, 1, 0, {"exaggeration": 1.5})
X = RNG.standard_normal((600, 6))
P = gaussian_affinities(nearest_neighbors(X, 30), 10)
N_PAIRED = 400


# --- edges ------------------------------------------------------------------------------------------------------------


# --- cross-entropy ----------------------------------------------------------------------------------------------------


def both(gamma=1.0, density=None):
    host = CrossEntropy.of(GRAPH, EdgeForces(1.5, 0.9, gamma, 5, 7), 100, 1.0, density)
    return host, host.on_device(torch.as_tensor(Z))


def gradients(host, device, epoch, strength=0.0):
    step = DescentStep(epoch, 100, 0, {"density": strength})
    G, T = np.empty_like(Z), torch.empty(N, 2)
    host.gradient(Z, step, G, SERIAL)
    device.gradient(torch.as_tensor(Z), step, T, SERIAL)
    return G, T.numpy()


@pytest.mark.parametrize("epoch", [0, 7, 98])
def test_without_repulsion_the_forces_are_those_of_the_host(epoch):
    G, T = gradients(*both(gamma=0.0), epoch)
    np.testing.assert_allclose(T, G, atol=2e-4)
    assert np.abs(G).max() > 1


def test_the_repulsion_is_that_of_the_host_on_average():
    host, device = both()
    pairs = [gradients(host, device, epoch) for epoch in range(100)]
    mean, other = (np.mean(each, axis=0) for each in zip(*pairs, strict=True))
    noise = np.std([G - T for G, T in pairs]) / 10
    assert np.abs(mean - other).std() < 3 * noise
    assert abs(float((mean - other).mean())) < 4 * noise / np.sqrt(2 * N)


@pytest.mark.parametrize("n", [12, N])
def test_the_value_is_that_of_the_host_on_average(n):
    """A row does not repel itself: at distance zero, that would be the largest term."""
    graph, places = fuzzy_graph(nearest_neighbors(Z[:n], 5), Run()), Z[:n]
    values = []
    for seed in range(30):
        host = CrossEntropy.of(graph, EdgeForces(1.5, 0.9, 1.0, 5, seed), 100, 1.0)
        device, step = host.on_device(torch.as_tensor(places)), DescentStep(seed, 100, 0, {"density": 0.0})
        values.append((host.value(places, step, SERIAL), device.value(torch.as_tensor(places), step, SERIAL)))
    host, device = np.transpose(values)
    assert abs(device.mean() - host.mean()) < 4 * (device - host).std() / np.sqrt(30)


def test_draws_are_uniform_and_depend_on_seed_draw_and_item_alone():
    _, device = both()
    items = torch.arange(20_000)
    drawn = device._drawn(3, items, 10).numpy()
    counts = np.bincount(drawn, minlength=10)
    assert ((counts - 2000) ** 2 / 2000).sum() < 30
    assert (device._drawn(3, items[5:9], 10).numpy() == drawn[5:9]).all()
    assert (device._drawn(4, items, 1000) != device._drawn(3, items, 1000)).float().mean() > 0.9


def test_the_density_term_is_that_of_the_host():
    term = DensityTerm(log_radii(GRAPH, NEAR), 1.5, 0.9, float(GRAPH.weight.sum()))
    host, device = both(gamma=0.0, density=term)
    G, T = gradients(host, device, 80, strength=2.0)
    plain, _ = gradients(host, device, 80)
    assert np.abs(G - plain).max() > 1e-3
    np.testing.assert_allclose(T, G, atol=1e-3 * np.abs(G).max())
    step = DescentStep(80, 100, 0, {"density": 2.0})
    assert device.value(torch.as_tensor(Z), step, SERIAL) == pytest.approx(host.value(Z, step, SERIAL), rel=0.05)


# --- KL divergence ----------------------------------------------------------------------------------------------------


def both_divergences(k, dof=1.0, anchor=None, size=8.0, exact=False):
    """The exact sum on the host; on tensors the same, or a grid in two dimensions."""
    Z = (size * RNG.standard_normal((600, k))).astype(np.float32)
    host = KLDivergence(P, ExactRepulsion(dof), schedule((1, 1), (12, 1), (1, 1), 300, dof), dof, anchor)
    fast = host if exact else KLDivergence(P, GridRepulsion(dof), host.phases, dof, anchor)
    return host, fast.on_device(torch.as_tensor(Z)), Z


@pytest.mark.parametrize(
    ("k", "dof", "exact", "within"),
    [
        (2, 1.0, False, 0.02),
        (2, 0.6, False, 0.02),
        (2, 1.0, True, 1e-4),
        (2, 0.6, True, 1e-4),
        (1, 1.0, False, 1e-4),
        (3, 1.0, False, 1e-4),
    ],
)
def test_the_gradient_and_the_value_are_those_of_the_host(k, dof, exact, within):
    host, device, Z = both_divergences(k, dof, exact=exact)
    G, T = np.empty_like(Z), torch.empty(600, k)
    host.gradient(Z, STEP, G, SERIAL)
    device.gradient(torch.as_tensor(Z), STEP, T, SERIAL)
    assert np.linalg.norm(T.numpy() - G) <= within * np.linalg.norm(G)
    assert device.value(torch.as_tensor(Z), STEP, SERIAL) == pytest.approx(host.value(Z, STEP, SERIAL), rel=1e-3)


def test_an_anchor_moves_along():
    host, device, Z = both_divergences(2, anchor=Anchor(RNG.standard_normal((600, 2)), 0.3))
    G, T = np.empty_like(Z), torch.empty(600, 2)
    host.gradient(Z, STEP, G, SERIAL)
    device.gradient(torch.as_tensor(Z), STEP, T, SERIAL)
    assert np.linalg.norm(T.numpy() - G) <= 0.02 * np.linalg.norm(G)
    assert device.name == host.name


def test_the_same_bits_every_time():
    _, device, Z = both_divergences(2)
    first, second = torch.empty(600, 2), torch.empty(600, 2)
    device.gradient(torch.as_tensor(Z), STEP, first, SERIAL)
    device.gradient(torch.as_tensor(Z), STEP, second, SERIAL)
    assert torch.equal(first, second)


# --- pairs ------------------------------------------------------------------------------------------------------------


def pairs(m):
    P = RNG.integers(0, N_PAIRED, (m, 2))
    return given_pairs(P[P[:, 0] != P[:, 1]], N_PAIRED)


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("iteration", [5, 201, 212])
def test_the_gradient_and_the_value_are_those_of_the_host_for_pairs(local, iteration):
    near, mid = pairs(3000), pairs(2000)
    far = further_pairs(near, 8, 0, Run())
    adjustment = LocalAdjustment(10.0, 200, near, 3) if local else None
    host = PairForces(near, mid, far, pair_phases((100, 100, 250), 1.0), adjustment)
    other = PairForces(near, mid, far, pair_phases((100, 100, 250), 1.0), adjustment)
    Z = (5 * RNG.standard_normal((N_PAIRED, 2))).astype(np.float32)
    device = other.on_device(torch.as_tensor(Z))
    step = DescentStep(iteration, 450, 2, {"neighbors": 2.0, "mid_near": 3.0, "further": 1.0})
    G, T = np.empty_like(Z), torch.empty(N_PAIRED, 2)
    host.gradient(Z, step, G, SERIAL)
    device.gradient(torch.as_tensor(Z), step, T, SERIAL)
    np.testing.assert_allclose(T.numpy(), G, atol=1e-4 * np.abs(G).max())
    assert device.value(torch.as_tensor(Z), step, SERIAL) == pytest.approx(host.value(Z, step, SERIAL), rel=1e-4)


def test_affinities_are_added_to_their_transpose():
    C = NEAR.matrix(RNG.uniform(size=len(NEAR.to)))
    edges, values = plus_transpose(C, torch.as_tensor(Z))
    found = scipy.sparse.csr_array(tuple(each.numpy() for each in (values, edges.to, edges.start)), shape=C.shape)
    np.testing.assert_array_equal(found.toarray(), (C + C.T).toarray())


def test_affinities_on_a_device_are_those_of_the_host(monkeypatch):
    monkeypatch.setattr(kl_divergence, "has_kernels", lambda home: home is not None)
    there = gaussian_affinities(NEAR, 4.0, home=torch.as_tensor(Z))
    monkeypatch.undo()
    here = gaussian_affinities(NEAR, 4.0)
    assert there.shape == here.shape
    np.testing.assert_array_equal(there.edges.start.numpy(), here.indptr)
    np.testing.assert_array_equal(there.edges.to.numpy(), here.indices)
    np.testing.assert_allclose(there.p.numpy(), here.data, rtol=1e-12)


@pytest.mark.parametrize("few", [500, 10_000])
def test_the_check_of_a_divergence_is_that_of_the_host(few, monkeypatch):
    monkeypatch.setattr(kl_divergence, "_CHECKED", few)
    host, device, Z = both_divergences(2)
    for one, other in zip(
        device.checked_divergence(torch.as_tensor(Z), SERIAL), host.checked_divergence(Z, SERIAL), strict=True
    ):
        assert one == pytest.approx(other, abs=0.02)


def test_each_pair_is_listed_at_both_rows():
    some = further_pairs(pairs(50), 7, 0, Run())
    host, device = some.at_both_ends(), some.edges_at_both_ends(torch.as_tensor(Z))
    np.testing.assert_array_equal(host.start, device.start.numpy())
    for a, b in itertools.pairwise(host.start):
        assert sorted(host.to[a:b]) == sorted(device.to.numpy()[a:b])
