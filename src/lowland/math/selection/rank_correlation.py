"""Spearman's rank correlation of a column with a target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from lowland.math.selection.columns import dot
from lowland.math.selection.filters import correlation_pvalues

_FEW = 10  # largest number of rows for the exact permutation distribution


@dataclass(frozen=True)
class Spearman:
    """Correlation of the ranks."""

    z: np.ndarray  # (n,) ranks of the target, centered
    least_rows: ClassVar[int] = 0
    signed: ClassVar[bool] = True

    @classmethod
    def to(cls, y: np.ndarray) -> Spearman:
        """Return the measure for a target of numbers."""
        return cls(ranks(y) - (len(y) + 1) / 2)

    def prepare(self, x: np.ndarray, j: int) -> np.ndarray:
        """Return the centered ranks."""
        return ranks(x) - (len(x) + 1) / 2

    def __call__(self, x: np.ndarray, j: int) -> tuple[float, float]:
        """Return the correlation and its p-value: exact for few rows, otherwise by the t test, but at least 2/n!."""
        r = min(max(dot(x, self.z) / np.sqrt(dot(x, x) * dot(self.z, self.z)), -1.0), 1.0)
        n = len(x)
        if n <= _FEW:
            return r, rank_pvalue(x, self.z)
        return r, max(float(correlation_pvalues(np.array([r]), n)[0]), 2 * math.exp(-math.lgamma(n + 1)))


def ranks(x: np.ndarray) -> np.ndarray:
    """Return the rank of each value, from 1; ties get their mean rank."""
    _, places, counts = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def rank_pvalue(x: np.ndarray, z: np.ndarray) -> float:
    """Return the exact p-value: the fraction of all permutations whose rank correlation is at least as strong."""
    a, b = (np.rint(2 * (ranked - ranked.min())).astype(int) for ranked in (x, z))  # mean ranks are halves
    counts = _orders_by_product(tuple(np.sort(a).tolist()), tuple(np.sort(b).tolist()))
    expected = a.sum() * b.sum() / len(a)
    apart = np.abs(np.arange(len(counts)) - expected)
    return float(counts[apart >= abs(a @ b - expected) - 1e-9].sum() / counts.sum())


@lru_cache(maxsize=1024)
def _orders_by_product(a: tuple[int, ...], b: tuple[int, ...]) -> np.ndarray:
    """The number of the n! orders of b that have each sum of products with a, by dynamic programming over subsets."""
    n, most = len(a), int(np.dot(a, b))
    counts = np.zeros((2**n, most + 1))
    counts[0, 0] = 1
    for placed in range(2**n - 1):
        i = placed.bit_count()
        for j in range(n):
            if not placed >> j & 1:
                step = a[i] * b[j]
                counts[placed | 1 << j, step:] += counts[placed, : most + 1 - step]
    return counts[-1]
