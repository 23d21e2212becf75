"""Measures of class separation compared with scikit-learn and plain counting."""

import tracemalloc

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import silhouette_samples, silhouette_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline

import lowland
from lowland import quality
from lowland.data import load_dataset
from lowland.errors import DataError, DataTypeError, ParameterError


@pytest.fixture(scope="module")
def wine():
    sample = load_dataset("wine")
    return lowland.PCA(2, scale=True).fit_transform(sample.X), sample.y


def test_the_hit_rate_is_the_fraction_of_neighbors_with_the_same_label(wine):
    Z, y = wine
    near = NearestNeighbors(n_neighbors=7).fit(Z).kneighbors(return_distance=False)
    expected = (y[near] == y[:, None]).mean(axis=1)
    found = quality.neighborhood_hit(Z, y, 7, per_row=True)
    np.testing.assert_allclose(found.per_row, expected)
    assert found.value == pytest.approx(expected.mean())


def test_silhouette_agrees_with_scikit_learn(wine):
    Z, y = wine
    found = quality.silhouette(Z, y, per_row=True)
    np.testing.assert_allclose(found.per_row, silhouette_samples(Z, y), atol=1e-12)
    assert found.value == pytest.approx(silhouette_score(Z, y))
    expected = silhouette_score(Z, y, metric="manhattan")
    assert quality.silhouette(Z, y, metric="manhattan").value == pytest.approx(expected)
    lone = y.copy()
    lone[0] = 9  # alone in its class
    np.testing.assert_allclose(
        quality.silhouette(Z, lone, per_row=True).per_row, silhouette_samples(Z, lone), atol=1e-12
    )


def test_intervals_of_samples_contain_the_value_of_all_rows():
    digits = load_dataset("digits")
    Z, y = lowland.PCA(2).fit_transform(digits.X[:900]), digits.y[:900]
    for measure in (quality.silhouette, quality.neighborhood_hit, quality.nearest_neighbor_accuracy):
        whole = measure(Z, y).value
        found = [measure(Z, y, sample=150, random_state=seed) for seed in range(10)]
        assert found[0].sample == 150
        assert np.mean([m.low <= whole <= m.high for m in found]) >= 0.8


def test_downstream_takes_any_classifier(wine):
    Z, y = wine
    plain = quality.downstream_accuracy(Z, y, per_row=True)
    assert plain.value == plain.per_row.mean()
    assert plain.low < plain.value < plain.high
    assert "KNeighborsClassifier" in plain.about
    assert "5-fold cross-validation" in plain.about
    logistic = quality.downstream_accuracy(Z, y, LogisticRegression())
    assert logistic.value > 0.9
    assert "LogisticRegression" in logistic.about
    assert quality.downstream_accuracy(Z, np.array(["x", "y", "z"])[y], LogisticRegression()).value == logistic.value
    noise = np.random.default_rng(0).standard_normal(Z.shape)
    assert quality.downstream_accuracy(noise, y).high < 0.7
    some = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:3]]
    assert "3-fold" in quality.downstream_accuracy(Z[some], y[some]).about


def test_given_distances_and_unknown_metrics(wine):
    Z, y = wine
    D = cdist(Z, Z)
    for measure in (quality.silhouette, quality.nearest_neighbor_accuracy):
        given = measure(D, y, metric="precomputed", per_row=True)
        np.testing.assert_allclose(given.per_row, measure(Z, y, per_row=True).per_row, atol=1e-12)
        assert measure(D, y, metric="precomputed", sample=60).sample == 60
        with pytest.raises(DataError, match="must be square"):
            measure(Z, y, metric="precomputed")
        with pytest.raises(ParameterError, match="no metric 'bent'"):
            measure(Z, y, metric="bent")


def test_the_silhouette_has_the_same_bits_on_any_number_of_threads(rng):
    Z, y = rng.standard_normal((1500, 3)), rng.integers(0, 7, 1500)
    found = []
    for threads in (1, 2, 5):
        with lowland.config(threads=threads):
            found.append(quality.silhouette(Z, y, per_row=True).per_row)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_many_classes_need_no_table_of_rows_by_classes(rng):
    n = 20_000
    Z, y = rng.standard_normal((n, 2)), np.arange(n) // 2
    tables = {}
    for measure in (quality.silhouette, quality.nearest_neighbor_accuracy):
        measure(Z[:2000], y[:2000], sample=50)
        tracemalloc.start()
        measure(Z, y, sample=500)
        tables[measure.__name__] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert tables["silhouette"] < 150e6  # rows times classes were 1.6 GB
    assert tables["nearest_neighbor_accuracy"] < 30e6


def test_votes_agree_with_counting(rng):
    Z, y = rng.standard_normal((200, 2)), rng.integers(0, 4, 200)
    for k in (1, 2, 5, 199):
        near = NearestNeighbors(n_neighbors=k).fit(Z).kneighbors(return_distance=False)
        expected = []
        for own, row in zip(y, y[near].tolist(), strict=True):
            expected.append(float(max(row, key=lambda label, row=row: (row.count(label), -row.index(label))) == own))
        np.testing.assert_array_equal(quality.nearest_neighbor_accuracy(Z, y, k, per_row=True).per_row, expected)


def test_downstream_fits_the_labels_that_were_given(wine):
    Z, y = wine
    names = np.array(["barolo", "grignolino", "barbera"])[y]
    weights = {"barolo": 1.0, "grignolino": 1.0, "barbera": 1e4}
    heavy = quality.downstream_accuracy(Z, names, LogisticRegression(class_weight=weights), per_row=True)
    assert heavy.per_row[names == "barbera"].mean() == 1
    assert heavy.value < quality.downstream_accuracy(Z, names, LogisticRegression()).value

    class Sure(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return ["barbera"] * len(X)

    assert quality.downstream_accuracy(Z, names, Sure()).value == pytest.approx(np.mean(names == "barbera"))


def test_downstream_is_the_fraction_of_all_rows_and_its_interval_never_a_point():
    rng = np.random.default_rng(0)
    Z = np.concatenate([rng.standard_normal((23, 2)), rng.standard_normal((14, 2)) + 50])
    y = np.repeat(["a", "b"], [23, 14])
    found = quality.downstream_accuracy(Z, y, per_row=True)  # folds of unequal size, all right
    assert found.value == found.high == 1
    assert 0.85 < found.low < 0.95
    mixed = quality.downstream_accuracy(Z[rng.permutation(37)], y, per_row=True)
    assert mixed.value == mixed.per_row.mean()
    assert 0 <= mixed.low < mixed.value < mixed.high <= 1


def test_downstream_takes_any_seed_and_refuses_labels_that_are_not_classes(wine):
    Z, y = wine
    first = quality.downstream_accuracy(Z, y, random_state=np.random.default_rng(3), per_row=True).per_row
    again = quality.downstream_accuracy(Z, y, random_state=np.random.default_rng(3), per_row=True).per_row
    np.testing.assert_array_equal(first, again)
    quality.downstream_accuracy(Z, y, random_state=np.random.RandomState(3))
    with pytest.raises(DataTypeError, match=r"LogisticRegression is a class.*LogisticRegression\(\)"):
        quality.downstream_accuracy(Z, y, LogisticRegression)
    with pytest.raises(DataTypeError, match=r"LinearRegression predicts numbers.*Pass a classifier"):
        quality.downstream_accuracy(Z, y, LinearRegression())
    with pytest.raises(DataTypeError, match="KMeans predicts clusters"):
        quality.downstream_accuracy(Z, y, KMeans(3))
    with pytest.raises(DataTypeError, match="Pipeline predicts numbers"):
        quality.downstream_accuracy(Z, y, make_pipeline(lowland.PCA(1), LinearRegression()))


def test_rows_without_coordinates_are_left_out(wine):
    Z, y = wine
    holes = Z.copy()
    holes[[0, 5]] = np.nan
    kept = np.isfinite(holes[:, 0])
    for measure in (
        quality.silhouette,
        quality.neighborhood_hit,
        quality.nearest_neighbor_accuracy,
        quality.downstream_accuracy,
    ):
        found = measure(holes, y, per_row=True)
        assert found.left_out == 2
        assert found.value == measure(Z[kept], y[kept]).value
        assert np.isnan(found.per_row[[0, 5]]).all()


@pytest.mark.parametrize(
    "measure",
    [quality.silhouette, quality.neighborhood_hit, quality.nearest_neighbor_accuracy, quality.downstream_accuracy],
)
def test_invalid_input_is_reported(measure, wine):
    Z, y = wine
    with pytest.raises(DataError, match="one value for each of the 178 rows"):
        measure(Z, y[:-1])
    with pytest.raises(DataError, match="greater than one"):
        measure(Z, np.zeros(178, dtype=int))
    with pytest.raises(DataError, match="continuous"):
        measure(Z, y + 0.5)
    with pytest.raises(DataError, match="All rows of Z are equal"):
        measure(np.ones((178, 2)), y)


def test_invalid_parameters_are_refused(wine):
    Z, y = wine
    with pytest.raises(ParameterError, match="Choose at most 177"):
        quality.neighborhood_hit(Z, y, 178)
    with pytest.raises(ParameterError, match="folds=1"):
        quality.downstream_accuracy(Z, y, folds=1)
    with pytest.raises(DataTypeError, match=r"PCA.*predict.*Pass a classifier"):
        quality.downstream_accuracy(Z, y, lowland.PCA())
    lone = y.copy()
    lone[0] = 9
    with pytest.raises(DataError, match=r"[Oo]ne row has the label 9.*[Rr]emove"):
        quality.downstream_accuracy(Z, lone)
