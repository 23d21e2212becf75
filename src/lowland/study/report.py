"""The report of a study: one HTML file that works offline, and tables for notebooks."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.write import atomic_write
from lowland.errors import FileProblem, MissingFile, ParameterError, unmarked
from lowland.evidence.reliability import CLASSES
from lowland.pages.bundle import page_text, script
from lowland.plain import html_table, to_plain
from lowland.study.definitions import meaning_of
from lowland.study.overlays import drawn_columns
from lowland.study.result import ShownTable, StudyResult, Trial, title_of
from lowland.study.significance import differ
from lowland.trial.records import Score
from lowland.trial.scores import RELIABILITY, STABILITY, neighbors_for


def write_report(result: StudyResult, path: str | os.PathLike[str]) -> Path:
    """Write the report of a study as one HTML file that opens offline, and return its path."""
    target = Path(path)
    if target.is_dir():
        raise FileProblem(f"{str(target)!r} is a folder. Choose a file, such as {str(target / 'report.html')!r}.")
    check_name(target)
    if not target.parent.is_dir():
        raise MissingFile(
            f"The folder {target.parent} does not exist. Create it, or choose another path for the report."
        )
    text = report_html(result)
    with atomic_write(target) as path:
        path.write_text(text, encoding="utf-8", newline="\n")
    return target


def check_name(path: Path) -> None:
    """Reject a file name that is not HTML."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"{str(path)!r}: the report is an HTML file. Choose a name that ends in .html.")


def report_html(result: StudyResult) -> str:
    """Return the report of a study as the text of one HTML page."""
    said, blocks = content(result)
    style, code = f"{page_text('view/view.css')}\n{page_text('report/report.css')}", script("report/page.js")
    numbers = "\n".join(
        f'<script type="text/plain" id="block-{i}">{text}</script>' for i, text in enumerate(blocks.texts)
    )
    # Only the script with this hash may run, whatever the data contains; nothing may be fetched, sent or embedded.
    policy = (
        f"default-src 'none'; script-src {_hash(code)}; style-src {_hash(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    page = page_text("report/report.html")
    for mark, text in (
        ("<!-- policy -->", f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        ("<!-- style -->", f"<style>{style}</style>"),
        ("<!-- script -->", f"<script>{code}</script>"),
        ("<!-- study -->", f'<script type="application/json" id="study">{as_json(said)}</script>\n{numbers}'),
    ):  # the data comes last, so that marks inside it are not replaced
        before, _, after = page.partition(mark)
        page = f"{before}{text}{after}"
    return page


def as_json(value: Any) -> str:
    """JSON that is safe inside a page: it cannot end its element or start another."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))  # ASCII only, so U+2028 is escaped too
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


MAX_BYTES = 24_000_000  # of coordinates: if all components take more, only the first two are included
MAX_EXACT = 2_000_000  # values of columns: above it, they are rounded to steps of their range
MAX_CLASSES = 60  # more numeric labels than this are colored on a continuous scale


def content(result: StudyResult) -> tuple[dict[str, Any], Blocks]:
    """Return the study as plain data, and the blocks of numbers to which it refers."""
    blocks = Blocks()
    table, trials = result.table, result.trials
    measures = row_measures(trials)
    names = dict.fromkeys(name for trial in trials for name in trial.scores)
    titles: dict[str | None, str] = {trial.name: trial.title for trial in trials}
    best = {name: _best(name, trials) for name in names}
    leading = {trial.name for trial in trials if STABILITY in trial.scores} | {a.trial for a in result.advice}
    sizes = sum(2 * trial.Z.size for trial in trials if trial.Z is not None)
    most = None if sizes <= MAX_BYTES else 2
    shown = {
        "table": _table(table, blocks),
        "measures": list(measures.values()),
        "meanings": {name: meaning_of(name, trials) for name in names},
        "classes": CLASSES,
        "neighbors": neighbors_for(table.rows),
        "trials": [
            _trial(trial, measures, best, len(trials), most, blocks)
            | {"drawn": drawn_columns(trial, table, blocks.add, surfaces=trial.name in leading)}
            for trial in trials
        ],
        "advice": [
            {
                **vars(a),
                "trial": titles.get(a.trial, a.trial),
                "method": a.method and title_of(a.method),
                "evidence": [unmarked(text) for text in a.evidence],
            }
            for a in result.advice
        ],
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


def row_measures(trials: tuple[Trial, ...]) -> dict[str, dict[str, Any]]:
    """Return the measures per row with their range over all trials, so that a color means the same in every panel."""
    better = {name: score.better for trial in reversed(trials) for name, score in trial.scores.items()}
    measures = {}
    for name in dict.fromkeys(name for trial in trials for name in trial.per_row if name != RELIABILITY):
        every = np.concatenate([np.asarray(trial.per_row[name]) for trial in trials if name in trial.per_row])
        low, high = value_range(every)
        measures[name] = {"name": name, "better": better.get(name), "low": low, "high": high}
    return measures


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
        "preparation": _preparation(table),
        "drawn": len(shown),
        "shown": None if all_shown else blocks.add(shown.astype(kept)),
        "kept": [
            {"name": name, **column(values, blocks, table.values.size <= MAX_EXACT)}
            for name, values in zip(table.names, table.values.T, strict=True)
        ],
        "ids": None if table.ids is None else {"name": table.id_name or "id", "texts": _texts(table.ids)},
        "carried": [_label(name, values, blocks) for name, values in table.kept.items()],
        "label": None if table.labels is None else _label(table.label_name or "label", table.labels, blocks),
        "thumbnails": None if table.thumbnails is None else blocks.add_texts(table.thumbnails),
        "near": None if table.near is None else blocks.add(table.near.astype(np.uint16)) | {"k": table.near.shape[1]},
    }


def _preparation(table: ShownTable) -> dict[str, Any] | None:
    """What was done with the columns: one line, and one sentence per column."""
    found = table.preparation
    if not found.report:
        return None
    unused = [name for name, text in found.report.items() if text.endswith("not used")]
    parts = [
        f"{table.columns} columns are used" + f", as {found.n_encoded} numbers" * (found.n_encoded != table.columns)
    ]
    parts += ["numbers are standardized"] * table.scaled
    listed = ", ".join(unused[:4]) + f" and {len(unused) - 4} more" * (len(unused) > 4)
    parts += [f"not used: {listed}"] * bool(unused)
    return {
        "line": "; ".join(parts) + ".",
        "missing": found.missing,
        "columns": [{"name": name, "text": text} for name, text in found.report.items()],
    }


def _label(name: str, labels: np.ndarray, blocks: Blocks) -> dict[str, Any]:
    """Labels as named classes, or as a numeric column if they are continuous or many numbers."""
    labels = np.asarray(labels)
    if labels.dtype.kind != "f":
        texts = _texts(labels)
        classes = sort_levels({text for text in texts if text is not None})
        try:
            labels = np.array([np.nan if text is None else float(text) for text in texts])
            are_numbers = len(classes) > MAX_CLASSES and all(math.isfinite(float(text)) for text in classes)
        except ValueError:
            are_numbers = False
        if not are_numbers:
            return {"name": name, "classes": classes, **blocks.add(codes_of(texts, classes))}
    return {"name": name, "classes": None, **column(labels, blocks)}


def _texts(values: np.ndarray) -> list[str | None]:
    """Values as text. None means missing."""
    plain = np.asarray(values).tolist()
    return [None if each is None or (isinstance(each, float) and each != each) else str(each) for each in plain]


def sort_levels(classes: set[str]) -> list[str]:
    """Return levels in natural order: by number if all are numbers, otherwise "class 9" before "class 10"."""

    def counted(text: str) -> list[tuple[int, str]]:
        parts = re.split(r"0*([0-9]+)", text)  # text at even indices, integers at odd ones: the longer is the larger
        return [(len(part) if i % 2 else 0, part) for i, part in enumerate(parts)]

    try:
        return sorted(classes, key=lambda text: (float(text), text))
    except ValueError:
        return sorted(classes, key=counted)


def _best(name: str, trials: tuple[Trial, ...]) -> Score | None:
    """The best score of a measure, without scores that use the labels to which the method was fitted."""
    known = [t.scores[name] for t in trials if name in t.scores and not t.scores[name].labels_seen]
    known = [score for score in known if np.isfinite(score.value)]
    return max(known, key=lambda s: s.value if s.better == "higher" else -s.value, default=None)


def _trial(
    trial: Trial, measures: dict[str, Any], best: dict[str, Score | None], tried: int, most: int | None, blocks: Blocks
) -> dict[str, Any]:
    scores = {}
    for name, score in trial.scores.items():  # near: not significantly different from the best
        shown = {key: value for key, value in vars(score).items() if key not in ("n_tested", "correct_bits", "by_fold")}
        other = None if score.labels_seen else best.get(name)
        scores[name] = {**shown, "near": other is not None and differ(score, other, tried) is False}
    curves = {
        name: {**vars(curve), **{axis: blocks.add(getattr(curve, axis).astype(np.float32)) for axis in ("x", "y")}}
        for name, curve in trial.curves.items()
    }
    return {
        "name": trial.title,
        "method": trial.method,
        "parameters": to_plain(trial.parameters, non_finite=str),
        "status": trial.status,
        "error": trial.error and unmarked(trial.error),
        "warnings": [unmarked(text) for text in trial.warnings],
        "seconds": trial.seconds,
        "memory": trial.memory,
        "cached": trial.cached,
        "components": trial.n_components,
        "axes": trial.axes,
        "scores": scores,
        "curves": curves,
        "per_row": {
            name: blocks.add(round_to_steps(values, measures[name]["low"], measures[name]["high"], SHADES))
            for name, values in trial.per_row.items()
            if name != RELIABILITY
        },
        "classes": None if RELIABILITY not in trial.per_row else blocks.add(class_codes(trial.per_row[RELIABILITY])),
        "Z": None if trial.Z is None or trial.Z.shape[1] == 0 else _embedding(trial.Z, most, blocks),
    }


def class_codes(values: np.ndarray) -> np.ndarray:
    """The reliability classes per row, (m,) uint8; a row without one has the code after the last."""
    return np.where(np.isfinite(values), values, len(CLASSES)).astype(np.uint8)


def _embedding(Z: np.ndarray, most: int | None, blocks: Blocks) -> dict[str, Any]:
    """Coordinates rounded to 65,534 steps of a range of each component, one component after the other.

    If a few outliers would shrink the others to a dot, the range is that of the others, and the outliers are added as
    ``far``: their rows, and their positions in the same steps, below 0 or above 65,534.
    """
    Z = np.where(np.isfinite(Z).all(axis=1, keepdims=True), Z, np.nan)
    ranges = [bulk_range(z) for z in Z.T[:most]]
    steps = np.stack([round_to_steps(z, *r, STEPS) for z, r in zip(Z.T[:most], ranges, strict=True)])  # (kept, m)
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


STEPS = 65_534  # coordinates and values are rounded to this many steps of their range; the next code means "missing"
SHADES = 254  # the same for values that only set a color


@dataclass
class Blocks:
    """The arrays of one page, in order."""

    texts: list[str] = field(default_factory=list)

    def add(self, array: np.ndarray) -> dict[str, Any]:
        """Add an array; return the index of its block and its data type."""
        kind = {"u1": "u1", "u2": "u2", "u4": "u4", "f4": "f4", "f8": "f8"}[array.dtype.str[1:]]
        little = np.ascontiguousarray(array, dtype=np.dtype(kind).newbyteorder("<"))
        self.texts.append(base64.b64encode(little.tobytes()).decode("ascii"))
        return {"block": len(self.texts) - 1, "kind": kind}

    def add_texts(self, texts: Iterable[str]) -> dict[str, Any]:
        """Add texts without spaces; return the index of their block."""
        self.texts.append(" ".join(texts))
        return {"block": len(self.texts) - 1}


def column(values: np.ndarray, blocks: Blocks, exact: bool = True) -> dict[str, Any]:
    """Encode a column: one byte per value for few distinct values, else exact, or in 65,534 steps of its range."""
    values = np.asarray(values, dtype=np.float64)
    present = np.isfinite(values)
    # the distinct values, unless there are more than a byte can encode; the first ones avoid sorting long columns
    levels = np.unique(values[present]) if len(np.unique(values[present][:1000])) <= 255 else np.empty(256)
    if len(levels) <= 255:
        codes = np.full(len(values), 255, dtype=np.uint8)
        codes[present] = np.searchsorted(levels, values[present])
        return {**blocks.add(codes), "levels": levels.tolist()}
    low, high = value_range(values)
    if exact and max(-low, high) < float(np.finfo(np.float32).max):
        return {**blocks.add(np.where(present, values, np.nan).astype(np.float32)), "low": low, "high": high}
    return {**blocks.add(round_to_steps(values, low, high, STEPS)), "low": low, "high": high}


def round_to_steps(values: np.ndarray, low: float, high: float, steps: int) -> np.ndarray:
    """Values as integer steps between low and high; a non-finite value becomes the largest number of the type."""
    dtype = np.uint8 if steps <= SHADES else np.uint16
    values = np.asarray(values, dtype=np.float64)
    present = np.isfinite(values)
    codes = np.full(values.shape, np.iinfo(dtype).max, dtype=dtype)
    width = high - low
    # Halving before the subtraction keeps a range from -1e308 to 1e308 finite.
    fraction = (
        (values[present] / 2 - low / 2) / (width / 2 if np.isfinite(width) else high / 2 - low / 2) if width else 0.0
    )
    codes[present] = np.rint(np.clip(fraction, 0, 1) * steps).astype(dtype)
    return codes


def value_range(values: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest finite value; 0 and 0 if there is none."""
    present = values[np.isfinite(values)]
    return (float(present.min()), float(present.max())) if present.size else (0.0, 0.0)


def bulk_range(values: np.ndarray) -> tuple[float, float]:
    """The range of the values to which an axis is fitted: without outliers, if they are few and far.

    The bulk is what remains without 0.5% of the values at each end, or 3 of 75 or more. Values beyond half its width
    from it are outliers if the range of the others is at most a third of the whole.
    """
    low, high = value_range(values)
    present = np.sort(values[np.isfinite(values)].astype(np.float64))
    few = max(int(0.005 * len(present)), min(3, len(present) // 25))
    if not 0 < few < len(present) / 2:
        return low, high
    first, last = present[few], present[-1 - few]
    edge = (last - first) / 2
    inside = present[(present >= first - edge) & (present <= last + edge)]
    if not 0 < 3 * (inside[-1] - inside[0]) <= high - low < math.inf:
        return low, high
    return float(inside[0]), float(inside[-1])


def codes_of(texts: list[str | None], names: list[str]) -> np.ndarray:
    """The index of each text among the names, in the smallest type; its largest number means "missing"."""
    dtype = next(t for t in (np.uint8, np.uint16, np.uint32) if len(names) < np.iinfo(t).max)
    place: dict[str | None, int] = {name: i for i, name in enumerate(names)}
    place[None] = int(np.iinfo(dtype).max)
    return np.fromiter((place[text] for text in texts), dtype=dtype, count=len(texts))


_MOST_MEASURES = 5  # columns of the table of a study


def study_html(result: StudyResult) -> str:
    """Return all advice, and a table of all trials with their first scores; the best trials come first."""
    trials = result.trials
    fullest = max(trials, key=lambda trial: len(trial.scores), default=None)
    measures = list(fullest.scores)[:_MOST_MEASURES] if fullest else []
    first = measures[0] if measures else ""

    def rank(trial: Trial) -> tuple[bool, bool, float]:
        """Sort the best first, then optimistic values, then missing ones."""
        score = trial.scores.get(first)
        if score is None or score.value != score.value:
            return True, True, 0.0
        return False, score.labels_seen, -score.value if score.better == "higher" else score.value

    ordered = sorted((trial for trial in trials if trial.status != "left out"), key=rank)
    better = {name: trial.scores[name].better for trial in trials for name in trial.scores}
    head = ("trial", *(f"{name} {_ARROWS[better[name]]}" for name in measures), "seconds", "")
    rows = [
        (t.title, *(_value(t.scores.get(name)) for name in measures), t.seconds, "" if t.status == "done" else t.status)
        for t in ordered
    ]
    said, advice = str(result).split("\n")[0], [(each.purpose, each.text) for each in result.advice]
    return html_table(advice, caption=said) + (html_table(rows, head) if rows else "")


def trial_html(trial: Trial) -> str:
    """Return the status, costs, parameters and scores of a trial as a table."""
    settings = ", ".join(f"{name}={value!r}" for name, value in trial.parameters.items())
    rows: list[tuple[object, ...]] = [
        ("status", trial.status if trial.error is None else f"{trial.status}: {unmarked(trial.error)}")
    ]
    rows += [("parameters", settings or "defaults"), ("dimensions", trial.n_components), ("seconds", trial.seconds)]
    rows += [(f"{name} {_ARROWS[score.better]}", _value(score)) for name, score in trial.scores.items()]
    rows += [("warning", unmarked(text)) for text in trial.warnings]
    return html_table(rows, caption=trial.title)


_ARROWS = {"higher": "↑", "lower": "↓"}


def _value(score: Score | None) -> str | None:
    if score is None or score.value != score.value:
        return None
    interval = "" if score.low is None or score.high is None else f" ({score.low:.3g} to {score.high:.3g})"
    return f"{score.value:.4g}{interval}{' †' if score.labels_seen else ''}"
