"""Table: columns with roles are never features; labels and weights reach the fit, ids and kept columns the user."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lowland as ll
from lowland.errors import DataError, ParameterError

N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
WEIGHTS = 1 + np.arange(N) % 3
CLASSES = np.where(X[:, 0] > 0, "high", "low")


@pytest.fixture
def frame():
    table = pd.DataFrame(X, columns=list("abc"))
    return table.assign(who=[f"p{i}" for i in range(N)], w=WEIGHTS, kind=CLASSES, city="Bonn")


@pytest.fixture(params=["pandas", "polars", "csv", "parquet", "jsonl"])
def source(request, frame, tmp_path):
    if request.param == "pandas":
        return frame
    if request.param == "polars":
        return pl.from_pandas(frame)
    path = tmp_path / f"table.{request.param}"
    write = {"csv": frame.to_csv, "parquet": frame.to_parquet}
    if request.param == "jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        write[request.param](path, index=False)
    return path


ROLES = {"id": "who", "label": "kind", "weight": "w", "keep": ["city"]}


def test_roles(source):
    table = ll.Table(source, **ROLES)
    assert table.names == ["a", "b", "c"]
    assert table.ids.tolist() == [f"p{i}" for i in range(N)]
    assert table.labels.tolist() == CLASSES.tolist()
    assert table.weights.tolist() == WEIGHTS.tolist()
    assert {name: set(values) for name, values in table.kept.items()} == {"city": {"Bonn"}}
    np.testing.assert_allclose(table.rows.to_array(), X)
    assert table.n in (N, None)


def test_fit_uses_labels_and_weights(source):
    table = ll.Table(source, **ROLES)
    model = ll.PCA(2).fit(table)
    np.testing.assert_allclose(model.components_, ll.PCA(2).fit(X, sample_weight=WEIGHTS).components_)
    assert model.label_name_ == "kind"
    np.testing.assert_allclose(model.transform(table), model.transform(source))  # selects its columns beside the label
    unweighted = ll.Table(source, id="who", label="kind", keep=["city", "w"])
    lda = ll.LinearDiscriminantAnalysis().fit(unweighted)
    assert lda.predict(unweighted).tolist() == ll.LinearDiscriminantAnalysis().fit(X, CLASSES).predict(X).tolist()


def test_a_method_without_weights_refuses_them(frame):
    with pytest.raises(ParameterError, match=r"Isomap.*sample weights.*weight='w'"):
        ll.Isomap().fit(ll.Table(frame, **ROLES))


def test_what_is_passed_comes_before_the_roles(frame):
    model = ll.PCA(2).fit(ll.Table(frame, **ROLES), sample_weight=np.ones(N))
    np.testing.assert_allclose(model.components_, ll.PCA(2).fit(X).components_)
    other = ll.Table(frame, label="city", keep=["who", "w", "kind"])
    assert ll.LinearDiscriminantAnalysis().fit(other, CLASSES).classes_.tolist() == ["high", "low"]


def test_partial_fit(frame):
    table = ll.Table(frame, **ROLES)
    np.testing.assert_allclose(ll.PCA(2).partial_fit(table).components_, ll.PCA(2).fit(table).components_)
    labeled = ll.Table(frame, id="who", label="kind", keep=["city", "w"])
    assert ll.LinearDiscriminantAnalysis().partial_fit(labeled).classes_.tolist() == ["high", "low"]


def test_anndata(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5ad", "w") as file:
        file["X"] = X
        obs, var = file.create_group("obs"), file.create_group("var")
        obs.attrs["_index"], obs.attrs["column-order"] = "cell", ["kind"]
        obs["cell"], obs["kind"] = [f"c{i}".encode() for i in range(N)], [c.encode() for c in CLASSES]
        var.attrs["_index"], var["g"] = "g", [b"a", b"b", b"c"]
    table = ll.Table(tmp_path / "t.h5ad", label="kind")
    assert (table.id_name, table.ids[2], table.n) == ("cell", "c2", N)
    assert ll.LinearDiscriminantAnalysis().fit(table).classes_.tolist() == ["high", "low"]
    assert ll.TablePreparer().fit(table).transform(table).shape == (N, 3)
    assert ll.compare(tmp_path / "t.h5ad", "kind", ["pca"], cache=False).table.label_name == "kind"


def test_roles_as_values():
    ids = [f"s{i}" for i in range(N)]
    table = ll.Table(X, id=ids, label={"kind": CLASSES}, weight=WEIGHTS, keep={"city": ["Ulm"] * N})
    assert (table.id_name, table.label_name, table.n) == ("id", "kind", N)
    assert table.ids.tolist() == ids
    assert table.kept["city"][3] == "Ulm"
    np.testing.assert_allclose(ll.PCA(2).fit(table).components_, ll.PCA(2).fit(X, sample_weight=WEIGHTS).components_)
    assert ll.LinearDiscriminantAnalysis().fit(ll.Table(X, label=CLASSES)).classes_.tolist() == ["high", "low"]
    with pytest.raises(DataError, match="id needs one value for each of the 40 rows"):
        _ = ll.Table(X, id=ids[1:]).ids


def test_functions_take_a_table(frame, tmp_path):
    table = ll.Table(frame, id="who", keep=["w", "kind", "city"])
    Z = ll.PCA(2).fit_transform(table)
    assert ll.quality.trustworthiness(table, Z).value == ll.quality.trustworthiness(X, Z).value
    assert ll.impute(table).shape == (N, 3)
    found = ll.look(ll.Table(frame, id="who", label="kind", drop=["w", "city"]))
    assert [column.name for column in found.columns] == ["a", "b", "c", "who", "kind"]
    assert found.label == "kind"
    assert found.drop == ()
    assert ll.open_rows(table).names == ("a", "b", "c")
    prepared = ll.TablePreparer().fit(ll.Table(frame, id="who", columns=["kind", "a"]))
    assert list(prepared.kinds_) == ["kind", "a"]
    with ll.config(output="frame"):
        assert ll.PCA(2).fit_transform(ll.Table(frame.set_index("who"), columns=["a", "b"])).index[3] == "p3"


@pytest.mark.parametrize(
    ("change", "name", "first"),
    [
        (lambda f: f, None, None),
        (lambda f: f.set_index("who"), "who", "p0"),
        (lambda f: f.set_index("who").rename_axis(None), "index", "p0"),
        (lambda f: f[f.w > 1], "index", 1),
        (lambda f: f.rename_axis("sample"), "sample", 0),
        (lambda f: f.rename_axis("a"), "a (index)", 0),
        (lambda f: f.set_index(["city", "who"]), "city, who", "Bonn, p0"),
        (lambda f: f.set_index(np.arange(N)), None, None),
        (lambda f: pd.concat([f, f]), None, None),
        (lambda f: pl.from_pandas(f), None, None),
    ],
)
def test_the_index_of_a_pandas_frame(frame, change, name, first):
    changed = change(frame[["who", "a", "b", "w", "city"]])
    table = ll.Table(changed, columns=["a", "b"])
    assert table.id_name == name
    assert (None if table.ids is None else table.ids[0]) == first
    assert table.names == ["a", "b"]


def test_the_index_in_a_parquet_file(frame, tmp_path):
    frame.set_index("who").to_parquet(tmp_path / "named.parquet")
    table = ll.Table(tmp_path / "named.parquet", keep=["city"], drop=["kind"])
    assert (table.id_name, table.ids[1], table.names) == ("who", "p1", ["a", "b", "c", "w"])
    frame[["a", "b"]].set_index(frame.who.rename(None)).to_parquet(tmp_path / "unnamed.parquet")
    assert ll.Table(tmp_path / "unnamed.parquet").id_name == "index"
    assert ll.open_rows(tmp_path / "unnamed.parquet").names == ("a", "b")


def test_an_unnamed_first_column(frame, tmp_path):
    frame[["a", "b"]].set_index(frame.who.rename(None)).to_csv(tmp_path / "t.csv")
    table = ll.Table(tmp_path / "t.csv")
    assert (table.id_name, table.ids[2], table.names) == ("column 1", "p2", ["a", "b"])
    assert "ids of the rows" in table.notes[0]


def test_mistakes(frame, tmp_path):
    with pytest.raises(ParameterError, match="Did you mean 'who'"):
        ll.Table(frame, id="whoo")
    with pytest.raises(ParameterError, match="no column names"):
        ll.Table(X, id="who")
    with pytest.raises(ParameterError, match="Options of reading"):
        ll.Table(frame, separators=";")
    with pytest.raises(ParameterError, match="2 columns"):
        ll.Table(X, id={"a": X[:, 0], "b": X[:, 1]})


def test_its_call(tmp_path, frame):
    frame.to_csv(tmp_path / "t.csv", index=False)
    path = str(tmp_path / "t.csv")
    assert repr(ll.Table(path, id="who", keep=["city"])) == f"lowland.Table({path!r}, id='who', keep=['city'])"
    assert repr(ll.Table(X, label=CLASSES)) == "lowland.Table(X, label=…)"
