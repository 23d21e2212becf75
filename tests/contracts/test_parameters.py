"""Numbers of numpy and absurd numbers as parameters: a result, or an error of Lowland."""

import warnings

import numpy as np
import pytest

import lowland
from lowland.errors import LowlandError, ParameterError
from lowland.methods.base.params import admits, parameters_of
from lowland.methods.registry import load_method

from .battery import METHODS, labels, make, table_for

# A fit that takes so many steps ends when they are done.
STEPS = {
    "convergence_epochs", "epochs", "iterated_power", "max_iter", "n_epochs", "n_init", "n_iter", "n_iter_no_change",
    "n_null", "n_permutations", "n_projections", "n_repeats", "n_starts", "n_subsamples", "num_iters",
}  # fmt: skip
BEYOND = [10**30, -(10**30), 2**63, float("inf"), float("-inf"), float("nan")]
EXTREME = [2**40, 1e308, -1e308, 5e-324]


def numeric_parameters(name):
    return [p for p in parameters_of(load_method(name)) if any(admits(p.kind, kind(1)) for kind in (int, float))]


def fitted(name, parameter, value):
    X = table_for(name, n=30, d=4)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        model = make(name, **{parameter: value})
        return model, np.asarray(model.fit(X, labels(30)).transform(X))


@pytest.mark.parametrize("name", METHODS)
def test_a_number_of_numpy_is_a_number(name):
    for p in numeric_parameters(name):
        for value in (np.int8(3), np.float32(0.25)):
            if not p.fits(value.item()) or p.name == "random_state":
                continue
            try:
                model, Z = fitted(name, p.name, value)
            except LowlandError as error:
                with pytest.raises(type(error)):
                    fitted(name, p.name, value.item())
                continue
            assert getattr(model, p.name) is value  # stored as given
            np.testing.assert_array_equal(Z, fitted(name, p.name, value.item())[1], err_msg=p.name)


@pytest.mark.parametrize("name", METHODS)
def test_a_number_that_nothing_can_be_computed_with_is_an_error_of_the_parameter(name):
    for p in numeric_parameters(name):
        for value in BEYOND:
            if p.name == "random_state" or value == p.limits.get("at most"):
                continue
            with pytest.raises(ParameterError, match=p.name):
                make(name, **{p.name: value}).fit(table_for(name, n=30, d=4), labels(30))


@pytest.mark.parametrize("name", METHODS)
def test_an_extreme_number_gives_a_result_or_an_error_of_lowland(name):
    for p in numeric_parameters(name):
        for value in EXTREME:
            if p.name in STEPS and value == EXTREME[0]:
                continue
            try:
                _, Z = fitted(name, p.name, value)
            except LowlandError:
                continue
            assert np.isfinite(Z).all(), (p.name, value)


def test_a_parameter_of_another_library_gives_the_name_here():
    with pytest.raises(ParameterError, match=r"TSNE\(initialization=\.\.\.\): no such parameter. Did you mean 'init'"):
        lowland.TSNE(initialization="pca")
    with pytest.raises(TypeError, match="parameters are n_components, "):
        lowland.PCA(whitening=True)
