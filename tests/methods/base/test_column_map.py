"""Common properties of the methods that select columns."""

import warnings

import numpy as np
import pytest
import scipy.sparse

from lowland import FeatureFilter, L1Selector, SequentialFeatureSelector, TreeSelector
from lowland.errors import DataError, DataWarning

SELECTORS = [FeatureFilter, L1Selector, SequentialFeatureSelector, TreeSelector]


def rows(n=120):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 5))
    return X, 2 * X[:, 1] + X[:, 3] + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("kind", SELECTORS)
def test_every_selector_has_the_common_attributes(kind):
    X, y = rows()
    selector = kind(n_features_to_select=2).fit(X, y)
    assert (selector.n_features_to_select_, selector.n_samples_, selector.classes_) == (2, 120, None)
    selector = kind(n_features_to_select=2).fit(X, np.where(y > 0, "up", "down"))
    assert (selector.n_features_to_select_, selector.n_samples_) == (2, 120)
    assert list(selector.classes_) == ["down", "up"]
    assert not hasattr(kind(), "n_features_to_select_")


@pytest.mark.parametrize("kind", SELECTORS)
def test_integers_with_many_distinct_values_warn(kind):
    X, y = rows(400)
    with pytest.warns(DataWarning, match=r"treated as (1\d|2\d) class labels.*numeric"):
        kind(n_features_to_select=2).fit(X, np.argsort(np.argsort(y)) // 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(kind(n_features_to_select=2).fit(X, np.clip(np.round(y), -2, 2)).classes_) == 5


@pytest.mark.parametrize("kind", SELECTORS)
def test_two_columns_of_y_are_refused_without_a_warning(kind):
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match="1D"):
            kind().fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize("make", [lambda: FeatureFilter(n_features_to_select=2), lambda: SequentialFeatureSelector(
    "linear", n_features_to_select=2, cv=2)])  # fmt: skip
@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_sparse_rows_stay_sparse(make, form):
    X, y = rows()
    X[X < 0.5] = 0
    selector = make().fit(form(X), y)
    Z = selector.transform(form(X))
    assert scipy.sparse.issparse(Z)
    np.testing.assert_array_equal(Z.toarray(), X[:, selector.support_])
    back = selector.inverse_transform(Z)
    assert scipy.sparse.issparse(back)
    np.testing.assert_array_equal(back.toarray(), X * selector.support_)
    np.testing.assert_array_equal(np.concatenate(list(selector.transform_chunks(form(X)))), Z.toarray())
    np.testing.assert_array_equal(np.concatenate(list(selector.inverse_chunks(Z))), back.toarray())
    X[0, 0] = np.nan
    with pytest.raises(DataError, match="NaN"):
        selector.transform(form(X))
