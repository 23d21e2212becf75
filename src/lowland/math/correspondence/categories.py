"""Tables of categories: their levels as codes, the Burt table of all pairs of columns, and coordinates of rows.

For the indicators Z of n rows (one column per level, rows summing to the number of answers), correspondence analysis
needs only the K x K matrix Z' D⁻¹ Z, with the row sums in D. It merges over slabs; the n x K matrix is never formed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy
from lowland.errors import DataError
from lowland.math.statistics.moments import Moments, Sums

PASSIVE, UNKNOWN = -1, -2  # codes of a missing (or infinite) value that is left out, and of one that is no level


@dataclass(frozen=True)
class LevelSets:
    """The distinct values of some columns of numbers."""

    values: tuple[np.ndarray, ...]  # sorted, without NaN
    missing: bool  # whether there are missing values

    def __add__(self, other: Self) -> Self:
        pairs = zip(self.values, other.values, strict=True)
        return type(self)(tuple(np.union1d(a, b) for a, b in pairs), self.missing or other.missing)

    def is_finite(self) -> bool:
        """Whether infinity is absent; missing values are reported by ``missing``."""
        return all(bool(np.isfinite(values).all()) for values in self.values)


def level_sets(columns: Sequence[int], X: Array) -> LevelSets:
    """Return the distinct values of some columns of a slab."""
    found = [np.unique(to_numpy(X[:, j]).astype(np.float64)) for j in columns]
    missing = any(bool(values.size and np.isnan(values[-1])) for values in found)
    return LevelSets(tuple(values[~np.isnan(values)] for values in found), missing)


@dataclass(frozen=True)
class Coding:
    """The levels of some columns as numbers, in the order of their codes, which count through all columns."""

    columns: Sequence[int]  # of the table
    keys: Sequence[np.ndarray]  # sorted values of each column; for text, its codes 0, 1, …
    missing: Sequence[bool]  # whether a further level of a column stands for missing values

    @cached_property
    def sizes(self) -> list[int]:
        """The number of levels of each column."""
        return [len(keys) + extra for keys, extra in zip(self.keys, self.missing, strict=True)]

    @cached_property
    def starts(self) -> list[int]:
        """The first code of each column."""
        return [0, *np.cumsum(self.sizes).tolist()][:-1]

    @property
    def length(self) -> int:
        """The number of levels of all columns."""
        return sum(self.sizes)

    def codes(self, X: Any) -> list[np.ndarray]:
        """Return the level of each value of a slab, column by column, counted from 0 in each; PASSIVE or UNKNOWN."""
        return [self._codes_of_column(to_numpy(X[:, j]), i) for i, j in enumerate(self.columns)]

    def _codes_of_column(self, values: np.ndarray, i: int) -> np.ndarray:
        keys = self.keys[i]
        if len(keys) and keys[0] == 0 and keys[-1] == len(keys) - 1:  # 0, 1, … : the value is its code
            finite = np.nan_to_num(values, nan=-1.0)
            codes = finite.astype(np.intp)
            known = (codes >= 0) & (codes < len(keys)) & (codes == finite)
        else:
            codes = np.minimum(np.searchsorted(keys, values), max(len(keys) - 1, 0))
            known = keys[codes] == values if len(keys) else np.zeros(len(values), dtype=bool)
        if not known.all():
            codes = np.where(known, codes, UNKNOWN)
            codes[~np.isfinite(values)] = PASSIVE
            if self.missing[i]:
                codes[np.isnan(values)] = len(keys)
        return codes


# --- the Burt table ---------------------------------------------------------------------------------------------------


_MOST_CELLS = 128  # joint levels of a group of columns: the cross table of two groups fits into a cache


@dataclass(frozen=True)
class BurtTable(Sums):
    """The Burt table of rows: a row of q answers counts 1/q."""

    rows: int
    empty: int  # rows without an answer
    passive: int  # missing answers that are left out
    unknown: int  # answers that are no level
    counts: np.ndarray  # (K,) how often each level was given
    pairs: np.ndarray  # (K, K) sum of zz'/q

    def without_empty_levels(self) -> tuple[BurtTable, np.ndarray]:
        """Return the table of the levels that occur, and which these are, (K,)."""
        used = self.counts > 0
        return replace(self, counts=self.counts[used], pairs=self.pairs[np.ix_(used, used)]), used


def burt_table(coding: Coding, X: Array) -> BurtTable:
    """Return the pairs of levels in a slab, counted.

    Columns are counted in groups of few joint levels: one pass over the rows counts the pairs of joint levels of two
    groups, and sums of this table are the counts of the pairs of their levels.
    """
    codes = coding.codes(X)
    passive, unknown = (sum(int((c == kind).sum()) for c in codes) for kind in (PASSIVE, UNKNOWN))
    weights, empty, extra = None, 0, 0
    if passive or unknown:
        answers = np.sum([c >= 0 for c in codes], axis=0)
        weights, empty = 1.0 / np.maximum(answers, 1), int((answers == 0).sum())
        extra = 1  # a last level of each column, which is not counted
        codes = [np.where(c < 0, size, c) for c, size in zip(codes, coding.sizes, strict=True)]
    columns: list[list[int]] = []  # of each group
    wide = _MOST_CELLS + 1
    for i, size in enumerate(coding.sizes):
        if wide * (size + extra) > _MOST_CELLS:
            columns.append([])
            wide = 1
        columns[-1].append(i)
        wide *= size + extra
    groups = [_joint_levels(codes, coding, members, extra) for members in columns]
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


def _joint_levels(
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


# --- adjusted inertias ------------------------------------------------------------------------------------------------


def benzecri(inertias: np.ndarray, q: int) -> np.ndarray:
    """Return the inertias after Benzécri's adjustment: (q/(q-1) (λ - 1/q))² above 1/q, zero below."""
    if q < 2:
        return np.zeros_like(inertias)
    return np.where(inertias > 1 / q, (q / (q - 1) * (inertias - 1 / q)) ** 2, 0.0)


def greenacre_total(sum_of_squares: float, n_levels: int, q: int) -> float:
    """Return Greenacre's total: the mean inertia of the cross tables of two different columns.

    ``sum_of_squares`` is that of all inertias of the indicators, the total inertia of the Burt table.
    """
    return q / (q - 1) * (sum_of_squares - (n_levels - q) / q**2) if q > 1 else 0.0


# --- coordinates of rows ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class IndicatorPoints:
    """The map from a slab of categories to principal coordinates; a row without an answer lies at the centroid."""

    coding: Coding
    standard: np.ndarray  # (K, k) standard coordinates of the levels
    names: tuple[str, ...]  # of the columns, for messages
    refuse_missing: bool
    remedy: str | None  # for the error about values that are no level; None: such values are left out

    def __call__(self, X: Any) -> Array:
        """Map one slab."""
        codes = self.coding.codes(X)
        if self.remedy is not None:
            refuse_unknown(self.coding, codes, self.names, self.remedy, missing_first=self.refuse_missing)
        Z = np.zeros((X.shape[0], self.standard.shape[1]))
        answers = np.zeros(X.shape[0])
        for start, code in zip(self.coding.starts, codes, strict=True):
            given = code >= 0
            if given.all():
                Z += self.standard[start + code]
                answers += 1
                continue
            Z[given] += self.standard[start + code[given]]
            answers += given
            if self.refuse_missing:
                Z[code == PASSIVE] = np.nan  # reported by the run, with the names of the columns
        return like(Z / np.maximum(answers, 1.0)[:, None], X)


def refuse_unknown(
    coding: Coding, codes: list[np.ndarray], names: Sequence[str], remedy: str, *, missing_first: bool
) -> None:
    """Raise an error for a value that is no level; with ``missing_first``, missing values are reported before it."""
    if missing_first and any((code == PASSIVE).any() for code in codes):
        return
    for j, code in zip(coding.columns, codes, strict=True):
        unknown = int((code == UNKNOWN).sum())
        if unknown:
            raise DataError(
                f"Column {names[j]} has {unknown} value{'s' if unknown > 1 else ''} that the training data does not "
                f"have: unknown categories. {remedy}"
            )


def row_distances(coding: Coding, masses: np.ndarray, X: Any) -> np.ndarray:
    """Return the squared chi-squared distance of each row of categories to the centroid: sum of 1/(q² c) less 1."""
    codes = coding.codes(X)
    answers = sum((code >= 0).astype(np.float64) for code in codes)
    sums = np.zeros(X.shape[0])
    for start, code in zip(coding.starts, codes, strict=True):
        given = code >= 0
        sums[given] += 1.0 / masses[start + code[given]]
    return np.where(answers > 0, np.maximum(sums / np.maximum(answers, 1.0) ** 2 - 1.0, 0.0), 0.0)


# --- numbers and indicators of categories together --------------------------------------------------------------------


_BLOCK_BYTES = 2**23  # of a block of indicators


@dataclass(frozen=True)
class Expanded:
    """The map from a slab to its columns of numbers and the indicators of its categories."""

    numbers: tuple[int, ...]  # columns of numbers
    coding: Coding
    names: tuple[str, ...]  # of the columns, for messages
    refuse_missing: bool = True
    remedy: str | None = None  # for the error about values that are no level; None: such values are left out

    @property
    def width(self) -> int:
        """The number of columns of the result."""
        return len(self.numbers) + self.coding.length

    def __call__(self, X: Any) -> np.ndarray:
        """Map one slab."""
        Y = np.zeros((X.shape[0], self.width))
        for i, j in enumerate(self.numbers):
            Y[:, i] = to_numpy(X[:, j])
        rows = np.arange(X.shape[0])
        codes = self.coding.codes(X)
        if self.remedy is not None:
            refuse_unknown(self.coding, codes, self.names, self.remedy, missing_first=self.refuse_missing)
        for start, code in zip(self.coding.starts, codes, strict=True):
            given = code >= 0
            Y[rows[given], len(self.numbers) + start + code[given]] = 1.0
            if self.refuse_missing:
                Y[code == PASSIVE] = np.nan  # reported by the run, with the names of the columns
        return Y

    def blocks(self, X: Any) -> Sequence[Any]:
        """Split a slab into blocks whose indicators are small."""
        height = max(1, _BLOCK_BYTES // (8 * max(1, self.width)))
        return [X[start : min(start + height, X.shape[0]), :] for start in range(0, X.shape[0], height)]

    def moments(self, X: Any) -> Moments:
        """Return the moments of the expanded columns of a slab."""
        return reduce(add, (Moments.of(self(block)) for block in self.blocks(X) or [X]))


@dataclass(frozen=True)
class MixedPoints:
    """The map from a slab to coordinates: expanded columns, centered, divided by a scale, times the axes.

    The indicators of a category that is no level are those of the mean row.
    """

    expanded: Expanded
    mean: np.ndarray  # (K,)
    A: np.ndarray  # (K, k) axes divided by the scales

    def __call__(self, X: Any) -> Array:
        """Map one slab."""
        parts = [self._centered(block) @ self.A for block in self.expanded.blocks(X)]
        return like(np.concatenate(parts) if parts else np.empty((0, self.A.shape[1])), X)

    def _centered(self, X: Any) -> np.ndarray:
        Y = self.expanded(X) - self.mean
        coding, first = self.expanded.coding, len(self.expanded.numbers)
        for start, size, code in zip(coding.starts, coding.sizes, coding.codes(X), strict=True):
            left_out = code == UNKNOWN if self.expanded.refuse_missing else code < 0
            Y[left_out, first + start : first + start + size] = 0.0
        return Y

    def squared_norms(self, X: Any, scale: np.ndarray) -> np.ndarray:
        """Return the squared distance of each row to the centroid."""
        return np.concatenate([((self._centered(block) / scale) ** 2).sum(axis=1) for block in self.expanded.blocks(X)])
