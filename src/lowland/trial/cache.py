"""The cache of trials and maps on disk: one folder per result, named by a hash of its inputs. Each may be deleted."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import io
import json
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from lowland import __version__
from lowland.data.files import mark, remove_leftovers
from lowland.methods.registry import cache_folder

MAX_BYTES = 2**30  # above it, the least recently used trials are removed
RECORD_FILE, ARRAYS_FILE, CHECKSUM_FILE = "trial.json", "arrays.npz", "checksum"


@functools.cache
def code_version() -> str:
    """Return the version of the code; for a development version, also when a source file last changed."""
    if "dev" not in __version__:
        return __version__
    files = Path(__file__).parents[1].rglob("*.py")
    return f"{__version__} {max(file.stat().st_mtime_ns for file in files)}"


def fingerprint(chunks: Iterable[np.ndarray]) -> str:
    """Return the SHA-256 of an array given in chunks of rows: of its values, dtype and shape."""
    digest, rows, kind = hashlib.sha256(), 0, ""
    for chunk in chunks:
        rows, kind = rows + len(chunk), f"{chunk.dtype.str} {chunk.shape[1:]}"
        digest.update(np.ascontiguousarray(chunk).data)
    digest.update(f"{rows} rows of {kind}".encode())
    return digest.hexdigest()


def key_of(facts: dict[str, Any]) -> str:
    """Return the SHA-256 of the facts on which a result depends; their order does not matter.

    Raises TypeError for an object such as a function, whose content cannot be hashed.
    """

    def as_plain(value: Any) -> Any:
        if hasattr(value, "tolist"):  # NumPy arrays and numbers
            return value.tolist()
        if dataclasses.is_dataclass(value):  # a rule, such as Cumulative(0.9)
            return {"kind": type(value).__name__} | {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        raise TypeError(f"A {type(value).__name__} is not plain data.")

    text = json.dumps(facts, sort_keys=True, ensure_ascii=True, default=as_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _checksum(key: str, record: bytes, arrays: bytes | memoryview) -> str:
    """The SHA-256 of an entry. It covers the key: an entry copied to another key is not served."""
    digest = hashlib.sha256(f"{key} {len(record)} ".encode())
    digest.update(record)
    digest.update(arrays)
    return digest.hexdigest()


class TrialCache:
    """Results by key. An entry that cannot be read is a miss; one that cannot be written is not stored."""

    keeps = True  # whether a later study finds the entries of this one

    def __init__(self, folder: Path | None = None, max_bytes: int = MAX_BYTES) -> None:
        self.folder, self.max_bytes = folder or cache_folder() / "studies", max_bytes

    def get(self, key: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return the entry of a key; None if it is missing, damaged, or was edited."""
        place = self.folder / key
        try:
            text, stored = (place / RECORD_FILE).read_bytes(), (place / ARRAYS_FILE).read_bytes()
            if (place / CHECKSUM_FILE).read_text(encoding="ascii") != _checksum(key, text, stored):
                return None
            record = json.loads(text)
            with np.load(io.BytesIO(stored), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except (OSError, ValueError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error):
            return None
        if not isinstance(record, dict):
            return None
        with contextlib.suppress(OSError):
            os.utime(place)  # mark as recently used
        return record, arrays

    def put(self, key: str, record: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Store a result atomically, replacing the old entry, then remove the least recently used entries."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            remove_leftovers(self.folder)
            text, stored = json.dumps(record).encode("ascii"), io.BytesIO()
            np.savez(stored, **arrays)  # type: ignore[arg-type]
            with tempfile.TemporaryDirectory(prefix=mark(), dir=self.folder, ignore_cleanup_errors=True) as folder:
                made = Path(folder) / "made"
                made.mkdir()
                (made / RECORD_FILE).write_bytes(text)
                (made / ARRAYS_FILE).write_bytes(stored.getbuffer())
                (made / CHECKSUM_FILE).write_text(_checksum(key, text, stored.getbuffer()), encoding="ascii")
                shutil.rmtree(self.folder / key, ignore_errors=True)
                os.replace(made, self.folder / key)
            self._evict()

    def _evict(self) -> None:
        kept = []
        for place in self.folder.iterdir():
            with contextlib.suppress(OSError):  # another study may have removed it
                if not place.name.startswith("."):
                    size = sum(file.stat().st_size for file in place.iterdir())
                    kept.append((place.stat().st_mtime, size, place))
        total = sum(size for _, size, _ in kept)
        for _, size, place in sorted(kept, key=lambda each: each[0]):
            if total <= self.max_bytes:
                return
            shutil.rmtree(place, ignore_errors=True)
            total -= size


class NoCache(TrialCache):
    """A cache that stores nothing."""

    keeps = False

    def get(self, key: str) -> None:
        """Return None."""

    def put(self, key: str, record: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Store nothing."""
