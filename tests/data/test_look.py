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


def test_a_column_of_ids_beside_incomplete_columns(tmp_path):
    rows = [f"{i},{'' if i % 7 == 0 else i * i % 11 / 10},{'' if i % 5 == 0 else i % 3 / 7}" for i in range(1, 41)]
    (tmp_path / "x.csv").write_text("id,a,b\n" + "\n".join(rows))
    found = look(tmp_path / "x.csv")
    assert (found.id, found.columns[0].kind) == ("id", "id")
    (tmp_path / "y.csv").write_text("nr,city\n" + "\n".join(f"{i},{'ab'[i % 2]}" for i in range(40)))
    assert look(tmp_path / "y.csv").id == "nr"
    (tmp_path / "z.csv").write_text("nr\n" + "\n".join(map(str, range(40))))
    assert look(tmp_path / "z.csv").id is None  # the only feature


def test_numbers_whose_squares_overflow(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,c\n1e200,0,true\n-3e250,1,false\n2e-300,1,true\n")
    a, b, c = look(tmp_path / "x.csv").columns
    assert (a.kind, a.max, a.mean) == ("number", 1e200, pytest.approx(-1e250))
    assert (b.examples, c.examples) == (("0", "1"), ("false", "true"))
    assert "1 row × " not in str(look(tmp_path / "x.csv"))


def test_numbers_with_units_are_not_ids(tmp_path):
    rows = [f"{150 + 1.7 * i:.1f} cm,{i}:{i + 10}:05,A{i}kg,name{i},{i % 4 / 3}" for i in range(40)]
    (tmp_path / "x.csv").write_text("height,time,code,who,x\n" + "\n".join(rows))
    found = look(tmp_path / "x.csv")
    assert [column.kind for column in found.columns] == ["text", "text", "id", "id", "number"]
    assert any("'height', 'time': numbers with units" in sentence for sentence in found.suggestions)


def test_classes_have_more_than_one_row(tmp_path):
    (tmp_path / "x.csv").write_text("name,g,a\nx,u,1\ny,u,2\nz,v,4\n")
    assert look(tmp_path / "x.csv").label == "g"
