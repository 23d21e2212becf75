"""What a study yields: plain data, which the report draws. Nothing here computes or formats."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

Purpose = Literal["see", "compress", "classify"]
Status = Literal["done", "failed", "timed out", "stopped", "left out"]


@dataclass(frozen=True)
class Score:
    """A measure of a trial; low and high are its 95 % interval where it comes from a sample."""

    value: float
    better: Literal["lower", "higher"]
    about: str  # one sentence
    low: float | None = None
    high: float | None = None
    n_tested: int = 0  # held-out rows, the same ones for every trial, and
    correct_bits: str = ""  # which of them were classified correctly, as bits in hex
    labels_seen: bool = False  # whether the method was fitted with the labels that this counts: a lead, not a proof


@dataclass(frozen=True, eq=False)
class Curve:
    """Numbers against numbers: R_NX over neighbours, distortion over components, a cloud of pairs of distances."""

    x: np.ndarray  # (p,)
    y: np.ndarray  # (p,)
    x_name: str
    y_name: str
    kind: Literal["line", "cloud"] = "line"


@dataclass(frozen=True, eq=False)
class Trial:
    """One method with its parameters on the table: what it took, how good it is, or why there is nothing."""

    name: str  # no other trial of the study has it, such as "Isomap" or "Isomap n_neighbors=20"
    method: str  # the class
    parameters: dict[str, Any]  # those not at their default
    status: Status
    error: str | None = None  # a sentence, where the status is not "done"
    warnings: tuple[str, ...] = ()
    seconds: float | None = None  # of the fit
    memory: int | None = None  # bytes at its peak, beyond what was there before
    cached: bool = False  # read from disk: seconds and memory are those of the time when it was fitted
    n_excluded: int = 0  # rows without coordinates
    n_components: int | None = None
    scores: dict[str, Score] = field(default_factory=dict)  # by the measure's name
    # "R_NX", "scree", "distortion", "residual variance", "Shepard":
    curves: dict[str, Curve] = field(default_factory=dict)
    per_row: dict[str, np.ndarray] = field(default_factory=dict)  # (m,) float32, of the rows shown, by measure
    Z: np.ndarray | None = None  # (m, k) float32, coordinates of the rows shown; NaN for rows excluded


@dataclass(frozen=True, eq=False)
class Table:
    """The data of a study, as much of it as is drawn."""

    source: str
    rows: int
    columns: int
    fingerprint: str  # of all values: what trials are cached by
    shown: np.ndarray  # (m,) int64, which rows are drawn
    names: tuple[str, ...]  # of the columns whose values are kept below
    values: np.ndarray  # (m, c) float32, of the rows shown, to colour by
    label_name: str | None = None
    labels: np.ndarray | None = None  # (m,) texts, or floats
    scaled: bool = False  # whether the methods saw standardised columns


@dataclass(frozen=True)
class Advice:
    """What the study would choose for a purpose, with the evidence, in words a person understands."""

    purpose: Purpose
    trial: str | None  # its name; None where nothing can be advised
    n_components: int | None  # how many dimensions
    text: str  # a few sentences
    evidence: tuple[str, ...]  # one sentence each
    method: str | None = None  # the class, also where no trial had so many dimensions


@dataclass(frozen=True, eq=False, repr=False)
class StudyResult:
    """All trials, what they say together, and what is needed to repeat them."""

    table: Table
    trials: tuple[Trial, ...]
    advice: tuple[Advice, ...]  # that of the stated purpose first
    k: int  # dimensions asked for
    purpose: Purpose
    command: str  # what was called, in Python or on the command line
    versions: dict[str, str]  # of Lowland, Python and the libraries
    machine: dict[str, str]  # processor, cores, memory
    started: str  # date and time
    seconds: float
    complete: bool = True  # False where it was stopped before its end

    def __repr__(self) -> str:
        done = sum(trial.status == "done" for trial in self.trials)
        advice = " ".join(each.text for each in self.advice[:1])
        return f"Study of {self.table.source}: {done} of {len(self.trials)} trials done. {advice}".rstrip()

    def __getitem__(self, name: str) -> Trial:
        """Return the trial of this name; a method's verb, such as "pca", will do."""
        from lowland.methods.registry import entries

        verbs = {entry.verb: entry.name for entry in entries().values()}
        found = next((trial for trial in self.trials if trial.name in (name, verbs.get(name))), None)
        if found is None:
            raise KeyError(f"There is no trial {name!r}. The trials: {', '.join(trial.name for trial in self.trials)}.")
        return found

    def scores(self) -> dict[str, list[Any]]:
        """Return a table of the trials that are done, column by column, as ``pandas.DataFrame`` takes it."""
        done = [trial for trial in self.trials if trial.status == "done"]
        measures = dict.fromkeys(name for trial in done for name in trial.scores)
        resources = {name: [getattr(t, name) for t in done] for name in ("seconds", "memory")}
        values = {name: [t.scores[name].value if name in t.scores else None for t in done] for name in measures}
        return {"trial": [t.name for t in done], **resources, **values}

    def estimator(self, which: str | None = None) -> Any:
        """Return what a piece of advice, or a trial, stands for, ready to be fitted.

        ``which`` is a purpose or the name of a trial; None: the purpose that was stated. Where the study standardised
        the columns, it is a pipeline that does so, too.
        """
        from lowland.study.estimators import chosen_estimator

        return chosen_estimator(self, which)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the study as one page that opens offline, in place of what was there, and return where it is."""
        from lowland.study.report import write_report

        return write_report(self, path)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write the study as study.json and points.parquet into a folder; ``lowland.study.load_study`` reads them."""
        from lowland.study.serialization import save_study

        return save_study(self, folder)
