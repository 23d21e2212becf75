"""All measures at once, and the description of a measure."""

import numpy as np
import pytest

import lowland
from lowland import quality
from lowland.data import load_dataset
from lowland.errors import DataError, ParameterError
from lowland.math.neighbors.ranks import PointSet


def test_evaluate_agrees_with_the_single_measures(iris):
    pca = lowland.PCA(2).fit(iris.X)
    Z = pca.transform(iris.X)
    found = {m.name: m for m in quality.evaluate(iris.X, Z, iris.y, model=pca, n_neighbors=7)}
    false, missed = quality.mean_relative_rank_errors(iris.X, Z, 7)
    diagram = quality.shepard(iris.X, Z)
    alone = (
        quality.trustworthiness(iris.X, Z, 7), quality.continuity(iris.X, Z, 7), false, missed,
        quality.lcmc(iris.X, Z, 7), quality.r_nx_area(iris.X, Z), quality.normalized_stress(iris.X, Z),
        quality.sammon_stress(iris.X, Z), diagram.spearman, diagram.pearson, quality.residual_variance(iris.X, Z),
        quality.neighborhood_hit(Z, iris.y, 7), quality.nearest_neighbor_accuracy(Z, iris.y, 7),
        quality.silhouette(Z, iris.y), quality.reconstruction_error(pca, iris.X),
        quality.explained_variance_fraction(pca, iris.X),
    )  # fmt: skip
    for measure in alone:
        assert found[measure.name].value == pytest.approx(measure.value, abs=1e-13), measure.name
        assert found[measure.name].better == measure.better
    in_data = quality.nearest_neighbor_accuracy(iris.X, iris.y, 7).value
    assert found["nearest-neighbor accuracy in the data"].value == in_data
    assert len(found) == len(alone) + 1
    assert len(quality.evaluate(iris.X, Z)) == 11


def test_a_good_embedding_scores_better_than_noise(iris, rng):
    good = quality.evaluate(iris.X, lowland.PCA(2).fit_transform(iris.X), iris.y)
    bad = quality.evaluate(iris.X, rng.standard_normal((150, 2)), iris.y)
    for a, b in zip(good, bad, strict=True):
        if a.name != "nearest-neighbor accuracy in the data":
            assert a.value > b.value if a.better == "higher" else a.value < b.value, a.name


def test_measures_that_cannot_be_computed_are_explained_and_the_others_returned(iris):
    Z = lowland.PCA(2).fit_transform(iris.X)
    with pytest.warns(lowland.errors.DataWarning, match=r"reconstruction error was not computed.*Isomap.*inverse"):
        assert len(quality.evaluate(iris.X, Z, model=lowland.Isomap(2, n_neighbors=50).fit(iris.X))) == 11
    with pytest.warns(lowland.errors.DataWarning, match=r"Fit KernelPCA\(fit_inverse_transform=True\)"):
        quality.evaluate(iris.X, Z, model=lowland.KernelPCA(2).fit(iris.X))


def test_equal_distances_leave_only_measures_without_correlation():
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.standard_normal((60, 60)))[0]  # equal up to rounding
    y = np.arange(60) % 2
    for X in (np.eye(60), 1e-200 * np.eye(60), turn):
        with pytest.warns(lowland.errors.DataWarning, match=r"All distances are equal in the data.*left out"):
            found = {m.name: m.value for m in quality.evaluate(X, X[:, :2], y)}
        expected = [
            "normalized stress",
            "Sammon stress",
            "neighborhood hit",
            "nearest-neighbor accuracy",
            "silhouette",
        ]
        assert list(found) == expected
        assert found["normalized stress"] == quality.normalized_stress(X, X[:, :2]).value
    with pytest.warns(lowland.errors.DataWarning, match="equal in the embedding"):
        names = [m.name for m in quality.evaluate(rng.standard_normal((60, 3)), np.eye(60), y)]
    assert "nearest-neighbor accuracy in the data" in names
    assert "trustworthiness" not in names
    with pytest.raises(DataError, match="All distances are equal in the embedding"):
        quality.shepard(rng.standard_normal((60, 3)), np.eye(60))


def test_excluded_rows_need_no_label(iris):
    Z = lowland.PCA(2).fit_transform(iris.X)
    Z[[3, 77]] = np.nan
    kept = np.isfinite(Z[:, 0])
    labels = {"nan": np.where(kept, iris.y, np.nan), "none": np.where(kept, iris.y.astype(str), None)}
    for y in labels.values():
        for sample in ("auto", 60):
            found = quality.evaluate(iris.X, Z, y, sample=sample)
            assert {m.left_out for m in found} == {2}
        high = quality.OriginalSpace.of(iris.X, labels=y)
        assert [m.value for m in quality.evaluate(high, Z, y)] == pytest.approx(
            [m.value for m in quality.evaluate(iris.X[kept], Z[kept], iris.y[kept])]
        )
        whole = lowland.PCA(2).fit_transform(iris.X)  # every row has coordinates, two have no label
        found = {m.name: m for m in quality.evaluate(iris.X, whole, y)}
        among = {m.name: m for m in quality.evaluate(iris.X[kept], whole[kept], iris.y[kept])}
        for name in ("neighborhood hit", "nearest-neighbor accuracy", "silhouette"):
            assert found[name].value == pytest.approx(among[name].value)
            assert found[name].left_out == 2


def test_arguments_that_contradict_the_original_space_are_refused(iris):
    Z = lowland.PCA(2).fit_transform(iris.X)
    high = quality.OriginalSpace.of(iris.X, metric="manhattan", sample=50, random_state=2)
    plain = quality.evaluate(high, Z)
    same = quality.evaluate(high, Z, metric="manhattan", sample=50, random_state=2)
    assert [m.value for m in same] == [m.value for m in plain]
    for contrary in ({"metric": "cosine"}, {"sample": 60}, {"sample": None}, {"random_state": 3}):
        (name,) = contrary
        for measure in (quality.evaluate, quality.co_ranking, quality.normalized_stress, quality.shepard):
            with pytest.raises(ParameterError, match=f"{name}=.* OriginalSpace .* with {name}=.*OriginalSpace.of"):
                measure(high, Z, **contrary)
    with pytest.raises(ParameterError, match=r"OriginalSpace .* with metric='manhattan'"):
        quality.co_ranking_matrix(high, Z, metric="cosine")
    with pytest.raises(ParameterError, match=r"50 of 150 rows.*sample=None"):
        quality.co_ranking_matrix(high, Z)
    whole = quality.OriginalSpace.of(iris.X, metric="manhattan")
    np.testing.assert_array_equal(
        quality.co_ranking_matrix(whole, Z), quality.co_ranking_matrix(iris.X, Z, metric="manhattan")
    )


def test_the_original_space_is_prepared_once(iris, monkeypatch):
    high = quality.OriginalSpace.of(iris.X, labels=iris.y)
    first = quality.evaluate(high, lowland.PCA(2).fit_transform(iris.X), iris.y)
    counted = []
    ranks = PointSet.all_ranks
    monkeypatch.setattr(PointSet, "all_ranks", lambda self, rows: (counted.append(len(rows)), ranks(self, rows))[1])
    again = quality.evaluate(high, lowland.PCA(2).fit_transform(iris.X), iris.y)
    assert [m.value for m in again] == [m.value for m in first]
    assert counted == []
    assert len(quality.evaluate(high, lowland.PCA(1).fit_transform(iris.X))) == 11
    for measure in (quality.trustworthiness, quality.continuity, quality.lcmc):
        assert measure(high, iris.X[:, :2]).value == measure(iris.X, iris.X[:, :2]).value
        with pytest.raises(ParameterError, match=r"metric='cosine'.*OriginalSpace"):
            measure(high, iris.X[:, :2], metric="cosine")


def test_a_sample_has_intervals_and_is_stratified_by_class():
    digits = load_dataset("digits")
    high = quality.OriginalSpace.of(digits.X, labels=digits.y, sample=100)
    drawn = np.bincount(digits.y[high.places], minlength=10)
    np.testing.assert_allclose(drawn, 100 * np.bincount(digits.y) / len(digits.y), atol=1.01)
    found = quality.evaluate(high, lowland.PCA(2).fit_transform(digits.X), digits.y)
    assert all(m.sample == 100 for m in found)
    assert all(m.low <= m.value <= m.high for m in found)


# --- the inverse transform of every method


@pytest.mark.parametrize(
    "model",
    [
        lowland.KernelPCA(2, kernel="rbf", gamma=0.1, fit_inverse_transform=True),
        lowland.SelfOrganizingMap((5, 5)),
        lowland.SequentialFeatureSelector(n_features_to_select=2),
        lowland.FastICA(2, random_state=0),
        lowland.TruncatedSVD(2),
    ],
    ids=lambda m: type(m).__name__,
)
def test_reconstruction_of_every_method_with_an_inverse(model, iris):
    model.fit(iris.X, iris.y)
    found = quality.reconstruction_error(model, iris.X, per_row=True)
    back = model.inverse_transform(model.transform(iris.X))
    np.testing.assert_allclose(found.per_row, ((iris.X - back) ** 2).sum(axis=1), rtol=1e-7, atol=1e-9)
    assert found.value == pytest.approx(quality.reconstruction_error(model, iris.X).value)
    assert quality.explained_variance_fraction(model, iris.X).value <= 1


def test_a_model_that_scaled_its_columns_is_compared_with_the_scaled_ones(rng):
    X = rng.standard_normal((80, 4)) * [1, 10, 100, 1]
    X[:, 3] = 0.1  # constant
    pca = lowland.PCA(2, scale=True).fit(X)
    Z = pca.transform(X)
    spread = np.where(np.arange(4) < 3, X.std(axis=0, ddof=1), 1.0)
    scaled = quality.evaluate(X / spread, Z)
    found = quality.evaluate(X, Z, model=pca)
    assert [m.value for m in found[: len(scaled)]] == pytest.approx([m.value for m in scaled])
    prepared = quality.OriginalSpace.of(X, scale=True)  # standard deviations, up to a common factor
    assert quality.evaluate(prepared, Z, model=pca)[0].value == pytest.approx(scaled[0].value)
    with pytest.warns(UserWarning, match="scale_"):
        quality.evaluate(quality.OriginalSpace.of(X), Z, model=pca)
    chosen = quality.evaluate(X, Z, model=pca, metric="manhattan")  # the caller's choice
    assert chosen[0].value == pytest.approx(quality.evaluate(X, Z, metric="manhattan")[0].value)
    with pytest.raises(DataError, match="scale"):
        quality.OriginalSpace.of(X, scale=[1.0, 2.0])


def test_of_many_rows_a_sample_is_ranked(rng):
    """The interval of the sampled area contains that of all rows."""
    X = rng.standard_normal((4_200, 3))
    found = {m.name: m for m in quality.evaluate(X, X[:, :2])}["area under R_NX"]
    assert found.sample == 1_024
    assert found.low < quality.r_nx_area(X, X[:, :2], sample=None).value < found.high
