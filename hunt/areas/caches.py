"""One cache of trials, used by two processes, one of them killed, or damaged on disk: always the same study."""

from __future__ import annotations

import json
import os
import signal
import threading
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import lowland
from hunt.cases import Area, Wrong
from hunt.children import expect_clean, run_child
from hunt.mutations import mutate

X = np.random.default_rng(0).standard_normal((40, 5)) * [5, 4, 3, 2, 1]
METHODS = ["pca", "classical-mds", "truncated-svd"]


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Disturb the cache in one of three ways, then run a study on it."""
    expected = _expected()
    way = ("two processes", "one killed", "damaged")[seed % 3]
    if way == "damaged":
        _check(run_child(lambda: _study(folder)), expected, "first study")
        what = _damage(folder, rng)
        _check(run_child(lambda: _study(folder)), expected, f"after damage: {what}")
        return f"done: {what}"
    moment = float(rng.uniform(0, 0.3)) if way == "one killed" else None
    ends: list[Any] = []
    other = threading.Thread(target=lambda: ends.append(_start(folder, moment)))
    other.start()
    _check(run_child(lambda: _study(folder)), expected, way)
    other.join()
    if moment is None:
        _check(ends[0], expected, f"{way}, the other one")
    _check(run_child(lambda: _study(folder)), expected, f"{way}, a third study")
    return f"done: {way}"


def _start(folder: Path, moment: float | None) -> Any:
    return run_child(lambda: _study(folder), signal_after=None if moment is None else (signal.SIGKILL, moment))


def _study(folder: Path | None) -> Any:
    """The results of a study as JSON, without what differs from run to run."""
    if folder is not None:
        os.environ["XDG_CACHE_HOME"] = str(folder)
    study = lowland.compare(X, None, METHODS, cache=folder is not None, worker=False)
    trials = [
        [t.name, t.status, t.warnings, _plain(t.scores), _plain(t.curves), _plain(t.per_row), _plain(t.Z)]
        for t in study.trials
    ]
    return json.loads(json.dumps([*trials, [advice.text for advice in study.advice]]))


def _plain(value: Any) -> Any:
    """Nested results as lists; numbers with ten digits, which every machine code agrees on."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return [f"{v:.5g}" for v in value.ravel().astype(float)]
    return f"{value:.10g}" if isinstance(value, float) else value


@cache
def _expected() -> Any:
    _study(None)  # in this process: children find all libraries loaded
    ended = run_child(lambda: _study(None), limit=120)
    expect_clean(ended, (0,), "a study without a cache")
    return ended.value


def _check(ended: Any, expected: Any, case: str) -> None:
    expect_clean(ended, (0,), case)
    if ended.value != expected:
        raise Wrong(f"{case}: the study differs")


def _damage(folder: Path, rng: np.random.Generator) -> str:
    """Change one file of the cache: bytes, or a digit of a stored number."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = files[int(rng.integers(len(files)))]
    content = path.read_bytes()
    what, data = mutate(content, files[int(rng.integers(len(files)))].read_bytes(), rng)
    digits = [i for i, byte in enumerate(content) if chr(byte).isdigit() and i and chr(content[i - 1]) == "."]
    if path.suffix == ".json" and digits and rng.random() < 0.6:
        i = digits[int(rng.integers(len(digits)))]
        what, data = "another digit", content[:i] + b"%d" % ((content[i] - 48 + 5) % 10) + content[i + 1 :]
    path.write_bytes(data)
    return f"{path.name}, {what}"


AREA = Area("caches", "a study cache shared, killed and damaged", run, cases=150, limit=120)
