"""The target y: numeric or class labels, how to tell them apart, and the predicted class from scores."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.namespace import Array, device_of, is_dask, rounding_of, to_numpy, xp_of
from lowland.data.open import as_vector
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.math.statistics.rescaling import power_of_two


def shown(label: Any) -> str:
    """Return a label as Python source."""
    return repr(label.item() if hasattr(label, "item") else label)


def classes_of(y: np.ndarray, least: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted distinct labels, and the class number of each row."""
    if y.dtype.kind not in "biufUO":
        raise DataError(f"The class labels have dtype {y.dtype}. Pass integers or strings.")
    y = unboxed(y)
    missing = int(missing_labels(y).sum())
    if missing:
        raise DataError(
            f"`y` contains NaN or missing values: {missing} row{'s' * (missing != 1)} without a label. Label "
            "every row, or drop those rows."
        )
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise DataError("`y` contains infinity or a value too large. Label every row, or drop those rows.")
    if y.dtype.kind == "f" and np.any(y != np.floor(y)):
        raise DataError(
            "Unknown label type: continuous. `y` contains fractions, but class labels must be integers or strings."
        )
    if len(y) == 0:
        raise DataError("There are no labels. Check the data.")
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise DataError(f"The class labels mix types and cannot be sorted: {error}. Convert all to strings.") from error
    if len(classes) < least:
        raise DataError(
            f"All rows have the label {shown(classes[0])}. The number of classes has to be greater than one; got 1 "
            "class. Pass rows of at least two classes."
        )
    return classes, codes


def unboxed(y: np.ndarray) -> np.ndarray:
    """Return the labels; numbers in an object array become a numeric array."""
    boxed = y.dtype.kind == "O" and all(isinstance(value, numbers.Number) for value in y)
    return np.array(y.tolist()) if boxed else y


def missing_labels(y: np.ndarray) -> np.ndarray:
    """Return a mask of the rows without a label, (n,) bool: NaN, None, or the missing values of pandas and polars."""
    if y.dtype.kind == "f":
        return np.isnan(y)
    if y.dtype.kind != "O":
        return np.zeros(len(y), dtype=bool)
    return np.array([v is None or type(v).__name__ in ("NAType", "NaTType") or v != v for v in y], dtype=bool)


def merged_classes(known: np.ndarray | None, labels: np.ndarray, named: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return all classes so far, sorted, and the class number of each row.

    All classes are those known before and those in ``named``; without ``named``, those in ``labels``.
    """
    met, codes = classes_of(labels, least=1)
    new = met if named is None else classes_of(as_vector(named, None, "classes"), least=1)[0]
    for other in (new, known):
        if other is not None and _is_text(other) != _is_text(met):
            kinds = ["strings" if _is_text(labels) else "numbers" for labels in (met, other)]
            raise DataError(
                f"The labels of these rows are {kinds[0]}, but earlier labels or classes are {kinds[1]}. Use one type."
            )
    found = new if known is None else np.union1d(known, new)
    strangers = np.setdiff1d(met, found)
    if len(strangers):
        raise DataError(
            f"`y` contains the label {shown(strangers[0])}, which is not in classes: {', '.join(map(shown, found))}. "
            "List all classes in the first call of partial_fit."
        )
    return found, np.searchsorted(found, met)[codes]


def _is_text(labels: np.ndarray) -> bool:
    return labels.dtype.kind in "UO"


def check_class_counts(classes: np.ndarray, n: np.ndarray) -> None:
    """Raise an error where the within-class variance cannot be estimated; n are the class counts."""
    C = len(classes)
    if C < 2:
        raise DataError(f"All rows so far have the label {shown(classes[0])}. Add rows of another class first.")
    if (n == 0).any():
        raise DataError(f"There is no row of class {shown(classes[n == 0][0])} yet. Add rows of each class.")
    if n.sum() <= C:
        raise DataError(
            f"There are {n.sum():g} rows in {C} classes. The number of samples must be more than the number of "
            "classes: with one row per class, the within-class variance is not defined. Add rows."
        )
    if (n == 1).any():
        warn(
            f"The class {shown(classes[n == 1][0])} has only one member. Its variance is estimated from the other "
            "classes. Add rows of this class.",
            DataWarning,
        )


def normalized_priors(priors: Any, classes: int) -> np.ndarray:
    """Return the given priors, normalized to sum to one."""
    given = np.asarray(priors, dtype=np.float64)
    if given.shape != (classes,):
        raise ParameterError(
            f"priors has shape {given.shape}, but there are {classes} classes. Pass one number per class."
        )
    if not np.all(np.isfinite(given)) or np.any(given < 0) or not given.sum() > 0:
        raise ParameterError("priors must be non-negative, and above zero for at least one class.")
    if abs(given.sum() - 1) > 1e-5:
        warn("The priors do not sum to 1. Renormalizing", UserWarning)
    return given / given.sum()


@dataclass(frozen=True)
class MostProbableClass:
    """The class number with the largest score."""

    scores: Callable[[Array], Array]  # (m, C), or (m, 1) for the second of two classes

    def __call__(self, X: Array) -> Array:
        """Return the result of one chunk."""
        s = self.scores(X)
        xp = xp_of(s)
        best = s[:, 0] > 0 if s.shape[1] == 1 else xp.argmax(s, axis=1)
        finite = xp.all(xp.isfinite(s), axis=1)  # NaN must stay NaN, to be reported
        return xp.where(finite, xp.astype(best, s.dtype), xp.full_like(s[:, 0], xp.nan))[:, None]


@dataclass(frozen=True)
class ClassLabels:
    """Class numbers to class labels: lazily for Dask, as tensors where labels are numbers, else in numpy."""

    classes: np.ndarray

    def __call__(self, codes: Array) -> Any:
        """Return the labels of one vector."""
        if is_dask(codes):
            return codes.map_blocks(ClassLabels(self.classes), dtype=self.classes.dtype)
        if isinstance(codes, np.ndarray) or self.classes.dtype.kind not in "iufb":
            return self.classes[to_numpy(codes).astype(np.int64)]
        xp = xp_of(codes)
        whole = self.classes.dtype.kind in "iu"  # not every library has every unsigned type
        labels = xp.asarray(self.classes.astype(np.int64) if whole else self.classes, device=device_of(codes))
        return xp.take(labels, xp.astype(codes, xp.int64), axis=0)


@dataclass(frozen=True)
class ClassProbabilities:
    """Softmax of the scores: exp(score), divided by the sum over the classes."""

    scores: Callable[[Array], Array]  # (m, C), or (m, 1) for the second of two classes
    logs: bool = False

    def __call__(self, X: Array) -> Array:
        """Return the result of one chunk."""
        s = self.scores(X)
        xp = xp_of(s)
        if s.shape[1] == 1:
            s = xp.concat([xp.zeros_like(s), s], axis=1)
        s = s - xp.max(s, axis=1)[:, None]
        total = xp.sum(xp.exp(s), axis=1)[:, None]
        return s - xp.log(total) if self.logs else xp.exp(s) / total


# --- the target, numeric or class labels ------------------------------------------------------------------------------


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
        values = _finite_numbers(y)
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
    values = _finite_numbers(y)
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


def _finite_numbers(y: np.ndarray) -> np.ndarray:
    values = np.asarray(y, dtype=np.float64)
    if not np.isfinite(values).all():
        raise DataError("`y` contains NaN or infinity. Fill in these values, or drop those rows.")
    return values
