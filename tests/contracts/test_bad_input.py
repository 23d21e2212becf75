"""Invalid input gives our own error, with a remedy."""

import inspect

import numpy as np
import pytest

import lowland
from lowland.errors import DataError, DataTypeError, FileProblem, LowlandError, MissingFile, ParameterError
from lowland.methods.registry import entries, load_method

from .battery import COUNTING, METHODS, READING_NUMBERS, labels, make, make_for, table, table_for


def with_value(value):
    X = table()
    X[3, 2] = X[7, 2] = X[5, 4] = value
    return X


BAD = {
    "NaN": (with_value(np.nan), DataError, r"NaN \(3 values\) in columns 2 \(\d\), 4 \(\d\)"),
    "infinity": (with_value(np.inf), DataError, r"infinity \(3 values\) in columns 2, 4"),
    "NaN in float32": (with_value(np.nan).astype(np.float32), DataError, "NaN"),
    "no rows": (np.empty((0, 3)), DataError, "0 sample"),
    "no columns": (np.empty((5, 0)), DataError, "0 feature"),
    "one dimension": (np.arange(5.0), DataError, "reshape"),
    "three dimensions": (np.zeros((2, 3, 4)), DataError, "2D"),
    "a number": (3.0, DataError, "2D"),
    "complex": (table() + 1j, DataError, "Complex"),
    "text": (np.array([["a", "b"], ["c", "d"]]), DataError, "not numbers"),
    "objects": (np.array([[{}, 1], [2, 3]], dtype=object), DataTypeError, "not numbers"),
    "dates": (np.zeros((3, 2), dtype="datetime64[s]"), DataTypeError, "Convert"),
    "ragged lists": ([[1.0, 2.0], [3.0]], DataError, "same number"),
    "a generator": ((row for row in [table()]), DataTypeError, "only once"),
    "chunks of other widths": ([table(), table()[:, :3]], DataError, "columns"),
    "no chunks": ([], DataError, "2D"),
    "a missing file": ("nowhere/to/be/found.csv", MissingFile, "no file"),
}


@pytest.mark.parametrize(
    ("name", "what"), [(n, w) for n in METHODS for w in BAD if w != "text" or n in READING_NUMBERS]
)
def test_bad_data(name, what):
    X, error, words = BAD[what]
    with pytest.raises(error, match=words) as caught:
        make(name).fit(X, labels(240 if what == "chunks of other widths" else 120))
    assert isinstance(caught.value, LowlandError)
    assert str(caught.value).strip().endswith((".", ")"))


@pytest.mark.parametrize("name", METHODS)
def test_arguments_that_a_method_does_not_take_are_an_error_of_the_method(name):
    model, X = make(name), table_for(name)
    taken = inspect.signature(model.fit).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in taken.values()):
        for wrong in {"sample_weight", "basis"} - set(taken):
            for fit in (model.fit, model.fit_transform):
                with pytest.raises(ParameterError, match=rf"^{name}\.fit\w*\({wrong}=.*Omit {wrong}") as error:
                    fit(X, labels(), **{wrong: np.ones(len(X))})
                assert isinstance(error.value, TypeError)
    with pytest.raises(ParameterError, match=rf"^{name}\.transform\(basis=.*Omit basis"):
        model.fit(X, labels()).transform(X, basis=X)


@pytest.mark.parametrize("name", METHODS)
def test_overflow_is_reported_or_avoided(name):
    X = table_for(name, dtype=np.float32) * np.float32(1e30)
    try:
        Z = make(name).fit(X, labels()).transform(X)
    except DataError as error:
        assert "float64" in str(error)  # noqa: PT017  either outcome is right
    else:
        assert np.isfinite(Z).all()


@pytest.mark.parametrize("name", READING_NUMBERS)
def test_text_columns_are_named(name):
    import pandas as pd

    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "color": ["a", "b", "c"], "kind": pd.Categorical(["u", "v", "u"])})
    with pytest.raises(DataTypeError, match=r"'color', 'kind'.*Drop such columns"):
        make(name).fit(frame, labels(3))


@pytest.mark.parametrize("name", COUNTING)
def test_too_many_components(name):
    if name in ("FastICA", "KernelPCA"):  # as in scikit-learn, which takes fewer, or adds zeros
        with pytest.warns(UserWarning, match="n_components=121.* 6 "):
            make_for(name, 121).fit(table_for(name), labels())
        return
    with pytest.raises(ParameterError, match="at most"):
        make_for(name, 121).fit(table_for(name), labels())  # more than there are rows, and columns


@pytest.mark.parametrize("name", METHODS)
def test_invalid_parameters_are_reported_by_fit(name):
    for flag in entries()[name].flags:
        est = make(name).set_params(**{flag.name: object()})
        with pytest.raises(ParameterError, match=flag.name):
            est.fit(table_for(name), labels())


@pytest.mark.parametrize("name", METHODS)
def test_other_columns_at_transform(name):
    import pandas as pd

    frame = pd.DataFrame(table_for(name), columns=list("abcdef"))
    est = make(name).fit(frame, labels())
    with pytest.raises(DataError, match=r"(?s)unseen at fit time:\n- g.*now missing:\n- f"):
        est.transform(frame.rename(columns={"f": "g"}))
    with pytest.raises(DataError, match="same order"):
        est.transform(frame[list("fabcde")])
    with pytest.raises(DataError, match="expecting 6 features"):
        make(name).fit(table_for(name), labels()).transform(table_for(name)[:, :5])
    bad = frame.copy()
    bad.loc[4, "c"] = np.nan
    with pytest.raises(DataError, match=r"NaN \(1 value\) in column 'c'"):
        est.transform(bad)


@pytest.mark.parametrize("name", [name for name in METHODS if hasattr(load_method(name), "inverse_transform")])
def test_coordinates_of_another_width_are_refused(name):
    model = make(name, **({"fit_inverse_transform": True} if name == "KernelPCA" else {}))
    Z = model.fit_transform(table_for(name), labels())
    k = Z.shape[1]
    with pytest.raises(DataError, match=f"has {2 * k} columns, but {name} has {k} component"):
        model.inverse_transform(np.hstack([Z, Z]))


@pytest.mark.parametrize("name", METHODS)
def test_damaged_files(name, tmp_path):
    (tmp_path / "ragged.csv").write_text("a,b\n1,2\n3\n4,5\n")
    with pytest.raises(DataError, match="line 3"):
        make(name).fit(tmp_path / "ragged.csv")
    (tmp_path / "late.csv").write_text("a,b\n" + "1,2\n" * 10 + "x,3\n")
    if name in READING_NUMBERS:
        with pytest.raises((DataError, DataTypeError), match=r"late\.csv"):
            make(name).fit(tmp_path / "late.csv", labels(11))
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DataError, match="empty"):
        make(name).fit(tmp_path / "empty.csv")
    (tmp_path / "header.csv").write_text("a,b\n")
    with pytest.raises(DataError, match=r"0 sample|no rows"):
        make(name).fit(tmp_path / "header.csv", labels(4))
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(FileProblem, match="Parquet"):
        make(name).fit(tmp_path / "x.parquet")
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(FileProblem, match="npy"):
        make(name).fit(tmp_path / "x.npy")
    (tmp_path / "x.xlsx").write_text("")
    with pytest.raises(FileProblem, match=r"valid \.xlsx file"):
        make(name).fit(tmp_path / "x.xlsx")
    (tmp_path / "x.docx").write_text("")
    with pytest.raises(ParameterError, match=r"\.parquet"):
        make(name).fit(tmp_path / "x.docx")


@pytest.mark.parametrize("name", METHODS)
def test_a_failed_fit_leaves_nothing_that_looks_fitted(name):
    from sklearn.exceptions import NotFittedError

    est = make(name)
    with pytest.raises(DataError):
        est.fit(with_value(np.nan), labels())
    with pytest.raises(NotFittedError):
        est.transform(table_for(name))
    est.fit(table_for(name), labels())
    with pytest.raises(DataError):
        est.fit(with_value(np.nan), labels())
    if hasattr(est, "partial_fit"):
        assert est.partial_fit(table_for(name)[:60], labels()[:60]).n_samples_ == 60
        return
    left = {name for name in vars(est) if name.endswith("_")} - {"n_features_in_", "feature_names_in_"}
    assert not left


@pytest.mark.parametrize("name", METHODS)
def test_budget_refuses_with_a_remedy(name):
    with lowland.config(memory="1kB"), pytest.raises(MemoryError, match="config"):
        make(name).fit(lowland.open_rows([table_for(name, 2000)]), labels(2000))


@pytest.mark.parametrize("name", METHODS)
def test_the_plan_refuses_before_the_fit_begins(name, monkeypatch):
    def never(self, *args, **given):
        raise AssertionError("the fit began")

    est = make(name)
    monkeypatch.setattr(type(est), "_solve", never)
    with lowland.config(memory=100), pytest.raises(MemoryError, match=r"needs about .*the memory budget is 100 bytes"):
        est.fit(table_for(name, 500), labels(500))
