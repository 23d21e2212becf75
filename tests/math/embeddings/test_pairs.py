import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist

from lowland.errors import DataError
from lowland.kernels.pacmap import draw_candidates
from lowland.math.embeddings.descent import DescentStep, RowBlocks
from lowland.math.embeddings.pairs import (
    LocalAdjustment,
    PairCounts,
    PairForces,
    Pairs,
    further_pairs,
    given_pairs,
    local_scales,
    mid_near_pairs,
    pair_phases,
    scaled_neighbors,
)
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.run import Run
from lowland.run.settings import Settings

X = np.random.default_rng(0).standard_normal((3000, 4)).astype(np.float32)  # two tasks of rows
FEW = X[:80]
N = 700  # two blocks of rows
RNG = np.random.default_rng(0)
ALONE = RowBlocks(None, 1)
WEIGHTS = {"neighbors": 2.0, "mid_near": 700.0, "further": 1.5}


def run(threads=1):
    return Run(Settings(threads=threads, progress=False))


def rows_of(pairs):
    return np.split(pairs.to, pairs.start[1:-1])


def test_neighbors_have_the_smallest_scaled_distances():
    graph = nearest_neighbors(FEW, 60, run())
    scales = local_scales(graph)
    D = cdist(FEW.astype(float), FEW.astype(float))
    near = np.argsort(D, axis=1, kind="stable")[:, 1:61]
    sigma = np.take_along_axis(D, near[:, 3:6], axis=1).mean(axis=1)
    np.testing.assert_allclose(scales, sigma, rtol=1e-6)
    scaled = D**2 / np.outer(sigma, sigma)
    for i, chosen in enumerate(rows_of(scaled_neighbors(graph, scales, 10, run()))):
        assert list(chosen) == list(near[i][np.argsort(scaled[i, near[i]], kind="stable")[:10]])


def test_a_mid_near_row_is_the_second_nearest_of_six():
    pairs = mid_near_pairs(X, 5, 7, run())
    drawn = np.empty((3000, 30), dtype=np.int32)
    draw_candidates(3000, 7, 6, 0, 3000, drawn)
    groups = drawn.reshape(3000, 5, 6)
    assert all(len(set(six)) == 6 and i not in six for i, five in enumerate(groups) for six in five.tolist())
    D = np.linalg.norm(X[:, None, None].astype(float) - X[groups].astype(float), axis=-1)
    second = np.take_along_axis(groups, np.argsort(D, axis=2)[:, :, 1:2], axis=2)[:, :, 0]
    np.testing.assert_array_equal(pairs.to.reshape(3000, 5), second)


def test_random_rows_are_drawn_evenly():
    drawn = np.empty((3000, 30), dtype=np.int32)
    draw_candidates(3000, 3, 6, 0, 3000, drawn)
    counts = np.bincount(drawn.ravel() // 300, minlength=10)
    assert np.abs(counts - 9000).max() < 5 * np.sqrt(9000)


@pytest.mark.parametrize("metric", ["canberra", "precomputed", "sparse"])
def test_mid_near_rows_of_other_metrics_are_the_second_nearest_too(metric):
    D = cdist(FEW, FEW, "canberra" if metric == "canberra" else "euclidean")
    rows = {"precomputed": D, "sparse": scipy.sparse.csr_array(FEW)}.get(metric, FEW)
    pairs = mid_near_pairs(rows, 3, 1, run(), "euclidean" if metric == "sparse" else metric)
    drawn = np.empty((80, 18), dtype=np.int32)
    draw_candidates(80, 1, 6, 0, 80, drawn)
    groups = drawn.reshape(80, 3, 6)
    order = np.argsort(D[np.arange(80)[:, None, None], groups], axis=2)[:, :, 1:2]
    np.testing.assert_array_equal(pairs.to.reshape(80, 3), np.take_along_axis(groups, order, axis=2)[:, :, 0])


def test_further_rows_are_distinct_and_no_neighbors():
    near = scaled_neighbors(nearest_neighbors(X, 30, run()), np.ones(3000), 10, run())
    far = further_pairs(near, 20, 5, run())
    for i, (neighbors, others) in enumerate(zip(rows_of(near), rows_of(far), strict=True)):
        assert len(set(others)) == 20
        assert not set(others) & ({i} | set(neighbors))


def test_few_rows_have_as_many_further_rows_as_there_are():
    near = given_pairs([[0, 1], [0, 2], [0, 1], [1, 0], [2, 3], [3, 2]], 5)
    far = further_pairs(near, 20, 0, run())
    assert [sorted(each) for each in rows_of(far)] == [[3, 4], [2, 3, 4], [0, 1, 4], [0, 1, 4], [0, 1, 2, 3]]


def test_pairs_do_not_depend_on_the_threads():
    graph = nearest_neighbors(X, 30, run())
    for of in (
        lambda r: scaled_neighbors(graph, local_scales(graph), 10, r),
        lambda r: mid_near_pairs(X, 5, 2, r),
        lambda r: further_pairs(scaled_neighbors(graph, local_scales(graph), 10, r), 20, 2, r),
    ):
        np.testing.assert_array_equal(of(run()).to, of(run(3)).to)


def test_each_pair_is_listed_at_both_rows():
    pairs = further_pairs(Pairs.of_table(np.arange(80)[:, None] ^ 1), 6, 0, run())
    both = pairs.at_both_ends()
    heads = np.repeat(np.arange(80), np.diff(pairs.start))
    expected = sorted([*zip(heads, pairs.to, strict=True), *zip(pairs.to, heads, strict=True)])
    found = np.repeat(np.arange(80), np.diff(both.start))
    assert sorted(zip(found, both.to, strict=True)) == expected


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (np.zeros((3, 3), dtype=int), r"shape \(3, 3\)"),
        (np.zeros(4, dtype=int), r"shape \(4,\)"),
        (np.zeros((0, 2), dtype=int), r"shape \(0, 2\)"),
        (np.array([[0.0, 1.0]]), "float64.*integers"),
        (np.array([[0, 5]]), "row number 5.*0 to 4"),
        (np.array([[-1, 2]]), "row number -1"),
        (np.array([[0, 1], [3, 3]]), "Pair 1 joins row 3 to itself"),
    ],
)
def test_wrong_pairs_are_refused(pairs, words):
    with pytest.raises(DataError, match=words):
        given_pairs(pairs, 5)


def test_counts_follow_the_number_of_rows():
    assert PairCounts.of(1797, 10, 0.5, 2.0) == PairCounts(10, 5, 20)
    assert PairCounts.of(10_000, None, 0.5, 2.0) == PairCounts(10, 5, 20)
    assert PairCounts.of(60_000, None, 0.5, 2.0) == PairCounts(22, 11, 44)
    assert PairCounts.of(20, 10, 0.5, 2.0) == PairCounts(5, 2, 11)
    assert PairCounts.of(4, None, 0.5, 2.0) == PairCounts(1, 0, 2)


# --- forces -----------------------------------------------------------------------------------------------------------


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
    Z = 3 * RNG.standard_normal((N, 3))
    total = 0.0
    for pairs, term in (
        (NEAR, lambda D: 2 * D / (10 + D)),
        (MID, lambda D: 700 * D / (1e4 + D)),
        (FAR, lambda D: 1.5 / (1 + D)),
    ):
        heads = np.repeat(np.arange(N), np.diff(pairs.start))
        total += term(1 + ((Z[heads] - Z[pairs.to]) ** 2).sum(axis=1)).sum()
    assert forces().value(Z, step(), ALONE) == pytest.approx(total)


def test_the_schedule_is_that_of_pacmap():
    first, second, third = pair_phases((100, 100, 250), 0.5)
    assert [phase.iterations for phase in (first, second, third)] == [100, 100, 250]
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
