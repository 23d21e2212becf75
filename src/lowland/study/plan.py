"""The plan of a study: which methods are tried, with which parameters, and why others are left out.

The parameters that suit a method for a table of a given size are among its traits (``StudyHints``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from lowland.errors import ParameterError
from lowland.methods.base.params import parameters_of
from lowland.methods.base.traits import Traits, traits_of
from lowland.methods.registry import Entry, entries, load_method
from lowland.study.parameter_grid import Sweep, checked_sweep, combinations, methods_named, short_text
from lowland.study.result import Purpose

LANDMARKS = 1_000  # landmarks for tables with many rows
SAMPLE = 2_000  # training rows of a method without landmarks; the others are embedded as new rows


@dataclass(frozen=True)
class StudySize:
    """The size of the table and the purpose of a study."""

    n: int
    d: int
    k: int
    n_classes: int | None = None  # None: there are no labels, or they are not classes
    purpose: Purpose = "visualize"
    seed: int = 0
    why_no_classes: str | None = None  # why the labels are not classes, as a clause
    predicts_numbers: bool = False  # whether the labels are numbers to predict


@dataclass(frozen=True)
class Planned:
    """A trial to run, or the reason why it is left out."""

    name: str
    method: str
    parameters: dict[str, Any] = field(default_factory=dict)  # those not at their default
    why_left_out: str | None = None  # a sentence
    notes: tuple[str, ...] = ()  # reported among the warnings of the trial
    fitted_rows: int | None = None  # number of evenly spaced training rows; None: all rows
    shared_neighbors: int | None = None  # neighbors taken from the shared graph; None: it is not used
    takes_distances: bool = False  # whether the shared distances may replace the rows
    given: np.ndarray | None = None  # (n, k) coordinates of the user; nothing is fitted


def plan(
    size: StudySize, methods: Literal["all"] | str | Sequence[str] = "all", sweep: Sweep | None = None
) -> tuple[Planned, ...]:
    """Return every trial of a study in the order of the registry, including those left out with the reason."""
    return plan_of(size, check_names(methods, sweep))


@dataclass(frozen=True)
class NamedMethods:
    """The methods and parameter values that the user named."""

    methods: list[Entry] | None  # None: all
    values: dict[str, dict[str, list[Any]]]  # to try, by method and parameter


def check_names(methods: Any, sweep: Sweep | None) -> NamedMethods:
    """Check the names of methods and parameters before any row is read."""
    return NamedMethods(_methods(methods), checked_sweep(sweep))


def plan_of(size: StudySize, named: NamedMethods) -> tuple[Planned, ...]:
    """Return the plan for checked names."""
    every, values = list(entries().values()), named.values
    chosen = every
    if named.methods is not None:
        chosen = named.methods + [e for e in every if e.name in values and e not in named.methods]
    by_name = {e.name for e in named.methods or []} | set(values)
    return tuple(trial for e in chosen for trial in _trials_of(e, size, values.get(e.name, {}), e.name in by_name))


def _methods(methods: Any) -> list[Entry] | None:
    if isinstance(methods, str):
        if methods == "all":
            return None
        methods = [methods]
    if not isinstance(methods, Sequence) or not methods or not all(isinstance(name, str) for name in methods):
        raise ParameterError(
            "must be 'all' or a list of names such as ['pca', 'isomap'].", method="compare", methods=methods
        )
    return methods_named(methods)


def most_neighbors(trials: Sequence[Planned]) -> int:
    """Return how many neighbors the shared graph needs for the trials that use it; 0: no trial does."""
    return max((trial.shared_neighbors or 0 for trial in trials), default=0)


# --- the trials of one method ---


def _trials_of(e: Entry, size: StudySize, values: dict[str, list[Any]], named: bool) -> list[Planned]:
    """The trials of one method: one, or one per combination of the swept values."""
    cls = load_method(e.name)
    traits = traits_of(cls)
    why = _why_left_out(e, traits, size, named)
    if why is not None:
        return [Planned(e.name, e.name, why_left_out=why)]
    defaults = {flag.name: flag.default for flag in e.flags}
    width = _width(cls, traits, size)
    parameters = {**width, **traits.study.parameters}
    if traits.study.n_neighbors is not None:
        parameters["n_neighbors"] = _n_neighbors(traits.study.n_neighbors, size.n) + traits.study.counts_itself
    if traits.study.for_rows is not None:
        parameters |= traits.study.for_rows(size.n)
    if "random_state" in defaults:
        parameters["random_state"] = size.seed  # a study gives the same result every time
    own_notes = tuple(
        f"At most {most} dimension{'s are' if most > 1 else ' is'} possible; {size.k} were requested."
        for most in width.values()
        if most < size.k
    )
    found: list[Planned] = []
    for swept in _settings(traits, size, values):
        name = " ".join([e.name, *(f"{key}={short_text(value)}" for key, value in swept.items())])
        name += f" ({len(found) + 1})" if any(other.name == name for other in found) else ""
        settings, notes, fitted_rows = _for_many_rows(traits, size, swept)
        notes = (*notes, *own_notes)
        chosen = parameters | settings | _displaced(swept)
        chosen = {key: chosen[key] for key in chosen if key in width or chosen[key] != defaults[key]} | swept
        neighbors = shared_neighbors(traits, defaults | chosen, size.n, size.d)
        distances = traits.study.takes_distances
        found.append(Planned(name, e.name, chosen, None, notes, fitted_rows, neighbors, distances))
    return found


def _n_neighbors(usual: int, n: int) -> int:
    """The usual number of neighbors, or a fifth of the rows if there are few rows."""
    return max(2, min(usual, n // 5))


def _settings(traits: Traits, size: StudySize, values: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """The swept combinations; to classify also the method's own setting for it, unless parameters were swept."""
    found = combinations(values)
    to_classify = traits.study.to_classify
    if size.purpose == "classify" and size.n_classes is not None and not values and to_classify:
        found.append(dict(to_classify))
    return found


def _for_many_rows(
    traits: Traits, size: StudySize, swept: dict[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...], int | None]:
    """Parameters, a note and the number of training rows where all rows would take too long."""
    n, most = size.n, traits.study.all_pairs_up_to
    limited = None if traits.study.limited is None else traits.study.limited(n, size.d)
    if limited is not None and not swept.keys() & (limited[0] or {}).keys():
        return dict(limited[0] or {}), (limited[1],) if limited[0] else (), None
    if most is None or n <= most:
        return {}, (), None
    if traits.study.euclidean_needs_no_pairs and swept.get("metric", "euclidean") == "euclidean":
        return {}, (), None
    if traits.study.beyond == "landmarks":
        return {"n_landmarks": LANDMARKS}, (f"{LANDMARKS:,} landmarks were used because there are {n:,} rows.",), None
    note = f"Fitted to {SAMPLE:,} evenly spaced rows of {n:,}; the others were embedded as new rows."
    return {}, (note,), SAMPLE


def _displaced(swept: dict[str, Any]) -> dict[str, Any]:
    """Parameters that the study would set but must not, because a swept value contradicts them."""
    found: dict[str, Any] = {}
    if swept.get("radius") is not None:
        found["n_neighbors"] = None
    if swept.get("kernel", "rbf") not in ("rbf", "laplacian"):
        found["gamma"] = None  # the median rule is for kernels of distances
    if swept.get("threshold") is not None or swept.get("false_discovery_rate") is not None:
        found["n_features_to_select"] = "auto"
    return found


def _why_left_out(e: Entry, traits: Traits, size: StudySize, named: bool) -> str | None:
    """The reason why a method is left out, as a sentence that also fits several methods; None if it is not."""
    if traits.study.why_left_out is not None and not named:
        return traits.study.why_left_out
    limited = None if traits.study.limited is None or named else traits.study.limited(size.n, size.d)
    if limited is not None and limited[0] is None:
        return limited[1]
    if (traits.needs_y or (traits.selects_columns and not named)) and size.n_classes is None:
        unmet = f", but {size.why_no_classes}" if size.why_no_classes else ". Pass one label per row"
        return f"Class labels are required{unmet}."
    if traits.selects_columns and size.purpose != "classify" and not named:
        return "Feature selection is tried only if the purpose is 'classify'."
    if size.n < traits.min_rows:
        return f"{e.name} needs at least {traits.min_rows} rows; the data has {size.n}."
    if traits.width_parameter is None and size.k != 2:
        return f"{e.name} is a map with two dimensions; {size.k} were requested."
    return None


def _width(cls: Any, traits: Traits, size: StudySize) -> dict[str, int]:
    """The number of dimensions of a method, by its parameter: k, or the most that it can give."""
    if traits.width_parameter is None:
        return {}
    most = next(p.limits.get("at most", size.k) for p in parameters_of(cls) if p.name == traits.width_parameter)
    if traits.study.max_components is not None and size.n_classes is not None:
        most = traits.study.max_components(size.d, size.n_classes)
        if size.purpose == "classify":
            return {traits.width_parameter: int(most)}  # all that separate the classes
    return {traits.width_parameter: min(size.k, int(most))}


def shared_neighbors(traits: Traits, parameters: dict[str, Any], n: int, d: int) -> int | None:
    """Return how many neighbors a method takes from the shared graph; None: it needs no graph or builds its own."""
    count = traits.study.graph_neighbors
    if count is None and traits.study.n_neighbors is None:
        return None
    metric = parameters.get("metric", parameters.get("distance", "euclidean"))
    euclidean = metric == "euclidean" or (metric == "minkowski" and parameters.get("p", 2) == 2)
    if not euclidean or parameters.get("metric_params") or parameters.get("metric_kwds"):
        return None
    if parameters.get("radius") is not None or parameters.get("neighbors_algorithm", "auto") != "auto":
        return None
    try:
        k = _from_n_neighbors(traits, parameters) if count is None else count(parameters, n, d)
    except (TypeError, ValueError, ArithmeticError):  # a swept value is invalid, which the fit reports
        return None
    return k if k is not None and 1 <= k < n else None


def _from_n_neighbors(traits: Traits, parameters: dict[str, Any]) -> int | None:
    k = parameters.get("n_neighbors")
    if not isinstance(k, int) or parameters.get("affinity", "nearest_neighbors") != "nearest_neighbors":
        return None
    return k - traits.study.counts_itself
