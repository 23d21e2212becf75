"""Records in model files: dataclasses of numbers, strings and arrays, registered where they are defined."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, TypeVar

Record = TypeVar("Record")

RECORDS: dict[str, type[Any]] = {}  # by class name: a model file contains no other objects


def record(cls: type[Record]) -> type[Record]:
    """Allow a dataclass to be saved and loaded with a model; the file contains its class name.

    >>> from dataclasses import dataclass
    >>> @record
    ... @dataclass(frozen=True)
    ... class Interval:
    ...     lower: float
    ...     upper: float
    >>> RECORDS.pop("Interval")(lower=0.0, upper=1.0)
    Interval(lower=0.0, upper=1.0)
    """
    known = RECORDS.setdefault(cls.__name__, cls)
    if not is_dataclass(cls) or (known is not cls and known.__module__ != cls.__module__):
        raise TypeError(f"{cls.__qualname__} must be a dataclass, and no other record may have its name.")
    return cls
