"""``lowland transform``: the results agree with Python."""

import numpy as np
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import lowland as ll


def numbers(path) -> np.ndarray:
    if str(path).endswith(".npy"):
        return np.load(path)
    table = pq.read_table(path) if str(path).endswith(".parquet") else csv.read_csv(path)
    return np.column_stack([column.to_numpy() for column in table.columns])


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz", ".npy"])
def test_fit_transform_inverse_agree_with_python(lowland, table, X, ending):
    z, again, back = (f"{name}{ending}" for name in ("z", "again", "back"))
    for words in (
        ("fit", "pca", table, "-k", "0.95", "--whiten", "--to", z, "--model", "m.lowland"),
        ("transform", "m.lowland", table, "--to", again),
        ("inverse", "m.lowland", z, "--to", back),
    ):
        result = lowland(*words)
        assert result.exit_code == 0, result.stderr
        assert result.stderr == ""
    pca = ll.PCA(0.95, whiten=True).fit(X)
    Z = pca.transform(X)
    np.testing.assert_allclose(numbers(z), Z, atol=1e-12)
    np.testing.assert_allclose(numbers(again), Z, atol=1e-12)
    np.testing.assert_allclose(numbers(back), pca.inverse_transform(Z), atol=1e-12)


@pytest.mark.parametrize("verb", ["incremental-pca", "whitening", "truncated-svd"])
def test_other_linear_methods_agree_with_python(lowland, table, X, verb):
    assert lowland("fit", verb, table, "-k", 2, "--to", "z.npy", "--model", "m").exit_code == 0
    assert lowland("transform", "m", table, "--to", "again.npy").exit_code == 0
    assert lowland("inspect", "m").exit_code == 0
    assert np.array_equal(np.load("z.npy"), np.load("again.npy"))
    est = ll.load("m")
    np.testing.assert_allclose(np.load("z.npy"), est.transform(ll.open_rows(table)), atol=1e-12)
