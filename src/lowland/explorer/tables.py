"""Tables in the worker: read a file, prepare the rows as the methods are fitted to them, place new rows on a map."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.data.kinds import ColumnKind, TableKinds, kinds_of
from lowland.data.look import advised
from lowland.data.open import open_rows, open_table
from lowland.data.read_options import ReadOptions
from lowland.data.scales import are_counts, kinds_differ
from lowland.data.stored_table import StoredTable, stored_batches, with_names_of_rows, write_stored
from lowland.data.suspect_columns import lone_components
from lowland.data.write import atomic_write
from lowland.errors import DataError, LowlandError, listed
from lowland.explorer.folder import check_archive, most_unpacked
from lowland.explorer.workspace import open_array, read_json, write_array, write_floats, write_json
from lowland.plain import to_plain
from lowland.prepare.label_copies import COPY, label_copies

LABEL_NAMES = re.compile(
    r"^(label|labels|class|classes|target|y|species|category|group|diagnosis|type)$", re.IGNORECASE
)
MOST_CLASSES = 50
SHOWN_NAMES = 4  # of columns, in a sentence
EVERY = 0.2  # seconds between two reports


def read_table(message: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Read a file, or some rows of a stored table, into the folder of the new table; then prepare its rows."""
    folder, most = Path(message["folder"]), message["table_bytes"]
    if "path" in message:
        most = most_unpacked(Path(message["path"]), most)
    folder.mkdir(parents=True, exist_ok=True)
    send({"event": "progress", "stage": "opening", "fraction": None})
    batches, source, id_name, label, notes, image_shape = _opened(message)

    def reported() -> Iterator[Any]:
        last, n = time.monotonic(), 0
        for batch in batches:
            n += batch.num_rows
            if batch.num_columns > message["most_columns"]:
                raise DataError(
                    f"The table has {batch.num_columns:,} columns. The explorer opens at most "
                    f"{message['most_columns']:,}. Select some of them first."
                )
            if n > message["most_rows"]:
                raise DataError(
                    f"The table has more than {message['most_rows']:,} rows, the limit of the explorer. Take a sample "
                    "of the rows, or start the explorer with a larger limit."
                )
            if time.monotonic() - last > EVERY:
                last = time.monotonic()
                send({"event": "progress", "stage": f"reading rows: {n:,}", "fraction": None})
            yield batch

    write_stored(reported(), folder / "table.arrow", most)
    send({"event": "progress", "stage": "looking at the columns", "fraction": None})
    found = kinds_of(StoredTable(folder / "table.arrow").table.to_batches(), source, id_name, list(notes))
    columns = _columns(found.columns, label or _label_of(found), StoredTable(folder / "table.arrow").table)
    with atomic_write(folder / "kinds.json") as path:  # with infinite values, unlike the answers of the server
        path.write_text(json.dumps(to_plain(asdict(found), non_finite=float)), encoding="utf-8")
    if image_shape is None:  # of square gray images, if the features are named as pixels
        pixels = [c for c in columns if c["role"] in ("feature", "drop") and re.match("pixel|px", c["name"], re.I)]
        side = round(len(pixels) ** 0.5)
        image_shape = [side, side] if side >= 4 and side * side == len(pixels) else None
    kept = message.get("roles") or {}
    for column in columns:
        column["role"] = kept.get(column["name"], column["role"])
    wanted = {
        "stored": str(folder / "table.arrow"), "rows": message["rows_folder"], "columns": columns,
        "scale": message["scale"], "impute": message["impute"], "image_shape": image_shape,
    }  # fmt: skip
    try:
        prepared = prepare_rows(wanted, send)
    except LowlandError as error:  # the table can still be looked at
        prepared = {"error": str(error), "suggestions": _suggestions(folder, columns, False)}
    return to_plain({
        "rows": found.n, "columns": columns, "notes": [*map(str, found.notes)],
        "duplicates": found.duplicates, "has_images": image_shape is not None, "image_shape": image_shape,
        "prepared": prepared,
    })  # fmt: skip


def _opened(message: dict[str, Any]) -> tuple[Iterable[Any], str, str | None, str | None, Any, list[int] | None]:
    """Batches of all columns, the name of their source, the columns of row names and labels, notes, shape of images."""
    if "stored" in message:  # the selected rows of a stored table
        stored, rows = StoredTable(message["stored"]), np.load(message["selected"], allow_pickle=False)
        if not len(rows):
            raise DataError("The selection is empty. Select some rows first.")
        batches = stored_batches(stored.select(range(len(stored.names)), rows))
        return batches, repr(message["name"]), message.get("id_name"), None, (), message.get("image_shape")
    path, read = Path(message["path"]), ReadOptions(**message.get("read") or {})
    if path.is_file():
        check_archive(path, message["table_bytes"])
    table = open_table(path, read)
    shape = None if table.image_shape is None else list(table.image_shape)
    return with_names_of_rows(table), table.source, table.id_name, table.label_name, table.notes, shape


def _label_of(found: TableKinds) -> str | None:
    """The column of classes, by its name or its kind. Among counts, a number of this name counts a word."""
    by_kind = advised(found).label
    classes = (c for c in found.columns if c.distinct is not None and 2 <= c.distinct <= MOST_CLASSES)
    named = (c for c in classes if LABEL_NAMES.match(c.name.strip()))
    return next((c.name for c in named if not (by_kind and found.counts and c.sd is not None)), by_kind)


def _columns(found: Sequence[ColumnKind], label: str | None, table: Any) -> list[dict[str, Any]]:
    """The columns with their kinds, counts and the role that suits most tables."""
    unused = {c.name: c.unused for c in found if c.unused}
    if label is not None:
        others = [c.name for c in found if c.name not in unused and c.name != label]
        unused |= label_copies(table, others, _values_of(table, label))
    features = [c.name for c in found if c.name not in unused and c.name != label]
    shown = ("name", "kind", "n", "missing", "distinct", "min", "max", "mean", "sd", "zeros", "detail", "vector")
    columns, has_id = [], False
    for c in found:
        role = "feature" if c.name not in unused or (c.kind == "text" and not features) else "keep"
        role = "drop" if c.kind in ("constant", "missing") else "id" if c.kind == "id" and not has_id else role
        role = "label" if c.name == label else role
        has_id |= role == "id"
        columns.append({**{key: getattr(c, key) for key in shown}, "unused": unused.get(c.name, ""), "role": role})
    return columns


KINDS = {"number": "number", "integer": "number", "category": "category", "date": "date", "text": "text"}
NUMERIC = ("number", "integer")


def prepare_rows(message: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Write X.npy and what belongs to it into the folder ``rows``; return what was done, in words."""
    stored, folder = StoredTable(message["stored"]), Path(message["rows"])
    columns, notes = message["columns"], list[str]()
    if message.get("label_is_new"):
        columns, notes = _without_copies(columns, stored.table, message["chosen"])
    features = [(j, c) for j, c in enumerate(columns) if c["role"] == "feature"]
    if not features:
        raise DataError("No column is a feature. Choose at least two columns as features.")
    send({"event": "progress", "stage": "preparing the rows", "fraction": None})
    is_image = message.get("image_shape") is not None
    numbers = [stored.numbers(j) for j, _ in features]
    complete = all(values is not None and not np.isnan(values).any() for values in numbers)
    of = [SimpleNamespace(**c) for _, c in features]
    scaled: Any = message["scale"] == "standard" or (message["scale"] == "auto" and not is_image and kinds_differ(of))
    if message["scale"] == "auto" and complete and not is_image and are_counts(np.column_stack(numbers)):  # type: ignore[arg-type]
        scaled = "tf-idf"
    folder.mkdir(parents=True, exist_ok=True)
    report, imputed, findings = {c["name"]: "number" for _, c in features}, None, list[str]()
    if complete and not scaled and all(c["kind"] in (*NUMERIC, "boolean") for _, c in features):
        X, names = np.column_stack(numbers), [c["name"] for _, c in features]  # type: ignore[arg-type]
    else:
        from sklearn.pipeline import Pipeline

        from lowland.methods.model_files import save
        from lowland.missing_values import REPLACED_BY
        from lowland.prepare.preparation import FILLED, Prepared, replace_gaps
        from lowland.prepare.table_preparer import TablePreparer

        table = stored.select([j for j, _ in features])
        kinds: Any = {c["name"]: KINDS[c["kind"]] for _, c in features if c["kind"] in KINDS}
        names = [c["name"] for _, c in features]
        how = message["impute"]
        strategy: Any = how if how in ("mean", "median") else None
        preparer = TablePreparer(kinds=kinds, use=names, impute=strategy, standardize=scaled, output="arrow")
        found = Prepared(preparer.fit(table).open_rows(table), steps=[("prepare", preparer)], report=preparer.report_)
        found.missing_fraction = preparer.missing_fraction_
        names = [str(name) for name in preparer.get_feature_names_out()]
        gaps = {name: n for name, n in preparer.missing_.items() if n and preparer.kinds_[name] not in FILLED}
        if gaps:
            n = sum(gaps.values())
            values = "1 missing value" if n == 1 else f"{n:,} missing values"
            text = (
                f"{values} in {listed(gaps, SHOWN_NAMES)} {'was' if n == 1 else 'were'} replaced by {REPLACED_BY[how]}."
            )
            imputed = {"how": how, "values": n, "columns": len(gaps), "text": text}
            notes.append(text)
            if strategy is None:
                replace_gaps(found, how)
            findings = [found.caveat] if found.caveat else []
            notes += findings
        X, report = np.asarray(to_numpy(found.rows.to_array())), dict(found.report)
        save(Pipeline(found.steps), folder / "preparer.lowland")
        if scaled == "tf-idf":
            notes.append("The columns look like counts. They were weighted by TF-IDF, rows of unit length.")
        elif scaled:
            notes.append("The columns of numbers were standardized: mean 0, standard deviation 1.")
    if not np.isfinite(X).all():
        bad = names[int(np.flatnonzero(~np.isfinite(X).all(axis=0))[0])]
        raise DataError(f"Column {bad!r} contains infinite values. Drop the column, or replace the values.")
    write_array(folder / "X.npy", np.ascontiguousarray(X))
    write_json(
        folder / "names.json",
        {
            "names": names,
            "features": [j for j, _ in features],
            "scaled": scaled,
            "imputed": imputed,
            "chosen": [c["name"] for _, c in features if c.get("unused")],
        },
    )
    changed = {"columns": columns} if columns is not message["columns"] else {}
    findings += [] if is_image else lone_components(X, names)
    return {
        "report": report, "notes": notes, "findings": findings, "scaled": scaled, "imputed": imputed,
        "n_columns": X.shape[1], "suggestions": _suggestions(
            Path(message["stored"]).parent, columns, message["scale"] == "auto" and scaled
        ), **changed,
    }  # fmt: skip


SET_ASIDE = {"id": "the name of the row", "weight": "the weight of the row", "keep": "only shown", "drop": "ignored"}


def _suggestions(folder: Path, columns: list[dict[str, Any]], scaled: bool | str) -> list[str]:
    """What ``look`` says of the table, with the roles that its columns have now."""
    found = read_json(folder / "kinds.json")
    kinds = [ColumnKind(**each) for each in found.pop("columns")]
    for kind, column in zip(kinds, columns, strict=True):
        kind.unused = "" if column["role"] == "feature" else column["unused"] or SET_ASIDE.get(column["role"], "")
    label = next((c["name"] for c in columns if c["role"] == "label"), None)
    return list(advised(TableKinds(columns=tuple(kinds), **found), label, scaled).suggestions)


def _without_copies(
    columns: list[dict[str, Any]], table: Any, chosen: Sequence[str]
) -> tuple[list[dict[str, Any]], list[str]]:
    """The columns with another label: features that copy it are only shown, unless the person has just chosen them."""
    label = next(c["name"] for c in columns if c["role"] == "label")
    features = [c["name"] for c in columns if c["role"] == "feature" and c["name"] not in chosen]
    copies = label_copies(table, features, _values_of(table, label))
    columns = [{**c, "unused": "" if c["unused"] == COPY else c["unused"]} for c in columns]
    notes = [f"{name!r} is {why}, so it is not a feature." for name, why in copies.items()]
    return [{**c, "role": "keep", "unused": COPY} if c["name"] in copies else c for c in columns], notes


def _values_of(table: Any, name: str) -> np.ndarray:
    return np.array(table.column(name).to_pylist(), dtype=object)


class PreparedRows:
    """The prepared rows of a table, memory-mapped."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.X = open_array(folder / "X.npy")
        about = read_json(folder / "names.json")
        self.names: list[str] = about["names"]
        self.features: list[int] = about["features"]
        self.scaled: bool | str = about["scaled"]  # "tf-idf": weighted as counts
        self.chosen: list[str] = about["chosen"]  # features that do not look like features

    def steps(self) -> list[tuple[str, Any]]:
        """Return the fitted steps that prepared the rows; none if the columns are used as they are."""
        path = self.folder / "preparer.lowland"
        if not path.exists():
            return []
        from lowland.methods.model_files import load

        return load(path).steps


MOST_NAMES = 100_000  # rows up to which their names are kept


def place_rows(message: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Transform the rows of a file with the model of a map, and write their coordinates."""
    from lowland.methods.base.traits import traits_of
    from lowland.methods.model_files import load

    path, target = Path(message["path"]), Path(message["to"])
    if path.is_file():
        check_archive(path, message["table_bytes"])
    send({"event": "progress", "stage": "placing the rows", "fraction": None})
    model = load(message["model"])
    steps = [step for _, step in model.steps] if type(model).__name__ == "Pipeline" else [model]
    source: Any = path
    if not hasattr(steps[0], "open_rows") and not traits_of(steps[-1]).reads_text:
        fitted = [str(name) for name in getattr(steps[0], "feature_names_in_", ())]
        source = open_table(path)
        source = open_rows(source, columns=fitted if source.has_names and fitted else None)
    Z = source
    for step in steps:
        Z = step.transform(Z)
    Z = to_numpy(Z)
    if Z.shape[1] < message["components"]:
        raise DataError("The model returns fewer components than the map has. Compute the map again.")
    write_floats(target, Z[:, : message["components"]])
    names = None  # of the rows, if the file has some
    if len(Z) <= MOST_NAMES:
        table = open_table(path)
        if table.id_name is not None:
            names = [str(name) for name in table.column(table.id_name, missing_text=False)]
    write_json(target.with_suffix(".json"), names)
    return {"n": len(Z), "excluded": int(np.isnan(Z).any(axis=1).sum())}
