"""What sets a group of rows apart: effect sizes of all columns, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from lowland.math.statistics.intervals import student_quantile

_NORMAL_QUANTILE = 1.959963984540054
_LEAST_ROWS = 10  # of each group, for an interval of Cohen's d


@dataclass(frozen=True)
class Effect:
    """The difference between selected and other rows in one column: the larger in size, the more it sets them apart.

    Cohen's d is the difference of the means in pooled standard deviations. Cohen's h is the difference of two
    fractions after the arcsine transformation, here of the level that differs most. In both, 0.2 is called small, 0.5
    medium and 0.8 large.
    """

    name: str
    kind: str  # "number" or "category"
    measure: str
    effect: float
    selected: float  # mean, or fraction of the level
    rest: float
    level: str | None = None
    n_selected: int = 0  # observed values
    n_rest: int = 0
    interval: tuple[float, float] | None = None  # 95% confidence; None: constant groups, or fewer than ten values


def effect_of_numbers(name: str, x: np.ndarray, selected: np.ndarray) -> Effect | None:
    """Cohen's d of a column of numbers, (n,) with NaN where missing; None if it is not defined."""
    a, b = (part[np.isfinite(part)] for part in (x[selected], x[~selected]))
    if not len(a) or not len(b) or len(a) + len(b) < 3:
        return None
    scale = max(np.abs(a).max(), np.abs(b).max()) or 1.0  # squares of very large or small values would be lost
    a, b = a / scale, b / scale
    means = float(a.mean()), float(b.mean())
    squares = float(((a - means[0]) ** 2).sum() + ((b - means[1]) ** 2).sum())
    sd = (squares / (len(a) + len(b) - 2)) ** 0.5
    difference = means[0] - means[1]
    interval = None
    if sd <= 1e-12 * max(abs(means[0]), abs(means[1])):  # constant within both groups
        if abs(difference) <= 1e-12 * max(abs(means[0]), abs(means[1])):
            return None
        effect = float(np.copysign(np.inf, difference))
    else:
        effect = difference / sd
        interval = _interval_of_d(effect, (a - means[0]) / sd, (b - means[1]) / sd)
    return Effect(
        name, "number", "Cohen's d", effect, means[0] * scale, means[1] * scale, None, len(a), len(b), interval
    )  # fmt: skip


def _interval_of_d(d: float, a: np.ndarray, b: np.ndarray) -> tuple[float, float] | None:
    """95% interval of Cohen's d from deviations in pooled units, by the delta method.

    The error of d comes from the means, from the pooled variance, and from the correlation between them, which is that
    of the third moments, also for unequal variances. Moments of few values are too small. So cumulants are estimated
    without bias, and the fourth is at least that of a gamma distribution of the same skewness (zero if it is normal).
    A bootstrap (BCa or studentized) held less often for exponential columns, since it never sees the missing tail.
    """
    if min(len(a), len(b)) < _LEAST_ROWS:
        return None
    n = len(a) + len(b)
    (a2, a3, a4), (b2, b3, b4) = _cumulants(a), _cumulants(b)
    means = a2 / len(a) + b2 / len(b)
    skewness = sum(len(p) * k3 / k2**1.5 for p, k2, k3 in ((a, a2, a3), (b, b2, b3)) if k2 > 0) / n
    pooled = (
        sum(len(p) * (max(k4, 1.5 * skewness**2 * k2**2) + 2 * k2**2) for p, k2, k4 in ((a, a2, a4), (b, b2, b4)))
        / n**2
    )
    error = math.sqrt(max(means + d**2 * pooled / 4 - d * (a3 - b3) / n, 0.0))
    freedom = means**2 / sum((k2 / len(p)) ** 2 / (len(p) - 1) for p, k2 in ((a, a2), (b, b2)))  # of Welch
    half = student_quantile(max(1.0, float(freedom))) * error
    return d - half, d + half


def _cumulants(x: np.ndarray) -> tuple[float, float, float]:
    """The unbiased estimates of the second, third and fourth cumulant (Fisher's k-statistics)."""
    n, u = len(x), x - x.mean()
    m2, m3, m4 = (float((u**p).mean()) for p in (2, 3, 4))
    k4 = n**2 * ((n + 1) * m4 - 3 * (n - 1) * m2**2) / ((n - 1) * (n - 2) * (n - 3))
    return n * m2 / (n - 1), n**2 * m3 / ((n - 1) * (n - 2)), k4


def effect_of_levels(name: str, codes: np.ndarray, levels: list[str], selected: np.ndarray) -> Effect | None:
    """Cohen's h of the level that differs most; ``codes`` are -1 where missing. None if there is nothing to compare."""
    a, b = (part[part >= 0] for part in (codes[selected], codes[~selected]))
    if not len(a) or not len(b) or len(levels) < 2:
        return None
    p, q = (np.bincount(part, minlength=len(levels)) / len(part) for part in (a, b))
    h = 2 * np.arcsin(np.sqrt(p)) - 2 * np.arcsin(np.sqrt(q))
    j = int(np.argmax(np.abs(h)))
    # the arcsine of a fraction near 0 or 1 is less biased with 3/8 added (Anscombe 1948, doi:10.1093/biomet/35.3-4.246)
    near = [2 * math.asin(math.sqrt((f * len(g) + 0.375) / (len(g) + 0.75))) for f, g in ((p[j], a), (q[j], b))]
    half = _NORMAL_QUANTILE * math.sqrt(1 / (len(a) + 0.5) + 1 / (len(b) + 0.5))
    return Effect(
        name, "category", "Cohen's h", float(h[j]), float(p[j]), float(q[j]), levels[j], len(a), len(b),
        (near[0] - near[1] - half, near[0] - near[1] + half),
    )  # fmt: skip


def sort_effects(effects: Iterable[Effect | None]) -> list[Effect]:
    """The effects that are defined, the largest first."""
    return sorted((e for e in effects if e is not None), key=lambda e: -abs(e.effect))
