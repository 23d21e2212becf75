"""How time and memory are measured, and how answers are compared."""

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

_PAUSE = 0.05  # seconds between runs: BLAS threads spin for a while after a product and would slow the next one


class WrongAnswer(Exception):
    """Ours is not what it should be: its speed means nothing."""


@dataclass(frozen=True)
class Times:
    """The seconds of every run, by name, and what each one last returned."""

    seconds: dict[str, list[float]]
    answers: dict[str, Any] = field(default_factory=dict)

    def line(self, what: str, name: str, other: str, **rest: Any) -> Line:
        """Return the line that compares one with the other."""
        ratio, doubt = self.ratio(name, other), self._doubt(name, other)
        return Line(what, self.median(name), self.median(other), ratio=ratio, doubt=doubt / ratio, **rest)

    def median(self, name: str) -> float:
        return statistics.median(self.seconds[name])

    def ratio(self, name: str, other: str) -> float:
        """The median of the ratios of neighboring runs: what slows the machine for a while slows both."""
        return statistics.median(self._ratios(name, other))

    def _doubt(self, name: str, other: str) -> float:
        """How far that median may be off: its standard error, from the quartiles as if the ratios were normal."""
        ratios = self._ratios(name, other)
        low, high = np.quantile(ratios, [0.25, 0.75])
        return 1.25 * float(high - low) / 1.35 / math.sqrt(len(ratios))

    def _ratios(self, name: str, other: str) -> list[float]:
        return [a / b for a, b in zip(self.seconds[name], self.seconds[other], strict=True)]


def alternate(
    work: Mapping[str, Callable[[], Any]], rounds: int, *, calls: int = 1, at_most: float = math.inf
) -> Times:
    """Time the works in turn, after one warm-up each; every other round runs in reverse order.

    A run is ``calls`` calls in a row, for work too short for the clock. No round begins after ``at_most`` seconds.
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
    """Return the seconds one call takes, on average, and its answer."""
    start = time.perf_counter()
    for _ in range(calls):
        answer = call()
    return (time.perf_counter() - start) / calls, answer


def peak_beyond(call: Callable[[], Any]) -> int | None:
    """Return by how many bytes the resident memory peaked over its present size; None where the system cannot tell."""
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
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
    """Return the largest relative error, or fail if it is above the tolerance (or not a number)."""
    error = largest_error(values, truth)
    if not error <= within:
        raise WrongAnswer(f"{what}: off by {error:.1e}, allowed {within:.0e}")
    return error


def same_axes(what: str, axes: Any, truth: Any, within: float) -> None:
    """Fail unless the rows of both point along the same lines: 1 - |cosine| within the tolerance."""
    cosines = np.abs(np.sum(np.asarray(axes, dtype=np.float64) * np.asarray(truth, dtype=np.float64), axis=1))
    if not 1 - cosines.min() <= within:
        raise WrongAnswer(f"{what}: an axis is off by 1 - |cos| = {1 - cosines.min():.1e}, allowed {within:.0e}")
