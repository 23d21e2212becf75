"""What ``look`` advises."""

import json

from lowland.data.look import look


def test_plain_data(tmp_path):
    (tmp_path / "x.csv").write_text(",a,b\nr1,1,\nr2,2,4.5\n")
    found = look(tmp_path / "x.csv")
    facts = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (facts["rows"], facts["id"], facts["drop"]) == (2, "column 1", ["b"])
    assert [column["kind"] for column in facts["columns"]] == ["id", "integer", "constant"]
