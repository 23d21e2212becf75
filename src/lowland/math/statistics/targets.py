"""The target y: numeric or class labels, and how to tell them apart."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from lowland.arrays.precision import rounding_of
from lowland.errors import DataError, DataWarning, warn
from lowland.math.statistics.labels import classes_of
from lowland.math.statistics.rescaling import power_of_two

Kind = Literal["auto", "classes", "numbers"]

_MOST_CLASSES, _LEAST_MEMBERS = 100, 5  # integers with more distinct values, or fewer rows per value, are numeric
_FEW_CLASSES = 10  # more integer classes than this give a warning: y may be numeric


@dataclass(frozen=True)
class Target:
    """The target to predict, or to score columns by: a number or a class number per row."""

    values: np.ndarray  # (n,) float64, or int64 for classes
    classes: np.ndarray | None = None  # None: numeric
    center: float = 0.0  # the original y is center + scale · values
    scale: float = 1.0

    @classmethod
    def of(cls, y: np.ndarray, kind: Kind, *, for_numbers: str = "kind 'numbers'") -> Self:
        """Return y as "numbers" or "classes"; "auto" decides by its values.

        ``for_numbers`` is the remedy in the warning: how to declare y numeric.
        """
        if kind == "classes":
            return cls.of_classes(y)
        if kind == "auto" and seems_classes(y):
            warn_of_many_classes(y, for_numbers)
            return cls.of_classes(y)
        return cls.of_numbers(y)

    @classmethod
    def of_classes(cls, y: np.ndarray) -> Self:
        """Return the class number of each row; raise an error for fractions, missing values or a single class."""
        classes, codes = classes_of(y)
        return cls(codes.astype(np.int64), classes)

    @classmethod
    def of_numbers(cls, y: np.ndarray) -> Self:
        """Return y as numbers of order one; two classes become 0 and 1."""
        if not _is_numeric(y):
            classes, codes = classes_of(y)
            if len(classes) > 2:
                raise DataError(
                    f"`y` contains {len(classes)} classes, but a numeric target is required here. Choose an option "
                    "for class labels, or encode `y` as ordered numbers."
                )
            return cls(codes.astype(np.float64))
        values = _finite(y)
        if values.min() == values.max():
            raise DataError(
                "`y` is constant, so no column can predict it. Pass a `y` with at least two distinct values."
            )
        unit = float(power_of_two(np.abs(values).max()))  # so that no square overflows or underflows
        return cls(values / unit, scale=unit)

    @property
    def n_classes(self) -> int | None:
        """Number of classes; None for a numeric target."""
        return None if self.classes is None else len(self.classes)

    def among(self, kept: np.ndarray) -> Self:
        """Return the target of some rows, (n,) bool, with the classes that occur there."""
        values = self.values[kept]
        if self.classes is None:
            return replace(self, values=values)
        present, codes = np.unique(values, return_inverse=True)
        return replace(self, values=codes.astype(np.int64), classes=self.classes[present])

    def standardized(self) -> Self:
        """Return a numeric target standardized; class labels unchanged."""
        if self.classes is not None:
            return self
        center = float(self.values.mean())
        values = self.values - center
        scale = float(np.sqrt(values @ values / len(values)))
        if scale <= rounding_of(np.float64) * abs(center):
            raise DataError(
                "`y` is constant, so no column can predict it. Pass a `y` with at least two distinct values."
            )
        return replace(self, values=values / scale, center=center * self.scale + self.center, scale=scale * self.scale)

    @property
    def own(self) -> np.ndarray:
        """The original y: labels, or numbers in their original unit."""
        return self.values * self.scale + self.center if self.classes is None else self.classes[self.values]


def seems_classes(y: np.ndarray) -> bool:
    """Whether y is treated as class labels: strings, booleans, two distinct numbers, or few distinct integers.

    Few means at most 100 distinct integers with five rows each on average.
    """
    if not _is_numeric(y) or y.dtype.kind == "b":
        return True
    values = _finite(y)
    if (values != np.floor(values)).any():
        return False
    kinds = len(np.unique(values))
    return kinds <= 2 or (kinds <= _MOST_CLASSES and kinds * _LEAST_MEMBERS <= len(values))


def warn_of_many_classes(y: np.ndarray, for_numbers: str) -> None:
    """Warn where many distinct integers are treated as class labels: y may be numeric."""
    if _is_numeric(y) and (kinds := len(np.unique(np.asarray(y, dtype=np.float64)))) > _FEW_CLASSES:
        warn(
            f"The integers of `y` are treated as {kinds} class labels. If `y` is numeric, use {for_numbers}.",
            DataWarning,
        )


def _is_numeric(y: np.ndarray) -> bool:
    return y.dtype.kind in "biuf" or (
        y.dtype.kind == "O" and all(v is None or isinstance(v, numbers.Number) for v in y.tolist())
    )


def _finite(y: np.ndarray) -> np.ndarray:
    values = np.asarray(y, dtype=np.float64)
    if not np.isfinite(values).all():
        raise DataError("`y` contains NaN or infinity. Fill in these values, or drop those rows.")
    return values
