"""Files that are matrices of points: distances, kernel values, covariances; the names of the points go along."""

import json

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse
from sklearn.neighbors import kneighbors_graph

import lowland as ll
from lowland.data import load_dataset
from lowland.data.write import write_chunks


def write_matrix(path, M, names, columns, corner="point"):
    write_chunks([np.column_stack([np.asarray(names, dtype=object), M.astype(object)])], path, [corner, *columns])


@pytest.fixture
def airports() -> list[str]:
    """Ten airports: their distances, their kernel matrix, and the distances of two new points to them."""
    data = load_dataset("airports")
    names = [str(name) for name in data.names]
    X = ll.ClassicalMDS(metric="precomputed").fit_transform(data.X)
    write_matrix("distances.csv", data.X, names, names)
    write_matrix("kernel.parquet", X @ X.T, names, names)
    write_matrix("new.csv", data.X[:2] + 100, ["here", "there"], names, corner="place")
    return names


def test_names_of_points_stand_beside_their_coordinates(lowland, airports):
    words = ("--metric", "precomputed", "--to", "z.csv", "--model", "m")
    result = lowland("fit", "classical-mds", "distances.csv", *words)
    assert result.exit_code == 0, result.stderr
    table = pyarrow.csv.read_csv("z.csv")
    assert table.column_names == ["point", "classicalmds0", "classicalmds1"]
    assert table["point"].to_pylist() == airports
    Z = ll.ClassicalMDS(metric="precomputed").fit_transform(load_dataset("airports").X)
    np.testing.assert_allclose(table["classicalmds0"].to_numpy(), Z[:, 0])
    assert lowland("transform", "m", "new.csv", "--to", "new.parquet").exit_code == 0
    placed = pyarrow.parquet.read_table("new.parquet")
    assert placed["place"].to_pylist() == ["here", "there"]
    assert placed.num_columns == 3


def test_names_of_points_of_a_kernel(lowland, airports, monkeypatch):
    words = ("-k", 2, "--kernel", "precomputed", "--to", "z.csv", "--model", "m")
    assert lowland("fit", "kernel-pca", "kernel.parquet", *words).exit_code == 0
    assert pyarrow.csv.read_csv("z.csv")["point"].to_pylist() == airports
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 300)  # slabs of three rows
    assert lowland("transform", "m", "kernel.parquet", "--to", "again.csv").exit_code == 0
    first, again = (pyarrow.csv.read_csv(name) for name in ("z.csv", "again.csv"))
    assert again["point"].to_pylist() == airports
    np.testing.assert_allclose(again["kernelpca1"].to_numpy(), first["kernelpca1"].to_numpy(), atol=1e-6)


def test_points_named_na_keep_their_name(lowland, airports):
    D, names = load_dataset("airports").X, ["NA", "null", *airports[2:]]
    write_matrix("countries.csv", D, names, names)
    assert (
        lowland("fit", "classical-mds", "countries.csv", "--metric", "precomputed", "--to", "z.parquet").exit_code == 0
    )
    assert pyarrow.parquet.read_table("z.parquet")["point"].to_pylist() == names


def test_numpy_files_hold_the_numbers_alone(lowland, airports):
    assert lowland("fit", "mds", "distances.csv", "--metric", "precomputed", "--to", "z.npy").exit_code == 0
    assert np.load("z.npy").shape == (10, 2)


def test_names_that_are_dropped_are_gone(lowland, airports):
    words = ("--metric", "precomputed", "--drop", "point", "--to", "z.csv")
    assert lowland("fit", "classical-mds", "distances.csv", *words).exit_code == 0
    assert pyarrow.csv.read_csv("z.csv").num_columns == 2


def test_text_in_a_table_of_rows_is_refused_as_ever(lowland, airports):
    result = lowland("fit", "classical-mds", "distances.csv")
    assert result.exit_code == 1
    assert "'point'" in result.stderr


def test_no_way_back_and_what_to_do(lowland, table):
    assert lowland("fit", "kernel-pca", table, "-k", 2, "--to", "z.csv", "--model", "m").exit_code == 0
    result = lowland("inverse", "m", "z.csv", "--to", "back.csv")
    assert result.exit_code == 1
    assert "Fit it again with --fit-inverse-transform." in result.stderr
    words = ("-k", 2, "--fit-inverse-transform", "--model", "m", "--force")
    assert lowland("fit", "kernel-pca", table, *words).exit_code == 0
    assert lowland("inverse", "m", "z.csv", "--to", "back.csv").exit_code == 0


def test_landmarks_are_told(lowland, table):
    words = ("-k", 2, "--kernel", "rbf", "--n-landmarks", 20, "--model", "m", "--json")
    assert json.loads(lowland("fit", "kernel-pca", table, *words).stdout)["facts"]["landmarks"] == 20
    assert "Landmarks     20" in lowland("inspect", "m").stdout
    assert "unless --n-landmarks" in " ".join(lowland("fit", "kernel-pca", "--help").stdout.split())


# --- covariances ------------------------------------------------------------------------------------------------------


def test_factors_of_a_covariance(lowland):
    wine = load_dataset("wine")
    names = [str(name) for name in wine.names]
    write_matrix("r.csv", np.corrcoef(wine.X, rowvar=False), names, names, corner="variable")
    result = lowland("fit", "factor-analysis", "r.csv", "-k", 3, "--covariance-of", 178, "--model", "m", "--json")
    assert result.exit_code == 0, result.stdout
    facts, of_rows = json.loads(result.stdout), ll.FactorAnalysis(3).fit(wine.X)
    assert facts["data"]["rows"] == 178
    np.testing.assert_allclose(ll.load("m").loadings_, of_rows.loadings_, atol=1e-5)
    assert list(ll.load("m").feature_names_in_) == names
    np.testing.assert_allclose(facts["facts"]["chi-square of fit"], of_rows.fit_test_.statistic, rtol=1e-4)


def test_a_covariance_has_no_rows(lowland, table):
    for words in (("--to", "z.csv"), ("--label", "a")):
        result = lowland("fit", "factor-analysis", table, "-k", 1, "--covariance-of", 60, *words)
        assert result.exit_code == 2
        assert f"leave out {words[0]}" in result.stderr
    assert "as many rows as columns" in lowland("fit", "factor-analysis", table, "-k", 1, "--covariance-of", 60).stderr
    assert lowland("fit", "pca", table, "--covariance-of", 60).exit_code == 2


@pytest.mark.parametrize("affinity", ["precomputed", "precomputed_nearest_neighbors"])
def test_names_of_points_of_affinities(lowland, airports, affinity):
    words = ("--affinity", affinity, "--n-neighbors", 4, "--to", "z.csv")
    result = lowland("fit", "spectral-embedding", "distances.csv", *words)
    assert result.exit_code == 0, result.stderr
    assert pyarrow.csv.read_csv("z.csv")["point"].to_pylist() == airports


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_a_sparse_graph_comes_as_scipy_writes_it(lowland, form):
    X = load_dataset("swiss_roll", n=300).X
    graph = kneighbors_graph(X, 8, mode="distance").asformat(form)
    scipy.sparse.save_npz("graph.npz", graph)
    result = lowland("fit", "isomap", "graph.npz", "--metric", "precomputed", "--to", "z.npy")
    assert result.exit_code == 0, result.stderr
    Z = ll.Isomap(2, metric="precomputed").fit_transform(graph)
    np.testing.assert_allclose(np.load("z.npy"), Z, atol=1e-6 * np.abs(Z).max())


@pytest.mark.parametrize("verb", ["pca", "truncated-svd"])
def test_sparse_rows_come_as_scipy_writes_them(lowland, verb):
    S = scipy.sparse.random_array((60, 12), density=0.3, rng=np.random.default_rng(0), format="csr")
    scipy.sparse.save_npz("rows.npz", S)
    np.save("rows.npy", S.toarray())
    for name in ("rows.npz", "rows.npy"):
        assert lowland("fit", verb, name, "-k", 2, "--to", f"{name}.z.npy").exit_code == 0
    np.testing.assert_allclose(np.load("rows.npz.z.npy"), np.load("rows.npy.z.npy"), atol=1e-6)
