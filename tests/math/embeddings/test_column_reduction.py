import numpy as np
import pytest
import scipy.sparse

from lowland.math.embeddings.column_reduction import ColumnReduction
from lowland.run.local import LocalRun

X = np.random.default_rng(0).standard_normal((600, 130)) * np.geomspace(3, 0.1, 130) + 5


def test_rows_are_projected_on_their_principal_axes():
    Z = ColumnReduction.of(X, 100, LocalRun())(X)
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(np.abs(Z), np.abs(U[:, :100] * s[:100]), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_does_not_depend_on_its_batch(dtype):
    rows = X.astype(dtype)
    reduce = ColumnReduction.of(rows, 100, LocalRun())
    Z = reduce(rows)
    assert Z.dtype == dtype
    for part in (slice(0, 1), slice(3, 40), slice(599, 600), slice(100, 500)):
        np.testing.assert_array_equal(reduce(rows[part]), Z[part])


def test_sparse_rows_give_the_same():
    sparse = scipy.sparse.csr_array(np.where(np.abs(X - 5) > 1, X, 0))
    reduce = ColumnReduction.of(sparse, 20, LocalRun())
    np.testing.assert_allclose(reduce(sparse), reduce(sparse.toarray()), atol=1e-9)


def test_few_rows_have_fewer_axes():
    assert ColumnReduction.of(X[:30], 100, LocalRun())(X).shape == (600, 29)
