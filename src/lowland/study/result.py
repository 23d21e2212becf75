"""The result of a study, as plain data."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from lowland.errors import ParameterError, unmarked
from lowland.methods.registry import entries
from lowland.plain import html_list, html_table
from lowland.trial.parameters import Purpose
from lowland.trial.records import Curve, Score

GIVEN = "given coordinates"  # the method of a trial of the user: coordinates, or an estimator in the parameters
Status = Literal["done", "failed", "timed out", "stopped", "left out"]


def title_of(method: str) -> str:
    """Return the name of a method as people write it, given the name of its class."""
    entry = entries().get(method)
    return method if entry is None else entry.title


@dataclass(frozen=True, eq=False)
class Trial:
    """One method with one parameter setting: time, memory, scores and coordinates, or why there are none."""

    name: str  # unique in the study, such as "Isomap" or "Isomap n_neighbors=20"
    method: str  # name of the class, or GIVEN
    parameters: dict[str, Any]  # those not at their default
    status: Status
    error: str | None = None  # a sentence, unless the status is "done"; parameters are in backticks
    warnings: tuple[str, ...] = ()
    seconds: float | None = None  # of the fit
    memory: int | None = None  # peak bytes above the level before the fit
    cached: bool = False  # read from the cache: seconds and memory are those of the original fit
    n_excluded: int = 0  # rows without coordinates
    n_components: int | None = None
    scores: dict[str, Score] = field(default_factory=dict)  # by name of the measure
    # "R_NX", "scree", "distortion", "residual variance", "Shepard":
    curves: dict[str, Curve] = field(default_factory=dict)
    per_row: dict[str, np.ndarray] = field(default_factory=dict)  # (m,) float32, per row shown, by name of the measure
    axes: tuple[dict[str, Any], ...] = ()  # name, explained variance ratio and leading columns, if known
    Z: np.ndarray | None = None  # (m, k) float32, coordinates of the rows shown; NaN for excluded rows

    @property
    def title(self) -> str:
        """The name with the method as people write it, such as "t-SNE perplexity=5"."""
        settings = self.name.removeprefix(self.method)
        return self.name if settings == self.name else title_of(self.method) + settings

    def _repr_html_(self) -> str:
        from lowland.study.report import trial_html

        return trial_html(self)


@dataclass(frozen=True)
class Preparation:
    """What was done with the columns before any method was fitted."""

    report: dict[str, str] = field(default_factory=dict)  # by column; empty: all are used as they are
    missing: str | None = None  # which values were replaced or which rows were dropped, as a sentence
    missing_fraction: float = 0.0  # of the numbers
    n_encoded: int = 0  # columns of numbers to which the methods are fitted
    step: dict[str, Any] | None = None  # parameters of the ``TablePreparer``; None: there is none
    named: bool = True  # whether the columns have names
    n_categories: int = 0  # columns of categories among the features
    counts: Literal["dense", "sparse"] | None = None  # counts were weighted by TF-IDF: an array, or a large sparse one


@dataclass(frozen=True, eq=False)
class ShownTable:
    """The data of a study, as far as it is plotted."""

    source: str
    rows: int
    columns: int
    fingerprint: str  # hash of all values; trials are cached by it
    shown: np.ndarray  # (m,) int64, indices of the rows plotted
    names: tuple[str, ...]  # of the columns in ``values``
    values: np.ndarray  # (m, c) float32, for the rows shown, to color by
    label_name: str | None = None
    labels: np.ndarray | None = None  # (m,) strings or floats; None or NaN: missing
    scaled: bool = False  # whether the methods were fitted to standardized columns
    id_name: str | None = None
    ids: np.ndarray | None = None  # (m,) strings or numbers
    kept: dict[str, np.ndarray] = field(default_factory=dict)  # by name, (m,) strings or numbers: not features
    thumbnails: np.ndarray | None = None  # (m,) strings: PNG files in base64, if the rows are images
    preparation: Preparation = field(default_factory=Preparation)
    near: np.ndarray | None = None  # (m, k) nearest neighbors of each row in the data, if all rows are shown


@dataclass(frozen=True)
class Advice:
    """The method that the study recommends for a purpose, with the evidence."""

    purpose: Purpose
    trial: str | None  # its name; None if nothing is advised, or no trial has that many dimensions
    n_components: int | None  # number of dimensions
    text: str  # a few sentences
    evidence: tuple[str, ...]  # one sentence each, with parameters in backticks
    method: str | None = None  # name of the class, even if no trial has that many dimensions
    model: str | None = None  # to predict labels, what follows the method, or all columns if there is no method

    def _repr_html_(self) -> str:
        return html_table([(self.purpose, self.text)]) + html_list(map(unmarked, self.evidence))


@dataclass(frozen=True, eq=False, repr=False)
class StudyResult:
    """All trials, the advice, and what is needed to reproduce the study."""

    table: ShownTable
    trials: tuple[Trial, ...]
    advice: tuple[Advice, ...]  # for the purpose of the study first
    k: int  # requested number of dimensions
    purpose: Purpose
    command: str  # the call, in Python or on the command line
    versions: dict[str, str]  # of Lowland, Python and the libraries
    machine: dict[str, str]  # processor, cores, memory
    started: str  # date and time
    seconds: float
    complete: bool = True  # False if it was stopped early

    def __repr__(self) -> str:
        done = sum(trial.status == "done" for trial in self.trials)
        first = f"Study of {self.table.source}: {done} of {len(self.trials)} trials done."
        return "\n".join([first, *(each.text for each in self.advice)])

    def _repr_html_(self) -> str:
        from lowland.study.report import study_html

        return study_html(self)

    def __getitem__(self, name: str) -> Trial:
        """Return the trial with this name or title, or this command-line name of a method, such as "pca"."""
        verbs = {entry.verb: entry.name for entry in entries().values()}
        found = next((t for t in self.trials if t.name in (name, verbs.get(name)) or t.title == name), None)
        if found is None:
            raise KeyError(f"No trial is named {name!r}. The trials: {', '.join(trial.name for trial in self.trials)}.")
        return found

    def scores(self) -> dict[str, list[Any]]:
        """Return a table of the completed trials as a dict of columns, for ``pandas.DataFrame``."""
        done = [trial for trial in self.trials if trial.status == "done"]
        measures = dict.fromkeys(name for trial in done for name in trial.scores)
        resources = {name: [getattr(t, name) for t in done] for name in ("seconds", "memory")}
        values = {name: [t.scores[name].value if name in t.scores else None for t in done] for name in measures}
        return {"trial": [t.name for t in done], **resources, **values}

    def estimator(self, which: str | None = None) -> Any:
        """Return the unfitted estimator of a trial or of the advice for a purpose.

        ``which`` is a purpose or the name of a trial. None means the purpose of the study. If the study prepared the
        columns, the estimator is a pipeline that begins with a ``TablePreparer``. For the purpose "classify" it ends
        with the model whose accuracy or R² the advice states, so it has ``predict``.
        """
        from sklearn.base import clone
        from sklearn.pipeline import make_pipeline

        from lowland.methods.base.traits import traits_of
        from lowland.methods.registry import load_method
        from lowland.prepare.steps import CountWeights
        from lowland.prepare.table_preparer import TablePreparer
        from lowland.trial.prediction import steps_of_model

        name, parameters, model = self._chosen(which)
        if name == GIVEN and "estimator" not in parameters:
            raise ParameterError(
                "These coordinates were passed, not fitted, so there is no estimator. Pass the name of another trial."
            )
        found, steps = self.table.preparation, []
        reads = "numbers" if name is None or name == GIVEN else traits_of(load_method(name)).reads
        what = {"counts": "counts" if found.counts else "", "numbers": ""}.get(
            reads, "categories" * (found.n_categories > 0)
        )
        if what:
            raise ParameterError(
                f"{name} was fitted to the {what} themselves, which no pipeline of the study prepares. Fit {name} "
                "to a table without missing values, or pass the name of another trial."
            )
        if found.step is not None:
            steps.append(TablePreparer(**found.step, output="arrow" if found.named else "array"))
        elif found.counts is not None:
            steps.append(CountWeights(dense=found.counts == "dense"))
        if name == GIVEN:
            steps.append(clone(parameters["estimator"]))
        elif name is not None:
            steps.append(load_method(name)(**parameters))
        if model is not None:
            in_one_unit = found.n_categories > 0 or found.counts is not None
            steps += steps_of_model(model, standardized=name is None and in_one_unit)
        return steps[0] if len(steps) == 1 else make_pipeline(*steps)

    def _chosen(self, which: str | None) -> tuple[str | None, dict[str, Any], str | None]:
        """The method, its parameters and the model of a trial, or of the advice for a purpose."""
        if which is not None and which not in get_args(Purpose):
            try:
                return self[which].method, self[which].parameters, None
            except KeyError as error:
                purposes = ", ".join(get_args(Purpose))
                raise ParameterError(f"{error.args[0]} Or pass a purpose: {purposes}.") from None
        purpose = which or self.purpose
        advice = next((each for each in self.advice if each.purpose == purpose), None)
        if advice is None or (advice.method is None and advice.model is None):
            raise ParameterError(f"The study has no advice for {purpose!r}. Pass the name of a trial instead.")
        trial = None if advice.trial is None else self[advice.trial]
        if advice.method is None:
            return None, {}, advice.model
        if trial is not None and trial.n_components == advice.n_components:
            return trial.method, trial.parameters, advice.model
        from lowland.methods.base.traits import traits_of
        from lowland.methods.registry import load_method

        width = traits_of(load_method(advice.method)).width_parameter
        count = {} if width is None else {width: advice.n_components}  # a number of components that no trial has
        return advice.method, count if trial is None else {**trial.parameters, **count}, advice.model

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the report as one HTML file that opens offline, and return its path. An existing file is replaced."""
        from lowland.study.report import write_report

        return write_report(self, path)

    def explore(self, X: Any = None, **options: Any) -> Any:
        """Show the maps of the study in a notebook, linked, and return the widget, which has the selected rows.

        ``X`` is the data of the study, so that ``selected`` returns its rows. The options are ``color``, ``height`` and
        ``where``, as in ``lowland.explore``.
        """
        from lowland import explore

        return explore(self, **options) if X is None else explore(X, maps=self, **options)

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write study.json and points.parquet into a folder, from which ``lowland.study.load_study`` reads them."""
        from lowland.study.serialization import save_study

        return save_study(self, folder)
