"""The example of the guide for contributors is one new file that passes every contract as it stands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import lowland

from .battery import METHODS

ROOT = Path(__file__).parents[2]


def example():
    page = (ROOT / "docs" / "develop" / "add_a_method.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    return text


@pytest.mark.parametrize("check", [("check",), ("format", "--check")])
def test_the_method_of_the_guide_passes_the_linter(check):
    name = ROOT / "src" / "lowland" / "methods" / "random_projection.py"
    done = subprocess.run(
        [sys.executable, "-m", "ruff", *check, "--stdin-filename", str(name), "-"],
        input=example(), capture_output=True, text=True, encoding="utf-8", cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_method_of_the_guide_passes_the_contracts(tmp_path):
    unused = shutil.ignore_patterns("*.js", "*.css", "*.pyc.*", "*.tmp.*")  # and incomplete files
    shutil.copytree(Path(lowland.__file__).parent, tmp_path / "lowland", ignore=unused)
    (tmp_path / "lowland/methods/random_projection.py").write_text(example(), encoding="utf-8")
    program = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
    done = subprocess.run(
        [*program, "tests/contracts", "-k", "RandomProjection and not docs_page"],  # the page is the next step
        cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 50


@pytest.mark.skipif("RandomProjection" not in METHODS, reason="runs with the method of the guide")
@pytest.mark.parametrize("name", ["RandomProjection"])
def test_a_new_method_is_known_everywhere(name, tmp_path, monkeypatch):
    from click.testing import CliRunner

    from lowland.cli.main import cli
    from lowland.study.plan import StudySize, plan

    def run(*words):
        result = CliRunner().invoke(cli, words)
        assert result.exit_code == 0, result.output
        return result.stdout

    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((80, 6))
    np.save("x.npy", X)
    assert "random-projection" in run("methods")
    assert "--random-state" in run("fit", "random-projection", "--help")
    run("fit", "random-projection", "x.npy", "-k", "3", "--random-state", "0", "--to", "z.npy", "--model", "m.lowland")
    Z = getattr(lowland, name)(3, random_state=0).fit_transform(X)
    np.testing.assert_array_equal(np.load("z.npy"), Z)
    np.testing.assert_array_equal(lowland.load("m.lowland").transform(X), Z)
    trials = {trial.method: trial for trial in plan(StudySize(80, 6, 2))}
    assert trials[name].why_left_out is None
    assert trials[name].parameters["n_components"] == 2
