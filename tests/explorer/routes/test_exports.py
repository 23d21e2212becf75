"""Subsets, files, the report, saved sessions and new rows through the API."""

import io
import json
import time
import zipfile

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

from .test_analysis import mask_of


@pytest.fixture(scope="module")
def place(table):
    return f"/api/tables/{table['id']}"


@pytest.fixture(scope="module")
def m(explorer, table):
    """A finished map whose quality is measured."""
    return explorer.measured(explorer.compute(table["id"], "PCA")["id"])


def coordinates(explorer, record):
    found = np.frombuffer(explorer.get(f"/api/maps/{record['id']}/coordinates").content, dtype="<f4")
    return found.reshape(record["components"], -1).T


def test_a_subset_is_a_table_of_its_own(explorer, place, table):
    made = explorer.post(f"{place}/subset", json={"mask": mask_of(range(0, 60, 2), 60), "name": "even"}).json()
    made = explorer.table(made["id"])
    assert (made["name"], made["rows"], made["parent"]) == ("even", 30, table["id"])
    assert [c["role"] for c in made["columns"]] == [c["role"] for c in table["columns"]]
    own = explorer.map(explorer.until(f"/api/maps?table={made['id']}", lambda found: found)[0]["id"])
    assert own["n"] == 30
    assert explorer.post(f"{place}/subset", json={"mask": mask_of([], 60)}).status_code == 422


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_and_coordinates_as_a_file(explorer, place, m, form, folder):
    chosen = [3, 5, 59]
    answer = explorer.post(f"{place}/export", json={"mask": mask_of(chosen, 60), "format": form, "maps": [m["id"]]})
    assert f"small%20selection.{form}" in answer.headers["content-disposition"]
    read = pd.read_csv if form == "csv" else pd.read_parquet
    found, whole = read(io.BytesIO(answer.content)), pd.read_csv(folder / "small.csv")
    assert found["label"].tolist() == whole["label"][chosen].tolist()
    np.testing.assert_allclose(found[["PCA 1", "PCA 2"]], coordinates(explorer, m)[chosen], rtol=1e-6)
    end = time.monotonic() + 60
    while list((explorer.workspace / "exports").iterdir()):  # it is removed once it is sent
        assert time.monotonic() < end
        time.sleep(0.01)


def test_maps_of_one_name_are_told_apart_in_a_file(explorer, place, table, m):
    other = explorer.measured(explorer.compute(table["id"], "PCA", n_components=2, whiten=True)["id"])
    answer = explorer.post(f"{place}/export", json={"maps": [m["id"], other["id"]]})
    found = pd.read_csv(io.BytesIO(answer.content))
    np.testing.assert_allclose(found[["PCA 1", "PCA 2"]], coordinates(explorer, m), rtol=1e-6)
    np.testing.assert_allclose(found[["PCA (2) 1", "PCA (2) 2"]], coordinates(explorer, other), rtol=1e-6)
    explorer.client.delete(f"/api/maps/{other['id']}")


def test_the_offline_report(explorer, place, m):
    answer = explorer.post(f"{place}/report", json={"maps": [m["id"]]})
    assert answer.status_code == 200, answer.text
    assert answer.text.startswith("<!DOCTYPE html>")
    assert "Content-Security-Policy" in answer.text
    study = json.loads(answer.text.split('id="study">')[1].split("</script>")[0])
    assert [trial["name"] for trial in study["trials"]] == ["PCA"]
    assert "trustworthiness" in study["trials"][0]["scores"]
    assert explorer.post(f"{place}/report", json={"maps": ["no"]}).status_code == 404


def test_a_session_is_saved_and_opened_again(explorer, place, m, table):
    explorer.client.put(f"{place}/state", json={"panels": [m["id"]], "note": "here"})
    kept = explorer.post(f"{place}/selections", json={"name": "three", "mask": mask_of([1, 2, 3], 60)}).json()
    saved = explorer.get(f"{place}/archive")
    assert saved.status_code == 200
    answer = explorer.post("/api/archives", files={"file": ("mine.lowland-session", saved.content)})
    assert answer.status_code == 201, answer.text
    opened = explorer.table(answer.json()["id"])
    assert opened["id"] != table["id"]
    assert [(c["name"], c["role"]) for c in opened["columns"]] == [(c["name"], c["role"]) for c in table["columns"]]
    maps = explorer.get("/api/maps", params={"table": opened["id"]}).json()
    same = next(each for each in maps if each["name"] == m["name"] and each["scores"] == m["scores"])
    assert np.array_equal(coordinates(explorer, same), coordinates(explorer, m))
    state = explorer.get(f"/api/tables/{opened['id']}/state").json()
    assert state["note"] == "here"
    assert state["panels"][0] in {each["id"] for each in maps}
    again = explorer.get(f"/api/tables/{opened['id']}/selections").json()
    assert [(s["name"], s["mask"]) for s in again] == [("three", kept["mask"])]
    explorer.client.delete(f"{place}/selections/{kept['id']}")
    explorer.client.delete(f"/api/tables/{opened['id']}")
    explorer.client.put(f"{place}/state", json={})


def test_damaged_and_hostile_sessions_are_refused(explorer, place, m):
    saved = explorer.get(f"{place}/archive").content

    def changed(**members):
        made = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(saved)) as old, zipfile.ZipFile(made, "w") as new:
            for name in old.namelist():
                new.writestr(name, members.pop(name, None) or old.read(name))
            for name, content in members.items():
                new.writestr(name, content)
        return made.getvalue()

    before = {each["id"] for each in explorer.get("/api/tables").json()}
    files = sorted((explorer.workspace / "maps").iterdir())
    text = zipfile.ZipFile(io.BytesIO(saved)).read("session.json").decode()

    def with_map(**fields):
        head = json.loads(text)
        head["maps"][0] |= fields
        return changed(**{"session.json": json.dumps(head)})

    def with_head(**fields):
        return changed(**{"session.json": json.dumps(json.loads(text) | fields)})

    about = json.loads(text)["table"]
    curves = f"maps/{json.loads(text)['maps'][0]['id']}/curves.json"
    for wrong in (
        b"not a zip",
        saved[: len(saved) // 2],
        changed(**{"session.json": b"[]"}),
        changed(**{"session.json": b'{"format": 99}'}),
        with_map(id="../../../../tmp/evil"),
        with_map(n=59),
        with_map(components=0),
        with_map(method="os.system"),
        with_map(measures=[{"name": "x"}]),
        with_map(scores={"trustworthiness": {"evil": 1}}),
        with_map(warnings="text"),
        with_map(name="\ud800"),
        with_map(seconds=float("nan")),
        with_head(table={**about, "roles": ["x0"]}),
        with_head(table={**about, "roles": {"x0": "evil"}}),
        with_head(selections=[{"name": "a", "mask": "AA==", "count": 1}]),
        with_head(state={"a": float("inf")}),
        changed(**{curves: b'{"scree": 1}'}),
        changed(**{curves: b"{"}),
        changed(**{"table.parquet": b"PAR1 nothing"}),
    ):
        answer = explorer.post("/api/archives", files={"file": ("x.lowland-session", wrong)})
        assert answer.status_code in (413, 422), answer.text
        assert answer.json()["error"].endswith(".")
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("session.json", bytes(2**27))
    answer = explorer.post("/api/archives", files={"file": ("x.lowland-session", bomb.getvalue())})
    assert answer.status_code == 422
    assert "unpacks to" in answer.json()["error"]
    assert explorer.post("/api/archives", files={"file": ("x.csv", b"a,b")}).status_code == 415
    assert sorted((explorer.workspace / "maps").iterdir()) == files
    assert {each["id"] for each in explorer.get("/api/tables").json()} == before


def test_new_rows_on_a_map(explorer, m, folder):
    frame = pd.read_csv(folder / "small.csv").iloc[:7]
    frame.to_csv(folder / "new.csv", index=False)
    try:
        placed = explorer.post(f"/api/maps/{m['id']}/place", json={"path": "new.csv"}).json()
        done = explorer.until(
            f"/api/maps/{m['id']}/placed", lambda found: found[-1]["status"] not in ("queued", "running")
        )
        assert done[-1]["status"] == "done", done
        assert done[-1]["n"] == 7
        where = f"/api/maps/{m['id']}/placed/{placed['id']}"
        Z = np.frombuffer(explorer.get(where).content, dtype="<f4").reshape(2, -1).T
        np.testing.assert_allclose(Z, coordinates(explorer, m)[:7], atol=1e-4)
        assert explorer.get(f"{where}/names").json() is None
        assert explorer.client.delete(where).status_code == 200
        assert explorer.get(where).status_code == 404
    finally:
        (folder / "new.csv").unlink()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"path": 1}', b'{"path": "\\ud800"}'])
def test_new_rows_need_a_path_or_a_form(explorer, m, body):
    answer = explorer.post(f"/api/maps/{m['id']}/place", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["error"].endswith(".")


def test_new_rows_without_the_columns_of_the_map(explorer, m):
    answer = explorer.post(f"/api/maps/{m['id']}/place", files={"file": ("other.csv", b"a,b\n1,2\n3,4\n")})
    assert answer.status_code == 201, answer.text
    done = explorer.until(f"/api/maps/{m['id']}/placed", lambda found: found[-1]["status"] not in ("queued", "running"))
    assert done[-1]["status"] == "failed"
    assert "x0" in done[-1]["error"]
    assert explorer.post(f"/api/maps/{m['id']}/place", json={"path": "../secret.csv"}).status_code == 403


def test_a_part_of_the_rows_has_their_numbers_and_integers_stay_integers(explorer, folder):
    lines = [f"{i},{10**15 + i},{'' if i == 3 else i},{i / 4}" for i in range(40)]
    (folder / "whole.csv").write_text("\n".join(["row,big,gaps,fraction", *lines]) + "\n", encoding="utf-8")
    table = explorer.open("whole.csv")
    wanted = {"mask": mask_of([3, 5], 40), "format": "parquet"}
    answer = explorer.post(f"/api/tables/{table['id']}/export", json=wanted)
    found = pyarrow.parquet.read_table(io.BytesIO(answer.content))
    assert found.to_pydict() == {
        "row (2)": [3, 5], "row": [3, 5], "big": [10**15 + 3, 10**15 + 5], "gaps": [None, 5], "fraction": [0.75, 1.25],
    }  # fmt: skip
    assert [str(found.schema.field(name).type) for name in ("big", "gaps", "fraction")] == ["int64", "int64", "double"]
