"""Distances, neighbors, clusters, and effect sizes against their definitions."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from lowland.evidence.contrasts import effect_of_levels, effect_of_numbers
from lowland.explorer import analysis as nearness
from lowland.explorer.analysis import (
    cluster_names,
    clusters_of,
    distances_from,
    nearest,
)


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


def test_cohens_d_is_the_difference_in_pooled_standard_deviations(rng):
    x, chosen = rng.standard_normal(500) * 3 + 7, rng.random(500) < 0.3
    x[chosen] += 2.0
    x[::17] = np.nan
    a, b = (part[~np.isnan(part)] for part in (x[chosen], x[~chosen]))
    pooled = np.sqrt(((len(a) - 1) * a.var(ddof=1) + (len(b) - 1) * b.var(ddof=1)) / (len(a) + len(b) - 2))
    found = effect_of_numbers("x", x, chosen)
    assert found.effect == pytest.approx((a.mean() - b.mean()) / pooled)
    assert (found.selected, found.rest) == (pytest.approx(a.mean()), pytest.approx(b.mean()))
    assert (found.n_selected, found.n_rest) == (len(a), len(b))


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_unit_does_not_matter(rng, scale):
    x, chosen = rng.standard_normal(50), np.arange(50) < 20
    assert effect_of_numbers("x", scale * x, chosen).effect == pytest.approx(effect_of_numbers("x", x, chosen).effect)


def test_groups_without_variance():
    chosen = np.array([True, True, False, False])
    assert effect_of_numbers("x", np.array([1.0, 1, 0, 0]), chosen).effect == np.inf
    assert effect_of_numbers("x", np.ones(4), chosen) is None
    assert effect_of_numbers("x", np.array([1.0, 2, np.nan, np.nan]), chosen) is None


def test_cohens_h_of_the_level_that_differs_most():
    codes = np.array([0, 0, 0, 1, 1, 1, 1, 2, -1, 2])
    chosen = np.array([1, 1, 1, 0, 0, 0, 0, 0, 0, 0], dtype=bool)
    found = effect_of_levels("c", codes, ["a", "b", "c"], chosen)
    assert (found.level, found.selected, found.rest) == ("a", 1.0, 0.0)
    assert found.effect == pytest.approx(np.pi)  # the largest possible value
    assert found.n_rest == 6
    assert effect_of_levels("c", np.full(10, -1), ["a", "b"], chosen) is None


def test_clusters_are_named_by_the_columns_with_the_largest_effect_sizes(rng):
    codes = np.repeat([0, 1, 2, -1], [60, 50, 40, 10])
    X = rng.standard_normal((160, 5))
    X[codes == 0, 1] += 9
    X[codes == 0, 3] -= 5
    X[:, 4] = codes == 1
    names = cluster_names(X, ["a", "b", "c", "d", "e"], codes)
    assert names[:2] == ["1: high b, low d", "2: e, low b"]
    assert cluster_names(X[:, :1], ["a"], codes) == ["cluster 1", "cluster 2", "cluster 3"]  # nothing sets them apart
    for j, name in enumerate(names):  # the same columns as the contrasts of a selection
        effects = [abs(effect_of_numbers("", X[:, i], codes == j).effect) for i in range(5)]
        largest = np.argsort(effects)[-2:]
        assert {part.split()[-1] for part in name.split(",")} <= {"abcde"[i] for i in largest}
