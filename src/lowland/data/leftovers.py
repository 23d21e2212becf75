"""Temporary files and folders: their names tell the process that writes them, so that a later one removes leftovers.

A process that is killed cannot remove its temporary files. Only names that ``mark`` produced, of this machine and this
user, are ever removed, and only if the process is gone.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import zlib
from pathlib import Path

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
