"""Search, filters, nearness, clusters, selections and effect sizes through the API."""

import base64

import numpy as np
import pytest

from lowland.data.open import open_rows
from lowland.explorer.requests import decoded_mask


def mask_of(rows, n):
    chosen = np.zeros(n, dtype=bool)
    chosen[rows] = True
    return base64.b64encode(np.packbits(chosen, bitorder="little").tobytes()).decode()


def rows_in(answer, n):
    return np.flatnonzero(
        np.unpackbits(np.frombuffer(base64.b64decode(answer["mask"]), "u1"), count=n, bitorder="little")
    )


@pytest.fixture(scope="module")
def place(explorer, table):
    return f"/api/tables/{table['id']}"


@pytest.fixture(scope="module")
def X(folder):
    return open_rows(folder / "small.csv", columns=["x0", "x1", "x2", "x3"]).to_array()


def test_search(explorer, place):
    found = explorer.get(f"{place}/search", params={"q": "CLASS 1"}).json()
    assert found == {"rows": list(range(1, 60, 3)), "total": 20, "mask": None}
    assert explorer.get(f"{place}/search", params={"q": "class 1", "column": 0}).json()["total"] == 0
    assert explorer.get(f"{place}/search", params={"q": " "}).status_code == 422
    assert explorer.get(f"{place}/search", params={"q": "a", "column": 99}).status_code == 422


def test_filters(explorer, place, X):
    def kept(*conditions):
        answer = explorer.post(f"{place}/filter", json={"conditions": list(conditions)})
        assert answer.status_code == 200, answer.text
        return rows_in(answer.json(), 60).tolist()

    above = {"column": 0, "op": ">", "value": 4}
    assert kept(above) == np.flatnonzero(X[:, 0] > 4).tolist()
    assert kept(above, {"column": 4, "op": "=", "value": "class 2"}) == [
        i for i in np.flatnonzero(X[:, 0] > 4).tolist() if i % 3 == 2
    ]
    assert kept({"column": 4, "op": "!=", "value": "class 2"}) == [i for i in range(60) if i % 3 != 2]
    assert kept({"column": 4, "op": "in", "value": ["class 0", "class 1"]}) == [i for i in range(60) if i % 3 != 2]
    assert kept({"column": 4, "op": "contains", "value": "LASS"}) == list(range(60))
    assert kept({"column": 4, "op": "missing"}) == []
    assert kept({"column": 0, "op": "present"}) == list(range(60))
    for wrong in (
        {"column": 4, "op": "<", "value": 1},
        {"column": 0, "op": "<", "value": "x"},
        {"column": 0, "op": "=", "value": 10**400},
        {"column": 9, "op": "="},
        {"column": 0, "op": "drop table"},
    ):
        answer = explorer.post(f"{place}/filter", json={"conditions": [wrong]})
        assert answer.status_code in (400, 404)
        assert answer.json()["error"].endswith(".")


def test_booleans_are_filtered_by_their_words(explorer, folder):
    (folder / "flags.csv").write_text("x,flag\n" + "".join(f"{i},{i % 3 == 0}\n" for i in range(12)), encoding="utf-8")
    place = f"/api/tables/{explorer.open('flags.csv')['id']}/filter"
    for condition in ({"op": "=", "value": "true"}, {"op": "in", "value": ["True"]}, {"op": "!=", "value": "false"}):
        answer = explorer.post(place, json={"conditions": [{"column": 1, **condition}]})
        assert rows_in(answer.json(), 12).tolist() == [0, 3, 6, 9], answer.text


def test_distances_and_neighbors_are_those_of_the_original_space(explorer, place, X):
    found = np.frombuffer(explorer.get(f"{place}/distances", params={"row": 7}).content, dtype="<f4")
    expected = np.linalg.norm(X - X[7], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    near = explorer.get(f"{place}/neighbors", params={"row": 7, "k": 5}).json()
    assert near["rows"] == np.argsort(expected)[1:6].tolist()
    assert explorer.get(f"{place}/neighbors", params={"row": 60}).status_code == 422


def test_clusters_of_the_rows_and_of_a_map(explorer, table, place):
    m = explorer.map(explorer.compute(table["id"])["id"])
    for where in (None, m["id"]):
        found = explorer.post(f"{place}/clusters", json={"map": where, "clusters": 3}).json()
        codes = np.frombuffer(base64.b64decode(found["codes"]), dtype=f"<{found['kind']}")
        names = [level.removeprefix("cluster ").partition(":") for level in found["levels"]]
        assert [number for number, _, _ in names] == ["1", "2", "3"]
        assert "high" in names[0][2] or "low" in names[0][2]
        assert len({tuple(codes[i::3]) for i in range(3)}) == 3  # each class is one cluster
        assert all(len(set(codes[i::3])) == 1 for i in range(3))
    assert explorer.post(f"{place}/clusters", json={"map": "unknown"}).status_code == 404


def test_what_sets_a_selection_apart(explorer, place):
    chosen = mask_of(range(2, 60, 3), 60)
    found = explorer.post(f"{place}/contrast", json={"mask": chosen}).json()
    assert (found["count"], found["rest"]) == (20, 40)
    by_name = {column["name"]: column for column in found["columns"]}
    assert by_name["label"]["level"] == "class 2"
    assert by_name["label"]["effect"] == pytest.approx(np.pi)
    assert by_name["x0"]["measure"] == "Cohen's d"
    assert by_name["x0"]["effect"] > 1
    effects = [abs(column["effect"]) for column in found["columns"]]
    assert effects == sorted(effects, reverse=True)
    assert explorer.post(f"{place}/contrast", json={"mask": mask_of([], 60)}).status_code == 422
    assert explorer.post(f"{place}/contrast", json={"mask": "AAAA"}).status_code == 422
    assert explorer.post(f"{place}/contrast", json={"mask": "not base64!"}).status_code == 422


def test_selections_have_names(explorer, place):
    chosen = mask_of([1, 2, 3], 60)
    kept = explorer.post(f"{place}/selections", json={"name": "<b>odd</b>", "mask": chosen}).json()
    assert kept["count"] == 3
    assert explorer.get(f"{place}/selections").json() == [kept]
    assert explorer.client.delete(f"{place}/selections/{kept['id']}").status_code == 200
    assert explorer.client.delete(f"{place}/selections/{kept['id']}").status_code == 404
    assert explorer.get(f"{place}/selections").json() == []


def test_a_search_has_the_mask_of_all_rows_that_it_found(explorer, table):
    path = f"/api/tables/{table['id']}/search"
    few = explorer.get(path, params={"q": "class 1", "most": 5}).json()
    assert (len(few["rows"]), few["total"]) == (5, 20)
    np.testing.assert_array_equal(np.flatnonzero(decoded_mask(few["mask"], 60)), np.arange(1, 60, 3))
    assert explorer.get(path, params={"q": "class 1"}).json()["mask"] is None
