"""95% confidence intervals of means and fractions over sampled rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_NORMAL = 1.959963984540054  # 97.5% quantile of the normal distribution
Bounds = tuple[float, float]  # the smallest and the largest possible value


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
