"""docs/from-scikit-learn.md against scikit-learn and against our classes, by introspection."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import sklearn.cluster
import sklearn.decomposition
import sklearn.discriminant_analysis
import sklearn.feature_selection
import sklearn.manifold
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

import lowland
from lowland.data import load_dataset
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import entries

PAGE = Path(__file__).parents[2] / "docs" / "from-scikit-learn.md"
PLACES = (
    sklearn.cluster, sklearn.decomposition, sklearn.discriminant_analysis, sklearn.feature_selection, sklearn.manifold,
)  # fmt: skip
CLASSES = tuple(name for name in entries() if any(hasattr(place, name) for place in PLACES))
ITERATED = (
    "FastICA",
    "TSNE",
)  # theirs agree up to order, signs and tolerance only: compared in the tests of the method
STATUSES = ("same", "accepted without effect", "left out", "new")
OTHER_VALUES = {
    "copy": False, "power_iteration_normalizer": "LU", "svd_method": "lapack", "iterated_power": 7, "copy_X": False,
    "n_jobs": 2, "verbose": 1, "angle": 0.2, "hessian_tol": 0.1, "modified_tol": 0.1,
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
    """The lines of a class's table of differences, as {(kind, name): status}; on this page or that of the method."""
    section = section_of(PAGE, name)
    if section is None:
        section = section_of(
            PAGE.parent / "methods" / f"{entries()[name].module.rpartition('.')[2]}.md", "From scikit-learn"
        )
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in section.splitlines()
        if line.startswith("| `")
    ]
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
    # an argument may be listed where both classes have the method and only one has the argument
    shared = {method for kind, method in theirs & ours if kind == "method"}
    differ = {entry for entry in theirs ^ ours if entry[0] != "argument" or entry[1].partition("(")[0] in shared}
    assert set(table) <= theirs & ours | differ
    assert {entry for entry in differ if entry not in ours} <= set(table), "what Lowland leaves out is listed"
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
    table = table_of(name)
    shared = {each for each in dir(theirs) if each.endswith("_") and not each.startswith("_")} & set(dir(ours))
    assert shared
    for attribute in shared:
        status = table.get(("attribute", attribute), "same")  # what the table omits
        if attribute in COURSE or (name == "MDS" and attribute in ("embedding_", "stress_")):
            continue
        if status == "same" and attribute != "feature_names_in_":
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


# --- signatures, defaults and errors: each difference is listed on the page, and nothing else ---

ROWS = np.random.default_rng(0).standard_normal((30, 4))
LABELS = np.arange(30) % 3
TABLES = {
    "NaN": np.where(np.arange(30)[:, None] == 3, np.nan, ROWS),
    "infinity": np.where(np.arange(30)[:, None] == 3, np.inf, ROWS),
    "no rows": ROWS[:0],
    "no columns": ROWS[:, :0],
    "one row": ROWS[:1],
    "a 1D array": ROWS[:, 0],
    "a 3D array": ROWS[None],
    "text": np.full((30, 4), "a", dtype=object),
    "complex numbers": ROWS + 1j,
    "None": None,
    "sparse rows": scipy.sparse.csr_array(ROWS),
}
CAUGHT_BY = (ValueError, TypeError, NotImplementedError, RuntimeError, AttributeError, IndexError, KeyError, OSError)
NEEDED = {"MDS": {"init": "classical_mds"}, "SequentialFeatureSelector": MODEL, "TSNE": {"perplexity": 5}}


def listed_in(heading, name):
    """The rows of a table of all classes that belong to one class: {what: the other cells}."""
    lines = [line for line in section_of(PAGE, heading).splitlines() if line.startswith(f"| `{name}` |")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    assert all(len(row) == 5 and row[4] for row in cells), "each row ends with the reason"
    found = {row[1].strip("`"): tuple(cell.strip("`") for cell in row[2:4]) for row in cells}
    assert len(found) == len(cells), "a difference is listed twice"
    return found


def told(value):
    """A default as the page shows it."""
    if value is inspect.Parameter.empty:
        return "required"
    return f"np.{value.__name__}" if callable(value) else repr(value).replace("'", '"')


def places_of(function):
    """The names that may be passed by position, in order."""
    return [n for n, p in inspect.signature(function).parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]


def signature_differences(theirs, ours):
    """Defaults and positions of shared parameters and arguments that differ: {name: (theirs, ours)}."""
    found = {}
    methods = [n for n in dir(theirs) if not n.startswith("_") and not n.endswith("_request") and n in dir(ours)]
    pairs = {"": (theirs, ours)} | {n: (getattr(theirs, n), getattr(ours, n)) for n in methods}
    for method, (a, b) in pairs.items():
        if method and not (inspect.isfunction(a) and inspect.isfunction(b)):
            continue
        left, right = (inspect.signature(function).parameters for function in (a, b))
        for name in (name for name in left if name in right and left[name].default != right[name].default):
            found[f"{method}({name})" if method else name] = (told(left[name].default), told(right[name].default))
        places = [[name for name in places_of(f) if name in left and name in right] for f in (a, b)]
        # ours may come after theirs, not before or between
        if places[0] != places[1] or places_of(b)[: len(places[0])] != places[0]:
            found[f"positions of {method or 'parameters'}"] = tuple(", ".join(each) or "none" for each in places)
    return found


def errors_of(call):
    """The classes that catch the error of a call; none if there is no error."""
    try:
        call()
    except Exception as error:  # of any class: the classes are compared
        return {kind.__name__ for kind in (*CAUGHT_BY, NotFittedError) if isinstance(error, kind)} or {"Exception"}
    return set()


def error_differences(name):
    """The mistakes for which code written for scikit-learn would not catch our error: {mistake: (theirs, ours)}."""
    classes = (theirs_of(name), getattr(lowland, name))
    fitted = [cls(**NEEDED.get(name, {})).fit(ROWS, LABELS) for cls in classes]
    shared = [p for p in inspect.signature(classes[0]).parameters if p in inspect.signature(classes[1]).parameters]

    def fit(cls, X, **parameters):
        y = LABELS if X is None or not 0 <= X.shape[0] < 30 else LABELS[: X.shape[0]]
        return lambda: cls(**NEEDED.get(name, {}) | parameters).fit(X, y)

    calls = {f"fit to {what}": [fit(cls, X) for cls in classes] for what, X in TABLES.items()}
    for p in shared:
        for shown, value in (("object()", object()), ('"foo"', "foo"), ("-1", -1)):
            if (p, value) == ("memory", "foo"):
                continue  # the name of a folder, no mistake
            calls[f"{p}={shown}"] = [fit(cls, ROWS, **{p: value}) for cls in classes]
    if hasattr(classes[0], "transform"):
        calls["transform, not fitted"] = [lambda c=c: c(**NEEDED.get(name, {})).transform(ROWS) for c in classes]
        for what, X in (TABLES | {"fewer columns": ROWS[:, :2]}).items():
            if what not in ("one row", "sparse rows"):  # no mistakes
                calls[f"transform of {what}"] = [lambda m=m, X=X: m.transform(X) for m in fitted]
    if hasattr(classes[0], "inverse_transform"):
        wide = np.ones((30, 9))
        calls["inverse_transform of more columns"] = [lambda m=m: m.inverse_transform(wide) for m in fitted]
    found = {mistake: tuple(map(errors_of, pair)) for mistake, pair in calls.items()}
    return {
        mistake: tuple(", ".join(sorted(each)) or "no error" for each in (a, b))
        for mistake, (a, b) in found.items()
        if bool(a) != bool(b) or not a <= b
    }


@pytest.mark.parametrize("name", CLASSES)
def test_signatures_and_defaults_that_differ_are_listed(name):
    differences = signature_differences(theirs_of(name), getattr(lowland, name))
    assert differences == listed_in("Other signatures and defaults", name)


@pytest.mark.filterwarnings("ignore")  # of both libraries, on the way to the errors
@pytest.mark.parametrize("name", CLASSES)
def test_errors_that_differ_are_listed(name):
    assert error_differences(name) == listed_in("Other errors", name)


def test_constant_data_gives_zeros_or_an_error_as_listed():
    listed = PAGE.read_text(encoding="utf-8").partition("- Constant data ")[2].partition("\n- ")[0]
    zero, error = (re.findall(r"`(\w+)`", part) for part in listed.split(". ", 1))
    assert set(zero) | set(error) == set(CLASSES) - {
        "TruncatedSVD", "LinearDiscriminantAnalysis", "SequentialFeatureSelector", "FeatureAgglomeration"
    }  # which do not center, read classes, or choose columns  # fmt: skip
    constant = np.ones((100, 4))
    for name in zero:
        with pytest.warns(lowland.errors.DataWarning):
            Z = getattr(lowland, name)(2).fit_transform(constant)
        np.testing.assert_array_equal(Z, np.zeros((100, 2)))
    for name in error:
        with pytest.raises(lowland.errors.DataError):
            getattr(lowland, name)(2).fit(constant)
