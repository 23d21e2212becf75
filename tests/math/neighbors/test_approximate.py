"""Approximate search: laws that hold whatever is found, exactness on few rows, equal bits, and the measured recall."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

import lowland
from lowland.errors import DataWarning, MemoryBudgetError, ParameterError
from lowland.math.neighbors import approximate
from lowland.math.neighbors.approximate import approximate_neighbors, measure_recall
from lowland.math.neighbors.search import nearest_neighbors
from lowland.math.neighbors.searcher import MetricSpace
from lowland.run.run import Run

METRICS = ["euclidean", "sqeuclidean", "cosine", "correlation", "manhattan", "chebyshev", "minkowski"]
EUCLIDEAN = MetricSpace("euclidean", 2.0)


def search(X, k, metric="euclidean", **more):
    return nearest_neighbors(X, k, Run(), metric=metric, search="approximate", **more)


def clusters(rng, n=3000, d=20, dtype=np.float32):
    return (rng.standard_normal((12, d))[rng.integers(0, 12, n)] * 2 + rng.standard_normal((n, d))).astype(dtype)


def brute(X, k, metric):
    name = {"manhattan": "cityblock"}.get(metric, metric)
    D = cdist(X, X, name, p=3) if metric == "minkowski" else cdist(X, X, name)
    np.fill_diagonal(D, np.inf)
    return np.sort(D, axis=1)[:, :k]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_are_exact_and_most_neighbors_are_found(metric, dtype, rng):
    X = clusters(rng, 1200, 8, dtype)
    params = {"p": 3} if metric == "minkowski" else None
    graph = search(X, 6, metric, params=params)
    exact = nearest_neighbors(X, 6, Run(), metric=metric, params=params, search="products")
    assert graph.search == "approximate"
    assert graph.length.dtype == dtype
    both = [np.isin(a, b, assume_unique=True) for a, b in zip(graph.table()[0], exact.table()[0], strict=True)]
    assert np.mean(both) > 0.97
    low, high = graph.recall_interval
    assert low <= graph.recall <= high
    assert low - 0.02 <= np.mean(both) <= high + 0.02
    same = np.array(both) & (graph.table()[0] == exact.table()[0])
    np.testing.assert_array_equal(graph.table()[1][same], exact.table()[1][same])


def test_points_without_structure_are_found_by_neighbors_of_neighbors(rng):
    """In 32 dimensions, the leaves of the trees have only three quarters of the neighbors."""
    assert search(rng.standard_normal((3000, 32)), 10).recall > 0.98


@pytest.mark.parametrize("metric", METRICS)
def test_few_rows_are_searched_exactly(metric, rng):
    X = rng.standard_normal((100, 5))
    graph = search(X, 7, metric, params={"p": 3} if metric == "minkowski" else None)
    np.testing.assert_allclose(graph.table()[1], brute(X, 7, metric), rtol=1e-9, atol=1e-12)
    assert graph.recall == 1
    assert graph.recall_interval == (1, 1)


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(st.integers(140, 400), st.integers(1, 4)).flatmap(
        lambda shape: arrays(np.float64, shape, elements=st.integers(0, 3).map(float))
    ),
    st.integers(1, 9),
)
def test_laws_of_what_is_found_with_ties_and_duplicates(X, k):
    indices, lengths = approximate_neighbors(X, k, EUCLIDEAN, Run())
    n = len(X)
    assert indices.shape == lengths.shape == (n, k)
    assert indices.min() >= 0
    assert indices.max() < n
    assert not np.any(indices == np.arange(n)[:, None])  # a row is not its own neighbor
    assert all(len(set(row)) == k for row in indices)  # each neighbor once
    np.testing.assert_allclose(lengths, np.linalg.norm(X[:, None] - X[indices], axis=2), rtol=1e-12)
    later = (np.diff(lengths) > 0) | ((np.diff(lengths) == 0) & (np.diff(indices) > 0))
    assert later.all()  # nearest first; of equal ones, the lower row number first


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_equal_bits_on_any_number_of_threads(metric, rng):
    X = clusters(rng, 5000, 12)
    found = []
    for threads in (1, 2, 3):
        with lowland.config(threads=threads):
            graph = search(X, 8, metric)
        found.append((graph.to.tobytes(), graph.length.tobytes(), graph.recall, graph.recall_interval))
    assert found[0] == found[1] == found[2]


def test_mapped_files_give_the_same_neighbors(rng, tmp_path):
    X = clusters(rng)
    expected = search(X, 8)
    np.save(tmp_path / "x.npy", X)
    with lowland.config(memory="3MB"):  # so that most tables are mapped
        graph = search(np.load(tmp_path / "x.npy", mmap_mode="r"), 8)
    np.testing.assert_array_equal(graph.to, expected.to)
    np.testing.assert_array_equal(graph.length, expected.length)


def test_a_temporary_file_that_does_not_fit_is_reported(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full, raising=False)
    with lowland.config(memory="1MB"), pytest.raises(MemoryBudgetError, match=r"No space left on device.*TMPDIR"):
        Run().scratch((1000, 100), np.float64)


def test_constant_columns_change_nothing(rng):
    X = clusters(rng, 2000, 6, np.float64)
    wide = np.column_stack([np.full(2000, 7.0), X, np.zeros(2000)])
    np.testing.assert_allclose(search(wide, 5).table()[1].mean(), search(X, 5).table()[1].mean(), rtol=1e-3)
    assert search(wide, 5).recall > 0.98


def test_scale_and_offset_change_nothing(rng):
    X = clusters(rng, 2000, 6, np.float64)
    moved = search(X * 1e100 + 1e101, 5)
    assert moved.recall > 0.98
    assert np.mean(moved.to == search(X, 5).to) > 0.97


def test_more_duplicates_than_neighbors_are_found(rng):
    X = np.repeat(rng.standard_normal((20, 6)), 300, axis=0)
    indices, distances = search(X, 5).table()
    assert not distances.any()
    assert not np.any(indices == np.arange(6000)[:, None])


def test_equal_rows_have_neighbors():
    indices, distances = nearest_neighbors(np.ones((700, 3)), 4, Run(), search="approximate", takes_equal=True).table()
    assert not distances.any()
    assert all(len({i, *row}) == 5 for i, row in enumerate(indices))


@pytest.mark.parametrize("k", [90, 200])
def test_many_neighbors(k, rng):
    graph = search(clusters(rng, 2000, 10), k)
    assert graph.recall > 0.97


def test_as_many_neighbors_as_there_are_other_rows(rng):
    X = rng.standard_normal((160, 3))
    np.testing.assert_allclose(search(X, 159).table()[1], brute(X, 159, "euclidean"), rtol=1e-9)
    with pytest.raises(ParameterError, match="160 neighbors per point: the data has 160 points"):
        search(X, 160)


def test_a_low_recall_is_reported(rng):
    X = rng.standard_normal((400, 6))
    lengths = np.full((400, 3), 9.0)  # as if only far points had been found
    with pytest.warns(DataWarning, match=r"found only 0% of the true neighbors of 300 sampled rows.*exact search"):
        recall, (low, high) = measure_recall(X, lengths, EUCLIDEAN, Run(), rng)
    assert recall == low == 0
    assert 0 < high < 0.02


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")
def test_the_interval_contains_the_true_recall(rng):
    X = rng.standard_normal((1500, 40)).astype(np.float32)
    exact = nearest_neighbors(X, 10, Run(), search="products").table()[1]
    damaged = np.where(rng.random((1500, 1)) < 0.1, np.inf, exact).astype(np.float32)  # a tenth of the rows finds none
    true, hits = np.mean(np.isfinite(damaged)), 0
    for seed in range(60):
        low, high = measure_recall(X, damaged, EUCLIDEAN, Run(), np.random.default_rng(seed))[1]
        hits += low <= true <= high
    assert hits >= 54


def test_auto_is_approximate_only_where_exact_search_takes_minutes(rng, monkeypatch):
    assert not approximate.is_too_slow(100_000, 784, EUCLIDEAN)
    assert approximate.is_too_slow(1_000_000, 50, EUCLIDEAN)
    X = rng.standard_normal((600, 40))
    assert nearest_neighbors(X, 5, Run()).search == "products"
    monkeypatch.setattr(approximate, "_TOO_SLOW", 1e3)
    assert nearest_neighbors(X, 5, Run()).search == "approximate"
    assert nearest_neighbors(X, 5, Run(), metric="manhattan").search == "approximate"
    assert nearest_neighbors(X, 5, Run(), search="products").search == "products"
    assert nearest_neighbors(X, 5, Run(), metric="canberra").search == "comparisons"
    assert nearest_neighbors(X[:, :2], 5, Run()).search == "tree"


def test_metrics_without_approximate_search_are_refused(rng):
    X = rng.standard_normal((50, 3))
    with pytest.raises(ParameterError, match="does not support the metric 'canberra'"):
        search(X, 5, "canberra")
    with pytest.raises(ParameterError, match="does not support this metric"):
        search(X, 5, lambda x, y: float(abs(x - y).sum()))
