"""Preparing the rows in the worker: the features as numbers, as the methods are fitted to them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.stored_table import StoredTable
from lowland.errors import DataError
from lowland.explorer.workspace import open_array, read_json, write_array, write_json

MAX_RATIO = 10.0  # of standard deviations: above it, scale="auto" standardizes the columns
KINDS = {"number": "number", "integer": "number", "category": "category", "date": "date", "text": "text"}
NUMERIC = ("number", "integer")
PIXEL = re.compile(r"(pixel|px)[ _-]?\d", re.IGNORECASE)


def prepare_rows(message: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Write X.npy and what belongs to it into the folder ``rows``; return what was done, in words."""
    stored, folder = StoredTable(message["stored"]), Path(message["rows"])
    features = [(j, c) for j, c in enumerate(message["columns"]) if c["role"] == "feature"]
    if not features:
        raise DataError("No column is a feature. Choose at least two columns as features.")
    send({"event": "progress", "stage": "preparing the rows", "fraction": None})
    scaled = is_standardized(message["columns"], message["scale"])
    numbers = [stored.numbers(j) for j, _ in features]
    complete = all(values is not None and not np.isnan(values).any() for values in numbers)
    folder.mkdir(parents=True, exist_ok=True)
    report, notes = {c["name"]: "number" for _, c in features}, []
    if complete and not scaled and all(c["kind"] in (*NUMERIC, "boolean") for _, c in features):
        X, names = np.column_stack(numbers), [c["name"] for _, c in features]  # type: ignore[arg-type]
    else:
        preparer, X = _fitted(stored, features, scaled)
        names = [str(name) for name in preparer.get_feature_names_out()]
        report = dict(preparer.report_)
        from lowland.methods.model_files import save

        save(preparer, folder / "preparer.lowland")
        notes = _notes(features, scaled)
    if not np.isfinite(X).all():
        bad = names[int(np.flatnonzero(~np.isfinite(X).all(axis=0))[0])]
        raise DataError(f"Column {bad!r} contains infinite values. Drop the column, or replace the values.")
    write_array(folder / "X.npy", np.ascontiguousarray(X))
    write_json(folder / "names.json", {"names": names, "features": [j for j, _ in features], "scaled": scaled})
    return {"report": report, "notes": notes, "scaled": scaled, "n_columns": X.shape[1]}


def is_standardized(columns: list[dict[str, Any]], scale: str) -> bool:
    """Whether the columns are standardized: on request, or if their scales or kinds differ."""
    if scale != "auto":
        return scale == "standard"
    features = [c for c in columns if c["role"] == "feature"]
    if all(PIXEL.match(c["name"]) for c in features):  # images: all columns have the same unit
        return False
    if any(c["kind"] not in (*NUMERIC, "boolean") for c in features):
        return True
    spread = [c["sd"] for c in features if c["sd"]]
    return bool(spread) and max(spread) > MAX_RATIO * min(spread)


def _fitted(stored: StoredTable, features: list[tuple[int, dict[str, Any]]], scaled: bool) -> tuple[Any, np.ndarray]:
    from lowland.prepare.table_preparer import TablePreparer

    table = stored.select([j for j, _ in features])
    kinds: Any = {c["name"]: KINDS[c["kind"]] for _, c in features if c["kind"] in KINDS}
    preparer = TablePreparer(kinds=kinds, standardize=scaled, output="arrow").fit(table)
    return preparer, np.asarray(preparer.transform(table))


def _notes(features: list[tuple[int, dict[str, Any]]], scaled: bool) -> list[str]:
    gaps = [c for _, c in features if c["missing"] and c["kind"] in (*NUMERIC, "boolean")]
    notes = []
    if gaps:
        count, shown = sum(c["missing"] for c in gaps), ", ".join(repr(c["name"]) for c in gaps[:4])
        more = f" and {len(gaps) - 4} more" if len(gaps) > 4 else ""
        notes.append(f"{count:,} missing values in {shown}{more} were replaced by the median of the column.")
    if scaled:
        notes.append("The columns of numbers were standardized: mean 0, standard deviation 1.")
    return notes


class PreparedRows:
    """The prepared rows of a table, memory-mapped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.X = open_array(folder / "X.npy")
        about = read_json(folder / "names.json")
        self.names: list[str] = about["names"]
        self.features: list[int] = about["features"]
        self.scaled: bool = about["scaled"]

    def preparer(self) -> Any:
        """Return the fitted ``TablePreparer``; None: the columns are used as they are."""
        path = self.folder / "preparer.lowland"
        if not path.exists():
            return None
        from lowland.methods.model_files import load

        return load(path)
