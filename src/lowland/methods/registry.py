"""Which methods there are. A small generated index answers without importing any of them.

``python -m lowland.methods.registry`` writes the index anew; a test keeps it true.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import json
import pkgutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lowland.errors import ParameterError

INDEX = Path(__file__).with_name("index.json")


@dataclass(frozen=True)
class Flag:
    """A parameter as the command line and the forms show it."""

    name: str
    words: str  # its type in words
    default: Any
    doc: str
    choices: list[str] | None  # the texts it may be, if it is one of a few
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
    needs_y: bool  # whether it cannot do without labels
    takes_covariance: bool  # whether it can be fitted to a covariance alone
    flags: list[Flag]


@functools.cache
def entries() -> dict[str, Entry]:
    """Return the methods by class name, read from the index."""
    found = json.loads(INDEX.read_text(encoding="utf-8"))
    return {e["name"]: Entry(**{**e, "flags": [Flag(**flag) for flag in e["flags"]]}) for e in found}


def entry(name: str) -> Entry:
    """Return the entry of a method named by class or verb."""
    for e in entries().values():
        if name in (e.name, e.verb):
            return e
    known = ", ".join(sorted(e.verb for e in entries().values()))
    raise ParameterError(f"There is no method {name!r}. The methods: {known}.")


def find_method(name: str) -> Entry:
    """Return a method by its class name or its verb; case, dashes and underscores do not matter."""
    word = _plain(name)
    for e in entries().values():
        if word in (_plain(e.name), _plain(e.verb)):
            return e
    verbs = sorted(e.verb for e in entries().values())
    close = difflib.get_close_matches(name.strip().lower(), verbs, n=1, cutoff=0.65)
    meant = f"Did you mean {close[0]!r}? " if close else ""
    raise ParameterError(f"There is no method {name.strip()!r}. {meant}The methods: {', '.join(verbs)}.")


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "").replace("_", "")


def load_method(name: str) -> type[Any]:
    """Return the class of a method, named as for ``find_method``."""
    e = entries().get(name) or find_method(name)
    return getattr(importlib.import_module(e.module), e.name)


def build_entries() -> list[Entry]:
    """Find every method by importing every file of this folder."""
    from lowland import methods
    from lowland.methods.base.estimator import Reducer

    found = []
    for info in sorted(pkgutil.iter_modules(methods.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"lowland.methods.{info.name}")
        for value in vars(module).values():
            if (
                isinstance(value, type)
                and issubclass(value, Reducer)
                and value.__module__ == module.__name__
                and value._traits.verb
            ):
                found.append(_entry_of(value))
    return found


def _entry_of(cls: Any) -> Entry:
    from lowland.methods.base.parameters import parameters_of
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

    from lowland.blocks.spectra.component_rules import Rule

    parts = typing.get_args(p.kind) if typing.get_origin(p.kind) in (typing.Union, types.UnionType) else (p.kind,)
    names = {int: "int", float: "float", bool: "bool", types.NoneType: "none", str: "str", Rule: "rule"}
    names[Sequence[float]] = names[Sequence] = "numbers"
    texts = [str(c) for part in parts if typing.get_origin(part) is typing.Literal for c in typing.get_args(part)]
    return Flag(p.name, p.words, p.default, p.doc, texts or None, [names[part] for part in parts if part in names])


def index_text() -> str:
    """Return the index as it should stand in the file."""
    return json.dumps([asdict(e) for e in build_entries()], indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    INDEX.write_text(index_text(), encoding="utf-8")
