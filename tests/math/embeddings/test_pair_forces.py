import numpy as np
import pytest

from lowland.math.embeddings.descent import DescentStep, descend
from lowland.math.embeddings.pair_forces import LocalAdjustment, PairForces, pair_phases
from lowland.math.embeddings.pairs import Pairs, further_pairs
from lowland.math.embeddings.row_blocks import Together
from lowland.math.optimize.outcome import Outcome
from lowland.run.local import LocalRun
from lowland.run.settings import Settings

N = 700  # two blocks of rows
RNG = np.random.default_rng(0)
ALONE = Together(None, 1)
WEIGHTS = {"neighbors": 2.0, "mid_near": 700.0, "further": 1.5}


def run(threads=1):
    return LocalRun(Settings(threads=threads, progress=False))


def some_pairs(count, seed):
    rng = np.random.default_rng(seed)
    return Pairs.of_table((np.arange(N)[:, None] + rng.integers(1, N, (N, count))) % N)


NEAR, MID = some_pairs(4, 1), some_pairs(2, 2)
FAR = further_pairs(NEAR, 6, 0, run())
ADJUSTED = LocalAdjustment(radius=6.0, after=200, neighbors=NEAR, seed=3)


def forces(local=None, iterations=(5, 5, 20)):
    return PairForces(NEAR, MID, FAR, pair_phases(iterations, 1.0), local)


def step(iteration=0, weights=WEIGHTS):
    return DescentStep(iteration, 450, 0, weights)


def by_loops(Z, far=FAR, local=None):
    """The gradient, pair by pair: both ends of a pair move."""
    G = np.zeros(Z.shape)
    for pairs, c, w in ((NEAR, 10.0, 2.0), (MID, 1e4, 700.0), (far, 1.0, -1.5)):
        for i in range(N):
            for j in pairs.to[pairs.start[i] : pairs.start[i + 1]]:
                D = 1 + ((Z[i] - Z[j]) ** 2).sum()
                f = 2 * w * c / (c + D) ** 2 * (Z[i] - Z[j])
                if local is not None and pairs is NEAR:
                    f *= local / 2 / np.sqrt(D)
                G[i] += f
                G[j] -= f
    return G


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("local", [None, ADJUSTED])
def test_the_gradient_is_the_sum_of_the_forces_on_both_ends(k, local):
    Z = (3 * RNG.standard_normal((N, k))).astype(np.float32)
    G = np.empty_like(Z)
    forces(local).gradient(Z, step(201), G, ALONE)
    truth = by_loops(Z.astype(float), local=None if local is None else 6.0)
    np.testing.assert_allclose(G, truth, atol=2e-6 * np.abs(truth).max())


@pytest.mark.parametrize("local", [None, ADJUSTED])
def test_the_gradient_is_the_derivative_of_the_value(local):
    objective, at, h = forces(local), step(201), 1e-5
    Z = 3 * RNG.standard_normal((N, 3))
    G = np.empty_like(Z)
    objective.gradient(Z, at, G, ALONE)
    for i, c in ((0, 0), (5, 2), (699, 1)):
        E = np.zeros_like(Z)
        E[i, c] = h
        slope = (objective.value(Z + E, at, ALONE) - objective.value(Z - E, at, ALONE)) / (2 * h)
        assert slope == pytest.approx(G[i, c], rel=1e-5)


def test_the_value_is_the_objective():
    Z = 3 * RNG.standard_normal((N, 2))
    total = 0.0
    for pairs, term in (
        (NEAR, lambda D: 2 * D / (10 + D)),
        (MID, lambda D: 700 * D / (1e4 + D)),
        (FAR, lambda D: 1.5 / (1 + D)),
    ):
        heads = np.repeat(np.arange(N), np.diff(pairs.start))
        total += term(1 + ((Z[heads] - Z[pairs.to]) ** 2).sum(axis=1)).sum()
    assert forces().value(Z, step(), ALONE) == pytest.approx(total)


def test_the_schedule():
    first, second, third = pair_phases((100, 100, 250), 0.5)
    assert (first.iterations, second.iterations, third.iterations) == (100, 100, 250)
    assert first.weights == {"neighbors": 2, "mid_near": 1000, "further": 1}
    assert first.weights_end == {"mid_near": 3}
    assert second.weights == {"neighbors": 3, "mid_near": 3, "further": 1}
    assert third.weights == {"neighbors": 1, "mid_near": 0, "further": 1}
    assert second.rate == 0.5
    assert second.keeps_state


def test_further_pairs_are_drawn_again_within_the_radius():
    Z = (4 * RNG.standard_normal((N, 2))).astype(np.float32)
    objective = forces(ADJUSTED)
    G = np.empty_like(Z)
    for iteration in (0, 200, 201, 210):
        objective.gradient(Z, step(iteration), G, ALONE)
        np.testing.assert_array_equal(objective.further.to, FAR.to)
    objective.gradient(Z, step(211), G, ALONE)
    drawn = objective.further.to.copy()
    heads = np.repeat(np.arange(N), np.diff(FAR.start))
    gaps = np.linalg.norm(Z[heads] - Z[drawn], axis=1)
    kept = drawn == FAR.to
    assert np.all(gaps[~kept] <= 6.0)
    assert np.mean(kept) < 0.05  # those that found no row near
    for i in range(N):
        own = drawn[FAR.start[i] : FAR.start[i + 1]]
        new = own[~kept[FAR.start[i] : FAR.start[i + 1]]]
        assert not set(new) & ({i} | set(NEAR.to[NEAR.start[i] : NEAR.start[i + 1]]))
        assert len(set(new)) == len(new)
    np.testing.assert_allclose(G, by_loops(Z.astype(float), objective.further, local=6.0), atol=1e-5 * np.abs(G).max())
    objective.gradient(Z, step(221), G, ALONE)
    assert np.mean(objective.further.to == drawn) < 0.2  # other draws


def test_a_row_alone_keeps_its_further_pairs():
    Z = np.zeros((N, 2), dtype=np.float32)
    Z[0] = 1e3
    objective = forces(ADJUSTED)
    objective.gradient(Z, step(211), np.empty_like(Z), ALONE)
    np.testing.assert_array_equal(objective.further.to[: FAR.start[1]], FAR.to[: FAR.start[1]])


@pytest.mark.parametrize("local", [None, LocalAdjustment(6.0, 10, NEAR, 3)])
def test_bits_do_not_depend_on_the_threads(local):
    start = (0.01 * np.random.default_rng(4).standard_normal((N, 2))).astype(np.float32)
    found = [
        descend(forces(local, (5, 5, 30)), start.copy(), run(threads), solver=Outcome("Adam", "a test"))
        for threads in (1, 2, 16)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(other.Z, found[0].Z)
        assert other.value == found[0].value
