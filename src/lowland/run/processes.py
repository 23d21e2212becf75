"""Worker processes: they get tasks, report events, and can be killed. Also the time and memory of work.

A fit inside a compiled library cannot be interrupted from Python, but a process can be killed. A task is one line of
JSON on the standard input of the process, ``{"task": "module:function", ...}``. The process calls the function with the
message and with ``send``, which reports events as lines of JSON. The last event of a task is ``end``, with the result
or an ``error``. Time and memory of a task are limited by the one who waits for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from lowland import kernels
from lowland.errors import LowlandError
from lowland.run.memory import show_bytes

POLL = 0.1  # seconds between two looks at a process
START_LIMIT = 120.0  # seconds to load the libraries
COMPILE_LIMIT = 60.0  # seconds allowed for compilation, which do not count
BEGIN = """
import json, sys
sys.path[:], preload = json.loads(sys.argv[1])
from lowland.run.processes import serve_tasks
serve_tasks(preload)
"""

Send = Callable[[dict[str, Any]], None]


# --- the side that gives tasks ---


@dataclass(frozen=True)
class TaskOutcome:
    """How a task ended, with a sentence unless it is done. "broken" means its process has ended."""

    status: Literal["done", "failed", "canceled", "broken", "timed out"]
    error: str | None = None
    result: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Task:
    """What a process does, within limits. The callbacks are called by the thread that waits for the task."""

    message: dict[str, Any]
    what: str  # in sentences: "The map"
    seconds: float | None = None  # limit, without compilation; a callback may change it
    memory: int | None = None  # limit, in bytes
    remedy: str = ""  # what to do if a limit is exceeded, as a sentence
    crash_remedy: str = ""  # what to do if the process ends
    on_event: Send = lambda event: None
    on_wait: Callable[[float], Any] = lambda seconds: None  # receives the seconds since its last call
    has_begun: bool = False
    stop: TaskOutcome | None = None  # set by another thread: how the task is to end

    def cancel(self, outcome: TaskOutcome | None = None) -> None:
        """End the task, whether it waits or runs."""
        self.stop = (
            self.stop or outcome or TaskOutcome("canceled", f"{self.what} was canceled. Start it again if needed.")
        )


class WorkerProcess:
    """One process, which works on one task after the other. Its errors are written to a log."""

    def __init__(self, log: Path, preload: Sequence[str] = ()) -> None:
        self.log = log
        self._is_warm = False  # whether its libraries are loaded
        self._log_start = 0  # where the log of the current task begins
        self._events: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        with open(log, "wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-c", BEGIN, json.dumps([sys.path, list(preload)])],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True, encoding="utf-8",
            )  # fmt: skip
        self._reader = threading.Thread(target=self._receive, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def run(self, task: Task) -> TaskOutcome:
        """Work on a task until it ends, is stopped, or exceeds a limit; then the process is killed."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # the process has ended, which the reader notices
            self._process.stdin.write(json.dumps(task.message) + "\n")
            self._process.stdin.flush()
        self._log_start = self.log.stat().st_size if self.log.exists() else 0  # what former tasks wrote is theirs
        begun = last = time.monotonic()
        is_ready, compiling, compiled = self._is_warm, False, 0.0
        while True:
            try:
                event = self._events.get(timeout=POLL)
            except queue.Empty:
                event = {"event": None}
            now = time.monotonic()
            task.on_wait(now - last)
            last = now
            if event is None:
                return task.stop or TaskOutcome("broken", self._why_it_ended(task))
            if event["event"] == "begin":
                task.has_begun, is_ready, begun = True, True, now
            elif event["event"] == "compiling":
                compiling = True
            elif event["event"] == "compiled":
                compiling, compiled = False, event["seconds"]
            elif event["event"] == "end" and task.stop is None:
                return TaskOutcome("failed" if event.get("error") else "done", event.get("error"), event)
            elif event["event"] is not None and task.stop is None:
                task.on_event(event)
            passed = now - begun - compiled - COMPILE_LIMIT * compiling
            outcome = task.stop or self._beyond_limit(task, is_ready, passed)
            if outcome is not None:
                self.kill()
                return outcome

    def _beyond_limit(self, task: Task, is_ready: bool, seconds: float) -> TaskOutcome | None:
        if not is_ready:
            late = f"{_process_of(task)} was not ready after {START_LIMIT:g} s. {task.crash_remedy}"
            return TaskOutcome("broken", late.rstrip()) if seconds > START_LIMIT else None
        if task.seconds is not None and seconds > task.seconds:
            text = f"{task.what} took longer than {task.seconds:,.0f} s, the limit. {task.remedy}"
            return TaskOutcome("timed out", text.rstrip())
        if task.memory is not None and memory_of(self.pid) > task.memory:
            text = f"{task.what} needs more than {show_bytes(task.memory)} of memory, the limit. {task.remedy}"
            return TaskOutcome("failed", text.rstrip())
        return None

    def _why_it_ended(self, task: Task) -> str:
        code = self._process.wait()
        if code == -getattr(signal, "SIGKILL", 9):
            text = f"{_process_of(task)} was killed from outside, perhaps because the machine ran out of memory. "
            return f"{text}{task.crash_remedy}".rstrip()
        lines = self.log.read_bytes()[self._log_start :].decode("utf-8", "replace").strip().splitlines()
        last = f" Its last line: {lines[-1][:300]}" if lines else ""
        return f"{_process_of(task)} ended unexpectedly (exit code {code}). {task.crash_remedy}{last}"

    def _receive(self) -> None:
        """Receive its messages, also while it has no task."""
        assert self._process.stdout is not None
        try:
            for line in self._process.stdout:
                event = json.loads(line)
                if event["event"] == "warm":
                    self._is_warm = True
                else:
                    self._events.put(event)
        except (ValueError, KeyError, TypeError, OSError):  # not a message: nobody waits for such a process
            self.kill()
        self._events.put(None)

    def kill(self) -> None:
        """End the process at once."""
        with contextlib.suppress(OSError):
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """End the process, and remove its log."""
        self.kill()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError, ValueError):
                pipe.close()
        self.log.unlink(missing_ok=True)


def _process_of(task: Task) -> str:
    return f"The process that computed {task.what[:1].lower()}{task.what[1:]}"


def memory_of(pid: int) -> int:
    """Return the bytes of memory that a process uses, files that it maps excluded; 0: unknown."""
    return _status(str(pid), "RssAnon") or 0


# --- the side that works ---


def serve_tasks(preload: Sequence[str]) -> None:
    """Work on tasks until the other side closes the pipe.

    ``preload`` are modules to import before the first task. The first is always imported, the others only as long as no
    task has arrived.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the other side, which ends this process
    _end_with_the_parent()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1, encoding="utf-8")
    sys.stdout = sys.stderr  # output of libraries must not mix with the events

    def send(event: dict[str, Any]) -> None:
        try:
            out.write(json.dumps(event, allow_nan=False) + "\n")
        except (BrokenPipeError, ValueError):  # the other side is gone
            os._exit(1)

    for i, name in enumerate(preload):
        is_idle = os.name != "posix" or not select.select([sys.stdin], [], [], 0)[0]
        if i == 0 or is_idle:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    send({"event": "warm"})
    for line in sys.stdin:
        send({"event": "end", **_result(json.loads(line), send)})


def _result(message: dict[str, Any], send: Send) -> dict[str, Any]:
    try:
        module, function = message["task"].split(":")
        work = getattr(importlib.import_module(module), function)
        send({"event": "begin"})
        return work(message, send) or {}
    except Exception as error:  # a task that fails must not end the process
        import traceback

        traceback.print_exc()
        return {"error": error_text(error)}


def error_text(error: BaseException, text_of: Callable[[BaseException], str] = str) -> str:
    """Return the text of an error on one line; with its type if it is unexpected."""
    text = " ".join(text_of(error).split()) or "no message"
    return text if isinstance(error, LowlandError) else f"{type(error).__name__}: {text.rstrip('.')}."


def _end_with_the_parent() -> None:
    """Ask Linux to kill this process when the thread that started it ends."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


# --- time and memory ---


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
    """Peak memory of this process in a ``with`` block, in bytes above the level before. None means unknown."""

    bytes: int | None = None

    def __enter__(self) -> Self:
        _return_freed_memory()
        self._before = resident() if _reset_peak() else None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        highest = None if self._before is None else _status("self", "VmHWM")
        self.bytes = None if highest is None or self._before is None else max(0, highest - self._before)


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


def _status(process: str, name: str) -> int | None:
    """A number of bytes that Linux reports about a process."""
    with contextlib.suppress(OSError, ValueError), open(f"/proc/{process}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    return None
