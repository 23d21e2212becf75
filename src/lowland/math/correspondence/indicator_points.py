"""Coordinates of rows of categories: means of the standard coordinates of their levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, like
from lowland.errors import DataError
from lowland.math.correspondence.coding import PASSIVE, UNKNOWN, Coding


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
