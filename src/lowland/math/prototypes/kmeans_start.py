"""Initialization of k-means: rows far apart (k-means++) or random rows, of the whole table or of a sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.data.rows import Rows
from lowland.math.statistics.rescaling import UniformScaling
from lowland.math.statistics.sampling import SelectedRows, evenly_spread
from lowland.run.run import Run

_SAMPLE, _SAMPLE_PER_CODE = 10_000, 32  # size of the sample for the initialization: at least, and per code vector
_NEAR = 1e-6  # fraction of |y|² + |c|² below which a squared distance by products has too large a rounding error


@dataclass(frozen=True)
class RowSample:
    """Sampled rows with weights, in an order that does not depend on the order of the table."""

    Y: np.ndarray  # (m, d) float64, scaled
    weights: np.ndarray  # (m,)

    @classmethod
    def of(
        cls, rows: Rows, run: Run, n: int, k: int, scaling: UniformScaling, weights: Any, rng: np.random.Generator
    ) -> Self:
        """Take all rows, or a sample spread evenly over the table. Rows of weight zero are left out."""
        most = max(_SAMPLE, _SAMPLE_PER_CODE * k)
        run.require(min(n, most) * rows.d * 16, "The sample for the initialization", "Lower the number of code vectors")
        keep = None if weights is None else weights > 0
        count = n if keep is None else int(keep.sum())
        if count > most:
            positions = np.arange(n) if keep is None else np.flatnonzero(keep)
            keep = np.zeros(n, dtype=bool)
            keep[positions[evenly_spread(count, most, rng)]] = True
        Y = scaling.apply(to_numpy(run.fold(rows, SelectedRows.of, keep, name="sampling rows").rows))
        w = np.ones(len(Y)) if weights is None else weights[keep]
        order = np.argsort(Y @ np.random.default_rng(0).standard_normal(rows.d), kind="stable")
        return cls(Y[order], w[order])

    def kmeans_plus_plus(self, k: int, rng: np.random.Generator) -> np.ndarray:
        """Return k rows far apart, (k, d), by greedy k-means++ (Arthur and Vassilvitskii 2007).

        Each row is drawn with probability proportional to its squared distance to the nearest row chosen before. Of
        several draws, the one with the lowest remaining inertia is kept.
        """
        Y, trials = self.Y, 2 + int(math.log(k))
        lengths = np.vecdot(Y, Y)
        chosen = [_drawn(self.weights, rng.random(1))[0]]
        nearest = self._squares_to(chosen, lengths)[0]
        while len(chosen) < k and nearest.any():
            tried = _drawn(self.weights * nearest, rng.random(trials))
            left = np.minimum(self._squares_to(tried, lengths), nearest)  # (trials, m)
            best = int(np.argmin(left @ self.weights))
            chosen.append(tried[best])
            nearest = left[best]
        return Y[np.pad(chosen, (0, k - len(chosen)), mode="edge")]  # fewer distinct rows than code vectors

    def random_codes(self, k: int, rng: np.random.Generator) -> np.ndarray:
        """Return k rows drawn without replacement in proportion to their weights, (k, d)."""
        return self.Y[rng.choice(len(self.Y), k, replace=False, p=self.weights / self.weights.sum())]

    def _squares_to(self, chosen: Any, lengths: np.ndarray) -> np.ndarray:
        """Return the squared distances of all rows to the chosen ones, (c, m); small ones computed from differences."""
        both = lengths[chosen][:, None] + lengths[None, :]
        squares = both - 2 * (self.Y[chosen] @ self.Y.T)
        for one, line, lost in zip(chosen, squares, squares <= _NEAR * both, strict=True):
            off = self.Y[lost] - self.Y[one]
            line[lost] = np.vecdot(off, off)
        return squares


def _drawn(weights: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the positions at which numbers between 0 and 1 fall in the cumulative weights."""
    sums = np.cumsum(weights)
    return np.minimum(np.searchsorted(sums, at * sums[-1], side="right"), np.flatnonzero(weights)[-1])
