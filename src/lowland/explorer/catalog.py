"""The methods for the page: groups, and the parameters that a form can set."""

from __future__ import annotations

import functools
from typing import Any

from lowland.errors import ParameterError
from lowland.methods.registry import FIRST, GROUPS, USUAL, Entry, Flag, entries, find_method
from lowland.suggestions import did_you_mean

MAIN = (
    "n_components", "n_neighbors", "perplexity", "min_dist", "metric", "kernel", "gamma", "method", "grid", "epochs",
    "hidden_layer_sizes", "metric_mds", "n_clusters", "n_features_to_select", "rotation", "alpha", "n_landmarks",
)  # fmt: skip
DEFAULTS = {"n_components": 2, "random_state": 0}  # of a map, whatever the method's own default is


@functools.cache
def catalog() -> list[dict[str, Any]]:
    """Return all methods, in the order of their groups; the first map's method comes first."""
    found = [
        {
            "name": entry.name, "title": entry.title, "verb": entry.verb, "summary": entry.summary,
            "group": entry.group, "needs_labels": entry.needs_y,
            "live": entry.live, "warm": entry.warm, "usual": entry.verb in USUAL,
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


def checked_method(name: str, given: dict[str, Any]) -> Entry:
    """Return a method; a parameter that it does not have is an error that suggests a similar name."""
    entry = find_method(name)
    known = [flag.name for flag in entry.flags if is_settable(flag)]
    for parameter in given:
        if parameter not in known:
            raise ParameterError(
                f"{entry.name} has no parameter {parameter[:60]!r}. {did_you_mean(parameter, known)}".rstrip()
            )
    return entry
