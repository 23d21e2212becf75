"""The plan of a study: which methods take part, with which settings, and why others do not.

What a method needs to give a sensible answer at this size is written here, once; all else stays at its default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lowland.errors import ParameterError
from lowland.methods.base.parameters import parameters_of
from lowland.methods.base.traits import Traits, traits_of
from lowland.methods.registry import Entry, entries, load_method
from lowland.study.parameter_grid import Sweep, checked_sweep, combinations, method_named, told
from lowland.study.result import Purpose

PAIRS = 5_000  # rows up to which all pairs are compared; beyond, landmarks stand for all
GEODESICS = 12_000  # the same for distances along a graph
LANDMARKS = 1_000
SAMPLE = 2_000  # rows to which a method that knows no landmarks is fitted, the others being placed

# What gives the coordinates of another method, or none; named in methods or in a sweep it takes part all the same.
DOUBLES = {
    "IncrementalPCA": "It finds PCA's axes, from rows that come in batches.",
    "LinearAutoencoder": "Its codes span the plane of PCA.",
    "VectorQuantizer": "It replaces rows by codes and gives no coordinates to draw.",
}


@dataclass(frozen=True)
class StudySize:
    """What a plan is made for."""

    n: int
    d: int
    k: int
    classes: int | None = None  # None: there are no labels, or they are numbers
    purpose: Purpose = "see"
    seed: int = 0
    no_classes: str | None = None  # why labels that were given are no classes

    def neighbors(self, usual: int) -> int:
        """As many neighbours as is usual, or a fifth of the rows where these are few."""
        return max(2, min(usual, self.n // 5))


@dataclass(frozen=True)
class Planned:
    """A trial to be made, or the reason why it is not."""

    name: str
    method: str
    parameters: dict[str, Any] = field(default_factory=dict)  # those not at their default
    left_out: str | None = None  # a sentence
    notes: tuple[str, ...] = ()  # what is told with the result
    fitted_rows: int | None = None  # fitted to so many rows, spread evenly, the others being placed; None: to all


@dataclass(frozen=True)
class _Choice:
    parameters: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    fitted_rows: int | None = None


def _isomap(size: StudySize) -> _Choice:
    return _with_landmarks({"n_neighbors": size.neighbors(10)}, size.n > GEODESICS)


def _with_landmarks(parameters: dict[str, Any], many: bool) -> _Choice:
    if not many:
        return _Choice(parameters)
    note = f"{LANDMARKS:,} landmarks stand for all rows, since these are many."
    return _Choice({**parameters, "n_landmarks": LANDMARKS}, (note,))


def _on_a_sample(size: StudySize) -> _Choice:
    if size.n <= PAIRS:
        return _Choice()
    note = f"Fitted to {SAMPLE:,} rows spread evenly; the others were placed among them, since they are many."
    return _Choice({}, (note,), SAMPLE)


# SpectralEmbedding counts a point among its own neighbours, as scikit-learn's does.
_SETTINGS: dict[str, Callable[[StudySize], _Choice]] = {
    "Isomap": _isomap,
    "LocallyLinearEmbedding": lambda size: _Choice({"n_neighbors": size.neighbors(12)}),
    "SpectralEmbedding": lambda size: _Choice({"n_neighbors": size.neighbors(10) + 1}),
    "DiffusionMap": lambda size: _Choice({"n_neighbors": size.neighbors(30)}),
    "KernelPCA": lambda size: _with_landmarks({"kernel": "rbf", "gamma": "median"}, size.n > PAIRS),
    "ClassicalMDS": lambda size: _with_landmarks({}, size.n > PAIRS),
    "MDS": _on_a_sample,
    "SammonMapping": _on_a_sample,
    "SelfOrganizingMap": lambda size: _Choice({"coordinates": "smooth"}),
    "ProjectionPursuit": lambda size: _Choice({"n_null": 0}),  # its p-value is not asked for here
}


def plan(
    size: StudySize, methods: Literal["all"] | str | Sequence[str] = "all", sweep: Sweep | None = None
) -> tuple[Planned, ...]:
    """Return every trial of a study in the order of the registry, what is left out with its reason."""
    values = checked_sweep(sweep)
    asked = _asked(methods)
    chosen = list(entries().values()) if asked is None else asked
    chosen += [e for e in entries().values() if e.name in values and e not in chosen]
    named = {e.name for e in asked or []} | set(values)
    return tuple(trial for e in chosen for trial in _trials_of(e, size, values.get(e.name, {}), e.name in named))


def check_names(methods: Any, sweep: Sweep | None) -> None:
    """Refuse names of methods and parameters that there are not, before any row is read."""
    _asked(methods)
    checked_sweep(sweep)


def _asked(methods: Any) -> list[Entry] | None:
    """The methods that were named, each once; None: all."""
    if isinstance(methods, str):
        if methods == "all":
            return None
        methods = [methods]
    if not isinstance(methods, Sequence) or not methods or not all(isinstance(name, str) for name in methods):
        raise ParameterError(f"compare(methods={methods!r}): give 'all', or names such as ['pca', 'isomap'].")
    found: list[Entry] = []
    for name in methods:
        e = method_named(name)
        if e not in found:
            found.append(e)
    return found


def _trials_of(e: Entry, size: StudySize, values: dict[str, list[Any]], named: bool) -> list[Planned]:
    """The trials of one method: one, or one for each combination of the values swept over."""
    cls = load_method(e.name)
    traits = traits_of(cls)
    why = _why_not(e, traits, size, named)
    if why is not None:
        return [Planned(e.name, e.name, left_out=why)]
    choice = _SETTINGS.get(e.name, lambda size: _Choice())(size)
    parameters, notes = {**_count(e, cls, size), **choice.parameters}, choice.notes
    if size.seed and any(flag.name == "random_state" for flag in e.flags):
        parameters["random_state"] = size.seed  # 0 is what methods draw by themselves
    defaults = {flag.name: flag.default for flag in e.flags}
    counts = (
        {traits.width_parameter: parameters[traits.width_parameter]} if traits.width_parameter in parameters else {}
    )
    if counts and size.k != next(iter(counts.values())):
        most = next(iter(counts.values()))
        notes = (*notes, f"There can be {most} dimension{'s' * (most > 1)} at most, where {size.k} were asked for.")
    found: list[Planned] = []
    for swept in combinations(values):
        name = " ".join([e.name, *(f"{key}={told(value)}" for key, value in swept.items())])
        name += f" ({len(found) + 1})" if any(other.name == name for other in found) else ""
        chosen = parameters | _given_up(swept)
        kept = {key: chosen[key] for key in chosen if key in counts or chosen[key] != defaults[key]}
        found.append(Planned(name, e.name, kept | swept, None, notes, choice.fitted_rows))
    return found


def _given_up(swept: dict[str, Any]) -> dict[str, Any]:
    """What the study would choose, and leaves where a value swept over contradicts it."""
    found: dict[str, Any] = {}
    if swept.get("radius") is not None:
        found["n_neighbors"] = None
    if swept.get("kernel", "rbf") not in ("rbf", "laplacian"):
        found["gamma"] = None  # the median is a rule about distances
    if swept.get("threshold") is not None or swept.get("false_discovery_rate") is not None:
        found["n_features_to_select"] = "auto"
    return found


def _why_not(e: Entry, traits: Traits, size: StudySize, named: bool) -> str | None:
    """Why a method does not take part, in a sentence that reads well of several at once; None where it does."""
    if e.name in DOUBLES and not named:
        return DOUBLES[e.name]
    if (traits.needs_y or (traits.selects_columns and not named)) and size.classes is None:
        unmet = f", and {size.no_classes}" if size.no_classes else ": give labels, one a row"
        return f"Classes are needed to learn from{unmet}."
    if traits.selects_columns and size.purpose != "classify" and not named:
        return "Columns are kept as they are, to predict labels: this is tried where the purpose is to classify."
    if size.n < traits.min_rows:
        return f"{e.name} needs at least {traits.min_rows} rows, and there are {size.n}."
    if traits.width_parameter is None and size.k != 2:
        return f"{e.name} places rows on a map of two dimensions, and {size.k} were asked for."
    return None


def _count(e: Entry, cls: Any, size: StudySize) -> dict[str, Any]:
    """How many dimensions are asked of a method: k, or as many as it can give."""
    traits = traits_of(cls)
    if traits.width_parameter is None:
        return {}
    most = next(p.limits.get("at most", size.k) for p in parameters_of(cls) if p.name == traits.width_parameter)
    if e.name == "LinearDiscriminantAnalysis":
        assert size.classes is not None
        most = min(size.d, size.classes - 1)
    return {traits.width_parameter: min(size.k, int(most))}


def most_neighbors(trials: Sequence[Planned], n: int) -> int:
    """Return how many neighbours the shared graph needs for the trials that can use it; 0: none does."""
    return max((shared_neighbors(trial, n) or 0 for trial in trials if trial.left_out is None), default=0)


def shared_neighbors(trial: Planned, n: int) -> int | None:
    """Return how many of the nearest a trial takes from the shared graph; None: it is on no graph, or on its own."""
    from lowland.methods.base.graph_map import GraphMap

    cls = load_method(trial.method)
    if not issubclass(cls, GraphMap) or trial.fitted_rows is not None:
        return None
    wanted = {flag.name: flag.default for flag in entries()[trial.method].flags} | trial.parameters
    straight = wanted.get("metric", "euclidean") in ("euclidean", "minkowski") and wanted.get("p", 2) == 2
    plain = straight and not wanted.get("metric_params") and wanted.get("radius") is None
    k = wanted.get("n_neighbors")
    if not plain or not isinstance(k, int) or wanted.get("affinity", "nearest_neighbors") != "nearest_neighbors":
        return None
    k -= trial.method == "SpectralEmbedding"
    return k if 1 <= k < n and wanted.get("neighbors_algorithm", "auto") == "auto" else None
