"""The scores and curves of an embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lowland.plain import html_table


@dataclass(frozen=True)
class Score:
    """A quality measure of a trial. low and high bound its 95% confidence interval where rows were sampled."""

    value: float
    better: Literal["lower", "higher"]
    about: str  # one sentence
    low: float | None = None
    high: float | None = None
    n_tested: int = 0  # number of held-out rows, the same for every trial
    correct_bits: str = ""  # which of them were classified correctly, as bits in hexadecimal
    by_fold: tuple[float, ...] = ()  # an R² of each fold
    labels_seen: bool = False  # whether the method was fitted to the labels used here: the value is too optimistic
    held_out: bool = False  # whether a model that was fitted without the held-out rows placed them

    def _repr_html_(self) -> str:
        rows: list[tuple[object, ...]] = [("value", self.value), ("better", self.better)]
        if self.low is not None and self.high is not None:
            rows.append(("95% confidence interval", f"{self.low:.4g} to {self.high:.4g}"))
        if self.labels_seen:
            rows.append(("note", "The method was fitted to these labels, so the value is too optimistic."))
        return html_table([*rows, ("meaning", self.about)])


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve or a scatter: R_NX by neighborhood size, distortion by components, pairs of distances."""

    x: np.ndarray  # (p,)
    y: np.ndarray  # (p,)
    x_name: str
    y_name: str
    kind: Literal["line", "cloud"] = "line"
