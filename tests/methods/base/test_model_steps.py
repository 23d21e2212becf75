"""Pipelines in model files: they transform to the same bits, and nothing but known classes is rebuilt."""

import json

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from lowland import PCA, KernelPCA, TablePreparer, load, save
from lowland.errors import DataWarning, ModelFileError
from lowland.methods.model_files import _checksum, _read


def numbers(missing=False):
    X = np.random.default_rng(0).gamma(2.0, size=(60, 5))
    if missing:
        X[::7, 1] = np.nan
    return X


def table(n=60, seed=1):
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 9, n)
    age[4] = np.nan
    return pd.DataFrame(
        {
            "age": age,
            "color": rng.choice(["red", "green", "blue"], n),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), categories=["S", "M", "L"], ordered=True),
            "joined": pd.Timestamp("2020-01-30") + pd.to_timedelta(np.arange(n) * 11, unit="h"),
            "title": [f"the {rng.choice(['quick', 'slow'])} {rng.choice(['fox', 'dog'])} number {i}" for i in range(n)],
            "smokes": rng.integers(0, 2, n).astype(bool),
        }
    )


def same_bits(pipeline, X, tmp_path):
    save(pipeline, tmp_path / "pipeline.lowland")
    loaded = load(tmp_path / "pipeline.lowland")
    assert repr(loaded) == repr(pipeline)
    before, after = np.asarray(pipeline.transform(X)), np.asarray(loaded.transform(X))
    assert before.dtype == after.dtype
    assert before.tobytes() == after.tobytes()
    return loaded


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler(), Normalizer(), PowerTransformer(),
        QuantileTransformer(n_quantiles=20), SimpleImputer(strategy="median", add_indicator=True),
        KNNImputer(n_neighbors=3), "passthrough",
    ],
    ids=lambda step: type(step).__name__,
)  # fmt: skip
def test_each_scaler_and_imputer_before_a_method(step, tmp_path):
    X = numbers(missing="Imputer" in type(step).__name__)
    same_bits(Pipeline([("first", step), ("pca", PCA(2))]).fit(X), X, tmp_path)


def test_encoders_of_columns(tmp_path):
    frame = table()
    columns = ColumnTransformer(
        [
            ("number", make_pipeline(SimpleImputer(), StandardScaler()), ["age"]),
            ("levels", OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=2), ["color"]),
            ("rank", OrdinalEncoder(categories=[["S", "M", "L"]]), ["size"]),
            ("same", "passthrough", ["smokes"]),
        ]
    )
    loaded = same_bits(make_pipeline(columns, PCA(2)).fit(frame), frame, tmp_path)
    assert loaded[0].get_feature_names_out().tolist()[0] == "number__age"


@pytest.mark.parametrize(
    "options", [{}, {"output": "arrow"}, {"impute": None, "texts": "drop"}, {"standardize": False}]
)
def test_a_prepared_table(options, tmp_path):
    frame = table()
    preparer = TablePreparer(**options).fit(frame)
    loaded = same_bits(preparer, frame, tmp_path)
    assert loaded.report_ == preparer.report_
    assert loaded.get_feature_names_out().tolist() == preparer.get_feature_names_out().tolist()
    if options.get("impute", "median"):
        same_bits(make_pipeline(TablePreparer(**options), PCA(2)).fit(frame), table(20, seed=2), tmp_path)


def test_pipelines_inside_pipelines(tmp_path):
    X = numbers()
    both = FeatureUnion([("a", PCA(1)), ("b", make_pipeline(MinMaxScaler(), PCA(2)))])
    same_bits(make_pipeline(StandardScaler(), both).fit(X), X, tmp_path)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (LogisticRegression(), r"'last'.*LogisticRegression"),
        (FunctionTransformer(np.arctan), r"'last'.*func"),
        (ColumnTransformer([("log", FunctionTransformer(np.arctan), [0])]), r"'last.log'.*func"),
        (type("Mine", (StandardScaler,), {})(), r"'last'.*Mine"),
    ],
    ids=["classifier", "function", "inside", "subclass"],
)
def test_another_step_is_refused_by_name(step, words, tmp_path):
    X, y = numbers(), np.repeat([0, 1], 30)
    pipeline = Pipeline([("scale", StandardScaler()), ("last", step)]).fit(X, y)
    with pytest.raises(ModelFileError, match=words):
        save(pipeline, tmp_path / "pipeline.lowland")
    assert not list(tmp_path.iterdir())


def test_a_selector_of_columns_is_refused(tmp_path):
    chosen = ColumnTransformer([("n", StandardScaler(), make_column_selector("age"))])
    with pytest.raises(ModelFileError, match=r"transformers.*make_column_selector"):
        save(make_pipeline(chosen, PCA(1)).fit(table().dropna()), tmp_path / "pipeline.lowland")


def test_a_cache_is_refused(tmp_path):
    pipeline = Pipeline([("pca", PCA(1))], memory=str(tmp_path / "cache")).fit(numbers())
    with pytest.raises(ModelFileError, match="memory"):
        save(pipeline, tmp_path / "pipeline.lowland")


def test_a_function_of_a_method_is_described_as_ever(tmp_path):
    X = numbers()
    pipeline = make_pipeline(StandardScaler(), KernelPCA(1, kernel=lambda a, b: float(a @ b))).fit(X)
    with pytest.warns(UserWarning, match="kernel"):
        save(pipeline, tmp_path / "pipeline.lowland")


def forged(path, change):
    """Rewrite the header of a model file, with a matching checksum."""
    header, arrays = _read(path)
    change(header)
    header["checksum"] = _checksum(header, arrays)
    save_file(arrays, path, metadata={"lowland": json.dumps(header)})


def first_step(header):
    return header["parameters"]["steps"]["list"][0]["list"][1]["estimator"]


@pytest.mark.parametrize(
    "change",
    [
        lambda h: first_step(h).update({"class": "FunctionTransformers"}),
        lambda h: first_step(h).update({"class": "os.system"}),
        lambda h: first_step(h).update({"class": ["StandardScaler"]}),
        lambda h: first_step(h)["state"].update({"transform": 1}),
        lambda h: first_step(h)["state"].update({"__class__": "x"}),
        lambda h: first_step(h)["state"].update({"_secret": 1}),
        lambda h: first_step(h)["parameters"].update({"with_median": True}),
        lambda h: first_step(h)["parameters"].update({"copy": {"described": "x"}}),
        lambda h: first_step(h).pop("state"),
        lambda h: h["parameters"].update({"memory": "/tmp/cache"}),
        lambda h: h["parameters"].update({"steps": 3}),
        lambda h: h["parameters"].update({"steps": {"list": [{"list": ["a", 3], "tuple": True}], "tuple": False}}),
        lambda h: h.update({"class": "BaseEstimator"}),
    ],
)
def test_a_forged_file_is_refused(change, tmp_path):
    path = tmp_path / "pipeline.lowland"
    save(make_pipeline(StandardScaler(), PCA(1)).fit(numbers()), path)
    forged(path, change)
    with pytest.raises(ModelFileError):
        load(path)


def test_steps_too_deep_are_refused(tmp_path):
    path = tmp_path / "pipeline.lowland"
    save(make_pipeline(StandardScaler(), PCA(1)).fit(numbers()), path)

    def deepen(header):
        form = first_step(header)
        for _ in range(40):
            steps = {"list": [{"list": ["a", {"estimator": form}], "tuple": True}], "tuple": False}
            form = {"class": "Pipeline", "parameters": {"steps": steps}, "state": {}}
        header["parameters"]["steps"]["list"][0]["list"][1]["estimator"] = form

    forged(path, deepen)
    with pytest.raises(ModelFileError):
        load(path)


def test_another_version_of_scikit_learn_is_said(tmp_path):
    path = tmp_path / "pipeline.lowland"
    save(make_pipeline(StandardScaler(), PCA(1)).fit(numbers()), path)
    forged(path, lambda h: h.update({"scikit-learn": "1.2.0"}))
    with pytest.warns(DataWarning, match=r"scikit-learn 1\.2\.0"):
        load(path)


def test_missing_levels_of_ordinal_encoders(tmp_path):
    X = np.array([["a", np.nan], ["b", 2.0], [None, 3.0]], dtype=object)
    same_bits(make_pipeline(OrdinalEncoder(encoded_missing_value=-1), PCA(1)).fit(X), X, tmp_path)
