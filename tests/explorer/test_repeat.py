"""The Python and the command that the page shows repeat the map, also of a messy table and after roles were changed."""

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import lowland
from lowland.cli.main import cli

PENGUINS = Path(__file__).parents[1] / "data/tables/penguins.csv"
NUMBERS = ["age", "pay"]
ROLES = {
    "standardized": {"city": "keep", "group": "label", "weight": "keep"},
    "encoded": {"city": "feature", "group": "feature", "weight": "keep"},
    "weighted": {"age": "drop", "city": "drop", "group": "label", "weight": "weight", "person": "feature"},
}


@pytest.fixture(scope="module")
def messy(explorer):
    """A table with ids, gaps, categories and weights."""
    rng, n = np.random.default_rng(0), 60
    columns = {
        "person": np.arange(1, n + 1), "age": rng.normal(50, 9, n), "pay": rng.normal(3e4, 9e3, n),
        "city": rng.choice(["Oslo", "Bergen", "Tromsø, north"], n), "group": rng.choice(["a", "b"], n),
        "weight": rng.uniform(1, 2, n).round(2),
    }  # fmt: skip
    columns["age"][::7] = np.nan
    pd.DataFrame(columns).to_csv(explorer.folder / "messy.csv", index=False)
    return explorer.open("messy.csv")


def run(words):
    """Run a command in this process."""
    found = CliRunner().invoke(cli, words)
    assert found.exit_code == 0, found.stderr


@pytest.mark.parametrize(
    ("roles", "scale", "method", "impute"),
    [("standardized", "standard", "PCA", "median"), ("standardized", "none", "LinearDiscriminantAnalysis", "median"),
     ("encoded", "none", "PCA", "median"), ("encoded", "standard", "Isomap", "knn"),
     ("weighted", "none", "PCA", "median"), ("standardized", "standard", "PCA", "mean"),
     ("encoded", "standard", "PCA", "em")],
)  # fmt: skip
def test_python_and_command_repeat_the_map(explorer, messy, tmp_path, monkeypatch, roles, scale, method, impute):
    place = f"/api/tables/{messy['id']}"
    everything = dict.fromkeys(NUMBERS, "feature") | {"person": "id"} | ROLES[roles]
    explorer.client.patch(place, json={"roles": everything, "scale": scale, "impute": impute})
    assert explorer.table(messy["id"])["unprepared"] is None
    record = explorer.map(explorer.compute(messy["id"], method)["id"])
    assert record["status"] == "done", record["error"]
    explorer.client.patch(place, json={"roles": {"pay": "drop"}, "impute": "median"})  # the map was made otherwise
    explorer.table(messy["id"])
    code = explorer.get(f"/api/maps/{record['id']}/code").json()
    values = np.frombuffer(explorer.get(f"/api/maps/{record['id']}/coordinates").content, "<f4")
    wanted = values.reshape(record["components"], -1).T
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(code["python"], names)
    np.testing.assert_allclose(np.asarray(names["Z"]), wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
    for path in tmp_path.iterdir():  # the model, with the preparation of the table
        run(["transform", path.name, str(explorer.folder / "messy.csv"), "--to", "-"])
        path.unlink()
    program, *words = shlex.split(code["command"])
    assert program == "lowland"
    run(words)
    copied = pd.read_csv(explorer.folder / "messy.csv").columns  # id, label and weight
    written = pd.read_csv("coordinates.csv").drop(columns=copied, errors="ignore").to_numpy()
    np.testing.assert_allclose(written, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())


def coordinates_of(explorer, record):
    assert record["status"] == "done", record["error"]
    values = np.frombuffer(explorer.get(f"/api/maps/{record['id']}/coordinates").content, "<f4")
    return values.reshape(record["components"], -1).T


def check_repeated(explorer, record):
    """Run the Python and the command that the page shows, in this folder, and compare their coordinates."""
    wanted = coordinates_of(explorer, record)
    close = {"rtol": 1e-4, "atol": 1e-5 * np.abs(wanted).max()}
    code = explorer.get(f"/api/maps/{record['id']}/code").json()
    names: dict = {}
    exec(code["python"], names)
    np.testing.assert_allclose(np.asarray(names["Z"]), wanted, **close)
    run([*shlex.split(code["command"])[1:], "--force"])
    np.testing.assert_allclose(pd.read_csv("coordinates.csv").select_dtypes("number").iloc[:, :2], wanted, **close)


def test_a_map_of_counts_is_repeated(explorer, tmp_path, monkeypatch):
    counts = np.random.default_rng(0).negative_binomial(0.3, 0.2, (80, 20))
    counts[:, 0] += 1
    pd.DataFrame(counts).add_prefix("w").to_csv(explorer.folder / "counts.csv", index=False)
    table = explorer.open("counts.csv")
    assert "TF-IDF" in explorer.table(table["id"])["prepared_notes"][0]
    monkeypatch.chdir(tmp_path)
    check_repeated(explorer, explorer.map(explorer.compute(table["id"], "PCA")["id"]))
    ca = explorer.map(explorer.compute(table["id"], "CorrespondenceAnalysis")["id"])
    check_repeated(explorer, ca)
    assert ca["warnings"] == []
    expected = lowland.CorrespondenceAnalysis(2).fit_transform(counts)  # of the counts, not of their weights
    np.testing.assert_allclose(coordinates_of(explorer, ca), expected, atol=1e-5)
    explorer.client.patch(f"/api/tables/{table['id']}", json={"scale": "none"})
    assert not explorer.table(table["id"])["prepared_notes"]


@pytest.mark.filterwarnings("ignore:Isomap. the neighbor graph is disconnected")
@pytest.mark.parametrize("impute", ["median", "knn"])
@pytest.mark.parametrize(
    "method", ["FactorAnalysisOfMixedData", "MultipleCorrespondenceAnalysis", "PCA", "UMAP", "Isomap"]
)
def test_a_map_of_a_table_with_gaps_is_repeated(explorer, tmp_path, monkeypatch, method, impute):
    """The penguins: numbers and categories with missing values, and a year that is no feature."""
    (explorer.folder / "penguins.csv").write_bytes(PENGUINS.read_bytes())
    table = explorer.open("penguins.csv")["id"]
    explorer.client.patch(f"/api/tables/{table}", json={"impute": impute})
    explorer.table(table)
    monkeypatch.chdir(tmp_path)
    record = explorer.map(explorer.compute(table, method)["id"])
    check_repeated(explorer, record)
    if method == "FactorAnalysisOfMixedData":
        saved = explorer.get(f"/api/tables/{table}/archive").content
        opened = explorer.post("/api/archives", files={"file": ("penguins.lowland-session", saved)}).json()["id"]
        explorer.table(opened)
        check_repeated(explorer, explorer.get(f"/api/maps?table={opened}").json()[-1])
    said = " ".join(record["warnings"])
    if method == "FactorAnalysisOfMixedData":
        assert len(record["read"]) == 6
        assert "year" not in record["read"]
        assert "Replaced 8 missing numbers by the median of the column" in said
        assert "standardized" not in said
    elif method == "MultipleCorrespondenceAnalysis":
        assert record["read"] == ["island", "sex"]
        numbers = "'bill_length_mm', 'bill_depth_mm', 'flipper_length_mm', 'body_mass_g'"
        assert f"{numbers}: numbers, which MCA does not read, not used." in said
    else:
        assert "were replaced by" in said
        assert "Add edges" not in said  # the explorer passes the graph, which a person does not see


def test_a_map_of_counts_refuses_categories_and_says_what_to_do(explorer):
    (explorer.folder / "penguins.csv").write_bytes(PENGUINS.read_bytes())
    made = explorer.compute(explorer.open("penguins.csv")["id"], "CorrespondenceAnalysis")
    error = explorer.map(made["id"])["error"]
    assert "some features are not numbers: 'island', 'sex'. Give them another role" in error


def test_code_of_a_selection_says_what_to_export_first(explorer, messy):
    answer = explorer.post(f"/api/tables/{messy['id']}/subset", json={"mask": "////////DwA=", "first_map": None})
    made = explorer.table(answer.json()["id"])
    record = explorer.map(explorer.compute(made["id"], "PCA")["id"])
    code = explorer.get(f"/api/maps/{record['id']}/code").json()
    assert all("export" in text and ".parquet" in text for text in code.values())


@pytest.mark.parametrize("method", ["TSNE", "MDS"])  # one takes the start as a parameter, one as an argument of fit
def test_python_repeats_a_map_that_started_from_others(explorer, tmp_path, monkeypatch, method):
    table = explorer.open("small.csv")["id"]

    def changed(record, **parameters):
        body = {"table": table, "method": method, "parameters": parameters, "replaces": record["id"], "warm": True}
        return explorer.map(explorer.post("/api/maps", json=body).json()["id"])

    first = explorer.map(explorer.compute(table, method, init="random", random_state=3)["id"])
    last = changed(changed(first, random_state=1), random_state=2, n_components=2)
    assert last["warm"]
    assert len(last["start"]) == 2
    code = explorer.get(f"/api/maps/{last['id']}/code").json()
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(code["python"], names)
    wanted = np.frombuffer(explorer.get(f"/api/maps/{last['id']}/coordinates").content, "<f4").reshape(2, -1).T
    np.testing.assert_allclose(np.asarray(names["Z"]), wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())
    assert "Run the Python code" in code["command"]
