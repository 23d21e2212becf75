"""The hunt notices every way to fail, repeats its cases and continues where it stopped. The hunt itself: make hunt."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lowland import MDS, PCA, CorrespondenceAnalysis, VectorQuantizer, Whitening
from lowland.methods.registry import entries

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def hunt(*words):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    return subprocess.run([sys.executable, "-m", "hunt", *words], cwd=ROOT, env=env, capture_output=True, text=True)


def verdicts(folder, area):
    return [json.loads(line) for line in (folder / f"{area}.jsonl").read_text().splitlines()]


def test_every_way_to_fail_is_noticed(tmp_path):
    done = hunt("--only", "on-purpose", "--cases", "7", "--jobs", "2", "--out", str(tmp_path))
    assert done.returncode == 1, done.stderr
    table = {words[0]: words[1:] for words in map(str.split, done.stdout.splitlines()[:3])}
    assert table["on-purpose"] == ["6", "1", "2", "1"]  # tried, wrong, crashed, hung; one is skipped
    found = {each["seed"]: each["outcome"] for each in verdicts(tmp_path, "on-purpose")}
    expected = ("done", "refused", "skipped", "wrong", "crashed", "crashed", "hung")
    assert tuple(found[seed] for seed in range(7)) == expected
    assert "python -m hunt --case on-purpose:5" in done.stdout


def test_a_run_is_resumed(tmp_path):
    words = ("--only", "on-purpose", "--jobs", "1", "--out", str(tmp_path))
    assert hunt(*words, "--cases", "1").returncode == 0
    (first,) = verdicts(tmp_path, "on-purpose")
    assert hunt(*words, "--cases", "3", "--resume").returncode == 0
    assert [each["seed"] for each in verdicts(tmp_path, "on-purpose")] == [0, 1, 2]
    assert verdicts(tmp_path, "on-purpose")[0] == first


@pytest.mark.parametrize("area", ["methods", "data-files"])
def test_some_cases(area):
    """Every method on a regular table, and every format; the same seed is the same case."""
    from hunt.areas.data_files import FORMATS
    from hunt.attempt import attempt
    from hunt.registry import find_area

    seeds = range(len(entries()) if area == "methods" else 2 * len(FORMATS))
    found = [attempt(find_area(area), seed) for seed in seeds]
    assert not [f"{each.repeat}: {each.text}" for each in found if each.outcome not in ("done", "refused")]
    again = attempt(find_area(area), seeds[-1])
    assert again.outcome == found[-1].outcome
    assert again.text.partition("'")[0] == found[-1].text.partition("'")[0]  # up to the name of a file


@pytest.mark.parametrize("cls", [PCA, MDS, VectorQuantizer, Whitening, CorrespondenceAnalysis])
def test_the_independent_routes_are_able_to_fail(cls):
    from hunt.cases import Wrong
    from hunt.routes import ROUTES, Fitted

    X = np.abs(np.random.default_rng(0).standard_normal((30, 4))) * [4, 3, 2, 1]
    est = cls(random_state=0) if "random_state" in cls().get_params() else cls()
    Z = est.fit(X).transform(X)
    ROUTES[cls.__name__](Fitted(est, Z, X, None, 1.0, 2e-16, "normal"))
    with pytest.raises(Wrong):
        ROUTES[cls.__name__](Fitted(est, 1.1 * Z, 1.1 * X + X**2, None, 1.0, 2e-16, "normal"))
