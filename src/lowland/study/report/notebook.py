"""Studies and trials as HTML tables, which a notebook shows. The report of a study shows much more."""

from __future__ import annotations

from lowland.errors import unmarked
from lowland.plain import html_table
from lowland.study.result import Score, StudyResult, Trial

_MOST_MEASURES = 5  # columns of the table of a study


def study_html(result: StudyResult) -> str:
    """Return the advice, and a table of all trials with their first scores; the best trials come first."""
    trials = result.trials
    fullest = max(trials, key=lambda trial: len(trial.scores), default=None)
    measures = list(fullest.scores)[:_MOST_MEASURES] if fullest else []
    first = measures[0] if measures else ""
    ordered = sorted(trials, key=lambda trial: _rank(trial.scores.get(first)))
    head = ("trial", *(f"{name} {_arrow(trials, name)}" for name in measures), "seconds", "")
    rows = [
        (t.name, *(_value(t.scores.get(name)) for name in measures), t.seconds, "" if t.status == "done" else t.status)
        for t in ordered
    ]
    return html_table(rows, head, str(result)) if rows else html_table([(str(result),)])


def trial_html(trial: Trial) -> str:
    """Return the status, costs, parameters and scores of a trial as a table."""
    settings = ", ".join(f"{name}={value!r}" for name, value in trial.parameters.items())
    rows: list[tuple[object, ...]] = [
        ("status", trial.status if trial.error is None else f"{trial.status}: {unmarked(trial.error)}")
    ]
    rows += [("parameters", settings or "defaults"), ("dimensions", trial.n_components), ("seconds", trial.seconds)]
    rows += [(f"{name} {_ARROWS[score.better]}", _value(score)) for name, score in trial.scores.items()]
    rows += [("warning", unmarked(text)) for text in trial.warnings]
    return html_table(rows, caption=trial.name)


_ARROWS = {"higher": "↑", "lower": "↓"}


def _arrow(trials: tuple[Trial, ...], name: str) -> str:
    return next(_ARROWS[trial.scores[name].better] for trial in trials if name in trial.scores)


def _rank(score: Score | None) -> tuple[bool, bool, float]:
    """Sort the best first, then optimistic values, then missing ones."""
    if score is None or score.value != score.value:
        return True, True, 0.0
    return False, score.labels_seen, -score.value if score.better == "higher" else score.value


def _value(score: Score | None) -> str | None:
    if score is None or score.value != score.value:
        return None
    interval = "" if score.low is None or score.high is None else f" ({score.low:.3g} to {score.high:.3g})"
    return f"{score.value:.4g}{interval}{' †' if score.labels_seen else ''}"
