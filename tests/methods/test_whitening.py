"""Whitening."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland import PCA, Whitening
from lowland.errors import DataError, ParameterError

KINDS = ["pca", "zca", "cholesky", "pca-cor", "zca-cor"]


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS))
def test_whitening_and_its_inverse(seed, kind):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 5)) @ rng.standard_normal((5, 5)) + 3
    white = Whitening(method=kind).fit(X)
    Z = white.transform(X)
    np.testing.assert_allclose(np.cov(Z.T), np.eye(5), atol=1e-7)
    np.testing.assert_allclose(white.inverse_transform(Z), X, atol=1e-7)


def test_properties_of_each_kind_of_whitening():
    X = np.random.default_rng(0).standard_normal((300, 4)) @ np.random.default_rng(1).standard_normal((4, 4))
    zca = Whitening(method="zca").fit(X).whitening_
    np.testing.assert_allclose(zca, zca.T, atol=1e-10)  # symmetric: it stays closest to the data
    cholesky = Whitening(method="cholesky").fit(X).whitening_
    np.testing.assert_allclose(np.triu(cholesky, 1), 0, atol=1e-12)
    assert np.all(np.diag(cholesky) > 0)
    np.testing.assert_allclose(
        np.abs(Whitening().fit_transform(X)), np.abs(PCA(whiten=True).fit_transform(X)), atol=1e-8
    )
    scaled = X * [1, 10, 100, 1000]  # the -cor kinds do not depend on units
    for kind in ("pca-cor", "zca-cor"):
        np.testing.assert_allclose(
            Whitening(method=kind).fit_transform(scaled), Whitening(method=kind).fit_transform(X), atol=1e-7
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rank_deficient_rows_are_not_divided_by_zero(kind, dtype):
    rng = np.random.default_rng(0)
    X = np.hstack([rng.standard_normal((60, 3)), np.ones((60, 1))])
    X = np.hstack([X, X[:, :1] + X[:, 1:2]]).astype(dtype)  # rank 3 of 5
    white = Whitening(method=kind).fit(X)
    assert white.rank_ == 3
    Z = white.transform(X)
    assert np.isfinite(Z).all()
    assert np.linalg.matrix_rank(np.cov(Z.T), tol=1e-3) == 3
    assert Z.shape[1] == (5 if kind.startswith("zca") else 3)
    np.testing.assert_allclose(white.inverse_transform(Z), X, atol=1e-3 if dtype == np.float32 else 1e-8)


def test_fewer_components_and_partial_fit():
    X = np.random.default_rng(0).standard_normal((90, 4)) @ np.diag([4, 3, 2, 1])
    assert Whitening(2).fit_transform(X).shape == (90, 2)
    parts = Whitening(method="zca").partial_fit(X[:40]).partial_fit(X[40:])
    np.testing.assert_allclose(parts.whitening_, Whitening(method="zca").fit(X).whitening_, atol=1e-10)
    with pytest.raises(ParameterError, match="all directions"):
        Whitening(2, method="zca").fit(X)
    with pytest.raises(DataError, match="constant"):
        Whitening().fit(np.ones((5, 3)))
