"""``lowland.compare``: every method on one table, timed, measured, and what the study would choose."""

from __future__ import annotations

import inspect
import math
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, get_args

import numpy as np

from lowland.blocks.distances.to_points import distance_matrix
from lowland.blocks.neighbors.search import nearest_neighbors
from lowland.errors import ParameterError, Stopped
from lowland.run.local import LocalRun
from lowland.study.advice import advise
from lowland.study.environment import code_version, machine, versions
from lowland.study.parameter_grid import Sweep
from lowland.study.plan import Planned, StudySize, check_names, most_neighbors, plan
from lowland.study.result import Purpose, StudyResult, Trial
from lowland.study.scoring import knn_accuracy as downstream
from lowland.study.scoring import measures as measuring
from lowland.study.serialization import trial_from_plain, trial_to_plain
from lowland.study.table import Scale, StudyTable, open_table
from lowland.study.trials.cache import NoCache, TrialCache, key_of
from lowland.study.trials.fit import BY_DISTANCES, Shared, fit_trial, left_out, shown_only, stopped
from lowland.study.trials.worker import Worker

SMALL_ROWS, SMALL_VALUES = 2_000, 200_000  # up to which trials run in this process
DECIDING: dict[Purpose, tuple[str, ...]] = {  # what advice rests on, told first
    "see": (measuring.AREA, measuring.TRUST, "continuity", downstream.NAME),
    "compress": ("explained share", "reconstruction error", measuring.AREA),
    "classify": (downstream.NAME, "nearest-neighbour accuracy", measuring.AREA),
}


def compare(
    X: Any,
    y: Any = None,
    methods: Literal["all"] | str | Sequence[str] = "all",
    k: int = 2,
    *,
    drop: Sequence[str] = (),
    purpose: Purpose = "see",
    sweep: Sweep | None = None,
    scale: Scale = "none",
    limit: float | None = 120.0,
    cache: bool = True,
    seed: int = 0,
    worker: Literal["auto"] | bool = "auto",
    command: str | None = None,
) -> StudyResult:
    """Try many methods on one table: time, memory and measures of each, and which one to choose for a purpose.

    A method that fails, takes too long or does not apply is a trial that says so. Ctrl-C ends the study and returns
    what is done, ``complete`` being False. Trials are kept on disk and not fitted again for the same data.

    Parameters
    ----------
    X : rows, as any method takes them; they are held in memory.
    y : labels, one a row, or the name of the column of the frame or file that holds them; None: no labels.
    methods : "all", or names such as ["pca", "isomap"], by class or by verb.
    k : dimensions to bring the rows down to.
    drop : names of columns of the frame or file to leave out, such as numbers of rows.
    purpose : what it is for: "see", "compress" or "classify"; the advice for it comes first.
    sweep : values to try for a parameter, such as {"isomap.n_neighbors": [5, 10, 20]}; a single one sets it.
    scale : "none" takes the columns as they are; "standard" gives each the deviation 1; "auto" does so where
        deviations differ by more than 10 times.
    limit : seconds that the fit of a trial may take; None: no limit.
    cache : whether to read trials from the user's cache folder, and to keep them there.
    seed : of all that is drawn at random.
    worker : whether trials run in a process of their own, which can be ended at its limit whatever it does; "auto":
        unless the table is small, of 2,000 rows and 200,000 values at most.
    command : what was called, as the report shows it; None: this call.

    Examples
    --------
    >>> import lowland
    >>> from lowland.data import load_dataset
    >>> iris = load_dataset("iris")
    >>> study = lowland.compare(iris.X, iris.y, ["pca", "isomap"], cache=False)
    >>> [(trial.name, trial.status) for trial in study.trials]
    [('PCA', 'done'), ('Isomap', 'done')]
    >>> study.advice[0].trial
    'PCA'
    """
    drop = (drop,) if isinstance(drop, str) else tuple(map(str, drop))
    _check(k, purpose, scale, limit, seed, worker)
    check_names(methods, sweep)
    begun, started = time.perf_counter(), datetime.now().astimezone().isoformat(timespec="seconds")
    data = open_table(X, y, scale, k, drop)
    classes = None if data.classes is None else len(data.classes)
    size = StudySize(len(data.X), data.X.shape[1], int(k), classes, purpose, int(seed), data.no_classes)
    if purpose == "classify" and data.classes is None:
        raise ParameterError(
            "compare(purpose='classify'): this needs classes, one label a row (y, --label), and "
            f"{data.no_classes or 'none were given'}."
        )
    trials = plan(size, methods, sweep)
    given = {"methods": methods, "k": k, "drop": list(drop) or (), "purpose": purpose}
    given |= {"sweep": sweep, "scale": scale, "limit": limit, "seed": seed}
    call = command or _call(X, y, given)
    study = _Study(data, size, trials, limit, worker, TrialCache() if cache else NoCache())
    done, facts, complete = study.run()
    advice = advise(done, facts, size, scaled=data.scaled, counting=data.counting(), complete=complete)
    seconds = time.perf_counter() - begun
    return StudyResult(
        data.drawn(size.seed), done, advice, size.k, purpose, call, versions(), machine(), started, seconds, complete
    )


class _Study:
    """The work: what is shared is made once, then trial after trial, from the cache or fitted and measured."""

    def __init__(
        self, data: StudyTable, size: StudySize, trials: tuple[Planned, ...], limit: float | None,
        worker: Literal["auto"] | bool, cache: TrialCache,
    ) -> None:  # fmt: skip
        self.data, self.size, self.trials, self.limit, self.cache = data, size, trials, limit, cache
        n, d = data.X.shape
        self.apart = (n > SMALL_ROWS or n * d > SMALL_VALUES) if worker == "auto" else worker
        self.shown = data.shown(size.seed)
        self._shared: Shared | None = None
        self._judge: measuring.Judge | None = None
        self._worker: Worker | None = None

    def run(self) -> tuple[tuple[Trial, ...], measuring.TableFacts | None, bool]:
        """Return the trials in their order, what the table says for itself, and whether all was done."""
        done: list[Trial] = []
        facts = None
        try:
            with LocalRun().stage("comparing methods", len(self.trials) + 1) as stage:
                facts = self._facts()
                stage.advance()
                for planned in self.trials:
                    done.append(self._trial(planned))
                    stage.advance()
        except (KeyboardInterrupt, Stopped):
            complete = len(done) == len(self.trials)
            done += [
                stopped(planned, kept=self.cache.keeps) if planned.left_out is None else left_out(planned)
                for planned in self.trials[len(done) :]
            ]
            return self._with_curves(done, facts), facts, complete
        finally:
            if self._worker is not None:
                self._worker.close()
        return self._with_curves(done, facts), facts, True

    def _with_curves(self, done: list[Trial], facts: measuring.TableFacts | None) -> tuple[Trial, ...]:
        if facts is None:
            return tuple(done)
        return tuple(_told_in_order(measuring.with_spectrum(trial, facts), self.size.purpose) for trial in done)

    def _facts(self) -> measuring.TableFacts:
        key = key_of(self._common() | {"what": "table"})
        kept = self.cache.get(key)
        if kept is not None:
            try:
                return measuring.TableFacts.from_plain(kept[0])
            except (KeyError, TypeError, ValueError):
                pass  # damaged: made anew
        facts = measuring.table_facts(self.data.X, self.data.codes, self.size.seed)
        self.cache.put(key, facts.to_plain(), {})
        return facts

    def _common(self) -> dict[str, Any]:
        data = {"data": self.data.fingerprint, "scaled": self.data.scaled, "shown": len(self.shown)}
        data |= {"names": self.data.names if self.data.named else None}  # warnings tell them
        return data | {"seed": self.size.seed, "version": code_version(), "measures": measuring.VERSION}

    def key(self, planned: Planned) -> str | None:
        """What names a trial in the cache; None where a parameter is an object, of which nothing says what it does."""
        own = {
            "method": planned.method,
            "parameters": planned.parameters,
            "rows": planned.fitted_rows,
            "k": self.size.k,
        }
        try:
            return key_of(self._common() | {"what": "trial", **own})
        except TypeError:
            return None

    def _trial(self, planned: Planned) -> Trial:
        if planned.left_out is not None:
            return left_out(planned)
        key = self.key(planned)
        found = None if key is None else self._kept(key, planned)
        if found is not None:
            return found
        trial = self._fitted(planned)
        if trial.status == "done":
            trial = self._measured(trial)
            if key is not None and measuring.KEPT in trial.scores:  # what could not be measured is tried again
                self.cache.put(key, *trial_to_plain(trial))
        return trial

    def _kept(self, key: str, planned: Planned) -> Trial | None:
        kept = self.cache.get(key)
        if kept is None:
            return None
        try:
            trial = trial_from_plain(*kept)
            whole = trial.Z is not None and len(trial.Z) == len(self.shown)
        except (KeyError, TypeError, AttributeError, ValueError):
            return None  # damaged: fitted anew
        return replace(trial, name=planned.name, parameters=planned.parameters, cached=True) if whole else None

    def _fitted(self, planned: Planned) -> Trial:
        shared = self._made()
        if not self.apart:
            return fit_trial(planned, shared, self.limit)
        self._worker = self._worker or Worker(shared)
        with LocalRun().stage(planned.name, self.limit) as stage:
            return self._worker.fit(planned, self.limit, stage.advance)

    def _measured(self, trial: Trial) -> Trial:
        shared = self._made()
        if self._judge is None:
            assert shared.graph is not None
            self._judge = measuring.Judge.of(shared.X, shared.graph, shared.y, self.size.seed)
        measured = self._judge.measured(trial)
        per_row = {name: values[self.shown] for name, values in measured.per_row.items()}
        return replace(shown_only(measured, self.shown), per_row=per_row)

    def _made(self) -> Shared:
        """What trials share: made when the first one is not in the cache."""
        if self._shared is None:
            X, n, run = self.data.X, len(self.data.X), LocalRun()
            k = min(n - 1, max(measuring.neighbors_for(n), most_neighbors(self.trials, n)))
            graph = nearest_neighbors(X, k, run)
            users = [t for t in self.trials if t.method in BY_DISTANCES and t.left_out is None]
            D = np.asarray(distance_matrix(X, run)) if len(users) > 1 and n <= SMALL_ROWS else None
            names = np.array(self.data.names) if self.data.named else None
            self._shared = Shared(X, self.data.codes, graph, D, self.size.seed, self.data.classes, names)
        return self._shared


def _told_in_order(trial: Trial, purpose: Purpose) -> Trial:
    """The trial with the scores first that decide for the purpose."""
    first = [name for name in DECIDING[purpose] if name in trial.scores]
    return replace(trial, scores={name: trial.scores[name] for name in dict.fromkeys((*first, *trial.scores))})


def _check(k: Any, purpose: Any, scale: Any, limit: Any, seed: Any, worker: Any) -> None:
    whole = int | np.integer
    if isinstance(k, bool) or not isinstance(k, whole) or k < 1:
        raise ParameterError(f"compare(k={k!r}): give a whole number of at least 1.")
    for name, value, known in (("purpose", purpose, get_args(Purpose)), ("scale", scale, get_args(Scale))):
        if value not in known:
            raise ParameterError(f"compare({name}={value!r}): choose among {', '.join(map(repr, known))}.")
    if limit is not None and (
        isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < math.inf
    ):
        raise ParameterError(f"compare(limit={limit!r}): give seconds, more than 0, or None for no limit.")
    if isinstance(seed, bool) or not isinstance(seed, whole) or seed < 0:
        raise ParameterError(f"compare(seed={seed!r}): give a whole number of at least 0.")
    if worker not in ("auto", True, False):
        raise ParameterError(f"compare(worker={worker!r}): choose 'auto', True or False.")


# --- what is needed to repeat a study ---


def _call(X: Any, y: Any, given: dict[str, Any]) -> str:
    """This call as it would be written: what is at its default is left out, and data that lie in memory are X and y."""
    usual = {name: p.default for name, p in inspect.signature(compare).parameters.items()}
    rows = repr(os.fspath(X)) if isinstance(X, str | os.PathLike) else "X"
    labels = [] if y is None else [repr(y) if isinstance(y, str) else "y"]
    told = [f"{name}={value!r}" for name, value in given.items() if value != usual[name]]
    return f"lowland.compare({', '.join([rows, *labels, *told])})"
