import pytest

from lowland.errors import FileProblem
from lowland.explorer.workspace import RequestError, Store


def test_records_survive(tmp_path):
    first = Store(tmp_path / "s.sqlite")
    first.put("map", {"id": "b", "table": "t", "created": 2})
    first.put("map", {"id": "a", "table": "t", "created": 1})
    first.put("map", {"id": "c", "table": "u", "created": 0})
    first.put("map", {"id": "a", "table": "t", "created": 3, "text": "'; DROP TABLE records; --"})
    first.delete("map", "c")
    second = Store(tmp_path / "s.sqlite")  # as after a kill: the first was never closed
    assert [r["id"] for r in second.all("map", table="t")] == ["b", "a"]
    assert second.get("map", "a")["text"].startswith("'; DROP")
    assert second.get("map", "c") is None
    first.close()
    second.close()


def test_a_damaged_file_is_an_error_with_a_remedy(tmp_path):
    (tmp_path / "s.sqlite").write_bytes(b"nothing" * 1000)
    with pytest.raises(FileProblem, match="choose another workspace"):
        Store(tmp_path / "s.sqlite")


def test_a_record_that_cannot_be_written_is_not_kept(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    store._database.execute("PRAGMA query_only=ON")
    with pytest.raises(RequestError, match="disk space") as caught:
        store.put("map", {"id": "a"})
    assert caught.value.status == 507
    assert store.get("map", "a") is None
    store.close()
