"""Text files that are read repeatedly: the first pass writes their numbers to a temporary file, later ones read that.

Parsing text takes far longer than reading the same numbers. The slabs of all passes have the same limits and
layout. They are small, and nothing is memory-mapped, so that little is in memory beside the text that is parsed.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array
from lowland.data.files import mark, remove_leftovers
from lowland.data.rows import Rows, StreamRows, least_slab_rows

_LEFT_FREE = 10**9  # bytes of the disk that are not used


@contextmanager
def spooled(rows: Rows) -> Iterator[Rows]:
    """Yield rows for several passes: those of a text file are parsed once, if the disk has room; others as they are."""
    if not isinstance(rows, StreamRows) or not rows.is_text:
        yield rows
        return
    remove_leftovers(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix=f"lowland-spool{mark()}", ignore_cleanup_errors=True) as folder:
        yield SpooledRows(rows, Path(folder) / "rows")


_Slab = tuple[Any, int, int]  # a raw slab, or None if it is stored; its first row; its number of rows


class SpooledRows(Rows):
    """Rows that the first whole pass stores; where a slab could not be stored, every pass parses the text again."""

    def __init__(self, rows: StreamRows, path: Path) -> None:
        small = min(rows.slab, least_slab_rows(rows.d, rows.dtype.itemsize))
        self.rows, self.path = replace(rows, most_rows=small), path
        self.describe_as(rows)
        self.stored: dict[int, int] = {}  # the first rows of the slabs in the file, and their numbers of rows
        self.total: int | None = None  # the number of rows, after a whole pass
        self.has_room = True
        path.touch()

    @property
    def slab(self) -> int:
        return self.rows.slab

    def pieces(self) -> Iterator[_Slab]:
        """Yield the slabs of the temporary file, or raw ones while it is not complete."""
        if self.total is not None and sum(self.stored.values()) == self.total:
            yield from ((None, start, height) for start, height in sorted(self.stored.items()))
            return
        start = 0
        for raw in self.rows.pieces():
            height = self.rows.height(raw)
            yield raw, start, height
            start += height
            del raw  # only the caller refers to the slab
        self.total = start

    def height(self, piece: _Slab) -> int:
        return piece[2]

    def prepare(self, piece: _Slab) -> Array:
        """Return the slab as floats; store it if it was parsed."""
        raw, start, height = piece
        offset = start * self.d * self.dtype.itemsize
        if raw is None:
            slab = np.fromfile(self.path, self.dtype, height * self.d, offset=offset)
            return slab.reshape(self.d, height).T
        chunk = self.rows.prepare(raw)
        if self.has_room and start not in self.stored:
            try:
                if shutil.disk_usage(self.path.parent).free < chunk.nbytes + _LEFT_FREE:
                    raise OSError("the disk is full")
                with open(self.path, "r+b") as file:
                    file.seek(offset)
                    file.write(np.ascontiguousarray(chunk.T).data)
                self.stored[start] = height
            except OSError:  # such as a quota: every pass parses the text
                self.has_room, self.stored = False, {}
                with suppress(OSError):
                    self.path.write_bytes(b"")
        return chunk
