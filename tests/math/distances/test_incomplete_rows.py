"""Distances of incomplete rows: scikit-learn's nan_euclidean, and Gower's dissimilarity by its definition."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import nan_euclidean_distances
from sklearn.utils import get_tags

import lowland
from lowland.errors import DataError, ParameterError
from lowland.math.distances.metrics import METRICS
from lowland.math.distances.to_points import DistancesTo, distance_matrix
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun

SCALED = ["Isomap", "MDS", "ClassicalMDS", "SammonMapping", "DiffusionMap"]


def holes(n=90, d=12, fraction=0.15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).cumsum(axis=1)
    X[rng.random(X.shape) < fraction] = np.nan
    return X


def test_nan_euclidean_is_that_of_scikit_learn():
    X, Y = holes(), holes(20, seed=1)
    X[5] = X[3]
    of = METRICS["nan_euclidean"].of
    np.testing.assert_allclose(of(X, Y), nan_euclidean_distances(X, Y), atol=1e-9)
    np.testing.assert_allclose(of(X + 1e6, Y + 1e6), of(X, Y), atol=1e-8)  # scikit-learn's loses three digits here
    D = distance_matrix(X, LocalRun(), "nan_euclidean")
    assert D[3, 5] == 0
    full = np.nan_to_num(X)
    euclidean = distance_matrix(full, LocalRun(), "euclidean")
    np.testing.assert_allclose(distance_matrix(full, LocalRun(), "nan_euclidean"), euclidean, atol=1e-6)


def test_rows_that_share_no_column_have_no_distance():
    X = np.array([[1.0, np.nan], [np.nan, 1.0], [2.0, 2.0]])
    D = METRICS["nan_euclidean"].of(X, X)
    assert np.isnan(D[0, 1])
    assert D[0, 2] == pytest.approx(np.sqrt(2))
    graph = nearest_neighbors(X, 1, metric="nan_euclidean")
    assert graph.to.tolist()[:2] == [2, 2]
    with pytest.raises(DataError, match="both have a value"):
        lowland.ClassicalMDS(metric="nan_euclidean", n_components=1).fit(X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SCALED)
def test_methods_embed_incomplete_rows_as_their_distances(name):
    X = holes()
    D = nan_euclidean_distances(X)
    make = getattr(lowland, name)
    by_rows, by_distances = (
        make(n_components=2, metric="nan_euclidean").fit(X),
        make(n_components=2, metric="precomputed").fit(D),
    )
    np.testing.assert_allclose(np.abs(by_rows.embedding_), np.abs(by_distances.embedding_), atol=1e-6)
    assert np.isfinite(by_rows.transform(holes(10, seed=2))).all()
    np.testing.assert_allclose(by_rows.transform(X[:4]), by_rows.embedding_[:4], atol=0.1)
    assert get_tags(by_rows).input_tags.allow_nan


def test_a_diffusion_map_of_neighbors_maps_incomplete_rows(tmp_path):
    X = holes(150)
    model = lowland.DiffusionMap(2, n_neighbors=20, metric="nan_euclidean").fit(X)
    lowland.save(model, tmp_path / "m.lowland")
    np.testing.assert_allclose(lowland.load(tmp_path / "m.lowland").transform(X[:5]), model.embedding_[:5], atol=1e-6)


# --- Gower ---


def by_definition(X, ranges, kinds, w):
    """Gower 1971, with the ranks of ordered columns in place of their values."""
    D = np.empty((len(X), len(X)))
    for i, a in enumerate(X):
        for j, b in enumerate(X):
            total = weight = 0.0
            for c, kind in enumerate(kinds):
                if np.isnan(a[c]) or np.isnan(b[c]):
                    continue
                apart = float(a[c] != b[c]) if kind == "categorical" else abs(a[c] - b[c]) / ranges[c]
                total, weight = total + w[c] * apart, weight + w[c]
            D[i, j] = total / weight if weight else np.nan
    return D


def test_gower_is_its_definition():
    rng = np.random.default_rng(0)
    X = np.column_stack([
        rng.standard_normal(40) * 5, rng.integers(0, 3, 40), rng.integers(0, 4, 40), rng.uniform(1, 2, 40),
    ])  # fmt: skip
    X[rng.random(X.shape) < 0.1] = np.nan
    w = np.array([1.0, 2.0, 1.0, 0.5])
    params = {"categorical": [1], "ordered": [2], "weights": w}
    stretched = X.copy()
    stretched[:, 2] = np.array([0, 1, 10, 11, np.nan])[np.nan_to_num(X[:, 2], nan=4).astype(int)]  # the same order
    ranges = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    expected = by_definition(X, ranges, ["numeric", "categorical", "ordered", "numeric"], w)
    for table in (X, stretched):
        np.testing.assert_allclose(DistancesTo.of(table, "gower", params)(table), expected, atol=1e-12)
    Z = lowland.ClassicalMDS(2, metric="gower", metric_params=params).fit_transform(X)
    assert Z.shape == (40, 2)
    new = DistancesTo.of(X, "gower", params)(np.array([[1e9, 7.0, 9.0, np.nan]]))
    assert np.nanmax(new) <= 1  # beyond the range of the training rows, a difference counts as 1


def test_gower_refuses_wrong_columns():
    X = np.ones((3, 2))
    for params in ({"categorical": [5]}, {"weights": [1.0]}, {"categorical": [1], "ordered": [1]}):
        with pytest.raises(ParameterError, match="gower"):
            DistancesTo.of(X, "gower", params)
