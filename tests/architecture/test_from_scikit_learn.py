"""docs/from-scikit-learn.md against scikit-learn and against our classes, by introspection."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import sklearn.decomposition
import sklearn.discriminant_analysis
import sklearn.manifold

import lowland
from lowland.data import load
from lowland.methods.registry import entries

PAGE = Path(__file__).parents[2] / "docs" / "from-scikit-learn.md"
PLACES = (sklearn.decomposition, sklearn.discriminant_analysis, sklearn.manifold)
CLASSES = tuple(name for name in entries() if any(hasattr(place, name) for place in PLACES))
STATUSES = ("same", "accepted without effect", "left out", "new")
HOOKS = {"solve", "solve_moments"}  # what a method writes, not what a user calls
OTHER_VALUES = {"copy": False, "power_iteration_normalizer": "LU", "verbose": 1, "n_jobs": 2}
RESULT = {"MDS": "embedding_"}  # what a fit is about, where it is not components
ITERATIVE = {"embedding_", "stress_", "n_iter_"}  # where two iterations end agrees to their tolerance; tested elsewhere
OPTIONS = {"MDS": {"init": "classical_mds"}}  # scikit-learn warns of its own default


def theirs_of(name):
    """scikit-learn's class of that name."""
    return next(getattr(place, name) for place in PLACES if hasattr(place, name))


def table_of(name):
    """The lines of a class's table, as {(kind, name): status}."""
    section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S)[1]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in section.splitlines() if "`" in line]
    rows = [[cell.rstrip(" |") for cell in row] for row in rows]
    table = {(row[1], row[0].strip("` ")): row[2] for row in rows}
    assert len(table) == len(rows), "a name is listed twice"
    return table


def frame():
    pandas = pytest.importorskip("pandas")
    iris = load("iris")
    return pandas.DataFrame(iris.X, columns=list(iris.names))


def public(cls):
    """What a class offers: parameters, fitted attributes, methods, and arguments of methods besides rows and labels."""
    model = cls(**OPTIONS.get(cls.__name__, {})).fit(frame(), load("iris").y)
    found = {("parameter", name) for name, p in inspect.signature(cls).parameters.items() if p.default != "deprecated"}
    found |= {("attribute", name) for name in dir(model) if name.endswith("_") and not name.startswith("_")}
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        # requests such as set_fit_request follow from the arguments; they are made by scikit-learn's routing
        if name.startswith("_") or name in HOOKS or name.endswith("_request") or not callable(getattr(cls, name, None)):
            continue
        found.add(("method", name))
        if inspect.isfunction(value) and value.__module__.startswith(("lowland", "sklearn")):
            named = list(inspect.signature(value).parameters.values())[2:]  # after self and the rows
            found |= {("argument", f"{name}({p.name})") for p in named if p.name != "y" and p.kind is not p.VAR_KEYWORD}
    return found


@pytest.mark.parametrize("name", CLASSES)
def test_table_names_everything_with_the_right_status(name):
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
def test_what_has_no_effect_has_none(name):
    X, cls = load("iris").X, getattr(lowland, name)
    quiet = [entry[1] for entry, status in table_of(name).items() if status == "accepted without effect"]
    plain = cls(n_components=2).fit(X, load("iris").y)
    for parameter in quiet:
        other = OTHER_VALUES[parameter]
        assert other != inspect.signature(cls).parameters[parameter].default
        result = RESULT.get(name, "components_")
        again = cls(n_components=2, **{parameter: other}).fit(X)
        np.testing.assert_array_equal(getattr(again, result), getattr(plain, result))


@pytest.mark.parametrize("name", CLASSES)
def test_what_is_the_same_is_the_same(name):
    """Fitted to all rows at once the classes agree, attribute by attribute, up to the signs of the components."""
    X, y = load("iris").X, load("iris").y
    options = {"batch_size": len(X)} if name == "IncrementalPCA" else OPTIONS.get(name, {})
    if name == "TruncatedSVD":
        options = {"algorithm": "arpack"}
    theirs = theirs_of(name)(n_components=2, **options).fit(X, y)
    ours = getattr(lowland, name)(n_components=2, **options).fit(X, y)
    for (kind, attribute), status in table_of(name).items():
        if name in RESULT and attribute in ITERATIVE:
            continue
        if kind == "attribute" and status == "same" and attribute != "feature_names_in_":
            a, b = np.asarray(getattr(ours, attribute)), np.asarray(getattr(theirs, attribute))
            if attribute in ("components_", "scalings_"):
                a, b = np.abs(a), np.abs(b)
            np.testing.assert_allclose(a, b, rtol=1e-9, err_msg=attribute)
