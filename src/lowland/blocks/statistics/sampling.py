"""Landmarks: a few rows that stand for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, xp_of
from lowland.blocks.statistics.moments import ColumnMoments
from lowland.data.rows import Rows
from lowland.run.run import Run, all_finite


@dataclass(frozen=True)
class Picked:
    """Rows picked from the slabs, in order."""

    parts: tuple[Array, ...]

    @classmethod
    def of(cls, X: Array, keep: np.ndarray | None = None) -> Self:
        """Pick the marked rows of one slab, or all."""
        if keep is None:
            return cls((X,))
        if is_sparse(X):
            return cls((X[np.flatnonzero(keep)],))
        return cls((xp_of(X).take(X, like(np.flatnonzero(keep), X, xp_of(X).int64), axis=0),))

    def __add__(self, other: Self) -> Self:
        """Lay the rows of another slab below."""
        return type(self)(self.parts + other.parts)

    def is_finite(self) -> bool:
        """Whether NaN and infinity are absent from the rows that were picked."""
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
    """Mark m of n rows, one drawn from each of m equal stretches, (n,) bool."""
    borders = np.arange(m + 1) * n // m
    keep = np.zeros(n, dtype=bool)
    keep[rng.integers(borders[:-1], borders[1:])] = True
    return keep


def count_rows(rows: Rows, run: Run) -> int:
    """Return how many rows there are, by a pass over them where nothing else tells."""
    return rows.n if rows.n is not None else run.fold(rows, ColumnMoments.of, name="counting rows").rows
