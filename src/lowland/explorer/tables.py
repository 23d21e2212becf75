"""Tables in the worker: read a file, prepare the rows as the methods are fitted to them, place new rows on a map."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.data.formats.images import ImageReader
from lowland.data.kinds import ColumnKind, kinds_of
from lowland.data.look import Look, advised
from lowland.data.open import open_rows, open_table, readable_file
from lowland.data.read_options import ReadOptions
from lowland.data.reader import Reader, number_batches
from lowland.data.stored_table import StoredTable, stored_batches, with_names_of_rows, write_stored
from lowland.errors import DataError
from lowland.explorer.folder import check_archive
from lowland.explorer.workspace import open_array, read_json, write_array, write_floats, write_json
from lowland.plain import to_plain

LABEL_NAMES = re.compile(
    r"^(label|labels|class|classes|target|y|species|category|group|diagnosis|type)$", re.IGNORECASE
)
MOST_CLASSES = 50
NUMBERS = ("number", "integer", "boolean")
EVERY = 0.2  # seconds between two reports


def read_table(message: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Read a file, or some rows of a stored table, into the folder of the new table; then prepare its rows."""
    folder = Path(message["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    most = message["table_bytes"]
    send({"event": "progress", "stage": "opening", "fraction": None})
    if "stored" in message:
        batches, source, id_name, notes, image_shape = _rows_of(message)
    else:
        path = Path(message["path"])
        if path.is_file():
            check_archive(path, most)
        batches, source, id_name, notes, image_shape = _opened(path, ReadOptions(**message.get("read") or {}))
    found = _kept(batches, folder / "table.arrow", most, send, source, id_name, notes)
    looked = advised(found)
    columns = _columns(looked)
    if image_shape is None:
        image_shape = _image_shape(columns)
    result: dict[str, Any] = {
        "rows": found.n,
        "columns": columns,
        "notes": [*map(str, found.notes)],
        "suggestions": list(looked.suggestions),
        "duplicates": found.duplicates,
        "has_images": image_shape is not None,
        "image_shape": image_shape,
    }
    kept = message.get("roles") or {}
    for column in columns:
        column["role"] = kept.get(column["name"], column["role"])
    result["prepared"] = _prepared(message, result, send)
    return to_plain(result)


def _prepared(message: dict[str, Any], result: dict[str, Any], send: Any) -> dict[str, Any]:
    """Prepare the rows at once; a table whose rows cannot be prepared yet can still be looked at."""
    from lowland.errors import LowlandError
    from lowland.explorer.tables import prepare_rows

    wanted = {"stored": str(Path(message["folder"]) / "table.arrow"), "rows": message["rows_folder"]}
    try:
        return prepare_rows({**wanted, "columns": result["columns"], "scale": message.get("scale", "auto")}, send)
    except LowlandError as error:
        return {"error": str(error)}


def _opened(path: Path, read: ReadOptions) -> tuple[Iterable[Any], str, str | None, Any, list[int] | None]:
    """Batches of all columns of a file, its name, the column of row names, the notes, and the shape of its images."""
    if path.is_dir() or readable_file(path):
        table: Reader = open_table(path, read)
        shape = list(table.image_shape) if isinstance(table, ImageReader) else None
        return with_names_of_rows(table), table.source, table.id_name, table.notes, shape
    rows = open_rows(path, read=read)
    return number_batches(rows), rows.source, None, rows.notes, None


def _rows_of(message: dict[str, Any]) -> tuple[Iterable[Any], str, str | None, Any, list[int] | None]:
    """The selected rows of a stored table."""
    import numpy as np

    stored = StoredTable(message["stored"])
    rows = np.load(message["selected"], allow_pickle=False)
    if not len(rows):
        raise DataError("The selection is empty. Select some rows first.")
    batches = stored_batches(stored.select(range(len(stored.names)), rows))
    return batches, repr(message["name"]), message.get("id_name"), (), message.get("image_shape")


def _kept(
    batches: Iterable[Any], path: Path, most: int, send: Any, source: str, id_name: str | None, notes: Any
) -> Any:
    """Write every batch, then look at what the columns contain."""

    def written() -> Iterator[Any]:
        last, n = time.monotonic(), 0
        for batch in batches:
            n += batch.num_rows
            if time.monotonic() - last > EVERY:
                last = time.monotonic()
                send({"event": "progress", "stage": f"reading rows: {n:,}", "fraction": None})
            yield batch

    write_stored(written(), path, most)
    send({"event": "progress", "stage": "looking at the columns", "fraction": None})
    return kinds_of(StoredTable(path).table.to_batches(), source, id_name, list(notes))


def _columns(looked: Look) -> list[dict[str, Any]]:
    """The columns with their kinds, counts and the role that suits most tables."""
    label = _label(looked)
    numeric = [c for c in looked.columns if c.kind in NUMBERS and c.name != label]
    found = []
    for c in looked.columns:
        role = "label" if c.name == label else _role(c, len(numeric) >= 2)
        about = asdict(c)
        keep = ("name", "kind", "missing", "distinct", "min", "max", "mean", "sd", "detail")
        found.append({**{key: about[key] for key in keep}, "role": role})
    ids = [column for column in found if column["role"] == "id"]
    for column in ids[1:]:
        column["role"] = "keep"
    return found


def _label(looked: Look) -> str | None:
    """The column that may contain classes: by its name first, then by its kind."""
    for c in looked.columns:
        if LABEL_NAMES.match(c.name.strip()) and c.distinct is not None and 2 <= c.distinct <= MOST_CLASSES:
            return c.name
    return looked.label


def _role(c: ColumnKind, enough_numbers: bool) -> str:
    if c.kind == "id":
        return "id"
    if c.kind in ("constant", "missing"):
        return "drop"
    if c.kind in NUMBERS:
        return "feature"
    return "keep" if enough_numbers else "feature"


def _image_shape(columns: list[dict[str, Any]]) -> list[int] | None:
    """The shape of square gray images, if the features are named as pixels."""
    features = [c for c in columns if c["role"] in ("feature", "drop") and re.match(r"^(pixel|px)", c["name"], re.I)]
    side = round(len(features) ** 0.5)
    return [side, side] if side >= 4 and side * side == len(features) else None


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
        names = getattr(steps[0], "feature_names_in_", None)
        named = path.is_dir() or readable_file(path)
        source = open_rows(path, columns=None if names is None or not named else [str(name) for name in names])
    Z = source
    for step in steps:
        Z = step.transform(Z)
    Z = to_numpy(Z)
    if Z.shape[1] < message["components"]:
        raise DataError("The model returns fewer components than the map has. Compute the map again.")
    write_floats(target, Z[:, : message["components"]])
    write_json(target.with_suffix(".json"), _names(path, len(Z)))
    return {"n": len(Z), "excluded": int(np.isnan(Z).any(axis=1).sum())}


def _names(path: Path, n: int) -> list[str] | None:
    """The row names of a file, if it has some."""
    if n > MOST_NAMES or not (path.is_dir() or readable_file(path)):
        return None
    table = open_table(path)
    if table.id_name is None:
        return None
    return [str(name) for name in table.column(table.id_name, missing_text=False)]
