"""Named pipes as files: read once, as a stream, into a temporary file, which can then be read repeatedly."""

from __future__ import annotations

import os
import select
import shutil
import stat
import tempfile
import time
from pathlib import Path

from lowland.data.leftovers import mark, remove_leftovers
from lowland.errors import FileProblem

WAIT = 10.0  # seconds until a program must have opened the pipe for writing
_BLOCK = 2**20  # bytes read at a time


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
