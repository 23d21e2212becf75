"""``lowland.compare``: fit every method to one table, evaluate the embeddings and advise which method to use."""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import platform
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, get_args

import numpy as np

from lowland import __version__
from lowland.data.scales import scales_differ
from lowland.data.suspect_columns import lone_components, suspect_columns
from lowland.data.table import Table
from lowland.errors import ParameterError
from lowland.prepare.preparation import IMPUTE, Impute, Scale
from lowland.study.advice import advise
from lowland.study.plan import Sweep, check_names, plan_of, planned_embeddings
from lowland.study.result import StudyResult
from lowland.study.runner import StudyRunner
from lowland.study.table import open_table
from lowland.suggestions import did_you_mean
from lowland.trial.cache import NoCache, TrialCache
from lowland.trial.parameters import Purpose, StudySize


def compare(
    X: Any,
    y: Any = None,
    methods: Literal["all"] | str | Sequence[Any] = "all",
    k: int = 2,
    *,
    drop: Sequence[str] = (),
    purpose: Purpose = "visualize",
    sweep: Sweep | None = None,
    scale: Scale = "auto",
    impute: Impute = "auto",
    use: Sequence[str] = (),
    time_limit: float | None = 120.0,
    total_time_limit: float | None = None,
    embeddings: Mapping[str, Any] | None = None,
    reliability: bool = False,
    cache: bool = True,
    seed: int = 0,
    worker: Literal["auto"] | bool = "auto",
    command: str | None = None,
) -> StudyResult:
    """Compare dimensionality reduction methods on one table: time, memory, quality measures, and which to use.

    A table is prepared as ``TablePreparer`` does it: categories and dates are encoded, identifiers, years, codes and
    copies of the labels are not used, and missing numbers are replaced. ``study.table.preparation`` says what was done.
    A method that fails, exceeds the time limit or does not apply is a trial with that status and the reason. Ctrl-C
    stops the study and returns the completed trials with ``complete=False``. Completed trials are cached on disk and
    are not fitted again for the same data.

    Parameters
    ----------
    X : rows, in any form that a method accepts. They are held in memory. A large sparse table is reduced by PCA first.
        The report shows the ids and the columns to keep of a ``Table``.
    y : class labels or numbers to predict, one per row, or the name of the column of the data frame or file that
        contains them. None means no labels. Missing labels (None, NaN, empty strings) are drawn gray and not counted.
    methods : "all", or a list of class names or command-line names such as ["pca", "isomap"]. The list may contain
        scikit-learn estimators and pipelines with ``fit_transform``, alone or with a name: ("mine", estimator). They
        are fitted to the prepared numbers.
    k : number of dimensions of the embeddings.
    drop : names of columns of the data frame or file to exclude, such as row identifiers.
    purpose : "visualize", "compress" or "classify" (for numeric labels: regression). The advice for it comes
        first.
    sweep : values to try for a parameter, such as {"isomap.n_neighbors": [5, 10, 20]}. One value sets the parameter.
    scale : "auto" standardizes the columns to standard deviation 1 if some are not numbers, or if the standard
        deviations differ by more than a factor of 10, and weights counts of words or species by TF-IDF, with rows of
        unit length, whose distances order neighbors as cosine distances do. "standard" always standardizes, "none" uses
        the numbers as they are.
    impute : what to do with missing numbers: replace them by the "median" ("auto") or "mean" of the column, by those of
        similar rows ("knn"), or by probabilistic PCA ("em"). "drop" drops the incomplete rows, and "none" raises an
        error.
    use : names of columns to use although they do not look like features.
    time_limit : time limit for the fit of one trial, in seconds. None means no limit.
    total_time_limit : time limit for the whole study, in seconds. None means no limit. Trials that do not end in time
        are "timed out". Linear methods are fitted first.
    embeddings : coordinates from elsewhere to compare with, such as {"TriMap": Z}, one row for each row of X. They are
        evaluated and plotted, but not fitted.
    reliability : whether to test the leading maps as ``lowland.reliability`` does: the fraction of reliable points, and
        in the report the class of each point. This takes up to 30 fits of each map, and about three of a large table.
    cache : whether to read trials from the user's cache folder and to store them there.
    seed : seed of the random number generators, those of the methods included. The same seed gives the same result
        every time.
    worker : whether trials run in a separate process, which can be killed at the time limit. "auto" means only if the
        table has more than 2,000 rows or 200,000 values.
    command : the command shown in the report. None means this call.

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
    _check(k, purpose, scale, impute, {"time_limit": time_limit, "total_time_limit": total_time_limit}, seed, worker)
    named = check_names(methods, sweep)
    begun, started = time.perf_counter(), datetime.now().astimezone().isoformat(timespec="seconds")
    data = open_table(X, y, scale, k, drop, impute, (use,) if isinstance(use, str) else tuple(use))
    labels = data.labels
    n_classes, why = None if labels.classes is None else len(labels.classes), labels.why_no_classes
    numbers = labels.targets is not None
    categories = data.n_categories
    size = StudySize(
        len(data.X), data.X.shape[1], int(k), n_classes, purpose, int(seed), why, numbers, categories, data.n_given
    )
    if purpose == "classify" and n_classes is None and not numbers:
        raise ParameterError(
            f"class labels are required, but {why or 'there are none'}.",
            "Name the column of labels (`y=...`).",
            method="compare",
            purpose="classify",
        )
    trials = plan_of(size, named)
    trials += planned_embeddings(embeddings, size.n, tuple(trial.name for trial in trials))
    given: dict[str, Any] = {"methods": methods, "k": k, "drop": list(drop) or (), "purpose": purpose}
    given |= {
        "sweep": sweep,
        "scale": scale,
        "impute": impute,
        "use": list(use) or (),
        "time_limit": time_limit,
        "total_time_limit": total_time_limit,
    }
    given |= {"embeddings": _Names(embeddings) if embeddings else None, "reliability": reliability, "seed": seed}
    call = command or _call(X, y, given)
    kept = TrialCache() if cache else NoCache()
    done, facts, complete = StudyRunner(
        data, size, trials, time_limit, total_time_limit, worker, kept, reliability=reliability
    ).run()
    suspects = () if data.named else suspect_columns(data.X, data.names, scaled=data.scaled, named=False)
    is_dominated = any(each.kind == "dominant" for each in suspects)
    in_one_unit = data.is_reduced or data.image_shape or data.prepared.one_unit  # nobody leaves out one of the columns
    alone = [] if is_dominated or in_one_unit else lone_components(data.X, data.names)
    advice = advise(
        done, facts, size, scaled=data.scaled,
        units_differ=not (data.scaled or data.prepared.one_unit) and scales_differ(data.X),
        suspects=suspects, notes=(*data.caveats, *data.notes, *alone),
        n_unlabeled=labels.n_missing, complete=complete,
    )  # fmt: skip
    seconds = time.perf_counter() - begun
    return StudyResult(
        data.shown_part(size.seed),
        done,
        advice,
        size.k,
        purpose,
        call,
        versions(),
        machine(),
        started,
        seconds,
        complete,
    )


def _check(k: Any, purpose: Any, scale: Any, impute: Any, limits: dict[str, Any], seed: Any, worker: Any) -> None:
    integer = int | np.integer
    if isinstance(k, bool) or not isinstance(k, integer) or k < 1:
        raise ParameterError("must be an integer of at least 1.", method="compare", k=k)
    choices = (("purpose", purpose, get_args(Purpose)), ("scale", scale, get_args(Scale)), ("impute", impute, IMPUTE))
    for name, value, known in choices:
        if value not in known:
            raise ParameterError(
                f"compare({name}={value!r}): unknown {name}. {did_you_mean(value, known)}Choose one of "
                f"{', '.join(map(repr, known))}."
            )
    for name, limit in limits.items():
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < math.inf
        ):
            raise ParameterError(
                f"compare({name}={limit!r}): must be a positive number of seconds, or `None` for no limit."
            )
    if isinstance(seed, bool) or not isinstance(seed, integer) or seed < 0:
        raise ParameterError("must be an integer of at least 0.", method="compare", seed=seed)
    if worker not in ("auto", True, False):
        raise ParameterError("choose 'auto', `True` or `False`.", method="compare", worker=worker)


# --- the command, to reproduce a study ---


class _Names(dict):
    """The given coordinates in the command: by name, with Z for the arrays."""

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name!r}: Z" for name in self) + "}"


def _call(X: Any, y: Any, given: dict[str, Any]) -> str:
    """This call as Python code: without defaults, and with X and y for data in memory."""
    defaults = {name: p.default for name, p in inspect.signature(compare).parameters.items()}
    is_path = isinstance(X, str | os.PathLike)
    rows = repr(os.fspath(X)) if is_path else repr(X) if isinstance(X, Table) else "X"
    labels = [] if y is None else [repr(y) if isinstance(y, str) else "y"]
    options = [f"{name}={value!r}" for name, value in given.items() if value != defaults[name]]
    return f"lowland.compare({', '.join([rows, *labels, *options])})"


def versions() -> dict[str, str]:
    """Return the versions of Lowland, Python and the libraries."""
    import scipy
    import sklearn

    found = {"lowland": __version__, "python": platform.python_version()}
    return found | {library.__name__: library.__version__ for library in (np, scipy, sklearn)}


def machine() -> dict[str, str]:
    """Return a description of the machine: system, processor, cores, memory."""
    found = {"system": f"{platform.system()} {platform.machine()}", "processor": platform.processor() or "unknown"}
    with contextlib.suppress(OSError, StopIteration), open("/proc/cpuinfo", encoding="utf-8") as file:
        found["processor"] = next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    found["cores"] = str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    try:
        found["memory"] = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (ValueError, OSError, AttributeError):
        found["memory"] = "unknown"
    return found
