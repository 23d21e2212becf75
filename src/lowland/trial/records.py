"""The scores and curves of an embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class Score:
    """A quality measure of a trial; low and high bound its 95% confidence interval where rows were sampled."""

    value: float
    better: Literal["lower", "higher"]
    about: str  # one sentence
    low: float | None = None
    high: float | None = None
    n_tested: int = 0  # number of held-out rows, the same for every trial
    correct_bits: str = ""  # which of them were classified correctly, as bits in hexadecimal
    by_fold: tuple[float, ...] = ()  # an R² of each fold
    labels_seen: bool = False  # whether the method was fitted to the labels used here: the value is too optimistic


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve or a scatter: R_NX by neighborhood size, distortion by components, pairs of distances."""

    x: np.ndarray  # (p,)
    y: np.ndarray  # (p,)
    x_name: str
    y_name: str
    kind: Literal["line", "cloud"] = "line"
