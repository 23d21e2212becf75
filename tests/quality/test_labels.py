"""Measures of labels against scikit-learn and plain counting."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import silhouette_samples, silhouette_score
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

import lowland
from lowland import quality
from lowland.data import load
from lowland.errors import DataError, DataTypeError, ParameterError


@pytest.fixture(scope="module")
def wine():
    sample = load("wine")
    return lowland.PCA(2, scale=True).fit_transform(sample.X), sample.y


def test_hit_is_the_share_of_the_same_label(wine):
    Z, y = wine
    near = NearestNeighbors(n_neighbors=7).fit(Z).kneighbors(return_distance=False)
    expected = (y[near] == y[:, None]).mean(axis=1)
    found = quality.neighborhood_hit(Z, y, 7, per_row=True)
    np.testing.assert_allclose(found.per_row, expected)
    assert found.value == pytest.approx(expected.mean())


def test_accuracy_is_that_of_leaving_one_out(wine):
    Z, y = wine
    for k in (1, 3):
        expected = cross_val_score(KNeighborsClassifier(k), Z, y, cv=LeaveOneOut()).mean()
        assert quality.nearest_neighbor_accuracy(Z, y, k).value == pytest.approx(expected, abs=0.012)  # ties of votes
    assert set(quality.nearest_neighbor_accuracy(Z, y, per_row=True).per_row) <= {0.0, 1.0}


def test_of_a_tie_the_nearest_decides():
    Z = np.array([[0.0], [1], [2.5], [10], [11], [12.5]])
    y = ["b", "a", "b", "a", "a", "a"]  # the first has a at 1 and b at 2.5
    found = quality.nearest_neighbor_accuracy(Z, y, 2, per_row=True).per_row
    assert found[0] == 0
    assert found[3] == 1


def test_silhouette_is_that_of_scikit_learn(wine):
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


def test_samples_hold_the_value_of_all_rows():
    digits = load("digits")
    Z = lowland.PCA(2).fit_transform(digits.X)
    for measure in (quality.silhouette, quality.neighborhood_hit, quality.nearest_neighbor_accuracy):
        whole = measure(Z, digits.y).value
        found = [measure(Z, digits.y, sample=300, random_state=seed) for seed in range(20)]
        assert found[0].sample == 300
        assert np.mean([m.low <= whole <= m.high for m in found]) >= 0.8


def test_downstream_takes_any_classifier(wine):
    Z, y = wine
    plain = quality.downstream(Z, y, per_row=True)
    assert plain.value == pytest.approx(plain.per_row.mean(), abs=0.01)
    assert plain.low < plain.value < plain.high
    assert "KNeighborsClassifier by cross-validation in 5 folds" in plain.about
    logistic = quality.downstream(Z, y, LogisticRegression())
    assert logistic.value > 0.9
    assert "LogisticRegression" in logistic.about
    assert quality.downstream(Z, np.array(["x", "y", "z"])[y], LogisticRegression()).value == logistic.value
    noise = np.random.default_rng(0).standard_normal(Z.shape)
    assert quality.downstream(noise, y).high < 0.7
    some = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:3]]
    assert "in 3 folds" in quality.downstream(Z[some], y[some]).about


def test_rows_without_coordinates_are_left_out(wine):
    Z, y = wine
    holes = Z.copy()
    holes[[0, 5]] = np.nan
    kept = np.isfinite(holes[:, 0])
    for measure in (
        quality.silhouette,
        quality.neighborhood_hit,
        quality.nearest_neighbor_accuracy,
        quality.downstream,
    ):
        found = measure(holes, y, per_row=True)
        assert found.left_out == 2
        assert found.value == measure(Z[kept], y[kept]).value
        assert np.isnan(found.per_row[[0, 5]]).all()


@pytest.mark.parametrize(
    "measure", [quality.silhouette, quality.neighborhood_hit, quality.nearest_neighbor_accuracy, quality.downstream]
)
def test_what_cannot_be_is_said(measure, wine):
    Z, y = wine
    with pytest.raises(DataError, match="one value for each of the 178 rows"):
        measure(Z, y[:-1])
    with pytest.raises(DataError, match="greater than one"):
        measure(Z, np.zeros(178, dtype=int))
    with pytest.raises(DataError, match="continuous"):
        measure(Z, y + 0.5)
    with pytest.raises(DataError, match="All rows of Z are equal"):
        measure(np.ones((178, 2)), y)


def test_wrong_choices(wine):
    Z, y = wine
    with pytest.raises(ParameterError, match="Choose at most 177"):
        quality.neighborhood_hit(Z, y, 178)
    with pytest.raises(ParameterError, match="folds=1"):
        quality.downstream(Z, y, folds=1)
    with pytest.raises(DataTypeError, match="does not predict"):
        quality.downstream(Z, y, lowland.PCA())
    lone = y.copy()
    lone[0] = 9
    with pytest.raises(DataError, match="Only one row has the label 9"):
        quality.downstream(Z, lone)
