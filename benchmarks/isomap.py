"""Isomap beside scikit-learn's on swiss rolls, landmark Isomap of a million rows, and time and memory against n."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer
from benchmarks.registry import Plan, job

MINUTES = 60.0
EXACT = (1_000, 2_000, 5_000, 10_000, 20_000)  # 20,000 rows are 1.6 GB of distances
LANDMARKS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)

_FIT = """
import json, sys, time
import numpy as np
from benchmarks.measure import peak_beyond
from lowland.data import swiss_roll
which, n, m, path = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
roll = swiss_roll(n, seed=0)
warm = swiss_roll(500, seed=0).X
if which == "tapkee":
    import tapkee
    fit = lambda X: tapkee.embed(X, method="l-isomap", num_neighbors=12, target_dimension=2, landmark_ratio=m / len(X))
elif which == "sklearn":
    from sklearn.manifold import Isomap
    fit = lambda X: Isomap(n_components=2, n_neighbors=12).fit(X).embedding_
else:
    import lowland
    lowland.config(threads=2, memory="8GB").__enter__()
    def fit(X):
        marks = min(m, len(X) // 2) or None
        return lowland.Isomap(2, n_neighbors=12, n_landmarks=marks, random_state=0).fit(X).embedding_
fit(warm)  # compiles
answer = {}
def timed():
    begin = time.perf_counter()
    answer["Z"] = np.asarray(fit(roll.X))
    answer["seconds"] = time.perf_counter() - begin
memory = peak_beyond(timed)
Z, T = answer["Z"], roll.truth
Z = Z if len(Z) == n else Z.T
C, S = Z - Z.mean(axis=0), T - T.mean(axis=0)
r2 = np.linalg.svd(C.T @ S, compute_uv=False).sum() ** 2 / ((C ** 2).sum() * (S ** 2).sum())
if path:
    np.save(path, Z)
print(json.dumps({"seconds": answer["seconds"], "memory": memory, "r2": float(r2)}))
"""


def fit_alone(which: str, n: int, landmarks: int = 0, path: str = "") -> dict[str, Any]:
    """Fit a swiss roll in a process of its own; return seconds, peak memory beyond the data, R² with the true sheet."""
    command = [sys.executable, "-c", _FIT, which, str(n), str(landmarks), path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WrongAnswer(f"{which} failed on {n} rows: {done.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


@job("Isomap of a swiss roll, 10,000 points, 12 neighbours")
def isomap(plan: Plan) -> Iterator[Line]:
    import tempfile
    from pathlib import Path

    n = plan.size(10_000, 800)
    with tempfile.TemporaryDirectory() as folder:
        paths = {which: str(Path(folder) / f"{which}.npy") for which in ("lowland", "sklearn")}
        ours, peer = (fit_alone(which, n, 0, path) for which, path in paths.items())
        A, B = (np.load(path) for path in paths.values())
    off = float(np.abs(np.abs(A) - np.abs(B)).max() / np.abs(B).max())
    if not off < 1e-4:
        raise WrongAnswer(f"coordinates differ from scikit-learn's by {off:.1e}, allowed 1e-04")
    yield Line(
        "against scikit-learn", ours["seconds"], peer["seconds"], ratio=ours["seconds"] / peer["seconds"],
        required=() if plan.quick else (Bar("speed", 5.0), Bar("memory", peer["memory"] / 2)), memory=ours["memory"],
        remark=f"coordinates agree to {off:.0e}, R² with the sheet {ours['r2']:.5f}, the peer {peer['r2']:.5f}; "
        f"its peak {peer['memory'] / 1e6:.0f} MB",
    )  # fmt: skip


@job("Landmark Isomap of a swiss roll, 1,000,000 points, 12 neighbours, 500 landmarks, two threads")
def landmark_isomap(plan: Plan) -> Iterator[Line]:
    ours = fit_alone("lowland", plan.size(1_000_000, 3_000), plan.size(500, 50))
    _check(ours)
    yield Line(
        "fit", ours["seconds"], memory=ours["memory"], required=(Bar("ours", 15 * MINUTES), Bar("memory", 8e9)),
        remark=f"R² with the sheet {ours['r2']:.5f}",
    )  # fmt: skip
    try:
        import tapkee  # noqa: F401
    except ImportError:
        return
    n, m = plan.size(100_000, 2_000), plan.size(500, 50)
    ours, peer = fit_alone("lowland", n, m), fit_alone("tapkee", n, m)
    yield Line(
        f"against Tapkee, {n:,} points", ours["seconds"], peer["seconds"], ratio=ours["seconds"] / peer["seconds"],
        required=() if plan.quick else (Bar("speed", 2.0),), memory=ours["memory"],
        remark=f"R² with the sheet {ours['r2']:.5f}, the peer {peer['r2']:.5f}",
    )  # fmt: skip


def curve(plan: Plan) -> Iterator[tuple[str, int, float, float]]:
    """Yield (what, n, seconds, MB), exact where it fits and with 500 landmarks: for the picture of all methods."""
    for what, sizes, m in (("Isomap", EXACT, 0), ("landmark Isomap", LANDMARKS, 500)):
        for n in sizes[:2] if plan.quick else sizes:
            found = fit_alone("lowland", n, m)
            yield what, n, found["seconds"], found["memory"] / 1e6


def _check(found: dict[str, Any]) -> None:
    if not found["r2"] > 0.99:
        raise WrongAnswer(f"R² with the true sheet is {found['r2']:.4f}, and should be above 0.99")
