"""Neighborhood measures compared with scikit-learn's trustworthiness, and all measures on a sample of rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.fresh import fresh
from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer, peak_beyond, stopwatch
from benchmarks.registry import Plan, job

NEIGHBORS = 5


def measure_alone(which: str, kind: str, n: int) -> dict[str, Any]:
    """In a new process, after a small call that compiles: seconds, peak memory beyond the data, the values."""
    measure = {"lowland": _ours, "sklearn": _theirs, "judge": _judged}[which]
    measure(*_rows(kind, 500))
    X, Z = _rows(kind, n)
    found: list[Any] = []
    memory = peak_beyond(lambda: found.extend(stopwatch(lambda: measure(X, Z))))
    return {"seconds": found[0], "memory": memory, "values": found[1]}


def _rows(kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and their first two principal components; images are sparse integers, as in MNIST."""
    rng = np.random.default_rng(0)
    if kind == "normal":
        X = rng.standard_normal((n, 50)) * np.linspace(3, 0.3, 50)
    else:
        strokes = rng.standard_normal((30, 784)) * (rng.random((30, 784)) < 0.3)
        X = np.round(np.clip(rng.standard_normal((n, 30)) @ strokes * 30, 0, 255))
    C = X - X.mean(axis=0)
    if kind == "images":  # in float64 the peer's product X X' of this size crashes in some versions of OpenBLAS
        X = X.astype(np.float32)
    return X, C @ np.linalg.eigh(C.T @ C)[1][:, -2:]


def _ours(X: np.ndarray, Z: np.ndarray) -> list[float]:
    import lowland
    from lowland import quality

    with lowland.config(threads=2):
        return [each.value for each in quality.trustworthiness_and_continuity(X, Z, NEIGHBORS, sample=None)]


def _theirs(X: np.ndarray, Z: np.ndarray) -> list[float]:
    from sklearn.manifold import trustworthiness

    return [float(trustworthiness(X, Z, n_neighbors=NEIGHBORS))]


def _judged(X: np.ndarray, Z: np.ndarray) -> list[float]:
    import lowland
    from lowland import quality

    with lowland.config(threads=2):
        return [measure.value for measure in quality.evaluate(X, Z)]


@job("Trustworthiness and continuity of 20,000 rows, five neighbors, against scikit-learn's trustworthiness alone")
def quality_neighborhoods(plan: Plan) -> Iterator[Line]:
    n = plan.size(20_000, 1_000)
    for kind, words in (("normal", "50 columns"), ("images", "784 columns of integers")):
        ours, peer = (fresh(measure_alone, which, kind, n) for which in ("lowland", "sklearn"))
        off = abs(ours["values"][0] - peer["values"][0])
        if not off < (1e-10 if kind == "normal" else 1e-6):  # integers have ties, which the peer breaks arbitrarily
            raise WrongAnswer(f"trustworthiness differs from scikit-learn's by {off:.1e}")
        bars = [Bar("memory", peer["memory"] / 10), Bar("speed", 5.0)]
        yield Line(
            f"{n:,} rows, {words}", ours["seconds"], peer["seconds"], ratio=ours["seconds"] / peer["seconds"],
            required=() if plan.quick else tuple(bars),
            memory=ours["memory"],
            remark=f"Lowland computes both measures, the peer one; trustworthiness {ours['values'][0]:.4f}, "
            f"agrees to {off:.0e}; its peak {peer['memory'] / 1e6:.0f} MB",
        )  # fmt: skip


@job("All measures of neighborhoods and distances, on a sample of 100,000 rows")
def quality_measures(plan: Plan) -> Iterator[Line]:
    n = plan.size(100_000, 5_000)
    ours = fresh(measure_alone, "judge", "normal", n)
    yield Line(
        f"{n:,} rows, 50 columns", ours["seconds"], memory=ours["memory"],
        remark=f"{len(ours['values'])} measures, including ranks of the rows; trustworthiness {ours['values'][0]:.4f}",
    )  # fmt: skip
