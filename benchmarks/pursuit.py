"""Projection pursuit: no peer, but a known structure to be found in a given time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer, stopwatch
from benchmarks.registry import Plan, job

_NORMAL = np.array([9, -6, 1]) / np.sqrt(118)  # of RANDU's planes
_LIMIT = 1.0  # degrees


@job("ProjectionPursuit.fit of RANDU, 400 × 3, with ten random states and their p-values")
def randu_planes(plan: Plan) -> Iterator[Line]:
    from lowland import ProjectionPursuit
    from lowland.data import load_dataset

    X = load_dataset("randu").X
    seeds = range(plan.size(10, 2))
    ProjectionPursuit(1, n_null=1, random_state=0).fit(X)  # warm-up
    for k in (1, 2):
        seconds, models = stopwatch(lambda k=k: [ProjectionPursuit(k, random_state=seed).fit(X) for seed in seeds])
        angles = [_degrees(model.directions_[0]) for model in models]
        found = sum(angle < _LIMIT for angle in angles)
        if found < len(angles):
            raise WrongAnswer(f"the planes of RANDU: found by {found} of {len(angles)} random states")
        p_value = max(float(model.p_value_[0]) for model in models)
        yield Line(
            f"{k}-dimensional projections", seconds, required=(Bar("ours", 60),),
            remark=f"{found} of {len(angles)} within {max(angles):.2g} degrees of (9, -6, 1); largest p {p_value:g}",
        )  # fmt: skip


def _degrees(direction: np.ndarray) -> float:
    return float(np.degrees(np.arccos(min(1.0, abs(float(direction @ _NORMAL))))))
