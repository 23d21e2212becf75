"""Categories as codes: the levels of each column, and the level of each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, to_numpy

PASSIVE, UNKNOWN = -1, -2  # codes of a missing (or infinite) value that is left out, and of one that is no level


@dataclass(frozen=True)
class LevelSets:
    """The distinct values of some columns of numbers."""

    values: tuple[np.ndarray, ...]  # sorted, without NaN
    missing: bool  # whether there are missing values

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        pairs = zip(self.values, other.values, strict=True)
        return type(self)(tuple(np.union1d(a, b) for a, b in pairs), self.missing or other.missing)

    def is_finite(self) -> bool:
        """Whether infinity is absent; missing values are reported by ``missing``."""
        return all(bool(np.isfinite(values).all()) for values in self.values)


@dataclass(frozen=True)
class LevelSetsOf:
    """Finds the distinct values of the named columns in a slab."""

    columns: tuple[int, ...]

    def __call__(self, X: Array) -> LevelSets:
        """Return those of one slab."""
        found = [np.unique(to_numpy(X[:, j]).astype(np.float64)) for j in self.columns]
        missing = any(bool(values.size and np.isnan(values[-1])) for values in found)
        return LevelSets(tuple(values[~np.isnan(values)] for values in found), missing)


@dataclass(frozen=True)
class Coding:
    """The levels of some columns as numbers, in the order of their codes, which count through all columns."""

    columns: tuple[int, ...]  # of the table
    keys: tuple[np.ndarray, ...]  # sorted values of each column; for text, its codes 0, 1, …
    missing: tuple[bool, ...]  # whether a further level of a column stands for missing values

    @classmethod
    def of(cls, columns: Sequence[int], keys: Sequence[np.ndarray], missing: Sequence[bool]) -> Self:
        """Return the coding of columns with these levels."""
        return cls(tuple(columns), tuple(keys), tuple(missing))

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
        return [self._codes(to_numpy(X[:, j]), i) for i, j in enumerate(self.columns)]

    def _codes(self, values: np.ndarray, i: int) -> np.ndarray:
        keys = self.keys[i]
        counted = len(keys) > 0 and keys[0] == 0 and keys[-1] == len(keys) - 1  # 0, 1, … : the value is its code
        finite = np.nan_to_num(values, nan=-1.0) if counted else values
        if counted:
            codes = finite.astype(np.intp)
            known = (codes >= 0) & (codes < len(keys)) & (codes == finite)
        else:
            codes = np.minimum(np.searchsorted(keys, finite), max(len(keys) - 1, 0))
            known = keys[codes] == finite if len(keys) else np.zeros(len(values), dtype=bool)
        if not known.all():
            codes = np.where(known, codes, UNKNOWN)
            codes[~np.isfinite(values)] = PASSIVE
            if self.missing[i]:
                codes[np.isnan(values)] = len(keys)
        return codes
