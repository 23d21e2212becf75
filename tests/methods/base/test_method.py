"""What every method shares: ``fit`` and scikit-learn's estimator API, without internal names in public."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

import lowland
from lowland.data.rows import Rows
from lowland.errors import DataError, MemoryBudgetError
from lowland.methods.base.method import Method, param
from lowland.methods.base.params import parameters_of
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import entries, load_method

SHARED = {name for base in (BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin) for name in dir(base)}


def public(cls):
    """The names that a class shows beyond scikit-learn's and its parameters; requests are made by its routing."""
    own = set(dir(cls)) - SHARED - {p.name for p in parameters_of(cls)}
    return {name for name in own if not name.startswith("_") and not name.endswith("_request")}


def test_the_public_names_of_pca_are_few():
    assert public(lowland.PCA) == {
        "distortion", "fit", "get_covariance", "get_precision", "impute", "inverse_chunks", "inverse_transform",
        "partial_fit", "plan", "score", "score_samples", "set_callbacks", "storage", "transform", "transform_chunks",
    }  # fmt: skip


@pytest.mark.parametrize("name", entries())
def test_every_public_attribute_of_a_method_is_documented(name):
    cls = load_method(name)
    for shown in public(cls):
        value = inspect.getattr_static(cls, shown)
        assert inspect.getdoc(value), shown
        assert not isinstance(value, property) or shown.endswith("_"), shown


class Largest(Method, verb=""):
    """Every row by its largest value, plus what the fit was given."""

    offset: float = param(0.0, "Added to every value.")

    def fit(self, X, y=None, start=None):
        return self._fit(X, y, start=start)

    def _solve(self, rows: Rows, run, y, weights, start=None):
        if start == "fail":
            self.half_done_ = 1
            raise DataError("as asked")
        self.start_, self.largest_ = start, float(run.to_array(rows, "Largest").max())


def test_inputs_of_a_fit_reach_solve_and_are_not_stored():
    model = Largest().fit(np.eye(3), start="given")
    assert (model.start_, model.largest_) == ("given", 1.0)
    assert {name for name in vars(model) if name.startswith("_")} == {"_fitted"}


def test_a_failed_fit_leaves_no_result():
    model = Largest().fit(np.eye(3))
    with pytest.raises(DataError):
        model.fit(np.eye(3), start="fail")
    assert not [name for name in vars(model) if name.endswith("_") and name != "n_features_in_"]
    assert not model.__sklearn_is_fitted__()


def test_traits_are_inherited_and_replaced_by_keywords():
    class Quick(Largest, streams=True):
        """A subclass."""

    assert traits_of(Quick).streams
    assert not traits_of(Largest).streams
    assert traits_of(Quick).min_rows == traits_of(Largest).min_rows


def test_a_lack_of_memory_in_a_fit_is_said(monkeypatch):
    def fail(self, *args, **given):
        raise MemoryError("Unable to allocate 12.9 MiB")

    monkeypatch.setattr(lowland.PCA, "_solve", fail)
    with pytest.raises(MemoryBudgetError, match=r"PCA ran out of memory: Unable to allocate 12\.9 MiB\. .*fewer rows"):
        lowland.PCA(1).fit(np.eye(5))
