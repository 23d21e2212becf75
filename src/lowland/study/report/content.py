"""The content of the page: a StudyResult as plain data for JSON, with its arrays in blocks."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from lowland.errors import unmarked
from lowland.plain import to_plain
from lowland.study.report.columns import SHADES, STEPS, Blocks, bulk_range, codes_of, column, rounded, value_range
from lowland.study.report.definitions import meaning_of
from lowland.study.result import Curve, Score, ShownTable, StudyResult, Trial
from lowland.study.scoring.measures import neighbors_for
from lowland.study.scoring.significance import differ

MAX_BYTES = 24_000_000  # of coordinates: if all components take more, only the first two are included
MAX_EXACT = 2_000_000  # values of columns: above it, they are rounded to steps of their range
MAX_CLASSES = 60  # more numeric labels than this are colored on a continuous scale


def content(result: StudyResult) -> tuple[dict[str, Any], Blocks]:
    """Return the study as plain data, and the blocks of numbers to which it refers."""
    blocks = Blocks()
    table, trials = result.table, result.trials
    measures = {name: _measure(name, trials) for trial in trials for name in trial.per_row}
    names = dict.fromkeys(name for trial in trials for name in trial.scores)
    best = {name: _best(name, trials) for name in names}
    sizes = sum(2 * trial.Z.size for trial in trials if trial.Z is not None)
    most = None if sizes <= MAX_BYTES else 2
    shown = {
        "table": _table(table, blocks),
        "measures": list(measures.values()),
        "meanings": {name: meaning_of(name, trials) for name in names},
        "neighbors": neighbors_for(table.rows),
        "trials": [_trial(trial, measures, best, most, blocks) for trial in trials],
        "advice": [vars(advice) for advice in result.advice],
        "k": result.k,
        "purpose": result.purpose,
        "command": result.command,
        "versions": {str(name): str(version) for name, version in result.versions.items()},
        "machine": {str(name): str(value) for name, value in result.machine.items()},
        "started": result.started,
        "seconds": result.seconds,
        "complete": result.complete,
    }
    return to_plain(shown, unknown=str), blocks


def _table(table: ShownTable, blocks: Blocks) -> dict[str, Any]:
    shown = np.asarray(table.shown)
    all_shown = len(shown) == table.rows and bool(np.array_equal(shown, np.arange(table.rows)))
    kept = np.uint32 if len(shown) == 0 or shown.max() <= np.iinfo(np.uint32).max else np.float64
    return {
        "source": table.source,
        "rows": table.rows,
        "columns": table.columns,
        "fingerprint": table.fingerprint,
        "scaled": table.scaled,
        "drawn": len(shown),
        "shown": None if all_shown else blocks.add(shown.astype(kept)),
        "kept": [
            {"name": name, **column(values, blocks, table.values.size <= MAX_EXACT)}
            for name, values in zip(table.names, table.values.T, strict=True)
        ],
        "ids": None if table.ids is None else _ids(table.id_name or "id", table.ids),
        "carried": [_label(name, values, blocks) for name, values in table.kept.items()],
        "label": None if table.labels is None else _label(table.label_name or "label", table.labels, blocks),
        "thumbnails": None if table.thumbnails is None else blocks.add_texts(table.thumbnails),
    }


def _ids(name: str, ids: np.ndarray) -> dict[str, Any]:
    """The ids as text, one per row shown; None: missing."""
    return {"name": name, "texts": [None if _is_missing(each) else str(each) for each in np.asarray(ids).tolist()]}


def _label(name: str, labels: np.ndarray, blocks: Blocks) -> dict[str, Any]:
    """Labels as named classes, or as a numeric column if they are continuous or many numbers."""
    labels = np.asarray(labels)
    if labels.dtype.kind != "f":
        texts = [None if _is_missing(label) else str(label) for label in labels.tolist()]
        classes = _in_order({text for text in texts if text is not None})
        if len(classes) <= MAX_CLASSES or not all(map(_is_number, classes)):
            return {"name": name, "classes": classes, **blocks.add(codes_of(texts, classes))}
        labels = np.array([np.nan if text is None else float(text) for text in texts])
    return {"name": name, "classes": None, **column(labels, blocks)}


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _is_missing(label: Any) -> bool:
    return label is None or (isinstance(label, float) and label != label)


def _in_order(classes: set[str]) -> list[str]:
    """Natural order: by number if all are numbers, otherwise "class 9" before "class 10"."""
    try:
        return sorted(classes, key=lambda text: (float(text), text))
    except ValueError:
        return sorted(classes, key=_counted)


def _counted(text: str) -> list[tuple[int, str]]:
    parts = re.split(r"0*([0-9]+)", text)  # text at even indices, integers at odd ones: the longer is the larger
    return [(len(part) if i % 2 else 0, part) for i, part in enumerate(parts)]


def _measure(name: str, trials: tuple[Trial, ...]) -> dict[str, Any]:
    """A measure per row, with its range over all trials, so that a color means the same in every panel."""
    ranges = [value_range(np.asarray(trial.per_row[name])) for trial in trials if name in trial.per_row]
    better = next((trial.scores[name].better for trial in trials if name in trial.scores), None)
    return {"name": name, "better": better, "low": min(r[0] for r in ranges), "high": max(r[1] for r in ranges)}


def _best(name: str, trials: tuple[Trial, ...]) -> Score | None:
    """The best score of a measure, without scores that use the labels to which the method was fitted."""
    known = [t.scores[name] for t in trials if name in t.scores and not t.scores[name].labels_seen]
    known = [score for score in known if np.isfinite(score.value)]
    return max(known, key=lambda s: s.value if s.better == "higher" else -s.value, default=None)


def _score(score: Score, best: Score | None) -> dict[str, Any]:
    """A score, and whether it is not significantly different from the best."""
    shown = {name: value for name, value in vars(score).items() if name not in ("n_tested", "correct_bits")}
    return {**shown, "near": best is not None and not score.labels_seen and differ(score, best) is False}


def _trial(
    trial: Trial, measures: dict[str, Any], best: dict[str, Score | None], most: int | None, blocks: Blocks
) -> dict[str, Any]:
    return {
        "name": trial.name,
        "method": trial.method,
        "parameters": to_plain(trial.parameters, non_finite=str),
        "status": trial.status,
        "error": trial.error and unmarked(trial.error),
        "warnings": [unmarked(text) for text in trial.warnings],
        "seconds": trial.seconds,
        "memory": trial.memory,
        "cached": trial.cached,
        "components": trial.n_components,
        "scores": {name: _score(score, best.get(name)) for name, score in trial.scores.items()},
        "curves": {name: _curve(curve, blocks) for name, curve in trial.curves.items()},
        "per_row": {
            name: blocks.add(rounded(values, measures[name]["low"], measures[name]["high"], SHADES))
            for name, values in trial.per_row.items()
        },
        "Z": None if trial.Z is None or trial.Z.shape[1] == 0 else _embedding(trial.Z, most, blocks),
    }


def _curve(curve: Curve, blocks: Blocks) -> dict[str, Any]:
    x, y = (blocks.add(np.asarray(values, dtype=np.float32)) for values in (curve.x, curve.y))
    return {"x": x, "y": y, "x_name": curve.x_name, "y_name": curve.y_name, "kind": curve.kind}


def _embedding(Z: np.ndarray, most: int | None, blocks: Blocks) -> dict[str, Any]:
    """Coordinates rounded to 65,534 steps of a range of each component, one component after the other.

    If a few outliers would shrink the others to a dot, the range is that of the others, and the outliers are added as
    ``far``: their rows, and their positions in the same steps, below 0 or above 65,534.
    """
    Z = np.where(np.isfinite(Z).all(axis=1, keepdims=True), Z, np.nan)
    ranges = [bulk_range(z) for z in Z.T[:most]]
    steps = np.stack([rounded(z, *r, STEPS) for z, r in zip(Z.T[:most], ranges, strict=True)])  # (kept, m)
    return {
        **blocks.add(steps),
        "low": [low for low, _ in ranges],
        "high": [high for _, high in ranges],
        "far": [_far(z, *r, blocks) for z, r in zip(Z.T[:most], ranges, strict=True)],
        "components": Z.shape[1],
        "n_excluded": int(np.isnan(Z[:, 0]).sum()),
    }


def _far(z: np.ndarray, low: float, high: float, blocks: Blocks) -> dict[str, Any] | None:
    """The rows outside of the range, and their positions in steps."""
    with np.errstate(invalid="ignore"):
        rows = np.flatnonzero((z < low) | (z > high))
    if not len(rows):
        return None
    at = np.clip((z[rows].astype(np.float64) - low) / (high - low) * STEPS, -1e30, 1e30)
    at[at == STEPS + 1] += 1  # the code of a missing value
    return {"rows": blocks.add(rows.astype(np.uint32)), "at": blocks.add(at.astype(np.float32))}
