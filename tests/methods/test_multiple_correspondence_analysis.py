"""Multiple correspondence analysis: laws that link it to CA, missing and unknown categories, files and text."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lowland
from lowland import CorrespondenceAnalysis, MultipleCorrespondenceAnalysis
from lowland.errors import DataError, DataTypeError, DataWarning


def frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "color": np.array(["red", "green", "blue"])[(kind + (rng.random(n) < 0.3)) % 3],
            "size": np.array(list("SML"))[(kind + rng.integers(0, 2, n)) % 3],
            "sold": (kind + rng.integers(0, 2, n)) > 1,
            "shop": (kind * rng.integers(0, 3, n)) % 4,
        }
    )


def indicators(X):
    return pd.get_dummies(X.astype(str)).to_numpy(dtype=float)


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(20, 80))
def test_it_is_correspondence_analysis_of_the_indicators(seed, n):
    X = frame(n, seed)
    Z = indicators(X)
    mca = MultipleCorrespondenceAnalysis(None).fit(X)
    k = mca.n_components_
    direct = CorrespondenceAnalysis(k).fit(Z)
    np.testing.assert_allclose(mca.eigenvalues_, direct.eigenvalues_, atol=1e-12)
    assert mca.total_inertia_ == pytest.approx(Z.shape[1] / X.shape[1] - 1)
    burt = CorrespondenceAnalysis(k).fit(Z.T @ Z)  # the Burt table has the squared inertias
    np.testing.assert_allclose(burt.eigenvalues_, mca.eigenvalues_**2, atol=1e-12)
    rows, levels = mca.row_points(X), mca.category_points_
    real = mca.eigenvalues_ > 1e-9
    np.testing.assert_allclose(rows.contributions.sum(axis=0)[real], 1)
    np.testing.assert_allclose(levels.contributions.sum(axis=0)[real], 1)
    np.testing.assert_allclose(mca.column_contributions_.sum(axis=0)[real], 1)
    np.testing.assert_allclose(levels.inertias.sum(), mca.total_inertia_)
    np.testing.assert_allclose(levels.masses.sum(), 1)
    np.testing.assert_allclose(rows.cos2.sum(axis=1), 1, atol=1e-6)


def test_two_columns_are_a_cross_table():
    X = frame()[["color", "size"]]
    table = pd.crosstab(X["color"], X["size"])
    ca = CorrespondenceAnalysis(2).fit(table)
    mca = MultipleCorrespondenceAnalysis(2).fit(X)
    np.testing.assert_allclose(mca.eigenvalues_, (1 + np.sqrt(ca.eigenvalues_)) / 2)
    adjusted = MultipleCorrespondenceAnalysis(2, correction="benzecri").fit(X)
    np.testing.assert_allclose(adjusted.adjusted_inertias_, ca.eigenvalues_)  # the adjustment recovers those of CA
    np.testing.assert_allclose(adjusted.explained_variance_ratio_, ca.explained_variance_ratio_)
    greenacre = MultipleCorrespondenceAnalysis(2, correction="greenacre").fit(X)
    np.testing.assert_allclose(greenacre.explained_variance_ratio_, ca.explained_variance_ratio_)
    np.testing.assert_allclose(greenacre.eigenvalues_, mca.eigenvalues_)


def test_levels_are_means_of_their_rows():
    X = frame()
    mca = MultipleCorrespondenceAnalysis(3).fit(X)
    F = mca.transform(X)
    np.testing.assert_allclose(F.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose((F**2).mean(axis=0), mca.eigenvalues_)
    red = F[(X["color"] == "red").to_numpy()]
    at = mca.category_points_.names.tolist().index("color_red")
    G = mca.category_points_.coordinates[at]
    np.testing.assert_allclose(red.mean(axis=0) / np.sqrt(mca.eigenvalues_), G)
    n, m = len(X), len(red)
    np.testing.assert_allclose(mca.category_points_.v_tests[at], G * np.sqrt(m * (n - 1) / (n - m)))


def test_supplementary_columns_are_those_of_the_fit():
    X = frame()
    mca = MultipleCorrespondenceAnalysis(3).fit(X)
    again, active = mca.supplementary_columns(X, X), mca.category_points_
    assert again.names.tolist() == active.names.tolist()
    for what in ("coordinates", "cos2", "masses", "contributions", "v_tests"):
        np.testing.assert_allclose(getattr(again, what), getattr(active, what), atol=1e-10)
    with pytest.raises(DataError, match="columns has 10 rows"):
        mca.supplementary_columns(X, X.head(10))


def test_levels_their_order_and_names():
    X = frame(50)
    X["size"] = pd.Categorical(X["size"], categories=["S", "M", "L", "XL"], ordered=True)
    mca = MultipleCorrespondenceAnalysis(2).fit(X)
    assert [levels.tolist() for levels in mca.categories_[:3]] == [
        ["blue", "green", "red"], ["S", "M", "L"], [False, True],
    ]  # fmt: skip
    assert mca.categories_[3].dtype == np.float64
    assert mca.category_points_.names.tolist()[-1] == f"shop_{X['shop'].max()}"


def test_frames_files_objects_and_chunks_agree(tmp_path):
    X = frame()
    X["sold"] = X["sold"].astype(str)
    Z = MultipleCorrespondenceAnalysis(2).fit_transform(X)
    X.to_csv(tmp_path / "x.csv", index=False)
    X.to_parquet(tmp_path / "x.parquet", row_group_size=37)
    X.astype("category").to_parquet(tmp_path / "c.parquet", row_group_size=37)
    sources = [
        tmp_path / "x.csv",
        tmp_path / "x.parquet",
        pl.from_pandas(X),
        X.astype(object),
        X.to_numpy(dtype=object),
    ]
    sources += [X.astype(str).to_numpy(dtype=str), X.values.tolist(), [X[:50], X[50:]], tmp_path / "c.parquet"]
    for source in sources:
        mca = MultipleCorrespondenceAnalysis(2).fit(source)
        np.testing.assert_allclose(mca.transform(source), Z, atol=1e-12)


def test_missing_values():
    X = frame()
    X.loc[[3, 7], "color"] = None
    X.loc[5, "shop"] = np.nan
    with pytest.raises(DataError, match=r"NaN \(3 values\) in columns 'color' \(\d\), 'shop'"):
        MultipleCorrespondenceAnalysis().fit(X)
    own = MultipleCorrespondenceAnalysis(2, missing="category").fit(X)
    filled = X.assign(color=X["color"].fillna("~"), shop=X["shop"].fillna(9))
    direct = MultipleCorrespondenceAnalysis(2).fit(filled)
    np.testing.assert_allclose(own.transform(X), direct.transform(filled), atol=1e-12)
    assert {"color_missing", "shop_missing"} <= {*own.category_points_.names}
    assert own.categories_[0][-1] is None
    with pytest.raises(DataError, match="NaN"):  # no level for a missing size
        own.transform(X.assign(size=None))
    passive = MultipleCorrespondenceAnalysis(None, missing="passive").fit(X)
    Z = pd.get_dummies(X.astype({"sold": str, "shop": "category"}))  # a missing value has no indicator
    direct = CorrespondenceAnalysis(passive.n_components_).fit(Z.to_numpy(dtype=float))
    np.testing.assert_allclose(passive.eigenvalues_, direct.eigenvalues_, atol=1e-12)
    row = X.head(1).assign(color=None, size=None, sold=None, shop=np.nan)
    assert not passive.transform(row).any()  # a row without an answer lies at the origin


def test_unknown_categories():
    X = frame()
    mca = MultipleCorrespondenceAnalysis(2).fit(X)
    new = X.head(5).copy()
    new.loc[2, "color"] = "violet"
    with pytest.raises(DataError, match=r"'color' has 1 value .*handle_unknown='ignore'"):
        mca.transform(new)
    with pytest.raises(DataError, match="handle_unknown='ignore'"):
        list(mca.transform_chunks(new))
    lenient = MultipleCorrespondenceAnalysis(2, handle_unknown="ignore").fit(X)
    Z = lenient.transform(new)
    np.testing.assert_allclose(np.delete(Z, 2, axis=0), np.delete(mca.transform(X.head(5)), 2, axis=0))
    points = lenient.category_points_
    known = [points.names.tolist().index(f"{c}_{new.loc[2, c]}") for c in ("size", "sold", "shop")]
    np.testing.assert_allclose(Z[2], points.standard_coordinates[known].mean(axis=0))


def test_types_of_columns_must_match_those_of_the_fit():
    X = frame()
    mca = MultipleCorrespondenceAnalysis(2).fit(X)
    with pytest.raises(DataTypeError, match=r"'color'.*numbers"):
        mca.transform(X.assign(color=1))
    with pytest.raises(DataTypeError, match=r"'shop'.*text"):
        mca.transform(X.assign(shop="a"))
    with pytest.raises(DataTypeError, match=r"Column 0 .* numbers"):
        mca.transform(np.zeros((3, 4)))


def test_many_levels_are_a_warning():
    X = np.random.default_rng(0).standard_normal((60, 2))
    with pytest.warns(DataWarning, match=r"0 \(60\), 1 \(60\).*bin"):
        MultipleCorrespondenceAnalysis(1).fit(X)


def test_levels_survive_saving(tmp_path):
    X = frame()
    X["day"] = pd.Categorical.from_codes(X["shop"] % 3, [10, 20, 30], ordered=True)
    X.loc[4, "color"] = None
    mca = MultipleCorrespondenceAnalysis(2, missing="category").fit(X)
    lowland.save(mca, tmp_path / "m.lowland")
    loaded = lowland.load(tmp_path / "m.lowland")
    assert np.array_equal(loaded.transform(X), mca.transform(X))
    assert [levels.tolist() for levels in loaded.categories_] == [levels.tolist() for levels in mca.categories_]
    assert loaded.category_points_.names.tolist() == mca.category_points_.names.tolist()
