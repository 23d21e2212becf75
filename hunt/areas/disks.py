"""A full disk: an error of Lowland, the old file intact, no unfinished file.

The disk is a tmpfs of some kilobytes in a mount namespace of the child, which needs root or user namespaces. Where
there are none, the size of files is limited instead (RLIMIT_FSIZE), which fails in the same calls.
"""

from __future__ import annotations

import ctypes
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hunt.cases import Area, Crashed, Wrong
from hunt.children import expect_clean, run_child
from hunt.writers import OLD, WRITERS, Writer, check_target, complete, leftovers
from lowland.errors import LowlandError

_NEWNS, _NEWUSER, _PRIVATE, _REC = 0x20000, 0x10000000, 1 << 18, 1 << 14


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Run one command on a disk that has too little space, or just enough."""
    writer = WRITERS[seed % len(WRITERS)]
    size = len(complete(writer)[0])
    room = int(rng.uniform(0, 1.3) * size)
    work = writer.work(folder / writer.target)  # writes its inputs elsewhere
    ended = run_child(lambda: _on_small_disk(writer, work, folder, room), limit=80)
    expect_clean(ended, (0,), f"{writer.name}, {room} bytes free of {size}")
    code, stderr, how, found, left = ended.value
    case = f"{writer.name}, {room} bytes free of {size} ({how})"
    if code not in (0, 1) or "Traceback" in stderr or "Unexpected error" in stderr:
        raise Crashed(f"{case}: exit code {code}: {stderr[-400:]}")
    if code == 1 and "cannot be written" not in stderr:
        raise Wrong(f"{case}: the message does not say that the file cannot be written: {stderr[-300:]}")
    if found:
        raise Wrong(f"{case}: {found}")
    if left:
        raise Wrong(f"{case}: {left[0]} remains")
    return f"done: {case}: exit code {code}"


def _on_small_disk(writer: Writer, work: Callable[[], Any], folder: Path, room: int) -> tuple[Any, ...]:
    """In a child: mount, write the old file, run the command in a grandchild, and report."""
    how = "tmpfs" if _mount(folder, room + 4 * len(OLD)) else "limited file size"
    (folder / writer.target).write_bytes(OLD)

    def limited() -> Any:
        if how != "tmpfs":
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        try:
            return work()
        except LowlandError as error:
            print(f"lowland: {error}", file=sys.stderr)
            raise SystemExit(1) from None

    ended = run_child(limited, limit=50)
    try:
        check_target(writer, folder, "afterward", done=ended.code == 0)
        found = ""
    except Wrong as error:
        found = str(error)
    return ended.code, ended.stderr, how, found, leftovers(folder)


def _mount(place: Path, size: int) -> bool:
    """Mount a tmpfs in a namespace of this process alone; it ends with the process."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEWNS) and libc.unshare(_NEWUSER | _NEWNS):
        return False
    libc.mount(b"none", b"/", None, _REC | _PRIVATE, None)
    return libc.mount(b"tmpfs", str(place).encode(), b"tmpfs", 0, f"size={size}".encode()) == 0


AREA = Area("disks", "a full disk", run, cases=400, limit=90)
