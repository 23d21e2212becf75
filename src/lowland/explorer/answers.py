"""Questions about a map, answered in the worker: is it real, and what do its axes and regions mean?"""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.rows import ArrayRows
from lowland.errors import DataError, LowlandError
from lowland.evidence.clusters import Cluster, find_clusters, label_codes, test_clusters
from lowland.evidence.describe import Description, describe
from lowland.evidence.problem import open_problem
from lowland.evidence.reliability import CLASSES, reliability
from lowland.explorer.maps import MEASURE_NICE, SEED, MapTask, Reporter, cache_key, fitted_model, give_way
from lowland.explorer.workspace import read_floats, write_floats, write_json
from lowland.math.statistics.sampling import evenly_spread
from lowland.methods.registry import load_method
from lowland.plain import to_plain
from lowland.run.processes import Send
from lowland.run.progress import Progress
from lowland.run.settings import config
from lowland.trial.cache import TrialCache, key_of

MOST_COLUMNS = 100  # of one answer
GRID = 48  # points of a surface along each axis
SELECTED, OTHER = 0, -1  # regions of the rows
Points = dict[str, np.ndarray]  # values of each row of the table, (n,), by name


def answer_question(message: dict[str, Any], send: Send) -> dict[str, Any]:
    """Answer a question about a map, or find the answer in the cache; write it to the folder of the map."""
    give_way(MEASURE_NICE)
    folder, task, question = Path(message["map"]), MapTask.open(message), message["question"]
    if task.reads_as_given:
        what = "counts" if task.traits.reads == "counts" else "categories"
        raise LowlandError(
            f"This map was fitted to {what}, and the question needs a map of numbers. Choose another map."
        )
    key = cache_key(task)
    key = None if key is None else key_of({"map": key, "question": question, "about": message["about"]})
    kept = None if key is None else TrialCache().get(key)
    if kept is None:
        progress = _Outermost(Reporter(send, folder, task.size.n))
        with config(progress=progress), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit gave these warnings already
            found, points = ANSWERS[question](_Question(message, folder), message["about"])
        kept = to_plain(found), {name: np.asarray(values, dtype=np.float32) for name, values in points.items()}
        if key is not None:
            TrialCache().put(key, *kept)
    record, arrays = kept
    for name, values in arrays.items():
        write_floats(folder / f"point-{name}.f32", values)
    write_json(folder / f"answer-{question}.json", record)
    return {}


class _Outermost:
    """A progress callback for the stages that contain others: fits report stages of their own."""

    def __init__(self, reporter: Reporter) -> None:
        self.reporter, self.stage = reporter, ""
        reporter.begun = None  # the priority is low already

    def __call__(self, event: Progress) -> None:
        if event.total and self.stage in ("", event.stage):
            self.stage = "" if event.done >= event.total else event.stage
            self.reporter(event)


class _Question:
    """The map in question, and the rows to which its method was fitted."""

    def __init__(self, message: dict[str, Any], folder: Path) -> None:
        # null data and parts of the rows have no earlier map to start from: they are mapped from scratch
        self.task = task = MapTask.open({key: value for key, value in message.items() if key != "start"})
        n, planned = task.size.n, task.planned
        self.chosen = np.arange(n)
        if planned.fitted_rows is not None:
            self.chosen = np.flatnonzero(evenly_spread(n, planned.fitted_rows, np.random.default_rng(SEED)))
        self.rows = ArrayRows(np.ascontiguousarray(task.rows.X[self.chosen]), tuple(task.rows.names))
        Z = read_floats(folder / "coordinates.f32").reshape(-1, n).T[self.chosen]
        self.model = None if "start" in message else fitted_model(folder)
        # without a model, the coordinates and the method that made them
        self.method = None if self.model is not None else load_method(planned.method)(**planned.parameters)
        self.map = Z if self.model is None else self.model
        self.y = None
        if task.traits.learns_labels_in_study and task.labels.codes is not None:
            if (task.labels.codes < 0).any():
                raise DataError("This map learned from labels, and some rows have none. Fit it to rows with labels.")
            self.y = task.labels.codes[self.chosen]

    def described(self, columns: list[int] | None) -> Description:
        table = None if columns is None else self.task.stored.select(columns, self.chosen)
        return describe(self.map, self.rows, columns=table, method=self.method)

    def every(self, values: np.ndarray) -> np.ndarray:
        """The values of all rows of the table: NaN for those that the method was not fitted to."""
        out = np.full(self.task.size.n, np.nan)
        out[self.chosen] = values
        return out


def _is_it_real(asked: _Question, about: dict[str, Any]) -> tuple[Any, Points]:
    """The classes, p-values and stability of the points, and whether dense regions of the map are separate groups."""
    found = reliability(asked.map, asked.rows, asked.y, method=asked.method)
    kept = found.problem.kept
    regions = np.full(len(kept), -1)
    regions[kept] = find_clusters(found.problem.Z)[0]
    points = {
        "class": found.class_codes, "p": found.p_values, "stability": found.stability,
        "region": np.where(regions < 0, np.nan, regions),
    }  # fmt: skip
    answer = {
        "summary": found.summary, "fractions": {name: found.fraction(name) for name in CLASSES},
        "score": found.score, "interval": list(found.interval), "regions": int(regions.max(initial=-1)) + 1,
        "clusters": _verdicts(found.clusters()), "rows": int(kept.sum()),
    }  # fmt: skip
    return answer, {name: asked.every(values) for name, values in points.items()}


def _are_they_groups(asked: _Question, about: dict[str, Any]) -> tuple[Any, Points]:
    """Whether the clusters or classes that are shown are separate groups."""
    codes = np.frombuffer(base64.b64decode(about["codes"]), dtype=about["kind"]).astype(np.int64)[asked.chosen]
    levels = np.array([*about["levels"], None], dtype=object)
    labels = levels[np.minimum(codes, len(levels) - 1)]
    problem = open_problem(asked.map, asked.rows, asked.y, asked.method)
    found = test_clusters(problem, label_codes(labels, problem.kept), found=False, seed=SEED)
    return {"name": about["name"], "clusters": _verdicts(found)}, {}


def _verdicts(clusters: list[Cluster]) -> list[dict[str, Any]]:
    return [vars(each) | {"label": str(each.label), "sentence": each.sentence} for each in clusters]


def _what_do_axes_mean(asked: _Question, about: dict[str, Any]) -> tuple[Any, Points]:
    """Which columns follow the axes of the map, and where an arrow of unit length ends."""
    found = asked.described(about["columns"])
    arrows = found.drawn_arrows(MOST_COLUMNS)
    columns = [
        {"name": c.name, "r2": c.r2, "p_value": c.p_value, "direction": c.direction, "n": c.n} for c in arrows.columns
    ]
    answer = {
        "summary": found.summary, "columns": columns, "more": len(found.columns) - len(columns),
        "center": arrows.center, "spread": arrows.spread,
    }  # fmt: skip
    return answer, {}


def _where_is_it_high(asked: _Question, about: dict[str, Any]) -> tuple[Any, Points]:
    """A smooth surface of one column, on a grid over the map: None far from all points."""
    drawn = asked.described([about["column"]]).drawn_surface(asked.task.stored.names[about["column"]], GRID)
    answer = {
        "name": drawn.surface.name, "r2": drawn.surface.r2, "p_value": drawn.surface.p_value, "x": drawn.x,
        "y": drawn.y, "heights": [[None if np.isnan(v) else float(v) for v in row] for row in drawn.heights],
    }  # fmt: skip
    return answer, {}


def _what_moves_it_here(asked: _Question, about: dict[str, Any]) -> tuple[Any, Points]:
    """The local loadings of the selected rows: how the map moves with the columns there."""
    bits = np.frombuffer(base64.b64decode(about["mask"]), dtype=np.uint8)
    selected = np.unpackbits(bits, count=asked.task.size.n, bitorder="little")[asked.chosen] > 0
    [region] = asked.described(None).regions(np.where(selected, SELECTED, OTHER))
    index = {name: j for j, name in enumerate(asked.rows.names or ())}
    drivers = [
        {"name": name, "share": share, "movement": region.loadings[:, index[name]]}
        for name, share in region.drivers[:MOST_COLUMNS]
    ]
    return {"size": region.size, "drivers": drivers}, {}


ANSWERS: dict[str, Callable[[_Question, dict[str, Any]], tuple[Any, Points]]] = {
    "reliability": _is_it_real,
    "groups": _are_they_groups,
    "axes": _what_do_axes_mean,
    "surface": _where_is_it_high,
    "region": _what_moves_it_here,
}
