"""``lowland dimension``: the estimate as a table and as JSON, local estimates as a file, and errors."""

import json
from typing import get_args

import numpy as np
import pytest

from lowland import quality
from lowland.cli.verbs.dimension import MAPPED, METHODS
from lowland.data import load_dataset
from lowland.data.write import write_chunks
from lowland.quality import dimension


@pytest.fixture
def roll():
    sample = load_dataset("swiss_roll", n=400)
    write_chunks([np.column_stack([sample.X, sample.y])], "roll.csv", [*sample.names, "way"])
    return "roll.csv"


def test_choices_of_the_command_agree_with_the_library():
    assert (*get_args(dimension.Estimator), "all") == METHODS
    assert MAPPED == dimension.MAPPED


def test_a_table(lowland, roll):
    result = lowland("dimension", roll, "--label", "way")
    assert result.exit_code == 0
    found = quality.intrinsic_dimension(load_dataset("swiss_roll", n=400).X)
    assert f"{found.value:.2f}" in result.stdout
    assert f"{found.standard_error:.2f}" in result.stdout
    assert "400 rows × 3 columns" in result.stdout
    assert "Bias: " in result.stdout
    assert "Standard error" in result.stdout


def test_json(lowland, roll):
    result = lowland("dimension", roll, "--drop", "way", "--method", "mle", "--neighbors", 10, "--json")
    assert lowland("dimension", roll, "--drop", "way", "--method", "mle", "--n-neighbors", 10).exit_code == 0
    facts = json.loads(result.stdout)
    found = quality.intrinsic_dimension(load_dataset("swiss_roll", n=400).X, "mle", n_neighbors=10)
    (reported,) = facts["estimates"]
    assert reported["value"] == pytest.approx(found.value, rel=1e-9)
    assert (facts["rows"], facts["columns"], facts["map"], reported["method"]) == (400, 3, None, "mle")
    assert reported["details"] == {"sampled rows": 400, "neighbors": 10}
    assert reported["bias"] == found.bias


def test_few_rows_and_duplicate_rows(lowland):
    write_chunks([np.random.default_rng(0).random((15, 2))], "few.csv", ["a", "b"])
    result = lowland("dimension", "few.csv", "--random-state", 1)
    assert result.exit_code == 0
    assert "15 distinct rows, 7 neighbors" in result.stderr
    write_chunks([np.ones((10, 2))], "same.csv", ["a", "b"])
    assert "All rows are" in lowland("dimension", "same.csv").stderr


def test_all_estimators_together_warn_once(lowland):
    write_chunks([load_dataset("iris").X], "iris.csv", list("abcd"))
    result = lowland("dimension", "iris.csv", "--method", "all")
    assert result.exit_code == 0
    assert len(result.stderr.splitlines()) == 2  # about duplicate rows, and about a disconnected graph
    assert "Isomap" not in result.stderr


def test_the_map_is_written(lowland, roll):
    result = lowland("dimension", roll, "--columns", "x,y,z", "--to", "map.npy")
    assert result.exit_code == 0, result.stderr
    found = quality.intrinsic_dimension(load_dataset("swiss_roll", n=400).X, per_point=True)
    np.testing.assert_allclose(np.load("map.npy")[:, 0], found.per_point, rtol=1e-6)


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("--method", "best"), 2, "is not one of"),
        (("--neighbors", 500), 1, "the data has 400 rows. Choose at most 399."),
        (("--seed", -1), 2, "-1 is not in the range x>=0"),
        (("--method", "correlation", "--to", "map.csv"), 1, "--to writes one estimate per row"),
        (("--to", "roll.csv"), 1, "is an input file"),
    ],
)
def test_mistakes(lowland, roll, words, code, sentence):
    result = lowland("dimension", roll, *words)
    assert result.exit_code == code
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
