"""What methods declare and check alike: parameters without effect, counts that the data limits, errors of choices."""

from __future__ import annotations

from typing import Any

from lowland.errors import ParameterError
from lowland.methods.base.params import param


def ignored(default: Any, instead: str = "has no effect", *, package: str = "scikit-learn", **options: Any) -> Any:
    """Declare a parameter that is only accepted because another package has it."""
    return param(default, f"Accepted for compatibility with {package}; {instead}.", **options)


def refusal(model: Any, reason: str, remedy: str, *names: str) -> ParameterError:
    """The error of a fit, which names these parameters of the model with their values."""
    given = {name: getattr(model._params, name) for name in names}
    return ParameterError(reason, remedy, method=type(model).__name__, given=given)


def check_most(model: Any, name: str, most: int, fact: str) -> None:
    """Raise an error if a parameter asks for more than the data has."""
    asked = getattr(model._params, name)
    if asked is not None and asked > most:
        raise refusal(model, fact, f"Choose at most {most}.", name)
