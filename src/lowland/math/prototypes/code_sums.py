"""What a pass of k-means sums over the rows of each code vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True)
class CodeSums:
    """Weighted sum and count of the rows nearest to each code vector, and the sum of their squared distances."""

    sums: np.ndarray  # (k, d) float64, scaled
    counts: np.ndarray  # (k,)
    error: float  # sum of squared distances of the rows to their code vectors, scaled

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        return type(self)(self.sums + other.sums, self.counts + other.counts, self.error + other.error)

    def is_finite(self) -> bool:
        """Whether the sums contain no NaN, infinity or overflow."""
        return math.isfinite(self.error)
