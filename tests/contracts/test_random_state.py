"""random_state=None draws from numpy's global generator wherever the draw can change the result."""

import numpy as np
import pytest

from lowland import FastICA, VectorQuantizer
from lowland.methods.registry import entries, load_method

from .battery import labels, make, table

DRAWS = {  # parameters with which the draw matters
    "Autoencoder": {},
    "ClassicalMDS": {"n_landmarks": 30},
    "FactorAnalysis": {"n_components": 2, "n_starts": 3},
    "FastICA": {},
    "FeatureFilter": {"statistic": "mutual-information"},
    "Isomap": {"n_landmarks": 30},
    "KernelPCA": {"n_landmarks": 30, "kernel": "rbf"},
    "L1Selector": {"rule": "stability", "n_subsamples": 4},
    "LinearAutoencoder": {},
    "MDS": {"init": "random", "max_iter": 2},
    "PCA": {"n_components": 2, "svd_solver": "randomized"},
    "ProjectionPursuit": {"n_components": 1},
    "SammonMapping": {"init": "random"},
    "SelfOrganizingMap": {"training": "online"},
    "LocalMAP": {},
    "PaCMAP": {},
    "TSNE": {"init": "random"},
    "TreeSelector": {},
    "TruncatedSVD": {"n_components": 2},
    "UMAP": {},
    "VectorQuantizer": {"n_clusters": 7},
}
ONLY_ROUNDING = {"DiffusionMap", "LocallyLinearEmbedding", "SpectralEmbedding"}  # the seed of an eigensolver's start

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::UserWarning")


def fitted(name):
    return make(name, **DRAWS.get(name, {})).set_params(random_state=None).fit(table(), labels())


def state():
    return np.random.get_state()[1:3]


def same(a, b):
    return a[1] == b[1] and np.array_equal(a[0], b[0])


def results(model):
    found = {name: value for name, value in vars(model).items() if name.endswith("_") and isinstance(value, np.ndarray)}
    assert found
    return found


def test_every_method_with_a_random_state_is_listed():
    with_one = {name for name in entries() if any(flag.name == "random_state" for flag in entries()[name].flags)}
    assert with_one == set(DRAWS) | ONLY_ROUNDING


@pytest.mark.parametrize("name", sorted(DRAWS))
def test_the_global_seed_governs(name):
    np.random.seed(1)
    first = results(fitted(name))
    np.random.seed(1)
    second = results(fitted(name))
    assert first.keys() == second.keys()
    for attribute, values in first.items():
        np.testing.assert_array_equal(values, second[attribute], err_msg=attribute)


@pytest.mark.parametrize("name", sorted(DRAWS))
def test_a_fit_advances_the_global_generator_and_transform_does_not(name, monkeypatch):
    monkeypatch.setattr("lowland.math.spectra.principal_axes._WIDE", 1)  # above, TruncatedSVD iterates from a draw
    before = state()
    model = fitted(name)
    after = state()
    assert not same(before, after)
    if hasattr(model, "transform"):
        np.testing.assert_array_equal(model.transform(table()), model.transform(table()))
        assert same(state(), after)


@pytest.mark.parametrize("name", sorted(ONLY_ROUNDING))
def test_a_solver_that_forgets_its_start_leaves_the_global_generator_alone(name):
    before = state()
    fitted(name)
    assert same(before, state())


@pytest.mark.parametrize("name", sorted(DRAWS))
def test_an_integer_leaves_the_global_generator_alone(name):
    before = state()
    make(name, **DRAWS[name]).set_params(random_state=3).fit(table(), labels())
    assert same(before, state())


def test_fits_differ_so_that_stability_can_be_judged():
    X = table()
    first, second = (VectorQuantizer(12).fit(X).cluster_centers_ for _ in range(2))
    assert not np.array_equal(first, second)
    traces = [FastICA().fit(X).trace_ for _ in range(2)]
    assert traces[0] != traces[1]
    again = VectorQuantizer(12)
    assert not np.array_equal(again.fit(X).cluster_centers_, again.fit(X).cluster_centers_)


def test_plain_methods_leave_the_global_generator_alone():
    before = state()
    for name in ("PCA", "MDS", "SammonMapping", "Isomap", "KernelPCA", "SelfOrganizingMap"):
        load_method(name)().fit(table(), labels())
    assert same(before, state())
