"""The result of every quality measure: a value, its direction, its meaning and its confidence interval."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lowland.plain import html_table

Better = Literal["lower", "higher"]


@dataclass(frozen=True, eq=False)  # eq: comparing arrays gives no single truth value
class Measure:
    """One quality measure of an embedding.

    Attributes
    ----------
    name : str
        Name of the measure, such as "trustworthiness".
    value : float
        The value. ``float(measure)`` also returns it.
    per_row : array of shape (n,) or None
        Value of each point, if ``per_row=True`` was passed. NaN for points that were not sampled or have no
        coordinates.
    better : "lower" or "higher"
        Direction in which the measure improves.
    about : str
        What the value means, in one sentence.
    low, high : float or None
        95% confidence interval of the value of all points. None if all points were evaluated.
    sample : int or None
        Number of sampled points. None if all points were evaluated.
    left_out : int
        Number of points without coordinates (NaN), which were left out.
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
