"""The modules of the pages that need no browser, in Node: its own test runner, and effect sizes against Python's."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import lowland.pages
from lowland.evidence.contrasts import effect_of_levels, effect_of_numbers, sort_effects

PAGES = Path(lowland.pages.__file__).parent
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(NODE is None, reason="Node is not installed")


def node(*arguments, text=None):
    return subprocess.run([NODE, *arguments], input=text, capture_output=True, text=True, timeout=120, check=False)


def test_the_unit_tests_of_the_pages():
    ran = node("--test", *sorted(str(path) for path in (Path(__file__).parent / "unit").glob("*.test.js")))
    assert ran.returncode == 0, ran.stdout


CONTRASTS = """
import { readFileSync } from "node:fs";
const { contrastOf } = await import(`${process.argv[1]}/view/contrast.js`);
const { Table } = await import(`${process.argv[1]}/view/model.js`);
const { columns, mask } = JSON.parse(readFileSync(0, "utf8"));
for (const column of columns) column.values = Float64Array.from(column.values, (value) => value ?? NaN);
const effects = contrastOf(new Table({ n: mask.length, columns }), mask);
console.log(JSON.stringify(effects.map((each) => ({ ...each, effect: String(each.effect) }))));
"""


def test_effect_sizes_are_those_of_python():
    rng = np.random.default_rng(0)
    selected = rng.random(60) < 0.3
    numbers = {
        "shifted": rng.normal(size=60) + 2 * selected,
        "far from zero": 1e6 + rng.normal(size=60),
        "incomplete": np.where(rng.random(60) < 0.2, np.nan, rng.normal(size=60) - selected),
        "determined": np.where(selected, 1.0, 3.0),
        "constant": np.full(60, 5.0),
        "only selected": np.where(selected, 1.0, np.nan),
    }
    categories = {
        "often c": np.where(rng.random(60) < 0.8 * selected, 2, rng.integers(0, 3, 60)),
        "incomplete levels": rng.integers(-1, 3, 60),
        "the same everywhere": np.zeros(60, int),
    }
    levels = ["a", "b", "c"]
    expected = sort_effects(
        [effect_of_numbers(name, x, selected) for name, x in numbers.items()]
        + [effect_of_levels(name, codes, levels, selected) for name, codes in categories.items()]
    )
    columns = [
        {"name": name, "kind": "number", "values": [None if np.isnan(v) else float(v) for v in x]}
        for name, x in numbers.items()
    ] + [
        {"name": name, "kind": "category", "levels": levels, "values": [int(c) if c >= 0 else 255 for c in codes]}
        for name, codes in categories.items()
    ]
    ran = node(
        "--input-type=module", "-e", CONTRASTS, PAGES.as_uri(),
        text=json.dumps({"columns": columns, "mask": selected.astype(int).tolist()}),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert {each["name"] for each in found} == {each.name for each in expected}
    by_name = {each["name"]: each for each in found}
    for each in expected:
        said = by_name[each.name]
        assert (said["measure"], said["level"]) == (each.measure, each.level)
        assert float(said["effect"]) == pytest.approx(each.effect, rel=1e-7)  # "far from zero" loses six digits
        assert (said["selected"], said["rest"]) == pytest.approx((each.selected, each.rest), rel=1e-12)
    sizes = [abs(float(each["effect"])) for each in found]
    assert sizes == sorted(sizes, reverse=True)
