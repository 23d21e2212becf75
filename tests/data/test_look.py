"""What ``look`` advises."""

import json

import pytest

from lowland.data.look import look
from lowland.errors import DataError


def test_plain_data(tmp_path):
    (tmp_path / "x.csv").write_text(",a,b\nr1,1,\nr2,2,4.5\n")
    found = look(tmp_path / "x.csv")
    facts = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (facts["rows"], facts["id"], facts["drop"]) == (2, "column 1", ["b"])
    assert [column["kind"] for column in facts["columns"]] == ["id", "integer", "constant"]


def test_lists_and_empty_tables(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": 1.5, "b": [1, 2]}\n{"a": 2, "b": [3]}\n')
    assert [column.kind for column in look(tmp_path / "x.jsonl").columns] == ["number", "text"]
    (tmp_path / "x.csv").write_text("a,b\n")
    with pytest.raises(DataError, match="no rows"):
        look(tmp_path / "x.csv")
