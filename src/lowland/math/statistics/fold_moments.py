"""Moments of columns and a target by groups of rows: one pass serves every training set made of these groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Self

import numpy as np

from lowland.arrays.namespace import Array, device_of, like, to_numpy, xp_of
from lowland.errors import ParameterError
from lowland.math.statistics.moments import Moments

Folds = Sequence[tuple[np.ndarray, np.ndarray]]  # row numbers of the training set and of the test set

MOST_GROUPS = 64  # with more groups than this, the rows are kept instead of their sums


@dataclass(frozen=True)
class GroupMoments:
    """The moments of the columns and, last, of the target, for every group of the rows."""

    groups: tuple[Moments | None, ...]  # None: no row of that group so far

    def __add__(self, other: Self) -> Self:
        pairs = zip(self.groups, other.groups, strict=True)
        return type(self)(tuple(b if a is None else a if b is None else a + b for a, b in pairs))

    def is_finite(self) -> bool:
        """Whether NaN, infinity or an overflow is absent."""
        return all(group is None or group.is_finite() for group in self.groups)

    def of(self, chosen: np.ndarray) -> Moments:
        """Return the moments of some groups together, in numpy."""
        met = [self.groups[p] for p in chosen]
        total = reduce(add, (group for group in met if group is not None))
        return Moments(total.n, total.rows, to_numpy(total.mean), to_numpy(total.scatter), total.rounding)


def moments_by_group(X: Array, y: np.ndarray, group: np.ndarray, groups: int) -> GroupMoments:
    """Return the moments of a chunk; y should be standardized, since it is converted to the precision of X."""
    xp = xp_of(X)
    table = xp.concat([X, like(y, X)[:, None]], axis=1)  # (m, d + 1)
    found: list[Moments | None] = [None] * groups
    for p in np.unique(group):
        rows = np.flatnonzero(group == p)
        mine = table if len(rows) == len(group) else xp.take(table, xp.asarray(rows, device=device_of(X)), axis=0)
        found[p] = Moments.of(mine)
    return GroupMoments(tuple(found))


@dataclass(frozen=True)
class Layout:
    """The group of each row, and the groups of the two sets of every split."""

    group: np.ndarray  # (n,)
    groups: int
    splits: list[tuple[np.ndarray, np.ndarray]]  # groups to train and to test on, or two halves

    @classmethod
    def of_folds(cls, folds: Folds, n: int) -> Self:
        """Group rows that are always in the same set into one group: without overlap, one group per fold."""
        group, signs = np.zeros(n, dtype=np.int64), np.zeros((1, 0), dtype=np.int8)  # (groups, folds so far)
        for first, second in folds:
            if np.bincount(np.concatenate([first, second]), minlength=n).max() > 1:
                raise ParameterError(
                    "`cv`: a fold contains a row twice, in its training rows, in its test rows, or in both. Use each "
                    "row at most once per fold: repeated rows are not supported, and held-out rows must not be "
                    "trained on."
                )
            mark = np.zeros(n, dtype=np.int64)  # 0: in neither, 1: in the first, 2: in the second
            mark[first], mark[second] = 1, 2
            code = 3 * group + mark
            met = np.flatnonzero(np.bincount(code, minlength=3 * len(signs)))
            place = np.zeros(3 * len(signs), dtype=np.int64)
            place[met] = np.arange(len(met))
            group, signs = place[code], np.column_stack([signs[met // 3], (met % 3).astype(np.int8)])
        return cls(group, len(signs), [(np.flatnonzero(s == 1), np.flatnonzero(s == 2)) for s in signs.T])

    @classmethod
    def of_halves(cls, n: int, pairs: int, groups: int, random: np.random.Generator) -> Self:
        """Split the rows into groups at random; each pair of halves is a random half of the groups, and the rest.

        Every half is then as likely as any other of its size, as the error bound requires.
        """
        groups = min(groups, n)
        group, half = random.permutation(n) % groups, groups // 2
        drawn = [random.permutation(groups) for _ in range(pairs)]
        return cls(group, groups, [(np.sort(order[:half]), np.sort(order[half : 2 * half])) for order in drawn])

    def rows(self, groups: np.ndarray) -> np.ndarray:
        """Return the rows of some groups."""
        chosen = np.zeros(self.groups, dtype=bool)
        chosen[groups] = True
        return np.flatnonzero(chosen[self.group])
