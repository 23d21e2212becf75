"""The table of a study: opened once, its labels sorted out, its columns standardised where that was asked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import is_array, to_numpy
from lowland.blocks.statistics.sampling import evenly_spread
from lowland.data.open import as_vector, is_frame, open_rows, read_column
from lowland.errors import DataError, ParameterError
from lowland.run.run import run_for
from lowland.study.result import Table
from lowland.study.trials.cache import fingerprint, key_of

SHOWN = 100_000  # rows that are drawn at most
COLOURS = 32  # columns whose values are kept to colour by
UNEVEN = 10.0  # deviations that differ by more are evened out by scale="auto"
LEAST_ROWS = 10

Scale = Literal["none", "standard", "auto"]


@dataclass(frozen=True, eq=False)
class StudyTable:
    """The table, opened once."""

    X: np.ndarray  # (n, d) as the methods see it
    codes: np.ndarray | None  # (n,) numbers of classes
    classes: np.ndarray | None  # (c,) texts, what these are called
    no_classes: str | None  # why labels that were given are none
    labels: np.ndarray | None  # (n,) as they are told: texts, or floats
    names: tuple[str, ...]
    source: str
    label_name: str | None
    fingerprint: str  # of X and the labels
    original: np.ndarray  # (n, d) as it came
    scaled: bool
    named: bool  # whether the names of the columns are the user's

    def shown(self, seed: int) -> np.ndarray:
        """The rows that are drawn, (m,)."""
        n = len(self.X)
        return np.arange(n) if n <= SHOWN else np.flatnonzero(evenly_spread(n, SHOWN, np.random.default_rng(seed)))

    def counting(self) -> tuple[str, ...]:
        """Names of the columns that only count the rows: whole numbers, each larger than the last by the same step."""
        steps = np.diff(self.original[: 2 * LEAST_ROWS].astype(np.float64), axis=0)
        likely = np.flatnonzero((steps[0] != 0) & (steps == steps[0]).all(axis=0) & (self.original[0] % 1 == 0))
        found = [j for j in likely if (np.diff(self.original[:, j].astype(np.float64)) == steps[0, j]).all()]
        return tuple(self.names[j] for j in found)

    def drawn(self, seed: int) -> Table:
        """As much of the table as a report needs."""
        shown, d = self.shown(seed), self.X.shape[1]
        columns = np.arange(d)
        if d > COLOURS:  # those that vary most
            columns = np.sort(np.argsort(-self.original.std(axis=0), kind="stable")[:COLOURS])
        most = np.finfo(np.float32).max
        values = np.ascontiguousarray(self.original[np.ix_(shown, columns)].clip(-most, most), dtype=np.float32)
        names = tuple(self.names[j] for j in columns)
        labels = None if self.labels is None else self.labels[shown]
        return Table(
            self.source,
            len(self.X),
            d,
            self.fingerprint,
            shown.astype(np.int64),
            names,
            values,
            self.label_name,
            labels,
            self.scaled,
        )


def open_table(X: Any, y: Any, scale: Scale, k: int, drop: Sequence[str] = ()) -> StudyTable:
    """Open rows and labels, read every value once for the fingerprint, and scale the columns."""
    label_name = y if isinstance(y, str) else getattr(y, "name", None)
    if isinstance(y, str):
        if not (is_frame(X) or isinstance(X, str | os.PathLike)):
            raise DataError(
                f"y={y!r} names a column, and X is a {type(X).__name__} without named columns. Pass a frame or the "
                "path of a file, or give the labels themselves, one a row."
            )
        rows, labels = open_rows(X, drop=list(dict.fromkeys((*drop, y)))), read_column(X, y)
    else:
        rows, labels = open_rows(X, drop=drop), y
    if rows.is_sparse:
        raise DataError("Sparse rows are not compared by a study. Reduce them first, as with TruncatedSVD(50).")
    table = np.ascontiguousarray(to_numpy(run_for(rows).to_array(rows, "A study")))
    n, d = table.shape
    if n < LEAST_ROWS or d < 2:
        raise DataError(f"A study needs at least {LEAST_ROWS} rows and 2 columns, and there are {n} and {d}.")
    if k > d:
        raise ParameterError(f"compare(k={k}): the data has {d} columns. Choose at most {d}.")
    told, codes, classes, why = _labels(labels, n)
    step = max(1, 2**22 // d)
    marks = [fingerprint(table[i : i + step] for i in range(0, n, step))]
    marks += [] if told is None else [fingerprint([np.asarray(told)])]
    marks += [] if codes is None else [fingerprint([codes])]  # 2 comes before 10, and "10" before "2"
    scaled = scale == "standard" or (scale == "auto" and unevenness(table) > UNEVEN)
    seen = _standardised(table) if scaled else table
    _refuse_extremes(seen)
    names = rows.names or tuple(f"column {j}" for j in range(d))
    return StudyTable(
        seen, codes, classes, why, told, tuple(map(str, names)),
        str(rows.source).strip("'"),
        None if told is None else str(label_name or "label"), key_of({"parts": marks}), table, scaled,
        rows.names is not None,
    )  # fmt: skip


def _labels(y: Any, n: int) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None, str | None]:
    """The labels as they are told, texts or floats; the numbers of their classes; what these are called; why none.

    Fractions are numbers to colour by, not classes; nor is what more than half of the rows have to themselves.
    """
    if y is None:
        return None, None, None, None
    from lowland.blocks.statistics.labels import classes_of, unboxed

    if isinstance(y, list | tuple) and len(y) != n and all(isinstance(each, str) for each in y):
        raise DataError(
            f"y holds {len(y)} texts for {n} rows. Give one label a row; names of methods or columns are said with "
            "methods=… and drop=…."
        )
    values = unboxed(as_vector(to_numpy(y) if is_array(y) else y, n, "y"))
    if values.dtype.kind == "f" and np.any(values[np.isfinite(values)] % 1):
        return values.astype(np.float64), None, None, "the labels are numbers with fractions"
    if values[0] is not None and bool(np.all(values == values[0])):
        return values.astype(str), None, None, f"all rows have the label {values[0]}"
    classes, codes = classes_of(values)
    if 2 * len(classes) > n and n > LEAST_ROWS:  # numbers or names of rows rather than classes
        told = values.astype(np.float64 if values.dtype.kind in "iuf" else str)
        return told, None, None, f"{len(classes):,} different labels of {n:,} rows name rows rather than classes"
    texts = np.array([str(label) for label in classes])
    return texts[codes], codes.astype(np.int64), texts, None


def unevenness(X: np.ndarray) -> float:
    """Return the largest deviation of a column over the smallest; columns without any are left out."""
    top, spread = _deviations(X)
    spread = (top * spread)[spread > 0]
    return float(spread.max() / spread.min()) if len(spread) else 1.0


def _deviations(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest size of each column, (d,) in float64, and its deviation in this unit, whose square is a number.

    The deviation is 0 where all values are the same, whatever their mean is rounded to.
    """
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    top = np.maximum(np.abs(low), np.abs(high))
    top[top == 0] = 1.0
    return top, np.where(low == high, 0.0, (X / top).std(axis=0))


def _standardised(X: np.ndarray) -> np.ndarray:
    top, spread = _deviations(X)
    U = X / top
    return np.ascontiguousarray((U - U.mean(axis=0)) / np.where(spread > 0, spread, 1.0), dtype=X.dtype)


def _refuse_extremes(X: np.ndarray) -> None:
    """Refuse units in which squares are no numbers any more."""
    least, most = (1e-15, 1e15) if X.dtype == np.float32 else (1e-120, 1e120)
    top = float(max(abs(X.min()), abs(X.max())))
    if top and not least < top < most:
        raise DataError(
            f"The largest value is {top:.1g}: its square is no number in {X.dtype}. Choose another unit, or give "
            "each column the deviation 1: scale='standard'."
        )
