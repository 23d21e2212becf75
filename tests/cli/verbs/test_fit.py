"""``lowland fit``: which columns, which method, what is written and printed; matrices and sparse rows as files."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from sklearn.neighbors import kneighbors_graph

import lowland as ll
from lowland.data import load_dataset
from lowland.data.write import write_chunks

ESCAPE = "\x1b"


def numbers(path) -> np.ndarray:
    if str(path).endswith(".npy"):
        return np.load(path)
    table = pq.read_table(path) if str(path).endswith(".parquet") else csv.read_csv(path)
    return np.column_stack([column.to_numpy() for column in table.columns])


def test_columns_are_selected_dropped_and_labeled(lowland, X):
    labels = np.where(X[:, 0] > 0, "up", "down").astype(object)
    write_chunks([np.column_stack([X.astype(object), labels])], "named.parquet", [*"abcd", "way"])
    wanted = ll.PCA(1).fit(X[:, [2, 0]]).explained_variance_
    for words in (
        ("--columns", "c,a"),
        ("--columns", "c, a, way", "--label", "way"),
        ("--columns", "c,b,a", "--drop", "b"),
    ):
        result = lowland("fit", "pca", "named.parquet", "-k", 1, "--json", *words)
        assert result.exit_code == 0, result.stderr
        np.testing.assert_allclose(json.loads(result.stdout)["explained_variance"], wanted)


def test_the_summary_reports_solver_and_reason(lowland, table):
    text = lowland("fit", "pca", table, "-k", 0.9, "--to", "z.csv", "--model", "m.lowland").stdout
    pca = ll.PCA(0.9).fit(table)
    for words in (
        "60 rows × 4 columns",
        "table.csv",
        "n_components=0.9",
        pca.solver_.reason,
        pca.choice_.reason,
        f"{pca.explained_variance_ratio_[0]:.2%}",
        "z.csv, 60 rows × 2 columns",
        "m.lowland",
    ):
        assert words in text
    assert re.search(r"Time +\S+ s\n", text)
    assert ESCAPE not in text
    assert not re.search(r" \n|…", text)


def test_threads_and_memory_do_not_change_the_answer(lowland, table):
    for i, words in enumerate([(), ("--threads", 1), ("--memory", "200MB")]):
        assert lowland("fit", "pca", table, "--to", f"z{i}.npy", *words).exit_code == 0
    assert np.array_equal(np.load("z0.npy"), np.load("z1.npy"))
    assert np.array_equal(np.load("z0.npy"), np.load("z2.npy"))


def test_as_a_process(process, table, X):
    done = process("fit", "pca", table, "-k", 2, "--to", "z.npy")
    assert (done.returncode, done.stderr) == (0, "")
    assert "60 rows × 4 columns" in done.stdout
    np.testing.assert_allclose(np.load("z.npy"), ll.PCA(2).fit(X).transform(X), atol=1e-12)


def test_a_class_may_be_named_with_dashes(lowland, labeled):
    assert lowland("fit", "linear-discriminant-analysis", labeled, "--label", "way").exit_code == 0
    assert lowland("fit", "Fast_ICA", labeled, "--drop", "way").exit_code == 0
    assert lowland("fit", "TruncatedSVD", labeled, "--drop", "way").exit_code == 0


def test_many_slabs_pass_through(lowland, rng, monkeypatch):
    """A file of many slabs gives the result of one slab."""
    from lowland.data import rows

    X = rng.standard_normal((1000, 3))
    np.save("x.npy", X)
    monkeypatch.setattr(rows, "SLAB_BYTES", 100 * 3 * 8)
    assert lowland("fit", "pca", "x.npy", "-k", 2, "--to", "z.parquet", "--model", "m").exit_code == 0
    assert pq.ParquetFile("z.parquet").num_row_groups == 16
    np.testing.assert_allclose(numbers("z.parquet"), ll.PCA(2).fit(X).transform(X), atol=1e-10)


def test_factors_of_a_covariance(lowland, write_matrix):
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
        assert f"Omit {words[0]}" in result.stderr
    assert "60 x 4" in lowland("fit", "factor-analysis", table, "-k", 1, "--covariance-of", 60).stderr
    assert lowland("fit", "pca", table, "--covariance-of", 60).exit_code == 2


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_a_sparse_graph_is_read_from_a_scipy_file(lowland, form):
    X = load_dataset("swiss_roll", n=300).X
    graph = kneighbors_graph(X, 8, mode="distance").asformat(form)
    scipy.sparse.save_npz("graph.npz", graph)
    result = lowland("fit", "isomap", "graph.npz", "--metric", "precomputed", "--to", "z.npy")
    assert result.exit_code == 0, result.stderr
    Z = ll.Isomap(2, metric="precomputed").fit_transform(graph)
    np.testing.assert_allclose(np.load("z.npy"), Z, atol=1e-6 * np.abs(Z).max())


@pytest.mark.parametrize("verb", ["pca", "truncated-svd"])
def test_sparse_rows_are_read_from_a_scipy_file(lowland, verb):
    S = scipy.sparse.random_array((60, 12), density=0.3, random_state=np.random.default_rng(0), format="csr")
    scipy.sparse.save_npz("rows.npz", S)
    np.save("rows.npy", S.toarray())
    for name in ("rows.npz", "rows.npy"):
        assert lowland("fit", verb, name, "-k", 2, "--to", f"{name}.z.npy").exit_code == 0
    np.testing.assert_allclose(np.load("rows.npz.z.npy"), np.load("rows.npy.z.npy"), atol=1e-6)


def test_identifiers_are_not_used_and_units_are_standardized(lowland):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((50, 2)), np.arange(50), rng.standard_normal(50) * 300])
    pd.DataFrame(X, columns=["a", "b", "id", "income, net"]).to_csv("t.csv", index=False)
    text = lowland("fit", "pca", "t.csv", "-k", 2).stdout
    assert "id: an identifier (row number), not used" in text
    assert "income, net: number, standardized" in text
    for words in (("pca", "--scale"), ("fast-ica",)):  # they standardize by themselves, or need not
        assert "standardized" not in lowland("fit", *words, "t.csv", "-k", 2).stdout


def test_text_is_read_by_methods_of_categories(lowland):
    rng = np.random.default_rng(0)
    kinds = [["red", "green", "blue"][i] for i in rng.integers(0, 3, 60)]
    lines = [f"{kind},{'yes' if u < 0.4 else 'no'},{u:.3f}" for kind, u in zip(kinds, rng.random(60), strict=True)]
    with open("table.csv", "w") as file:
        file.write("\n".join(["color,sold,x", *lines]))
    for verb, more in (("mca", ("--drop", "x")), ("famd", ())):
        result = lowland("fit", verb, "table.csv", *more, "--to", f"{verb}.csv", "--model", "m.lowland", "--force")
        assert result.exit_code == 0, result.stderr
        result = lowland("transform", "m.lowland", "table.csv", "--to", "again.csv", "--force")
        assert result.exit_code == 0, result.stderr
        np.testing.assert_array_equal(numbers("again.csv"), numbers(f"{verb}.csv"))
    result = lowland("fit", "pca", "table.csv", "--prepare", "none")
    assert result.exit_code != 0
    assert "'color'" in result.stderr


def test_names_of_the_rows_of_a_table_of_counts(lowland):
    with open("counts.csv", "w") as file:
        file.write("staff,none,light,medium,heavy\nSM,4,2,3,2\nJM,4,3,7,4\nSE,25,10,12,4\nJE,18,24,33,13\n")
    result = lowland("fit", "ca", "counts.csv", "-k", 2, "--to", "map.csv", "--model", "m.lowland")
    assert result.exit_code == 0, result.stderr
    assert csv.read_csv("map.csv").column(0).to_pylist() == ["SM", "JM", "SE", "JE"]
    result = lowland("transform", "m.lowland", "counts.csv", "--to", "again.csv")
    assert result.exit_code == 0, result.stderr
    assert csv.read_csv("again.csv").equals(csv.read_csv("map.csv"))


@pytest.fixture
def mixed(folder):
    """A table with columns of text, and missing values."""
    rng = np.random.default_rng(0)
    lines = [
        f"{x:.4f},{color}" for x, color in zip(rng.standard_normal(60), rng.choice(["red", "blue"], 60), strict=True)
    ]
    lines[3], lines[5] = ",red", "0.5,"
    (folder / "mixed.csv").write_text("\n".join(["x,color", *lines]) + "\n")
    return "mixed.csv"


def test_gower_reads_text_without_preparing(lowland, mixed):
    found = lowland("fit", "umap", mixed, "--metric", "gower", "--n-epochs", 5, "--to", "z.csv", "--model", "m.lowland")
    assert found.exit_code == 0, found.stderr
    assert "--drop" not in found.stderr
    assert lowland("transform", "m.lowland", mixed, "--to", "new.csv").exit_code == 0
    assert len(Path("new.csv").read_text().splitlines()) == 61
    complete = lowland("fit", "mds", mixed, "--metric", "gower", "--drop-missing", "--model", "d.lowland")
    assert complete.exit_code == 0, complete.stderr
    assert [None if c is None else list(c) for c in ll.load("d.lowland").categories_] == [None, ["blue", "red"]]
    hinted = lowland("fit", "umap", mixed, "--impute", "none")
    assert hinted.exit_code != 0
    assert "--metric gower" in hinted.stderr
    refused = lowland("fit", "umap", mixed, "--metric", "gower", "--impute", "mean")
    assert refused.exit_code != 0
    assert "--impute" in refused.stderr
    assert "categories" in refused.stderr


def test_coordinates_are_added_to_a_copy_of_an_anndata_file(lowland, X, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "cells.h5ad", "w") as file:
        file["X"] = X
        for name, index, size in (("obs", "cell", len(X)), ("var", "gene", X.shape[1])):
            file.create_group(name).attrs["_index"] = index
            file[name][index] = [f"{index} {i}" for i in range(size)]
        file.create_group("obsm")["X_pca"] = X[:, :1]
    cells, model = tmp_path / "cells.h5ad", tmp_path / "pca.lowland"
    told = lowland("fit", "pca", cells, "-k", 2, "--to", tmp_path / "pca.h5ad", "--model", model)
    assert "pca.h5ad, obsm/X_pca, " in told.stdout
    lowland("fit", "kernel-pca", tmp_path / "pca.h5ad", "--array", "X_pca", "--to", tmp_path / "both.h5ad")
    lowland("transform", model, cells, "--to", tmp_path / "again.h5ad")
    Z = ll.PCA(2).fit_transform(X)
    for name in ("pca", "both", "again"):
        with h5py.File(tmp_path / f"{name}.h5ad") as file:
            np.testing.assert_allclose(file["obsm/X_pca"][:], Z, atol=1e-12)
            np.testing.assert_array_equal(file["X"][:], X)
            assert ("X_kernel_pca" in file["obsm"]) is (name == "both")
    with h5py.File(cells) as file:
        assert file["obsm/X_pca"].shape == (len(X), 1), "the input stays as it is"


def test_a_column_of_obs_is_the_label_of_an_anndata_file(lowland, X, tmp_path):
    h5py = pytest.importorskip("h5py")
    cells, kinds = tmp_path / "cells.h5ad", np.array(["B", "T"])[(X[:, 0] > np.median(X[:, 0])).astype(int)]
    with h5py.File(cells, "w") as file:
        file["X"] = X
        for name, index, size in (("obs", "cell", len(X)), ("var", "gene", X.shape[1])):
            file.create_group(name).attrs["_index"] = index
            file[name][index] = [f"{index} {i}" for i in range(size)]
        file["obs"].attrs["column-order"] = ["kind"]
        file["obs/kind"] = [str(kind) for kind in kinds]
    for method in ("lda", "pca"):
        to = tmp_path / f"{method}.csv"
        assert not lowland("fit", method, cells, "--label", "kind", "--to", to).exit_code
        written = pd.read_csv(to)
        assert list(written["kind"]) == list(kinds)
        assert list(written["cell"]) == [f"cell {i}" for i in range(len(X))]


def test_an_anndata_file_is_written_only_from_one(lowland, made, tmp_path):
    for words in (("fit", "pca", made / "table.csv"), ("dimension", made / "table.csv")):
        told = lowland(*words, "--to", tmp_path / "x.h5ad")
        assert told.exit_code
        assert ".parquet" in told.stderr
        assert not (tmp_path / "x.h5ad").exists()
