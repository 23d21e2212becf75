"""The queue of tasks with its worker processes, and the events that browsers receive.

At least one process is kept warm, with its libraries loaded, so that a task starts at once. A worker that has finished
becomes a warm one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from lowland.run.processes import Task, TaskOutcome, WorkerProcess

PRELOAD = ("lowland.explorer.tables", "lowland.explorer.maps")
SPARE = 1.0  # seconds after which the next spare process is started: the first task has the processor for itself
REMEDY = "Use fewer rows, or another method, or start the explorer with a larger limit."
CRASH_REMEDY = "The table is unchanged. Start it again, or use fewer rows."
MOST_WAITING = 2_000  # events that a slow browser may leave unread; then it is disconnected, and connects again
KEEP_ALIVE = 15.0  # seconds


@dataclass(frozen=True)
class Limits:
    """Limits of a session."""

    upload_bytes: int = 2 * 10**9
    memory_bytes: int = 8 * 10**9  # of one worker process
    seconds: float = 3600.0  # of one task
    table_bytes: int = 16 * 10**9  # of a table after unpacking
    rows: int = 1_000_000
    columns: int = 10_000
    at_once: int = 2  # tasks of one lane that run at the same time


def default_memory() -> int:
    """Return the memory limit of a worker: three quarters of the memory of the machine."""
    try:
        return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 / 4)
    except (ValueError, OSError, AttributeError):
        return 8 * 2**30


@dataclass(eq=False)
class Job:
    """A task of the queue; the callbacks are called in the event loop."""

    message: dict[str, Any]
    lane: Literal["read", "map", "measure", "evidence"]
    what: str  # in sentences: "The map", "The table"
    on_event: Callable[[dict[str, Any]], None] = lambda event: None
    on_start: Callable[[], None] = lambda: None
    outcome: asyncio.Future[TaskOutcome] | None = None
    task: Task | None = None
    after: Job | None = None  # a canceled job that writes the same files: this one waits until it has ended
    lock: threading.Lock = field(default_factory=threading.Lock)  # held while it runs

    @property
    def is_canceled(self) -> bool:
        """Whether it is to end, or has ended."""
        return self.task is not None and self.task.stop is not None


class Queue:
    """Jobs and their processes. A thread of the lane of a job waits for its process.

    The quality of maps is measured one map at a time, in a process of its own with a low priority. So the next maps
    do not wait for it. Questions about maps, which take longer, have another such process.
    """

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self._lanes = {
            lane: ThreadPoolExecutor(many)
            for lane, many in (("read", limits.at_once), ("map", limits.at_once), ("measure", 1), ("evidence", 1))
        }
        self._own: dict[str, WorkerProcess] = {}  # of the lanes with a low priority
        self._spare: list[WorkerProcess] = []
        self._lock = threading.Lock()  # of the spare processes
        self._running: set[Job] = set()
        self._closed = False

    def warm(self) -> None:
        """Start a spare process, if there is none."""
        with contextlib.suppress(OSError), self._lock:  # the next task starts its own, or says why it cannot
            self._spare = [process for process in self._spare if process.alive]
            if not self._closed and not self._spare:
                self._spare.append(self._started())

    def submit(self, job: Job) -> asyncio.Future[TaskOutcome]:
        """Queue a job; the result of the future is its outcome."""
        loop = asyncio.get_running_loop()

        def on_event(event: dict[str, Any]) -> None:
            loop.call_soon_threadsafe(lambda: None if job.is_canceled else job.on_event(event))

        limits = self.limits.seconds, self.limits.memory_bytes
        job.task = Task(job.message, job.what, *limits, REMEDY, CRASH_REMEDY, on_event)
        self._running.add(job)
        job.outcome = asyncio.wrap_future(self._lanes[job.lane].submit(self._run, job, job.task, loop))
        job.outcome.add_done_callback(lambda _: self._running.discard(job))
        return job.outcome

    def cancel(self, job: Job, outcome: TaskOutcome | None = None) -> None:
        """End a job, whether it waits or runs."""
        assert job.task is not None
        job.task.cancel(outcome)

    async def close(self) -> None:
        """End all processes."""
        self._closed = True
        for job in list(self._running):
            what = f"{job.what[:1].lower()}{job.what[1:]}"
            self.cancel(job, TaskOutcome("broken", f"The explorer was stopped before {what} was finished."))
        await asyncio.gather(*(job.outcome for job in list(self._running) if job.outcome), return_exceptions=True)
        for process in (*self._spare, *self._own.values()):
            process.close()
        for lane in self._lanes.values():
            lane.shutdown()

    # --- in the thread of a lane ---

    def _run(self, job: Job, task: Task, loop: asyncio.AbstractEventLoop) -> TaskOutcome:
        if job.after is not None:
            with job.after.lock:
                job.after = None
        with job.lock:
            return task.stop or self._run_now(job, task, loop)

    def _run_now(self, job: Job, task: Task, loop: asyncio.AbstractEventLoop) -> TaskOutcome:
        loop.call_soon_threadsafe(job.on_start)
        try:
            outcome = self._run_once(job, task, loop)
            if outcome.status == "broken" and not task.has_begun and task.stop is None:
                outcome = self._run_once(job, task, loop)  # the spare process had died unnoticed
        except OSError as error:
            text = f"No process can be started for {job.what[:1].lower()}{job.what[1:]}: {error.strerror}. Free some "
            return task.stop or TaskOutcome("broken", f"{text}memory and disk space, then start it again.")
        return TaskOutcome("failed", outcome.error) if outcome.status == "timed out" else outcome

    def _run_once(self, job: Job, task: Task, loop: asyncio.AbstractEventLoop) -> TaskOutcome:
        if job.lane in ("measure", "evidence"):
            return self._run_in_own(job.lane, task, loop)
        process = self._take(loop)
        try:
            return process.run(task)
        finally:
            with self._lock:
                kept = process.alive and len(self._spare) < self.limits.at_once and not self._closed
                self._spare += [process] * kept
            if not kept:
                process.close()

    def _run_in_own(self, lane: str, task: Task, loop: asyncio.AbstractEventLoop) -> TaskOutcome:
        """Run a task in the process of its lane; only one thread calls this."""
        process = self._own.get(lane)
        if process is None or not process.alive:
            if process is not None:
                process.close()
            process = self._own[lane] = self._take(loop)
        return process.run(task)

    def _take(self, loop: asyncio.AbstractEventLoop) -> WorkerProcess:
        """Return a spare process, or start one."""
        with self._lock:
            self._spare = [process for process in self._spare if process.alive]
            process = self._spare.pop(0) if self._spare else None
            if not self._spare and not self._closed:  # a process ends with the thread that started it
                loop.call_soon_threadsafe(loop.call_later, SPARE, self.warm)
        return process or self._started()

    def _started(self) -> WorkerProcess:
        return WorkerProcess(self.folder / f"worker-{os.urandom(4).hex()}.log", PRELOAD)


class Events:
    """The browsers that listen. ``publish`` may be called from any thread once the loop is known."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[bytes | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def attach(self) -> None:
        """Remember the event loop of the server."""
        self._loop = asyncio.get_running_loop()

    def publish(self, event: str, data: Any) -> None:
        """Send an event to all listeners."""
        if self._loop is not None and self._listeners:
            text = f"event: {event}\ndata: {json.dumps(data)}\n\n".encode()
            self._loop.call_soon_threadsafe(self._deliver, text)

    def _deliver(self, text: bytes) -> None:
        for listener in list(self._listeners):
            if listener.qsize() < MOST_WAITING:
                listener.put_nowait(text)
            else:
                self._listeners.discard(listener)
                listener.put_nowait(None)

    def close(self) -> None:
        """End all streams."""
        for listener in list(self._listeners):
            listener.put_nowait(None)
        self._listeners.clear()

    async def stream(self, first: Any) -> AsyncIterator[bytes]:
        """Yield the events for one browser; ``first`` is the session, sent at once."""
        listener: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._listeners.add(listener)
        try:
            yield f"retry: 1000\nevent: session\ndata: {json.dumps(first)}\n\n".encode()
            while True:
                try:
                    text = await asyncio.wait_for(listener.get(), KEEP_ALIVE)
                except TimeoutError:
                    yield b"event: alive\ndata: {}\n\n"  # a page that hears nothing asks again, and says so
                    continue
                if text is None:
                    return
                yield text
        finally:
            self._listeners.discard(listener)
