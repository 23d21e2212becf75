"""Converts strings of the command line to values of parameters."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from lowland.errors import ParameterError
from lowland.suggestions import did_you_mean

if TYPE_CHECKING:
    from lowland.methods.registry import Flag

# Repeated from math/spectra/component_rules, whose import would load numpy only for the help; a test compares both.
RULES = {
    "cumulative": "cumulative:FRACTION",
    "each-at-least": "each-at-least:FRACTION",
    "eigenvalue-above": "eigenvalue-above:VALUE",
    "kaiser": "kaiser",
    "parallel-analysis": "parallel-analysis",
    "knee": "knee",
}
PYTHON_ONLY = {"downstream": "it needs an estimator"}
_YES, _NO = ("true", "yes", "on"), ("false", "no", "off")


class Choice(click.Choice[str]):
    """A choice that suggests a similar one for a misspelled value."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the message for an unknown value."""
        message = super().get_invalid_choice_message(value, ctx)
        return f"{message} {did_you_mean(value, map(str, self.choices))}".rstrip()


@dataclass(eq=False, repr=False)
class ParameterValue(click.ParamType):
    """The type of an option whose parameter takes values of several types."""

    flag: Flag
    name = "value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of a string, or fail with the allowed values."""
        try:
            return value_of(self.flag, value) if isinstance(value, str) else value
        except ParameterError as error:
            self.fail(str(error), param, ctx)


def value_of(flag: Flag, text: str) -> Any:
    """Return the value of a string; tried in order: a choice, none, yes or no, numbers, a rule, a string."""
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
        if number == 0 and flag.name == "n_components":  # in Python, PCA(0) is a model without components
            raise ParameterError("0 components leave no columns. Choose at least 1.")
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
    if not flag.kinds and not flag.choices:  # of a type that is not in the index: numbers as numbers
        return text if number is None else number
    is_fraction = "rule" in flag.kinds and number is not None and 0 < number < 1
    hint = f"For a fraction of the variance, write cumulative:{word}." if is_fraction else ""
    meant = did_you_mean(word, [*(flag.choices or []), *(RULES if "rule" in flag.kinds else [])])
    raise ParameterError(f"{text!r} is not {allowed_values(flag)}. {meant}{hint}".rstrip())


def _number(word: str) -> int | float | None:
    if re.fullmatch(r"[+-]?\d+", word):
        return int(word)
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in word else None


def _rule(word: str) -> Any:
    """Return the rule for ``kaiser`` or ``cumulative:0.9``; None if there is no such rule."""
    name, _, rest = word.replace("_", "-").removesuffix("()").partition(":")
    if name in PYTHON_ONLY:
        raise ParameterError(
            f"the rule {name!r} is available only in Python: {PYTHON_ONLY[name]}. Choose another rule."
        )
    if name not in RULES:
        return None
    from lowland.math.spectra.component_rules import RULES as CLASSES

    cls = next(cls for key, cls in CLASSES.items() if dashed(key) == name)
    values = [_number(part.strip()) for part in rest.split(",")] if rest else []
    if None in values or (":" in RULES[name] and not values):
        raise ParameterError(f"{word!r} is not a rule. Write {RULES[name]} with a number.")
    try:
        return cls(*values)
    except ParameterError:
        raise
    except TypeError as error:
        raise ParameterError(f"{word!r} is not a rule. Write {RULES[name]}.") from error


def dashed(name: str) -> str:
    """Return a class name as it is written on the command line: ``each-at-least`` for EachAtLeast."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def allowed_values(flag: Flag) -> str:
    """Return the allowed values of a flag in words."""
    number = "a number" if "float" in flag.kinds else "an integer" if "int" in flag.kinds else None
    if {"rule", "float"} <= set(flag.kinds):
        number = "an integer, a fraction between 0 and 1"
    parts = [
        number,
        *(f"'{choice}'" for choice in flag.choices or []),
        f"a rule ({', '.join(RULES.values())})" if "rule" in flag.kinds else None,
        "'yes', 'no'" if "bool" in flag.kinds else None,
        "numbers separated by commas" if "numbers" in flag.kinds else None,
        "'none'" if "none" in flag.kinds else None,
    ]
    found = [part for part in parts if part]
    return " or ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)
