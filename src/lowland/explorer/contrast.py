"""What sets a selection of rows apart: the effect size of every column, selected rows against the others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

MOST_LEVELS = 1000  # a column with more is text, which is not compared


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
    if sd <= 1e-12 * max(abs(means[0]), abs(means[1])):  # constant within both groups
        if abs(difference) <= 1e-12 * max(abs(means[0]), abs(means[1])):
            return None
        effect = float(np.copysign(np.inf, difference))
    else:
        effect = difference / sd
    return Effect(
        name, "number", "Cohen's d", effect, means[0] * scale, means[1] * scale, None, len(a), len(b)
    )  # fmt: skip


def effect_of_levels(name: str, codes: np.ndarray, levels: list[str], selected: np.ndarray) -> Effect | None:
    """Cohen's h of the level that differs most; ``codes`` are -1 where missing. None if there is nothing to compare."""
    a, b = (part[part >= 0] for part in (codes[selected], codes[~selected]))
    if not len(a) or not len(b) or len(levels) < 2:
        return None
    p, q = (np.bincount(part, minlength=len(levels)) / len(part) for part in (a, b))
    h = 2 * np.arcsin(np.sqrt(p)) - 2 * np.arcsin(np.sqrt(q))
    j = int(np.argmax(np.abs(h)))
    return Effect(name, "category", "Cohen's h", float(h[j]), float(p[j]), float(q[j]), levels[j], len(a), len(b))


def in_order(effects: Iterable[Effect | None]) -> list[Effect]:
    """The effects that are defined, the largest first."""
    return sorted((e for e in effects if e is not None), key=lambda e: -abs(e.effect))
