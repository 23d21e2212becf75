"""Maps follow the table: outdated ones are told and replaced, scores follow the labels, the next map does not wait."""

import numpy as np
import pytest

from .test_analysis import mask_of
from .test_maps import coordinates


@pytest.fixture
def own(explorer, folder):
    """A table of the test's own, whose columns ``a`` and ``copy`` are labels of the same classes."""
    rng = np.random.default_rng(0)
    X, y, other = rng.normal(size=(60, 3)), np.arange(60) % 3, np.arange(60) // 20
    X[:, 0] += 5 * y
    lines = [f"{','.join(f'{v:.5f}' for v in x)},k{c},z{c},w{b}" for x, c, b in zip(X, y, other, strict=True)]
    (folder / "own.csv").write_text("\n".join(["x,y,z,a,copy,b", *lines]) + "\n", encoding="utf-8")
    table = explorer.open("own.csv")["id"]
    roles = {"x": "feature", "y": "feature", "z": "feature", "a": "keep", "copy": "keep", "b": "label"}
    return set_roles(explorer, table, **roles)


def set_roles(explorer, table, **roles):
    answer = explorer.client.patch(f"/api/tables/{table}", json={"roles": roles})
    assert answer.status_code == 200, answer.text
    return explorer.table(table)["id"]


def test_a_map_is_outdated_until_it_is_updated_in_its_place(explorer, own, listen):
    listener = listen(explorer)
    first = explorer.measured(explorer.compute(own)["id"])
    path = f"/api/maps/{first['id']}"
    before = coordinates(explorer, first)
    assert not first["outdated"]
    assert explorer.post(f"{path}/restart").status_code == 409  # there is nothing to update
    set_roles(explorer, own, x="keep")
    listener.wait_for(lambda name, data: name == "map" and data["id"] == first["id"] and data["outdated"])
    again = explorer.post(f"{path}/restart").json()
    assert (again["status"], again["outdated"], again["scores"]) == ("queued", False, {})
    assert again["run"] == first["run"] + 1
    found = explorer.measured(first["id"])
    assert found["status"] == "done"
    assert found["scores"]["trustworthiness"] != first["scores"]["trustworthiness"]
    assert len(explorer.get(f"/api/maps?table={own}").json()) == 1
    after = coordinates(explorer, found)
    assert not np.allclose(after, before)
    fresh = coordinates(explorer, explorer.map(explorer.compute(own)["id"]))
    np.testing.assert_array_equal(after, fresh)


def test_cells_can_be_read_while_rows_are_prepared(explorer, own):
    place = f"/api/tables/{own}"
    for role in ("keep", "feature", "keep"):
        record = explorer.client.patch(place, json={"roles": {"x": role}}).json()
        assert record["status"] == "preparing"
        contrast = explorer.post(f"{place}/contrast", json={"mask": mask_of(range(20), 60)})
        answers = [explorer.get(f"{place}/values?rows=0,1&columns=0"), contrast]
        assert [answer.status_code for answer in answers] == [200, 200]
    explorer.table(own)


def test_a_map_that_is_being_computed_can_be_updated(explorer, own):
    running = explorer.descending({"id": own})
    set_roles(explorer, own, x="keep")
    assert explorer.get(f"/api/maps/{running['id']}").json()["outdated"]
    again = explorer.post(f"/api/maps/{running['id']}/restart").json()
    assert (again["status"], again["outdated"]) == ("queued", False)
    explorer.until(f"/api/maps/{running['id']}", lambda m: m["version"] > 0)
    explorer.client.delete(f"/api/maps/{running['id']}")


def test_scores_follow_the_labels_and_coordinates_stay(explorer, own):
    score = "nearest-neighbor accuracy"
    record = explorer.measured(explorer.compute(own)["id"])
    lda = explorer.measured(explorer.compute(own, "LinearDiscriminantAnalysis")["id"])
    before = coordinates(explorer, record)
    set_roles(explorer, own, a="label")
    found = explorer.until(f"/api/maps/{record['id']}", lambda m: m["measured"] and m["scores"].get(score))
    assert found["scores"][score]["value"] > 0.8 > record["scores"][score]["value"]
    assert not found["outdated"]
    np.testing.assert_array_equal(coordinates(explorer, found), before)
    assert explorer.get(f"/api/maps/{lda['id']}").json()["outdated"]  # it learned the other labels


def test_copies_of_a_new_label_are_no_features(explorer, own):
    set_roles(explorer, own, copy="feature")
    assert "copy" in explorer.get(f"/api/tables/{own}").json()["prepared"]
    set_roles(explorer, own, a="label")
    table = explorer.get(f"/api/tables/{own}").json()
    copy = next(c for c in table["columns"] if c["name"] == "copy")
    assert (copy["role"], copy["unused"]) == ("keep", "a copy of the labels")
    assert "copy" not in table["prepared"]
    set_roles(explorer, own, copy="feature")  # a person may insist
    assert "copy" in explorer.get(f"/api/tables/{own}").json()["prepared"]
    set_roles(explorer, own, b="label")
    assert not any(c["unused"] for c in explorer.get(f"/api/tables/{own}").json()["columns"])


def test_what_replaces_missing_values_is_changed(explorer, folder):
    X = np.random.default_rng(0).normal(size=(40, 3)) @ [[1, 1, 0], [0, 1, 1], [0, 0, 0.1]]
    lines = [f"{a:.4f},{'' if i % 5 == 0 else f'{b:.4f}'},{c:.4f}" for i, (a, b, c) in enumerate(X)]
    (folder / "gaps.csv").write_text("\n".join(["a,b,c", *lines]) + "\n", encoding="utf-8")
    table = explorer.open("gaps.csv")
    assert (table["impute"], table["imputed"]["values"], table["imputed"]["columns"]) == ("median", 8, 1)
    place, record = f"/api/tables/{table['id']}", explorer.measured(explorer.compute(table["id"])["id"])
    maps = {"median": coordinates(explorer, record)}
    for how, words in {"mean": "mean of their column", "knn": "nearest rows", "em": "probabilistic PCA"}.items():
        assert explorer.client.patch(place, json={"impute": how}).status_code == 200
        changed = explorer.table(table["id"])
        assert words in changed["imputed"]["text"]
        assert ("replaced by" in changed["prepared"]["b"], "left" in changed["prepared"]["b"]) == (True, False)
        assert explorer.get(f"/api/maps/{record['id']}").json()["outdated"]
        explorer.post(f"/api/maps/{record['id']}/restart")
        found = explorer.measured(record["id"])
        assert any(words in warning for warning in found["warnings"])
        maps[how] = coordinates(explorer, found)
    assert len({np.round(Z, 5).tobytes() for Z in maps.values()}) == 4
    assert explorer.client.patch(place, json={"impute": "zero"}).status_code == 422
    report = explorer.post(f"{place}/report", json={"maps": [record["id"]]}).text
    assert "8 missing values in 'b' were replaced by their conditional mean under probabilistic PCA." in report
    saved = explorer.get(f"{place}/archive").content
    opened = explorer.post("/api/archives", files={"file": ("gaps.lowland-session", saved)}).json()
    opened = explorer.table(opened["id"])
    assert (opened["impute"], opened["imputed"]) == ("em", explorer.table(table["id"])["imputed"])
    assert not explorer.get(f"/api/maps?table={opened['id']}").json()[0]["outdated"]
    subset = explorer.post(f"{place}/subset", json={"mask": mask_of(range(20), 40), "first_map": None}).json()
    assert explorer.table(subset["id"])["imputed"]["how"] == "em"
    path = f"/api/maps/{record['id']}"  # the model replaces missing values of new rows in the same way
    placed = explorer.post(f"{path}/place", json={"path": "gaps.csv"}).json()["id"]
    explorer.until(f"{path}/placed", lambda rows: rows[-1]["status"] == "done")
    again = np.frombuffer(explorer.get(f"{path}/placed/{placed}").content, "<f4").reshape(2, -1).T
    np.testing.assert_allclose(again, maps["em"], atol=1e-5)
    explorer.client.patch(place, json={"roles": {"b": "drop"}})
    assert explorer.table(table["id"])["imputed"] is None


def test_images_are_not_standardized(explorer):
    rng = np.random.default_rng(0)
    scales = [1, 1000, 1, 1]
    X = rng.random((30, 4)) * scales
    np.save(explorer.folder / "four.npy", X)
    table = explorer.open("four.npy")
    assert table["scaled"]
    record = explorer.map(explorer.compute(table["id"])["id"])
    explorer.client.patch(f"/api/tables/{table['id']}", json={"image_shape": [2, 2]})
    assert not explorer.table(table["id"])["scaled"]
    assert explorer.get(f"/api/maps/{record['id']}").json()["outdated"]
    explorer.client.patch(f"/api/tables/{table['id']}", json={"image_shape": []})
    found = explorer.table(table["id"])
    assert (found["scaled"], found["has_images"]) == (True, False)


def test_maps_do_not_wait_until_others_are_measured(tmp_path):
    import asyncio
    import threading

    from lowland.explorer import queue
    from lowland.run.processes import TaskOutcome

    go = threading.Event()

    class Quick:
        alive = True

        def run(self, task):
            if task.what == "measure":
                assert go.wait(20)
            return TaskOutcome("done")

        def close(self):
            go.set()

    async def order():
        jobs = queue.Queue(tmp_path, queue.Limits(at_once=1))
        jobs._take = lambda loop: Quick()
        measured = [jobs.submit(queue.Job({}, "measure", "measure")) for _ in range(3)]
        await asyncio.wait_for(jobs.submit(queue.Job({}, "map", "map")), 20)
        assert not any(each.done() for each in measured)
        go.set()
        await asyncio.gather(*measured)
        await jobs.close()

    asyncio.run(order())
