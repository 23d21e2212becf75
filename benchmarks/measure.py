"""Measurement of time and memory, and comparison of results."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lines import Line

_PAUSE = 0.05  # seconds between runs: BLAS threads keep spinning after a product and would slow down the next run


class WrongAnswer(Exception):
    """The result is wrong, so its time is meaningless."""


@dataclass(frozen=True)
class Times:
    """Seconds of every run by name, and the last results."""

    seconds: dict[str, list[float]]
    answers: dict[str, Any] = field(default_factory=dict)

    def line(self, what: str, name: str, other: str, **rest: Any) -> Line:
        """Return the line that compares one with the other."""
        ratio, doubt = self.ratio(name, other), self._doubt(name, other)
        return Line(what, self.median(name), self.median(other), ratio=ratio, doubt=doubt / ratio, **rest)

    def median(self, name: str) -> float:
        return statistics.median(self.seconds[name])

    def ratio(self, name: str, other: str) -> float:
        """Median of the ratios of consecutive runs, which cancels temporary load of the machine."""
        return statistics.median(self._ratios(name, other))

    def _doubt(self, name: str, other: str) -> float:
        """Standard error of that median, estimated from the quartiles under normality."""
        ratios = self._ratios(name, other)
        low, high = np.quantile(ratios, [0.25, 0.75])
        return 1.25 * float(high - low) / 1.35 / math.sqrt(len(ratios))

    def _ratios(self, name: str, other: str) -> list[float]:
        return [a / b for a, b in zip(self.seconds[name], self.seconds[other], strict=True)]


def alternate(
    work: Mapping[str, Callable[[], Any]], rounds: int, *, calls: int = 1, at_most: float = math.inf
) -> Times:
    """Time the functions alternately after one warm-up each; every other round runs in reverse order.

    A run is ``calls`` consecutive calls, for work too short for the clock. No round begins after ``at_most`` seconds.
    """
    answers = {name: call() for name, call in work.items()}
    seconds: dict[str, list[float]] = {name: [] for name in work}
    begin = time.perf_counter()
    for i in range(rounds):
        if i and time.perf_counter() - begin > at_most:
            break
        for name in list(work)[:: -1 if i % 2 else 1]:
            time.sleep(_PAUSE)
            taken, answers[name] = stopwatch(work[name], calls)
            seconds[name].append(taken)
    return Times(seconds, answers)


def stopwatch(call: Callable[[], Any], calls: int = 1) -> tuple[float, Any]:
    """Return the mean time of a call in seconds, and its result."""
    start = time.perf_counter()
    for _ in range(calls):
        answer = call()
    return (time.perf_counter() - start) / calls, answer


def peak_beyond(call: Callable[[], Any]) -> int | None:
    """Return the peak of resident memory above its present size in bytes; None if the system does not report it."""
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    except OSError:
        return None
    before = resident("VmRSS")
    call()
    return resident("VmHWM") - before


def resident(field: str) -> int:
    """Return a size in bytes from this process's status: VmRSS is the memory in use, VmHWM its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def largest_error(values: Any, truth: Any) -> float:
    """Return the largest relative error."""
    values, truth = np.asarray(values, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    return float(np.max(np.abs(values - truth) / np.abs(truth)))


def agree(what: str, values: Any, truth: Any, within: float) -> float:
    """Return the largest relative error, or fail if it is above the tolerance or NaN."""
    error = largest_error(values, truth)
    if not error <= within:
        raise WrongAnswer(f"{what}: relative error {error:.1e}, allowed {within:.0e}")
    return error


def same_axes(what: str, axes: Any, truth: Any, within: float) -> None:
    """Fail unless the rows of both are parallel: 1 - |cosine| within the tolerance."""
    cosines = np.abs(np.sum(np.asarray(axes, dtype=np.float64) * np.asarray(truth, dtype=np.float64), axis=1))
    if not 1 - cosines.min() <= within:
        raise WrongAnswer(f"{what}: for an axis 1 - |cos| = {1 - cosines.min():.1e}, allowed {within:.0e}")
