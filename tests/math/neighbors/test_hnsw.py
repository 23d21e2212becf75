"""Approximate search: exact distances and measured recall."""

import sys

import numpy as np
import pytest

from lowland.errors import DataWarning, MissingExtra, ParameterError
from lowland.math.neighbors.hnsw import Approximate
from lowland.math.neighbors.search import nearest_neighbors
from lowland.math.neighbors.searcher import MetricSpace
from lowland.run.local import LocalRun


def test_approximate_search_returns_exact_distances_and_measured_recall(rng):
    pytest.importorskip("faiss")
    X = rng.standard_normal((1000, 24))
    exact = nearest_neighbors(X, 8, LocalRun(), search="products")
    graph = nearest_neighbors(X, 8, LocalRun(), search="approximate", rng=rng)
    assert graph.search == "approximate"
    found = graph.table()[0]
    fractions = [len(set(a) & set(b)) / 8 for a, b in zip(found, exact.table()[0], strict=True)]
    assert graph.recall == pytest.approx(np.mean(fractions), abs=0.02)
    assert graph.recall > 0.95
    assert not np.any(found == np.arange(1000)[:, None])
    np.testing.assert_allclose(graph.length, np.linalg.norm(X[graph.sources] - X[graph.to], axis=1), rtol=1e-12)
    again = nearest_neighbors(X, 8, LocalRun(), search="approximate", rng=rng)
    np.testing.assert_array_equal(again.to, graph.to)


def test_low_recall_is_reported(rng):
    pytest.importorskip("faiss")
    search = Approximate(rng.standard_normal((400, 6)), MetricSpace("euclidean", 2))
    lengths = np.full((400, 3), 9.0)  # as if only far points had been found
    with pytest.warns(DataWarning, match=r"found only 0% of the true neighbors of 300 sampled rows.*exact search"):
        assert search.recall(lengths, LocalRun(), rng) == 0


def test_more_duplicates_than_neighbors_are_found_exactly(rng):
    pytest.importorskip("faiss")
    X = np.repeat(rng.standard_normal((20, 6)), 30, axis=0)
    indices, distances = nearest_neighbors(X, 5, LocalRun(), search="approximate").table()
    assert not distances.any()
    assert not np.any(indices == np.arange(600)[:, None])


def test_metrics_without_approximate_search_are_refused(rng, monkeypatch):
    X = rng.standard_normal((50, 3))
    with pytest.raises(ParameterError, match="does not support the metric 'manhattan'"):
        nearest_neighbors(X, 5, LocalRun(), metric="manhattan", search="approximate")
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r'pip install "lowland\[neighbors\]"'):
        nearest_neighbors(X, 5, LocalRun(), search="approximate")
