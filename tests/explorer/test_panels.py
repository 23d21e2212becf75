"""Tables and maps as a page draws them."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import lowland
from lowland.data import load_dataset
from lowland.explorer.panels import MOST_COLUMNS, Panels, encode_column

IRIS = load_dataset("iris")
N = len(IRIS.X)


def decoded(array):
    return np.frombuffer(array["data"], dtype=f"<{array['type']}")


def columns_of(panels):
    return {column["name"]: column for column in panels.table["columns"]}


@pytest.fixture(scope="module")
def study():
    return lowland.compare(IRIS.X, IRIS.y, ["pca", "isomap"], cache=False)


def test_a_study_is_its_maps_with_the_quality_of_each_row(study):
    panels = Panels.of_study(study)
    assert [each["name"] for each in panels.maps] == ["PCA", "Isomap"]
    for each, trial in zip(panels.maps, study.trials, strict=True):
        np.testing.assert_array_equal(decoded(each["coordinates"]).reshape(2, N).T, trial.Z)
        trust = each["trust"]["trustworthiness"]
        np.testing.assert_array_equal(decoded(trust["values"]), trial.per_row["trustworthiness"])
        assert trust["better"] == "higher"
        assert each["scores"]["trustworthiness"] == trial.scores["trustworthiness"].value
    pca, isomap = panels.maps
    assert [axis["name"] for axis in pca["axes"]] == ["PC1", "PC2"]
    assert isomap["axes"] is None
    ranges = {
        (each["trust"]["trustworthiness"]["low"], each["trust"]["trustworthiness"]["high"]) for each in panels.maps
    }
    assert len(ranges) == 1  # a color means the same in both maps
    assert [each["badge"] for each in panels.maps].count("advised") == 1


def test_a_trial_that_failed_is_a_panel_with_its_reason(study):
    failed = dataclasses.replace(study.trials[0], status="failed", error="It failed.", Z=None, per_row={}, scores={})
    gone = dataclasses.replace(failed, name="gone", status="left out")
    panels = Panels.of_study(dataclasses.replace(study, trials=(failed, gone)))
    (only,) = panels.maps
    assert (only["status"], only["error"]) == ("failed", "It failed.")
    assert "coordinates" not in only


def test_rows_that_are_a_sample_keep_their_numbers(study):
    shown = np.arange(0, N, 3)
    sample = {name: getattr(study.table, name)[shown] for name in ("values", "labels")}
    trials = tuple(dataclasses.replace(t, Z=t.Z[shown], per_row={}) for t in study.trials)
    table = dataclasses.replace(study.table, shown=shown, **sample)
    panels = Panels.of_study(dataclasses.replace(study, table=table, trials=trials), IRIS.X)
    assert panels.table["n"] == len(shown)
    np.testing.assert_array_equal(decoded(panels.table["rowNumbers"]), shown)
    np.testing.assert_array_equal(panels.rows_at(np.array([3, 9])), IRIS.X[[3, 9]])
    unknown = Panels.of_study(dataclasses.replace(study, table=table, trials=trials))
    np.testing.assert_allclose(unknown.rows_at(np.array([3, 9]))[study.table.names[0]], IRIS.X[[3, 9], 0], rtol=1e-6)


def test_the_data_of_a_study_must_be_its_own(study):
    with pytest.raises(ValueError, match="150 rows, the data has 10"):
        Panels.of_study(study, IRIS.X[:10])


def test_given_maps_are_drawn_without_rows_that_have_no_coordinates():
    Z = IRIS.X[:, :3].copy()
    Z[4, 1] = np.nan
    panels = Panels.of_maps(IRIS.X, IRIS.y, {"mine": Z})
    drawn = decoded(panels.maps[0]["coordinates"]).reshape(3, N)
    assert np.isnan(drawn[:, 4]).all()
    np.testing.assert_array_equal(np.delete(drawn, 4, axis=1), np.delete(Z, 4, axis=0).T.astype(np.float32))


@pytest.mark.parametrize(
    ("maps", "said"),
    [
        ({}, "empty"),
        ([1, 2], "list"),
        ({"a": IRIS.X[:10]}, "maps have 10 rows, the data has 150"),
        ({"a": IRIS.X, "b": IRIS.X[:10]}, "'b' has 10 rows, 'a' has 150"),
        ({"a": np.zeros((N, 2))}, "'a'.*equal"),
        ({1: IRIS.X}, "name 1.*string"),
    ],
)
def test_maps_that_cannot_be_drawn_are_refused(maps, said):
    with pytest.raises(ValueError, match=said):
        Panels.of_maps(IRIS.X, None, maps)


FRAME = pd.DataFrame(IRIS.X, columns=IRIS.names).assign(species=[IRIS.label_names[i] for i in IRIS.y])


@pytest.mark.parametrize("frame", [FRAME, pl.from_pandas(FRAME), pa.table(FRAME)], ids=["pandas", "polars", "pyarrow"])
def test_selected_rows_are_a_frame_like_the_data(frame):
    panels = Panels.of_maps(frame, "species", {"all": IRIS.X})
    taken = panels.rows_at(np.array([2, 70]))
    assert type(taken) is type(frame)
    back = taken if isinstance(taken, pd.DataFrame) else taken.to_pandas()
    pd.testing.assert_frame_equal(back.reset_index(drop=True), FRAME.iloc[[2, 70]].reset_index(drop=True))
    assert panels.table["columns"][0]["name"] == "species"
    assert panels.table["columns"][0]["levels"] == ["setosa", "versicolor", "virginica"]


@pytest.mark.parametrize(
    "X", [IRIS.X, IRIS.X.tolist(), scipy.sparse.csr_array(IRIS.X)], ids=["array", "list", "sparse"]
)
def test_selected_rows_of_arrays_and_lists(X):
    taken = Panels.of_maps(X, None, {"all": IRIS.X}).rows_at(np.array([2, 70]))
    np.testing.assert_array_equal(taken.toarray() if scipy.sparse.issparse(taken) else taken, IRIS.X[[2, 70]])


def test_a_file_has_its_rows_as_columns(tmp_path):
    FRAME.to_csv(tmp_path / "iris.csv", index=False)
    panels = Panels.of_maps(tmp_path / "iris.csv", "species", {"all": IRIS.X})
    taken = panels.rows_at(np.array([2, 70]))
    assert taken["row"].tolist() == [2, 70]
    assert taken["species"].tolist() == ["setosa", "versicolor"]
    np.testing.assert_array_equal(taken[IRIS.names[0]], IRIS.X[[2, 70], 0])


def test_ids_and_columns_of_a_table_are_shown():
    table = lowland.Table(FRAME.assign(name=[f"flower {i}" for i in range(N)]), id="name", label="species")
    panels = Panels.of_maps(table, None, {"all": IRIS.X})
    assert panels.table["ids"][7] == "flower 7"
    assert panels.table["label"] == 0
    assert "name" not in columns_of(panels)
    assert panels.rows_at(np.array([7]))["name"].tolist() == ["flower 7"]  # the frame that was given


def test_of_many_columns_without_names_the_most_variable_are_kept():
    X = np.random.default_rng(0).standard_normal((30, MOST_COLUMNS + 20)) * np.r_[1 : MOST_COLUMNS + 21]
    names = list(columns_of(Panels.of_maps(X, None, {"all": X})))
    assert len(names) == MOST_COLUMNS
    assert names[-1] == f"x{MOST_COLUMNS + 19}"


def test_columns_are_numbers_dates_categories_or_text():
    number = encode_column("a", [1.5, np.nan, 1e300])
    assert number["kind"] == "number"
    assert decoded(number["values"])[[0, 2]].tolist() == [1.5, float(np.finfo(np.float32).max)]
    assert np.isnan(decoded(number["values"])[1])
    date = encode_column("b", np.array(["2020-01-02", "NaT"], dtype="datetime64[s]"))
    assert (date["kind"], decoded(date["values"])[0]) == ("date", 1577923200000.0)
    assert np.isnan(decoded(date["values"])[1])
    category = encode_column("c", np.array(["run 10", None, "run 9", np.nan, pd.NA], dtype=object))
    assert category["levels"] == ["run 9", "run 10"]
    assert decoded(category["values"]).tolist() == [1, 255, 0, 255, 255]
    text = encode_column("d", [f"text {i}" for i in range(2000)])
    assert (text["kind"], text["values"][3]) == ("text", "text 3")
    nested = encode_column("f", pl.Series([[1, 2], [3], None]).to_numpy())
    assert (nested["kind"], nested["levels"][0]) == ("category", "[1, 2]")
    boxed = encode_column("e", np.array([1, None, 3], dtype=object))
    assert boxed["kind"] == "number"


def test_labels_are_classes_unless_they_are_continuous():
    label = encode_column("y", np.array([10.0, 2.0, np.nan]), is_label=True)
    assert label["levels"] == ["2", "10"]
    assert decoded(label["values"]).tolist() == [1, 0, 255]
    assert encode_column("y", np.arange(100), is_label=True)["kind"] == "number"
    assert encode_column("y", [0.5, 1.0], is_label=True)["kind"] == "number"
    assert encode_column("y", [np.inf, 1.0], is_label=True)["kind"] == "number"
    assert len(encode_column("y", [f"c{i}" for i in range(300)], is_label=True)["levels"]) == 300
