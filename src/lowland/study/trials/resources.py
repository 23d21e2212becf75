"""Time of a trial without compilation, with a limit, and its peak memory."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from lowland import kernels

SAMPLED_EVERY = 0.01  # seconds, if the system has no peak memory that can be reset


class Clock:
    """Seconds of a fit. As a progress callback it stops the fit at the limit, or if the user's callback asks for it.

    The time that numba spends on compilation is excluded, because it is needed only once per machine.
    """

    def __init__(
        self, limit: float | None = None, callback: Callable[[Any], Any] | None = None,
        tick: Callable[[float], Any] | None = None,
    ) -> None:  # fmt: skip
        self.limit, self.callback, self.tick = limit, callback, tick
        self._ticked = 0.0
        self.past_limit = self.stop_requested = False
        self.restart()

    def restart(self) -> None:
        """Reset to zero."""
        self._begun, self._compiled = time.perf_counter(), kernels.compiling["seconds"]

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        compiled = kernels.compiling["seconds"] - self._compiled
        return max(0.0, time.perf_counter() - self._begun - compiled)

    def __call__(self, event: Any) -> bool:
        """Receive a progress event; return whether to continue."""
        if self.callback is not None:
            going_on = self.callback(event)
            self.stop_requested = self.stop_requested or (going_on is not None and not going_on)
        elif self.tick is not None:  # a bar or lines: they name the trial and its time
            passed, self._ticked = self.seconds - self._ticked, self.seconds
            self.tick(max(0.0, passed))
        self.past_limit = self.past_limit or (self.limit is not None and self.seconds > self.limit)
        return not (self.past_limit or self.stop_requested)


class PeakMemory:
    """Peak memory of this process in a ``with`` block, in bytes above the level before; None: unknown."""

    bytes: int | None = None

    def __enter__(self) -> Self:
        _return_freed_memory()
        self._before, self._highest = resident(), 0
        self._exact = self._before is not None and _reset_peak()
        self._over = threading.Event()
        if self._before is not None and not self._exact:
            self._thread = threading.Thread(target=self._sample, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is None:
            return
        if not self._exact:
            self._over.set()
            self._thread.join()
        highest = _process_status("VmHWM") if self._exact else max(self._highest, resident() or 0)
        self.bytes = None if highest is None else max(0, highest - self._before)

    def _sample(self) -> None:
        while not self._over.wait(SAMPLED_EVERY):
            self._highest = max(self._highest, resident() or 0)


def resident() -> int | None:
    """Return the resident memory of this process in bytes; None if the system does not report it."""
    with contextlib.suppress(OSError, ValueError, AttributeError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return None


def _return_freed_memory() -> None:
    """Return freed memory to the system; otherwise the next trial would seem to need none."""
    with contextlib.suppress(OSError, AttributeError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def _reset_peak() -> bool:
    """Reset the peak memory that Linux records."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")
        return True
    return False


def _process_status(name: str) -> int | None:
    with contextlib.suppress(OSError, ValueError), open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    return None
