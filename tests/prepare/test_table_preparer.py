"""TablePreparer and the steps of its pipelines."""

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import lowland
from lowland import PCA, TablePreparer
from lowland.errors import DataError, DataTypeError, MemoryBudgetError, ModelFileError, ParameterError
from lowland.prepare.steps import EMImputer

# --- tablepreparer: what becomes of each kind of column, new rows, and its place in a pipeline ---


def messy(n=40, seed=0):
    rng = np.random.default_rng(seed)
    income = rng.normal(100, 20, n)
    income[3] = np.nan
    return pd.DataFrame(
        {
            "income": income,
            "smokes": rng.integers(0, 2, n).astype(bool),
            "color": rng.choice(["red", "green", "blue"], n),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), categories=["S", "M", "L"], ordered=True),
            "joined": pd.Timestamp("2020-01-30") + pd.to_timedelta(np.arange(n), unit="D"),
            "title": [f"a {rng.choice(['quick', 'slow'])} brown {rng.choice(['fox', 'dog'])} {i}" for i in range(n)],
            "id": [f"p{i:04}" for i in range(n)],
            "country": "NL",
            "empty": np.full(n, np.nan),
        }
    )


def column(preparer, Z, name):
    return Z[:, preparer.get_feature_names_out().tolist().index(name)]


def test_each_kind_is_encoded_by_its_definition():
    frame = messy()
    preparer = TablePreparer(standardize=False, use=["title"])
    Z = preparer.fit_transform(frame)
    assert preparer.kinds_ == {
        "income": "number", "smokes": "boolean", "color": "category", "size": "ordered", "joined": "date",
        "title": "text", "id": "id", "country": "constant", "empty": "missing",
    }  # fmt: skip
    assert Z.shape == (40, len(preparer.get_feature_names_out()))
    assert np.isfinite(Z).all()
    filled = frame["income"].fillna(frame["income"].median())
    np.testing.assert_array_equal(column(preparer, Z, "income"), filled)
    np.testing.assert_array_equal(column(preparer, Z, "smokes"), frame["smokes"].astype(float))
    for level in ("red", "green", "blue"):
        np.testing.assert_array_equal(column(preparer, Z, f"color_{level}"), (frame["color"] == level).astype(float))
    np.testing.assert_array_equal(column(preparer, Z, "size"), frame["size"].cat.codes)
    joined = frame["joined"].dt
    np.testing.assert_array_equal(column(preparer, Z, "joined day of week"), joined.day_of_week)
    np.testing.assert_allclose(column(preparer, Z, "joined elapsed days"), np.arange(40))
    assert "joined year" not in preparer.get_feature_names_out()  # constant
    assert sum(name.startswith("title ") for name in preparer.get_feature_names_out()) == 10


def test_the_report_has_one_line_per_column():
    report = TablePreparer().fit(messy()).report_
    assert list(report) == list(messy().columns)
    assert all("\n" not in sentence for sentence in report.values())
    for name, words in [("income", "1 missing replaced by the median"), ("size", "S < M < L"), ("id", "identifier"),
                        ("country", "only one value, not used"), ("title", "free text, not used"),
                        ("joined", "day of week")]:  # fmt: skip
        assert words in report[name]


def test_columns_that_are_no_features_are_not_used_unless_named():
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame(
        {
            "x": rng.standard_normal(n),
            "model year": rng.integers(1990, 2020, n),
            "zip": rng.integers(10000, 99999, n),
            "ID": np.r_[np.arange(n - 5), np.arange(5)] * 7 + 1_000_000,  # some rows share one
            "name": [f"Company {i} of the city" for i in range(n)],
            "sparse": np.where(np.arange(n) < 40, np.nan, rng.standard_normal(n)),
            "elo": rng.integers(1850, 2050, n),  # in the range of years, but not called so
        }
    )
    preparer = TablePreparer().fit(frame)
    assert preparer.get_feature_names_out().tolist() == ["x", "elo"]
    for name, words in (("model year", "years"), ("zip", "codes"), ("ID", "identifier"), ("name", "free text"),
                        ("sparse", "67% missing")):  # fmt: skip
        assert words in preparer.unused_[name]
        assert preparer.report_[name] == f"{preparer.unused_[name]}, not used"
    named = TablePreparer(use=["model year", "zip", "ID", "sparse"]).fit(frame)
    assert {"x", "elo", "model year", "zip", "ID", "sparse"} == {*named.get_feature_names_out()}
    assert TablePreparer(kinds={"zip": "category"}).fit(frame).kinds_["zip"] == "category"
    with pytest.raises(ParameterError, match="Did you mean 'zip'"):
        TablePreparer(use=["zipp"]).fit(frame)


@pytest.mark.parametrize("target", ["classes", "numbers"])
def test_a_column_that_copies_the_labels_is_not_used(target):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90) if target == "classes" else rng.gamma(2, 10, 90)
    noisy = np.array(["a", "b", "c"])[y.astype(int) % 3]
    noisy[0] = "a" if noisy[0] != "a" else "b"  # nearly one to one
    frame = pd.DataFrame({"x": rng.standard_normal(90), "hint": y + rng.normal(0, 0.5 * np.std(y), 90)})
    frame["copy"] = noisy if target == "classes" else y * 1.08 + 3
    assert TablePreparer().fit(frame, y).unused_ == {"copy": "a copy of the labels"}
    assert "copy" in TablePreparer().fit(frame).missing_  # without labels nobody can tell
    assert "copy" in TablePreparer(use=["copy"]).fit(frame, y).missing_


def test_numbers_are_standardized_where_their_units_differ():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 20))
    counts = rng.poisson(np.geomspace(0.02, 30, 20), (50, 20)).astype(float)
    for table, expected in ((X, False), (X * np.r_[100, np.ones(19)], True), (counts, False), (counts / 60, False),
                            (counts - 1, True), (counts[:, [5, -1]] * [1, 50], True)):  # fmt: skip
        assert TablePreparer().fit(table).standardized_ is expected
    assert TablePreparer().fit(pd.DataFrame({"x": X[:, 0], "color": list("ab") * 25})).standardized_


def test_standardized_columns_have_mean_zero_and_deviation_one():
    preparer = TablePreparer()
    Z = preparer.fit_transform(messy())
    for name in ("income", "size", "joined elapsed days"):
        assert abs(column(preparer, Z, name).mean()) < 1e-12
        assert abs(column(preparer, Z, name).std() - 1) < 1e-12
    assert set(column(preparer, Z, "color_red")) == {0.0, 1.0}


def test_missing_values_stay_where_asked():
    frame = messy()
    frame.loc[5, "size"] = None
    preparer = TablePreparer(impute=None)
    Z = preparer.fit_transform(frame)
    assert np.flatnonzero(np.isnan(column(preparer, Z, "income"))).tolist() == [3]
    assert np.flatnonzero(np.isnan(column(preparer, Z, "size"))).tolist() == [5]
    assert "left missing" in preparer.report_["income"]
    plain = TablePreparer(impute=None, standardize=False)
    np.testing.assert_array_equal(column(plain, plain.fit_transform(frame), "income"), frame["income"])


def test_a_new_level_is_zero_everywhere_or_one_of_the_rest():
    preparer = TablePreparer().fit(messy())
    frame = messy()
    frame.loc[0, "color"] = "pink"
    Z = preparer.transform(frame)
    assert sum(column(preparer, Z, f"color_{level}")[0] for level in ("red", "green", "blue")) == 0
    assert "0 in all" in preparer.report_["color"]

    many = pd.DataFrame({"city": ["a"] * 9 + ["b"] * 8 + list("cdefgh") * 2})
    capped = TablePreparer(max_levels=3).fit(many)
    assert capped.get_feature_names_out().tolist() == ["city_a", "city_b", "city_infrequent_sklearn"]
    assert capped.transform(pd.DataFrame({"city": ["new", "c", "a"]})).tolist() == [[0, 0, 1], [0, 0, 1], [1, 0, 0]]
    assert "one of the rest" in capped.report_["city"]


def test_a_missing_category_is_a_level():
    preparer = TablePreparer().fit(pd.DataFrame({"color": ["red", None, "blue", "red"]}))
    assert preparer.transform(pd.DataFrame({"color": [None, "red"]})).tolist() == [[0, 0, 1], [0, 1, 0]]
    assert "1 missing" in preparer.report_["color"]


def test_levels_of_an_order_can_be_given():
    frame = pd.DataFrame({"size": ["L", "S", "M", "S"]})
    ranks = TablePreparer(ordered={"size": ["S", "M", "L"]}, standardize=False).fit_transform(frame)
    assert ranks[:, 0].tolist() == [2, 0, 1, 0]


def test_frames_files_and_arrays_agree(tmp_path):
    frame = messy().drop(columns=["size", "empty"])
    expected = TablePreparer().fit_transform(frame)
    frame.to_csv(tmp_path / "table.csv", index=False)
    frame.to_parquet(tmp_path / "table.parquet", index=False)
    for source in (
        pl.from_pandas(frame), tmp_path / "table.csv", str(tmp_path / "table.parquet"), frame.to_numpy(dtype=object)
    ):  # fmt: skip
        np.testing.assert_allclose(TablePreparer().fit_transform(source), expected, atol=1e-12)


def test_rows_are_prepared_in_chunks():
    frame = messy()
    preparer = TablePreparer().fit(frame)
    rows = preparer.open_rows(frame)
    assert rows.names == tuple(preparer.get_feature_names_out())
    chunks = [rows.convert(part) for part in rows.read(7)]
    assert len(chunks) == 6
    np.testing.assert_allclose(np.concatenate(chunks), preparer.transform(frame), atol=1e-12)
    np.testing.assert_array_equal(rows.to_array(), preparer.transform(frame))


def test_columns_are_found_by_name():
    frame = messy()
    preparer = TablePreparer().fit(frame)
    shuffled = frame[frame.columns[::-1]].assign(other="x")
    np.testing.assert_array_equal(preparer.transform(shuffled), preparer.transform(frame))
    with pytest.raises(ParameterError, match="color"):
        preparer.transform(frame.drop(columns="color"))


def test_new_rows_may_lack_columns_that_are_dropped():
    frame = pd.DataFrame({"id": ["a", "b", "c", "d"], "x": [1.0, 2.0, 4.0, 3.0], "y": ["u", "v", "u", "v"]})
    fitted = TablePreparer().fit(frame)
    assert fitted.kinds_["id"] == "id"
    assert (fitted.transform(frame[["y", "x"]]) == fitted.transform(frame)).all()
    with pytest.raises(ParameterError, match="no column 'y'"):
        fitted.transform(frame[["id", "x"]])


def test_a_pipeline_before_a_method_fits_and_maps_new_rows():
    pipeline = make_pipeline(TablePreparer(output="arrow"), PCA(2)).fit(messy())
    assert pipeline.transform(messy(10, seed=1)).shape == (10, 2)
    assert "color_red" in pipeline[-1].feature_names_in_
    plain = make_pipeline(TablePreparer(), PCA(2)).fit(messy())
    np.testing.assert_allclose(plain.transform(messy()), pipeline.transform(messy()), atol=1e-12)


def test_equal_names_are_numbered():
    frame = pd.DataFrame({"a_b": [1.0, 2.0, 3.0], "a": ["b", "c", "b"]})
    assert TablePreparer().fit(frame).get_feature_names_out().tolist() == ["a_b", "a_b (2)", "a_c"]


def test_durations_and_times_are_days():
    frame = pl.DataFrame({"took": [datetime.timedelta(hours=h) for h in (12, 36)], "at": [datetime.time(6), None]})
    Z = TablePreparer(standardize=False, kinds={"at": "number"}).fit_transform(frame)
    assert Z.tolist() == [[0.5, 0.25], [1.5, 0.25]]


@pytest.mark.parametrize(
    ("values", "words"),
    [([["a"], ["b"]], "list"), ([b"a", b"b"], "binary"), ([1.0, np.inf], "infinity"), ([{"a": 1}, {"a": 2}], "struct")],
)
def test_a_column_that_cannot_be_prepared_is_named(values, words):
    frame = pl.DataFrame({"odd": values, "x": [1.0, 2.0]})
    with pytest.raises(ValueError if words == "infinity" else TypeError, match=f"'odd'.*{words}"):
        TablePreparer().fit(frame)
    assert TablePreparer(kinds={"odd": "drop"}).fit_transform(frame).shape == (2, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"impute": "mode"}, "impute.*median"),
        ({"max_levels": 1}, "max_levels.*at least 2"),
        ({"kinds": {"income": "nummer"}}, "kinds.*Did you mean 'number'"),
        ({"kinds": {"incomes": "number"}}, "incomes.*Did you mean 'income'"),
        ({"ordered": {"hue": ["a"]}}, "ordered.*hue.*Choose one of 'income', 'smokes'"),
        ({"ordered": {"size": ["S", "M"]}}, "ordered.*'size' has the level 'L', which is not listed"),
    ],
)
def test_a_wrong_option_is_named(options, words):
    with pytest.raises(ParameterError, match=words):
        TablePreparer(**options).fit(messy())


def test_text_in_a_column_of_numbers_is_named():
    with pytest.raises(
        DataError, match=r"^Column 'color' is prepared as a number, but it contains '\w+', which is not a n"
    ):
        TablePreparer(kinds={"color": "number"}).fit(messy())


def test_a_table_without_anything_to_prepare_is_refused():
    with pytest.raises(DataError, match="No column is left"):
        TablePreparer().fit(pd.DataFrame({"a": ["x", "x"], "b": [None, None]}))


def test_dates_with_times_and_gaps():
    dates = [datetime.datetime(2021, 3, 1, 6), None, datetime.datetime(2022, 3, 1, 18)]
    preparer = TablePreparer(standardize=False, impute=None)
    Z = preparer.fit_transform(pd.DataFrame({"t": dates}))
    assert preparer.get_feature_names_out().tolist() == ["t year", "t day of week", "t hour", "t elapsed days"]
    assert Z[[0, 2]].tolist() == [[2021, 0, 6, 0], [2022, 1, 18, 365.5]]
    assert np.isnan(Z[1]).all()


def test_dates_in_other_orders_and_words_for_yes_and_no():
    frame = pd.DataFrame(
        {
            "day": ["31.12.2023", "1.2.2024 12:00", None],
            "us": ["12/31/2023", "02/01/2024", "02/01/2024"],
            "either": ["1/2/2024", "3/4/2024", "5/6/2024"],
            "ok": ["Ja", "nein", "ja"],
        }
    )
    preparer = TablePreparer(standardize=False, impute=None)
    Z = preparer.fit_transform(frame)
    assert preparer.date_orders_ == {"day": "day first", "us": "month first", "either": "month first"}
    assert column(preparer, Z, "day elapsed days")[:2].tolist() == [0, 32.5]
    assert column(preparer, Z, "us elapsed days").tolist() == [0, 32, 32]
    assert column(preparer, Z, "either month").tolist() == [1, 3, 5]
    assert column(preparer, Z, "ok").tolist() == [1, 0, 1]
    assert "month first assumed" in preparer.report_["either"]
    assert "assumed" not in preparer.report_["us"]
    with pytest.raises(DataError, match=r"'us'.*'31/12/2024'.*not a date"):
        preparer.transform(frame.assign(us="31/12/2024"))
    with pytest.raises(DataError, match=r"'ok'.*'vielleicht'"):
        preparer.transform(frame.assign(ok="vielleicht"))
    new = frame.assign(us=pd.Timestamp("2024-02-01"), ok=False)  # other types of the same kinds
    assert column(preparer, preparer.transform(new), "us elapsed days").tolist() == [32] * 3


def test_codes_are_the_same_levels_in_integers_and_floats():
    frame = pd.DataFrame({"zip": [1011, 1012, 1011, 1013], "x": [1.0, 2.0, 3.0, 4.0]})
    preparer = TablePreparer(kinds={"zip": "category"}).fit(frame)
    np.testing.assert_array_equal(preparer.transform(frame), preparer.transform(frame.assign(zip=frame["zip"] * 1.0)))


def test_marks_of_missing_values_are_refused_together():
    numbers = [str(i) for i in range(20)]
    frame = pd.DataFrame({"a": [*numbers, "?"], "b": [*numbers[:10], "n/k", *numbers[10:]], "c": [np.nan, *range(20)]})
    with pytest.raises(DataTypeError) as refused:
        TablePreparer().fit(frame)
    for words in ("'a'", "'?' (row 21)", "'b'", "'n/k' (row 11)", "'c' (1)", "replace them", "kinds="):
        assert words in str(refused.value)
    assert TablePreparer(kinds={"a": "category", "b": "drop"}).fit(frame).kinds_["a"] == "category"


def test_a_file_beyond_the_budget_is_refused_before_it_is_read(tmp_path, monkeypatch):
    messy(3000).to_csv(tmp_path / "x.csv", index=False)
    pq.write_table(pa.table({"a": np.ones(10**6), "b": np.ones(10**6)}), tmp_path / "x.parquet")  # a few kB
    monkeypatch.setattr("lowland.data.formats.parquet.ParquetReader.batches", None)  # must not be called
    np.save(tmp_path / "x.npy", np.ones((10**5, 20)))
    for name, budget in (("x.csv", "100kB"), ("x.parquet", "10MB"), ("x.npy", "10MB")):
        with lowland.config(memory=budget), pytest.raises(MemoryBudgetError, match="One table of all rows"):
            TablePreparer().fit(tmp_path / name)


def test_an_encoded_table_beyond_the_budget_is_refused():
    frame = pd.DataFrame({f"c{j}": list("abcde") * 200 for j in range(20)})
    with lowland.config(memory="1MB"), pytest.raises(MemoryError, match="max_levels"):
        TablePreparer().fit(frame)
    with lowland.config(memory="1MB"):
        TablePreparer(max_levels=2).fit(frame)


@pytest.mark.parametrize(("frames", "output"), [("pandas", "array"), ("polars", "arrow")])
def test_frames_as_output(frames, output):
    preparer = TablePreparer(output=output).set_output(transform=frames)
    found = preparer.fit_transform(messy())
    assert type(found).__module__.startswith(frames)
    assert list(found.columns) == preparer.get_feature_names_out().tolist()
    np.testing.assert_array_equal(found.to_numpy(), TablePreparer().fit_transform(messy()))


def test_it_works_inside_a_column_transformer_and_survives_pickle():
    columns = ColumnTransformer([("mixed", TablePreparer(), ["color", "size", "income"])], remainder="drop")
    pipeline = make_pipeline(columns, PCA(2)).fit(messy())
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(again.transform(messy(10, 1)), pipeline.transform(messy(10, 1)))
    assert columns.fit(messy()).get_feature_names_out().tolist()[0] == "mixed__income"
    np.testing.assert_array_equal(clone(pipeline).fit(messy()).transform(messy()), pipeline.transform(messy()))


@pytest.mark.parametrize("imputer", [SimpleImputer(), EMImputer()], ids=lambda step: type(step).__name__)
def test_a_pipeline_with_skrub_in_front(imputer, tmp_path):
    skrub = pytest.importorskip("skrub")
    table = messy().drop(columns=["empty", "id", "title"])
    pipeline = make_pipeline(skrub.TableVectorizer(), imputer, PCA(2)).fit(table)
    assert np.isfinite(pipeline.transform(table[:10])).all()
    with pytest.raises(ModelFileError, match="tablevectorizer"):
        lowland.save(pipeline, tmp_path / "m")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # the tables of EMImputer are small and degenerate
@parametrize_with_checks([TablePreparer(), EMImputer()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# --- emimputer: the values of pca(missing="em"), names, model files ---


def test_incomplete_rows_are_imputed_by_em_and_saved(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 5)) + 0.1 * rng.standard_normal((80, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    pipeline = make_pipeline(EMImputer(), PCA(2)).fit(X)
    np.testing.assert_allclose(pipeline[0].transform(X), lowland.impute(X, "em"), atol=1e-10)
    lowland.save(pipeline, tmp_path / "m")
    again = lowland.load(tmp_path / "m")
    assert np.array_equal(again.transform(X), pipeline.transform(X))
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = EMImputer().fit(frame)
    assert named.transform(frame).columns.tolist() == named.get_feature_names_out().tolist() == list("abcde")
    np.testing.assert_allclose(named.open_rows(frame).to_array(), named.transform(frame), atol=1e-12)


def test_values_whose_squares_overflow_are_named():
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((10, 2)) * [1e200, 1], columns=["a", "b"])
    with pytest.raises(DataError, match=r"'a' are too large .* Change the unit"):
        TablePreparer().fit(frame)
    assert np.isfinite(TablePreparer(standardize=False).fit_transform(frame)).all()
