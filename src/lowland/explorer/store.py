"""The store: tables, maps, selections and states of the page, as JSON records in one SQLite file.

All records are also kept in memory. Every change is committed before the call returns, so a server that is killed
loses nothing that a browser has seen.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from pathlib import Path
from typing import Any

from lowland.errors import FileProblem
from lowland.explorer.errors import RequestError

Record = dict[str, Any]
KINDS = ("table", "map", "selection", "state", "estimate", "placed")


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
