"""Checks of the arguments of data sets; the messages give the call and the remedy."""

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from lowland.errors import ParameterError
from lowland.suggestions import did_you_mean

Seed = int | None | np.random.Generator


def check_points(call: str, n: int, noise: float) -> None:
    """Raise an error for fewer than 1 point, or negative noise."""
    check_integer(call, "n", n, 1)
    check_number(call, "noise", noise, at_least=0)


def check_integer(call: str, name: str, value: int, at_least: int) -> None:
    """Raise an error unless the value is an integer of at least ``at_least``."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ParameterError(f"{name} must be an integer.", f"Choose {at_least} or more.", method=call, **{name: value})
    if value < at_least:
        raise ParameterError(f"{name} is too small.", f"Choose {at_least} or more.", method=call, **{name: value})


def check_number(call: str, name: str, value: float, at_least: float = -math.inf) -> None:
    """Raise an error unless the value is a finite number of at least ``at_least``."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ParameterError(f"{name} must be a finite number.", "Choose one, such as 1.", method=call, **{name: value})
    if value < at_least:
        raise ParameterError(f"{name} is too small.", f"Choose {at_least} or more.", method=call, **{name: value})


def one_of(call: str, name: str, value: Any, choices: Any) -> str:
    """Return the value if it is one of the choices; otherwise raise an error with a suggestion."""
    if isinstance(value, str) and value in choices:
        return value
    raise ParameterError(
        f"unknown {name}.",
        f"{did_you_mean(value, choices)}Choose one of: {', '.join(choices)}.",
        method=call,
        **{name: value},
    )


def random_generator(call: str, seed: Seed) -> np.random.Generator:
    """Return the random generator of a seed."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as problem:
        raise ParameterError(
            "not a valid seed.", "Choose an integer of 0 or more.", method=call, seed=seed
        ) from problem
