"""The result of every quality measure: a value, its direction, its meaning and its confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lowland.plain import html_table

Better = Literal["lower", "higher"]
_NORMAL = 1.959963984540054  # 97.5% quantile of the normal distribution
Bounds = tuple[float, float]  # the smallest and the largest possible value


@dataclass(frozen=True, eq=False)  # eq: comparing arrays gives no single truth value
class Measure:
    """One quality measure of an embedding.

    Attributes
    ----------
    name : str
        Name of the measure, such as "trustworthiness".
    value : float
        The value. ``float(measure)`` returns it, too.
    per_row : array of shape (n,) or None
        Value of each row, if ``per_row=True`` was passed. NaN for rows that were not sampled or have no coordinates.
    better : "lower" or "higher"
        Direction in which the measure improves.
    about : str
        What the value means, in one sentence.
    low, high : float or None
        95% confidence interval of the value of all rows. None if all rows were evaluated.
    sample : int or None
        Number of sampled rows. None if all rows were evaluated.
    left_out : int
        Number of rows without coordinates (NaN), which were left out.
    """

    name: str
    value: float
    per_row: np.ndarray | None  # (n,) float64 on the host; NaN where not evaluated
    better: Better
    about: str  # one sentence
    low: float | None = None  # 95% confidence interval; None: all rows were evaluated
    high: float | None = None
    sample: int | None = None  # number of sampled rows; None: all rows
    left_out: int = 0  # rows without coordinates

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        interval = "" if self.low is None or self.high is None else f"95% CI {self.low:.6g} to {self.high:.6g}, "
        text = f"{self.name}: {self.value:.6g} ({interval}{self.better} is better). {self.about}"
        if self.sample is not None:
            text += f" Estimated from {self.sample:,} sampled rows."
        if self.left_out:
            text += f" Left out: {self.left_out:,} rows without coordinates."
        return text

    def _repr_html_(self) -> str:
        """Return the value, its confidence interval and its meaning as a table, which a notebook shows."""
        rows: list[tuple[Any, ...]] = [(self.name, self.value), ("better", self.better)]
        if self.low is not None and self.high is not None:
            rows.append(("95% confidence interval", f"{self.low:.4g} to {self.high:.4g}"))
        if self.sample is not None:
            rows.append(("sampled rows", f"{self.sample:,}"))
        if self.left_out:
            rows.append(("rows without coordinates", f"{self.left_out:,}"))
        return html_table(rows, caption=self.about)


def confidence_interval(
    value: Any, spread: Any, m: int, n: float = math.inf, *, ends: tuple[Any, Any], shared: int = 1
) -> tuple[Any, Any]:
    """Return the 95% confidence interval of a mean over m of n rows, of values with the standard deviation ``spread``.

    ``ends`` are the smallest and the largest value that a row can have. The sample may have missed all rare rows, and
    then the standard deviation carries no information about them. If the mean of all rows lies δ closer to an end at
    distance R, the least extreme explanation is that a fraction δ/R of the rows lies at that end; the variance is then
    (1 - δ/R)(spread² + δR). The interval contains every δ that Student's t-test does not reject with this variance. For
    binary values it is Wilson's interval (1927, doi:10.2307/2276774); if all sampled values are equal it is close to
    the rule of three. ``shared``: how many times its fraction of the total a row contributes, such as 2 in sums over
    pairs.
    """
    q = student_quantile(m - 1) ** 2 * max(0.0, 1 / m - 1 / n)
    low, high = (_half_width(np.abs(end - value) * shared, spread, q) for end in ends)
    return np.maximum(value - low, np.minimum(ends[0], value)), np.minimum(value + high, np.maximum(ends[1], value))


def wilson_interval(fraction: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95% confidence interval of a fraction of n rows (1927, doi:10.2307/2276774)."""
    q, spread = _NORMAL**2 / n, math.sqrt(fraction * (1 - fraction))
    return fraction - float(_half_width(fraction, spread, q)), fraction + float(_half_width(1 - fraction, spread, q))


def _half_width(R: Any, spread: Any, q: float) -> Any:
    """The largest δ with δ² <= q (1 - δ/R)(spread² + δR)."""
    R, s2 = np.asarray(R, dtype=np.float64), np.square(spread)
    B = q * (R - np.divide(s2, R, out=np.zeros(np.broadcast(R, s2).shape), where=R > 0))
    return np.where(R > 0, (B + np.sqrt(B * B + 4 * (1 + q) * q * s2)) / (2 * (1 + q)), 0.0)


def student_quantile(degrees: float) -> float:
    """Return the 97.5% quantile of Student's t distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.975))
