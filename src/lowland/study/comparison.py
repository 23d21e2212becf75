"""``lowland.compare``: fit every method to one table, evaluate the embeddings and advise which method to use."""

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
from lowland.suggestions import did_you_mean


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
    """Compare dimensionality reduction methods on one table: time, memory, quality measures, and which to use.

    A method that fails, exceeds the time limit or does not apply is a trial with that status and the reason. Ctrl-C
    stops the study and returns the completed trials with ``complete=False``. Completed trials are cached on disk and
    are not fitted again for the same data.

    Parameters
    ----------
    X : rows, in any form that a method accepts. They are held in memory.
    y : class labels, one per row, or the name of the column of the data frame or file that contains them; None: no
        labels.
    methods : "all", or a list of class names or command-line names such as ["pca", "isomap"].
    k : number of dimensions of the embeddings.
    drop : names of columns of the data frame or file to exclude, such as row identifiers.
    purpose : "see" (visualization), "compress" or "classify". The advice for it comes first.
    sweep : values to try for a parameter, such as {"isomap.n_neighbors": [5, 10, 20]}. One value sets the parameter.
    scale : "none" uses the columns as they are; "standard" standardizes them to standard deviation 1; "auto" does so
        only if the standard deviations differ by more than a factor of 10.
    time_limit : time limit for the fit of one trial, in seconds; None: no limit.
    cache : whether to read trials from the user's cache folder and to store them there.
    seed : seed of the random number generator.
    worker : whether trials run in a separate process, which can be killed at the time limit; "auto": only if the table
        has more than 2,000 rows or 200,000 values.
    command : the command shown in the report; None: this call.

    Returns
    -------
    StudyResult
        The trials, the advice, and what is needed to reproduce the study.

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
            "compare(purpose='classify'): class labels are required, but "
            f"{data.why_no_classes or 'none were given'}. Pass one label per row as y."
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
        raise ParameterError(f"compare(k={k!r}): must be an integer of at least 1.")
    for name, value, known in (("purpose", purpose, get_args(Purpose)), ("scale", scale, get_args(Scale))):
        if value not in known:
            raise ParameterError(
                f"compare({name}={value!r}): unknown {name}. {did_you_mean(value, known)}Choose one of "
                f"{', '.join(map(repr, known))}."
            )
    if time_limit is not None and (
        isinstance(time_limit, bool) or not isinstance(time_limit, int | float) or not 0 < time_limit < math.inf
    ):
        raise ParameterError(
            f"compare(time_limit={time_limit!r}): must be a positive number of seconds, or None for no limit."
        )
    if isinstance(seed, bool) or not isinstance(seed, integer) or seed < 0:
        raise ParameterError(f"compare(seed={seed!r}): must be an integer of at least 0.")
    if worker not in ("auto", True, False):
        raise ParameterError(f"compare(worker={worker!r}): choose 'auto', True or False.")


# --- the command, to reproduce a study ---


def _call(X: Any, y: Any, given: dict[str, Any]) -> str:
    """This call as Python code: without defaults, and with X and y for data in memory."""
    defaults = {name: p.default for name, p in inspect.signature(compare).parameters.items()}
    rows = repr(os.fspath(X)) if isinstance(X, str | os.PathLike) else "X"
    labels = [] if y is None else [repr(y) if isinstance(y, str) else "y"]
    options = [f"{name}={value!r}" for name, value in given.items() if value != defaults[name]]
    return f"lowland.compare({', '.join([rows, *labels, *options])})"
