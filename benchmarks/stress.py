"""Metric MDS compared with scikit-learn's at equal stress, and the last GPU result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fresh import fresh
from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer, alternate, peak_beyond
from benchmarks.registry import Plan, job

GPU_RESULT = Path(__file__).with_name("gpu_stress.json")
_MOST_SECONDS = 30  # the peer's fit takes long: no further round after this


@job("MDS.fit of 2,000 × 64, to at most the final stress of the peer")
def least_squares(plan: Plan) -> Iterator[Line]:
    n = plan.size(2_000, 200)
    X = _digits(n)
    start = np.random.default_rng(0).uniform(size=(n, 2))  # as the peer draws its own
    work = {
        "ours, same start": lambda: _ours().fit(X, init=start),
        "ours": lambda: _ours().fit(X),
        "peer": lambda: _theirs().fit(X, init=start),
    }
    times = alternate(work, plan.repeat, at_most=_MOST_SECONDS)
    stress = {whose: float(model.stress_) for whose, model in times.answers.items()}
    for whose in ("ours, same start", "ours"):
        if not stress[whose] <= stress["peer"]:
            raise WrongAnswer(f"{whose}: stress {stress[whose]:.6g}, the peer reaches {stress['peer']:.6g}")
    ours, peer = (fresh(memory_of_scaling, whose, n) for whose in ("ours", "peer"))
    bars = {"ours, same start": [Bar("speed", 5.0)], "ours": [Bar("speed", 15.0)]}
    if peer:
        bars["ours"].append(Bar("memory", peer / 3))
    for what, whose in (("from the same initialization", "ours, same start"), ("from classical MDS", "ours")):
        steps = {name: times.answers[name].n_iter_ for name in (whose, "peer")}
        yield times.line(
            what, whose, "peer", required=() if plan.quick else tuple(bars[whose]),
            memory=ours if whose == "ours" else None,
            remark=f"stress {stress[whose]:.5g} after {steps[whose]} iterations, the peer {stress['peer']:.5g} after "
            f"{steps['peer']}" + (f", with a peak of {peer / 1e6:.0f} MB" if peer and whose == "ours" else ""),
        )  # fmt: skip


def memory_of_scaling(whose: str, n: int) -> int | None:
    """In a new process: the peak of one fit beyond the rows, once libraries and kernels are loaded."""
    X = _digits(n)
    # the peer's peak is that of a few iterations, which are all alike
    make = _ours if whose == "ours" else partial(_theirs, max_iter=3)
    make().fit(X[:300])
    return peak_beyond(lambda: make().fit(X))


def _digits(n: int) -> np.ndarray:
    """Digits, padded with noisy copies."""
    from lowland.data import load_dataset

    X = load_dataset("digits").X
    rng = np.random.default_rng(0)
    more = X[: max(0, n - len(X))]
    return np.vstack([X, more + rng.random(more.shape)])[:n]


def _ours() -> Any:
    from lowland import MDS

    return MDS(2)


def _theirs(**options: Any) -> Any:
    from sklearn.manifold import MDS

    return MDS(2, init="random", n_init=1, **options)


@job("SMACOF of 20,000 points on a GPU, float32")
def gpu_stress(plan: Plan) -> Iterator[Line]:
    """The last result of benchmarks/gpu_stress.py, which runs on a machine with a GPU."""
    if not GPU_RESULT.exists():
        return
    result = json.loads(GPU_RESULT.read_text())
    yield Line(
        "one iteration", result["milliseconds an iteration"] / 1e3,
        required=(Bar("ours", result["bar in milliseconds"] / 1e3),),
        remark=f"{result['device']}, {result['date']}; stress-1 {result['stress-1']:.4f} after {result['iterations']} "
        f"iterations; one pass over the matrix takes {result['milliseconds a pass']:.3g} ms",
    )  # fmt: skip
