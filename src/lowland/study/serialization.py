"""Trials and studies as JSON and arrays, and back: for files, the cache and the worker process."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.formats.parquet import read_columns
from lowland.data.write import atomic_write, write_columns
from lowland.errors import FileProblem, MissingFile
from lowland.methods.base.params import Described
from lowland.plain import to_plain
from lowland.study.result import Advice, Preparation, ShownTable, StudyResult, Trial
from lowland.trial.records import Curve, Score

JSON, POINTS = "study.json", "points.parquet"
FORMAT = 1  # of the two files


def trial_to_plain(trial: Trial) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return a trial as plain data for JSON, and its arrays: "z" (m, k) and "row:NAME" (m,)."""
    record = {f.name: getattr(trial, f.name) for f in fields(Trial) if f.name not in ("Z", "per_row", "parameters")}
    record["scores"] = {name: vars(score) for name, score in trial.scores.items()}
    record["curves"] = {name: vars(curve) for name, curve in trial.curves.items()}
    record = to_plain(record)
    # as ``_parameter`` restores them: infinity as a string, an object as its description
    record["parameters"] = to_plain(
        trial.parameters,
        non_finite=lambda number: {"number": str(number)},
        unknown=lambda other: {"object": repr(other)},
    )
    arrays = {f"row:{name}": values for name, values in trial.per_row.items()}
    return record, arrays if trial.Z is None else {"z": trial.Z, **arrays}


def trial_from_plain(record: dict[str, Any], arrays: dict[str, np.ndarray]) -> Trial:
    """Restore a trial from the result of ``trial_to_plain``."""
    record = dict(record)
    record["parameters"] = {name: _parameter(value, name) for name, value in record["parameters"].items()}
    record["warnings"], record["axes"] = tuple(record["warnings"]), tuple(record.get("axes", ()))
    record["scores"] = {name: score_from_plain(score) for name, score in record["scores"].items()}
    record["curves"] = {
        name: Curve(**{**curve, **{axis: np.array(curve[axis], dtype=np.float64) for axis in ("x", "y")}})
        for name, curve in record["curves"].items()
    }
    per_row = {name.removeprefix("row:"): values for name, values in arrays.items() if name.startswith("row:")}
    return Trial(**record, per_row=per_row, Z=arrays.get("z"))


def score_from_plain(record: dict[str, Any]) -> Score:
    """Restore a score from plain data."""
    value = math.nan if record["value"] is None else record["value"]
    return Score(**{**record, "value": value, "by_fold": tuple(record["by_fold"])})


def _parameter(plain: Any, name: str) -> Any:
    """Restore a parameter; an object remains a description, with which nothing can be fitted."""
    if isinstance(plain, dict) and plain.keys() == {"number"}:
        return float(plain["number"])
    if isinstance(plain, dict) and plain.keys() == {"object"}:
        return Described(str(plain["object"]), name)
    if isinstance(plain, dict):
        return {key: _parameter(item, name) for key, item in plain.items()}
    return [_parameter(item, name) for item in plain] if isinstance(plain, list) else plain


# --- a study in a folder ---


def save_study(result: StudyResult, folder: str | os.PathLike[str]) -> Path:
    """Write study.json and points.parquet into a folder, which is created if it is missing."""
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise FileProblem(f"{str(place)!r} is a file. Choose a folder for study.json and points.parquet.")
    trials = [trial_to_plain(trial) for trial in result.trials]
    whole = {f.name: getattr(result, f.name) for f in fields(StudyResult) if f.name not in ("table", "trials")}
    whole["advice"] = [asdict(each) for each in result.advice]
    columns = ("shown", "values", "labels", "ids", "kept", "thumbnails", "near")  # of points.parquet
    whole["table"] = {f.name: getattr(result.table, f.name) for f in fields(ShownTable) if f.name not in columns}
    whole["table"] |= {"kept": list(result.table.kept), "preparation": asdict(result.table.preparation)}
    whole["trials"] = [record for record, _ in trials]
    text = json.dumps(to_plain({"format": FORMAT, **whole}), indent=1, ensure_ascii=False)
    place.mkdir(parents=True, exist_ok=True)
    write_columns(_columns(result.table, [arrays for _, arrays in trials]), place / POINTS)
    with atomic_write(place / JSON) as path:
        path.write_text(text, encoding="utf-8")
    return place


def load_study(folder: str | os.PathLike[str]) -> StudyResult:
    """Read a saved study.

    Examples
    --------
    >>> import tempfile
    >>> import lowland
    >>> study = lowland.compare(lowland.data.load_dataset("iris").X, methods=["pca"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = lowland.study.load_study(study.save(f"{folder}/iris"))
    >>> [trial.name for trial in again.trials]
    ['PCA']
    """
    place = Path(folder)
    for name in (JSON, POINTS):
        if not (place / name).is_file():
            raise MissingFile(f"{str(place)!r} contains no {name}. Pass the folder of a saved study.")
    try:
        whole = json.loads((place / JSON).read_text(encoding="utf-8"))
        if whole.pop("format") != FORMAT:
            raise FileProblem(f"{str(place)!r} was written by another version of Lowland. Run the study again.")
        points = read_columns(place / POINTS)
        whole["trials"] = tuple(_trial_at(i, record, points) for i, record in enumerate(whole["trials"]))
        whole["advice"] = tuple(Advice(**{**each, "evidence": tuple(each["evidence"])}) for each in whole["advice"])
        whole["table"] = _table(whole["table"], points)
        return StudyResult(**whole)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileProblem(f"The study in {str(place)!r} is damaged ({error}). Run it again.") from error


def _columns(table: ShownTable, trials: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The columns of points.parquet: row indices, labels, values to color by, and the coordinates of each trial."""
    columns: dict[str, np.ndarray] = {"row": table.shown}
    if table.ids is not None:
        columns["id"] = table.ids
    if table.labels is not None:
        columns["label"] = table.labels
    columns |= {f"kept {j}: {name}": values for j, (name, values) in enumerate(table.kept.items())}
    if table.thumbnails is not None:
        columns["thumbnail"] = table.thumbnails
    columns |= {f"column {j}: {name}": table.values[:, j] for j, name in enumerate(table.names)}
    for i, arrays in enumerate(trials):
        if "z" in arrays:
            columns |= {f"trial {i} z{j}": arrays["z"][:, j] for j in range(arrays["z"].shape[1])}
        columns |= {f"trial {i} {name}": values for name, values in arrays.items() if name != "z"}
    if table.near is not None:
        columns |= {f"near {j}": neighbors for j, neighbors in enumerate(table.near.T)}
    return columns


def _trial_at(i: int, record: dict[str, Any], points: dict[str, np.ndarray]) -> Trial:
    begin = f"trial {i} "
    own = {name.removeprefix(begin): values for name, values in points.items() if name.startswith(begin)}
    arrays = {name: values for name, values in own.items() if name.startswith("row:")}
    axes = [own[f"z{j}"] for j in range(len(own) - len(arrays))]
    if axes:
        arrays["z"] = np.column_stack(axes)
    return trial_from_plain(record, arrays)


def _table(record: dict[str, Any], points: dict[str, np.ndarray]) -> ShownTable:
    names = tuple(record["names"])
    shown = points["row"]
    values = [points[f"column {j}: {name}"] for j, name in enumerate(names)]
    stacked = np.column_stack(values) if values else np.empty((len(shown), 0), dtype=np.float32)
    kept = {name: points[f"kept {j}: {name}"] for j, name in enumerate(record.get("kept", ()))}
    prepared = Preparation(**record.get("preparation", {}))
    table = ShownTable(**{**record, "names": names, "kept": kept, "preparation": prepared}, shown=shown, values=stacked)
    near = [values for name, values in points.items() if name.startswith("near ")]
    return replace(
        table, labels=points.get("label"), ids=points.get("id"), thumbnails=points.get("thumbnail"),
        near=np.column_stack(near) if near else None,
    )  # fmt: skip
