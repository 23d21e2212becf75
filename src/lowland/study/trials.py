"""One trial: fit a method to the table, here or in a worker process, and keep the coordinates or the error."""

from __future__ import annotations

import functools
import math
import pickle
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from lowland import kernels
from lowland.data.arrow_columns import read_arrow, write_arrow
from lowland.data.files import mark, remove_leftovers
from lowland.errors import Stopped, marked_text
from lowland.math.neighbors.graph import NeighborGraph
from lowland.methods.registry import load_method
from lowland.run.processes import Clock, PeakMemory, Send, Task, WorkerProcess, error_text
from lowland.run.progress import COMPILING, Progress
from lowland.run.settings import config, settings
from lowland.study.result import Status, Trial
from lowland.trial.fit import SharedInputs, axes_of, fitted_coordinates, model_measures, warning_texts
from lowland.trial.parameters import Planned

TOO_LONG = "The fit exceeded the time limit of {:.3g} s. Raise the limit, or use fewer rows."


def unfinished(planned: Planned, status: Status, why: str, warned: tuple[str, ...] = ()) -> Trial:
    """Return a trial without coordinates, with the reason."""
    return Trial(planned.name, planned.method, planned.parameters, status, why, warned)


def fit_trial(
    planned: Planned, shared: SharedInputs, limit: float | None = None, on_fitted: Callable[[], None] = lambda: None,
    tick: Callable[[float], Any] | None = None,
) -> Trial:  # fmt: skip
    """Fit one method and return its trial with the coordinates of all rows, or with the error.

    The limit applies to the fit; ``on_fitted`` is called after it, before the model is evaluated. ``tick`` receives the
    seconds since its last call, at every progress event of the fit. Raises ``Stopped`` if
    the user's progress callback returns False.
    """
    callback = settings().progress
    clock = Clock(limit, callback if callable(callback) else None, tick)
    with warnings.catch_warnings(record=True) as caught, PeakMemory() as memory:
        warnings.simplefilter("always")
        try:
            if planned.estimator is not None:
                est = clone(planned.estimator)
            else:
                est = load_method(planned.method)(**planned.parameters)
            clock.restart()
            with config(progress=clock, output="default"):
                Z = fitted_coordinates(est, planned, shared)
            if getattr(est, "interrupted_", False):  # by Ctrl-C, with an unfinished map
                raise KeyboardInterrupt
            seconds = clock.seconds
        except Stopped:
            if clock.stop_requested or not clock.past_limit:
                raise
            return unfinished(planned, "timed out", TOO_LONG.format(limit))
        except Exception as error:  # one failing method must not end the study
            return unfinished(planned, "failed", error_text(error, marked_text), warning_texts(caught))
    on_fitted()
    if planned.rows is not None:  # made again to see what stays
        return Trial(planned.name, planned.method, planned.parameters, "done", n_components=Z.shape[1], Z=Z)
    with warnings.catch_warnings(), config(progress=False, output="default"):
        warnings.simplefilter("ignore")  # the fit gave these warnings already
        tested = Z if planned.fitted_rows is None else None
        scores, curves, missing = model_measures(est, shared, tested, planned.to_beat)
    n_excluded = int(np.isnan(Z).any(axis=1).sum())
    if n_excluded:
        text = f"{n_excluded:,} of {len(Z):,} rows have no coordinates. The measures are computed from the others."
        missing = (text, *missing)
    warned = (*planned.notes, *warning_texts(caught), *missing)
    return Trial(
        planned.name, planned.method, planned.parameters, "done", None, warned, seconds, memory.bytes,
        n_excluded=n_excluded, n_components=Z.shape[1], scores=scores, curves=curves, Z=Z,
        axes=tuple(axes_of(est, [] if shared.names is None else shared.names.tolist())),
    )  # fmt: skip


def keep_shown_rows(trial: Trial, shown: np.ndarray) -> Trial:
    """The trial with the coordinates and measures of the rows that are plotted, in single precision."""
    if trial.Z is None:
        return trial
    per_row = {name: np.asarray(values, dtype=np.float32)[shown] for name, values in trial.per_row.items()}
    return replace(trial, Z=np.ascontiguousarray(trial.Z[shown], dtype=np.float32), per_row=per_row)


# --- a worker process ---

ARRAYS = ("X", "y", "targets", "classes", "names", "D", "start", "to", "length")
JOB, ANSWER, MIXED = "job.pickle", "answer.pickle", "mixed.arrow"
GRACE = 1.0  # seconds after the limit in which a trial may still end by itself
MEASURING = 6  # multiple of the limit for evaluating the model, which may be fitted again in five folds
NOT_SENT = (
    "A parameter cannot be sent to the worker process. Define the function in an importable module, or use "
    "worker=False."
)
REMEDY = "Use fewer rows or landmarks, or `worker=False`."


class Worker:
    """The worker process, from the side of the study. ``close`` removes its folder of memory-mapped arrays.

    It lives as long as the study, so that libraries are loaded once. If a trial exceeds the time limit, a new one is
    started.
    """

    def __init__(self, shared: SharedInputs) -> None:
        remove_leftovers(tempfile.gettempdir())  # of studies that were killed
        self._folder = tempfile.TemporaryDirectory(prefix=f"lowland-study{mark()}")
        self.place = Path(self._folder.name)
        self.process: WorkerProcess | None = None
        try:
            graph = shared.graph
            edges = {} if graph is None else {"start": graph.start, "to": graph.to, "length": graph.length}
            own = {name: getattr(shared, name) for name in ("X", "y", "targets", "classes", "names", "D")}
            for name, values in {**own, **edges, "seed": shared.seed}.items():
                if values is not None:
                    np.save(self.place / f"{name}.npy", values)
            if shared.mixed is not None:
                write_arrow(shared.mixed, self.place / MIXED)
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
        chosen = settings()
        job = (planned, limit, {"memory": chosen.memory, "threads": chosen.threads})
        try:
            (self.place / JOB).write_bytes(pickle.dumps(job))
        except Exception as error:  # pickling may fail with any error
            return unfinished(planned, "failed", f"{NOT_SENT} ({error_text(error, marked_text)})")
        message = {"task": f"{__name__}:fit_in_worker", "folder": str(self.place)}
        task = Task(message, "The trial", None if limit is None else limit + GRACE, crash_remedy=REMEDY, on_wait=tick)

        def fitted(event: dict[str, Any]) -> None:
            if limit is not None:
                task.seconds = min(limit * (1 + MEASURING), math.inf if most is None else most) + GRACE

        task.on_event = fitted
        self.process = self.process or WorkerProcess(self.place / "stderr", [__name__])
        outcome = self.process.run(task)
        if not self.process.alive:
            self.end()
        if outcome.status == "timed out":
            return unfinished(planned, "timed out", TOO_LONG.format(limit))
        if outcome.status != "done":
            return unfinished(planned, "failed", outcome.error or "")
        answer: Trial | str = pickle.loads((self.place / ANSWER).read_bytes())  # written by our own process
        return unfinished(planned, "failed", answer) if isinstance(answer, str) else answer

    def end(self) -> None:
        """Kill the process; the next trial starts a new one."""
        process, self.process = self.process, None
        if process is not None:
            process.close()

    def close(self) -> None:
        """Kill the process and remove its folder."""
        self.end()
        self._folder.cleanup()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@functools.lru_cache(1)
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
    mixed = read_arrow(folder / MIXED) if (folder / MIXED).exists() else None
    return SharedInputs(
        plain["X"], plain["y"], graph, plain["D"], seed, plain["classes"], plain["names"], mixed, plain["targets"]
    )


class _CompileReporter:
    """A progress callback that reports compilation, which does not count as time of the method."""

    def __init__(self, send: Send) -> None:
        self.send, self.begun = send, kernels.compiling["seconds"]
        self.reported = 0.0

    def __call__(self, event: Progress) -> None:
        if event.stage == COMPILING:
            self.send({"event": "compiling"})
        elif (seconds := kernels.compiling["seconds"] - self.begun) > self.reported:
            self.reported = seconds
            self.send({"event": "compiled", "seconds": seconds})


def fit_in_worker(message: dict[str, Any], send: Send) -> None:
    """Fit the trial that the study has written to the folder, and write the answer there."""
    folder = Path(message["folder"])
    trial: Trial | str
    try:
        planned, limit, chosen = pickle.loads((folder / JOB).read_bytes())
    except Exception as error:  # an object defined in a notebook or script cannot be imported here
        trial = f"{NOT_SENT} ({error_text(error, marked_text)})"
    else:
        with config(progress=_CompileReporter(send), **chosen):
            shared = _opened(folder)
            send({"event": "begin"})  # the time limit is that of the fit
            trial = fit_trial(planned, shared, limit, lambda: send({"event": "fitted"}))
    (folder / ANSWER).write_bytes(pickle.dumps(trial))
