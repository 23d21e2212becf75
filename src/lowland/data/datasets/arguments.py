"""Arguments of data sets: checked, with the call and the remedy in the message."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from lowland.errors import ParameterError
from lowland.suggestions import closest

Seed = int | None | np.random.Generator


def check_points(call: str, n: int, noise: float) -> None:
    """Refuse a number of points below 1, or noise below 0."""
    check_integer(call, "n", n, 1)
    check_number(call, "noise", noise, at_least=0)


def check_integer(call: str, name: str, value: int, at_least: int) -> None:
    """Refuse what is no integer of at least so much."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ParameterError(f"{call}({name}={value!r}): {name} must be a whole number. Choose {at_least} or more.")
    if value < at_least:
        raise ParameterError(f"{call}({name}={value}): {name} is too small. Choose {at_least} or more.")


def check_number(call: str, name: str, value: float, at_least: float = -math.inf) -> None:
    """Refuse what is no finite number of at least so much."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ParameterError(f"{call}({name}={value!r}): {name} must be a finite number. Choose one, such as 1.")
    if value < at_least:
        raise ParameterError(f"{call}({name}={value}): {name} is too small. Choose {at_least} or more.")


def one_of(call: str, name: str, value: Any, choices: Any) -> str:
    """Return the value if it is one of the choices; refuse it otherwise, and suggest the closest."""
    if isinstance(value, str) and value in choices:
        return value
    close = closest(str(value), choices, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    raise ParameterError(
        f"{call}({name}={value!r}): there is no such {name}. {hint}Choose among: {', '.join(choices)}."
    )


def random_generator(call: str, seed: Seed) -> np.random.Generator:
    """Return the random generator that a seed starts."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as problem:
        raise ParameterError(
            f"{call}(seed={seed!r}): this cannot start a random generator. Choose a whole number of 0 or more."
        ) from problem
