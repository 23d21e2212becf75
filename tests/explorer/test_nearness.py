"""Distances, neighbors and clusters."""

import numpy as np
from sklearn.metrics import adjusted_rand_score

from lowland.explorer import analysis as nearness
from lowland.explorer.analysis import clusters_of, distances_from, nearest


def test_distances_and_neighbors(rng, monkeypatch):
    monkeypatch.setattr(nearness, "CELLS", 64)  # several slabs
    X = rng.standard_normal((101, 7)).astype(np.float32)
    found = distances_from(X, 5)
    expected = np.linalg.norm(X.astype(float) - X[5], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    order = np.argsort(expected, kind="stable")
    assert nearest(found, 5, 10).tolist() == order[1:11].tolist()
    assert nearest(found, 5, 1000).tolist() == order[1:].tolist()


def test_ties_and_duplicates_come_in_the_order_of_the_rows():
    distances = np.array([1.0, 0.0, 0.0, 1.0, 1.0])
    assert nearest(distances, 2, 3).tolist() == [1, 0, 3]
    assert nearest(np.zeros(1), 0, 3).tolist() == []


def test_clusters_are_found_and_ordered_by_size(rng):
    sizes = [20, 60, 40]
    truth = np.repeat([0, 1, 2], sizes)
    X = np.array([[0.0, 0], [20, 0], [0, 20]])[truth] + rng.standard_normal((120, 2))
    X[3] = np.nan
    for algorithm in ("k-means", "density"):
        codes = clusters_of(X, 3, algorithm)
        assert codes[3] == -1
        known = codes >= 0
        assert known.mean() > 0.7
        assert adjusted_rand_score(truth[known], codes[known]) > 0.95
        assert np.all(np.diff(np.bincount(codes[known])) <= 0)
