"""Parameters and fitted attributes, declared once in the class: name, type, default, limits and description.

The checks in ``fit``, the docstring, the flags of the command line, ``lowland inspect`` and the reference page are
generated from these declarations.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import inspect
import math
import numbers
import operator
import re
import types
import typing
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from lowland.errors import ParameterError
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
) -> Any:
    """Declare a parameter: its default, its description and its limits. The annotation gives its type.

    ``at_most=math.inf`` admits infinity, which is otherwise an error. ``wanted`` describes the allowed values in
    words, if type and limits are not enough. ``former`` values are deprecated in scikit-learn: they are accepted, but
    not advertised.
    """
    limits = {"at least": at_least, "above": above, "at most": at_most}
    limits = {words: limit for words, limit in limits.items() if limit is not None}
    return dataclasses.field(
        default=default,
        kw_only=not positional,
        metadata={"doc": doc, "limits": limits, "wanted": wanted, "former": former},
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
        return self.said or self.words + "".join(
            f", {words} {limit:g}" for words, limit in self.limits.items() if limit != math.inf
        )

    def fits(self, value: Any) -> bool:
        """Whether a value has the declared type and lies within the limits."""
        if any(value is each for each in self.former):
            return True
        if not admits(self.kind, value):
            return False
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            return True
        return self.is_usable(value) and all(_WITHIN[words](value, limit) for words, limit in self.limits.items())

    def is_usable(self, value: Any) -> bool:
        """Whether compiled code can compute with a number: it is finite, and an integer has at most 64 bits."""
        if isinstance(value, float):
            return math.isfinite(value) or value == self.limits.get("at most")
        return abs(value) < 2**63 or np.random.Generator in typing.get_args(self.kind)


_WITHIN: dict[str, Callable[[Any, float], bool]] = {
    "at least": operator.ge,
    "above": operator.gt,
    "at most": operator.le,
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
    return Parameter(field.name, kind, field.default, said["doc"], said["limits"], said["wanted"], said["former"])


def check_parameters(model: Any) -> dict[str, Any]:
    """Check the parameters of a model and return them by name, with numbers of numpy as numbers of Python.

    Only those that are not at their defaults are checked: ``fit`` on iris must stay under a millisecond.
    """
    cls: Any = type(model)
    found = {}
    for p in parameters_of(cls):
        value = found[p.name] = getattr(model, p.name)
        if value is p.default:
            continue
        for part in (value, *getattr(value, "__dict__", {}).values()):  # a rule may hold an estimator
            if isinstance(part, Described):
                part()
        found[p.name] = plain(value)
        if not p.fits(found[p.name]):
            meant = did_you_mean(value, p.choices).rstrip()
            if isinstance(found[p.name], int | float) and not p.is_usable(found[p.name]):
                meant = "Choose a finite number below 2^63."
            reason = f"the parameter {p.name!r} must be {p.wanted}."
            raise ParameterError(reason, meant, method=cls.__name__, given={p.name: value})
    return found


def plain(value: Any) -> Any:
    """Return a number or string of another library as Python's: an int8 would overflow, a float32 would round.

    >>> plain([np.int8(5), np.float32(0.5), np.str_("em")])
    [5, 0.5, 'em']
    """
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str | numbers.Integral):
        return str(value) if isinstance(value, str) else int(value)
    return float(value) if isinstance(value, numbers.Real) else value


def documented(cls: Any) -> str:
    """Return the docstring of a method in numpydoc order: parameters and attributes come before the other sections."""
    text = inspect.getdoc(cls) or ""
    sections = re.search(r"^(See Also|Notes|References|Examples)\n-+$", text, re.MULTILINE)
    split = sections.start() if sections else len(text)
    head, rest = text[:split].rstrip(), text[split:]
    own = [f"{p.name} : {p.wanted}, default {p.default!r}\n    {p.doc}" for p in parameters_of(cls)]
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
    if isinstance(value, str | bytes) and kind is not str:  # not a sequence of its letters
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
        words: list[str] = []
        for part in typing.get_args(kind):
            if part is bool:
                words += ["True", "False"]
            elif typing.get_origin(part) is Literal:
                words += map(repr, typing.get_args(part))
            else:
                words.append(in_words(part))
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
    """Placeholder for a function or another object that a model file describes: files contain no code."""

    def __init__(self, text: str, name: str = "") -> None:
        self.text, self.name = text, name

    def __repr__(self) -> str:
        return f"<not saved: {self.text}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise the error that says how to set the object again."""
        raise ParameterError(
            f"The model was loaded from a file, which contains only a description of {self.name}: {self.text}.",
            f"Set the parameter again with set_params({self.name}=...).",
        )


# --- fitted attributes ---


@dataclasses.dataclass(frozen=True)
class Attribute:
    """A fitted attribute as declared."""

    doc: str
    shape: str = ""
    when: str = ""  # the condition under which a fit sets it; empty: always
    name: str = ""
    kind: str = ""  # the annotation, as written
    saved: bool = True  # whether model files contain it

    @property
    def header(self) -> str:
        """Name, type and shape, as numpydoc writes them."""
        return f"{self.name} : {self.type}"

    @property
    def type(self) -> str:
        """Type and shape in words."""
        kind, optional, _ = self.kind.partition(" | None")
        shape = f" of shape {self.shape}" if self.shape else ""
        kind = "array" if kind in ("Array", "np.ndarray", "Any") else kind
        return f"{kind}{shape}{' or None' if optional else ''}"

    @property
    def sentence(self) -> str:
        """The description, and the condition under which a fit sets the attribute."""
        text = f"{self.doc} Only {self.when}." if self.when else self.doc
        return text if self.saved else f"{text} Not in model files."


def attribute(doc: str, shape: str = "", *, when: str = "", saved: bool = True, init: Literal[False] = False) -> Any:
    """Declare a fitted attribute: its description, its shape, and the condition under which a fit sets it.

    The annotation gives its type. Not ``saved``: model files leave it out, since no method needs it. ``init=False``
    tells type checkers that it is not a parameter.
    """
    return Attribute(doc, shape, when, saved=saved)


def shared_attributes(**declared: tuple[str, ...]) -> dict[str, Attribute]:
    """Declare attributes that several methods share, each by its type, description, shape and condition.

    A method takes them by ``class PCA(Method, attributes=PRINCIPAL_ATTRIBUTES)``.
    """
    found = {}
    for name, (kind, doc, *rest) in declared.items():
        shape, when = [*rest, "", ""][:2]
        found[name] = Attribute(doc, shape, when, name, kind)
    return found


def collect_attributes(cls: type, shared: dict[str, Attribute]) -> dict[str, Attribute]:
    """Remove the declarations from a class body, so that an unfitted model has none; add those of its base classes.

    A public property whose name ends in an underscore counts as an attribute. Its docstring is the description.
    """
    found: dict[str, Attribute] = {}
    for base in reversed(cls.__mro__[1:]):
        found |= vars(base).get("_attributes", {})
    found |= shared
    for name, value in list(vars(cls).items()):
        if isinstance(value, Attribute):
            found[name] = dataclasses.replace(value, name=name, kind=str(cls.__annotations__.pop(name)))
            delattr(cls, name)
        elif isinstance(value, property) and name.endswith("_") and not name.startswith("_"):
            text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
            found[name] = Attribute(
                text, name=name, kind=str(getattr(value.fget, "__annotations__", {}).get("return", ""))
            )
    return found


def attributes_of(cls: Any) -> tuple[Attribute, ...]:
    """Return the declared attributes of a method: its own first, those of its most general base class last."""
    groups: list[list[str]] = []
    seen: set[str] = set()
    for base in reversed(cls.__mro__):
        new = [name for name in vars(base).get("_attributes", {}) if name not in seen]
        groups.append(new)
        seen.update(new)
    return tuple(cls._attributes[name] for group in reversed(groups) for name in group)


# --- arguments of fit and transform ---

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
    if method == "__init__":
        return ParameterError(
            f"{cls.__name__}({name}=...): no such parameter. {did_you_mean(name, taken)}The parameters are "
            f"{', '.join(taken)}."
        )
    call = f"{cls.__name__}.{method}({name}=...)"
    if name == "sample_weight":
        return ParameterError(f"{call}: {cls.__name__} does not take sample weights. Omit sample_weight.")
    if method != "transform" and any(p.name == name for p in parameters_of(cls)):
        right = f"{cls.__name__}({name}=...).{method}(X)"
        return ParameterError(f"{call}: {name} is a parameter of the class. Use {right}.")
    listed = ", ".join(taken) if len(taken) > 1 else "X alone: the model keeps what it needs from the fit"
    return ParameterError(f"{call}: {method} takes {listed}. {did_you_mean(name, taken)}Omit {name}.")
