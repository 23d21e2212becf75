"""Sampling of rows, such as landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, take, xp_of
from lowland.data.rows import Rows
from lowland.math.statistics.moments import ColumnMoments
from lowland.run.run import Run, all_finite


@dataclass(frozen=True)
class SelectedRows:
    """Sampled rows of the chunks, in order."""

    parts: tuple[Array, ...]

    @classmethod
    def of(cls, X: Array, keep: np.ndarray | None = None) -> Self:
        """Return the marked rows of one chunk, or all."""
        return cls((X if keep is None else take(X, keep),))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.parts + other.parts)

    def is_finite(self) -> bool:
        """Whether NaN and infinity are absent from the sampled rows."""
        return all(all_finite(part) for part in self.parts)

    @property
    def rows(self) -> Array:
        """The rows, (m, d)."""
        if len(self.parts) == 1:
            return self.parts[0]
        if is_sparse(self.parts[0]):
            import scipy.sparse

            return scipy.sparse.vstack(self.parts, format="csr")
        return xp_of(self.parts[0]).concat(list(self.parts), axis=0)


def evenly_spread(n: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """Sample m of n rows, one from each of m equal blocks, (n,) bool."""
    borders = np.arange(m + 1) * n // m
    keep = np.zeros(n, dtype=bool)
    keep[rng.integers(borders[:-1], borders[1:])] = True
    return keep


def count_rows(rows: Rows, run: Run) -> int:
    """Return the number of rows, by one pass over them where it is not known."""
    return rows.n if rows.n is not None else run.fold(rows, ColumnMoments.of, name="counting rows").rows
