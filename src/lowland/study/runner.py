"""Runs a study: shared inputs are computed once, then each trial is read from the cache or fitted and evaluated."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from lowland import kernels
from lowland.errors import Stopped
from lowland.math.distances.to_points import distance_matrix
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun
from lowland.run.settings import settings
from lowland.study.facts import TableFacts, add_spectrum, table_facts
from lowland.study.plan import given_trial, most_neighbors, traits_named
from lowland.study.result import GIVEN, Trial
from lowland.study.serialization import trial_from_plain, trial_to_plain
from lowland.study.table import StudyTable
from lowland.study.trials import CompileAhead, Worker, fit_trial, keep_shown_rows, unfinished
from lowland.trial.cache import TrialCache, code_version, key_of
from lowland.trial.fit import SharedInputs
from lowland.trial.parameters import Planned, Purpose, StudySize
from lowland.trial.prediction import ACCURACY, AUC, BALANCED, LINEAR_ACCURACY, LINEAR_R2, R2
from lowland.trial.scores import AREA, FIDELITY, KEPT, TRUST, VERSION, EmbeddingScorer, neighbors_for

SMALL_ROWS, SMALL_VALUES = 2_000, 200_000  # up to which trials run in this process
MOST_PROCESSES = 4  # that compile at once, this one included
DECISIVE: dict[Purpose, tuple[str, ...]] = {  # the scores on which the advice is based, listed first
    "visualize": (FIDELITY, AREA, TRUST, "continuity", ACCURACY, R2),
    "compress": ("explained variance ratio", "reconstruction error", AREA),
    "classify": (ACCURACY, LINEAR_ACCURACY, BALANCED, AUC, R2, LINEAR_R2, AREA),
}


class StudyRunner:
    """The trials of one study, on one table."""

    def __init__(
        self, data: StudyTable, size: StudySize, trials: tuple[Planned, ...], time_limit: float | None,
        total_time_limit: float | None, worker: Literal["auto"] | bool, cache: TrialCache,
    ) -> None:  # fmt: skip
        self.data, self.size, self.trials, self.time_limit, self.cache = data, size, trials, time_limit, cache
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
        self._ahead: CompileAhead | None = None
        self._compiled = kernels.compiling["seconds"]

    def run(self) -> tuple[tuple[Trial, ...], TableFacts | None, bool]:
        """Return the trials in their order, the facts about the table, and whether the study is complete."""
        done: dict[str, Trial] = {}
        facts = None
        try:
            with LocalRun().stage("comparing methods", len(self.trials) + 1) as stage:
                facts = self._table_facts()
                stage.advance()
                # if the time is short, the cheap ones are done
                order = sorted(self.trials, key=lambda p: p.method != GIVEN and not traits_named(p.method).linear)
                for i, planned in enumerate(order):
                    self._compile_ahead(order[i + 1 :])
                    done[planned.name] = self._trial(planned)
                    stage.advance()
        except (KeyboardInterrupt, Stopped):
            complete = len(done) == len(self.trials)
            return self._finished(done, facts), facts, complete
        finally:
            for worker in (self._worker, self._ahead):
                if worker is not None:
                    worker.close()
        return self._finished(done, facts), facts, True

    def _compile_ahead(self, trials: Sequence[Planned]) -> None:
        """If this study had to compile code, and its fits are short, compile for later trials in other processes."""
        processes = min(settings().thread_count, len(trials), MOST_PROCESSES) - 1
        is_first = kernels.compiling["seconds"] > self._compiled
        if is_first and processes > 0 and self._ahead is None and not self.in_worker:
            fitted = [planned for planned in trials if planned.given is None and planned.why_left_out is None]
            self._ahead = CompileAhead(fitted, self._shared_inputs(), processes)

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
        key = key_of(self._facts_of_key | {"what": "table"})
        kept = self.cache.get(key)
        if kept is not None:
            try:
                return TableFacts.from_plain(kept[0])
            except (KeyError, TypeError, ValueError):
                pass  # damaged: computed again
        labels = self.data.labels
        encoded = self.size.n_categories > 0
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
        own = {"method": planned.method, "parameters": planned.parameters, "rows": planned.fitted_rows}
        key = None
        with contextlib.suppress(TypeError):  # a parameter is an object whose content has no key, such as a function
            key = key_of(self._facts_of_key | {"what": "trial", "k": self.size.k, **own})
        kept = None if key is None else self.cache.get(key)
        if kept is not None:
            with contextlib.suppress(KeyError, TypeError, AttributeError, ValueError):  # damaged: fitted again
                found = trial_from_plain(*kept)
                if found.Z is not None and len(found.Z) == len(self.shown):
                    return replace(found, name=planned.name, parameters=planned.parameters, cached=True)
        trial = self._fitted(planned)
        if trial.status == "done":
            trial = keep_shown_rows(self._score(trial), self.shown)
            if key is not None and KEPT in trial.scores:  # a trial that could not be evaluated is not cached
                self.cache.put(key, *trial_to_plain(trial))
        return trial

    def _fitted(self, planned: Planned) -> Trial:
        """The trial, within the time limit of one fit and what is left of the limit of the study."""
        shared = self._shared_inputs()
        left = math.inf if self.total_time_limit is None else self._begun + self.total_time_limit - time.monotonic()
        if left <= 0:
            return self._out_of_time(planned, "before this trial began")
        limit = self.time_limit if self.time_limit is not None and self.time_limit <= left else left
        limit_of_fit = None if limit == math.inf else limit
        about = "" if limit_of_fit is None else f" (time limit {limit_of_fit:.3g} s)"
        with LocalRun().stage(f"{planned.name}{about}", limit_of_fit) as stage:
            if self.in_worker:
                self._worker = self._worker or Worker(shared)
                trial = self._worker.fit(planned, limit_of_fit, stage.advance, None if left == math.inf else left)
            else:
                if self._ahead is not None:
                    self._ahead.wait_for(planned)
                trial = fit_trial(planned, shared, limit_of_fit, tick=stage.advance)
        cut = trial.status == "timed out" and (self.time_limit is None or left < self.time_limit)
        return self._out_of_time(planned, "during this trial") if cut else trial

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
        found = self._scorer.measure(trial.Z, traits_named(trial.method).learns_labels_in_study)
        warned = (*trial.warnings, *(text for text in found.warnings if text not in trial.warnings))
        scores, curves = found.scores | trial.scores, trial.curves | found.curves
        return replace(trial, scores=scores, curves=curves, per_row=found.per_row, warnings=warned)

    def _shared_inputs(self) -> SharedInputs:
        """The inputs that trials share, computed for the first trial that is not in the cache."""
        if self._shared is None:
            X, n, run = self.data.X, len(self.data.X), LocalRun()
            k = min(n - 1, max(neighbors_for(n), most_neighbors(self.trials)))
            graph = nearest_neighbors(X, k, run)
            users = sum(trial.takes_distances for trial in self.trials)
            D = np.asarray(distance_matrix(X, run)) if users > 1 and n <= SMALL_ROWS else None
            names = np.array(self.data.names) if self.data.named else None
            labels = self.data.labels
            self._shared = SharedInputs(
                X, labels.codes, graph, D, self.size.seed, labels.classes, names, self.data.mixed
            )
        return self._shared
