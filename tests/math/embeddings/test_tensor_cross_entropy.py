import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lowland.math.embeddings.cross_entropy import CrossEntropy, EdgeForces  # noqa: E402
from lowland.math.embeddings.densities import DensityTerm, log_radii  # noqa: E402
from lowland.math.embeddings.descent import DescentStep  # noqa: E402
from lowland.math.embeddings.fuzzy_graph import fuzzy_graph  # noqa: E402
from lowland.math.embeddings.row_blocks import Together  # noqa: E402
from lowland.math.neighbors.search import nearest_neighbors  # noqa: E402
from lowland.run.local import LocalRun  # noqa: E402

SERIAL = Together(None, 1)
RNG = np.random.default_rng(0)
N = 300
NEAR = nearest_neighbors(RNG.standard_normal((N, 4)), 9)
GRAPH = fuzzy_graph(NEAR, LocalRun())
Z = (3 * RNG.standard_normal((N, 2))).astype(np.float32)


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
    graph, places = fuzzy_graph(nearest_neighbors(Z[:n], 5), LocalRun()), Z[:n]
    values = []
    for seed in range(60):
        host = CrossEntropy.of(graph, EdgeForces(1.5, 0.9, 1.0, 5, seed), 100, 1.0)
        device, step = host.on_device(torch.as_tensor(places)), DescentStep(seed, 100, 0, {"density": 0.0})
        values.append((host.value(places, step, SERIAL), device.value(torch.as_tensor(places), step, SERIAL)))
    host, device = np.transpose(values)
    assert abs(device.mean() - host.mean()) < 4 * (device - host).std() / np.sqrt(60)


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
