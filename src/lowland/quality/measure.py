"""What every measure returns: a number, what it means, and which way is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True, eq=False)  # eq: two arrays do not compare to one truth
class Measure:
    """One judgement of an embedding."""

    name: str
    value: float
    per_row: np.ndarray | None  # (n,) float64 on the host, where asked for
    better: Literal["lower", "higher"]
    about: str  # one sentence

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.name}: {self.value:.6g} ({self.better} is better). {self.about}"
