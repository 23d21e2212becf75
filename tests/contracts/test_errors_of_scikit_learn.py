"""``except`` clauses written for scikit-learn catch our errors; its tags are ours."""

import dataclasses
import functools
import inspect

import numpy as np
import pytest
import scipy.sparse
import sklearn.cluster
import sklearn.decomposition
import sklearn.discriminant_analysis
import sklearn.feature_selection
import sklearn.manifold
from sklearn.base import is_clusterer
from sklearn.covariance import LedoitWolf
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.utils import get_tags

import lowland
from lowland.methods.registry import entries

PLACES = (
    sklearn.cluster, sklearn.decomposition, sklearn.discriminant_analysis, sklearn.feature_selection, sklearn.manifold,
)  # fmt: skip
THEIRS = {name: getattr(place, name) for name in entries() for place in PLACES if hasattr(place, name)}
NEEDED = {
    "SequentialFeatureSelector": {"estimator": LinearRegression(), "cv": 2},
    "MDS": {"init": "classical_mds", "n_init": 1},
}
KINDS = (ValueError, TypeError, NotImplementedError, RuntimeError, AttributeError, NotFittedError)
X = np.random.default_rng(0).standard_normal((40, 5))
Y = np.arange(40) % 3
NAN, INFINITE = X.copy(), X.copy()
NAN[3, 2], INFINITE[3, 2] = np.nan, np.inf
TABLES = {
    "NaN": NAN,
    "infinity": INFINITE,
    "strings": np.array([["a", "b"]] * 40),
    "objects": np.array([[1, "b"]] * 40, dtype=object),
    "no rows": np.empty((0, 5)),
    "no columns": np.empty((40, 0)),
    "1d": X[:, 0],
    "3d": X[:, :, None],
    "complex": X + 1j,
    "None": None,
    "dict": {"a": 1},
    "sparse": scipy.sparse.csr_array(X),
    "fewer columns": X[:, :3],
    "more columns": np.c_[X, X],
}
VALUES = {"object": object(), "string": "no such thing", "negative": -3, "dict": {}, "NaN": np.nan, "tuple": (1, 2)}
UNFITTED = (
    "transform", "inverse_transform", "predict", "predict_proba", "decision_function", "score", "score_samples",
    "get_covariance", "get_precision", "get_support", "get_feature_names_out",
)  # fmt: skip
COMBINATIONS = (
    ("LinearDiscriminantAnalysis", {"solver": "svd", "shrinkage": 0.5}, "fit"),
    ("LinearDiscriminantAnalysis", {"solver": "lsqr"}, "transform"),
    ("LinearDiscriminantAnalysis", {"n_components": 4}, "fit"),
    ("FeatureAgglomeration", {"linkage": "ward", "metric": "manhattan"}, "fit"),
    ("FeatureAgglomeration", {"n_clusters": 2, "distance_threshold": 1.0}, "fit"),
    ("FeatureAgglomeration", {"n_clusters": 9}, "fit"),
    ("PCA", {"n_components": 9}, "fit"),
    ("TruncatedSVD", {"n_components": 9}, "fit"),
    ("Isomap", {"n_neighbors": 40}, "fit"),
    ("Isomap", {"n_neighbors": 5, "radius": 1.0}, "fit"),
    ("KernelPCA", {"kernel": "precomputed", "fit_inverse_transform": True}, "fit"),
    ("KernelPCA", {"kernel": "rbf"}, "inverse_transform"),
    ("LocallyLinearEmbedding", {"n_neighbors": 3, "method": "hessian"}, "fit"),
    ("LocallyLinearEmbedding", {"n_components": 9}, "fit"),
    ("SequentialFeatureSelector", {"tol": -1.0, "n_features_to_select": "auto"}, "fit"),
    ("SequentialFeatureSelector", {"n_features_to_select": 9}, "fit"),
)

pytestmark = pytest.mark.filterwarnings("ignore")


def error_of(work):
    try:
        work()
    except Exception as error:
        return error
    return None


def check(name, work):
    """Where both raise an error, ours is of the kinds of theirs."""
    theirs, ours = (error_of(lambda cls=cls: work(cls)) for cls in (THEIRS[name], getattr(lowland, name)))
    if theirs is None or ours is None:
        return
    missing = [kind.__name__ for kind in KINDS if isinstance(theirs, kind) and not isinstance(ours, kind)]
    assert not missing, f"{type(theirs).__name__}: {theirs}\n{type(ours).__name__}: {ours}"


def make(cls, **parameters):
    known = inspect.signature(cls).parameters  # scikit-learn 1.7 has no init of MDS
    return cls(**{k: v for k, v in NEEDED.get(cls.__name__, {}).items() if k in known}, **parameters)


@functools.cache
def fitted(cls):
    return make(cls).fit(X, Y)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", THEIRS)
def test_bad_tables(name, table):
    if name == "TSNE" and table in ("None", "dict"):  # theirs reads X.shape before it checks X: an AttributeError
        return
    check(name, lambda cls: make(cls).fit(TABLES[table], Y))
    if hasattr(THEIRS[name], "transform"):
        check(name, lambda cls: fitted(cls).transform(TABLES[table]))


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", THEIRS)
def test_bad_parameters(name, value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # scikit-learn makes a folder for the parameter memory
    for parameter in inspect.signature(THEIRS[name]).parameters:
        if parameter not in ("priors", "noise_variance_init", "cv"):  # arrays, checked later
            check(name, lambda cls, parameter=parameter: make(cls, **{parameter: VALUES[value]}).fit(X, Y))


@pytest.mark.parametrize("name", THEIRS)
def test_not_fitted(name):
    for method in UNFITTED:
        if hasattr(THEIRS[name], method):
            asked = () if method.startswith("get_") else (X, Y) if method == "score" else (X,)
            check(name, lambda cls, method=method, asked=asked: getattr(make(cls), method)(*asked))


@pytest.mark.parametrize(("name", "parameters", "method"), COMBINATIONS)
def test_bad_combinations(name, parameters, method):
    def work(cls):
        model = make(cls, **parameters).fit(X, Y)
        if method != "fit":
            getattr(model, method)(X[:, :2] if method == "inverse_transform" else X)

    check(name, work)


@pytest.mark.parametrize("target", [None, Y[:10], np.where(Y > 0, Y, np.nan)])
@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "SequentialFeatureSelector"])
def test_bad_targets(name, target):
    check(name, lambda cls: make(cls).fit(X, target))


def test_a_combination_that_is_not_supported_is_not_implemented():
    with pytest.raises(NotImplementedError, match="shrinkage"):
        lowland.LinearDiscriminantAnalysis(shrinkage=0.5).fit(X, Y)
    with pytest.raises(TypeError, match="n_components"):
        lowland.PCA(n_components="two").fit(X)
    with pytest.raises(TypeError, match="sparse"):
        lowland.FastICA().fit(scipy.sparse.csr_array(X))


# --- tags ---

MORE = {  # what ours accept or return beyond theirs
    "array_api_support": {False: True},
    "transformer_tags.preserves_dtype": {None: ["float64", "float32"], "float64": ["float64", "float32"]},
    "input_tags.sparse": {False: True},
}
DIFFERENT = {
    ("SequentialFeatureSelector", "target_tags.required"),  # KMeans as the estimator needs no y: see below
    ("TSNE", "transformer_tags.preserves_dtype"),  # theirs is also float32 for float64 rows, and does not say so
}


def flat(tags, before=""):
    found = {}
    for field in dataclasses.fields(tags):
        value = getattr(tags, field.name)
        inner = flat(value, f"{before}{field.name}.") if dataclasses.is_dataclass(value) else None
        found |= {f"{before}{field.name}": value} if inner is None else inner
    return found


@pytest.mark.parametrize("name", THEIRS)
def test_tags(name):
    theirs, ours = (flat(get_tags(make(cls))) for cls in (THEIRS[name], getattr(lowland, name)))
    for tag in theirs.keys() | ours.keys():
        a, b = theirs.get(tag), ours.get(tag)
        if a == b or (name, tag) in DIFFERENT:
            continue
        known = MORE.get(tag, {})
        assert known.get(a[0] if isinstance(a, list) else a) == b, (tag, a, b)


def test_clusterers():
    assert is_clusterer(sklearn.cluster.FeatureAgglomeration())
    assert is_clusterer(lowland.FeatureAgglomeration())
    assert is_clusterer(lowland.VectorQuantizer())
    assert not is_clusterer(lowland.PCA())


# --- phrases that code for scikit-learn may look for ---


@pytest.mark.parametrize(
    ("name", "parameters", "phrase"),
    [
        ("LinearDiscriminantAnalysis", {"covariance_estimator": LedoitWolf()}, "covariance estimator is not supported"),
        ("FastICA", {"fun_args": {"alpha": 0}}, r"alpha must be in \[1,2\]"),
        ("IncrementalPCA", {"n_components": 9}, "n_components=9 invalid for n_features=5, need more rows than columns"),
        ("TruncatedSVD", {"n_components": 5, "algorithm": "arpack"}, None),
    ],
)
def test_phrases(name, parameters, phrase):
    for cls in (THEIRS[name], getattr(lowland, name)):
        with pytest.raises(ValueError, match=phrase):
            cls(**parameters).fit(X, Y)
