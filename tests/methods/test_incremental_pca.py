"""Principal components of batches: the exact result."""

import numpy as np
import pytest

from lowland import PCA, IncrementalPCA


@pytest.fixture
def X(rng):
    return rng.standard_normal((60, 7)) @ np.diag([6, 4, 3, 2, 1, 0.5, 0.2]) @ rng.standard_normal((7, 7)) + 5


def test_incremental_pca_is_exact_and_takes_small_batches(X):
    exact = PCA(3).fit(X)
    ipca = IncrementalPCA(3).partial_fit(X[:1])
    for start in range(1, 60):
        ipca.partial_fit(X[start : start + 1])
    np.testing.assert_allclose(ipca.transform(X), exact.transform(X), atol=1e-8)
    assert ipca.n_samples_seen_ == 60
    np.testing.assert_allclose(ipca.var_, X.var(axis=0))
    batched = IncrementalPCA(3, batch_size=7).fit(X)
    np.testing.assert_allclose(batched.transform(X), exact.transform(X), atol=1e-8)
    assert batched.batch_size_ == 7
    np.testing.assert_allclose(
        batched.partial_fit(X + 1).explained_variance_, PCA(3).fit(np.vstack([X, X + 1])).explained_variance_
    )


def test_check_input_stands_where_scikit_learn_has_it(iris):
    plain = IncrementalPCA(2).partial_fit(iris.X)
    for model in (
        IncrementalPCA(2).partial_fit(iris.X, None, False),
        IncrementalPCA(2).partial_fit(iris.X, check_input=False),
    ):
        np.testing.assert_array_equal(model.components_, plain.components_)
    weighted = IncrementalPCA(2).partial_fit(iris.X, sample_weight=np.arange(150.0) + 1)
    assert not np.allclose(weighted.mean_, plain.mean_)
