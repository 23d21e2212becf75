"""Files of the person: paths that cannot leave the folder, names of uploads, and archives checked first."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import os
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any

from lowland.data.files import IMAGES, READABLE, natural_order, suffix_of
from lowland.errors import FileProblem
from lowland.explorer.workspace import RequestError
from lowland.run.memory import show_bytes

MOST_ENTRIES = 2_000  # of a folder that are listed
MOST_RATIO = 200  # unpacked over packed size, for an archive of more than SMALL bytes
SMALL = 64 * 2**20
LARGE = 2**30  # bytes up to which a compressed table is read, however small its file is
ARCHIVES = (".npz", ".xlsx", ".ods")
CHUNK = 2**20


class Folder:
    """The folder whose files may be opened; everything outside of it does not exist for the browser."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def resolve(self, path: str) -> Path:
        """Return the real path of a file in the folder; links that lead out of it are refused."""
        if "\0" in path:
            raise RequestError(400, "The path contains a null character. Choose a file from the list.")
        try:
            found = (self.root / path).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, or a name that is too long
            raise RequestError(400, f"The path cannot be resolved ({type(error).__name__}). Choose a file.") from error
        if found != self.root and self.root not in found.parents:
            raise RequestError(
                403,
                f"{path[:200]!r} lies outside of the folder {str(self.root)!r}. Choose a file in this folder, or start "
                "the explorer in another one.",
            )
        return found

    def existing(self, path: str) -> Path:
        """Return the real path of a file that exists in the folder."""
        found = self.resolve(path)
        if not os.path.exists(found):
            raise RequestError(404, f"There is no file {path[:200]!r} in {str(self.root)!r}. Check the name.")
        if not (found.is_file() or found.is_dir()):  # a pipe would never end
            raise RequestError(400, f"{path[:200]!r} is neither a file nor a folder. Choose another.")
        return found

    def readable(self, path: str) -> Path:
        """Return the real path of a file or a folder to read as a table; no link in the folder may lead out of it."""
        found = self.existing(path)
        for place, folders, files in os.walk(found):
            for each in (Path(place, name) for name in (*folders, *files)):
                if each.is_symlink() and not self._is_inside(each):
                    raise RequestError(
                        403, f"{self.shown(each)[:200]!r} is a link out of the folder {str(self.root)!r}. Remove it."
                    )
        return found

    def shown(self, path: Path) -> str:
        """Return a path relative to the folder."""
        return path.relative_to(self.root).as_posix() if path != self.root else ""

    def entries(self, path: str) -> dict[str, Any]:
        """Return the content of a folder: folders first, then files."""
        folder = self.existing(path)
        if not folder.is_dir():
            raise RequestError(400, f"{path[:200]!r} is a file, not a folder. Choose a folder.")
        found = []
        try:
            inside = sorted(folder.iterdir(), key=natural_order)
        except OSError as error:
            raise RequestError(
                403, f"{path[:200]!r} cannot be read: {error.strerror}. Check its permissions."
            ) from error
        for each in inside[:MOST_ENTRIES]:
            if each.name.startswith(".") or not self._is_inside(each):
                continue
            is_folder, name = each.is_dir(), os.fsencode(each.name).decode("utf-8", "replace")
            size = 0 if is_folder else each.stat().st_size
            readable = _holds_a_table(each) if is_folder else suffix_of(each) in READABLE and each.is_file()
            kind = "folder" if is_folder else "file"
            named = name == each.name  # a name that is not Unicode cannot be sent back
            found.append({"name": name, "kind": kind, "bytes": size, "readable": readable and named})
        found.sort(key=lambda entry: entry["kind"] == "file")
        return {
            "path": self.shown(folder),
            "entries": found,
            "more": max(0, len(inside) - MOST_ENTRIES),
            "readable": _holds_a_table(folder),
        }

    def _is_inside(self, path: Path) -> bool:
        try:
            found = path.resolve(strict=True)
        except (OSError, RuntimeError):
            return False
        return self.root in found.parents


def _holds_a_table(folder: Path) -> bool:
    """Whether a folder contains Parquet files or images, which are read as one table."""
    try:
        with os.scandir(folder) as inside:
            return any(entry.name.lower().endswith((".parquet", *IMAGES)) for entry in itertools.islice(inside, 200))
    except OSError:
        return False


# --- uploads ---


def safe_name(name: str) -> str:
    """Return a name for an uploaded file that is safe on every system; its extension says how it is read."""
    last = re.split(r"[\\/]", name)[-1]
    suffix = suffix_of(Path(last)) if last else ""
    if suffix.lower() not in READABLE:
        raise RequestError(
            415, f"{last[:80]!r}: files of this type cannot be read. Choose one of {', '.join(READABLE)}."
        )
    stem = last[: len(last) - len(suffix)]
    plain = re.sub(r"[^\w. ()+-]", "_", stem).strip(" .")[:60]
    return f"{plain or 'table'}{suffix.lower()}"


# --- archives ---


def check_archive(path: Path, most_bytes: int) -> None:
    """Refuse a .npz, .xlsx, .ods or .gz file that unpacks to far more than it contains, before a library unpacks it.

    A .h5ad file may not name other files, which the library would read for it, wherever they are.
    """
    if suffix_of(path) == ".h5ad":
        from lowland.data.formats.h5ad import other_files

        if others := other_files(path):
            raise FileProblem(
                f"{path.name!r} takes values from another file, {others[0]!r}. The explorer reads one file only. Write "
                "all values into it."
            )
    if suffix_of(path).endswith(".gz"):
        _check_gzip(path, most_unpacked(path, most_bytes))
    if suffix_of(path) not in ARCHIVES:
        return
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            declared = sum(member.file_size for member in members)
            check_size(path, declared, most_bytes)
            actual = 0
            for member in members:
                if member.compress_type == zipfile.ZIP_STORED and member.file_size == member.compress_size:
                    actual += member.file_size
                else:
                    with archive.open(member) as file:
                        while piece := file.read(CHUNK):
                            actual += len(piece)
                            check_size(path, actual, most_bytes)
            check_size(path, actual, most_bytes)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, EOFError, RuntimeError, ValueError) as error:
        raise FileProblem(
            f"{path.name!r} is not a valid {suffix_of(path)} file ({error}). Write it again, or save it as .csv."
        ) from error


def _check_gzip(path: Path, most: int) -> None:
    size = 0
    with contextlib.suppress(EOFError, OSError, zlib.error), gzip.open(path) as file:  # the reader says what is damaged
        while size <= most and (piece := file.read(CHUNK)):
            size += len(piece)
    if size > most:
        raise _bomb(path, size)


def most_unpacked(path: Path, most_bytes: int) -> int:
    """Return how many bytes a table may take when it is read: far more than its file only up to a gigabyte."""
    files = [path] if path.is_file() else path.rglob("*")
    return min(most_bytes, max(LARGE, MOST_RATIO * sum(each.stat().st_size for each in files if each.is_file())))


def check_size(path: Path, unpacked: int, most_bytes: int) -> None:
    """Refuse an archive that is too large, or that is far larger unpacked than packed."""
    if unpacked > most_bytes or (unpacked > SMALL and unpacked > MOST_RATIO * path.stat().st_size):
        raise _bomb(path, unpacked)


def _bomb(path: Path, unpacked: int) -> FileProblem:
    return FileProblem(
        f"{path.name!r} is {show_bytes(path.stat().st_size)} and unpacks to {show_bytes(unpacked)} or more, "
        "which could fill the memory. If you trust the file, unpack it first."
    )
