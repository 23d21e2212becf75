"""Coordinates of rows of categories: means of the standard coordinates of their levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, like
from lowland.blocks.correspondence.coding import PASSIVE, UNKNOWN, Coding
from lowland.errors import DataError


@dataclass(frozen=True)
class IndicatorPoints:
    """The map from a slab of categories to principal coordinates; a row without an answer lies at the centroid."""

    coding: Coding
    standard: np.ndarray  # (K, k) standard coordinates of the levels
    names: tuple[str, ...]  # of the columns, for messages
    refuse_missing: bool
    refuse_unknown: bool

    def __call__(self, X: Any) -> Array:
        """Map one slab."""
        codes = known_codes(self.coding, X, self.names, refuse_unknown=self.refuse_unknown)
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


def known_codes(coding: Coding, X: Any, names: Sequence[str], *, refuse_unknown: bool) -> list[np.ndarray]:
    """Return the codes of a slab; raise an error for a value that is no level, if these are refused."""
    codes = coding.codes(X)
    for j, code in zip(coding.columns, codes, strict=True):
        unknown = int((code == UNKNOWN).sum()) if refuse_unknown else 0
        if unknown:
            raise DataError(
                f"Column {names[j]} has {unknown} value{'s' if unknown > 1 else ''} that the training data does not "
                "have: there is no level for a new category."
            )
    return codes


def row_distances(coding: Coding, masses: np.ndarray, X: Any) -> np.ndarray:
    """Return the squared chi-squared distance of each row of categories to the centroid: sum of 1/(q² c) less 1."""
    codes = coding.codes(X)
    answers = sum((code >= 0).astype(np.float64) for code in codes)
    sums = np.zeros(X.shape[0])
    for start, code in zip(coding.starts, codes, strict=True):
        given = code >= 0
        sums[given] += 1.0 / masses[start + code[given]]
    return np.where(answers > 0, np.maximum(sums / np.maximum(answers, 1.0) ** 2 - 1.0, 0.0), 0.0)
