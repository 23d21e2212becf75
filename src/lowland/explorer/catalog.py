"""The methods for the page: groups, and the parameters that a form can set."""

from __future__ import annotations

import functools
from typing import Any

from lowland.errors import ParameterError
from lowland.methods.registry import FIRST, GROUPS, Entry, Flag, entries, find_method
from lowland.suggestions import did_you_mean

MAIN = (
    "n_components", "n_neighbors", "perplexity", "min_dist", "metric", "kernel", "gamma", "method", "grid", "epochs",
    "hidden_layer_sizes", "metric_mds", "n_clusters", "n_features_to_select", "rotation", "alpha", "n_landmarks",
)  # fmt: skip
DEFAULTS = {"n_components": 2, "random_state": 0}  # of a map, whatever the method's own default is
NUMERIC = ("int", "float", "numbers")


@functools.cache
def catalog() -> list[dict[str, Any]]:
    """Return all methods, in the order of their groups; the first map's method comes first."""
    found = [
        {
            "name": entry.name, "title": entry.title, "verb": entry.verb, "summary": entry.summary,
            "group": entry.group, "needs_labels": entry.needs_y,
            "live": entry.live, "warm": entry.warm, "streams": entry.streams, "transform": True,
            "parameters": [
                {"name": flag.name, "doc": flag.doc, "words": flag.words,
                 "default": DEFAULTS.get(flag.name, flag.default), "kinds": flag.kinds, "choices": flag.choices,
                 "advanced": flag.name not in MAIN}
                for flag in entry.flags if is_settable(flag)
            ],
        }
        for entry in entries().values()
    ]  # fmt: skip
    return sorted(found, key=lambda m: (GROUPS.index(m["group"]), m["name"] != FIRST, m["name"].lower()))


def is_settable(flag: Flag) -> bool:
    """Whether a form can set a parameter: it takes numbers, strings or choices, and has an effect."""
    if flag.default == "deprecated" or flag.doc.startswith("Accepted for "):
        return False
    if isinstance(flag.default, list | tuple) and not flag.kinds:
        return False
    return (flag.kinds != ["none"] and bool(flag.kinds)) or bool(flag.choices)


def checked_parameters(method: str, given: dict[str, Any]) -> tuple[Entry, dict[str, Any]]:
    """Return the method and its parameters; an unknown one is an error that suggests a similar name."""
    entry = find_method(method)
    flags = {flag.name: flag for flag in entry.flags if is_settable(flag)}
    for name in given:
        if name not in flags:
            raise ParameterError(
                f"{entry.name} has no parameter {name[:60]!r}. {did_you_mean(name, list(flags))}".rstrip()
            )
    return entry, {name: _converted(flags[name], value) for name, value in given.items()}


def _converted(flag: Flag, value: Any) -> Any:
    """A number that a form sends as text, as a number; integers written as 2.0, as integers."""
    if isinstance(value, str) and value not in (flag.choices or ()) and set(flag.kinds) & {*NUMERIC, "none"}:
        text = value.strip()
        if text.lower() in ("", "none") and "none" in flag.kinds:
            return None
        for kind in (int, float):
            if kind.__name__ in flag.kinds:
                try:
                    return kind(text)
                except ValueError:
                    continue
        parts = text.strip("()[]").split(",")
        if "numbers" in flag.kinds and all(part.strip().lstrip("-").isdecimal() for part in parts):
            return [int(part) for part in parts]
    if isinstance(value, float) and value.is_integer() and "int" in flag.kinds and "float" not in flag.kinds:
        return int(value)
    return value
