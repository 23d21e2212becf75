"""The workspace: the folder in which the explorer keeps tables, coordinates and models.

Everything is a plain file: Arrow tables, .npy, raw float32 and JSON; nothing in it is executed or unpickled.

    explorer.sqlite                 records (lowland.explorer.store)
    tables/ID/table.arrow           all cells
    tables/ID/rows-VERSION/         X.npy, names.json, preparer.lowland, graph-*.npy: what the methods are fitted to
    maps/ID/                        coordinates.f32, live.f32, trust-N.f32, curves.json, model.lowland, placed-ID.f32
    uploads/ID/NAME                 files that were uploaded
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.write import atomic_write

FILES_OF_A_MAP = re.compile(r"coordinates\.f32|trust-[0-9]{1,3}\.f32|curves\.json|model\.lowland")  # its final results


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

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    mark = hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:12]
    return cache / "lowland" / "explorer" / f"{folder.resolve().name or 'root'}-{mark}"
