"""The Burt table: all cross tables of pairs of columns of categories, and the principal inertias of their indicators.

For the indicators Z of n rows (one column per level, rows summing to the number of answers), correspondence analysis
needs only the K x K matrix Z' D⁻¹ Z, with the row sums in D. It merges over slabs; the n x K matrix is never formed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from lowland.arrays.namespace import Array
from lowland.math.correspondence.coding import PASSIVE, UNKNOWN, Coding

_MOST_CELLS = 128  # joint levels of a group of columns: the cross table of two groups fits into a cache


@dataclass(frozen=True)
class BurtTable:
    """The Burt table of rows: a row of q answers counts 1/q."""

    rows: int
    empty: int  # rows without an answer
    passive: int  # missing answers that are left out
    unknown: int  # answers that are no level
    counts: np.ndarray  # (K,) how often each level was given
    pairs: np.ndarray  # (K, K) sum of zz'/q

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        return type(self)(
            self.rows + other.rows,
            self.empty + other.empty,
            self.passive + other.passive,
            self.unknown + other.unknown,
            self.counts + other.counts,
            self.pairs + other.pairs,
        )

    def is_finite(self) -> bool:
        """Whether the counts are valid: always, since a value that is not finite has no level."""
        return True

    def without_empty_levels(self) -> tuple[BurtTable, np.ndarray]:
        """Return the table of the levels that occur, and which these are, (K,)."""
        used = self.counts > 0
        return replace(self, counts=self.counts[used], pairs=self.pairs[np.ix_(used, used)]), used


@dataclass(frozen=True)
class BurtTableOf:
    """Counts the pairs of levels in a slab.

    Columns are counted in small groups: one pass over the rows counts the pairs of joint levels of two groups, and sums
    of this table are the counts of the pairs of their levels.
    """

    coding: Coding

    def __call__(self, X: Array) -> BurtTable:
        """Return the table of one slab."""
        coding = self.coding
        codes = coding.codes(X)
        passive, unknown = (sum(int((c == kind).sum()) for c in codes) for kind in (PASSIVE, UNKNOWN))
        weights, empty, extra = None, 0, 0
        if passive or unknown:
            answers = np.sum([c >= 0 for c in codes], axis=0)
            weights, empty = 1.0 / np.maximum(answers, 1), int((answers == 0).sum())
            extra = 1  # a last level of each column, which is not counted
            codes = [np.where(c < 0, size, c) for c, size in zip(codes, coding.sizes, strict=True)]
        groups = [_joint(codes, coding, members, extra) for members in _groups([s + extra for s in coding.sizes])]
        counts, pairs = np.zeros(coding.length), np.zeros((coding.length, coding.length))
        for g, (levels, cells, joint) in enumerate(groups):
            counts[levels] = np.bincount(joint, minlength=len(cells)) @ cells
            weighted = np.bincount(joint, weights, len(cells))
            pairs[np.ix_(levels, levels)] = (cells.T * weighted) @ cells
            for others, other_cells, other in groups[g + 1 :]:
                table = np.bincount(joint * len(other_cells) + other, weights, len(cells) * len(other_cells))
                crossed = cells.T @ table.reshape(len(cells), -1) @ other_cells
                pairs[np.ix_(levels, others)] = crossed
                pairs[np.ix_(others, levels)] = crossed.T
        if weights is None:
            pairs /= max(len(codes), 1)
        return BurtTable(X.shape[0], empty, passive, unknown, counts, pairs)


def _groups(sizes: list[int]) -> list[list[int]]:
    """Columns in groups of few joint levels."""
    groups: list[list[int]] = []
    cells = _MOST_CELLS + 1
    for i, size in enumerate(sizes):
        if cells * size > _MOST_CELLS:
            groups.append([])
            cells = 1
        groups[-1].append(i)
        cells *= size
    return groups


def _joint(
    codes: list[np.ndarray], coding: Coding, members: list[int], extra: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The levels of some columns; which of them each joint level has, (m, levels); the joint level of each row."""
    shape = [coding.sizes[i] + extra for i in members]
    joint = codes[members[0]]
    for i, size in zip(members[1:], shape[1:], strict=True):
        joint = joint * size + codes[i]
    at = np.indices(shape).reshape(len(members), -1)  # the level of each column in each joint level
    cells = [at[a][:, None] == np.arange(coding.sizes[i]) for a, i in enumerate(members)]
    levels = [coding.starts[i] + np.arange(coding.sizes[i]) for i in members]
    return np.concatenate(levels), np.concatenate(cells, axis=1).astype(np.float64), joint


def standardized(table: BurtTable) -> tuple[np.ndarray, np.ndarray]:
    """Return the masses of the levels, (K,), and S'S for the standardized residuals S of the indicators, (K, K)."""
    total = table.counts.sum()
    masses = table.counts / total
    root = np.sqrt(masses)
    return masses, table.pairs / total / np.outer(root, root) - np.outer(root, root)
