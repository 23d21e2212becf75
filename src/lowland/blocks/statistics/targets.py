"""The target beside the rows: numbers or classes, and which of the two a y holds."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.precision import rounding_of
from lowland.blocks.statistics.labels import classes_of
from lowland.blocks.statistics.rescaling import power_of_two
from lowland.errors import DataError, DataWarning, ParameterError, warn

Kind = Literal["auto", "classes", "numbers"]

_MOST_CLASSES, _LEAST_MEMBERS = 100, 5  # whole numbers of more kinds, or of fewer rows a kind, are quantities
_FEW_CLASSES = 10  # more than these are warned of, since a y of whole numbers may hold quantities
_NUMBERS, _CLASSES = ("pearson", "spearman"), ("anova", "chi2")  # what these compare with; the others take both


@dataclass(frozen=True)
class Target:
    """What columns are scored by, or a model is to predict: a number a row, or the number of each row's class."""

    values: np.ndarray  # (n,) float64, or int64 for classes
    classes: np.ndarray | None = None  # None: numbers
    center: float = 0.0  # numbers as they came are center + scale · values
    scale: float = 1.0

    @classmethod
    def of(cls, y: np.ndarray, kind: Kind) -> Self:
        """Return y as "numbers" or "classes", or as what it seems to hold for "auto"."""
        if kind == "classes":
            return cls.of_classes(y)
        if kind == "auto" and seems_classes(y):
            warn_of_many_classes(y)
            return cls.of_classes(y)
        return cls.of_numbers(y)

    @classmethod
    def of_classes(cls, y: np.ndarray) -> Self:
        """Return the number of each row's class; refuse fractions, gaps and a single class."""
        classes, codes = classes_of(y)
        return cls(codes.astype(np.int64), classes)

    @classmethod
    def of_numbers(cls, y: np.ndarray) -> Self:
        """Return y as numbers of the order of one; two classes become 0 and 1."""
        if not _is_numeric(y):
            classes, codes = classes_of(y)
            if len(classes) > 2:
                raise DataError(
                    f"y holds {len(classes)} classes, which are not numbers in any order, and numbers are wanted here. "
                    "Choose what compares classes, or encode the order of y."
                )
            return cls(codes.astype(np.float64))
        values = _finite(y)
        if values.min() == values.max():
            raise DataError("y is constant, so no column has anything to do with it. Pass a y that varies.")
        unit = float(power_of_two(np.abs(values).max()))  # so that no square is too large or too small
        return cls(values / unit, scale=unit)

    @property
    def n_classes(self) -> int | None:
        """How many classes there are; None: y holds numbers."""
        return None if self.classes is None else len(self.classes)

    def standardized(self) -> Self:
        """Return numbers as seen from their mean, in their deviation; classes as they are."""
        if self.classes is not None:
            return self
        center = float(self.values.mean())
        values = self.values - center
        scale = float(np.sqrt(values @ values / len(values)))
        if scale <= rounding_of(np.float64) * abs(center):
            raise DataError("y is constant, so no column has anything to do with it. Pass a y that varies.")
        return replace(self, values=values / scale, center=center * self.scale + self.center, scale=scale * self.scale)

    @property
    def own(self) -> np.ndarray:
        """y as it came: labels, or numbers in their own unit."""
        return self.values * self.scale + self.center if self.classes is None else self.classes[self.values]


def seems_classes(y: np.ndarray) -> bool:
    """Whether y holds classes: texts, truth values, two numbers, or whole numbers of a few kinds with many rows each.

    A few kinds are at most 100, many rows five on average.
    """
    if not _is_numeric(y) or y.dtype.kind == "b":
        return True
    values = _finite(y)
    if (values != np.floor(values)).any():
        return False
    kinds = len(np.unique(values))
    return kinds <= 2 or (kinds <= _MOST_CLASSES and kinds * _LEAST_MEMBERS <= len(values))


def warn_of_many_classes(y: np.ndarray) -> None:
    """Warn where whole numbers are taken for more classes than most y hold: they may be quantities."""
    if _is_numeric(y) and (kinds := len(np.unique(np.asarray(y, dtype=np.float64)))) > _FEW_CLASSES:
        warn(
            f"The whole numbers of y are taken for {kinds} classes. If they are quantities, choose regression, or say "
            "that y holds numbers.",
            DataWarning,
        )


def statistic_and_target(given: Any, y: np.ndarray | None, kind: Kind) -> tuple[str, Target | None]:
    """Return the name of a statistic, "auto" resolved, and y as it compares with; ``kind`` says what y holds."""
    if not isinstance(given, str):
        return f"{getattr(given, '__name__', type(given).__name__)}()", None
    if y is None or given == "variance":
        return given, None
    if given in _NUMBERS:
        return given, _numbers_for(given, y, kind)
    if given not in _CLASSES:
        target = Target.of(y, kind)
        return {"auto": "pearson" if target.n_classes is None else "anova"}.get(given, given), target
    if kind == "numbers":
        raise ParameterError(
            f"{given!r} compares classes, and y is to hold numbers. Choose 'pearson', 'spearman', "
            "'distance-correlation' or 'mutual-information' for numbers."
        )
    return given, Target.of_classes(y)


def _numbers_for(statistic: str, y: np.ndarray, kind: Kind) -> Target:
    """The target of a correlation; more than two classes have no order to follow."""
    if kind == "numbers" or (kind == "auto" and not seems_classes(y)):
        return Target.of_numbers(y)
    target = Target.of_classes(y)
    if target.n_classes != 2:
        raise DataError(
            f"{statistic!r}: y holds {target.n_classes} classes, and a correlation follows numbers or two classes. "
            "Choose 'anova' for classes; if y holds quantities, say that it holds numbers."
        )
    return Target(target.values.astype(np.float64))


def _is_numeric(y: np.ndarray) -> bool:
    return y.dtype.kind in "biuf" or (
        y.dtype.kind == "O" and all(v is None or isinstance(v, numbers.Number) for v in y.tolist())
    )


def _finite(y: np.ndarray) -> np.ndarray:
    values = np.asarray(y, dtype=np.float64)
    if not np.isfinite(values).all():
        raise DataError("Input y contains NaN or infinity. Give every row a value, or leave those rows out.")
    return values
