"""Parameter sweeps: several values of a method's parameter, written as ``isomap.n_neighbors``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from lowland.errors import ParameterError, with_remedy
from lowland.methods.registry import Entry, Flag, find_method
from lowland.suggestions import did_you_mean

Sweep = Mapping[str, Sequence[Any]]


def swept(name: str) -> tuple[Entry, Flag]:
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
        method, flag = swept(name)
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
