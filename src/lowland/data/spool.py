"""Text files that are read repeatedly: the first pass writes their numbers to a temporary file, later ones read that.

Parsing text takes far longer than reading the same numbers. The slabs of all passes have the same limits and
layout. They are small, and nothing is memory-mapped, so that little is in memory beside the text that is parsed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array
from lowland.data.leftovers import mark, remove_leftovers
from lowland.data.passes import Slab
from lowland.data.rows import ColumnRows, Rows, least_slab_rows

_LEFT_FREE = 10**9  # bytes of the disk that are not used


@contextmanager
def spooled(rows: Rows) -> Iterator[Rows]:
    """Yield rows for several passes: those of a text file are parsed once, if the disk has room; others as they are."""
    if not isinstance(rows, ColumnRows) or not rows.is_text:
        yield rows
        return
    remove_leftovers(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix=f"lowland-spool{mark()}", ignore_cleanup_errors=True) as folder:
        yield SpooledRows(rows, Path(folder) / "rows")


@dataclass(frozen=True)
class Stored:
    """A slab in the temporary file."""

    start: int
    height: int


class SpooledRows(Rows):
    """Rows that the first whole pass stores; where a slab could not be stored, every pass parses the text again."""

    def __init__(self, rows: ColumnRows, path: Path) -> None:
        small = min(rows.slab, least_slab_rows(rows.d, rows.dtype.itemsize))
        self.rows, self.path = replace(rows, most_rows=small), path
        self.n, self.d, self.dtype, self.names = rows.n, rows.d, rows.dtype, rows.names
        self.source, self.notes = rows.source, rows.notes
        self.allow_nan, self.missing_remedy = rows.allow_nan, rows.missing_remedy
        self.slabs: list[Stored] | None = None  # those of a whole pass
        self.stored: set[int] = set()  # the first rows of the slabs in the file
        self.has_room = True
        path.touch()

    @property
    def slab(self) -> int:
        """Rows in a slab."""
        return self.rows.slab

    def pieces(self) -> Iterator[Any]:
        """Yield the slabs of the temporary file, or raw ones while it is not complete."""
        if self.slabs is not None and all(slab.start in self.stored for slab in self.slabs):
            yield from self.slabs
            return
        slabs = []
        for piece in self.rows.pieces():
            slabs.append(Stored(piece.start, self.rows.height(piece)))
            yield piece
            del piece  # only the caller refers to the slab
        self.slabs = slabs

    def height(self, piece: Any) -> int:
        """Return the number of rows in a slab."""
        return piece.height if isinstance(piece, Stored) else self.rows.height(piece)

    def prepare(self, piece: Any) -> Array:
        """Return the slab as floats; store it if it was parsed."""
        if isinstance(piece, Stored):
            return self._read(piece)
        chunk = self.rows.prepare(piece)
        self._store(piece, chunk)
        return chunk

    def _store(self, piece: Slab, chunk: np.ndarray) -> None:
        if not self.has_room or piece.start in self.stored:
            return
        if shutil.disk_usage(self.path.parent).free < chunk.nbytes + _LEFT_FREE:
            self._give_up()
            return
        try:
            with open(self.path, "r+b") as file:
                file.seek(piece.start * self.d * self.dtype.itemsize)
                file.write(np.ascontiguousarray(chunk.T).data)
            self.stored.add(piece.start)
        except OSError:  # such as a quota
            self._give_up()

    def _give_up(self) -> None:
        self.has_room, self.stored = False, set()
        with suppress(OSError):
            self.path.write_bytes(b"")

    def _read(self, piece: Stored) -> np.ndarray:
        slab = np.fromfile(
            self.path, self.dtype, piece.height * self.d, offset=piece.start * self.d * self.dtype.itemsize
        )
        return slab.reshape(self.d, piece.height).T
