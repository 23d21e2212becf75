"""Arguments that ``fit`` or ``transform`` of a method does not take: an error of the method, which says what to do."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from lowland.errors import ParameterError
from lowland.methods.base.parameters import parameters_of
from lowland.suggestions import did_you_mean

CHECKED = ("fit", "fit_transform", "transform")


def known_arguments(method: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse keywords that a function does not have; Python's own error would name the base class that defines it."""
    taken = inspect.signature(method).parameters
    if any(p.kind is p.VAR_KEYWORD for p in taken.values()):
        return method
    names = tuple(taken)[1:]  # without self

    @functools.wraps(method)
    def checked(self: Any, *args: Any, **given: Any) -> Any:
        for name in given:
            if name not in names:
                raise _unknown(self, method.__name__, name, names)
        return method(self, *args, **given)

    return checked


def _unknown(model: Any, method: str, name: str, taken: tuple[str, ...]) -> ParameterError:
    cls: Any = type(model)
    call = f"{cls.__name__}.{method}({name}=...)"
    if name == "sample_weight":
        return ParameterError(f"{call}: {cls.__name__} does not take sample weights. Omit sample_weight.")
    if method != "transform" and any(p.name == name for p in parameters_of(cls)):
        right = f"{cls.__name__}({name}=...).{method}(X)"
        return ParameterError(f"{call}: {name} is a parameter of the class. Use {right}.")
    listed = ", ".join(taken) if len(taken) > 1 else "X alone: the model keeps what it needs from the fit"
    return ParameterError(f"{call}: {method} takes {listed}. {did_you_mean(name, taken)}Omit {name}.")
