"""Parameters of a method as flags: a ``Flag`` of the index becomes an option, its text becomes a value."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import click

from lowland.cli.shared.options import Command, Option
from lowland.errors import ParameterError

if TYPE_CHECKING:
    from lowland.methods.registry import Flag

# Written here as well as in blocks/rules, which would load numpy for a line of help; a test keeps the two alike.
RULES = {
    "cumulative": "cumulative:SHARE",
    "each-at-least": "each-at-least:SHARE",
    "eigenvalue-above": "eigenvalue-above:VALUE",
    "kaiser": "kaiser",
    "parallel-analysis": "parallel-analysis",
    "knee": "knee",
}
PYTHON_ONLY = {"downstream": "it needs an estimator, which only Python can give"}
_IN_PYTHON = (  # what a sentence says to Python, and what it says here
    (r",? or a function[^,.;]*|, a function (?:of two rows(?=,)|that[^,.;]*)", ""),
    (r"a rule such as \w+\(\)", "a rule"),
    (r"lowland\.config\((\w+)=[^)]*\)", r"--\1"),
    (r"\bNone\b", "none"),
    (r"\bX holds\b", "FILE holds"),
    (r"([a-z])_(?!\w)", r"\1"),  # the name of an attribute
)
_QUOTED = r"""(?:'[^']*'|"[^"]*")"""
_SHORT = {"n_components": "--components", "n_features_to_select": "--features", "n_clusters": "--clusters"}
TAKEN = ("memory",)  # on the command line the working memory
_YES, _NO = ("true", "yes", "on"), ("false", "no", "off")


def option_of(flag: Flag, section: str) -> click.Option:
    """Return the option for a parameter. Its default is shown, and left to the method."""
    names, doc = flag_names(flag.name), spoken(flag.doc)
    if "rule" in flag.kinds:
        doc = f"{doc} Rules: {', '.join(RULES.values())}."
    if flag.kinds == ["bool"] and not flag.choices:
        on = names[-1]
        text = f"{doc} [default: {on[2:] if flag.default else f'no-{on[2:]}'}]"
        return Option([f"{on}/--no-{on[2:]}", flag.name], section=section, default=None, help=text)
    kind: Any = Value(flag)
    if flag.choices and not flag.kinds:
        kind = click.Choice(flag.choices, case_sensitive=False)
    text = f"{doc} [default: {shown(flag.default)}]"
    return Option([*names, flag.name], section=section, type=kind, default=None, help=text, metavar=metavar_of(flag))


def spoken(doc: str) -> str:
    """Return the sentence of a parameter as it reads on the command line, without what only Python can give."""
    for python, here in _IN_PYTHON:
        doc = re.sub(python, here, doc)
    return doc


def in_flags(text: str, command: click.Command) -> str:
    """Return a message of the library with the flags of a command where it names parameters of Python.

    ``Isomap(radius=0.1, n_neighbors=None)`` becomes ``--radius 0.1 --n-neighbors none``, ``n_neighbors`` alone
    ``--n-neighbors``. Names without an underscore are words as well, so alone they stay.
    """
    if not isinstance(command, Command) or command.python is None:
        return text
    options = {p.name: p for p in command.params if isinstance(p, click.Option) and p.name}
    pair = rf"({'|'.join(options)})=({_QUOTED}(?:(?:, | or ){_QUOTED})*|(?:[-+\w]|\.(?=\w))+)"

    def flag(name: str) -> str:
        if "-k" in options[name].opts:
            return "-k"
        own = f"--{name.replace('_', '-')}"
        return own if own in options[name].opts else options[name].opts[-1]

    def given(found: re.Match[str]) -> str:
        name, value = found[1], found[2].replace("'", "").replace('"', "")
        if options[name].secondary_opts and value in ("True", "False"):
            return flag(name) if value == "True" else options[name].secondary_opts[-1]
        return f"{flag(name)} {'none' if value == 'None' else value}"

    def call(found: re.Match[str]) -> str:
        return " ".join(re.sub(pair, given, found[1]).split(", "))

    text = re.sub(r"(?<=: )n_features=(\d+)", r"the data has \1 columns", text)
    text = re.sub(rf"\b{command.python}\(({pair}(?:, {pair})*)\)", call, text)
    text = re.sub(rf"(?<![\w(.]){pair}", given, text)
    bare = "|".join(name for name in options if "_" in name)
    return re.sub(rf"(?<![\w'\"./-])({bare})(?![\w(='\"/])", lambda found: flag(found[1]), text) if bare else text


def is_settable(flag: Flag) -> bool:
    """Whether words can give it a value: a parameter that takes only objects of Python, or none, has no flag.

    Nor has one whose flag means something else here.
    """
    return flag.name not in TAKEN and (flag.kinds != ["none"] or bool(flag.choices))


def flag_names(parameter: str) -> list[str]:
    """Return the flags that stand for a parameter, the one with its own name last."""
    own = f"--{parameter.replace('_', '-')}"
    return ["-k", _SHORT[parameter], own] if parameter in _SHORT else [own]


def shown(value: Any) -> str:
    """Return a value as it would be written on the command line."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def metavar_of(flag: Flag) -> str:
    """Return what a flag takes, in capitals and words: ``NUMBER|mle|RULE|none``."""
    number = "NUMBER" if "float" in flag.kinds else "INTEGER" if "int" in flag.kinds else None
    parts = [
        number,
        *(flag.choices or []),
        "RULE" if "rule" in flag.kinds else None,
        "yes|no" if "bool" in flag.kinds else None,
        "NUMBER,NUMBER,…" if "numbers" in flag.kinds else None,
        "TEXT" if "str" in flag.kinds else None,
        "none" if "none" in flag.kinds else None,
    ]
    return "|".join(part for part in parts if part) or "VALUE"


def allowed(flag: Flag) -> str:
    """Return in words what a flag takes."""
    number = "a number" if "float" in flag.kinds else "a whole number" if "int" in flag.kinds else None
    if {"rule", "float"} <= set(flag.kinds):
        number = "a whole number, a share between 0 and 1"
    parts = [
        number,
        *(f"'{choice}'" for choice in flag.choices or []),
        f"a rule ({', '.join(RULES.values())})" if "rule" in flag.kinds else None,
        "'yes', 'no'" if "bool" in flag.kinds else None,
        "numbers with commas between them" if "numbers" in flag.kinds else None,
        "'none'" if "none" in flag.kinds else None,
    ]
    found = [part for part in parts if part]
    return " or ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


class Value(click.ParamType):
    """The text of a flag whose parameter takes values of several kinds."""

    name = "value"

    def __init__(self, flag: Flag) -> None:
        self.flag = flag

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value a text stands for, or say which texts are allowed."""
        try:
            return value_of(self.flag, value) if isinstance(value, str) else value
        except ParameterError as error:
            self.fail(str(error), param, ctx)


def value_of(flag: Flag, text: str) -> Any:
    """Return the value a text stands for, tried in order: a choice, none, yes or no, numbers, a rule, a text."""
    word = text.strip().lower()
    for choice in flag.choices or []:
        if word == choice.lower():
            return choice
    if "none" in flag.kinds and word == "none":
        return None
    if "bool" in flag.kinds and word in (*_YES, *_NO):
        return word in _YES
    number = _number(word)
    if isinstance(number, int) and "int" in flag.kinds:
        return number
    if number is not None and "float" in flag.kinds and ("rule" not in flag.kinds or 0 < number < 1):
        return float(number)
    if "numbers" in flag.kinds:
        several = [_number(part.strip()) for part in word.split(",")]
        if None not in several:
            return several
    if "rule" in flag.kinds:
        rule = _rule(word)
        if rule is not None:
            return rule
    if "str" in flag.kinds:
        return text
    if not flag.kinds and not flag.choices:  # a parameter the index has no words for: numbers as numbers
        return text if number is None else number
    share = "rule" in flag.kinds and number is not None and 0 < number < 1
    hint = f" For a share of the variance write cumulative:{word}." if share else ""
    raise ParameterError(f"{text!r} is not {allowed(flag)}.{hint}")


def _number(word: str) -> int | float | None:
    if re.fullmatch(r"[+-]?\d+", word):
        return int(word)
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in word else None


def _rule(word: str) -> Any:
    """Return the rule behind ``kaiser`` or ``cumulative:0.9``; None if it names no rule."""
    name, _, rest = word.replace("_", "-").removesuffix("()").partition(":")
    if name in PYTHON_ONLY:
        raise ParameterError(f"the rule {name!r} is for Python only: {PYTHON_ONLY[name]}.")
    if name not in RULES:
        return None
    from lowland.blocks.spectra.component_rules import RULES as CLASSES

    cls = next(cls for key, cls in CLASSES.items() if dashed(key) == name)
    values = [_number(part.strip()) for part in rest.split(",")] if rest else []
    if None in values or (":" in RULES[name] and not values):
        raise ParameterError(f"{word!r} is not a rule: write {RULES[name]} with a number.")
    try:
        return cls(*values)
    except TypeError as error:
        raise ParameterError(f"{word!r} is not a rule: write {RULES[name]}.") from error


def dashed(name: str) -> str:
    """Return a class name as it is written on the command line: ``each-at-least`` for EachAtLeast."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()
