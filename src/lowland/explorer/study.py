"""The maps of a table as a study, for the offline report. The server imports this, and all of a study, on demand."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from lowland.explorer.archive import answered
from lowland.explorer.session import Session, unique_names
from lowland.explorer.workspace import Record, read_floats, read_json
from lowland.math.statistics.sampling import evenly_spread
from lowland.study.comparison import machine, versions
from lowland.study.result import Preparation, ShownTable, StudyResult, Trial
from lowland.study.tested import STAYS
from lowland.trial.records import Curve, Score
from lowland.trial.scores import P_VALUE, RELIABILITY, RELIABLE, STABILITY

MOST_ROWS = 100_000  # drawn in a report
MOST_COLUMNS = 100  # to color by
POINT_VALUES = {P_VALUE: "p", STABILITY: "stability", RELIABILITY: "class"}  # files of the answer, by name in a report


def study_of(here: Session, table: Record, maps: list[Record]) -> StudyResult:
    """Return the finished maps of a table as a study; of a large table, evenly spaced rows."""
    n = table["rows"]
    shown = np.arange(n) if n <= MOST_ROWS else np.flatnonzero(evenly_spread(n, MOST_ROWS, np.random.default_rng(0)))
    started = datetime.fromtimestamp(min(m["created"] for m in maps)).astimezone().isoformat(timespec="seconds")
    names = unique_names([m["name"] for m in maps])
    trials = tuple(_trial(here, m, name, shown) for m, name in zip(maps, names, strict=True))
    seconds = sum(m["seconds"] or 0.0 for m in maps)
    return StudyResult(
        _table(here, table, shown), trials, (), max(m["components"] for m in maps), "visualize",
        f"lowland explore {table['source']}", versions(), machine(), started, seconds,
    )  # fmt: skip


def _table(here: Session, table: Record, shown: np.ndarray) -> ShownTable:
    stored = here.stored(table["id"])
    numeric = [j for j, c in enumerate(table["columns"]) if c["kind"] in ("number", "integer", "boolean")]
    numeric = [j for j in numeric if table["columns"][j]["role"] in ("feature", "keep")][:MOST_COLUMNS]
    columns = [(stored.names[j], values[shown]) for j in numeric if (values := stored.numbers(j)) is not None]
    label = next((j for j, c in enumerate(table["columns"]) if c["role"] == "label"), None)
    values = np.column_stack([v for _, v in columns]) if columns else np.empty((len(shown), 0))
    with np.errstate(over="ignore"):
        values = values.astype(np.float32)
    features = sum(c["role"] == "feature" for c in table["columns"])

    def texts(j: int) -> np.ndarray:
        return np.array(stored.texts(j), dtype=object)[shown]

    labels = None
    if label is not None:
        numbers = stored.numbers(label)
        classes = numbers is None or (np.isfinite(numbers) & (numbers % 1 == 0)).all()
        labels = texts(label) if classes else numbers[shown]
    ids = next((j for j, c in enumerate(table["columns"]) if c["role"] == "id"), None)
    # texts, dates and categories to keep; the numbers are among the columns to color by
    kept = [j for j, c in enumerate(table["columns"]) if c["role"] == "keep" and stored.numbers(j) is None]
    imputed = table.get("imputed")
    as_they_are = not table.get("scaled") and imputed is None and table["n_features"] == features
    preparation = Preparation(
        {} if as_they_are else table["prepared"], imputed and imputed["text"], n_encoded=table["n_features"]
    )
    return ShownTable(
        table["name"], table["rows"], features, f"{table['id']}-{table['version']}", shown.astype(np.int64),
        tuple(name for name, _ in columns), values, None if label is None else stored.names[label], labels,
        table.get("scaled") is True, None if ids is None else stored.names[ids], None if ids is None else texts(ids),
        {stored.names[j]: texts(j) for j in kept[:MOST_COLUMNS]}, preparation=preparation,
    )  # fmt: skip


def _trial(here: Session, record: Record, name: str, shown: np.ndarray) -> Trial:
    folder = here.workspace.map(record["id"])
    Z = read_floats(folder / "coordinates.f32").reshape(record["components"], -1).T[shown]
    curves = read_json(folder / "curves.json") if (folder / "curves.json").exists() else {}
    per_row = {m["name"]: read_floats(folder / f"trust-{j}.f32")[shown] for j, m in enumerate(record["measures"])}
    scores = {key: Score(**value) for key, value in record["scores"].items()}
    if "reliability" in answered(record):
        found = read_json(folder / "answer-reliability.json")
        scores[RELIABLE] = Score(found["fractions"]["reliable"], "higher", found["summary"])
        scores[STABILITY] = Score(found["score"], "higher", STAYS, *found["interval"])
        per_row |= {name: read_floats(folder / f"point-{file}.f32")[shown] for name, file in POINT_VALUES.items()}
    drawn = {}
    for key, value in curves.items():
        if value.get("kind") in ("line", "cloud"):
            x, y = (np.array([np.nan if v is None else v for v in value[axis]], dtype=float) for axis in ("x", "y"))
            drawn[key] = Curve(x, y, value["x_name"], value["y_name"], value["kind"])
    return Trial(
        name, record["method"], record.get("fitted") or record["parameters"], "done", None, tuple(record["warnings"]),
        record["seconds"], record["memory"], n_excluded=int(np.isnan(Z).any(axis=1).sum()),
        n_components=record["components"], axes=tuple(record.get("axes") or ()), scores=scores, curves=drawn,
        per_row=per_row, Z=Z,
    )  # fmt: skip
