"""The queue: tasks wait for worker processes, are watched while they run, and can be killed at any time.

At least one process is kept warm, with its libraries loaded, so that a task starts at once. A worker that has finished
becomes a warm one. Memory and time of a running task are limited by watching its process; a fit inside a compiled
library cannot be interrupted otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from lowland.explorer.folder import in_units

POLL = 0.1  # seconds between two looks at the memory of a process
COMPILING = 0.6  # seconds that a task waits for a process that compiles; loading compiled code takes less
LINE = 2**28  # bytes of a message at most: a column of a table takes some hundred
BEGIN = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from lowland.explorer.worker import main
main()
"""
Lane = Literal["read", "map"]


@dataclass(frozen=True)
class Limits:
    """Limits of a session."""

    upload_bytes: int = 2 * 10**9
    memory_bytes: int = 8 * 10**9  # of one worker process
    seconds: float = 3600.0  # of one task
    table_bytes: int = 16 * 10**9  # of a table after unpacking
    at_once: int = 2  # tasks of one lane that run at the same time


@dataclass
class Ending:
    """How a task ended: "done", "failed", "canceled" or "broken", with a sentence unless it is done."""

    status: Literal["done", "failed", "canceled", "broken"]
    error: str | None = None
    result: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Task:
    """What a worker does; ``on_event`` receives what it reports meanwhile."""

    message: dict[str, Any]
    lane: Lane
    what: str  # in sentences: "The map", "The table"
    on_event: Callable[[dict[str, Any]], None] = lambda event: None
    on_start: Callable[[], None] = lambda: None
    begun: float | None = None  # when a worker, its libraries loaded, began
    stop: Ending | None = None  # why it is to end, or has ended
    child: Child | None = None
    runner: asyncio.Task[Ending] | None = None


class Child:
    """One worker process."""

    def __init__(self, process: asyncio.subprocess.Process, stderr: Path) -> None:
        self.process, self.stderr = process, stderr
        self.compiles, self.idle = False, asyncio.Event()
        self._events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._reader = asyncio.create_task(self._receive())

    @classmethod
    async def start(cls, folder: Path) -> Child:
        """Start a process; it loads its libraries while it waits for a task."""
        stderr = folder / f"worker-{os.urandom(4).hex()}.log"
        with open(stderr, "wb") as file:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-c", BEGIN, json.dumps(sys.path), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=file, limit=LINE,
            )  # fmt: skip
        return cls(process, stderr)

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self.process.returncode is None

    async def send(self, message: dict[str, Any]) -> None:
        """Give it a task."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        with contextlib.suppress(ConnectionError):  # it has ended; noticed by the reader
            await self.process.stdin.drain()

    async def _receive(self) -> None:
        """Receive its messages, also while it has no task: it then tells what it does."""
        assert self.process.stdout is not None
        try:
            while (line := await self.process.stdout.readline()).endswith(b"\n"):
                event = json.loads(line)
                if event["event"] in ("compiles", "idle"):
                    self.compiles = event["event"] == "compiles"
                    (self.idle.clear if self.compiles else self.idle.set)()
                else:
                    self._events.put_nowait(event)
        except ValueError:  # a line that is too long, or not JSON: nobody waits for such a process
            self.kill()
        self._events.put_nowait(None)

    async def read(self) -> dict[str, Any] | None:
        """Return its next message about a task; None: the process has ended."""
        return await self._events.get()

    def kill(self) -> None:
        """End the process at once."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    async def close(self) -> None:
        """End the process, wait for it, and remove its log."""
        self.kill()
        await self.process.wait()
        await self._reader
        self.stderr.unlink(missing_ok=True)

    def last_line(self) -> str:
        """Return the last line that the process wrote to stderr."""
        with contextlib.suppress(OSError):
            lines = self.stderr.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            return lines[-1][:300] if lines else ""
        return ""


class Queue:
    """Tasks and their processes."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self._lanes = {lane: asyncio.Semaphore(limits.at_once) for lane in ("read", "map")}
        self._idle: list[Child] = []  # warm processes
        self._running: set[Task] = set()
        self._closed = False

    async def warm(self) -> None:
        """Start a warm process, if there is none."""
        self._idle = [child for child in self._idle if child.alive]
        if not self._closed and not self._idle:
            self._idle.append(await Child.start(self.folder))

    def submit(self, task: Task) -> asyncio.Task[Ending]:
        """Queue a task; the result of the returned asyncio task is its outcome."""
        self._running.add(task)
        task.runner = asyncio.create_task(self._run(task))
        return task.runner

    def cancel(self, task: Task, outcome: Ending | None = None) -> None:
        """End a task, whether it waits or runs."""
        task.stop = task.stop or outcome or Ending("canceled", f"{task.what} was canceled. Start it again if needed.")
        if task.child is not None:
            task.child.kill()

    async def close(self) -> None:
        """End all processes."""
        self._closed = True
        for task in list(self._running):
            self.cancel(task, Ending("broken", f"The explorer was stopped before {_lower(task.what)} was finished."))
        await asyncio.gather(*(t.runner for t in list(self._running) if t.runner), return_exceptions=True)
        for child in self._idle:
            await child.close()

    # --- one task ---

    async def _run(self, task: Task) -> Ending:
        try:
            async with self._lanes[task.lane]:
                if task.stop is not None:
                    return task.stop
                ending = await self._done_by(task, await self._take())
                if ending.status == "broken" and task.begun is None and task.stop is None:
                    ending = await self._done_by(task, await self._take())  # the warm process had died unnoticed
                return ending
        except OSError as error:
            text = f"No process can be started for {_lower(task.what)}: {error.strerror}. Free some memory and disk "
            return task.stop or Ending("broken", f"{text}space, then start it again.")
        finally:
            self._running.discard(task)

    async def _done_by(self, task: Task, child: Child) -> Ending:
        try:
            return await self._watched(task, child)
        finally:
            task.child = None
            await self._give(child)

    async def _take(self) -> Child:
        """Return a warm process, or start one; one that compiles is left to that."""
        warm = [child for child in self._idle if child.alive]
        if warm and all(child.compiles for child in warm):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(warm[0].idle.wait(), COMPILING)
            warm = [child for child in self._idle if child.alive]  # another task may have taken one meanwhile
        child = next((child for child in warm if not child.compiles), None)
        self._idle = [each for each in warm if each is not child]
        if not self._idle and not self._closed:
            self._warming = asyncio.create_task(self._warm_later())
        return child or await Child.start(self.folder)

    async def _warm_later(self) -> None:
        """Start the next spare a moment later: the first task should have the processor for itself."""
        await asyncio.sleep(1.0)
        with contextlib.suppress(OSError):  # the next task starts its own, or says why it cannot
            await self.warm()

    async def _give(self, child: Child) -> None:
        """Keep a process that is alive as a warm one, or end it if there are enough."""
        if child.alive and len(self._idle) < self.limits.at_once and not self._closed:
            self._idle.append(child)
        else:
            await child.close()

    async def _watched(self, task: Task, child: Child) -> Ending:
        task.child = child
        if task.stop is not None:
            child.kill()
        task.on_start()
        await child.send(task.message)
        watcher = asyncio.create_task(self._watch(task, child))
        result: dict[str, Any] = {}
        try:
            while True:
                event = await child.read()
                if event is None:
                    code = await child.process.wait()
                    return task.stop or Ending("broken", self._why_it_ended(task, child, code))
                if event["event"] == "begin":
                    task.begun = time.monotonic()
                    continue
                if event["event"] == "end":
                    error = event.get("error")
                    return task.stop or Ending("failed" if error else "done", error, {**result, **event})
                if task.stop is None:
                    task.on_event(event)
        finally:
            watcher.cancel()

    async def _watch(self, task: Task, child: Child) -> None:
        """Kill the process if it uses too much memory or time."""
        while child.alive:
            await asyncio.sleep(POLL)
            used = memory_of(child.process.pid)
            seconds = 0.0 if task.begun is None else time.monotonic() - task.begun
            if used > self.limits.memory_bytes:
                limit = in_units(self.limits.memory_bytes)
                text = f"{task.what} needs more than {limit} of memory, the limit. Use fewer rows, or another method, "
                self.cancel(task, Ending("failed", f"{text}or start the explorer with a larger limit."))
            elif seconds > self.limits.seconds:
                text = f"{task.what} took longer than {self.limits.seconds:,.0f} s, the limit. Use fewer rows, or "
                self.cancel(task, Ending("failed", f"{text}another method, or start the explorer with a larger limit."))

    def _why_it_ended(self, task: Task, child: Child, code: int) -> str:
        if code == -signal.SIGKILL:
            return (
                f"The process that computed {_lower(task.what)} was killed from outside, perhaps because the machine "
                "ran out of memory. The table is unharmed. Start it again, or use fewer rows."
            )
        last = child.last_line()
        return (
            f"The process that computed {_lower(task.what)} ended unexpectedly (exit code {code}). The table is "
            f"unharmed. Start it again.{f' Its last line: {last}' if last else ''}"
        )


def _lower(what: str) -> str:
    return what[:1].lower() + what[1:]


def memory_of(pid: int) -> int:
    """Return the bytes of memory that a process uses, files that it maps excluded; 0: unknown."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


def default_memory() -> int:
    """Return the memory limit of a worker: three quarters of the memory of the machine."""
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 / 4)
    except (ValueError, OSError, AttributeError):
        return 8 * 2**30
