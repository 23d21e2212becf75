"""``lowland.compare``: every method on one table, timed, measured, and what the study would choose."""

from __future__ import annotations

import inspect
import math
import os
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, get_args

import numpy as np

from lowland.errors import ParameterError
from lowland.study.advice import advise
from lowland.study.environment import machine, versions
from lowland.study.parameter_grid import Sweep
from lowland.study.plan import StudySize, check_names, plan_of
from lowland.study.result import Purpose, StudyResult
from lowland.study.runner import StudyRunner
from lowland.study.table import Scale, open_table
from lowland.study.trials.cache import NoCache, TrialCache


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
    time_limit: float | None = 120.0,
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
    time_limit : seconds that the fit of a trial may take; None: no limit.
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
    _check(k, purpose, scale, time_limit, seed, worker)
    named = check_names(methods, sweep)
    begun, started = time.perf_counter(), datetime.now().astimezone().isoformat(timespec="seconds")
    data = open_table(X, y, scale, k, drop)
    n_classes = None if data.classes is None else len(data.classes)
    size = StudySize(len(data.X), data.X.shape[1], int(k), n_classes, purpose, int(seed), data.why_no_classes)
    if purpose == "classify" and n_classes is None:
        raise ParameterError(
            "compare(purpose='classify'): this needs classes, one label a row (y, --label), and "
            f"{data.why_no_classes or 'none were given'}."
        )
    trials = plan_of(size, named)
    given = {"methods": methods, "k": k, "drop": list(drop) or (), "purpose": purpose}
    given |= {"sweep": sweep, "scale": scale, "time_limit": time_limit, "seed": seed}
    call = command or _call(X, y, given)
    runner = StudyRunner(data, size, trials, time_limit, worker, TrialCache() if cache else NoCache())
    done, facts, complete = runner.run()
    advice = advise(done, facts, size, scaled=data.scaled, row_counters=data.row_counters(), complete=complete)
    seconds = time.perf_counter() - begun
    return StudyResult(
        data.drawn(size.seed), done, advice, size.k, purpose, call, versions(), machine(), started, seconds, complete
    )


def _check(k: Any, purpose: Any, scale: Any, time_limit: Any, seed: Any, worker: Any) -> None:
    integer = int | np.integer
    if isinstance(k, bool) or not isinstance(k, integer) or k < 1:
        raise ParameterError(f"compare(k={k!r}): give a whole number of at least 1.")
    for name, value, known in (("purpose", purpose, get_args(Purpose)), ("scale", scale, get_args(Scale))):
        if value not in known:
            raise ParameterError(f"compare({name}={value!r}): choose among {', '.join(map(repr, known))}.")
    if time_limit is not None and (
        isinstance(time_limit, bool) or not isinstance(time_limit, int | float) or not 0 < time_limit < math.inf
    ):
        raise ParameterError(f"compare(time_limit={time_limit!r}): give seconds, more than 0, or None for no limit.")
    if isinstance(seed, bool) or not isinstance(seed, integer) or seed < 0:
        raise ParameterError(f"compare(seed={seed!r}): give a whole number of at least 0.")
    if worker not in ("auto", True, False):
        raise ParameterError(f"compare(worker={worker!r}): choose 'auto', True or False.")


# --- what is needed to repeat a study ---


def _call(X: Any, y: Any, given: dict[str, Any]) -> str:
    """This call as it would be written: what is at its default is left out, and data that lie in memory are X and y."""
    defaults = {name: p.default for name, p in inspect.signature(compare).parameters.items()}
    rows = repr(os.fspath(X)) if isinstance(X, str | os.PathLike) else "X"
    labels = [] if y is None else [repr(y) if isinstance(y, str) else "y"]
    options = [f"{name}={value!r}" for name, value in given.items() if value != defaults[name]]
    return f"lowland.compare({', '.join([rows, *labels, *options])})"
