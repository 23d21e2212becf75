"""Files: their formats, named pipes and standard input as files, and temporary files of processes that were killed."""

from __future__ import annotations

import atexit
import contextlib
import gzip
import os
import re
import select
import shutil
import socket
import stat
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from lowland.errors import FileProblem, MissingFile

NUMPY = (".npy", ".npz")  # without column names
READABLE = (
    *NUMPY, ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".parquet", ".feather", ".arrow", ".jsonl", ".jsonl.gz",
    ".ndjson", ".xlsx", ".ods", ".h5ad",
)  # fmt: skip
IMAGES = (".png", ".jpg", ".jpeg")


def suffix_of(path: Path) -> str:
    """Return the extension that gives the format of a file, such as .csv.gz; '' for a folder."""
    name = path.name.lower()
    return next((suffix for suffix in sorted(READABLE, key=len, reverse=True) if name.endswith(suffix)), path.suffix)


def check_readable(path: Path) -> None:
    """Raise an error for a file that does not exist or cannot be read."""
    if not os.path.exists(path):
        raise MissingFile(f"There is no file {str(path)!r}. Check the name and the folder.")
    if not os.access(path, os.R_OK):
        raise FileProblem(f"Permission denied: {str(path)!r} cannot be read. Ask its owner for read permission.")


def natural_order(path: Path) -> tuple[tuple[tuple[int, str | int], ...], str]:
    """Return a key that sorts names as a reader expects: numbers by value, so part.2 before part.10."""
    parts = re.split(r"(\d+)", path.name)
    return tuple((1, int(part)) if part.isdecimal() else (0, part) for part in parts), path.name


def readable_suffix(path: Path) -> str:
    """Return the extension of a readable file, or .parquet or .png for a folder of Parquet files or images."""
    check_readable(path)
    if not path.is_dir():
        return suffix_of(path)
    return ".png" if images_in(path) and not any(path.glob("*.parquet")) else ".parquet"


def images_in(folder: Path) -> list[Path]:
    """Return the images in a folder, or in its subfolders if it has none itself, in natural order."""
    found = [p for p in folder.iterdir() if p.suffix.lower() in IMAGES]
    inner = () if found else sorted((p for p in folder.iterdir() if p.is_dir()), key=natural_order)
    found += [p for each in inner for p in each.iterdir() if p.suffix.lower() in IMAGES]
    return sorted(found, key=lambda path: (natural_order(path.parent), natural_order(path)))


# --- named pipes and standard input: read once into a temporary file, which can then be read repeatedly ---------------

WAIT = 10.0  # seconds until a program must have opened the pipe for writing
_BLOCK = 2**20  # bytes read at a time
STANDARD_INPUT = Path("-")
_MAGIC = (  # the first bytes of a format
    (b"PAR1", ".parquet"), (b"ARROW1", ".arrow"), (b"\x93NUMPY", ".npy"), (b"\x89HDF", ".h5ad"), (b"{", ".jsonl"),
)  # fmt: skip


def is_stream(path: Path) -> bool:
    """Whether the path is a named pipe; raise an error for a device or a socket."""
    mode = os.stat(path).st_mode
    if stat.S_ISFIFO(mode):
        return True
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return False
    raise FileProblem(f"{str(path)!r} is a device or a socket, not a file. Save its content to a file and pass that.")


def copied(pipe: Path) -> Path:
    """Copy the content of a named pipe to a temporary file of the same name; the caller removes its folder."""
    remove_leftovers(tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix=f"lowland-pipe{mark()}"))
    try:
        with open(folder / pipe.name, "wb") as copy:
            for block in _blocks_of(pipe):
                copy.write(block)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError) and not isinstance(error, FileProblem):
            raise FileProblem(
                f"{str(pipe)!r} cannot be copied to {str(folder)!r}: {error.strerror or error}. Check permissions and "
                "free disk space."
            ) from error
        raise
    return folder / pipe.name


def _blocks_of(pipe: Path) -> Iterator[bytes]:
    """Read until the writing program closes the pipe. No call blocks for long, so that Ctrl-C works."""
    handle = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        ready = select.poll()
        ready.register(handle, select.POLLIN)
        begun, deadline = False, time.monotonic() + WAIT
        while True:
            try:
                block = os.read(handle, _BLOCK)
            except BlockingIOError:  # a program has opened it, and has not written yet
                begun = True
                ready.poll(200)
                continue
            if block:
                begun = True
                yield block
            elif begun:
                return
            elif time.monotonic() > deadline:
                raise FileProblem(
                    f"{str(pipe)!r} is a named pipe, and no program writes to it. It can be read only once. Start the "
                    "program that writes to it, or save its output to a file."
                )
            else:
                time.sleep(0.05)
    finally:
        os.close(handle)


def real_path(path: Path) -> Path:
    """Return the path itself, or that of a copy of standard input for "-"."""
    return _copied_input() if path == STANDARD_INPUT and not path.exists() else path


def shown_name(path: Path) -> str:
    """Return the name of a file in messages."""
    is_copy = path.name.startswith("standard_input.") and path.parent.name.startswith("lowland-stdin")
    return "standard input" if is_copy else repr(str(path))


@cache
def _copied_input() -> Path:
    """Copy standard input to a temporary file, once; its extension says the format that its first bytes show."""
    if sys.stdin is None or sys.stdin.isatty():
        raise FileProblem('Standard input ("-") is a terminal. Pipe a table into it, such as: cat table.csv | …')
    remove_leftovers(tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix=f"lowland-stdin{mark()}"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = folder / "standard_input.part"
    with open(copy, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, _BLOCK)
    return copy.rename(folder / f"standard_input{_format_of(copy)}")


def _format_of(path: Path) -> str:
    with open(path, "rb") as file:
        head = file.read(2**16)
    found = next((suffix for magic, suffix in _MAGIC if head.startswith(magic)), None)
    if found is not None:
        return found
    if head.startswith(b"\x1f\x8b"):
        with gzip.open(path, "rb") as inside:
            return ".jsonl.gz" if inside.read(1) == b"{" else ".csv.gz"
    if head.startswith(b"PK") and zipfile.is_zipfile(path):
        names = zipfile.ZipFile(path).namelist()
        return ".xlsx" if any(n.startswith("xl/") for n in names) else ".ods" if "content.xml" in names else ".npz"
    line = head.partition(b"\n")[0]
    return ".tsv" if b"\t" in line and b"," not in line else ".csv"


# --- temporary files and folders --------------------------------------------------------------------------------------

# A process that is killed cannot remove its temporary files. Their names tell the process, so that a later one removes
# them: only names that ``mark`` produced, of this machine and this user, and only if the process is gone.
_MARK = re.compile(r"\.lowland-([0-9a-f]{8})-(\d+)-")


def mark() -> str:
    """Return the part of a temporary name that tells this machine and this process."""
    return f".lowland-{_machine()}-{os.getpid()}-"


def remove_leftovers(folder: str | os.PathLike[str]) -> None:
    """Remove the temporary files and folders in ``folder`` whose process no longer exists; ignore all errors."""
    if os.name != "posix":  # elsewhere, no signal asks whether a process exists
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _MARK.search(entry.name)
            if found is None or found[1] != _machine() or _is_running(int(found[2])):
                continue
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid != os.getuid():
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)


def _machine() -> str:
    """A hash of the name of this machine and of its process numbers: each container counts its own processes."""
    numbers = Path("/proc/self/ns/pid")
    return f"{zlib.crc32(f'{socket.gethostname()} {numbers.stat().st_ino if numbers.exists() else 0}'.encode()):08x}"


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)  # sends nothing
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # it belongs to another user, or the number is too large
        return True
    return True
