"""Estimates of time and memory in the worker: small samples of the rows are fitted, and the cost is extrapolated."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from lowland.explorer.mapping import SEED, MapInputs, planned_map
from lowland.math.statistics.sampling import evenly_spread
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import load_method
from lowland.run.settings import config
from lowland.study.plan import Planned, StudySize
from lowland.study.trials.fit import SharedInputs, fitted_coordinates
from lowland.study.trials.resources import Clock, PeakMemory

SIZES = (250, 500, 1_000, 2_000, 4_000)  # rows of the samples
ENOUGH = 0.7  # seconds of one sample after which no larger one is fitted
LIMIT = 4.0  # seconds of all samples


def estimate(message: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Estimate the seconds and the bytes of a map."""
    inputs = MapInputs.of(message)
    size = inputs.size
    planned = planned_map(message["method"], message["parameters"], size)
    if planned.why_left_out is not None:
        return {"error": planned.why_left_out}
    points = _timed(inputs, planned, size)
    n, (m, seconds, memory) = size.n, points[-1]
    if m >= n:
        return _answer(seconds, memory, 1.5, f"measured: a fit of all {n:,} rows took {seconds:.2g} s")
    pairs = traits_of(load_method(planned.method)).study.all_pairs_up_to is not None
    capped = planned.fitted_rows or planned.parameters.get("n_landmarks")  # pairs only among some rows
    power = 2.0 if pairs and capped is None else 1.1
    total = _extrapolated(points, n, power)
    rows = 3 * 8 * n * size.d  # the table and two copies
    used = rows + (memory * (n / m) ** 2 if pairs and capped is None else memory * n / m)
    sizes = " and ".join(f"{p[0]:,}" for p in points[-2:])
    times = " and ".join(f"{p[1]:.2g} s" for p in points[-2:])
    basis = f"fits of {sizes} rows took {times}; extrapolated to {n:,} rows as n^{power:g}"
    return _answer(total, used, 2.5, basis)


def _extrapolated(points: list[tuple[int, float, int]], n: int, power: float) -> float:
    """The seconds of n rows: a fixed part, and a part that grows as n^power, from the two largest samples."""
    m, t = points[-1][:2]
    if len(points) == 1:
        return t * (n / m) ** power
    k, s = points[-2][:2]
    growth = max((t - s) / (m**power - k**power), 0.2 * t / m**power)  # noise may hide the growth
    return max(0.0, t - growth * m**power) + growth * n**power


def _answer(seconds: float, memory: float, factor: float, basis: str) -> dict[str, Any]:
    return {
        "seconds": seconds, "low": seconds / factor, "high": seconds * factor, "bytes": int(memory), "basis": basis,
    }  # fmt: skip


def _timed(inputs: MapInputs, planned: Planned, size: StudySize) -> list[tuple[int, float, int]]:
    """Rows, seconds and bytes of fits of samples, until one takes long enough to extrapolate from."""
    found: list[tuple[int, float, int]] = []
    begun = time.perf_counter()
    for m in sorted({min(each, size.n) for each in SIZES}):
        if len(found) > 1 and (found[-1][1] > ENOUGH or time.perf_counter() - begun > LIMIT):
            break
        chosen = evenly_spread(size.n, m, np.random.default_rng(SEED)) if m < size.n else np.ones(size.n, dtype=bool)
        try:
            if not found:
                _fit(inputs, planned, chosen)  # loads libraries and compiled code
            found.append((m, *_fit(inputs, planned, chosen)))
        except Exception:  # too few rows for the parameters: a larger sample may do
            if m == size.n or m == SIZES[-1]:
                raise
    return found


def _fit(inputs: MapInputs, planned: Planned, chosen: np.ndarray) -> tuple[float, int]:
    """Seconds, compilation excluded, and bytes of a fit of some rows."""
    X, labels = np.ascontiguousarray(inputs.rows.X[chosen]), inputs.labels
    y = None if labels.codes is None else labels.codes[chosen]
    own = replace(planned, fitted_rows=None, shared_neighbors=None)
    landmarks = own.parameters.get("n_landmarks")
    if landmarks and landmarks >= len(X):
        own = replace(own, parameters={**own.parameters, "n_landmarks": max(2, len(X) // 2)})
    est = load_method(own.method)(**own.parameters)
    clock = Clock()
    with warnings.catch_warnings(), PeakMemory() as memory, config(progress=False):
        warnings.simplefilter("ignore")
        clock.restart()
        if traits_of(est).reads_text:
            table = inputs.stored.select(inputs.rows.features, np.flatnonzero(chosen))
            est.fit(table)
        else:
            fitted_coordinates(est, own, SharedInputs(X, y, None, None, SEED, labels.classes))
    return clock.seconds, memory.bytes or 0
