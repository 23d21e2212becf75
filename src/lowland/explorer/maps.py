"""Maps in the worker: fit a method with progress and snapshots, measure the quality, keep the map, estimate costs."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from lowland import quality
from lowland.arrays.namespace import to_numpy
from lowland.data.open import open_rows
from lowland.data.reader import text_fields
from lowland.data.rows import ArrayRows, Rows
from lowland.data.stored_table import StoredTable
from lowland.data.table import Table
from lowland.data.write import atomic_write
from lowland.errors import DataError, LowlandError, listed, unmarked
from lowland.explorer.tables import SHOWN_NAMES, PreparedRows
from lowland.explorer.workspace import (
    FILES_OF_A_MAP,
    START,
    open_array,
    read_floats,
    write_array,
    write_floats,
    write_json,
)
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import nearest_neighbors
from lowland.math.statistics.sampling import evenly_spread
from lowland.methods.base.plan import plan_of
from lowland.methods.base.traits import Traits, traits_of
from lowland.methods.registry import FIRST, find_method, load_method
from lowland.plain import to_plain
from lowland.prepare.preparation import prepare_categories
from lowland.run.processes import PeakMemory, Send, error_text
from lowland.run.progress import COMPILING, Progress, watch_compiling
from lowland.run.run import Run
from lowland.run.settings import config
from lowland.trial.cache import TrialCache, code_version, fingerprint, key_of
from lowland.trial.fit import SharedInputs, axes_of, fitted_coordinates, model_measures, warning_texts
from lowland.trial.labels import Labels
from lowland.trial.parameters import Planned, StudySize, shared_neighbors, trials_of
from lowland.trial.records import Curve, Score
from lowland.trial.scores import VERSION, EmbeddingScorer, neighbors_for

EVERY = 0.1  # seconds between two reports, and between two snapshots
SEED = 0
SHORT, NICE = 2.0, 5  # seconds after which a fit gives way to the server, and how far
MEASURE_NICE = 15  # how far the measuring of quality gives way to the next maps
LEAST_NEIGHBORS = 15  # of a stored graph: most methods need no more
SAMPLE = 20_000  # rows up to which all are measured
MOST_COMPONENTS = 50  # of a scree
MOST_LOADINGS = 2_000  # columns
MOST_BYTES = 128 * 2**20  # of one map in the cache
STARTED = (
    "This map was initialized with the previous one, so it depends on that map. Compute it from scratch to compare."
)
NOT_STARTED = (
    "The previous map has another number of components or of fitted rows, so this one was computed from scratch."
)


@dataclass(frozen=True, eq=False)
class MapTask:
    """What a task names: a method with its parameters, and the rows and labels of a table."""

    rows: PreparedRows
    stored: StoredTable
    labels: Labels
    weights: np.ndarray | None
    size: StudySize
    planned: Planned
    traits: Traits
    start: np.ndarray | None = None  # (n, k) coordinates of the map from which this one starts

    @property
    def reads_as_given(self) -> bool:
        """Whether the method is fitted to the columns as they are, categories or counts, not to the prepared rows."""
        return self.traits.reads != "numbers"

    @classmethod
    def open(cls, message: dict[str, Any]) -> MapTask:
        """Open the rows; choose parameters that suit the table, replaced by those that are given."""
        stored, rows = StoredTable(message["stored"]), PreparedRows(Path(message["rows"]))
        labels, column = Labels(), message.get("label")
        if column is not None:
            numbers = stored.numbers(column)
            values: Any = numbers
            if numbers is None or np.isnan(numbers).any():
                values = np.array(stored.texts(column), dtype=object)
            elif (numbers % 1 == 0).all() and np.abs(numbers).max(initial=0) < 2**53:
                values = numbers.astype(np.int64)
            labels = Labels.read(values, stored.n)
        weights = None if message.get("weight") is None else stored.numbers(message["weight"])
        n, d = rows.X.shape
        classes = None if labels.classes is None else len(labels.classes)
        size = StudySize(
            n, d, 2, classes, seed=SEED, why_no_classes=labels.why_no_classes,
            predicts_numbers=labels.targets is not None,
        )  # fmt: skip
        entry, given = find_method(message["method"]), message["parameters"]
        traits = traits_of(load_method(entry.name))
        suited = trials_of(entry, size)[0]
        if suited.why_left_out is not None:
            raise LowlandError(suited.why_left_out)
        chosen = {**suited.parameters, **given}
        defaults = {flag.name: flag.default for flag in entry.flags}
        neighbors = shared_neighbors(traits, defaults | chosen, n, d)
        fitted_rows = None if given.get("n_landmarks") is not None else suited.fitted_rows
        start = _start_of(message, fitted_rows, n, (defaults | chosen)["n_components"]) if "start" in message else None
        if start is not None and traits.warm is not None:
            chosen = {**suited.parameters, **traits.warm, **given}
            chosen.pop("init", None)
        planned = replace(suited, parameters=chosen, fitted_rows=fitted_rows, shared_neighbors=neighbors)
        return cls(rows, stored, labels, weights, size, planned, traits, start)

    def read_as_given(self, est: Any) -> tuple[Rows, list[str]]:
        """Open the columns as they are, for a method of categories or counts, and say what was done."""
        table = Table(self.stored.select(self.rows.features))
        if not self.traits.reads_text:
            texts = text_fields(table.fields_at(range(len(table.names))))
            if texts:
                raise DataError(
                    f"{self.traits.title.capitalize()} reads counts, and some features are not numbers: "
                    f"{listed(texts, SHOWN_NAMES)}. Give them another role, or choose a method that reads categories."
                )
            return open_rows(table), []
        found = prepare_categories(table, est, use=self.rows.chosen)
        reasons: dict[str, list[str]] = {}
        for name, why in found.unused.items():
            reasons.setdefault(why, []).append(name)
        notes = [f"{listed(names, SHOWN_NAMES)}: {why}, not used." for why, names in reasons.items()]
        return found.rows, notes + ([] if found.missing is None else [found.missing])

    def shared(self) -> SharedInputs:
        """Return the inputs of a fit; the neighbor graph is stored with the rows, for the other maps of the table."""
        X, planned = np.asarray(self.rows.X), self.planned
        graph = None
        if planned.shared_neighbors is not None and planned.fitted_rows is None:
            graph = _stored_graph(X, max(planned.shared_neighbors, neighbors_for(len(X))), self.rows.folder)
        labels = self.labels
        return SharedInputs(X, labels.codes, graph, None, SEED, labels.classes, np.array(self.rows.names))


def _start_of(message: dict[str, Any], fitted_rows: int | None, n: int, k: int) -> np.ndarray | None:
    """The coordinates from which a map starts; None if they do not fit: some rows, or another number of components."""
    Z = read_floats(Path(message["start"]))
    return Z.reshape(k, n).T if fitted_rows is None and Z.size == n * k and np.isfinite(Z).all() else None


def _stored_graph(X: np.ndarray, k: int, folder: Path) -> NeighborGraph:
    """The graph of at least k nearest neighbors: from the folder, or computed and stored there."""
    k = min(max(k, LEAST_NEIGHBORS), len(X) - 1)
    parts = ("start", "to", "length")
    found = sorted(int(path.name.split("-")[1]) for path in folder.glob("graph-*-length.npy"))
    stored = next((each for each in found if each >= k), None)
    if stored is not None:
        start, to, length = (np.asarray(open_array(folder / f"graph-{stored}-{part}.npy")) for part in parts)
        return NeighborGraph(start, to, length)
    graph = nearest_neighbors(X, k, Run())
    for part in parts:  # the last one that is written shows that all are there
        write_array(folder / f"graph-{k}-{part}.npy", getattr(graph, part))
    return graph


# --- a map ---


def compute_map(message: dict[str, Any], send: Send) -> dict[str, Any]:
    """Fit one method to the prepared rows of a table; its quality is measured later, if it is not known."""
    folder = Path(message["map"])
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():  # of the same map as it was computed before
        if path.name != START:
            path.unlink()
    task = MapTask.open(message)
    planned, key = task.planned, cache_key(task)
    restored = None if key is None else _restore_map(key, folder, send)
    if restored is not None:
        return restored
    reporter = Reporter(send, folder, task.size.n)
    est = load_method(planned.method)(**planned.parameters)
    with (
        warnings.catch_warnings(record=True) as caught,
        PeakMemory() as memory,
        config(progress=reporter),
        watch_compiling(reporter.compiling),
    ):
        warnings.simplefilter("always")
        shared = task.shared()
        begun = time.perf_counter()
        notes = list[str]()
        if task.reads_as_given:
            rows, notes = task.read_as_given(est)
            Z = to_numpy(est.fit(rows).transform(rows))
        else:
            Z = fitted_coordinates(
                est, planned, shared, callback=reporter.snapshot, weights=task.weights, start=task.start
            )
        seconds = time.perf_counter() - begun
    write_floats(folder / "coordinates.f32", Z)
    texts = map(unmarked, warning_texts(caught))
    excluded = int(np.isnan(Z).any(axis=1).sum())
    notes += [f"{excluded:,} of {len(Z):,} rows have no coordinates."] if excluded else []
    notes += [STARTED] if task.start is not None else [NOT_STARTED] if "start" in message else []
    done = {
        "components": Z.shape[1], "n": len(Z), "seconds": seconds, "memory": memory.bytes,
        "warnings": [*planned.notes, *texts, *notes], "fitted": to_plain(planned.parameters),
        "axes": to_plain(axes_of(est, task.rows.names)), "fitted_rows": planned.fitted_rows,
        "learns_labels": task.traits.learns_labels_in_study, "warm": task.start is not None,
        "read": [str(name) for name in est.feature_names_in_] if task.reads_as_given else None,
    }  # fmt: skip
    send({"event": "done", **done})
    has_transform = _save_model(est, task, folder)
    send({"event": "model", "has_transform": has_transform})
    return {"computed": {"done": done, "has_transform": has_transform}}


def measure_map(message: dict[str, Any], send: Send) -> dict[str, Any]:
    """Measure the quality of a map that was computed, and keep it in the cache."""
    give_way(MEASURE_NICE)
    folder, task = Path(message["map"]), MapTask.open(message)
    Z = read_floats(folder / "coordinates.f32").reshape(-1, task.size.n).T.astype(np.float64)
    measured = _measure(fitted_model(folder), task, task.shared(), Z, folder)
    key = cache_key(task) if message.get("computed") else None
    files = [path for path in sorted(folder.iterdir()) if FILES_OF_A_MAP.fullmatch(path.name)]
    if key is not None and sum(path.stat().st_size for path in files) <= MOST_BYTES:
        record = {**message["computed"], "measured": measured}
        TrialCache().put(key, record, {path.name: np.fromfile(path, dtype=np.uint8) for path in files})
    return {"measured": measured}


def _save_model(est: Any, task: MapTask, folder: Path) -> bool:
    """Save the model, with the steps that prepare its rows; return whether it can place new rows."""
    from sklearn.pipeline import Pipeline

    from lowland.methods.model_files import save

    steps = [] if task.reads_as_given else task.rows.steps()
    verb = find_method(task.planned.method).verb
    try:
        save(Pipeline([*steps, (verb, est)]) if steps else est, folder / "model.lowland")
    except Exception:  # the coordinates are valid all the same; the page says that there is no model
        return False
    return hasattr(est, "transform") and task.planned.fitted_rows is None


def fitted_model(folder: Path) -> Any:
    """The fitted method of a map; None if it could not be saved."""
    from lowland.methods.model_files import load

    try:
        model = load(folder / "model.lowland")
    except Exception:  # the measures of the coordinates need no model
        return None
    return model[-1] if type(model).__name__ == "Pipeline" else model


def give_way(nice: int) -> None:
    """Let the processes that the person waits for come first."""
    with contextlib.suppress(OSError, AttributeError):  # Windows
        os.setpriority(os.PRIO_PROCESS, 0, nice)


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
        if self.begun is not None and now - self.begun > SHORT:  # the server, which answers the browsers, comes first
            self.begun = None
            give_way(NICE)
        if now - self.last < EVERY and event.stage == self.stage:
            return
        self.last, self.stage = now, event.stage
        fraction = min(1.0, event.done / event.total) if event.total else None
        left = None if not fraction or event.stage == COMPILING else event.seconds * (1 - fraction) / fraction
        stage = f"{event.stage} ({event.note})" if event.note else event.stage
        self.send({"event": "progress", "stage": stage, "fraction": fraction, "seconds_left": left})

    def compiling(self, begins: bool) -> None:
        """Report that code is compiled, also before and between the stages of a fit."""
        if begins:
            self(Progress(COMPILING, 0, None, 0.0))

    def snapshot(self, shot: Any) -> None:
        """Store the map so far, at most ten times a second; browsers fetch it."""
        now = time.monotonic()
        if now - self.last_snapshot < EVERY:
            return
        self.last_snapshot = now
        Z = to_numpy(shot.embedding)
        if len(Z) != self.n or not np.isfinite(Z).any():  # rows may be left out of the descent
            return
        write_floats(self.folder / "live.f32", Z)
        self.version += 1
        self.send({"event": "live", "iteration": shot.iteration, "version": self.version, "components": Z.shape[1]})


# --- quality ---


def _measure(est: Any, task: MapTask, shared: SharedInputs, Z: np.ndarray, folder: Path) -> dict[str, Any]:
    """Measure a map; write the values per row and the curves, and return what is shown of them."""
    n = len(Z)
    chosen = np.ones(n, dtype=bool) if n <= SAMPLE else evenly_spread(n, SAMPLE, np.random.default_rng(SEED))
    scores: dict[str, Score] = {}
    per_row: dict[str, np.ndarray] = {}
    curves: dict[str, Any] = {}
    warned: list[str] = []
    try:
        with config(progress=False), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            X, some = np.ascontiguousarray(shared.X[chosen]), np.ascontiguousarray(Z[chosen])
            y, targets = (None if v is None else v[chosen] for v in (task.labels.codes, task.labels.targets))
            place = task.rows.folder if chosen.all() else task.rows.folder / "sample"
            place.mkdir(exist_ok=True)
            graph = _stored_graph(X, neighbors_for(len(X)), place)
            scorer = EmbeddingScorer.prepare(X, graph, y, SEED, targets)
            found = scorer.measure(some, task.traits.learns_labels_in_study)
            scores, curves, per_row = found.scores, found.curves, found.per_row
            warned = [unmarked(text) for text in found.warnings]
            if per_row:  # it was evaluated; a study has these values only for a few thousand rows
                k = neighbors_for(int((~np.isnan(some).any(axis=1)).sum()))
                for measure in (quality.trustworthiness, quality.continuity):
                    if measure.__name__ not in per_row:
                        per_row[measure.__name__] = np.asarray(measure(X, some, k, per_row=True, sample=None).per_row)
            if est is not None and n <= SAMPLE and not task.reads_as_given:
                of_model, more, _ = model_measures(est, shared)
                scores |= of_model  # those of a supervised map are of held-out rows
                curves |= more
    except Exception as error:  # the map is valid all the same
        warned.append(f"The quality could not be measured: {error_text(error)}")
    curves |= _linear_curves(est, task)
    plain = {name: asdict(curve) if isinstance(curve, Curve) else curve for name, curve in curves.items()}
    write_json(folder / "curves.json", to_plain(plain))
    measures = []
    for number, (name, values) in enumerate(per_row.items()):
        every = np.full(n, np.nan, dtype=np.float32)
        every[chosen] = values
        write_floats(folder / f"trust-{number}.f32", every)
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        better = scores[name].better if name in scores else "higher"
        measures.append({"name": name, "low": low, "high": high, "better": better})
    shown = {name: {**asdict(score), "correct_bits": ""} for name, score in scores.items()}
    basis = None if chosen.all() else f"Measured on {int(chosen.sum()):,} evenly spaced rows of {n:,}."
    return to_plain({"measures": measures, "scores": shown, "curves": list(curves), "warnings": warned, "basis": basis})


def _linear_curves(est: Any, task: MapTask) -> dict[str, Any]:
    """The scree and the loadings of a linear method."""
    found: dict[str, Any] = {}
    with contextlib.suppress(Exception), warnings.catch_warnings(), config(progress=False):
        warnings.simplefilter("ignore")
        if hasattr(est, "explained_variance_ratio_"):
            ratio = np.asarray(est.explained_variance_ratio_, dtype=float)
            X = np.asarray(task.rows.X)
            more = min(MOST_COMPONENTS, *X.shape)
            if task.planned.method == FIRST and len(ratio) < more and X.size <= 2e8:
                ratio = np.asarray(type(est)(more).fit(X).explained_variance_ratio_)
            number = np.arange(1, len(ratio) + 1)
            found["scree"] = Curve(number, ratio, "component", "explained variance ratio")
        loadings = np.asarray(est.components_, dtype=float)
        names = task.rows.names
        if loadings.ndim == 2 and loadings.shape[1] == len(names) <= MOST_LOADINGS:
            found["loadings"] = {
                "x": loadings[0], "y": loadings[1] if len(loadings) > 1 else np.zeros(len(names)), "names": names,
                "values": loadings[:10], "x_name": "component 1", "y_name": "component 2", "kind": "loadings",
            }  # fmt: skip
    return found


# --- maps that were computed before: the same rows, labels, method and parameters ---


def cache_key(task: MapTask) -> str | None:
    """The key of a map in the cache; None for a method that is fitted to the cells, not to the prepared rows."""
    if task.reads_as_given:
        return None
    labels, weights, planned = task.labels, task.weights, task.planned
    beside = [v for v in (labels.codes, labels.targets, weights) if v is not None]
    return key_of({
        "what": "map", "data": fingerprint([np.asarray(task.rows.X)]), "names": task.rows.names, "seed": SEED,
        "beside": [fingerprint([values]) for values in beside],
        "classes": None if labels.classes is None else [str(c) for c in labels.classes],
        "weighted": weights is not None,
        "scaled": task.rows.scaled, "method": planned.method, "parameters": planned.parameters,
        "start": None if task.start is None else fingerprint([task.start]),
        "rows": planned.fitted_rows, "version": code_version(), "measures": VERSION,
    })  # fmt: skip


def _restore_map(key: str, folder: Path, send: Send) -> dict[str, Any] | None:
    """Write the files of a map that is in the cache and report it. None means it must be computed."""
    kept = TrialCache().get(key)
    if kept is None or not {"done", "has_transform", "measured"} <= kept[0].keys():
        return None
    record, arrays = kept
    for name, values in arrays.items():
        if FILES_OF_A_MAP.fullmatch(name):
            with atomic_write(folder / name) as path:
                path.write_bytes(values.tobytes())
    if not (folder / "coordinates.f32").exists():
        return None
    send({"event": "done", **record["done"]})
    send({"event": "model", "has_transform": bool(record["has_transform"])})
    return {"measured": record["measured"]}


# --- estimates ---


def estimate(message: dict[str, Any], send: Send) -> dict[str, Any]:
    """Estimate the seconds and the bytes of a map: those of the plan of its method."""
    task = MapTask.open(message)
    est = load_method(task.planned.method)(**task.planned.parameters)
    classes = 2 if task.labels.classes is None else len(task.labels.classes)
    found = plan_of(est, ArrayRows(task.rows.X), task.planned.fitted_rows, classes)
    basis = f"Expected for {found.rows:,} rows: {found.algorithm}."
    used, seconds = int(found.bytes + 2 * found.table_bytes), found.seconds
    return {"seconds": seconds, "low": seconds / 2, "high": 2 * seconds, "bytes": used, "basis": basis}
