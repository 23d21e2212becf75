"""The workspace: records in SQLite, and the folder in which the explorer keeps tables, coordinates and models."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.write import atomic_write
from lowland.errors import FileProblem, LowlandError
from lowland.methods.registry import cache_folder

FILES_OF_A_MAP = re.compile(r"coordinates\.f32|trust-[0-9]{1,3}\.f32|curves\.json|model\.lowland")  # its final results
START = "start.f32"  # the coordinates from which a map starts
FILES_OF_ANSWERS = re.compile(r"answer-[a-z]{1,20}\.json|point-[a-z]{1,20}\.f32")  # to questions about it


class Workspace:
    """Paths in the workspace, and the binary form of arrays."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("tables", "maps", "uploads"):
            (root / name).mkdir(parents=True, exist_ok=True)

    @property
    def database(self) -> Path:
        """The file of the store."""
        return self.root / "explorer.sqlite"

    def table(self, name: str) -> Path:
        """Return the folder of a table."""
        return self._folder("tables", name)

    def map(self, name: str) -> Path:
        """Return the folder of a map."""
        return self._folder("maps", name)

    def upload(self, name: str) -> Path:
        """Return the folder of an uploaded file."""
        return self._folder("uploads", name)

    def _folder(self, kind: str, name: str) -> Path:
        assert name.isalnum(), name  # ids are made by the server
        return self.root / kind / name

    def rows(self, table: str, version: int) -> Path:
        """Return the folder of prepared rows."""
        return self.table(table) / f"rows-{version}"

    def remove(self, folder: Path) -> None:
        """Remove a folder of the workspace."""
        if self.root in folder.parents:
            shutil.rmtree(folder, ignore_errors=True)


def write_floats(path: Path, values: np.ndarray) -> None:
    """Write an array as little-endian float32; coordinates, (n, k), component after component."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(np.ascontiguousarray(values.T, dtype="<f4").tobytes())


def read_floats(path: Path) -> np.ndarray:
    """Read what ``write_floats`` has written, as one vector."""
    return np.fromfile(path, dtype="<f4")


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file; NaN is not allowed in it."""
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(content, allow_nan=False), encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_array(path: Path, values: np.ndarray) -> None:
    """Write a .npy file."""
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        np.save(file, values, allow_pickle=False)


def open_array(path: Path) -> np.ndarray:
    """Memory-map a .npy file, copy-on-write."""
    return np.load(path, mmap_mode="c", allow_pickle=False)


def default_workspace(folder: Path) -> Path:
    """Return the workspace of a folder: one below the cache folder of the user for each folder that is explored."""
    import hashlib

    mark = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:12]
    return cache_folder() / "explorer" / f"{folder.resolve().name or 'root'}-{mark}"


Record = dict[str, Any]
KINDS = ("table", "map", "selection", "state", "placed")


class Store:
    """Records by kind and id."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        self._database = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._records: dict[str, dict[str, Record]] = {kind: {} for kind in KINDS}
        try:
            self._load()
        except sqlite3.DatabaseError as error:
            self._database.close()
            raise FileProblem(
                f"{str(path)!r} cannot be read ({error}). Free some disk space, or choose another workspace."
            ) from error

    def _load(self) -> None:
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=NORMAL")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS records (kind TEXT, id TEXT, body TEXT, PRIMARY KEY (kind, id))"
        )
        for kind, name, body in self._database.execute("SELECT kind, id, body FROM records"):
            self._records.setdefault(kind, {})[name] = json.loads(body)

    def get(self, kind: str, name: str) -> Record | None:
        """Return a record, or None."""
        return self._records[kind].get(name)

    def all(self, kind: str, **wanted: Any) -> list[Record]:
        """Return the records of a kind whose fields have these values, oldest first."""
        found = [r for r in list(self._records[kind].values()) if all(r.get(k) == v for k, v in wanted.items())]
        return sorted(found, key=lambda record: record.get("created", 0))

    def put(self, kind: str, record: Record) -> None:
        """Write a record; it has an ``id``."""
        body = json.dumps(record, allow_nan=False)
        self._write("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", (kind, record["id"], body))
        self._records[kind][record["id"]] = record

    def delete(self, kind: str, name: str) -> None:
        """Remove a record, if there is one."""
        self._write("DELETE FROM records WHERE kind = ? AND id = ?", (kind, name))
        self._records[kind].pop(name, None)

    def _write(self, statement: str, values: tuple[str, ...]) -> None:
        try:
            with self._lock:
                self._database.execute(statement, values)
        except sqlite3.DatabaseError as error:
            raise RequestError(
                507, f"The workspace cannot be written ({error}). Free some disk space, then try again."
            ) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._database.close()


class RequestError(LowlandError):
    """A request that cannot be fulfilled; ``status`` is the HTTP status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def not_found(what: str, name: str) -> RequestError:
    """Return the error for an unknown id."""
    return RequestError(404, f"There is no {what} {name[:80]!r}. It may have been deleted. Reload the page.")
