"""docs/from-scikit-learn.md against scikit-learn and against our classes, by introspection."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import sklearn.cluster
import sklearn.decomposition
import sklearn.discriminant_analysis
import sklearn.feature_selection
import sklearn.manifold
from sklearn.base import BaseEstimator

import lowland
from lowland.data import load_dataset
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import entries

PAGE = Path(__file__).parents[2] / "docs" / "from-scikit-learn.md"
PLACES = (
    sklearn.cluster, sklearn.decomposition, sklearn.discriminant_analysis, sklearn.feature_selection, sklearn.manifold,
)  # fmt: skip
CLASSES = tuple(name for name in entries() if any(hasattr(place, name) for place in PLACES))
ITERATED = ("FastICA",)  # theirs agree up to order, signs and tolerance only: compared in the tests of the method
STATUSES = ("same", "accepted without effect", "left out", "new")
OTHER_VALUES = {
    "copy": False, "power_iteration_normalizer": "LU", "svd_method": "lapack", "iterated_power": 7, "copy_X": False,
    "n_jobs": 2, "verbose": 1, "hessian_tol": 0.1, "modified_tol": 0.1,
    "compute_distances": True,
}  # fmt: skip

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*neighbor graph is disconnected:lowland.errors.DataWarning"
)  # iris does

MODEL = {"estimator": sklearn.discriminant_analysis.LinearDiscriminantAnalysis()}  # required by theirs

COURSE = ("loglike_", "n_iter_")  # of the iteration, which is a different one here; its result is tested elsewhere


def rows_for(name):
    """Rows and labels; two factors need more columns than iris has, of similar size; a graph must be connected."""
    if name in ("Isomap", "LocallyLinearEmbedding"):
        return load_dataset("swiss_roll", n=300, seed=1).X, None
    wine = name in ("FactorAnalysis", "SpectralEmbedding")
    sample = load_dataset("wine" if wine else "iris")
    return (sample.X / sample.X.std(axis=0) if wine else sample.X), sample.y


def theirs_of(name):
    """scikit-learn's class of that name."""
    return next(getattr(place, name) for place in PLACES if hasattr(place, name))


def section_of(page, heading):
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page.read_text(encoding="utf-8"), re.M | re.S)
    return found and found[1]


def table_of(name):
    """The lines of a class's table, as {(kind, name): status}; on the common page or the page of the method."""
    section = section_of(PAGE, name)
    if section is None:
        section = section_of(
            PAGE.parent / "methods" / f"{entries()[name].module.rpartition('.')[2]}.md", "From scikit-learn"
        )
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if "`" in line]
    rows = [[cell.rstrip(" |") for cell in row] for row in rows]
    table = {(row[1], row[0].strip("` ")): row[2] for row in rows}
    assert len(table) == len(rows), "a name is listed twice"
    return table


def frame():
    pandas = pytest.importorskip("pandas")
    iris = load_dataset("iris")
    return pandas.DataFrame(iris.X, columns=list(iris.names))


def public(cls):
    """What a class offers: parameters, fitted attributes, methods, and arguments of methods besides rows and labels."""
    needed = {"MDS": {"init": "classical_mds"}, "SequentialFeatureSelector": MODEL}
    model = cls(**needed.get(cls.__name__, {})).fit(frame(), load_dataset("iris").y)
    found = {("parameter", name) for name in inspect.signature(cls).parameters}
    found |= {("attribute", name) for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        # requests such as set_fit_request follow from the arguments; they are made by scikit-learn's routing
        if name.startswith("_") or name.endswith("_request") or not callable(getattr(cls, name, None)):
            continue
        found.add(("method", name))
        if inspect.isfunction(value) and value.__module__.startswith(("lowland", "sklearn")):
            named = list(inspect.signature(value).parameters.values())[2:]  # after self and the rows
            found |= {("argument", f"{name}({p.name})") for p in named if p.name != "y" and p.kind is not p.VAR_KEYWORD}
    return found


@pytest.mark.filterwarnings("ignore:Graph is not fully connected", "ignore::lowland.errors.DataWarning")  # iris is not
@pytest.mark.filterwarnings("ignore:The number of connected components", "ignore:Changing the sparsity")
@pytest.mark.parametrize("name", CLASSES)
def test_the_table_gives_the_correct_status_of_each_name(name):
    theirs, ours = public(theirs_of(name)), public(getattr(lowland, name))
    table = table_of(name)
    # an argument is listed where both classes have the method and only one has the argument
    shared = {method for kind, method in theirs & ours if kind == "method"}
    listed = {
        entry
        for entry in theirs | ours
        if entry[0] != "argument" or (entry[1].partition("(")[0] in shared and entry not in theirs & ours)
    }
    assert set(table) == listed
    for entry, status in table.items():
        assert status in STATUSES, entry
        assert (entry in theirs) == (status != "new"), entry
        assert (entry in ours) == (status != "left out"), entry


@pytest.mark.parametrize("name", CLASSES)
def test_parameters_listed_as_without_effect_have_none(name):
    (X, y), cls = rows_for(name), getattr(lowland, name)
    quiet = [
        parameter
        for (kind, parameter), status in table_of(name).items()
        if kind == "parameter" and status == "accepted without effect"
    ]
    plain = cls(**{traits_of(cls).width_parameter: 2}).fit(X, y)
    for parameter in quiet:
        other = OTHER_VALUES[parameter]
        assert other != inspect.signature(cls).parameters[parameter].default
        np.testing.assert_array_equal(
            cls(**{traits_of(cls).width_parameter: 2, parameter: other}).fit(X, y).transform(X), plain.transform(X)
        )


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in ITERATED])
def test_parameters_listed_as_equal_behave_equally(name):
    """Fitted to all rows at once the classes agree, attribute by attribute, up to the signs of the components."""
    X, y = rows_for(name)
    options = {"batch_size": len(X)} if name == "IncrementalPCA" else {}
    if name == "FactorAnalysis":  # theirs stops at the requested distance from the maximum
        options = {"tol": 1e-10, "max_iter": 5000, "svd_method": "lapack"}
    if name == "MDS":  # theirs warns of its own default
        options = {"init": "classical_mds"}
    if name == "TruncatedSVD":
        options = {"algorithm": "arpack"}
    if name == "SequentialFeatureSelector":
        options = MODEL
    options = {traits_of(getattr(lowland, name)).width_parameter: 2, **options}
    theirs = theirs_of(name)(**options).fit(X, y)
    ours = getattr(lowland, name)(**options).fit(X, y)
    for (kind, attribute), status in table_of(name).items():
        if attribute in COURSE or (name == "MDS" and attribute in ("embedding_", "stress_")):
            continue
        if kind == "attribute" and status == "same" and attribute != "feature_names_in_":
            a, b = (getattr(model, attribute) for model in (ours, theirs))
            if isinstance(b, BaseEstimator):  # nbrs_, kernel_pca_: compared in the tests of the method
                assert type(a) is type(b)
                continue
            a, b = _dense(a), _dense(b)
            turned = name == "Isomap" and attribute == "embedding_"
            if attribute in ("components_", "scalings_") or turned or name == "LocallyLinearEmbedding":
                a, b = np.abs(a), np.abs(b)
            near = {"atol": 1e-5} if name in ("FactorAnalysis", "LocallyLinearEmbedding") else {"rtol": 1e-9}
            if name == "SpectralEmbedding" and attribute == "embedding_":  # some coordinates are almost zero
                near = {"atol": 1e-10}
            if name == "Isomap" and attribute == "embedding_":
                near = {"atol": 1e-9}
            np.testing.assert_allclose(a, b, **near, err_msg=attribute)


def _dense(values):
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)
