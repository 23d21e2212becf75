"""Computing a map in the worker: fit with progress and snapshots, write the coordinates, then measure their quality."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.stored_table import StoredTable
from lowland.errors import LowlandError
from lowland.explorer.preparing import PreparedRows
from lowland.explorer.reusing import KnownMap
from lowland.explorer.workspace import open_array, write_array, write_floats
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import nearest_neighbors
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import find_method, load_method
from lowland.run.local import LocalRun
from lowland.run.progress import COMPILING, Progress
from lowland.run.settings import config
from lowland.study.plan import Planned, StudySize, plan, shared_neighbors
from lowland.study.scoring.measures import neighbors_for
from lowland.study.table import StudyLabels
from lowland.study.trials.fit import SharedInputs, fitted_coordinates
from lowland.study.trials.resources import PeakMemory

Send = Callable[[dict[str, Any]], None]
EVERY = 0.1  # seconds between two reports, and between two snapshots
SEED = 0
SHORT, NICE = 2.0, 5  # seconds after which a fit gives way to the server, and how far
LEAST_NEIGHBORS = 15  # of a stored graph: most methods need no more


@dataclass
class MapInputs:
    """The rows of a table, and its labels."""

    rows: PreparedRows
    labels: StudyLabels
    stored: StoredTable
    weights: np.ndarray | None

    @classmethod
    def of(cls, message: dict[str, Any]) -> MapInputs:
        """Open what a task names."""
        stored, rows = StoredTable(message["stored"]), PreparedRows(Path(message["rows"]))
        weights = None if message.get("weight") is None else stored.numbers(message["weight"])
        return cls(rows, labels_of(stored, message.get("label")), stored, weights)

    @property
    def size(self) -> StudySize:
        """The size of the table, for the plan."""
        n, d = self.rows.X.shape
        classes = None if self.labels.classes is None else len(self.labels.classes)
        why, numbers = self.labels.why_no_classes, self.labels.targets is not None
        return StudySize(n, d, 2, classes, seed=SEED, why_no_classes=why, predicts_numbers=numbers)


def labels_of(stored: StoredTable, column: int | None) -> StudyLabels:
    """Return the labels of the rows: classes, or numbers."""
    if column is None:
        return StudyLabels()
    numbers = stored.numbers(column)
    values: Any = numbers
    if numbers is None or np.isnan(numbers).any():
        values = np.array(stored.texts(column), dtype=object)
    elif (numbers % 1 == 0).all() and np.abs(numbers).max(initial=0) < 2**53:
        values = numbers.astype(np.int64)
    return StudyLabels.of(values, stored.n)


def planned_map(method: str, parameters: dict[str, Any], size: StudySize) -> Planned:
    """Return the plan of a map: parameters that suit the size of the table, replaced by those that are given."""
    entry = find_method(method)
    traits = traits_of(load_method(entry.name))
    suited = plan(size, [entry.name])[0]
    chosen = {**suited.parameters, **parameters}
    defaults = {flag.name: flag.default for flag in entry.flags}
    neighbors = shared_neighbors(traits, defaults | chosen, size.n, size.d)
    rows = suited.fitted_rows
    if rows is not None and parameters.get("n_landmarks") is not None:
        rows = None
    return Planned(entry.name, entry.name, chosen, suited.why_left_out, suited.notes, rows, neighbors)


def compute_map(message: dict[str, Any], send: Send) -> dict[str, Any]:
    """Fit one method to the prepared rows of a table."""
    folder = Path(message["map"])
    folder.mkdir(parents=True, exist_ok=True)
    inputs = MapInputs.of(message)
    planned = planned_map(message["method"], message["parameters"], inputs.size)
    if planned.why_left_out is not None:
        raise LowlandError(planned.why_left_out)
    known = KnownMap(inputs, planned, SEED)
    restored = known.restore(folder, send)
    if restored is not None:
        return restored
    reporter = Reporter(send, folder, inputs.size.n)
    est = load_method(planned.method)(**planned.parameters)
    with warnings.catch_warnings(record=True) as caught, PeakMemory() as memory, config(progress=reporter):
        warnings.simplefilter("always")
        shared = shared_inputs(inputs, planned, Path(message["rows"]))
        begun = time.perf_counter()
        Z = _coordinates(est, planned, shared, inputs, reporter)
        seconds = time.perf_counter() - begun
    write_floats(folder / "coordinates.f32", Z)
    texts = dict.fromkeys(" ".join(str(each.message).split()) for each in caught)
    excluded = int(np.isnan(Z).any(axis=1).sum())
    notes = [f"{excluded:,} of {len(Z):,} rows have no coordinates."] if excluded else []
    done = {
        "components": Z.shape[1], "n": len(Z), "seconds": seconds, "memory": memory.bytes,
        "warnings": [*planned.notes, *texts, *notes], "fitted": _plain_parameters(planned.parameters),
        "fitted_rows": planned.fitted_rows,
    }  # fmt: skip
    send({"event": "done", **done})
    has_transform = _saved(est, planned, inputs, folder)
    send({"event": "model", "has_transform": has_transform})
    from lowland.explorer.measuring import measured

    send({"event": "progress", "stage": "measuring the quality", "fraction": None})
    quality = measured(est, planned, shared, inputs, Z, folder)
    known.keep(folder, done, has_transform, quality)
    return {"measured": quality}


def _coordinates(est: Any, planned: Planned, shared: SharedInputs, inputs: MapInputs, reporter: Reporter) -> np.ndarray:
    """Fit, and return the coordinates, (n, k)."""
    if traits_of(est).reads_text:
        table = inputs.stored.select(inputs.rows.features)
        est.fit(table)
        return np.asarray(est.transform(table))
    return fitted_coordinates(est, planned, shared, callback=reporter.snapshot, weights=inputs.weights)


def shared_inputs(inputs: MapInputs, planned: Planned, folder: Path) -> SharedInputs:
    """Return the inputs of a fit; the neighbor graph is stored with the rows, for the other maps of the table."""
    X, labels = np.asarray(inputs.rows.X), inputs.labels
    graph = None
    if planned.shared_neighbors is not None and planned.fitted_rows is None:
        graph = stored_graph(X, max(planned.shared_neighbors, neighbors_for(len(X))), folder)
    names = np.array(inputs.rows.names)
    return SharedInputs(X, labels.codes, graph, None, SEED, labels.classes, names)


def stored_graph(X: np.ndarray, k: int, folder: Path) -> NeighborGraph:
    """Return the graph of at least k nearest neighbors: from the folder, or computed and stored there."""
    k = min(max(k, LEAST_NEIGHBORS), len(X) - 1)
    parts = ("start", "to", "length")
    found = sorted(int(path.name.split("-")[1]) for path in folder.glob("graph-*-length.npy"))
    stored = next((each for each in found if each >= k), None)
    if stored is not None:
        start, to, length = (np.asarray(open_array(folder / f"graph-{stored}-{part}.npy")) for part in parts)
        return NeighborGraph(start, to, length)
    graph = nearest_neighbors(X, k, LocalRun())
    for part in parts:  # the last one that is written shows that all are there
        write_array(folder / f"graph-{k}-{part}.npy", getattr(graph, part))
    return graph


def _saved(est: Any, planned: Planned, inputs: MapInputs, folder: Path) -> bool:
    """Save the model, with the steps that prepare its rows; return whether it can place new rows."""
    from sklearn.pipeline import Pipeline

    from lowland.methods.model_files import save

    preparer = None if traits_of(est).reads_text else inputs.rows.preparer()
    model = est if preparer is None else Pipeline([("prepare", preparer), (find_method(planned.method).verb, est)])
    try:
        save(model, folder / "model.lowland")
    except Exception:  # the coordinates are valid all the same; the page says that there is no model
        return False
    return hasattr(est, "transform") and planned.fitted_rows is None


def _plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    from lowland.plain import to_plain

    return to_plain(parameters)


def give_way() -> None:
    """Lower the priority of this process: the server, which answers the browsers, comes first."""
    with contextlib.suppress(OSError, AttributeError):
        os.nice(NICE)


class Reporter:
    """The progress callback of a fit, and the callback that stores snapshots."""

    def __init__(self, send: Send, folder: Path, n: int) -> None:
        self.send, self.folder, self.n = send, folder, n
        self.last = self.last_snapshot = 0.0
        self.begun: float | None = time.monotonic()
        self.version = 0
        self.stage = ""

    def __call__(self, event: Progress) -> None:
        """Report the stage, the fraction that is done, and the seconds that are left."""
        now = time.monotonic()
        if self.begun is not None and now - self.begun > SHORT:
            self.begun = None
            give_way()
        if now - self.last < EVERY and event.stage == self.stage:
            return
        self.last, self.stage = now, event.stage
        fraction = min(1.0, event.done / event.total) if event.total else None
        left = None if not fraction or event.stage == COMPILING else event.seconds * (1 - fraction) / fraction
        stage = f"{event.stage} ({event.note})" if event.note else event.stage
        self.send({"event": "progress", "stage": stage, "fraction": fraction, "seconds_left": left})

    def snapshot(self, shot: Any) -> None:
        """Store the map so far, at most ten times a second; browsers fetch it."""
        now = time.monotonic()
        if now - self.last_snapshot < EVERY:
            return
        self.last_snapshot = now
        from lowland.arrays.namespace import to_numpy

        Z = to_numpy(shot.embedding)
        if len(Z) != self.n or not np.isfinite(Z).any():  # rows may be left out of the descent
            return
        write_floats(self.folder / "live.f32", Z)
        self.version += 1
        self.send({"event": "live", "iteration": shot.iteration, "version": self.version, "components": Z.shape[1]})
