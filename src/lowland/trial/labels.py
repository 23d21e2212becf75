"""The labels of the rows of a table: classes, numbers to predict, or only colors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import is_array, to_numpy
from lowland.data.open import as_vector
from lowland.errors import DataError
from lowland.math.statistics.labels import classes_of, missing_labels, unboxed

FEW = 10  # rows up to which labels that are all different may still be classes
MOST_NUMBERS, ROWS_PER_CLASS = 50, 5  # distinct integers with fewer rows each are numbers to predict


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of the rows: classes, or numbers, or only colors. Rows may have none."""

    shown: np.ndarray | None = None  # (n,) strings (None: missing) or floats (NaN: missing)
    codes: np.ndarray | None = None  # (n,) class codes; -1: missing
    classes: np.ndarray | None = None  # (c,) strings, the names of the classes
    targets: np.ndarray | None = None  # (n,) numbers to predict; NaN: missing
    why_no_classes: str | None = None  # a clause
    n_missing: int = 0

    @classmethod
    def read(cls, y: Any, n: int) -> Self:
        """Read one label per row; None, NaN and the empty string are missing labels.

        Non-integer numbers are numbers to predict. So are integers with more distinct values than half of the rows, or
        with more than 50 that have fewer than five rows each on average. Other labels that mostly differ identify rows:
        they are kept to color by.
        """
        if y is None:
            return cls()
        if isinstance(y, list | tuple) and len(y) != n and all(isinstance(each, str) for each in y):
            raise DataError(
                f"`y` has {len(y)} strings for {n} rows. Pass one label per row. Names of methods and columns belong "
                "in methods=… and drop=…."
            )
        given = as_vector(to_numpy(y) if is_array(y) else y, n, "y")
        missing = missing_labels(given) | np.array([isinstance(v, str) and not v.strip() for v in given.tolist()])
        if missing.all():
            return cls(why_no_classes="every label is missing", n_missing=n)
        values = unboxed(given[~missing])
        about: dict[str, Any] = {"n_missing": int(missing.sum())}
        if values.dtype.kind == "f" and np.any(values[np.isfinite(values)] % 1):
            numbers = _spread(values.astype(np.float64), missing, np.nan)
            return cls(numbers, targets=numbers, why_no_classes="the labels are non-integer numbers", **about)
        if bool(np.all(values == values[0])):
            shown = _spread(values.astype(str), missing, None)
            which = "all rows have" if not missing.any() else "all labeled rows have"
            return cls(shown, why_no_classes=f"{which} the label {values[0]}", **about)
        classes, codes = classes_of(values)
        many = (
            values.dtype.kind in "iuf" and len(classes) > MOST_NUMBERS and len(values) < ROWS_PER_CLASS * len(classes)
        )
        if (2 * len(classes) > len(values) and n > FEW) or many:
            return cls._without_classes(values, missing, len(classes), about)
        texts = np.array([str(label) for label in classes])
        every = _spread(codes.astype(np.int64), missing, -1)
        return cls(_spread(texts[codes], missing, None), every, texts, **about)

    @classmethod
    def _without_classes(cls, values: np.ndarray, missing: np.ndarray, distinct: int, about: dict[str, Any]) -> Self:
        """Labels with more distinct values than half of the rows: numbers to predict, or identifiers of rows."""
        many = f"{distinct:,} distinct labels for {len(values):,} rows"
        if values.dtype.kind not in "iuf":
            shown = _spread(values.astype(str), missing, None)
            return cls(shown, why_no_classes=f"{many} identify rows rather than classes", **about)
        numbers = _spread(values.astype(np.float64), missing, np.nan)
        if distinct == len(values) == values.max() - values.min() + 1:  # consecutive integers
            return cls(numbers, why_no_classes=f"{many} identify rows rather than classes", **about)
        return cls(numbers, targets=numbers, why_no_classes=f"the labels are numbers: {many}", **about)


def _spread(values: np.ndarray, missing: np.ndarray, fill: Any) -> np.ndarray:
    """The values at the rows that have a label, the fill value elsewhere, (n,)."""
    if not missing.any():
        return values
    out = np.full(len(missing), fill, dtype=object if fill is None else values.dtype)
    out[~missing] = values
    return out
