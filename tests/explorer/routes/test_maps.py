import inspect
import shutil

import numpy as np
import pytest

from lowland import kernels
from lowland.explorer import maps
from lowland.explorer.catalog import catalog
from lowland.methods.registry import load_method
from lowland.run.progress import COMPILING


def coordinates(explorer, record):
    answer = explorer.get(f"/api/maps/{record['id']}/coordinates")
    assert answer.status_code == 200
    return np.frombuffer(answer.content, dtype="<f4").reshape(record["components"], -1).T


def test_coordinates_are_those_of_the_library(explorer, table, pca, folder):
    import lowland

    rows = lowland.open_rows(folder / "small.csv", columns=["x0", "x1", "x2", "x3"])
    Z = lowland.PCA(2).fit_transform(rows)
    np.testing.assert_allclose(coordinates(explorer, pca), Z, rtol=1e-5, atol=1e-5)


def test_a_result_is_sent_once(explorer, pca):
    path = f"/api/maps/{pca['id']}/coordinates"
    first = explorer.get(path)
    assert first.headers["cache-control"] == "no-cache"  # the map may be replaced: the browser asks each time
    again = explorer.get(path, headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304
    assert not again.content


def test_measures_arrive_after_the_map(explorer, pca):
    assert pca["measured"]
    names = [measure["name"] for measure in pca["measures"]]
    assert {"neighbors preserved", "trustworthiness"} <= set(names)
    for measure in pca["measures"]:
        answer = explorer.get(f"/api/maps/{pca['id']}/trust/{measure['name']}")
        values = np.frombuffer(answer.content, dtype="<f4")
        assert len(values) == 60
        assert np.nanmin(values) == pytest.approx(measure["low"], abs=1e-6)
    assert 0 < pca["scores"]["trustworthiness"]["value"] <= 1
    assert explorer.get(f"/api/maps/{pca['id']}/trust/nothing").status_code == 404


def test_the_model_file_gives_the_same_coordinates(explorer, pca, tmp_path, folder):
    import lowland

    answer = explorer.get(f"/api/maps/{pca['id']}/model")
    (tmp_path / "m.lowland").write_bytes(answer.content)
    model = lowland.load(tmp_path / "m.lowland")
    Z = model.transform(lowland.open_rows(folder / "small.csv", columns=["x0", "x1", "x2", "x3"]))
    np.testing.assert_allclose(Z, coordinates(explorer, pca), rtol=1e-4, atol=1e-4)


def test_methods_describe_their_forms(explorer):
    found = explorer.get("/api/methods").json()
    assert len(found) == 32
    by_name = {method["name"]: method for method in found}
    assert by_name["UMAP"]["live"]
    assert by_name["LinearDiscriminantAnalysis"]["needs_labels"]
    neighbors = next(p for p in by_name["UMAP"]["parameters"] if p["name"] == "n_neighbors")
    assert neighbors["default"] == 15
    assert not neighbors["advanced"]


def test_every_method_has_a_group():
    assert not [method["name"] for method in catalog() if method["group"] == "Other"]


LIVE = [method["name"] for method in catalog() if method["live"]]


@pytest.mark.parametrize("name", LIVE)
def test_live_methods_take_a_callback(name):
    assert "callback" in inspect.signature(load_method(name).fit).parameters


@pytest.mark.parametrize("name", sorted({method["name"] for method in catalog()} - {*LIVE}))
def test_other_methods_are_not_called_live(name):
    assert "callback" not in inspect.signature(load_method(name).fit).parameters


@pytest.mark.parametrize(
    ("method", "parameters", "term"),
    [
        ("umpa", {}, "umap"),
        ("UMAP", {"n_neighbours": 5}, "n_neighbors"),
        ("PCA", {"__class__": 1}, "__class__"),
        ("PCA", {"random_state": {"a": 1}, "nothing": 2}, "nothing"),
    ],
)
def test_mistakes_are_refused_at_once(explorer, table, method, parameters, term):
    answer = explorer.post("/api/maps", json={"table": table["id"], "method": method, "parameters": parameters})
    assert answer.status_code == 422
    assert term in answer.json()["error"]


def test_a_fit_that_fails_has_a_sentence(explorer, table):
    found = explorer.map(explorer.compute(table["id"], "Isomap", n_neighbors=600)["id"])
    assert found["status"] == "failed"
    assert "n_neighbors" in found["error"]
    assert explorer.get(f"/api/maps/{found['id']}/coordinates").status_code == 409


def test_supervised_and_mixed_methods(explorer, table):
    lda = explorer.map(explorer.compute(table["id"], "LinearDiscriminantAnalysis")["id"])
    assert lda["status"] == "done", lda["error"]
    assert (lda["name"], lda["method"]) == ("LDA", "LinearDiscriminantAnalysis")
    assert [axis["name"] for axis in lda["axes"]] == ["LD1", "LD2"]
    pca = explorer.map(explorer.compute(table["id"])["id"])
    assert 0 < pca["axes"][1]["share"] < pca["axes"][0]["share"] < 1
    columns = {column["name"] for column in table["columns"]}
    assert {name.removeprefix("−") for axis in pca["axes"] for name in axis["columns"]} <= columns
    made = explorer.open("small.csv")
    explorer.client.patch(f"/api/tables/{made['id']}", json={"roles": {"label": "feature"}})
    explorer.table(made["id"])
    mixed = explorer.map(explorer.compute(made["id"], "FactorAnalysisOfMixedData")["id"])
    assert mixed["status"] == "done", mixed["error"]


def test_an_estimate_states_its_basis(explorer, table):
    wanted = {"table": table["id"], "method": "MDS"}
    first = explorer.post("/api/estimates", json=wanted)
    assert first.status_code == 200, first.text
    found = first.json()
    assert 0 < found["low"] < found["seconds"] < found["high"]
    assert "rows" in found["basis"]
    assert explorer.post("/api/estimates", json=wanted).json() == found  # measured once


@pytest.mark.parametrize(
    ("parameters", "word"), [({"n_neighbors": 10_000}, "n_neighbors"), ({"n_neighbor": 5}, "n_neighbor")]
)
def test_without_an_estimate_the_reason_is_answered(explorer, table, parameters, word):
    answer = explorer.post("/api/estimates", json={"table": table["id"], "method": "Isomap", "parameters": parameters})
    assert answer.status_code == 200, answer.text
    assert answer.json()["seconds"] is None
    assert word in answer.json()["reason"]
    assert explorer.post("/api/estimates", json={"table": "none", "method": "PCA"}).status_code == 404


@pytest.mark.parametrize("method", ["UMAP", "MDS", "SelfOrganizingMap"])
def test_maps_unfold_in_view(explorer, listen, method):
    listener = listen(explorer)
    made = explorer.open("large.csv")
    record = explorer.compute(made["id"], method)
    shot = listener.wait_for(lambda name, data: name == "live" and data["id"] == record["id"])
    assert shot["components"] == 2
    explorer.post(f"/api/maps/{record['id']}/cancel")
    assert explorer.map(record["id"])["status"] in ("canceled", "done")


def test_live_snapshots_and_events(explorer, listen):
    listener = listen(explorer)
    made = explorer.open("large.csv")
    record = explorer.compute(made["id"], "TSNE", max_iter=260)
    shot = listener.wait_for(lambda name, data: name == "live" and data["id"] == record["id"])
    assert shot["version"] >= 1
    answer = explorer.get(f"/api/maps/{record['id']}/live")
    assert answer.status_code == 200
    assert len(answer.content) == 4 * 2 * 3_000
    listener.wait_for(lambda name, data: name == "map" and data["id"] == record["id"] and data["status"] == "done")
    statuses = [data["status"] for name, data in listener.seen if name == "map" and data["id"] == record["id"]]
    assert list(dict.fromkeys(statuses)) == ["queued", "running", "done"]
    other = listen(explorer)  # all browsers are told
    explorer.client.delete(f"/api/maps/{record['id']}")
    for each in (listener, other):
        each.wait_for(lambda name, data: name == "map" and (data["id"], data["status"]) == (record["id"], "deleted"))


def test_the_api_is_described(explorer):
    described = explorer.get("/api/openapi.json").json()
    paths = described["paths"]
    assert {"/api/session", "/api/tables", "/api/maps/{m}/coordinates", "/api/events"} <= set(paths)
    for route in (operation for path in paths.values() for operation in path.values()):
        assert route["responses"]["default"]["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorAnswer")
        assert route["security"] == [{"HTTPBearer": []}]
    binary = paths["/api/maps/{m}/coordinates"]["get"]["responses"]["200"]["content"]
    assert list(binary) == ["application/octet-stream"]
    assert list(paths["/api/uploads"]["post"]["requestBody"]["content"]) == ["multipart/form-data"]
    assert set(paths["/api/maps/{m}/place"]["post"]["requestBody"]["content"]) == {
        "multipart/form-data",
        "application/json",
    }


def test_a_map_that_was_computed_before_comes_from_the_cache(explorer, table, start):
    first = explorer.measured(explorer.compute(table["id"], "FastICA", n_components=2)["id"])
    second = start()
    own = second.open("small.csv")["id"]
    same = second.measured(second.compute(own, "FastICA", n_components=2)["id"])
    assert same["seconds"] == first["seconds"]
    assert same["scores"] == first["scores"]
    where = "/api/maps/{}/coordinates"
    assert second.get(where.format(same["id"])).content == explorer.get(where.format(first["id"])).content
    other = second.measured(second.compute(own, "FastICA", n_components=3)["id"])
    assert other["seconds"] != first["seconds"]


def warm(explorer, record, method=None, **parameters):
    """Compute a map that replaces another one and starts from its coordinates."""
    body = {"table": record["table"], "method": method or record["method"], "parameters": parameters}
    return explorer.post("/api/maps", json={**body, "replaces": record["id"], "warm": True})


def displacement(A, B):
    """How far the points moved between two maps, relative to the spread of the first."""
    return np.linalg.norm((A - A.mean(axis=0)) - (B - B.mean(axis=0))) / np.linalg.norm(A - A.mean(axis=0))


@pytest.mark.parametrize("name", [each["name"] for each in catalog() if each["warm"]])
def test_a_changed_map_moves_from_where_it_is(explorer, table, name):
    first = explorer.map(explorer.compute(table["id"], name, init="random", random_state=3)["id"])
    changed = explorer.map(warm(explorer, first, random_state=1).json()["id"])
    scratch = explorer.map(explorer.compute(table["id"], name, init="random", random_state=1)["id"])
    before, after, other = (coordinates(explorer, each) for each in (first, changed, scratch))
    assert displacement(before, after) < 0.5 * displacement(before, other)
    assert (changed["replaces"], changed["warm"], len(changed["start"])) == (first["id"], True, 1)
    assert "depends on that map" in " ".join(changed["warnings"])
    assert not scratch["warm"]
    np.testing.assert_array_equal(coordinates(explorer, first), before)  # the earlier map is kept


def test_a_map_starts_only_from_one_that_fits(explorer, table, pca):
    assert warm(explorer, pca, "TSNE").status_code == 422
    assert warm(explorer, pca).status_code == 422  # PCA does not descend
    first = explorer.map(explorer.compute(table["id"], "SammonMapping")["id"])
    other = explorer.map(warm(explorer, first, n_components=3).json()["id"])
    assert (other["status"], other["warm"]) == ("done", False)
    assert "from scratch" in " ".join(other["warnings"])
    body = {"table": explorer.open("large.csv")["id"], "method": "PCA", "replaces": first["id"]}
    assert explorer.post("/api/maps", json=body).status_code == 422


def test_a_map_says_that_it_compiles_before_its_first_stage(explorer, table, tmp_path, monkeypatch):
    rows = max((explorer.workspace / "tables" / table["id"]).glob("rows-*"))
    shutil.copytree(rows, tmp_path / "rows", ignore=shutil.ignore_patterns("graph-*", "sample"))
    stored = str(rows.parent / "table.arrow")
    search = maps.nearest_neighbors

    def compile_and_search(*arguments):
        kernels.watchers[-1](True)
        return search(*arguments)

    monkeypatch.setattr(maps, "nearest_neighbors", compile_and_search)
    inputs = {"stored": stored, "rows": str(tmp_path / "rows"), "method": "Isomap", "parameters": {"n_neighbors": 7}}
    sent = []
    maps.compute_map({**inputs, "map": str(tmp_path / "map")}, sent.append)
    assert COMPILING in [event.get("stage") for event in sent]
