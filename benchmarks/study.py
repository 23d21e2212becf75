"""Studies of all methods: iris, with and without compiled kernels, and the test images of MNIST."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer
from benchmarks.registry import Plan, job

CALL = "from lowland.cli.main import main; main()"


def _command(*words: str, folder: Path, cache: Path) -> tuple[float, str]:
    """Seconds of a call of the command line in a process of its own, and what it printed."""
    own = {"NUMBA_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(cache / "user")}
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", CALL, *words], cwd=folder, env=os.environ | own, capture_output=True, text=True
    )
    if done.returncode:
        raise WrongAnswer(done.stderr.strip().splitlines()[-1])
    return time.perf_counter() - begun, done.stdout


def _study(folder: Path, cache: Path) -> tuple[float, dict[str, Any]]:
    words = ("compare", "rows.parquet", "--label", "label", "--to", "report.html", "--force", "--no-cache", "--json")
    seconds, output = _command(*words, folder=folder, cache=cache)
    facts = json.loads(output)
    if failed := [trial["name"] for trial in facts["trials"] if trial["status"] not in ("done", "left out")]:
        raise WrongAnswer(f"without a result: {', '.join(failed)}")
    return seconds, facts


def _remark(facts: dict[str, Any], folder: Path) -> str:
    done = sum(trial["status"] == "done" for trial in facts["trials"])
    size = (folder / "report.html").stat().st_size
    return f"{done} trials, recommended: {facts['advice'][0]['trial']}; size of the report {size / 1e6:.1f} MB"


@job("lowland compare of iris, all methods, with the report", data="real")
def study_iris(plan: Plan) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as name:
        folder, bars = Path(name), () if plan.quick else (Bar("ours", 60.0),)
        _command("sample", "iris", "--label-column", "--to", "rows.parquet", folder=folder, cache=folder)
        for words in ("without compiled kernels", "with compiled kernels"):
            seconds, facts = _study(folder, folder)
            yield Line(f"150 × 4, {words}", seconds, required=bars, remark=_remark(facts, folder))


@job("lowland compare of MNIST's 10,000 test images, all methods that apply, with the report", data="real")
def study_mnist(plan: Plan) -> Iterator[Line]:
    if not os.environ.get("LOWLAND_DATA"):
        return
    with tempfile.TemporaryDirectory() as name:
        folder, bars = Path(name), () if plan.quick else (Bar("ours", 600.0),)
        source = ("iris",) if plan.quick else ("mnist", "--option", "split=test")
        _command("sample", *source, "--label-column", "--to", "rows.parquet", folder=folder, cache=folder)
        seconds, facts = _study(folder, folder)
        what = f"{facts['rows']:,} × {facts['columns']}, without compiled kernels"
        yield Line(what, seconds, required=bars, remark=_remark(facts, folder))
