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


def test_the_command_has_what_the_table_needs(lowland):
    lines = [
        f"k{i},{'' if i % 7 == 0 else i * 1.5},{i % 5},{['u', 'v'][i % 2]},{1 + i % 28}.1.2024,7" for i in range(30)
    ]
    lines[4] = "k4,6.0,?,u,3.1.2024,7"
    Path("t.csv").write_text("\n".join(["key,a,b,way,day,seven", *lines]))
    command = shlex.split(json.loads(lowland("look", "t.csv", "--json").stdout)["command"])[1:]
    assert command == [
        "fit", "pca", "t.csv", "--id", "key", "--label", "way", "--drop", "seven", "--impute", "median",
        "--missing", "?", "--to", "coordinates.csv",
    ]  # fmt: skip
    text = lowland(*command).stdout
    assert "day: date (day first), as" in text
    assert "b: number, 1 missing replaced by the median" in text
    assert Path("coordinates.csv").read_text().startswith('"key",')
    assert "numbers, except '?'" in lowland("look", "t.csv").stdout


def test_what_is_printed(lowland, labeled):
    text = lowland("look", labeled).stdout
    assert "60 rows × 5 columns (4 numbers, 1 category)" in text
    assert "Go on: lowland fit pca labels.csv --label way --to" in text
    assert "'way': may contain classes" in text
