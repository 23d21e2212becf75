"""A fitted model belongs to itself: neither what it returned nor a changed parameter alters it."""

import math

import numpy as np
import pytest
from sklearn.base import clone

import lowland
from lowland.arrays.namespace import to_numpy
from lowland.methods.base.params import parameters_of

from .battery import METHODS, labels, load_method, make, table, table_for

RESULTS = ("transform", "predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples")
READ_LATE = {("PCA", "whiten"), ("IncrementalPCA", "whiten")}  # as in scikit-learn
VARIANTS = [
    *[(name, {}) for name in METHODS],
    ("KernelPCA", {"kernel": "rbf", "gamma": 0.1, "fit_inverse_transform": True}),
    ("KernelPCA", {"kernel": "rbf", "gamma": 0.1, "fit_inverse_transform": True, "preimage": "fixed-point"}),
    ("KernelPCA", {"kernel": "rbf", "n_landmarks": 30}),
    ("Isomap", {"radius": 12.0, "n_neighbors": None}),
    ("MDS", {"metric_mds": False}),
    ("ClassicalMDS", {"metric": "manhattan"}),
    ("LinearDiscriminantAnalysis", {"solver": "eigen", "shrinkage": 0.1}),
    ("FastICA", {"whiten": "arbitrary-variance"}),
]
OTHERS = [
    *(True, False, None, 0, 1, 2, 3, 4, 7, 0.1, 0.3, 0.9, 2.0, "manhattan", "cosine", "minkowski", np.max),
    *({"p": 3.0}, {"p": 1.0}),
]


def results(est, X):
    """Everything a fitted model computes from rows, by the name of the method."""
    found = {name: to_numpy(getattr(est, name)(X)) for name in RESULTS if hasattr(est, name)}
    if hasattr(est, "inverse_transform"):
        found["inverse_transform"] = to_numpy(est.inverse_transform(est.transform(X)))
    found["get_feature_names_out"] = np.asarray(est.get_feature_names_out())
    return found


def same(found, expected):
    return found.keys() == expected.keys() and all(np.array_equal(found[name], expected[name]) for name in expected)


def other_values(parameter, current):
    """Valid values of a parameter that differ from the current one."""
    literals = [choice for choice in _choices(parameter.kind) if isinstance(choice, str)]
    values = [value for value in [*literals, *OTHERS] if parameter.fits(value)]
    return [value for value in values if not (type(value) is type(current) and value == current)][:2]


def _choices(kind):
    found = list(getattr(kind, "__args__", ()))
    return [choice for part in found for choice in ([part] if isinstance(part, str) else _choices(part))]


@pytest.mark.parametrize("name", METHODS)
def test_writing_into_a_result_does_not_change_the_model(name):
    X = table_for(name)
    est = make(name)
    returned = [to_numpy(est.fit_transform(X, labels()))]
    before = {key: np.array(value) for key, value in results(est, X).items()}
    returned += [value for key, value in results(est, X).items() if key != "get_feature_names_out"]
    if hasattr(est, "get_support"):
        returned.append(est.get_support())
    for array in returned:
        array[...] = math.nan if array.dtype.kind == "f" else 0
    assert same(results(est, X), before)


@pytest.mark.parametrize(("name", "params"), VARIANTS)
def test_parameters_set_after_the_fit_wait_for_the_next_fit(name, params):
    X = table_for(name)
    est = make(name, **params).fit(X, labels())
    before = results(est, X)
    tried = 0
    for parameter in parameters_of(load_method(name)):
        current = getattr(est, parameter.name)
        if (name, parameter.name) in READ_LATE:
            continue
        for value in other_values(parameter, current):
            est.set_params(**{parameter.name: value})
            assert same(results(est, X), before), (parameter.name, value)
            tried += 1
        est.set_params(**{parameter.name: current})
    assert tried > 1


@pytest.mark.parametrize("name", METHODS)
def test_a_saved_model_keeps_the_parameters_of_its_fit(name, tmp_path):
    X = table_for(name)
    est = make(name).fit(X, labels())
    before = results(est, X)
    changed = {p.name: other_values(p, getattr(est, p.name)) for p in parameters_of(type(est))}
    changed = {n: v[0] for n, v in changed.items() if v and not callable(v[0]) and (name, n) not in READ_LATE}
    est.set_params(**changed)
    lowland.save(est, tmp_path / "m.lowland")
    loaded = lowland.load(tmp_path / "m.lowland")
    assert loaded.get_params() == est.get_params()
    assert same(results(loaded, X), before)
    assert clone(loaded).get_params() == est.get_params()


def test_a_parameter_read_late_still_has_an_effect_after_loading(tmp_path):
    X = table()
    lowland.save(make("PCA").fit(X), tmp_path / "m.lowland")
    loaded = lowland.load(tmp_path / "m.lowland").set_params(whiten=True)
    np.testing.assert_allclose(loaded.transform(X).std(axis=0, ddof=1), 1)


def test_a_function_that_a_file_does_not_keep_can_be_set_again(tmp_path):
    def cityblock(a, b):
        return np.abs(a - b).sum()

    X = table()
    est = make("MDS", metric=cityblock).fit(X)
    with pytest.warns(UserWarning, match="metric"):
        lowland.save(est, tmp_path / "m.lowland")
    loaded = lowland.load(tmp_path / "m.lowland").set_params(metric=cityblock)
    assert np.array_equal(loaded.transform(X), est.transform(X))


@pytest.mark.parametrize("name", [name for name in METHODS if hasattr(load_method(name), "partial_fit")])
def test_parameters_of_partial_fit_are_those_of_the_call(name):
    X = table_for(name)
    kept, changed = (make(name).partial_fit(X, labels()) for _ in range(2))
    parameter = "n_components"
    changed.set_params(**{parameter: 1})
    assert same(results(changed, X), results(kept, X))
    assert results(changed.partial_fit(X, labels()), X)["transform"].shape[1] == 1
