"""Factor analysis of mixed data: PCA and MCA as its two ends, and what columns have to do with the axes."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lowland
from lowland import PCA, FactorAnalysisOfMixedData, MultipleCorrespondenceAnalysis
from lowland.errors import DataError, ParameterError


def frame(n=150, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "color": np.array(["red", "green", "blue"])[(kind + (rng.random(n) < 0.3)) % 3],
            "weight": 1000 + 5 * kind + rng.standard_normal(n),
            "sold": (kind + rng.integers(0, 2, n)) > 1,
            "price": rng.exponential(size=n) - kind,
            "shop": (kind * rng.integers(0, 3, n)) % 4,
        }
    )


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(10, 60), d=st.integers(2, 5))
def test_numbers_only_is_pca_of_standardized_columns(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 100
    famd, pca = FactorAnalysisOfMixedData(2).fit(X), PCA(2, scale=True).fit(X)
    np.testing.assert_allclose(famd.eigenvalues_, pca.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(famd.transform(X), pca.transform(X) * np.sqrt(n / (n - 1)), atol=1e-6)
    assert famd.total_inertia_ == pytest.approx(d)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_categories_only_is_mca_times_the_columns(seed):
    X = frame(80, seed)[["color", "sold"]].assign(day=np.random.default_rng(seed).choice(list("abc"), 80))
    famd, mca = FactorAnalysisOfMixedData(2).fit(X), MultipleCorrespondenceAnalysis(2).fit(X)
    np.testing.assert_allclose(famd.eigenvalues_, 3 * mca.eigenvalues_)
    np.testing.assert_allclose(famd.transform(X), np.sqrt(3) * mca.transform(X), atol=1e-9)
    np.testing.assert_allclose(famd.category_points_.v_tests, mca.category_points_.v_tests, atol=1e-8)
    np.testing.assert_allclose(famd.category_points_.contributions, mca.category_points_.contributions, atol=1e-9)


def test_correlations_centroids_and_contributions():
    X = frame()
    famd = FactorAnalysisOfMixedData(3).fit(X)
    F = famd.transform(X)
    np.testing.assert_allclose(F.mean(axis=0), 0, atol=1e-10)
    np.testing.assert_allclose((F**2).mean(axis=0), famd.eigenvalues_)
    names = list(X.columns)
    assert famd.numeric_columns_.tolist() == [1, 3, 4]
    for row, j in zip(famd.correlations_, famd.numeric_columns_, strict=True):
        r = [np.corrcoef(X.iloc[:, j].astype(float), axis)[0, 1] for axis in F.T]
        np.testing.assert_allclose(row, r, atol=1e-10)
        np.testing.assert_allclose(famd.squared_correlations_[j], np.square(r), atol=1e-10)
    means = np.array([F[(X["color"] == c).to_numpy()].mean(axis=0) for c in ("blue", "green", "red")])
    np.testing.assert_allclose(famd.category_points_.coordinates[:3], means, atol=1e-10)
    counts = X["color"].value_counts()[["blue", "green", "red"]].to_numpy()
    eta2 = (counts[:, None] * means**2).sum(axis=0) / (F**2).sum(axis=0)
    np.testing.assert_allclose(famd.squared_correlations_[names.index("color")], eta2, atol=1e-10)
    np.testing.assert_allclose(famd.squared_correlations_.sum(axis=0), famd.eigenvalues_)
    np.testing.assert_allclose(famd.column_contributions_.sum(axis=0), 1)
    rows = famd.row_points(X)
    np.testing.assert_allclose(rows.contributions.sum(axis=0), 1)
    everything = FactorAnalysisOfMixedData(None).fit(X).row_points(X)
    np.testing.assert_allclose(everything.cos2.sum(axis=1), 1)
    np.testing.assert_allclose(everything.inertias.sum(), famd.total_inertia_)


def test_units_of_numbers_do_not_matter():
    X = frame()
    other = X.assign(weight=X["weight"] * 1000 - 5, price=-X["price"])
    one, two = FactorAnalysisOfMixedData(2).fit(X), FactorAnalysisOfMixedData(2).fit(other)
    np.testing.assert_allclose(one.eigenvalues_, two.eigenvalues_)


@pytest.mark.parametrize("columns", ["shop", ["shop"], [4], " shop "])
def test_numbers_as_categories(columns):
    X = frame()
    named = FactorAnalysisOfMixedData(2, categorical_features=columns).fit(X)
    text = X.assign(shop=X["shop"].astype(str))
    np.testing.assert_allclose(named.transform(X), FactorAnalysisOfMixedData(2).fit_transform(text), atol=1e-10)
    assert named.category_points_.names.tolist()[-1].startswith("shop_")


def test_columns_that_do_not_exist():
    for named, words in (("shopp", "shop"), ([7], "from 0 to 4"), (["color", -1], "from 0 to 4")):
        with pytest.raises(ParameterError, match=words):
            FactorAnalysisOfMixedData(2, categorical_features=named).fit(frame())


def test_missing_and_unknown_values():
    X = frame()
    X.loc[3, "color"] = None
    with pytest.raises(DataError, match=r"NaN \(1 value\) in column 'color'"):
        FactorAnalysisOfMixedData().fit(X)
    famd = FactorAnalysisOfMixedData(2, missing="category").fit(X)
    filled = X.assign(color=X["color"].fillna("~"))
    np.testing.assert_allclose(famd.transform(X), FactorAnalysisOfMixedData(2).fit_transform(filled), atol=1e-10)
    X.loc[5, "price"] = np.nan  # numbers have no level for missing values
    with pytest.raises(
        DataError, match=r"NaN \(1 value\) in column 'price' .*first in row 6\. Impute .* first\."
    ) as caught:
        FactorAnalysisOfMixedData(2, missing="category").fit(X)
    assert "lowland.impute" not in str(caught.value)  # which does not read text
    new = filled.head(4).assign(color="violet")
    with pytest.raises(DataError, match=r"'color' has 4 values.*handle_unknown"):
        famd.transform(new)
    lenient = FactorAnalysisOfMixedData(2, handle_unknown="ignore").fit(filled)
    without = lenient.components_.T / lenient.scale_[:, None]
    Y = (new[["weight", "price", "shop"]].to_numpy(dtype=float) - lenient.mean_[:3]) @ without[:3]
    sold = np.eye(2)[new["sold"].astype(int)] - lenient.mean_[-2:]
    np.testing.assert_allclose(lenient.transform(new), Y + sold @ without[-2:], atol=1e-10)


def test_a_constant_column_has_no_influence():
    X = frame()
    one = FactorAnalysisOfMixedData(2).fit(X.assign(flat=3.7, word="same"))
    np.testing.assert_allclose(one.eigenvalues_, FactorAnalysisOfMixedData(2).fit(X).eigenvalues_)
    np.testing.assert_allclose(one.correlations_[-1], 0, atol=1e-12)


def test_files_in_slabs_and_saved_models(tmp_path, monkeypatch):
    X = frame(400)
    X.to_csv(tmp_path / "x.csv", index=False)
    whole = FactorAnalysisOfMixedData(2).fit(X)
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 2000)
    monkeypatch.setattr("lowland.math.correspondence.categories._BLOCK_BYTES", 500)
    parts = FactorAnalysisOfMixedData(2).fit(tmp_path / "x.csv")
    Z = parts.transform(tmp_path / "x.csv")
    np.testing.assert_allclose(Z, whole.transform(X), atol=1e-8)
    lowland.save(parts, tmp_path / "m.lowland")
    assert np.array_equal(lowland.load(tmp_path / "m.lowland").transform(tmp_path / "x.csv"), Z)
