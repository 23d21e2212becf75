"""A table and its maps as a page draws them: arrays as bytes, everything else as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import is_sparse, to_numpy
from lowland.data.open import is_frame
from lowland.data.table import Table
from lowland.errors import DataError, ParameterError, unmarked
from lowland.math.statistics.labels import missing_labels, unboxed
from lowland.study.plan import full_coordinates
from lowland.study.report import codes_of, row_measures, sort_levels
from lowland.study.result import StudyResult, Trial

MOST_COLUMNS = 32  # columns of numbers to color by
MOST_COMPONENTS = 10  # of a map
MOST_CLASSES = 60  # distinct integers of a label that are classes; more are numbers
MOST_LEVELS = 1000  # distinct texts of a column that are categories; more are text


@dataclass(frozen=True, eq=False)
class Panels:
    """What a page needs to draw linked maps of one table, and what Python needs to return its rows."""

    table: dict[str, Any]
    maps: list[dict[str, Any]]
    columns: dict[str, np.ndarray]  # by name, (m,) values of the rows shown: ids, labels, columns
    shown: np.ndarray  # (m,) row numbers, ascending
    rows: int  # of the whole table
    source: Any = None  # the data, whose rows are returned; None: the columns

    @classmethod
    def of_study(cls, study: StudyResult, source: Any = None) -> Self:
        """Return the maps of a study, with the quality of each row where it was measured."""
        table = study.table
        columns = dict(zip(table.names, table.values.T, strict=True)) | table.kept
        advised = study.advice[0].trial if study.advice else None
        source = _in_memory(source)
        if source is not None and len(source) != table.rows:
            raise DataError(
                f"explore(maps=…): the study has {table.rows:,} rows, the data has {len(source):,}. Pass the data "
                "of the study."
            )
        tried = [trial for trial in study.trials if trial.status in ("done", "failed", "timed out")]
        measures = row_measures(study.trials)
        maps = [_trial(trial, measures, trial.name == advised) for trial in tried]
        label = None if table.labels is None else (table.label_name or "label", table.labels)
        ids = None if table.ids is None else (table.id_name or "id", table.ids)
        return cls._made(table.source, columns, label, ids, maps, np.asarray(table.shown), table.rows, source)

    @classmethod
    def of_maps(cls, X: Any, y: Any, maps: Any) -> Self:
        """Return maps that were computed elsewhere, such as {"TriMap": Z}. They are not evaluated."""
        if not isinstance(maps, Mapping) or not maps:
            raise ParameterError(
                f"explore(maps=…) is {'empty' if isinstance(maps, Mapping) else f'a {type(maps).__name__}'}. Pass a "
                "study, or a dict of names and coordinates, such as {'TriMap': Z}."
            )
        for name in maps:
            if not isinstance(name, str) or not name:
                raise ParameterError(f"explore(maps=…): the name {name!r} must be a string that is not empty.")
        drawn = {name: full_coordinates(Z, f"explore(maps=…), the coordinates {name!r}") for name, Z in maps.items()}
        n = len(next(iter(drawn.values())))
        for name, Z in drawn.items():
            if len(Z) != n:
                raise DataError(f"explore(maps=…): {name!r} has {len(Z):,} rows, {next(iter(drawn))!r} has {n:,}.")
        table = labeled_table(X, y)
        columns = _columns(table, X)
        label = None if table.label_name is None else (table.label_name, table.column(table.label_name))
        ids = None if table.id_name is None else (table.id_name, np.asarray(table.ids))
        lengths = {len(values) for values in columns.values()} | {len(each[1]) for each in (label, ids) if each}
        if (wrong := (lengths | ({table.n} if table.n is not None else set())) - {n}) != set():
            raise DataError(
                f"explore(maps=…): the maps have {n:,} rows, the data has {min(wrong):,}. Pass one row of coordinates "
                "for each row of the data, in the same order."
            )
        encoded = [_map(name, Z) for name, Z in drawn.items()]
        return cls._made(table.source, columns, label, ids, encoded, np.arange(n), n, _in_memory(X))

    @classmethod
    def _made(
        cls, name: str, columns: Mapping[str, Any], label: Any, ids: Any, maps: list[dict[str, Any]],
        shown: np.ndarray, rows: int, source: Any,
    ) -> Self:  # fmt: skip
        others = {key: values for key, values in columns.items() if label is None or key != label[0]}
        encoded = [encode_column(key, values) for key, values in others.items()]
        if label is not None:
            encoded.insert(0, encode_column(*label, is_label=True))
        sampled = len(shown) < rows
        table = {
            "n": len(shown),
            "name": str(name),
            "ids": None if ids is None else _texts(plain_column(ids[1])),
            "columns": encoded,
            "label": None if label is None else 0,
            "rowNumbers": encode(shown.astype(np.uint32)) if sampled else None,
        }
        known = dict([each for each in (ids, label) if each is not None]) | others
        return cls(table, maps, {key: np.asarray(value) for key, value in known.items()}, shown, rows, source)

    def mask_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return which of the rows shown have these numbers, (m,) bool."""
        mask = np.zeros(self.rows, dtype=bool)
        mask[numbers] = True
        return mask[self.shown]

    def rows_at(self, numbers: np.ndarray) -> Any:
        """Return the rows with these numbers: of the data, or a dict of columns if the data is not known."""
        X, numbers = self.source, np.array(numbers)  # torch warns about arrays that are read-only
        if X is None:
            at = np.searchsorted(self.shown, numbers)
            return {"row": numbers} | {name: values[at] for name, values in self.columns.items()}
        if hasattr(X, "iloc"):
            return X.iloc[numbers]
        if is_frame(X) and hasattr(X, "take"):  # of pyarrow
            return X.take(numbers)
        return np.asarray(X)[numbers] if isinstance(X, list | tuple) else X[numbers]

    def spread(self, values: Any) -> np.ndarray:
        """Return one value per row shown, from one value per row of the table or per row shown."""
        vector = np.asarray(to_numpy(values) if hasattr(values, "__dlpack__") else values)
        if vector.shape == (self.rows,):
            return vector[self.shown]
        if vector.shape != self.shown.shape:
            raise DataError(f"color: the values have the shape {vector.shape}. Pass one value per row, ({self.rows},).")
        return vector


def labeled_table(X: Any, y: Any) -> Table:
    """Return a table with its labels."""
    return X if isinstance(X, Table) and y is None else Table(X, label=y)


def _in_memory(X: Any) -> Any:
    """The data whose rows can be returned; None for files and for chunks."""
    if isinstance(X, Table):
        return _in_memory(X.given)
    return X if hasattr(X, "__getitem__") and hasattr(X, "__len__") and not isinstance(X, str | bytes) else None


# --- arrays, columns and maps ---


def encode(array: np.ndarray) -> dict[str, Any]:
    """Return an array as bytes, with its type."""
    kind = array.dtype.str[1:]
    return {"type": kind, "data": np.ascontiguousarray(array, dtype=np.dtype(kind).newbyteorder("<")).tobytes()}


def encode_column(name: str, values: Any, *, is_label: bool = False) -> dict[str, Any]:
    """Return a column: numbers, dates, categories as codes, or text."""
    values = plain_column(values)
    if values.dtype.kind == "M":
        since = values.astype("datetime64[ms]").astype(np.float64)
        return {"name": name, "kind": "date", "values": encode(np.where(np.isnat(values), np.nan, since))}
    present = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    are_classes = is_label and values.dtype.kind in "iuf" and bool(np.isfinite(present).all())
    are_classes = are_classes and not np.any(present % 1) and len(np.unique(present)) <= MOST_CLASSES
    if values.dtype.kind in "iuf" and not are_classes:
        return {"name": name, "kind": "number", "values": encode(_single(values))}
    texts = _texts(values)
    levels = sort_levels({text for text in texts if text is not None})
    if len(levels) > MOST_LEVELS and not is_label:
        return {"name": name, "kind": "text", "values": texts}
    return {"name": name, "kind": "category", "values": encode(codes_of(texts, levels)), "levels": levels}


def _single(values: np.ndarray) -> np.ndarray:
    """Numbers in single precision; those beyond its range are at its ends."""
    most = np.finfo(np.float32).max
    return values.astype(np.float64).clip(-most, most).astype(np.float32)


def plain_column(values: Any) -> np.ndarray:
    """Return a column as numbers (NaN: missing), dates, or strings (None: missing)."""
    values = np.asarray(values)
    if values.ndim == 1 and values.dtype.kind in "iufM":
        return values
    if values.ndim > 1 or any(isinstance(each, list | np.ndarray) for each in values):  # a column of lists
        lists = [each.tolist() if isinstance(each, np.ndarray) else each for each in values]
        values = np.array([None if each is None else str(each) for each in lists], dtype=object)
    missing = missing_labels(values)
    present = unboxed(values[~missing])
    if len(present) and present.dtype.kind in "iuf":
        numbers = np.full(len(values), np.nan)
        numbers[~missing] = present
        return numbers
    return np.array(
        [None if gone or not str(each) else str(each) for each, gone in zip(values.tolist(), missing, strict=True)],
        dtype=object,
    )


def _texts(values: np.ndarray) -> list[str | None]:
    """Numbers as text: 3, also if a column with missing values holds 3.0."""
    if values.dtype.kind == "f":
        return [None if each != each else f"{each:.0f}" if each % 1 == 0 else str(each) for each in values.tolist()]
    return [None if each is None else str(each) for each in values.tolist()]


def _columns(table: Table, X: Any) -> dict[str, np.ndarray]:
    """The columns of a table, by name; of many columns without names, those with the largest standard deviations."""
    kept = {name: table.column(name, missing_text=False) for name in table.kept_names}
    if table.has_names:
        return {name: table.column(name) for name in table.names} | kept
    if is_sparse(X):
        return kept
    values = to_numpy(table.rows.to_array())
    with np.errstate(invalid="ignore", over="ignore"):
        order = np.argsort(-values.std(axis=0, dtype=np.float64), kind="stable")[:MOST_COLUMNS]
    return {table.names[j]: values[:, j] for j in np.sort(order)} | kept


def _map(key: str, Z: np.ndarray | None, **more: Any) -> dict[str, Any]:
    """A map: coordinates component after component; a row without all of them is not on the map."""
    drawn: dict[str, Any] = {"key": key, "name": key, **more}
    if Z is not None and Z.shape[1]:
        whole = np.where(np.isfinite(Z).all(axis=1, keepdims=True), Z, np.nan)[:, :MOST_COMPONENTS]
        drawn |= {"coordinates": encode(_single(whole.T)), "components": whole.shape[1]}
    return drawn


def _trial(trial: Trial, measures: dict[str, dict[str, Any]], advised: bool) -> dict[str, Any]:
    trust = {}
    for name, values in trial.per_row.items():
        if name not in measures:  # classes
            continue
        low, high, better = (measures[name][key] for key in ("low", "high", "better"))
        encoded = encode(_single(np.asarray(values)))
        trust[name] = {"values": encoded, "low": low, "high": high, "better": better or "higher"}
    return _map(
        trial.name,
        trial.Z,
        name=trial.title,
        status="done" if trial.status == "done" else "failed",
        error=trial.error and unmarked(trial.error),
        trust=trust,
        axes=list(trial.axes) or None,
        scores={name: float(score.value) for name, score in trial.scores.items() if np.isfinite(score.value)},
        badge="advised" if advised else None,
    )
