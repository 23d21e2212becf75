"""Questions about a map: answered in a worker, kept with the map, canceled, and refused when the map is outdated."""

import base64
import json

import numpy as np
import pytest

import lowland
from lowland.data import load_dataset


def answered(explorer, name, question="reliability"):
    ended = ("done", "failed")
    record = explorer.until(f"/api/maps/{name}", lambda one: one["answers"].get(question, {}).get("status") in ended)
    assert record["answers"][question]["status"] == "done", record["answers"]
    return explorer.get(f"/api/maps/{name}/answers/{question}").json()


def points(explorer, name, value):
    answer = explorer.get(f"/api/maps/{name}/answers/reliability/{value}")
    assert answer.status_code == 200, answer.text
    return np.frombuffer(answer.content, dtype="<f4")


@pytest.fixture(scope="module")
def iris(folder, explorer):
    data = load_dataset("iris")
    head = ",".join([*(f"x{j}" for j in range(4)), "species"])
    lines = [",".join([*map(str, row), f"s{c}"]) for row, c in zip(data.X.tolist(), data.y, strict=True)]
    (folder / "flowers.csv").write_text("\n".join([head, *lines]) + "\n")
    table = explorer.open("flowers.csv")
    return table, explorer.measured(explorer.compute(table["id"])["id"])


def test_reliability_is_that_of_the_library(explorer, iris, listen):
    table, record = iris
    heard = listen(explorer)
    assert explorer.post(f"/api/maps/{record['id']}/answers/reliability").status_code == 202
    found = answered(explorer, record["id"])
    heard.wait_for(lambda name, data: name == "map" and data["answers"].get("reliability", {}).get("status") == "done")
    X = load_dataset("iris").X
    own = lowland.reliability(lowland.PCA(2).fit(X), X)
    assert found["summary"] == own.summary
    assert found["fractions"]["reliable"] == own.fraction("reliable")
    np.testing.assert_array_equal(points(explorer, record["id"], "p"), own.p_values.astype(np.float32))
    codes = points(explorer, record["id"], "class").astype(int)
    np.testing.assert_array_equal(np.array(["reliable", "uncertain", "unreliable"])[codes], own.classes)
    assert [each["verdict"] for each in found["clusters"]] == [each.verdict for each in own.clusters()]
    assert np.nanmax(points(explorer, record["id"], "region")) + 1 == found["regions"]
    report = explorer.post(f"/api/tables/{table['id']}/report", json={"maps": [record["id"]]}).text
    [trial] = json.loads(report.split('id="study">')[1].split("</script>")[0])["trials"]
    assert trial["scores"]["reliable points"]["about"] == own.summary
    assert (trial["scores"]["stability"]["low"], trial["scores"]["stability"]["high"]) == own.interval


def test_classes_are_tested_and_answers_are_kept_in_a_saved_session(explorer, iris, tmp_path):
    table, record = iris
    codes = base64.b64encode(load_dataset("iris").y.astype(np.uint8).tobytes()).decode()
    wanted = {"name": "species", "kind": "u1", "codes": codes, "levels": ["s0", "s1", "s2"]}
    assert explorer.post(f"/api/maps/{record['id']}/answers/groups", json=wanted).status_code == 202
    found = {each["label"]: each["verdict"] for each in answered(explorer, record["id"], "groups")["clusters"]}
    assert found["s0"] == "separate"
    assert found["s1"] != "separate"
    wrong = {**wanted, "codes": codes[:8]}
    assert explorer.post(f"/api/maps/{record['id']}/answers/groups", json=wrong).status_code == 422
    saved = explorer.get(f"/api/tables/{table['id']}/archive").content
    answer = explorer.post("/api/archives", files={"file": ("flowers.lowland-session", saved)})
    assert answer.status_code == 201, answer.text
    copy = explorer.table(answer.json()["id"])
    [again] = explorer.get("/api/maps", params={"table": copy["id"]}).json()
    assert explorer.get(f"/api/maps/{again['id']}/answers/groups").json()["name"] == "species"


def test_a_map_that_started_from_another_one_is_compared_with_maps_from_scratch(explorer, iris):
    table, _ = iris
    first = explorer.measured(explorer.compute(table["id"], "TSNE", max_iter=300)["id"])
    body = {"table": table["id"], "method": "TSNE", "parameters": {"max_iter": 300, "perplexity": 20}}
    again = explorer.post("/api/maps", json={**body, "replaces": first["id"], "warm": True}).json()
    assert explorer.measured(again["id"])["warm"]
    explorer.post(f"/api/maps/{again['id']}/answers/reliability")
    found = answered(explorer, again["id"])
    content = explorer.get(f"/api/maps/{again['id']}/coordinates").content
    X, Z = load_dataset("iris").X, np.frombuffer(content, dtype="<f4").reshape(2, -1).T
    own = lowland.reliability(Z, X, method=lowland.TSNE(max_iter=300, perplexity=20))
    assert found["summary"] == own.summary
    explorer.post(f"/api/maps/{again['id']}/answers/axes")
    assert {column["name"] for column in answered(explorer, again["id"], "axes")["columns"]} > {"x0", "x3"}


def test_a_question_is_canceled_and_not_asked_of_an_outdated_map(explorer, folder):
    table = explorer.open("large.csv")
    record = explorer.measured(explorer.compute(table["id"], "TSNE")["id"])
    asked = f"/api/maps/{record['id']}/answers/reliability"
    assert explorer.get(asked).status_code == 404
    explorer.post(asked)
    explorer.until(f"/api/maps/{record['id']}", lambda one: one["answers"]["reliability"]["status"] == "running")
    assert explorer.client.delete(asked).json()["answers"] == {}
    explorer.client.patch(f"/api/tables/{table['id']}", json={"roles": {"x0": "drop"}})
    explorer.table(table["id"])
    refused = explorer.post(asked)
    assert refused.status_code == 409
    assert "Update it" in refused.json()["error"]


def test_axes_surfaces_and_regions_are_those_of_the_library(explorer, iris):
    _, record = iris
    data = load_dataset("iris")
    place = f"/api/maps/{record['id']}/answers"
    own = lowland.describe(lowland.PCA(2).fit(data.X), data.X)
    explorer.post(f"{place}/axes")
    found = {column["name"]: column for column in answered(explorer, record["id"], "axes")["columns"]}
    assert found["species"]["direction"] is None
    for column in own.columns:
        assert found[column.name]["r2"] == pytest.approx(column.r2)
        np.testing.assert_allclose(found[column.name]["direction"], column.direction, atol=1e-6)
    assert explorer.post(f"{place}/surface", json={"column": 9}).status_code == 404
    explorer.post(f"{place}/surface", json={"column": 1})
    surface = answered(explorer, record["id"], "surface")
    assert (surface["name"], surface["r2"]) == ("x1", pytest.approx(own.surface("x1").r2, rel=1e-5))
    row, column = next((i, j) for i, each in enumerate(surface["heights"]) for j, v in enumerate(each) if v is not None)
    height = own.surface("x1")(np.array([[surface["x"][column], surface["y"][row]]]))[0]
    assert surface["heights"][row][column] == pytest.approx(height, rel=1e-4)
    bits = np.packbits(data.y == 1, bitorder="little")
    explorer.post(f"{place}/region", json={"mask": base64.b64encode(bits.tobytes()).decode()})
    region = answered(explorer, record["id"], "region")
    [here] = own.regions(np.where(data.y == 1, 0, -1))
    assert region["size"] == 50
    assert region["drivers"][0]["name"] == here.drivers[0][0]
    assert region["drivers"][0]["share"] == pytest.approx(here.drivers[0][1], rel=1e-5)
