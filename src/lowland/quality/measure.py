"""What every measure returns: a number, what it means, which way is better, and how sure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Better = Literal["lower", "higher"]
_NORMAL = 1.959963984540054  # standard errors on either side that hold 95 %
Bounds = tuple[float, float]  # the least and the greatest value there can be


@dataclass(frozen=True, eq=False)  # eq: two arrays do not compare to one truth
class Measure:
    """One judgement of an embedding."""

    name: str
    value: float
    per_row: np.ndarray | None  # (n,) float64 on the host, where asked for; NaN of rows that were not looked at
    better: Better
    about: str  # one sentence
    low: float | None = None  # between these lies the value of all rows, 95 % sure; None: nothing was drawn
    high: float | None = None
    sample: int | None = None  # rows that were looked at; None: every row
    left_out: int = 0  # rows without coordinates

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


def confidence_interval(
    value: Any, spread: Any, m: int, n: float = math.inf, *, ends: tuple[Any, Any], shared: int = 1
) -> tuple[Any, Any]:
    """Return the 95 % interval of a mean over m of n rows, of values with the standard deviation ``spread``.

    ``ends`` are the least and the greatest value a row can have. Rare rows may all have been missed, and then the
    spread says nothing of them: if the mean of all rows lies δ nearer to an end at the distance R, then because a share
    δ/R of them stands there, and the variance is (1 - δ/R)(spread² + δR). The interval holds every δ that Student's t
    does not refuse with this variance: Wilson's (1927, doi:10.2307/2276774) where rows are right or wrong, and the
    rule of three, nearly, where all that were drawn are equal. ``shared``: a row has a say in so many times its
    share of the whole, as in sums over pairs, which are of two rows.
    """
    q = student_quantile(m - 1) ** 2 * max(0.0, 1 / m - 1 / n)
    low, high = (_half_width(np.abs(end - value) * shared, spread, q) for end in ends)
    return np.maximum(value - low, np.minimum(ends[0], value)), np.minimum(value + high, np.maximum(ends[1], value))


def wilson_interval(share: float, n: int) -> tuple[float, float]:
    """Return the ends between which 95 % of such shares of n rows lie (Wilson 1927, doi:10.2307/2276774)."""
    q, spread = _NORMAL**2 / n, math.sqrt(share * (1 - share))
    return share - float(_half_width(share, spread, q)), share + float(_half_width(1 - share, spread, q))


def _half_width(R: Any, spread: Any, q: float) -> Any:
    """The largest δ with δ² <= q (1 - δ/R)(spread² + δR)."""
    R, s2 = np.asarray(R, dtype=np.float64), np.square(spread)
    B = q * (R - np.divide(s2, R, out=np.zeros(np.broadcast(R, s2).shape), where=R > 0))
    return np.where(R > 0, (B + np.sqrt(B * B + 4 * (1 + q) * q * s2)) / (2 * (1 + q)), 0.0)


def student_quantile(degrees: int) -> float:
    """Return how many standard errors on either side hold 95 %, of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.975))
