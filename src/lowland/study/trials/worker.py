"""The worker process: it fits one trial after the other to memory-mapped arrays and can be killed at any time.

A fit inside a compiled library cannot be interrupted from Python, but a process can be killed. The worker lives as
long as the study, so that libraries are loaded once. If a trial exceeds the time limit, a new worker is started.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lowland import kernels
from lowland.data.files import mark, remove_leftovers
from lowland.math.neighbors.graph import NeighborGraph
from lowland.run.progress import COMPILING, Progress
from lowland.run.settings import config, settings
from lowland.study.plan import Planned
from lowland.study.result import Trial
from lowland.study.trials.fit import SharedInputs, failed, fit_trial, in_a_sentence, timed_out

ARRAYS = ("X", "y", "classes", "names", "D", "start", "to", "length")
JOB, ANSWER, PATH = "job.pickle", "answer.pickle", "path.json"
BEGIN = f"""
import json, sys
with open(sys.argv[1] + "/{PATH}", encoding="utf-8") as file:
    sys.path[:] = json.load(file)
from lowland.study.trials.worker import main
main()
"""
READY, DONE, COMPILES, COMPILED, FITTED = "ready", "done", "compiling", "compiled", "fitted"
GRACE = 1.0  # seconds after the limit in which a trial may still end by itself
MEASURING = 6  # multiple of the limit for evaluating the model, which may be fitted again in five folds
COMPILE_LIMIT = 60.0  # seconds allowed for compilation, which do not count
START_LIMIT = 120.0  # seconds allowed to load the libraries
POLL = 0.1
NOT_SENT = (
    "A parameter cannot be sent to the worker process. Define the function in an importable module, or use "
    "worker=False."
)


class Worker:
    """The worker process, from the side of the study. ``close`` removes its folder of memory-mapped arrays."""

    def __init__(self, shared: SharedInputs) -> None:
        remove_leftovers(tempfile.gettempdir())  # of studies that were killed
        self._folder = tempfile.TemporaryDirectory(prefix=f"lowland-study{mark()}")
        self.place = Path(self._folder.name)
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        try:
            _write(shared, self.place)
        except BaseException:
            self.close()
            raise

    def fit(
        self, planned: Planned, limit: float | None, tick: Callable[[float], Any] = lambda seconds: None,
        most: float | None = None,
    ) -> Trial:  # fmt: skip
        """Fit one trial; kill the process if it exceeds the limit. ``tick`` receives the seconds since its last call.

        ``most`` limits the fit and its evaluation together.
        """
        if self._process is None:
            trouble = self._start(tick)
            if trouble is not None:
                return failed(planned, trouble)
        assert self._process is not None
        assert self._process.stdin is not None
        chosen = settings()
        job = (planned, limit, {"memory": chosen.memory, "threads": chosen.threads})
        try:
            (self.place / JOB).write_bytes(pickle.dumps(job))
        except Exception as error:  # pickling may fail with any error
            return failed(planned, f"{NOT_SENT} ({in_a_sentence(error)})")
        with contextlib.suppress(BrokenPipeError):  # the process has ended; detected below
            self._process.stdin.write("fit\n")
            self._process.stdin.flush()
        outcome = self._wait_for(DONE, limit, tick, most)
        if outcome == "timed out":
            self.end()
            assert limit is not None
            return timed_out(planned, limit)
        if outcome == "ended":
            return failed(planned, self._why_it_ended())
        answer: Trial | str = pickle.loads((self.place / ANSWER).read_bytes())  # written by our own process
        return failed(planned, answer) if isinstance(answer, str) else answer

    def _start(self, tick: Callable[[float], Any]) -> str | None:
        """Start a process and wait until it is ready; return the error, if there is one."""
        (self.place / PATH).write_text(json.dumps(sys.path), encoding="utf-8")  # so that it imports the same modules
        self._lines = queue.SimpleQueue()
        with open(self.place / "stderr", "wb") as stderr:
            self._process = subprocess.Popen(
                [sys.executable, "-c", BEGIN, str(self.place)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True,
            )  # fmt: skip
        threading.Thread(target=_read, args=(self._process.stdout, self._lines), daemon=True).start()
        outcome = self._wait_for(READY, START_LIMIT, tick)
        if outcome == "timed out":
            self.end()
            return f"The worker process was not ready after {START_LIMIT:g} s. Try again, or use worker=False."
        return self._why_it_ended() if outcome == "ended" else None

    def _wait_for(
        self, wanted: str, limit: float | None, tick: Callable[[float], Any], most: float | None = None
    ) -> Literal["received", "ended", "timed out"]:
        """Wait until a line arrives, the process ends, or the limit is exceeded; compilation does not count."""
        begun = last_tick = time.monotonic()
        compiled, compiling, factor = 0.0, False, 1
        while True:
            try:
                line = self._lines.get(timeout=POLL)
            except queue.Empty:
                line = ""
            if line is None:
                return "ended"
            if line.strip() == wanted:
                return "received"
            if line.startswith(COMPILES):
                compiling = True
            elif line.startswith(COMPILED):
                compiling, compiled = False, float(line.split()[1])
            elif line.startswith(FITTED):
                factor = 1 + MEASURING
            now = time.monotonic()
            tick(now - last_tick)
            last_tick = now
            of_fit = None if limit is None else limit * factor if most is None else min(limit * factor, most)
            allowed = None if of_fit is None else of_fit + GRACE + compiled + COMPILE_LIMIT * compiling
            if allowed is not None and now - begun > allowed:
                return "timed out"

    def _why_it_ended(self) -> str:
        """The reason why the process ended."""
        assert self._process is not None
        code = self._process.wait()
        self.end()
        lines = (self.place / "stderr").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        last = f" Its last line: {lines[-1]}" if lines else ""
        if code == -getattr(signal, "SIGKILL", 9):
            return "The system killed the worker process, probably because memory ran out. Use fewer rows or landmarks."
        return f"The worker process ended unexpectedly (exit code {code}). Please report this.{last}"

    def end(self) -> None:
        """Kill the process; the next trial starts a new one."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError, ValueError):
                    pipe.close()

    def close(self) -> None:
        """Kill the process and remove its folder."""
        self.end()
        self._folder.cleanup()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _read(pipe: Any, lines: queue.SimpleQueue[str | None]) -> None:
    with contextlib.suppress(ValueError, OSError):  # closed while reading
        for line in pipe:
            lines.put(line)
    lines.put(None)


def _write(shared: SharedInputs, folder: Path) -> None:
    graph = shared.graph
    edges = {} if graph is None else {"start": graph.start, "to": graph.to, "length": graph.length}
    own = {name: getattr(shared, name) for name in ("X", "y", "classes", "names", "D")}
    for name, values in {**own, **edges}.items():
        if values is not None:
            np.save(folder / f"{name}.npy", values)
    np.save(folder / "seed.npy", shared.seed)


def _opened(folder: Path) -> SharedInputs:
    """Memory-map the arrays copy-on-write."""
    found = {
        name: np.load(folder / f"{name}.npy", mmap_mode="c") if (folder / f"{name}.npy").exists() else None
        for name in ARRAYS
    }
    plain = {name: None if values is None else np.asarray(values) for name, values in found.items()}
    graph = None if plain["start"] is None else NeighborGraph(plain["start"], plain["to"], plain["length"])  # type: ignore[arg-type]
    assert plain["X"] is not None
    for values in plain.values():
        if values is not None and values.dtype.kind != "U":
            values.max(initial=0)  # pages read now do not count as memory of a method
    seed = int(np.load(folder / "seed.npy"))
    return SharedInputs(plain["X"], plain["y"], graph, plain["D"], seed, plain["classes"], plain["names"])


class _CompileReporter:
    """A progress callback that reports compilation, which does not count as time of the method."""

    def __init__(self, send: Callable[[str], None]) -> None:
        self.send, self.begun = send, kernels.compiling["seconds"]
        self.reported = 0.0

    def __call__(self, event: Progress) -> None:
        if event.stage == COMPILING:
            self.send(COMPILES)
        elif (seconds := kernels.compiling["seconds"] - self.begun) > self.reported:
            self.reported = seconds
            self.send(f"{COMPILED} {seconds:.3f}")


def main() -> None:
    """Fit trials until the study closes the pipe."""
    folder = Path(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the study, which ends this process
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    sys.stdout = sys.stderr  # output of libraries must not mix with the answers

    def send(line: str) -> None:
        out.write(f"{line}\n")
        out.flush()

    shared = _opened(folder)
    send(READY)
    for _ in sys.stdin:
        trial: Trial | str
        try:
            planned, limit, chosen = pickle.loads((folder / JOB).read_bytes())
        except Exception as error:  # an object defined in a notebook or script cannot be imported here
            trial = f"{NOT_SENT} ({in_a_sentence(error)})"
        else:
            with config(progress=_CompileReporter(send), **chosen):
                trial = fit_trial(planned, shared, limit, lambda: send(FITTED))
        (folder / ANSWER).write_bytes(pickle.dumps(trial))
        send(DONE)
