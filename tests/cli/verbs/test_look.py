"""``lowland look``."""

import json
import runpy
import shlex
from pathlib import Path

import pytest

TABLES = runpy.run_path(str(Path(__file__).parents[2] / "data/messy/tables.py"))["TABLES"]


@pytest.mark.parametrize("messy", [m for m in TABLES if m.name != "wide.csv"], ids=lambda messy: messy.name)
def test_the_command_to_go_on_works(lowland, messy):
    messy.write(Path(messy.name))
    words = messy.remedy if messy.remedy[:1] == ("--array",) else messy.words
    result = lowland("look", messy.name, "--json", *words)
    assert result.exit_code == 0, result.stdout
    command = shlex.split(json.loads(result.stdout)["command"])
    assert lowland(*command[1:]).exit_code == 0, command


def test_what_is_printed(lowland, labeled):
    text = lowland("look", labeled).stdout
    assert "60 rows × 5 columns (4 numbers, 1 category)" in text
    assert "Go on: lowland fit pca labels.csv --label way --to" in text
    assert "'way': may contain classes" in text
