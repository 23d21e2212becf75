"""Neighborhood measures: definitions in plain numpy, scikit-learn, invariants, samples, and invalid input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.spatial.distance import cdist
from sklearn.manifold import trustworthiness as theirs

import lowland
from lowland import quality
from lowland.data import load_dataset
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.math.neighbors import ranks as blocks
from lowland.math.neighbors.ranks import PointSet, ShuffledPoints
from lowland.quality.original_space import OriginalSpace
from lowland.run.run import Run


def exact_powers(X):
    """Squared distances, summed over the columns in their order as all kernels do."""
    X = np.asarray(X, dtype=np.float64)
    D = np.zeros((len(X), len(X)))
    for column in X.T:
        D += (column[:, None] - column[None, :]) ** 2
    return D


def rank_twin(X, around=False):
    """Which neighbor of row i point j is, the row itself 0; ties by index, or by the cyclic order after the row."""
    D, n = exact_powers(X), len(X)
    ranks = np.zeros((n, n), dtype=int)
    for i in range(n):
        others = [j for j in np.lexsort(((np.arange(n) - i * around) % n, D[i])) if j != i]
        ranks[i, others] = np.arange(1, n)
    return ranks


def shuffled_twin(Z):
    """The same for an embedding, whose points are shuffled first."""
    points = ShuffledPoints.of(PointSet(Z)).points
    ranks = np.empty((len(Z), len(Z)), dtype=int)
    ranks[np.ix_(points, points)] = rank_twin(Z[points], around=True)
    return ranks


def trust_twin(rho, r, k):
    near, n = (r <= k) & (r > 0), len(r)
    return 1 - 2 / (n * k * (2 * n - 3 * k - 1)) * np.maximum(rho - k, 0)[near].sum()


def rank_error_twin(rho, r, k):
    near, n = (r <= k) & (r > 0), len(r)
    worst = n * sum(abs(n - 2 * j) / j for j in range(1, k + 1))
    return (np.abs(rho - r)[near] / r[near]).sum() / worst


@pytest.fixture(scope="module")
def cloud():
    X = np.random.default_rng(0).standard_normal((300, 20)) * np.linspace(3, 0.3, 20)
    return X, X[:, :2] + 0.2 * np.sin(X[:, 2:4])


# --- ranks


@pytest.mark.parametrize(
    ("d", "kind", "lattice"),
    [(2, np.float64, False), (2, np.float32, True), (17, np.float64, True), (17, np.float32, False)],
)
def test_ranks_by_counting_agree_with_sorting(kind, d, lattice, monkeypatch):
    monkeypatch.setattr(blocks, "_TILE", 64)  # several products, and a last one that is smaller
    rng = np.random.default_rng(d)
    X = (rng.integers(0, 3, (150, d)) if lattice else rng.standard_normal((150, d)) + 5).astype(kind)
    X[100:110] = X[:10]  # duplicates
    targets = rng.integers(0, 149, (150, 6))
    targets += targets >= np.arange(150)[:, None]  # not the row itself
    run, rows = Run(), np.array([3, 149, 40, 105])
    for around in (False, True):
        side, ranks = PointSet(X, around=around), rank_twin(X, around)
        expected = np.take_along_axis(ranks, targets, axis=1)
        np.testing.assert_array_equal(side.ranks(targets, run), expected)
        np.testing.assert_array_equal(side.ranks(targets[rows], run, rows), expected[rows])
        np.testing.assert_array_equal(side.all_ranks(rows), ranks[rows])
        with lowland.config(threads=1):
            np.testing.assert_array_equal(side.ranks(targets, Run()), expected)


@pytest.mark.parametrize(
    ("d", "kind", "lattice"),
    [(3, np.float64, True), (3, np.float32, False), (30, np.float64, False), (30, np.float32, True)],
)
def test_ranks_and_nearest_from_products_agree_with_sorting(d, kind, lattice, monkeypatch):
    """Columns that are the same in all points, with ties and duplicates, also where candidates cannot decide."""
    monkeypatch.setattr(blocks, "_TILE", 64)
    rng = np.random.default_rng(d)
    X = (rng.integers(0, 2, (150, d)) if lattice else rng.standard_normal((150, d)) - 7).astype(kind)
    X[:, 1], X[100:130] = 0.1, X[50]
    targets = (np.arange(150)[:, None] + [1, 50, 75]) % 150
    for around in (False, True):
        ranks = rank_twin(X, around)
        near = np.argsort(np.where(ranks == 0, 1000, ranks), axis=1)[:, :5]
        for rows in (None, np.array([149, 3, 105])):
            chosen = slice(None) if rows is None else rows
            found = PointSet(X, around=around).ranks_and_nearest(targets[chosen], 5, Run(), rows)
            np.testing.assert_array_equal(found[0], np.take_along_axis(ranks, targets, axis=1)[chosen])
            np.testing.assert_array_equal(found[1], near[chosen])


@pytest.mark.parametrize("k", [1, 59])
def test_a_shuffled_side_breaks_ties_in_its_own_order(k, rng, monkeypatch):
    X = rng.integers(0, 3, (60, 2)).astype(float)
    expected, run, rows = shuffled_twin(X), Run(), np.array([50, 2, 31])
    near = np.argsort(np.where(expected == 0, 1000, expected), axis=1)[:, :k]
    for threads in (1, 3):
        with lowland.config(threads=threads):
            side = ShuffledPoints.of(PointSet(X))
            np.testing.assert_array_equal(side.nearest(k, run), near)
            np.testing.assert_array_equal(side.nearest(k, run, rows), near[rows])
            np.testing.assert_array_equal(side.ranks(near, run), np.tile(np.arange(1, k + 1), (60, 1)))
            np.testing.assert_array_equal(side.ranks(near[rows], run, rows), np.tile(np.arange(1, k + 1), (3, 1)))
            np.testing.assert_array_equal(side.order(rows)[:, :k], near[rows])
        monkeypatch.setattr(blocks, "_PAIRS", 180)  # three rows at a time


def test_products_that_cannot_decide_fall_back_to_comparisons():
    """One row so far away that the others are equal after rounding, in float32 and float64."""
    rng = np.random.default_rng(0)
    for far in (1e6, 1e14):
        X = rng.standard_normal((120, 20))
        X[7] = far
        targets = (np.arange(120)[:, None] + [1, 5]) % 120
        expected = np.take_along_axis(rank_twin(X), targets, axis=1)
        np.testing.assert_array_equal(PointSet(X).ranks(targets, Run()), expected)


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "hamming", "precomputed", lambda a, b: abs(a - b).max()])
def test_ranks_in_any_metric(metric, rng):
    X = rng.standard_normal((40, 18))
    names = {"manhattan": "cityblock", "precomputed": "euclidean"}
    D = cdist(X, X, metric if callable(metric) else names.get(metric, metric))
    side = PointSet(cdist(X, X) if metric == "precomputed" else X, metric)
    targets = side.nearest(3, Run())
    expected = np.argsort(np.where(np.eye(40, dtype=bool), np.inf, D), axis=1, kind="stable")[:, :3]
    np.testing.assert_array_equal(targets, expected)
    np.testing.assert_array_equal(side.ranks(targets, Run()), np.tile([1, 2, 3], (40, 1)))
    np.testing.assert_allclose(side.distances(np.arange(40)), D, atol=1e-12)


# --- definitions


@pytest.mark.parametrize(("d", "kind"), [(3, np.float64), (40, np.float32)])
def test_trustworthiness_agrees_with_scikit_learn(d, kind, rng):
    X = rng.standard_normal((400, d)).astype(kind)
    Z = X[:, :2].copy()
    for k in (1, 5, 50):
        expected = theirs(X.astype(np.float64), Z, n_neighbors=k)
        assert quality.trustworthiness(X, Z, k).value == pytest.approx(expected, abs=1e-12)
    expected = theirs(X.astype(np.float64), Z, n_neighbors=5, metric="cosine")
    assert quality.trustworthiness(X, Z, 5, metric="cosine").value == pytest.approx(expected, abs=1e-12)
    D = cdist(X.astype(np.float64), X.astype(np.float64))
    assert quality.trustworthiness(D, Z, metric="precomputed").value == quality.trustworthiness(X, Z).value


def test_area_and_matrix_agree(cloud):
    X, Z = cloud
    n, Q = len(X), quality.co_ranking_matrix(X, Z)
    assert Q.sum() == n * (n - 1)
    np.testing.assert_array_equal(Q.sum(axis=0), n)
    curves = quality.co_ranking(X, Z)
    shared = np.array([Q[:k, :k].sum() for k in range(1, n - 1)]) / n
    np.testing.assert_allclose(curves.q_nx, shared / curves.k, atol=1e-14)
    weights = 1 / curves.k
    expected = (curves.r_nx * weights).sum() / weights.sum()
    assert curves.area.value == pytest.approx(expected, abs=1e-12)
    assert quality.r_nx_area(X, Z).value == curves.area.value
    assert curves.k_max == np.argmax(curves.lcmc) + 1
    np.testing.assert_array_equal(quality.co_ranking_matrix(Z, X), Q.T)


def test_values_per_row_average_to_the_measure(cloud):
    X, Z = cloud
    for found in (
        quality.trustworthiness(X, Z, per_row=True),
        quality.continuity(X, Z, per_row=True),
        *quality.mean_relative_rank_errors(X, Z, per_row=True),
        quality.lcmc(X, Z, per_row=True),
        quality.r_nx_area(X, Z, per_row=True),
    ):
        assert found.per_row.shape == (300,)
        assert found.per_row.dtype == np.float64
        assert found.per_row.mean() == pytest.approx(found.value, abs=1e-12)
        assert (found.low, found.high, found.sample, found.left_out) == (None, None, None, 0)


# --- invariants


clouds = arrays.arrays(
    np.float64, st.tuples(st.integers(12, 25), st.integers(1, 4)), elements=st.integers(-8, 8).map(float)
).filter(lambda A: len(np.unique(A, axis=0)) > 1)


@given(clouds, st.integers(1, 5), st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_definitions_hold_with_ties(X, k, seed):
    Z = np.random.default_rng(seed).integers(0, 4, (len(X), 2)).astype(float)
    if (Z[0] == Z).all():
        return
    rho, r, n = rank_twin(X), shuffled_twin(Z), len(X)
    trust, cont = quality.trustworthiness(X, Z, k), quality.continuity(X, Z, k)
    assert trust.value == pytest.approx(trust_twin(rho, r, k), abs=1e-14)
    assert cont.value == pytest.approx(trust_twin(r, rho, k), abs=1e-14)
    assert [m.value for m in quality.trustworthiness_and_continuity(X, Z, k)] == [trust.value, cont.value]
    assert 0 <= trust.value <= 1
    for found, expected in zip(quality.mean_relative_rank_errors(X, Z, k), [(rho, r), (r, rho)], strict=True):
        assert found.value == pytest.approx(rank_error_twin(*expected, k), abs=1e-14)
    Q = np.zeros((n, n), dtype=int)
    np.add.at(Q, (rho, r), 1)
    np.testing.assert_array_equal(quality.co_ranking_matrix(X, Z), Q[1:, 1:])
    assert quality.lcmc(X, Z, k).value == pytest.approx(Q[1 : k + 1, 1 : k + 1].sum() / (n * k) - k / (n - 1))
    curves, shared = quality.co_ranking(X, Z), Q[1 : k + 1, 1 : k + 1].sum() / (n * k)
    assert curves.q_nx[k - 1] == pytest.approx(shared)
    assert curves.lcmc[k - 1] == pytest.approx(shared - k / (n - 1))
    assert curves.r_nx[k - 1] == pytest.approx(((n - 1) * shared - k) / (n - 1 - k))


def at_chance(X, Z, k):
    """Trustworthiness and continuity minus their expectation for random ranks, LCMC and the area: all 0 by chance."""
    n = len(X)
    beyond = (n - 1 - k) * (n - k) / 2 / (n - 1)  # the excess of a random rank
    both = quality.trustworthiness_and_continuity(X, Z, k)
    expected = 1 - 2 * beyond / (2 * n - 3 * k - 1)
    return [*(m.value - expected for m in both), quality.lcmc(X, Z, k).value, quality.r_nx_area(X, Z).value]


@pytest.mark.parametrize("rows_in_order", [False, True])
def test_unrelated_spaces_with_many_ties_are_at_chance_level(rows_in_order):
    """Both spaces have few values, so that ties decide almost everything: their orders must be independent."""
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, Z = rng.integers(0, 2, (300, 3)) * 1.0, rng.integers(0, 2, (300, 2)) * 1.0
        if rows_in_order:  # consecutive rows are similar
            X = X[np.lexsort(X.T)]
        found.append(at_chance(X, Z, 10))
    assert np.abs(np.mean(found, axis=0)).max() < 0.005
    assert np.abs(found).max() < 0.03


@given(clouds, st.integers(1, 5))
@settings(max_examples=15, deadline=None)
def test_a_perfect_embedding_has_the_best_value_except_for_ties(X, k):
    """Points have noise, so that no two distances are equal."""
    X = X + 0.01 * np.random.default_rng(0).standard_normal(X.shape)
    assert quality.trustworthiness(X, 4 * X, k).value == 1
    assert quality.continuity(X, X / 2, k).value == 1
    assert [m.value for m in quality.mean_relative_rank_errors(X, X / 2, k)] == [0, 0]
    curves = quality.co_ranking(X, X)
    np.testing.assert_array_equal(curves.q_nx, 1)
    assert curves.area.value == pytest.approx(1, abs=1e-12)


def test_identical_spaces_with_ties_score_their_expected_value():
    """Groups of c equal rows share k/(c - 1) of k neighbors by chance, which no embedding can improve."""
    X = np.repeat(np.random.default_rng(0).standard_normal((12, 3)), 41, axis=0)
    n, k = len(X), 10
    assert quality.lcmc(X, X, k).value + k / (n - 1) == pytest.approx(k / 40, abs=0.01)
    beyond = sum(max(0, rank - k) for rank in range(1, 41)) / 40
    both = quality.trustworthiness_and_continuity(X, X, k)
    assert [m.value for m in both] == pytest.approx([1 - 2 * beyond / (2 * n - 3 * k - 1)] * 2, abs=0.001)


def test_duplicates_among_the_nearest_neighbors_cost_nothing():
    """Groups of four equal rows: the three others are the nearest in any order, and so are the next 4."""
    X = np.repeat(np.random.default_rng(0).standard_normal((40, 3)), 4, axis=0)
    for k in (3, 7, 11):
        assert [m.value for m in quality.trustworthiness_and_continuity(X, 2 * X, k)] == [1, 1]
        assert quality.lcmc(X, X, k).value == pytest.approx(1 - k / 159)
    assert quality.trustworthiness(X, X, 2).value < 1  # which two of the three is undetermined


@pytest.mark.parametrize("k", [3, 10])
def test_turn_scale_and_shift_do_not_matter(cloud, k, rng):
    X, Z = cloud
    other = 1e-3 * (Z @ np.linalg.qr(rng.standard_normal((2, 2)))[0]) + 7
    for measure in (quality.trustworthiness, quality.continuity, quality.lcmc):
        assert measure(X, other, k).value == pytest.approx(measure(X, Z, k).value, abs=1e-12)
    assert quality.r_nx_area(X, other).value == pytest.approx(quality.r_nx_area(X, Z).value, abs=1e-12)


# --- samples


def test_intervals_of_samples_contain_the_value_of_all_rows():
    X = load_dataset("digits").X
    Z = lowland.PCA(2).fit_transform(X)
    for measure in (quality.trustworthiness, quality.continuity, quality.lcmc):
        value = measure(X, Z).value
        for seed in range(4):
            found = measure(X, Z, sample=200, random_state=seed)
            assert found.sample == 200
            assert found.low < found.value < found.high
            assert found.low - 0.005 < value < found.high + 0.005
    exact, curves = quality.co_ranking(X, Z), quality.co_ranking(X, Z, sample=200)
    assert curves.area.low - 0.005 < exact.area.value < curves.area.high + 0.005
    inside = (curves.r_nx_low <= exact.r_nx) & (exact.r_nx <= curves.r_nx_high)
    assert inside.mean() > 0.7
    assert exact.r_nx_low is None


def test_a_sample_that_is_not_smaller_is_all_rows(cloud):
    X, Z = cloud
    assert quality.trustworthiness(X, Z, sample=300).low is None
    found = quality.trustworthiness(X, Z, sample=50, per_row=True)
    assert np.isfinite(found.per_row).sum() == 50
    assert np.nanmean(found.per_row) == pytest.approx(found.value)
    assert found.value == quality.trustworthiness(X, Z, sample=50).value
    assert "50 sampled rows" in str(found)
    assert f"{found.low:.6g} to" in str(found)


def test_many_rows_are_sampled_by_default(monkeypatch, cloud):
    X, Z = cloud
    monkeypatch.setattr("lowland.quality.neighborhoods.COUNTED", 300 * 10)
    monkeypatch.setattr("lowland.quality.inputs.LEAST_SAMPLE", 40)
    assert quality.trustworthiness(X, Z).sample == 40
    assert quality.trustworthiness(X, Z, sample=None).sample is None


def test_ranks_beyond_the_memory_budget_are_recomputed(cloud, monkeypatch):
    X, Z = cloud
    kept = quality.co_ranking(X, Z)
    monkeypatch.setattr("lowland.quality.original_space.KEPT_RANKS", 0)
    monkeypatch.setattr("lowland.quality.original_space._RANKS", 300 * 70)
    np.testing.assert_array_equal(quality.co_ranking(X, Z).q_nx, kept.q_nx)


def test_curves_of_many_blocks_are_added_as_they_come(cloud, monkeypatch):
    X, Z = cloud
    once = quality.co_ranking(X, Z, sample=200)
    monkeypatch.setattr("lowland.quality.original_space._RANKS", 300)  # a row at a time
    again = quality.co_ranking(X, Z, sample=200)
    np.testing.assert_array_equal(again.q_nx, once.q_nx)
    np.testing.assert_array_equal(again.r_nx_low, once.r_nx_low)
    with lowland.config(threads=3):
        np.testing.assert_array_equal(quality.co_ranking(X, Z, sample=200).r_nx_low, once.r_nx_low)


# --- rows without coordinates, and invalid input


def test_rows_without_coordinates_are_excluded_and_reported(cloud):
    X, Z = cloud
    holes = Z.copy()
    holes[[4, 70]] = np.nan
    kept = ~np.isnan(holes[:, 0])
    for measure in (quality.trustworthiness, quality.continuity, quality.lcmc, quality.r_nx_area):
        found = measure(X, holes, per_row=True)
        assert found.value == measure(X[kept], Z[kept]).value
        assert found.left_out == 2
        assert np.isnan(found.per_row[[4, 70]]).all()
        assert np.isfinite(found.per_row[kept]).all()
        assert "2 rows without coordinates" in str(found)
    D = cdist(X, X)
    assert quality.trustworthiness(D, holes, metric="precomputed").left_out == 2
    high = OriginalSpace.of(X)
    assert quality.co_ranking(high, holes).area.value == quality.co_ranking(X[kept], Z[kept]).area.value


def test_tensors_frames_and_files(cloud, tmp_path):
    torch = pytest.importorskip("torch")
    pandas = pytest.importorskip("pandas")
    X, Z = cloud
    expected = quality.trustworthiness(X, Z).value
    assert quality.trustworthiness(torch.tensor(X), torch.tensor(Z)).value == expected
    assert quality.trustworthiness(pandas.DataFrame(X), pandas.DataFrame(Z)).value == expected
    np.save(tmp_path / "x.npy", X)
    assert quality.trustworthiness(tmp_path / "x.npy", Z).value == expected


MEASURES = (
    quality.trustworthiness, quality.continuity, quality.lcmc, quality.r_nx_area, quality.mean_relative_rank_errors,
    quality.raw_stress, quality.normalized_stress, quality.sammon_stress, quality.shepard, quality.residual_variance,
    quality.evaluate,
)  # fmt: skip


@pytest.mark.parametrize("measure", MEASURES, ids=lambda f: f.__name__)
def test_invalid_input_is_reported(measure, cloud):
    X, Z = cloud
    with pytest.raises(DataError, match=r"X has 300 rows and Z has 299\. Pass the coordinates"):
        measure(X, Z[:-1])
    with pytest.raises(DataError, match="All rows of Z are equal"):
        measure(X, np.ones((300, 2)))
    with pytest.raises(DataError, match="All rows of X are equal"):
        measure(np.ones((300, 2)), Z)
    with pytest.raises(DataError, match="0 of the 300 rows of Z have coordinates"):
        measure(X, np.full((300, 2), np.nan))
    with pytest.raises(DataError, match="infinite coordinates"):
        measure(X, np.where(np.eye(300, 2) > 0, np.inf, Z))
    with pytest.raises(DataError, match="NaN"):
        measure(np.where(np.eye(300, 20) > 0, np.nan, X), Z)
    with pytest.raises(ParameterError, match=r"sample=3: .*integer of at least 20"):
        measure(X, Z, sample=3)
    with pytest.raises(ParameterError, match="no metric 'bent'"):
        measure(X, Z, metric="bent")
    import scipy.sparse

    with pytest.raises(DataTypeError, match="Sparse rows"):
        measure(scipy.sparse.csr_array(X), Z)


def test_too_many_neighbors_are_refused(cloud):
    X, Z = cloud
    with pytest.raises(
        ParameterError, match=r"n_neighbors=150: there are 300 rows with coordinates\. Choose at most 149"
    ):
        quality.trustworthiness(X, Z, 150)
    with pytest.raises(ParameterError, match="Choose at most 149"):
        quality.evaluate(X, Z, n_neighbors=200)
    with pytest.raises(ParameterError, match="Choose at most 299"):
        quality.lcmc(X, Z, 300)
    for k in (0, True, 2.5):
        with pytest.raises(ParameterError, match=r"n_neighbors=.*integer of at least 1"):
            quality.continuity(X, Z, k)
