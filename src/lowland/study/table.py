"""The table of a study: opened once, with class labels, and with standardized columns if requested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import is_array, to_numpy
from lowland.blocks.statistics.sampling import evenly_spread
from lowland.data.open import as_vector, open_labelled
from lowland.errors import DataError, ParameterError
from lowland.run.run import run_for
from lowland.study.result import Table
from lowland.study.trials.cache import fingerprint, key_of

MAX_SHOWN = 100_000  # the most rows that are plotted
MAX_COLORS = 32  # the most columns kept to color by
MAX_RATIO = 10.0  # of standard deviations: above it, scale="auto" standardizes the columns
MIN_ROWS = 10

Scale = Literal["none", "standard", "auto"]


@dataclass(frozen=True, eq=False)
class StudyTable:
    """The table, opened once."""

    X: np.ndarray  # (n, d) the training data
    codes: np.ndarray | None  # (n,) class codes
    classes: np.ndarray | None  # (c,) strings, the names of the classes
    why_no_classes: str | None  # why the labels are not classes, as a clause
    labels: np.ndarray | None  # (n,) as shown: strings or floats
    names: tuple[str, ...]
    source: str
    label_name: str | None
    fingerprint: str  # of X and the labels
    original: np.ndarray  # (n, d) before standardization
    scaled: bool
    named: bool  # whether the column names are the user's

    def shown(self, seed: int) -> np.ndarray:
        """Indices of the rows that are plotted, (m,)."""
        n = len(self.X)
        if n <= MAX_SHOWN:
            return np.arange(n)
        return np.flatnonzero(evenly_spread(n, MAX_SHOWN, np.random.default_rng(seed)))

    def row_counters(self) -> tuple[str, ...]:
        """Names of the columns that only count the rows: integers in equal steps."""
        steps = np.diff(self.original[: 2 * MIN_ROWS].astype(np.float64), axis=0)
        likely = np.flatnonzero((steps[0] != 0) & (steps == steps[0]).all(axis=0) & (self.original[0] % 1 == 0))
        found = [j for j in likely if (np.diff(self.original[:, j].astype(np.float64)) == steps[0, j]).all()]
        return tuple(self.names[j] for j in found)

    def drawn(self, seed: int) -> Table:
        """The part of the table that a report needs."""
        shown, d = self.shown(seed), self.X.shape[1]
        columns = np.arange(d)
        if d > MAX_COLORS:  # those with the largest standard deviations
            columns = np.sort(np.argsort(-self.original.std(axis=0), kind="stable")[:MAX_COLORS])
        most = np.finfo(np.float32).max
        values = np.ascontiguousarray(self.original[np.ix_(shown, columns)].clip(-most, most), dtype=np.float32)
        names = tuple(self.names[j] for j in columns)
        labels = None if self.labels is None else self.labels[shown]
        return Table(
            self.source, len(self.X), d, self.fingerprint, shown.astype(np.int64), names, values, self.label_name,
            labels, self.scaled,
        )  # fmt: skip


def open_table(X: Any, y: Any, scale: Scale, k: int, drop: Sequence[str] = ()) -> StudyTable:
    """Open rows and labels, compute the fingerprint of all values, and standardize the columns if requested."""
    rows, given, label_name = open_labelled(X, y, drop=drop)
    if rows.is_sparse:
        raise DataError("compare does not accept sparse data. Reduce it first, for example with TruncatedSVD(50).")
    table = np.ascontiguousarray(to_numpy(run_for(rows).to_array(rows, "A study")))
    n, d = table.shape
    if n < MIN_ROWS or d < 2:
        raise DataError(f"A study needs at least {MIN_ROWS} rows and 2 columns; the data has {n} and {d}.")
    if k > d:
        raise ParameterError(f"compare(k={k}): the data has {d} columns. Choose at most {d}.")
    labels, codes, classes, why = _labels(given, n)
    step = max(1, 2**22 // d)
    marks = [fingerprint(table[i : i + step] for i in range(0, n, step))]
    marks += [] if labels is None else [fingerprint([np.asarray(labels)])]
    marks += [] if codes is None else [fingerprint([codes])]  # numbers and strings sort differently
    scaled = scale == "standard" or (scale == "auto" and standard_deviation_ratio(table) > MAX_RATIO)
    X_seen = _standardized(table) if scaled else table
    _refuse_extremes(X_seen)
    names = rows.names or tuple(f"column {j}" for j in range(d))
    label_name = None if labels is None else str(label_name or getattr(y, "name", None) or "label")
    return StudyTable(
        X_seen, codes, classes, why, labels, tuple(map(str, names)), str(rows.source).strip("'"), label_name,
        key_of({"parts": marks}), table, scaled, rows.names is not None,
    )  # fmt: skip


def _labels(y: Any, n: int) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None, str | None]:
    """The labels as shown, strings or floats; class codes; names of the classes; why there are none, as a clause.

    Non-integer numbers are not classes, nor are labels with more distinct values than half of the rows. Both are kept
    to color by.
    """
    if y is None:
        return None, None, None, None
    from lowland.blocks.statistics.labels import classes_of, unboxed

    if isinstance(y, list | tuple) and len(y) != n and all(isinstance(each, str) for each in y):
        raise DataError(
            f"y has {len(y)} strings for {n} rows. Pass one label per row. Names of methods and columns belong in "
            "methods=… and drop=…."
        )
    values = unboxed(as_vector(to_numpy(y) if is_array(y) else y, n, "y"))
    if values.dtype.kind == "f" and np.any(values[np.isfinite(values)] % 1):
        return values.astype(np.float64), None, None, "the labels are non-integer numbers"
    if values[0] is not None and bool(np.all(values == values[0])):
        return values.astype(str), None, None, f"all rows have the label {values[0]}"
    classes, codes = classes_of(values)
    if 2 * len(classes) > n and n > MIN_ROWS:  # identifiers of rows rather than classes
        shown = values.astype(np.float64 if values.dtype.kind in "iuf" else str)
        return shown, None, None, f"{len(classes):,} distinct labels for {n:,} rows identify rows rather than classes"
    texts = np.array([str(label) for label in classes])
    return texts[codes], codes.astype(np.int64), texts, None


def standard_deviation_ratio(X: np.ndarray) -> float:
    """Return the ratio of the largest to the smallest standard deviation of the columns that are not constant."""
    top, spread = _standard_deviations(X)
    spread = (top * spread)[spread > 0]
    return float(spread.max() / spread.min()) if len(spread) else 1.0


def _standard_deviations(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest magnitude of each column, (d,) in float64, and its standard deviation in this unit: no overflow.

    The standard deviation of a constant column is exactly 0, even if its mean has a rounding error.
    """
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    top = np.maximum(np.abs(low), np.abs(high))
    top[top == 0] = 1.0
    return top, np.where(low == high, 0.0, (X / top).std(axis=0))


def _standardized(X: np.ndarray) -> np.ndarray:
    top, spread = _standard_deviations(X)
    U = X / top
    return np.ascontiguousarray((U - U.mean(axis=0)) / np.where(spread > 0, spread, 1.0), dtype=X.dtype)


def _refuse_extremes(X: np.ndarray) -> None:
    """Reject values whose squares overflow or underflow."""
    least, most = (1e-15, 1e15) if X.dtype == np.float32 else (1e-120, 1e120)
    top = float(max(abs(X.min()), abs(X.max())))
    if top and not least < top < most:
        raise DataError(
            f"The largest value is {top:.1g}: its square {'overflows' if top > 1 else 'underflows'} {X.dtype}. Change "
            "the unit, or standardize the columns: scale='standard'."
        )
