"""The plan of a study: which methods are tried, with which parameters, and why others are left out."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lowland.errors import DataError, LowlandError, ParameterError, with_remedy
from lowland.methods.base.traits import Traits, traits_of
from lowland.methods.registry import Entry, Flag, entries, find_method, load_method
from lowland.quality.inputs import open_coordinates
from lowland.study.result import GIVEN, Trial
from lowland.suggestions import did_you_mean
from lowland.trial.parameters import Planned, StudySize, trials_of


def plan(
    size: StudySize, methods: Literal["all"] | str | Sequence[str] = "all", sweep: Sweep | None = None
) -> tuple[Planned, ...]:
    """Return every trial of a study in the order of the registry, including those left out with the reason."""
    return plan_of(size, check_names(methods, sweep))


@dataclass(frozen=True)
class NamedMethods:
    """The methods and parameter values that the user named."""

    methods: list[Entry] | None  # None: all
    estimators: dict[str, Any]  # of the user, by name
    values: dict[str, dict[str, list[Any]]]  # to try, by method and parameter


def check_names(methods: Any, sweep: Sweep | None) -> NamedMethods:
    """Check the names of methods and parameters before any row is read."""
    chosen, estimators = _methods(methods)
    return NamedMethods(chosen, estimators, checked_sweep(sweep))


def plan_of(size: StudySize, named: NamedMethods) -> tuple[Planned, ...]:
    """Return the plan for checked names."""
    every, values = list(entries().values()), named.values
    chosen = every
    if named.methods is not None:
        chosen = named.methods + [e for e in every if e.name in values and e not in named.methods]
    by_name = {e.name for e in named.methods or []} | set(values)
    found = [trial for e in chosen for trial in trials_of(e, size, values.get(e.name, {}), e.name in by_name)]
    for name, est in named.estimators.items():
        if any(trial.name == name for trial in found):
            raise ParameterError(f"`compare(methods=…)`: a trial is named {name!r} already. Choose another name.")
        found.append(Planned(name, GIVEN, {"estimator": est}, estimator=est))
    return tuple(found)


def _methods(methods: Any) -> tuple[list[Entry] | None, dict[str, Any]]:
    """The methods, or None for all, and the estimators of the user by name."""
    if isinstance(methods, str) and methods == "all":
        return None, {}
    listed = [methods] if isinstance(methods, str) or hasattr(methods, "fit_transform") else methods
    pairs = [_named(each) for each in listed] if isinstance(listed, Sequence) else []
    if not pairs or any(name is None for name, _ in pairs):
        raise ParameterError(
            "must be 'all' or a list of names such as ['pca', 'isomap'], in which ('mine', estimator) adds an "
            "estimator with fit_transform.",
            method="compare", methods=methods,
        )  # fmt: skip
    estimators = [(str(name), est) for name, est in pairs if est is not None]
    names = [name for name, _ in estimators]
    if len({*names}) < len(names):
        raise ParameterError(
            "`compare(methods=…)`: two estimators have the same name. Name them: ('first', estimator)."
        )
    return methods_named([str(name) for name, est in pairs if est is None]), dict(estimators)


def _named(each: Any) -> tuple[str | None, Any]:
    """The name of a method, or the name of an estimator and the estimator; (None, None) if it is neither."""
    if isinstance(each, str):
        return each, None
    name, est = None, each
    if isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str) and each[0]:
        name, est = each
    if not hasattr(est, "fit_transform") or not hasattr(est, "get_params"):
        return None, None
    return name or f"{type(est).__name__} ({type(est).__module__.partition('.')[0]})", est


def most_neighbors(trials: Sequence[Planned]) -> int:
    """Return how many neighbors the shared graph needs for the trials that use it; 0: no trial does."""
    return max((trial.shared_neighbors or 0 for trial in trials), default=0)


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
        for value in listed:  # 1 and True are different
            same = (type(value) is type(other) and np.array_equal(value, other) for other in once)
            if not any(value is other for other in once) and not any(same):
                once.append(value)
    return found


NOT_FITTED = (
    "These coordinates were passed, not fitted. Time, memory and reconstruction error are blank because they need the "
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
        given = full_coordinates(Z, f"The coordinates {name!r}")
        if len(given) != n:
            raise DataError(
                f"The coordinates {name!r} have {len(given):,} rows, the data has {n:,}. Pass one row of coordinates "
                "for each row of the data, in the same order."
            )
        found.append(Planned(name, GIVEN, given=given))
    return tuple(found)


def full_coordinates(Z: Any, what: str) -> np.ndarray:
    """Return the coordinates of all rows, (n, k), NaN for rows without; ``what`` begins the message of an error."""
    try:
        C, kept = open_coordinates(Z)
    except LowlandError as error:
        raise type(error)(f"{what}: {error.marked}") from error
    full = np.full((len(kept), C.shape[1]), np.nan, dtype=C.dtype)
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
