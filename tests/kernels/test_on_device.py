"""Kernels for devices agree with the array operations they replace, on CUDA or in Triton's interpreter."""

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if not (torch.cuda.is_available() or os.environ.get("TRITON_INTERPRET")):
    pytest.skip("no CUDA device; TRITON_INTERPRET=1 interprets the kernels", allow_module_level=True)

from lowland.math.embeddings import cross_entropy, descent, kl_divergence, pairs  # noqa: E402
from lowland.math.embeddings.cross_entropy import CrossEntropy, EdgeForces  # noqa: E402
from lowland.math.embeddings.descent import (  # noqa: E402
    Adam,
    DescentStep,
    Momentum,
    Phase,
    RowBlocks,
    descend,
)
from lowland.math.embeddings.fuzzy_graph import fuzzy_graph  # noqa: E402
from lowland.math.embeddings.kl_divergence import KLDivergence, gaussian_affinities, schedule  # noqa: E402
from lowland.math.embeddings.pairs import LocalAdjustment, PairForces, further_pairs, pair_phases  # noqa: E402
from lowland.math.embeddings.repulsion import GridRepulsion  # noqa: E402
from lowland.math.graphs import geodesics  # noqa: E402
from lowland.math.graphs.geodesics import geodesic_distances  # noqa: E402
from lowland.math.neighbors import torch_search  # noqa: E402
from lowland.math.neighbors.search import nearest_neighbors  # noqa: E402
from lowland.math.optimize.outcome import Outcome  # noqa: E402
from lowland.run.run import Run  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")  # the interpreter
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SERIAL = RowBlocks(None, 1)
RNG = np.random.default_rng(0)
N = 80
NEAR = nearest_neighbors(RNG.standard_normal((N, 4)), 20)
Z = torch.as_tensor((3 * RNG.standard_normal((N, 2))).astype(np.float32), device=DEVICE)
MODULES = (cross_entropy, descent, kl_divergence, pairs, torch_search)


@pytest.fixture
def on(monkeypatch):
    """Turn the kernels on or off."""

    def turn(with_kernels):
        for module in MODULES:
            monkeypatch.setattr(module, "has_kernels", lambda X: with_kernels)

    return turn


def both_gradients(objective, step, on):
    found = []
    for with_kernels in (True, False):
        on(with_kernels)
        found.append(torch.full_like(Z, float("nan")))
        objective.gradient(Z, step, found[-1], SERIAL)
    return found


@pytest.mark.parametrize("epoch", [0, 1, 97])
def test_the_forces_of_an_epoch_with_the_same_random_rows(on, epoch):
    objective = CrossEntropy.of(fuzzy_graph(NEAR, Run()), EdgeForces(1.5, 0.9, 1.0, 5, 2**31 - 7), 100, 1.0)
    G, T = both_gradients(objective.on_device(Z), DescentStep(epoch, 100, 0, {"density": 0.0}), on)
    assert G.abs().max() > 1
    torch.testing.assert_close(G, T, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("iteration", [0, 3])
def test_the_forces_of_pairs(on, iteration):
    phases, near = pair_phases((2, 0, 10), 1.0), pairs.Pairs(NEAR.start, NEAR.to)
    local = LocalAdjustment(10.0, 2, near, 0)
    further = further_pairs(near, 30, 0, Run())
    objective = PairForces(near, further, further, phases, local).on_device(Z)
    objective.redraw = None
    weights = {"neighbors": 2.0, "mid_near": 1000.0, "further": 1.0}
    G, T = both_gradients(objective, DescentStep(iteration, 12, 0, weights), on)
    torch.testing.assert_close(G, T, atol=1e-4, rtol=1e-4)


def test_the_gradient_of_the_divergence(on):
    P = gaussian_affinities(NEAR, 8)
    objective = KLDivergence(P, GridRepulsion(0.8), schedule((1, 1), (12, 1), (1, 1), 300, 0.8), 0.8).on_device(Z)
    G, T = both_gradients(objective, DescentStep(0, 1, 0, {"exaggeration": 1.5}), on)
    torch.testing.assert_close(G, T, atol=1e-6, rtol=1e-3)


class Bowl:
    name = "bowl"

    def __init__(self, rule):
        self.phases = [Phase(7, rule, 0.5)]

    def gradient(self, Z, step, G, blocks):
        G[:] = Z**3

    def value(self, Z, step, blocks):
        return float((Z**4).sum() / 4)


@pytest.mark.parametrize("rule", [Momentum(longest=2.0), Adam()])
def test_the_steps_of_a_descent(on, rule):
    found = []
    for with_kernels in (True, False):
        on(with_kernels)
        found.append(descend(Bowl(rule), Z.clone(), Run(), solver=Outcome("", "")))
    torch.testing.assert_close(found[0].Z, found[1].Z, atol=1e-5, rtol=1e-4)
    assert found[0].gradient_norm == pytest.approx(found[1].gradient_norm, rel=1e-4)


@pytest.mark.parametrize(("d", "k", "metric"), [(3, 2, "euclidean"), (70, 1, "cosine")])
def test_the_neighbors(on, d, k, metric):
    X = torch.as_tensor(RNG.standard_normal((3000, d)).astype(np.float32), device=DEVICE)
    X[100:105], X[7] = X[0].clone(), 1e6  # equal points, and one so far away that the others lose their digits
    rows = np.arange(0, 3000, 40)
    found = []
    for with_kernels in (True, False):
        on(with_kernels)
        found.append(torch_search.TorchSearch(X, metric).nearest(k, Run(), rows=rows))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_shortest_paths(monkeypatch, dtype):
    graph = NEAR.nearest(3).symmetric()
    here = geodesic_distances(graph, dtype=dtype)
    monkeypatch.setattr(geodesics, "has_kernels", lambda X: True)
    there = geodesic_distances(graph, dtype=dtype, home=Z)
    np.testing.assert_array_equal(there.cpu().numpy(), here)
