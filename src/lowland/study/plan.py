"""The plan of a study: which methods are tried, with which parameters, and why others are left out."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from lowland.errors import DataError, LowlandError, ParameterError, with_remedy
from lowland.methods.base.params import parameters_of
from lowland.methods.base.traits import Traits, traits_of
from lowland.methods.registry import Entry, Flag, entries, find_method, load_method
from lowland.quality.inputs import open_coordinates
from lowland.study.result import GIVEN, Purpose, Trial
from lowland.suggestions import did_you_mean

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
    return tuple(trial for e in chosen for trial in trials_of(e, size, values.get(e.name, {}), e.name in by_name))


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


def trials_of(
    e: Entry, size: StudySize, values: Mapping[str, list[Any]] = MappingProxyType({}), named: bool = True
) -> list[Planned]:
    """Return the trials of one method: one, or one per combination of the swept values."""
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


def _settings(traits: Traits, size: StudySize, values: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
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
        unmet = f", but {size.why_no_classes}" if size.why_no_classes else ". Name the column of labels (`y=...`)"
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


Sweep = Mapping[str, Sequence[Any]]


def find_parameter(name: str) -> tuple[Entry, Flag]:
    """Return the method and the parameter that ``isomap.n_neighbors`` names, or raise an error that lists them."""
    method, dot, parameter = name.strip().partition(".")
    if not dot or not method or not parameter:
        raise ParameterError(
            f"`sweep` {name!r}: write a method and its parameter with a dot between them, such as 'isomap.n_neighbors'."
        )
    (found,) = methods_named([method])
    wanted = parameter.strip().lower().replace("-", "_")
    flag = next((flag for flag in found.flags if flag.name.lower() == wanted), None)
    if flag is None:
        names = [flag.name for flag in found.flags]
        raise ParameterError(
            f"`sweep` {name!r}: {found.name} has no parameter {parameter!r}. {did_you_mean(wanted, names)}Its "
            f"parameters: {', '.join(map(repr, names))}."
        )
    return found, flag


def methods_named(names: Iterable[str]) -> list[Entry]:
    """Return methods by class name or command-line name, in any case, with or without dashes; each once."""
    with with_remedy("To evaluate an embedding from another library, use `lowland.quality.evaluate`."):
        return list({e.name: e for e in map(find_method, names)}.values())


def split_sweep(text: str) -> tuple[str, list[str]]:
    """Split ``isomap.n_neighbors=5,10,20`` into the name and the values, as strings."""
    name, equals, rest = text.partition("=")
    values = [value.strip() for value in rest.split(",")]
    if not equals or not all(values):
        raise ParameterError(
            f"`sweep` {text!r}: write METHOD.PARAMETER=VALUE,VALUE,… such as isomap.n_neighbors=5,10,20."
        )
    return name.strip(), values


def checked_sweep(sweep: Sweep | None) -> dict[str, dict[str, list[Any]]]:
    """Return the values of every swept parameter by method and name; each value once, in order."""
    if sweep is None:
        return {}
    if not isinstance(sweep, Mapping):
        raise ParameterError(f"sweep={sweep!r}: must be a dict such as {{'isomap.n_neighbors': [5, 10, 20]}}.")
    found: dict[str, dict[str, list[Any]]] = {}
    for name, values in sweep.items():
        if not isinstance(name, str):
            raise ParameterError(f"`sweep` {name!r}: must be a method and its parameter, such as 'isomap.n_neighbors'.")
        method, flag = find_parameter(name)
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ParameterError(f"`sweep` {name!r}: the value must be a list of values, such as [5, 10, 20].")
        listed = [value.item() if isinstance(value, np.generic) else value for value in values]
        if not listed:
            raise ParameterError(f"`sweep` {name!r}: the list of values is empty. Pass at least one value.")
        once = found.setdefault(method.name, {}).setdefault(flag.name, [])
        for value in listed:
            if not any(_same(value, other) for other in once):
                once.append(value)
    return found


def _same(a: Any, b: Any) -> bool:
    """Whether two values are the same; 1 and True are different."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.array_equal(a, b)
    return a is b or (type(a) is type(b) and bool(a == b))


def short_text(value: Any) -> str:
    """Return a value as the name of a trial shows it: a long one by its type only."""
    text = getattr(value, "__name__", None) or str(value)
    return text if len(text) <= 40 and "\n" not in text else f"({type(value).__name__})"


def combinations(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the values of several parameters; one empty combination if there are none."""
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


NOT_FITTED = (
    "These coordinates were given, not fitted. Time, memory and reconstruction error are blank because they need the "
    "method."
)
LABELS_UNKNOWN = " If the labels were used to compute the coordinates, the measures of classes are too optimistic."


def planned_embeddings(embeddings: Any, n: int, taken: tuple[str, ...]) -> tuple[Planned, ...]:
    """Check the given coordinates, one entry per name, for n rows; ``taken`` are the names of the other trials."""
    if embeddings is None:
        return ()
    if not isinstance(embeddings, Mapping):
        raise ParameterError(
            f"`compare(embeddings=…)` is a {type(embeddings).__name__}. Pass a dict of names and coordinates, such "
            "as {'TriMap': `Z`}."
        )
    found = []
    for name, Z in embeddings.items():
        if not isinstance(name, str) or not name:
            raise ParameterError(f"`compare(embeddings=…)`: the name {name!r} must be a string that is not empty.")
        if name in taken:
            raise ParameterError(f"`compare(embeddings=…)`: a trial is named {name!r} already. Choose another name.")
        found.append(Planned(name, GIVEN, given=_full(name, Z, n)))
    return tuple(found)


def _full(name: str, Z: Any, n: int) -> np.ndarray:
    """The coordinates of all rows, (n, k); NaN for rows without."""
    try:
        C, kept = open_coordinates(Z)
    except LowlandError as error:
        raise type(error)(f"The coordinates {name!r}: {error.marked}") from error
    if len(kept) != n:
        raise DataError(
            f"The coordinates {name!r} have {len(kept):,} rows, the data has {n:,}. Pass one row of coordinates for "
            "each row of the data, in the same order."
        )
    full = np.full((n, C.shape[1]), np.nan, dtype=C.dtype)
    full[kept] = C
    return full


def given_trial(planned: Planned, *, labeled: bool) -> Trial:
    """Return the trial of given coordinates, before it is evaluated."""
    assert planned.given is not None
    Z = planned.given
    n_excluded = int(np.isnan(Z).any(axis=1).sum())
    warned = [NOT_FITTED + LABELS_UNKNOWN * labeled]
    if n_excluded:
        warned.append(
            f"{n_excluded:,} of {len(Z):,} rows have no coordinates. The measures are computed from the others."
        )
    return Trial(
        planned.name, GIVEN, {}, "done", None, tuple(warned), n_excluded=n_excluded, n_components=Z.shape[1], Z=Z
    )


@functools.cache
def traits_named(method: str) -> Traits:
    """Return the traits of the method of a trial; given coordinates have none."""
    return Traits() if method == GIVEN else traits_of(load_method(method))
