"""Trials on disk: one small folder each, named by all that the result depends on. Any of them may be deleted."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

MAX_BYTES = 2**30  # beyond, what was not read for longest goes
RECORD_FILE, ARRAYS_FILE = "trial.json", "arrays.npz"


def cache_folder() -> Path:
    """Return where trials are kept: in the user's cache folder, which XDG_CACHE_HOME may name."""
    given = os.environ.get("XDG_CACHE_HOME") or (os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None)
    return Path(given or Path.home() / ".cache") / "lowland" / "studies"


def fingerprint(chunks: Iterable[np.ndarray]) -> str:
    """Return the SHA-256 of an array that comes in chunks of rows: its values, their dtype, and its shape."""
    digest, rows, kind = hashlib.sha256(), 0, ""
    for chunk in chunks:
        rows, kind = rows + len(chunk), f"{chunk.dtype.str} {chunk.shape[1:]}"
        digest.update(np.ascontiguousarray(chunk).data)
    digest.update(f"{rows} rows of {kind}".encode())
    return digest.hexdigest()


def key_of(facts: dict[str, Any]) -> str:
    """Return the SHA-256 of what a result depends on; the order of the facts does not matter.

    Raises TypeError where they hold an object, such as a function: its name says nothing of what it does.
    """
    text = json.dumps(facts, sort_keys=True, ensure_ascii=True, default=_rule_to_plain)
    return hashlib.sha256(text.encode()).hexdigest()


def _rule_to_plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return value.tolist()
    if dataclasses.is_dataclass(value):  # a rule, such as Cumulative(0.9)
        return {"kind": type(value).__name__} | {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    raise TypeError(f"A {type(value).__name__} is no plain data.")


class TrialCache:
    """Results by key. Whatever cannot be read counts as not there; whatever cannot be written is not kept."""

    keeps = True  # whether a later study finds what this one puts

    def __init__(self, folder: Path | None = None, max_bytes: int = MAX_BYTES) -> None:
        self.folder, self.max_bytes = folder or cache_folder(), max_bytes

    def get(self, key: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return what was kept under a key; None where there is nothing, or something damaged."""
        place = self.folder / key
        try:
            record = json.loads((place / RECORD_FILE).read_text(encoding="utf-8"))
            with open(place / ARRAYS_FILE, "rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except (OSError, ValueError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error):
            return None
        if not isinstance(record, dict):
            return None
        with contextlib.suppress(OSError):
            os.utime(place)  # it was of use: it goes last
        return record, arrays

    def put(self, key: str, record: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Keep a result, whole or not at all, in place of what was there; then evict what was not read for longest."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".part-", dir=self.folder, ignore_cleanup_errors=True) as folder:
                made = Path(folder) / "made"
                made.mkdir()
                (made / RECORD_FILE).write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
                with open(made / ARRAYS_FILE, "wb") as file:
                    np.savez(file, **arrays)  # type: ignore[arg-type]
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
    """Nothing is read, nothing is kept."""

    keeps = False

    def get(self, key: str) -> None:
        """Return nothing."""

    def put(self, key: str, record: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Keep nothing."""
