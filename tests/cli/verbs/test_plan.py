"""``lowland plan``."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 3)).round(3), columns=list("abc")).assign(kind=list("xyz") * 200)
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_a_table_with_text_is_planned_as_it_is_fitted(lowland, table):
    said = lowland("plan", "isomap", table, "--n-neighbors", "8")
    assert "600 rows × 6 columns" in said.stdout  # three kinds become three columns
    assert "hortest paths" in said.stdout
    assert "600 rows × 3 columns" in lowland("plan", "lda", table, "--label", "kind").stdout


def test_json_has_the_steps(lowland, table):
    facts = json.loads(lowland("plan", "pca", table, "--columns", "a,b", "--rows", "1000", "--json").stdout)
    assert (facts["rows"], facts["columns"], facts["fits"]) == (1000, 2, True)
    assert facts["seconds"] == pytest.approx(sum(step["seconds"] for step in facts["steps"]))


def test_errors_name_the_flag_and_the_method(lowland, table):
    assert "--n-neighbors" in lowland("plan", "isomap", table, "--n-neighbors", "600").stderr
    assert "lowland plan pca" in lowland("plan", table).stderr
