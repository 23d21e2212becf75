"""Moments of columns and a target by parts of the rows: one pass serves every training set made of these parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Self

import numpy as np

from lowland.arrays.namespace import Array, device_of, like, to_numpy, xp_of
from lowland.blocks.statistics.moments import Moments
from lowland.errors import ParameterError

Folds = Sequence[tuple[np.ndarray, np.ndarray]]  # row numbers of the training set and of the test set

MOST_PARTS = 64  # with more parts than this, the rows are kept instead of their sums


@dataclass(frozen=True)
class PartMoments:
    """The moments of the columns and, last, of the target, for every part of the rows."""

    parts: tuple[Moments | None, ...]  # None: no row of that part so far

    def __add__(self, other: Self) -> Self:
        """Merge part by part."""
        pairs = zip(self.parts, other.parts, strict=True)
        return type(self)(tuple(b if a is None else a if b is None else a + b for a, b in pairs))

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return all(part is None or part.is_finite() for part in self.parts)

    def of(self, chosen: np.ndarray) -> Moments:
        """Return the moments of some parts together, in numpy."""
        met = [self.parts[p] for p in chosen]
        total = reduce(add, (part for part in met if part is not None))
        return Moments(total.n, total.rows, to_numpy(total.mean), to_numpy(total.scatter), total.rounding)


@dataclass(frozen=True)
class MomentsByPart:
    """Computes the PartMoments of a chunk, its target and the part of each row; an object, to be sent to a worker."""

    parts: int

    def __call__(self, X: Array, y: np.ndarray, part: np.ndarray) -> PartMoments:
        """Return the moments of one chunk; y should be standardized, since it is converted to the precision of X."""
        xp = xp_of(X)
        table = xp.concat([X, like(y, X)[:, None]], axis=1)  # (m, d + 1)
        found: list[Moments | None] = [None] * self.parts
        for p in np.unique(part):
            rows = np.flatnonzero(part == p)
            mine = table if len(rows) == len(part) else xp.take(table, xp.asarray(rows, device=device_of(X)), axis=0)
            found[p] = Moments.of(mine)
        return PartMoments(tuple(found))


@dataclass(frozen=True)
class Layout:
    """The part of each row, and the parts of the two sets of every split."""

    part: np.ndarray  # (n,)
    parts: int
    splits: list[tuple[np.ndarray, np.ndarray]]  # parts to train and to test on, or two halves

    @classmethod
    def of_folds(cls, folds: Folds, n: int) -> Self:
        """Group rows that are always in the same set into one part: without overlap, one part per fold."""
        part, signs = np.zeros(n, dtype=np.int64), np.zeros((1, 0), dtype=np.int8)  # (parts, folds so far)
        for first, second in folds:
            if np.bincount(np.concatenate([first, second]), minlength=n).max() > 1:
                raise ParameterError(
                    "cv: a fold contains a row twice, in its training rows, in its test rows, or in both. Use each row "
                    "at most once per fold: repeated rows are not supported, and held-out rows must not be trained on."
                )
            mark = np.zeros(n, dtype=np.int64)  # 0: in neither, 1: in the first, 2: in the second
            mark[first], mark[second] = 1, 2
            code = 3 * part + mark
            met = np.flatnonzero(np.bincount(code, minlength=3 * len(signs)))
            place = np.zeros(3 * len(signs), dtype=np.int64)
            place[met] = np.arange(len(met))
            part, signs = place[code], np.column_stack([signs[met // 3], (met % 3).astype(np.int8)])
        return cls(part, len(signs), [(np.flatnonzero(s == 1), np.flatnonzero(s == 2)) for s in signs.T])

    @classmethod
    def of_halves(cls, n: int, pairs: int, parts: int, random: np.random.Generator) -> Self:
        """Split the rows into parts at random; each pair of halves is a random half of the parts, and the rest.

        Every half is then as likely as any other of its size, as the error bound requires.
        """
        parts = min(parts, n)
        part, half = random.permutation(n) % parts, parts // 2
        drawn = [random.permutation(parts) for _ in range(pairs)]
        return cls(part, parts, [(np.sort(order[:half]), np.sort(order[half : 2 * half])) for order in drawn])

    def rows(self, parts: np.ndarray) -> np.ndarray:
        """Return the rows of some parts."""
        chosen = np.zeros(self.parts, dtype=bool)
        chosen[parts] = True
        return np.flatnonzero(chosen[self.part])
