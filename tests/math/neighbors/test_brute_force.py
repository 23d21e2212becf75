"""Comparing every pair, by any metric."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowland
from lowland.math.neighbors.brute_force import BruteForce
from lowland.run.local import LocalRun


@pytest.mark.parametrize("metric", ["euclidean", "canberra", "precomputed"])
def test_the_nearest_of_another_label(rng, metric):
    X = rng.random((40, 3))
    D = cdist(X, X, "euclidean" if metric == "precomputed" else metric)
    labels = rng.integers(0, 5, 40)
    masked = np.where(labels[:, None] == labels[None, :], np.inf, D)
    search = BruteForce(D if metric == "precomputed" else X, metric)
    indices, lengths = search.nearest(3, LocalRun(), labels=labels)
    np.testing.assert_array_equal(indices, np.argsort(masked, axis=1, kind="stable")[:, :3])
    np.testing.assert_allclose(lengths, np.sort(masked, axis=1)[:, :3], rtol=1e-12)
    np.testing.assert_array_equal(
        search.nearest_in_other_component(np.arange(40), labels, LocalRun())[0], indices[:, 0]
    )


def test_no_neighbor_of_another_label_if_all_labels_are_equal(rng):
    indices, lengths = BruteForce(rng.random((5, 2)), "euclidean").nearest(1, LocalRun(), labels=np.zeros(5))
    assert np.all(indices == -1)
    assert np.all(np.isinf(lengths))


def test_a_function_of_two_rows_is_called_on_one_thread(rng):
    import threading

    seen = set()

    def metric(a, b):
        seen.add(threading.get_ident())
        return abs(a[0] - b[0])

    with lowland.config(threads=3):
        BruteForce(rng.random((30, 2)), metric).nearest(2, LocalRun())
    assert seen == {threading.get_ident()}
