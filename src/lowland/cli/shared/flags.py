"""The parameters of a method as command-line options, generated from the index of methods."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from lowland.cli.shared.options import Option, in_section
from lowland.cli.shared.values import RULES, Choice, ParameterValue

if TYPE_CHECKING:
    from lowland.methods.registry import Entry, Flag

_IN_PYTHON = (  # phrases of parameter descriptions in Python, and on the command line
    (r", a splitter, or pairs of (?:training and test rows|row index arrays)", ""),
    (r"[,;]? or an (?:array, )?\(n, n_components\)(?: array)?(?:, wh[^.]*)?", ""),
    (r"[,;]? or an? (?:function|estimator|array)\b[^,.;]*|, a function(?:(?: of two rows)?(?=,)| that[^,.;]*)", ""),
    (r", a RandomState, a Generator(?= or)", ""),
    (r"a rule such as \w+\(\)", "a rule"),
    (r"lowland\.config\((\w+)=[^)]*\)", r"--\1"),
    (r"\bNone\b", "none"),
    (r"\bX (holds|contains|is)\b", r"FILE \1"),
    (r"\bof y against X\b", "of the labels against the other columns"),
    (r"\bof y\b", "of the labels"),
    (r"\bnumeric y\b", "numeric label"),
    (r"\b([a-z]\w*)_(?!\w)", lambda found: found[1].replace("_", " ")),  # the name of a fitted attribute
    (r"\b([a-z]\w*)='([^']*)'", lambda found: f"{flag_names(found[1])[-1]} {found[2]}"),
    (r"\b[a-z]+(?:_[a-z]+)+\b(?!['(])", lambda found: flag_names(found[0])[-1]),  # the name of another parameter
)
_SHORT = {"n_components": "--components", "n_features_to_select": "--features", "n_clusters": "--clusters"}
DEFAULT_SEED = 0  # a command gives the same result every time; in Python, random_state=None draws a seed
TAKEN = ("memory",)  # on the command line, --memory is the memory budget


def parameter_options(entry: Entry) -> list[click.Parameter]:
    """Return the options for the parameters of a method, in a section of the help."""
    return in_section(f"Parameters of {entry.name}", [option_of(flag) for flag in entry.flags if is_settable(flag)])


def option_of(flag: Flag) -> Option:
    """Return the option for a parameter. The default is only shown; the method sets it."""
    names, doc = flag_names(flag.name), command_line_text(flag.doc)
    hidden = has_no_effect(flag)
    if "rule" in flag.kinds:
        doc = f"{doc} Rules: {', '.join(RULES.values())}."
    if flag.kinds == ["bool"] and not flag.choices:
        on = names[-1]
        doc = re.sub(r"\bFalse\b", f"--no-{on[2:]}", re.sub(r"\bTrue\b", on, doc))
        text = f"{doc} [default: {on[2:] if flag.default else f'no-{on[2:]}'}]"
        return Option([f"{on}/--no-{on[2:]}", flag.name], default=None, help=text, hidden=hidden)
    if "bool" in flag.kinds:
        doc = re.sub(r"\bFalse\b", "no", re.sub(r"\bTrue\b", "yes", doc))
    kind: Any = ParameterValue(flag)
    if flag.choices and not flag.kinds:
        kind = Choice(flag.choices, case_sensitive=False)
    default = DEFAULT_SEED if flag.name == "random_state" else flag.default
    text = f"{doc} [default: {default_text(default)}]"
    return Option([*names, flag.name], type=kind, default=None, help=text, metavar=metavar_of(flag), hidden=hidden)


def command_line_text(doc: str) -> str:
    """Return the description of a parameter for the command line, without values that only Python can express."""
    for python, here in _IN_PYTHON:
        doc = re.sub(python, here, doc)
    return doc


def is_settable(flag: Flag) -> bool:
    """Whether a parameter can be set on the command line.

    A parameter that takes only Python objects has no flag, nor has one whose flag means something else here, or one
    that is deprecated.
    """
    if flag.name in TAKEN or flag.default == "deprecated":
        return False
    if isinstance(flag.default, list | tuple) and not flag.kinds:  # arrays
        return False
    return flag.kinds != ["none"] or bool(flag.choices)


def has_no_effect(flag: Flag) -> bool:
    """Whether a parameter is accepted only for compatibility with another library; the help does not list it."""
    return flag.doc.startswith("Accepted for ")


def flag_names(parameter: str) -> list[str]:
    """Return the flags for a parameter; the last one has its full name."""
    if parameter == "missing":  # --missing names the marks of missing values in a file
        return ["--missing-values"]
    own = f"--{parameter.replace('_', '-')}"
    return ["-k", _SHORT[parameter], own] if parameter in _SHORT else [own]


def default_text(value: Any) -> str:
    """Return a value as it would be written on the command line."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(default_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def metavar_of(flag: Flag) -> str:
    """Return the allowed values of a flag for the help: ``NUMBER|mle|RULE|none``."""
    number = "NUMBER" if "float" in flag.kinds else "INTEGER" if "int" in flag.kinds else None
    parts = [
        number,
        *(flag.choices or []),
        "RULE" if "rule" in flag.kinds else None,
        "yes|no" if "bool" in flag.kinds else None,
        "NUMBER,NUMBER,…" if "numbers" in flag.kinds else None,
        "STRING" if "str" in flag.kinds else None,
        "none" if "none" in flag.kinds else None,
    ]
    return "|".join(part for part in parts if part) or "VALUE"
