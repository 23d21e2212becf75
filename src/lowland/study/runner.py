"""Runs a study: shared inputs are computed once, then each trial is read from the cache or fitted and evaluated."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from lowland.blocks.distances.to_points import distance_matrix
from lowland.blocks.neighbors.search import nearest_neighbors
from lowland.errors import Stopped
from lowland.run.local import LocalRun
from lowland.study.environment import code_version
from lowland.study.plan import Planned, StudySize, most_neighbors
from lowland.study.result import Purpose, Trial
from lowland.study.scoring.knn_accuracy import NAME as ACCURACY
from lowland.study.scoring.measures import AREA, KEPT, TRUST, VERSION, EmbeddingScorer, neighbors_for
from lowland.study.scoring.table_facts import TableFacts, table_facts, with_spectrum
from lowland.study.serialization import trial_from_plain, trial_to_plain
from lowland.study.table import StudyTable
from lowland.study.trials.cache import TrialCache, key_of
from lowland.study.trials.fit import SharedInputs, fit_trial, left_out, shown_only, stopped
from lowland.study.trials.worker import Worker

SMALL_ROWS, SMALL_VALUES = 2_000, 200_000  # up to which trials run in this process
DECISIVE: dict[Purpose, tuple[str, ...]] = {  # the scores on which the advice is based, listed first
    "see": (AREA, TRUST, "continuity", ACCURACY),
    "compress": ("explained variance ratio", "reconstruction error", AREA),
    "classify": (ACCURACY, "nearest-neighbor accuracy", AREA),
}


class StudyRunner:
    """The trials of one study, on one table."""

    def __init__(
        self, data: StudyTable, size: StudySize, trials: tuple[Planned, ...], time_limit: float | None,
        worker: Literal["auto"] | bool, cache: TrialCache,
    ) -> None:  # fmt: skip
        self.data, self.size, self.trials, self.time_limit, self.cache = data, size, trials, time_limit, cache
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

    def run(self) -> tuple[tuple[Trial, ...], TableFacts | None, bool]:
        """Return the trials in their order, the facts about the table, and whether the study is complete."""
        done: list[Trial] = []
        facts = None
        try:
            with LocalRun().stage("comparing methods", len(self.trials) + 1) as stage:
                facts = self._table_facts()
                stage.advance()
                for planned in self.trials:
                    done.append(self._trial(planned))
                    stage.advance()
        except (KeyboardInterrupt, Stopped):
            complete = len(done) == len(self.trials)
            done += [
                stopped(planned, cached=self.cache.keeps) if planned.why_left_out is None else left_out(planned)
                for planned in self.trials[len(done) :]
            ]
            return self._finished(done, facts), facts, complete
        finally:
            if self._worker is not None:
                self._worker.close()
        return self._finished(done, facts), facts, True

    def _finished(self, done: list[Trial], facts: TableFacts | None) -> tuple[Trial, ...]:
        """The trials with the spectrum of the table added and the decisive scores first."""
        if facts is None:
            return tuple(done)
        return tuple(_decisive_first(with_spectrum(trial, facts), self.size.purpose) for trial in done)

    def _table_facts(self) -> TableFacts:
        key = key_of(self._facts_of_key | {"what": "table"})
        kept = self.cache.get(key)
        if kept is not None:
            try:
                return TableFacts.from_plain(kept[0])
            except (KeyError, TypeError, ValueError):
                pass  # damaged: computed again
        facts = table_facts(self.data.X, self.data.codes, self.size.seed)
        self.cache.put(key, facts.to_plain(), {})
        return facts

    # --- one trial ---

    def _trial(self, planned: Planned) -> Trial:
        if planned.why_left_out is not None:
            return left_out(planned)
        key = self._key(planned)
        found = None if key is None else self._from_cache(key, planned)
        if found is not None:
            return found
        trial = self._fitted(planned)
        if trial.status == "done":
            trial = shown_only(self._scored(trial), self.shown)
            if key is not None and KEPT in trial.scores:  # a trial that could not be evaluated is not cached
                self.cache.put(key, *trial_to_plain(trial))
        return trial

    def _key(self, planned: Planned) -> str | None:
        """The cache key of a trial; None if a parameter is an object whose content has no key, such as a function."""
        own = {"method": planned.method, "parameters": planned.parameters, "rows": planned.fitted_rows}
        try:
            return key_of(self._facts_of_key | {"what": "trial", "k": self.size.k, **own})
        except TypeError:
            return None

    def _from_cache(self, key: str, planned: Planned) -> Trial | None:
        kept = self.cache.get(key)
        if kept is None:
            return None
        try:
            trial = trial_from_plain(*kept)
            whole = trial.Z is not None and len(trial.Z) == len(self.shown)
        except (KeyError, TypeError, AttributeError, ValueError):
            return None  # damaged: fitted again
        return replace(trial, name=planned.name, parameters=planned.parameters, cached=True) if whole else None

    def _fitted(self, planned: Planned) -> Trial:
        shared = self._shared_inputs()
        if not self.in_worker:
            return fit_trial(planned, shared, self.time_limit)
        self._worker = self._worker or Worker(shared)
        with LocalRun().stage(planned.name, self.time_limit) as stage:
            return self._worker.fit(planned, self.time_limit, stage.advance)

    def _scored(self, trial: Trial) -> Trial:
        if self._scorer is None:
            shared = self._shared_inputs()
            assert shared.graph is not None
            self._scorer = EmbeddingScorer.of(shared.X, shared.graph, shared.y, shared.seed)
        return self._scorer.scored(trial)

    def _shared_inputs(self) -> SharedInputs:
        """The inputs that trials share, computed for the first trial that is not in the cache."""
        if self._shared is None:
            X, n, run = self.data.X, len(self.data.X), LocalRun()
            k = min(n - 1, max(neighbors_for(n), most_neighbors(self.trials)))
            graph = nearest_neighbors(X, k, run)
            users = sum(trial.takes_distances for trial in self.trials)
            D = np.asarray(distance_matrix(X, run)) if users > 1 and n <= SMALL_ROWS else None
            names = np.array(self.data.names) if self.data.named else None
            self._shared = SharedInputs(X, self.data.codes, graph, D, self.size.seed, self.data.classes, names)
        return self._shared


def _decisive_first(trial: Trial, purpose: Purpose) -> Trial:
    """The trial with the decisive scores for the purpose first."""
    first = [name for name in DECISIVE[purpose] if name in trial.scores]
    return replace(trial, scores={name: trial.scores[name] for name in dict.fromkeys((*first, *trial.scores))})
