"""The registry of methods. A generated index lists them without importing any of them.

A file in this folder that is not in the index yet is imported and indexed in memory, so that a new method works at
once. ``make docs`` and ``make texts`` regenerate the index; a test checks that it is up to date.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lowland.errors import ParameterError
from lowland.suggestions import suggested

INDEX = Path(__file__).with_name("index.json")
_NO_METHODS = ("__init__", "groups", "model_files", "registry")  # files in this folder that define no method


@dataclass(frozen=True)
class Flag:
    """A parameter as the command line shows it."""

    name: str
    words: str  # its type in words
    default: Any
    doc: str
    choices: list[str] | None  # the allowed strings, if there are only a few
    kinds: list[str]  # "int", "float", "bool", "none", "rule", "numbers"


@dataclass(frozen=True)
class Entry:
    """A method in the index."""

    name: str
    verb: str
    module: str
    summary: str
    streams: bool
    streams_with_landmarks: bool
    takes_sparse: bool
    order_free: bool
    needs_y: bool  # whether it requires labels
    takes_covariance: bool  # whether it can be fitted to a covariance matrix
    flags: list[Flag]


@functools.cache
def entries() -> dict[str, Entry]:
    """Return the methods by class name: those in the index, and those of files that are not in it yet."""
    listed = json.loads(INDEX.read_text(encoding="utf-8"))
    indexed = [Entry(**{**e, "flags": [Flag(**flag) for flag in e["flags"]]}) for e in listed]
    modules = _modules()
    found = [e for e in indexed if e.module in modules]
    for module in sorted(modules - {e.module for e in indexed}):
        found += _entries_in(module)
    return {e.name: e for e in sorted(found, key=lambda e: e.module)}


def match_method(name: str) -> Entry | None:
    """Return a method by its class name or its name on the command line, or None; case, - and _ do not matter."""
    word = _plain(name)
    return next((e for e in entries().values() if word in (_plain(e.name), _plain(e.verb))), None)


def find_method(name: str) -> Entry:
    """Return a method named as for ``match_method``; the error for an unknown name suggests similar ones."""
    found = match_method(name)
    if found is not None:
        return found
    verbs = sorted(e.verb for e in entries().values())
    close = suggested(name.strip(), verbs)
    meant = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
    raise ParameterError(f"There is no method {name.strip()!r}. {meant}Available methods: {', '.join(verbs)}.")


def load_method(name: str) -> type[Any]:
    """Return the class of a method, named as for ``find_method``."""
    e = entries().get(name) or find_method(name)
    return getattr(importlib.import_module(e.module), e.name)


def build_entries() -> list[Entry]:
    """Find all methods by importing every file in this folder."""
    return [e for module in sorted(_modules()) for e in _entries_in(module)]


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "").replace("_", "")


def _modules() -> set[str]:
    """The modules in this folder that may define a method, by their file names."""
    stems = {name.removesuffix(".py") for name in os.listdir(INDEX.parent) if name.endswith(".py")}
    return {f"{__package__}.{stem}" for stem in stems.difference(_NO_METHODS) if stem.isidentifier()}


def _entries_in(module: str) -> list[Entry]:
    """The methods that a module defines: the classes with a ``verb``."""
    from lowland.methods.base.method import Method

    own = [v for v in vars(importlib.import_module(module)).values() if isinstance(v, type) and v.__module__ == module]
    return [_entry_of(cls) for cls in own if issubclass(cls, Method) and cls._traits.verb]


def _entry_of(cls: Any) -> Entry:
    from lowland.methods.base.params import parameters_of
    from lowland.methods.base.traits import traits_of

    summary = (cls.__doc__ or "").strip().splitlines()[0]
    own = traits_of(cls)
    traits = (own.takes_sparse, own.order_free, own.needs_y, hasattr(cls, "fit_covariance"))
    streams = (own.streams, own.streams_with_landmarks)
    named = (cls.__name__, own.verb, cls.__module__, summary)
    return Entry(*named, *streams, *traits, [_flag_of(p) for p in parameters_of(cls)])


def _flag_of(p: Any) -> Flag:
    import types
    import typing
    from collections.abc import Sequence

    from lowland.math.spectra.component_rules import Rule

    parts = typing.get_args(p.kind) if typing.get_origin(p.kind) in (typing.Union, types.UnionType) else (p.kind,)
    names = {int: "int", float: "float", bool: "bool", types.NoneType: "none", str: "str", Rule: "rule"}
    names[Sequence[float]] = names[Sequence[int]] = names[Sequence] = "numbers"
    texts = [str(c) for part in parts if typing.get_origin(part) is typing.Literal for c in typing.get_args(part)]
    return Flag(p.name, p.words, p.default, p.doc, texts or None, [names[part] for part in parts if part in names])


def index_text() -> str:
    """Return the contents of the index file."""
    return json.dumps([asdict(e) for e in build_entries()], indent=1, ensure_ascii=False) + "\n"
