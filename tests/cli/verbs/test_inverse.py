"""``lowland inverse``: decoded rows and their names, and methods that have no inverse transform."""

import numpy as np
import pyarrow.csv as csv
import pyarrow.parquet as pq


def test_columns_keep_their_names(lowland, table, model):
    lowland("fit", "pca", table, "-k", 2, "--to", "z.parquet")
    lowland("inverse", model, "z.parquet", "--to", "back.csv")
    assert pq.read_table("z.parquet").column_names == ["pca0", "pca1"]
    assert csv.read_csv("back.csv").column_names == list("abcd")


def test_decoded_columns_without_names_are_numbered(lowland, X):
    np.save("x.npy", X)
    lowland("fit", "pca", "x.npy", "-k", 2, "--to", "z.npy", "--model", "m")
    assert lowland("inverse", "m", "z.npy", "--to", "back.csv").exit_code == 0
    assert csv.read_csv("back.csv").column_names == ["x0", "x1", "x2", "x3"]


def test_a_missing_inverse_transform_is_reported_with_a_remedy(lowland, table):
    assert lowland("fit", "kernel-pca", table, "-k", 2, "--to", "z.csv", "--model", "m").exit_code == 0
    result = lowland("inverse", "m", "z.csv", "--to", "back.csv")
    assert result.exit_code == 1
    assert "Fit it again with --fit-inverse-transform." in result.stderr
    words = ("-k", 2, "--fit-inverse-transform", "--model", "m", "--force")
    assert lowland("fit", "kernel-pca", table, *words).exit_code == 0
    assert lowland("inverse", "m", "z.csv", "--to", "back.csv").exit_code == 0
