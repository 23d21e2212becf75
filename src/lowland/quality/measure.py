"""What every measure returns: a number, what it means, which way is better, and how sure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

Better = Literal["lower", "higher"]
NORMAL = 1.959963984540054  # standard errors on either side that hold 95 %


@dataclass(frozen=True, eq=False)  # eq: two arrays do not compare to one truth
class Measure:
    """One judgement of an embedding."""

    name: str
    value: float
    per_row: np.ndarray | None  # (n,) float64 on the host, where asked for; NaN of rows that were not looked at
    better: Better
    about: str  # one sentence
    low: float | None = None  # the value would lie between these in 95 % of samples; None: nothing was drawn
    high: float | None = None
    sample: int | None = None  # rows that were looked at; None: every row
    left_out: int = 0  # rows without coordinates
    folds: np.ndarray | None = None  # (f,) of held-out rows: the value of each fold

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        interval = "" if self.low is None or self.high is None else f"{self.low:.6g} to {self.high:.6g}, "
        told = f"{self.name}: {self.value:.6g} ({interval}{self.better} is better). {self.about}"
        if self.sample is not None:
            told += f" Estimated from {self.sample:,} rows."
        if self.left_out:
            told += f" Left out: {self.left_out:,} without coordinates."
        return told


def interval_about(value: float, spread: float, m: int, n: float = math.inf) -> tuple[float, float]:
    """Return the 95 % interval of a mean over m of n rows whose values have the standard deviation ``spread``."""
    half = NORMAL * spread * math.sqrt(max(0.0, 1 / m - 1 / n)) if m > 1 else math.inf
    return value - half, value + half
