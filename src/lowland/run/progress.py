"""Progress: a bar on a terminal or in a notebook, a callback for programs, silent otherwise."""

from __future__ import annotations

import contextvars
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any, TypeVar

from lowland.errors import Stopped
from lowland.kernels import watchers
from lowland.run import settings

SHOW_AFTER = 0.5  # seconds before a bar appears
LINE_EVERY = 2.0  # seconds between lines, without a terminal
EVENT_EVERY = 0.1  # seconds between events
SAY_AFTER = 0.5  # seconds from Ctrl-C until it is said what must end first
BLOCK = 2**21  # numbers processed between two pulses: hundredths of a second
LAPACK = "eigenvectors (LAPACK, cannot be interrupted)"
COMPILING = "compiling, only once on this machine (up to a minute)"
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Progress:
    """A progress event: stage, amount done, total (None: unknown), seconds since the start of the stage, and a note."""

    stage: str
    done: float
    total: float | None
    seconds: float
    note: str = ""  # a value that changes, as "KL divergence 2.71"


class Stage:
    """One stage of the work; ``advance`` records its progress."""

    def __init__(self, name: str, total: float | None, report: Callable[[Progress], Any] | None) -> None:
        self.name, self.total, self.report = name, total, report
        self.done = 0.0
        self.note = ""
        self.started = time.monotonic()
        self.last_event = self.started - EVENT_EVERY  # the first step is reported at once

    def advance(self, amount: float = 1) -> None:
        """Record that ``amount`` more is done; report it, at most ten times a second."""
        self.done += amount
        if self.report is not None:
            now = time.monotonic()
            if now - self.last_event >= EVENT_EVERY:
                self.last_event = now
                going_on = self.report(Progress(self.name, self.done, self.total, now - self.started, self.note))
                if going_on is not None and not going_on:
                    raise Stopped(
                        f"Stopped during {self.name}: the progress callback returned False. No result was kept."
                    )

    def announce(self) -> None:
        """Report at once: a long call follows, during which nothing can be reported."""
        if self.report is not None:
            show = getattr(self.report, "announce", self.report)
            show(Progress(self.name, self.done, self.total, time.monotonic() - self.started))

    def finish(self) -> None:
        """Report the last event; it can no longer stop the work."""
        if self.report is not None:
            self.report(Progress(self.name, self.done, self.total, time.monotonic() - self.started, self.note))


def in_notebook() -> bool:
    """Whether this runs in a kernel of IPython, which shows HTML and widgets."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class _Cell:
    """The progress bars in the output of a notebook's cell, which is empty when the last one is closed."""

    def __init__(self) -> None:
        self.bars: dict[int, str] = {}
        self.place: Any = None
        self.number = 0
        self.last_drawn = 0.0

    def open(self, event: Progress) -> int:
        """Add a bar."""
        self.number += 1
        self.bars[self.number] = ""
        self.update(self.number, event.stage, event.done, event.total)
        return self.number

    def update(self, task: int, text: str, done: float, total: float | None) -> None:
        """Redraw the bars, at most ten times a second."""
        value = f' value="{done / total:.3f}"' if total else ""
        self.bars[task] = f"<div><progress{value}></progress> {escape(text)}</div>"
        if time.monotonic() - self.last_drawn >= EVENT_EVERY:
            self._draw()

    def close(self, task: int) -> None:
        """Remove a bar; the last one leaves nothing behind."""
        del self.bars[task]
        self._draw()
        if not self.bars:
            self.place = None

    def _draw(self) -> None:
        from IPython.display import HTML, display

        self.last_drawn = time.monotonic()
        shown = HTML("".join(self.bars.values()))
        if self.place is None:
            self.place = display(shown, display_id=True)
        else:
            self.place.update(shown)


class _Screen:
    """The progress bars on the terminal, by rich. Stages may be nested; rich allows one display at a time."""

    def __init__(self) -> None:
        self.display: Any = None
        self.stages = 0

    def open(self, event: Progress) -> Any:
        """Add a bar; rich is imported only now, when the work takes a while."""
        if self.display is None:
            from rich import progress as rich_progress
            from rich.console import Console

            self.display = rich_progress.Progress(
                rich_progress.TextColumn("{task.description}"),
                rich_progress.BarColumn(),
                rich_progress.TaskProgressColumn(),
                rich_progress.TimeElapsedColumn(),
                rich_progress.TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self.display.start()
        self.stages += 1
        return self.display.add_task(event.stage, total=event.total)

    def update(self, task: Any, text: str, done: float, total: float | None) -> None:
        """Show how much is done."""
        self.display.update(task, completed=done, description=text)

    def close(self, task: Any) -> None:
        """Remove a bar; the last one closes the display."""
        self.display.remove_task(task)
        self.stages -= 1
        if self.stages == 0:
            self.display.stop()
            self.display = None


_screen, _cell = _Screen(), _Cell()


class _Bar:
    """The bar of one stage, shown only if the work takes a while."""

    task: Any = None
    extra: Any = None

    def __init__(self, screen: _Screen | _Cell) -> None:
        self.screen: Any = screen

    def announce(self, event: Progress) -> None:
        if self.task is None:
            self.task = self.screen.open(event)

    def __call__(self, event: Progress) -> None:
        if event.seconds >= SHOW_AFTER:
            self.announce(event)
        if self.task is not None:
            shown = f"{event.stage} ({event.note})" if event.note else event.stage
            shown += "" if _open.expected is None else f", of a fit of about {in_words(_open.expected)}"
            self.screen.update(self.task, shown, event.done, event.total)

    def compiling(self, begins: bool) -> None:
        if begins:
            self.extra = self.screen.open(Progress(COMPILING, 0, None, 0.0))
        elif self.extra is not None:
            self.screen.close(self.extra)
            self.extra = None

    def close(self) -> None:
        self.compiling(False)
        if self.task is not None:
            self.screen.close(self.task)


class _Lines:
    """Plain lines for a log: one every few seconds."""

    last_line = 0.0
    compiled = False

    def announce(self, event: Progress) -> None:
        print(event.stage, file=sys.stderr, flush=True)

    def __call__(self, event: Progress) -> None:
        if event.seconds - self.last_line >= LINE_EVERY:
            self.last_line = event.seconds
            done = f"{event.done / event.total:.0%}" if event.total else f"{event.done:,.0f}"
            note = f", {event.note}" if event.note else ""
            print(f"{event.stage}: {done}, {event.seconds:.0f} s{note}", file=sys.stderr, flush=True)

    def compiling(self, begins: bool) -> None:
        if begins and not self.compiled:
            self.compiled = True
            print(COMPILING, file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


def _place_of_bars() -> _Screen | _Cell | None:
    """Where progress bars can be shown: a terminal, a notebook, or nowhere."""
    if sys.stderr is not None and sys.stderr.isatty():
        return _screen
    return _cell if in_notebook() else None


@contextmanager
def stage(name: str, total: float | None, shown: Any) -> Iterator[Stage]:
    """Open a stage; ``shown`` is the setting: "auto", True, False or a callback."""
    if callable(shown):
        work = Stage(name, total, shown)
        with watch_compiling(lambda begins: begins and shown(Progress(COMPILING, 0, None, 0.0))), _opened(work):
            yield work
        work.finish()
    elif shown is True or (shown == "auto" and _place_of_bars() is not None):
        screen = _place_of_bars()
        bar: Any = _Lines() if screen is None else _Bar(screen)
        try:
            with watch_compiling(bar.compiling), _opened(work := Stage(name, total, bar)):
                yield work
        finally:
            bar.close()
    else:
        yield Stage(name, total, None)


class _OpenStages(threading.local):
    """The stages that this thread has opened, the innermost last, and the time that the whole work may take."""

    expected: float | None = None

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self.between = Stage("computing", None, None)  # work outside of a stage


_open = _OpenStages()


@contextmanager
def _opened(work: Stage) -> Iterator[None]:
    _open.stages.append(work)
    try:
        yield
    finally:
        _open.stages.remove(work)


@contextmanager
def expecting(seconds: float | None) -> Iterator[None]:
    """Show with each bar inside of the block how long the whole work is expected to take.

    None means it is not known.
    """
    before, _open.expected = _open.expected, seconds or _open.expected
    try:
        yield
    finally:
        _open.expected = before


def in_words(seconds: float) -> str:
    """Return a time as text: '0.3 s', '2 min', '1.5 h'."""
    if seconds < 0.0095:
        return "under 0.01 s"
    unit, length = ("h", 3600) if seconds >= 3600 else ("min", 60) if seconds >= 60 else ("s", 1)
    return f"{seconds / length:.2g} {unit}" if seconds < 9.5 * length else f"{seconds / length:.0f} {unit}"


def pulse() -> None:
    """Report that work is going on, from a loop inside a step of a stage or between stages.

    The callback, and with it a time limit, can then stop the loop.
    """
    if _open.stages:
        _open.stages[-1].advance(0)
    elif callable(settings.in_force.progress) and threading.current_thread() is threading.main_thread():
        if _open.between.report is not settings.in_force.progress:
            _open.between = Stage("computing", None, settings.in_force.progress)
        _open.between.advance(0)


def pulsed_slices(n: int, width: int) -> Iterator[slice]:
    """Yield slices of n rows of ``width`` numbers, with a pulse before each: for work on a large matrix."""
    step = max(1, BLOCK // max(1, width))
    for first in range(0, n, step):
        pulse()
        yield slice(first, min(first + step, n))


def in_one_call(call: Callable[[], _Result], what: str = "the factorization") -> _Result:
    """Return the result of one long call into a library, such as a factorization, which Python cannot interrupt.

    It runs in a thread. Meanwhile progress is reported, and a callback or a time limit can stop the work. Ctrl-C waits
    for the call and says so.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    found: Future[_Result] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            found.set_result(context.run(call))
        except BaseException as error:
            found.set_exception(error)

    thread = threading.Thread(target=work, name=what)  # no daemon: the interpreter must not end during the call
    try:
        thread.start()
        while not wait((found,), timeout=EVENT_EVERY).done:
            pulse()
    except KeyboardInterrupt:
        wait_to_stop((found,), f"{what} ends")
        raise
    return found.result()


def wait_to_stop(running: Iterable[Future[Any]], end: str) -> None:
    """After Ctrl-C: wait for work that cannot be interrupted; say so if it takes a while."""
    left = wait(running, timeout=SAY_AFTER).not_done
    if left and settings.in_force.progress is not False and sys.stderr is not None:
        print(f"Stopping after {end}.", file=sys.stderr, flush=True)
    wait(left)


@contextmanager
def watch_compiling(watcher: Callable[[bool], Any]) -> Iterator[None]:
    """Call ``watcher`` with True when code begins to compile inside of the block, and with False when it ends."""
    watchers.append(watcher)
    try:
        yield
    finally:
        watchers.remove(watcher)
