"""Passes over a table: rows that change between two passes are noticed.

A method that makes several passes would otherwise mix two tables. Compared are the size and time of files, the number
of rows, and a checksum of some values of each slab.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, to_numpy
from lowland.errors import DataError, FileProblem

SAMPLED, SAMPLED_COLUMNS = 8, 64  # rows and columns of a slab in its checksum
MANY = 2000  # rows; of fewer, only the first and the last are in the checksum, which takes a microsecond


@dataclass(frozen=True)
class Slab:
    """A raw slab and the number of rows before it."""

    raw: Any
    start: int


class Passes:
    """What the first pass over a table found; every later pass is compared with it."""

    def __init__(self, source: str, files: Iterable[Path] = ()) -> None:
        self.source, self.files = source, tuple(files)
        self.stamps = [stamp_of(file) for file in self.files]
        self._found: dict[Any, Any] = {}  # filled by several threads: setdefault is one step

    def of_other_rows(self) -> Passes:
        """Return the passes over other rows of the same files, such as other columns."""
        other = Passes(self.source, self.files)
        other.stamps = self.stamps
        return other

    def check_files(self) -> None:
        """Raise an error if a file was written since it was opened."""
        for file, stamp in zip(self.files, self.stamps, strict=True):
            if stamp_of(file) != stamp:
                raise FileProblem(
                    f"{str(file)!r} was written or removed while it was read, so its rows have changed. Wait until the "
                    "file is complete, open it again and repeat."
                )

    def numbered(self, pieces: Iterable[Any], height: Callable[[Any], int]) -> Iterator[Slab]:
        """Yield the slabs of one pass; compare the number of rows at its end."""
        self.check_files()
        start = 0
        for piece in pieces:
            yield Slab(piece, start)
            start += height(piece)
            del piece  # only the caller refers to the slab
        self.check_files()
        before = self._found.setdefault("rows", start)
        if before != start:
            raise self._changed(f"The first pass read {before} rows, this one {start}.")

    def compare(self, slab: Slab, chunk: Array) -> Array:
        """Return the chunk; raise an error if some of its rows differ from those of the first pass."""
        m = chunk.shape[0]
        if m:
            code = _checksum(chunk)
            if self._found.setdefault((slab.start, m), code) != code:
                last = slab.start + m - 1
                raise self._changed(f"Rows {slab.start} to {last} are not those of the first pass.")
        return chunk

    def compare_part(self, number: int, what: str, stamps: Any) -> None:
        """Raise an error if the files of a chunk were written since the first pass."""
        if self._found.setdefault(("part", number), stamps) != stamps:
            raise self._changed(f"{what} was written since the first pass.")

    def _changed(self, fact: str) -> DataError:
        return DataError(
            f"The rows of {self.source} changed between two passes. {fact} Several passes need the same rows each "
            "time: do not write to the files meanwhile, let __iter__ return the same chunks, or pass one array."
        )


def stamp_of(file: Path) -> tuple[int, ...] | None:
    """Return size, time and inode of a file, which change when it is written; None if there is no such file."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return (found.st_size, found.st_mtime_ns, found.st_ino) if stat.S_ISREG(found.st_mode) else ()


def _checksum(chunk: Array) -> int:
    """The checksum of some values of a chunk: of its first and last row, and of rows between if it has many."""
    if not isinstance(chunk, np.ndarray) and is_sparse(chunk):
        return zlib.crc32(chunk.data[:: max(1, chunk.nnz // 1024)].tobytes(), zlib.crc32(chunk.indptr.tobytes()))
    m, d = chunk.shape
    columns = 1 + d // SAMPLED_COLUMNS
    code = zlib.crc32(to_numpy(chunk[:: max(1, m - 1), ::columns]).tobytes())
    return code if m < MANY else zlib.crc32(to_numpy(chunk[:: m // SAMPLED, ::columns]).tobytes(), code)
