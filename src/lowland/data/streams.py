"""Named pipes and standard input as files: read once into a temporary file, which can then be read repeatedly."""

from __future__ import annotations

import atexit
import gzip
import os
import select
import shutil
import stat
import sys
import tempfile
import time
import zipfile
from functools import cache
from pathlib import Path

from lowland.data.leftovers import mark, remove_leftovers
from lowland.errors import FileProblem

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
            _copy(pipe, copy)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError) and not isinstance(error, FileProblem):
            raise FileProblem(
                f"{str(pipe)!r} cannot be copied to {str(folder)!r}: {error.strerror or error}. Check permissions and "
                "free disk space."
            ) from error
        raise
    return folder / pipe.name


def _copy(pipe: Path, copy: object) -> None:
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
                copy.write(block)  # type: ignore[attr-defined]
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
