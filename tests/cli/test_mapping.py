"""What transform and inverse print."""

import json


def test_json_output_is_a_single_object(lowland, table):
    result = lowland("fit", "pca", table, "-k", 2, "--to", "z.csv", "--model", "m", "--json", "--progress")
    facts = json.loads(result.stdout)
    assert facts["data"] == {"file": "table.csv", "rows": 60, "columns": 4, "label": None}
    assert facts["files"] == [{"file": "z.csv", "rows": 60, "columns": 2}, {"file": "m"}]
    assert len(facts["explained_variance_ratio"]) == 2
    for words in (("transform", "m", table, "--to", "z2.csv"), ("inverse", "m", "z.csv", "--to", "b.csv")):
        assert json.loads(lowland(*words, "--json").stdout)["data"]["rows"] == 60
