"""Whether a value fits a declared type, and the type in words."""

from __future__ import annotations

import collections.abc
import numbers
import types
import typing
from typing import Any, Literal

import numpy as np


def admits(kind: Any, value: Any) -> bool:
    """Whether ``value`` is of the annotated ``kind``, with numpy's numbers as good as Python's."""
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
    return isinstance(value, origin or kind)


def in_words(kind: Any) -> str:
    """Return an annotation in words: 'a whole number or None'."""
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        words = [in_words(part) for part in typing.get_args(kind)]
        return ", ".join(words[:-1]) + f" or {words[-1]}"
    if origin is Literal:
        choices = [repr(choice) for choice in typing.get_args(kind)]
        return "one of " + ", ".join(choices) if len(choices) > 1 else choices[0]
    plain = {
        int: "a whole number",
        float: "a number",
        bool: "True or False",
        str: "a text",
        types.NoneType: "None",
        Any: "anything",
    }
    if kind in plain:
        return plain[kind]
    if origin is collections.abc.Callable:
        return "a function"
    return f"a {getattr(kind, '__name__', kind)}"


class Described:
    """What stands for a foreign object that was not saved: its description. Transforming works; fitting needs the object."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"<not saved: {self.text}>"
