"""Parameters, declared once in the class: name, type, default, limits and description.

The checks in ``fit``, the docstring, the flags of the command line and the reference page are generated from these
declarations.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import inspect
import numbers
import re
import types
import typing
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from lowland.errors import ParameterError, shown
from lowland.methods.base.attributes import attributes_of
from lowland.suggestions import did_you_mean


def param(
    default: Any,
    doc: str,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    positional: bool = False,
    wanted: str | None = None,
    former: tuple[Any, ...] = (),
    read_late: bool = False,
) -> Any:
    """Declare a parameter: its default, its description and its limits. The annotation gives its type.

    ``wanted`` describes the allowed values in words, if type and limits are not enough. ``former`` values are
    deprecated in scikit-learn: they are accepted, but not advertised. ``read_late``: a change after the fit has an
    effect, as in scikit-learn; otherwise the model keeps the value of its fit.
    """
    limits = {"at least": at_least, "above": above, "at most": at_most}
    limits = {words: limit for words, limit in limits.items() if limit is not None}
    return dataclasses.field(
        default=default,
        kw_only=not positional,
        metadata={"doc": doc, "limits": limits, "wanted": wanted, "former": former, "read_late": read_late},
    )


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter as declared."""

    name: str
    kind: Any  # the resolved annotation
    default: Any
    doc: str
    limits: dict[str, float]
    said: str | None = None  # the allowed values in words, if declared
    former: tuple[Any, ...] = ()  # deprecated values that are still accepted
    read_late: bool = False  # whether a change after the fit has an effect

    @property
    def choices(self) -> list[str]:
        """The strings among its allowed values."""
        parts = typing.get_args(self.kind) if typing.get_origin(self.kind) is not Literal else (self.kind,)
        return [
            choice for part in parts if typing.get_origin(part) is Literal for choice in map(str, typing.get_args(part))
        ]

    @property
    def words(self) -> str:
        """Its type in words."""
        return in_words(self.kind)

    @property
    def wanted(self) -> str:
        """Its type and limits in words."""
        return self.said or self.words + "".join(f", {words} {limit:g}" for words, limit in self.limits.items())

    def fits(self, value: Any) -> bool:
        """Whether a value has the declared type and lies within the limits."""
        if any(value is each for each in self.former):
            return True
        if not admits(self.kind, value):
            return False
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            return True
        return all(_WITHIN[words](value, limit) for words, limit in self.limits.items())


_WITHIN: dict[str, Callable[[Any, float], bool]] = {
    "at least": lambda value, limit: value >= limit,
    "above": lambda value, limit: value > limit,
    "at most": lambda value, limit: value <= limit,
}


@functools.cache
def parameters_of(cls: Any) -> tuple[Parameter, ...]:
    """Return the declared parameters of a method, in the order of its signature."""
    fields = {f.name: f for f in dataclasses.fields(cls)}
    hints = typing.get_type_hints(cls)
    names = list(inspect.signature(cls.__init__).parameters)[1:]
    return tuple(_parameter(fields[name], hints[name]) for name in names)


def _parameter(field: dataclasses.Field[Any], kind: Any) -> Parameter:
    said = field.metadata
    return Parameter(
        field.name, kind, field.default, said["doc"], said["limits"], said["wanted"], said["former"], said["read_late"]
    )


def check_parameters(model: Any) -> None:
    """Check the parameters that are not at their defaults: ``fit`` on iris must stay under a millisecond."""
    cls: Any = type(model)
    for p in parameters_of(cls):
        value = getattr(model, p.name)
        if value is p.default:
            continue
        check_saved(model, p.name)
        if not p.fits(value):
            meant = did_you_mean(value, p.choices).rstrip()
            fact = f"{cls.__name__}({p.name}={shown(value)}): the parameter {p.name!r} must be {p.wanted}."
            raise ParameterError(f"{fact} {meant}".rstrip())


def check_saved(model: Any, name: str) -> None:
    """Refuse a parameter of a loaded model that was a function or another object: model files contain no code."""
    value = getattr(model, name)
    lost = next((v for v in (value, *getattr(value, "__dict__", {}).values()) if isinstance(v, Described)), None)
    if lost is not None:
        raise ParameterError(
            f"{type(model).__name__} was loaded from a file, which contains only a description of {name}: {lost.text}. "
            f"Set the parameter again with set_params({name}=...)."
        )


def documented(cls: Any) -> str:
    """Return the docstring of a method in numpydoc order: parameters and attributes come before the other sections."""
    text = inspect.getdoc(cls) or ""
    sections = re.search(r"^(See Also|Notes|References|Examples)\n-+$", text, re.MULTILINE)
    split = sections.start() if sections else len(text)
    head, rest = text[:split].rstrip(), text[split:]
    own = [f"{f.name} : {f.type}, default {f.default!r}\n    {f.metadata['doc']}" for f in dataclasses.fields(cls)]
    left = [f"{a.header}\n    {a.sentence}" for a in attributes_of(cls)]
    parts = [head, "", "Parameters", "----------", *own, "", "Attributes", "----------", *left, "", rest]
    return "\n".join(parts)


def admits(kind: Any, value: Any) -> bool:
    """Whether ``value`` has the annotated type ``kind``; numpy's numbers count as Python's."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return any(admits(part, value) for part in typing.get_args(kind))
    if origin is Literal:
        return any(type(value) is type(choice) and value == choice for choice in typing.get_args(kind))
    if kind is Any:
        return True
    if kind is None or kind is types.NoneType:
        return value is None
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)
    if kind is float:
        return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if origin is collections.abc.Callable or kind is collections.abc.Callable:
        return callable(value)
    if isinstance(value, str) and kind is not str:  # not a sequence of its letters
        return False
    if isinstance(value, np.ndarray) and value.ndim == 0:  # neither a number nor a sequence
        return False
    if not isinstance(value, origin or kind):
        return False
    items = typing.get_args(kind)
    table = origin is collections.abc.Sequence and typing.get_origin(items[0]) is collections.abc.Sequence
    return not table or all(hasattr(row, "__len__") and not isinstance(row, str) for row in value)


def in_words(kind: Any) -> str:
    """Return an annotation in words: 'an integer or None'."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        words = [in_words(part) for part in typing.get_args(kind)]
        return ", ".join(words[:-1]) + f" or {words[-1]}"
    if origin is Literal:
        choices = [repr(choice) for choice in typing.get_args(kind)]
        return "one of " + ", ".join(choices) if len(choices) > 1 else choices[0]
    plain = {
        int: "an integer",
        float: "a number",
        bool: "True or False",
        str: "a string",
        types.NoneType: "None",
        Any: "anything",
    }
    if kind in plain:
        return plain[kind]
    if origin is collections.abc.Callable:
        return "a function"
    name = str(getattr(kind, "__name__", kind))
    return _NAMED.get(name) or f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


_NAMED = {"ndarray": "an array", "Sequence": "a sequence", "Rule": "a rule", "dict": "a dictionary"}


class Described:
    """Placeholder for an object that was not saved. transform works without the object; fit needs it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"<not saved: {self.text}>"
