"""Notice if reading a file runs code: Python's audit events while ``watching``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hunt.cases import Wrong

EVENTS = {
    "pickle.find_class",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
}
_seen: list[str] | None = None
_installed = False


def _hook(event: str, arguments: object) -> None:
    if _seen is not None and event in EVENTS and not _in_libraries():
        _seen.append(f"{event} {arguments}")


def _in_libraries() -> bool:
    """Whether numba reads its own pickles, or joblib starts its workers: neither runs anything from a file."""
    frame = sys._getframe(2)
    while frame is not None and not any(name in frame.f_code.co_filename for name in ("/numba/", "/joblib/")):
        frame = frame.f_back
    return frame is not None


@contextmanager
def watching() -> Iterator[None]:
    """Raise Wrong if code is run in this block."""
    global _seen, _installed
    if not _installed:
        sys.addaudithook(_hook)
        _installed = True
    _seen = []
    try:
        yield
        if _seen:
            raise Wrong(f"code was run: {_seen[0]}")
    finally:
        _seen = None
