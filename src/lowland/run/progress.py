"""Progress: rich on a terminal, a callback for programs, silent otherwise. The one place that shows it or stops by it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lowland.errors import Stopped

SHOW_AFTER = 0.5  # seconds: shorter work needs no bar
TELL_EVERY = 0.1  # seconds between events


@dataclass(frozen=True)
class Progress:
    """One event: which stage, how far, of how much (None: not known), after how many seconds."""

    stage: str
    done: float
    total: float | None
    seconds: float


class Stage:
    """One stretch of work; ``advance`` says how far it has come."""

    def __init__(self, name: str, total: float | None, tell: Callable[[Progress], Any] | None) -> None:
        self.name, self.total, self.tell = name, total, tell
        self.done = 0.0
        self.started = self.told = time.monotonic()

    def advance(self, amount: float = 1) -> None:
        """Record that ``amount`` more is done; tell, at most ten times a second."""
        self.done += amount
        if self.tell is not None:
            now = time.monotonic()
            if now - self.told >= TELL_EVERY:
                self.told = now
                self._say(now)

    def finish(self) -> None:
        """Tell the last event."""
        if self.tell is not None:
            self._say(time.monotonic())

    def _say(self, now: float) -> None:
        assert self.tell is not None
        if self.tell(Progress(self.name, self.done, self.total, now - self.started)) is False:
            raise Stopped(
                f"Stopped during {self.name}: the progress callback returned False. Nothing was kept or written."
            )


class _Bar:
    """A bar on the terminal, drawn by rich, which is imported only once work has lasted a while."""

    def __init__(self) -> None:
        self.bar: Any = None
        self.task: Any = None

    def __call__(self, event: Progress) -> None:
        if self.bar is None:
            if event.seconds < SHOW_AFTER:
                return
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            self.bar = Progress(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self.bar.start()
            self.task = self.bar.add_task(event.stage, total=event.total)
        self.bar.update(self.task, completed=event.done, total=event.total)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()


@contextmanager
def stage(name: str, total: float | None, shown: Any) -> Iterator[Stage]:
    """Open a stage; ``shown`` is the setting: "auto", True, False or a callback."""
    if callable(shown):
        work = Stage(name, total, shown)
        yield work
        work.finish()
    elif shown is True or (shown == "auto" and sys.stderr is not None and sys.stderr.isatty()):
        bar = _Bar()
        try:
            yield Stage(name, total, bar)
        finally:
            bar.close()
    else:
        yield Stage(name, total, None)
