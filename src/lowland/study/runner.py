"""Runs a study: shared inputs are computed once, then each trial is read from the cache or fitted and evaluated."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from lowland.errors import LowlandError, Stopped
from lowland.evidence.problem import seeded
from lowland.math.distances.to_points import distance_matrix
from lowland.math.neighbors.search import nearest_neighbors
from lowland.methods.base.plan import steps_of
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import load_method
from lowland.plain import to_plain
from lowland.quality import OriginalSpace
from lowland.quality.kept_neighbors import subsample_size
from lowland.run.cost import REFERENCE, Size
from lowland.run.run import Run
from lowland.study.facts import BASELINE, TableFacts, add_spectrum, table_facts
from lowland.study.plan import given_trial, most_neighbors, traits_named
from lowland.study.result import GIVEN, Trial
from lowland.study.serialization import score_from_plain, trial_from_plain, trial_to_plain
from lowland.study.significance import MARGIN
from lowland.study.table import StudyTable
from lowland.study.tested import evaluate_map
from lowland.study.trials import Worker, fit_trial, keep_shown_rows, unfinished
from lowland.trial.cache import TrialCache, code_version, key_of
from lowland.trial.fit import SharedInputs
from lowland.trial.parameters import Planned, Purpose, StudySize
from lowland.trial.prediction import ACCURACY, AUC, BALANCED, LINEAR_ACCURACY, LINEAR_R2, R2
from lowland.trial.scores import (
    AREA,
    FIDELITY,
    KEPT,
    REFITTED,
    RELIABLE,
    STABILITY,
    TRUST,
    VERSION,
    EmbeddingScorer,
    fidelity_of,
    neighbors_for,
    refitted,
    stability,
)

SMALL_ROWS, SMALL_VALUES = 2_000, 200_000  # up to which trials run in this process
LEADING, AGAIN = 2, 5  # best maps that are made again, and how often
MOST_AGAIN, EVALUATED_AGAIN = 800, 500  # rows from which they are made again at most, and those that are evaluated
LEAST = 0.1  # seconds of a trial that takes no time to fit
DECISIVE: dict[Purpose, tuple[str, ...]] = {  # the scores on which the advice is based, listed first
    "visualize": (FIDELITY, AREA, STABILITY, RELIABLE, REFITTED, TRUST, "continuity", ACCURACY, R2),
    "compress": ("explained variance ratio", "reconstruction error", AREA),
    "classify": (ACCURACY, LINEAR_ACCURACY, BALANCED, AUC, R2, LINEAR_R2, AREA),
}


def _leading(trials: Sequence[Trial], k: int) -> set[str]:
    """The names of the maps that the advice may name: the best few, the best for neighborhoods, and PCA."""
    maps = [
        t for t in trials
        if FIDELITY in t.scores and (t.method != GIVEN or "estimator" in t.parameters) and (t.n_components or 0) <= k
        and not traits_named(t.method).selects_columns
    ]  # fmt: skip
    best = sorted(maps, key=lambda t: -t.scores[FIDELITY].value)[:LEADING]
    best += sorted(maps, key=lambda t: -t.scores[AREA].value)[:1]
    return {t.name for t in best} | {t.name for t in maps if t.name == BASELINE}


class StudyRunner:
    """The trials of one study, on one table."""

    def __init__(
        self, data: StudyTable, size: StudySize, trials: tuple[Planned, ...], time_limit: float | None,
        total_time_limit: float | None, worker: Literal["auto"] | bool, cache: TrialCache, *, reliability: bool = False,
    ) -> None:  # fmt: skip
        self.data, self.size, self.trials, self.time_limit, self.cache = data, size, trials, time_limit, cache
        self.reliability = reliability
        self.total_time_limit, self._begun = total_time_limit, time.monotonic()
        n, d = data.X.shape
        self.in_worker = (n > SMALL_ROWS or n * d > SMALL_VALUES) if worker == "auto" else worker
        self.shown = data.shown(size.seed)
        self._facts_of_key = {
            "data": data.fingerprint,
            "scaled": data.scaled,
            "shown": len(self.shown),
            "names": data.names if data.named else None,  # they appear in warnings
            "seed": size.seed,
            "version": code_version(),
            "measures": VERSION,
        }
        self._shared: SharedInputs | None = None
        self._scorer: EmbeddingScorer | None = None
        self._worker: Worker | None = None
        self._keys: dict[str, str] = {}  # of trials in the cache, by name
        self._whole = self._best = -math.inf  # the scores of predictions from all columns, and the best so far

    def run(self) -> tuple[tuple[Trial, ...], TableFacts | None, bool]:
        """Return the trials in their order, the facts about the table, and whether the study is complete."""
        done: dict[str, Trial] = {}
        facts = None
        try:
            times = {planned.name: self._expected(planned) for planned in self.trials}
            with Run().stage("comparing methods", sum(times.values()) + LEAST) as stage:
                # if the time is short, the cheap ones are done
                order = sorted(
                    self.trials,
                    key=lambda p: (p.method != GIVEN and not traits_named(p.method).linear, times[p.name]),
                )
                facts = self._table_facts()
                if facts.whole is not None:
                    self._whole = self._best = facts.whole.value
                stage.advance(LEAST)
                for planned in order:
                    trial = done[planned.name] = self._trial(planned)
                    predicted = [s.value for s in trial.scores.values() if s.held_out and (s.n_tested or s.by_fold)]
                    self._best = max([self._best, *predicted])
                    stage.advance(times[planned.name])
                self._make_again(done)
                if self.reliability:
                    self._test(done)
        except (KeyboardInterrupt, Stopped):
            complete = len(done) == len(self.trials)
            return self._finished(done, facts), facts, complete
        finally:
            if self._worker is not None:
                self._worker.close()
        return self._finished(done, facts), facts, True

    def _expected(self, planned: Planned) -> float:
        """The seconds of a trial, the same on every machine, since the order decides what is fitted again."""
        n, d = self.data.X.shape
        cost = None if planned.why_left_out else traits_named(planned.method).cost
        if cost is None:
            return LEAST
        classes = self.size.n_classes or 2
        with contextlib.suppress(LowlandError):  # a swept value is invalid, which the fit reports
            est = load_method(planned.method)(**planned.parameters)
            size = Size(planned.fitted_rows or n, d, self.data.X.itemsize, classes=classes, budget=2**33)
            return LEAST + sum(REFERENCE.seconds(step) for step in steps_of(est, size))
        return LEAST

    def _finished(self, done: dict[str, Trial], facts: TableFacts | None) -> tuple[Trial, ...]:
        """The trials in their order, with the spectrum of the table added and the decisive scores first."""
        stopped = "The study was stopped before this trial was done. Run the study again"
        stopped += "; completed trials are read from the cache." if self.cache.keeps else "."
        trials = []
        for planned in self.trials:
            trial = done.get(planned.name)
            if trial is None and planned.why_left_out is not None:
                trial = unfinished(planned, "left out", planned.why_left_out)
            trial = trial or unfinished(planned, "stopped", stopped)
            if facts is not None:
                trial = add_spectrum(trial, facts)
                order = [name for name in DECISIVE[self.size.purpose] if name in trial.scores]
                scores = {name: trial.scores[name] for name in dict.fromkeys((*order, *trial.scores))}
                trial = replace(trial, scores=scores)
            trials.append(trial)
        return tuple(trials)

    def _table_facts(self) -> TableFacts:
        """The facts about the table, from the cache if they are there."""
        key = key_of(self._facts_of_key | {"what": "table"})
        kept = self.cache.get(key)
        if kept is not None:
            try:
                return TableFacts.from_plain(kept[0])
            except (KeyError, TypeError, ValueError):
                pass  # damaged: computed again
        labels = self.data.labels
        encoded = self.size.n_categories > 0 or self.data.counts is not None
        facts = table_facts(self.data.X, labels.codes, self.size.seed, labels.targets, encoded=encoded)
        self.cache.put(key, facts.to_plain(), {})
        return facts

    # --- one trial ---

    def _trial(self, planned: Planned) -> Trial:
        if planned.why_left_out is not None:
            return unfinished(planned, "left out", planned.why_left_out)
        if planned.given is not None:
            labels = self.data.labels
            labeled = labels.codes is not None or labels.targets is not None
            return keep_shown_rows(self._score(given_trial(planned, labeled=labeled)), self.shown)
        planned = replace(planned, to_beat=self._score_to_beat(planned))
        own: dict[str, Any] = {"method": planned.method, "parameters": planned.parameters, "rows": planned.fitted_rows}
        own |= {"to beat": planned.to_beat}
        key = None
        with contextlib.suppress(TypeError):  # a parameter is an object whose content has no key, such as a function
            key = key_of(self._facts_of_key | {"what": "trial", "k": self.size.k, **own})
            self._keys[planned.name] = key
        kept = None if key is None else self.cache.get(key)
        if kept is not None:
            with contextlib.suppress(KeyError, TypeError, AttributeError, ValueError):  # damaged: fitted again
                found = trial_from_plain(*kept)
                if found.Z is not None and len(found.Z) == len(self.shown):
                    return replace(found, name=planned.name, parameters=planned.parameters, cached=True)
        trial = self._fitted(planned)
        if trial.status == "done":
            trial = keep_shown_rows(self._score(trial), self.shown)
            was_evaluated = KEPT in trial.scores  # others are not cached
            if self.cache.keeps and key is not None and was_evaluated:
                self.cache.put(key, *trial_to_plain(trial))
        return trial

    def _make_again(self, done: dict[str, Trial]) -> None:
        """Make the leading maps again from subsamples with other seeds, and add what stays and their fidelity."""
        n, seed = len(self.data.X), self.size.seed
        leading = _leading(list(done.values()), self.size.k)
        rng = np.random.default_rng(seed)
        parts = [np.sort(rng.permutation(n)[: min(subsample_size(n), MOST_AGAIN)]) for _ in range(AGAIN)]
        spaces: dict[int, OriginalSpace] = {}  # of the parts, for all maps
        for planned in self.trials:
            trial = done[planned.name]
            if planned.name not in leading:
                scores = {name: score for name, score in trial.scores.items() if name not in (STABILITY, REFITTED)}
                done[planned.name] = replace(trial, scores=scores)
            elif STABILITY not in trial.scores and trial.Z is not None:
                found = [self._again(planned, trial.Z, r, rows, spaces) for r, rows in enumerate(parts)]
                scores = refitted([each for each in found if each is not None])
                done[planned.name] = replace(trial, scores=trial.scores | scores)
                if self.cache.keeps and planned.name in self._keys:
                    self.cache.put(self._keys[planned.name], *trial_to_plain(done[planned.name]))

    def _test(self, done: dict[str, Trial]) -> None:
        """Compare the leading maps with maps of null data, point by point."""
        for planned in self.trials:
            trial = done[planned.name]
            if STABILITY not in trial.scores or trial.Z is None or self._left() <= 0:
                continue
            key = self._keys.get(planned.name)
            key = None if key is None else key_of({"trial": key, "what": "reliability"})
            kept = None if key is None else self.cache.get(key)
            if kept is None:
                with Run().stage(f"testing {planned.name}") as stage:
                    stage.advance(0)
                    scores, rows = evaluate_map(planned, trial.Z, self.data, self.shown, self.size.seed)
                if key is not None:
                    self.cache.put(key, {name: to_plain(vars(score)) for name, score in scores.items()}, rows)
            else:
                scores, rows = {name: score_from_plain(score) for name, score in kept[0].items()}, kept[1]
            done[planned.name] = replace(trial, scores=trial.scores | scores, per_row=trial.per_row | rows)

    def _again(
        self, planned: Planned, Z: np.ndarray, r: int, rows: np.ndarray, spaces: dict[int, OriginalSpace]
    ) -> tuple[float, float] | None:
        """What stays of a map, Z, when it is made again from some rows, and the fidelity of the new one."""
        seed = self.size.seed + 1 + r
        other = {"random_state": seed} if "random_state" in planned.parameters else {}
        own = None if planned.estimator is None else seeded(planned.estimator, seed)
        fitted = None if (planned.fitted_rows or 0) >= len(rows) else planned.fitted_rows
        again = self._fitted(
            replace(planned, parameters=planned.parameters | other, estimator=own, rows=rows, fitted_rows=fitted)
        ).Z
        stays = None if again is None else stability(Z, again[self.shown], self.size.seed)
        if stays is None or again is None:
            return None
        if r not in spaces:
            spaces[r] = OriginalSpace.of(
                np.ascontiguousarray(self.data.X[rows]), sample=EVALUATED_AGAIN, random_state=self.size.seed
            )
        faithful = fidelity_of(spaces[r], np.ascontiguousarray(again[rows]))
        return None if faithful is None else (stays, faithful)

    def _score_to_beat(self, planned: Planned) -> float | None:
        """Above which score a method is fitted again without the held-out rows; None: it is not.

        Coordinates that have seen these rows promise too much rather than too little. So a linear method is fitted
        again unless its coordinates predict clearly worse than all columns, and a nonlinear one only if the purpose is
        to predict, and if its coordinates promise more than the linear methods and all columns, which come first.
        """
        if planned.method in (GIVEN, BASELINE):
            return -math.inf
        if traits_named(planned.method).linear:
            return self._whole - MARGIN
        return self._best if self.size.purpose == "classify" else None

    def _fitted(self, planned: Planned) -> Trial:
        """The trial, within the time limit of one fit and what is left of the limit of the study."""
        shared = self._shared_inputs()
        left = self._left()
        if left <= 0:
            return self._out_of_time(planned, "before this trial began")
        limit = self.time_limit if self.time_limit is not None and self.time_limit <= left else left
        limit_of_fit = None if limit == math.inf else limit
        about = "" if limit_of_fit is None else f" (time limit {limit_of_fit:.3g} s)"
        with Run().stage(f"{planned.name}{about}", limit_of_fit) as stage:
            if self.in_worker:
                self._worker = self._worker or Worker(shared)
                trial = self._worker.fit(planned, limit_of_fit, stage.advance, None if left == math.inf else left)
            else:
                trial = fit_trial(planned, shared, limit_of_fit, tick=stage.advance)
        cut = trial.status == "timed out" and (self.time_limit is None or left < self.time_limit)
        return self._out_of_time(planned, "during this trial") if cut else trial

    def _left(self) -> float:
        """Seconds until the time limit of the study."""
        return math.inf if self.total_time_limit is None else self._begun + self.total_time_limit - time.monotonic()

    def _out_of_time(self, planned: Planned, when: str) -> Trial:
        text = f"The time limit of the whole study, {self.total_time_limit:g} s, was reached {when}."
        return unfinished(planned, "timed out", f"{text} Raise it, or name fewer methods.")

    def _score(self, trial: Trial) -> Trial:
        if self._scorer is None:
            shared = self._shared_inputs()
            assert shared.graph is not None
            self._scorer = EmbeddingScorer.prepare(
                shared.X, shared.graph, shared.y, shared.seed, self.data.labels.targets
            )
        assert trial.Z is not None
        is_tested = ACCURACY in trial.scores or R2 in trial.scores
        own = trial.parameters.get("estimator") if trial.method == GIVEN else None
        traits = traits_named(trial.method) if own is None else traits_of(own)
        # the map of a method that is not tested has seen the held-out rows, so no advice needs the linear model
        linear = trial.method == GIVEN
        found = self._scorer.measure(trial.Z, traits.learns_labels_in_study, is_tested, linear=linear)
        warned = (*trial.warnings, *(text for text in found.warnings if text not in trial.warnings))
        scores, curves = found.scores | trial.scores, trial.curves | found.curves
        return replace(trial, scores=scores, curves=curves, per_row=found.per_row, warnings=warned)

    def _shared_inputs(self) -> SharedInputs:
        """The inputs that trials share, computed for the first trial that is not in the cache."""
        if self._shared is None:
            X, n, run = self.data.X, len(self.data.X), Run()
            k = min(n - 1, max(neighbors_for(n), most_neighbors(self.trials)))
            graph = nearest_neighbors(X, k, run)
            users = sum(trial.takes_distances for trial in self.trials)
            D = np.asarray(distance_matrix(X, run)) if users > 1 and n <= SMALL_ROWS else None
            names = np.array(self.data.names) if self.data.named else None
            labels = self.data.labels
            self._shared = SharedInputs(
                X, labels.codes, graph, D, self.size.seed, labels.classes, names, self.data.mixed, labels.targets
            )
        return self._shared
