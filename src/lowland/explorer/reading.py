"""Reading a table in the worker: all cells into one Arrow file, and the kind and role of each column."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lowland.data.formats.images import ImageReader
from lowland.data.kinds import ColumnKind, kinds_of
from lowland.data.look import Look, advised
from lowland.data.open import open_rows, open_table, readable_file
from lowland.data.read_options import ReadOptions
from lowland.data.reader import Reader, number_batches
from lowland.data.stored_table import StoredTable, stored_batches, with_names_of_rows, write_stored
from lowland.errors import DataError
from lowland.explorer.folder import check_archive
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
    from lowland.explorer.preparing import prepare_rows

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
