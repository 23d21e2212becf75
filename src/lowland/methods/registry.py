"""The registry of methods: every file in this folder that defines a class with a ``verb``.

A class is found by the name of its file, without reading any other. Everything else, such as the parameters that the
command line shows, needs all classes. It is collected at first use and kept in the user's cache folder until a source
file changes, so that ``lowland methods`` need not import them.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import json
import os
import re
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lowland.errors import ParameterError
from lowland.suggestions import suggested

_FOLDER = Path(__file__).parent

FIRST = "PCA"  # the map that is computed when a table is opened
USUAL = ("pca", "tsne", "umap", "isomap", "spectral-embedding")  # the maps that the explorer offers together
NOTEBOOK = ("pca", "umap")  # the maps that a notebook shows
GROUPS = (
    "Linear", "Neighbor embeddings", "Distances", "Manifolds", "Networks and prototypes", "Labels",
    "Categories and counts", "Columns", "Other",
)  # fmt: skip


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
    title: str  # as people write it: t-SNE, spectral embedding
    module: str
    summary: str
    group: str  # the heading under which lists show it
    live: bool  # whether a callback sees the map while it is computed
    warm: bool  # whether a fit can start from an earlier map
    streams: bool
    streams_with_landmarks: bool
    takes_sparse: bool
    order_free: bool
    needs_y: bool  # whether it requires labels
    takes_covariance: bool  # whether it can be fitted to a covariance matrix
    attributes: list[str]  # names of the fitted attributes
    flags: list[Flag]


@functools.cache
def entries() -> dict[str, Entry]:
    """Return the methods by class name, sorted by module: from the cache, or from the classes themselves."""
    path, stamp = _cache_path(), _stamp()
    with suppress(OSError, ValueError, KeyError, TypeError):  # no index, a damaged one, or one of other sources
        return _read_index(path.read_text(encoding="utf-8"), stamp)
    text = json.dumps({"stamp": stamp, "methods": [asdict(e) for e in build_entries()]})
    with suppress(OSError):  # a folder that cannot be written: collect them again next time
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)  # at once: another process may read it
    return _read_index(text, stamp)


def _read_index(text: str, stamp: str) -> dict[str, Entry]:
    kept = json.loads(text)
    if kept["stamp"] != stamp:
        raise ValueError("The source files have changed.")
    found = [Entry(**{**e, "flags": [Flag(**flag) for flag in e["flags"]]}) for e in kept["methods"]]
    return {e.name: e for e in found}


def cache_folder() -> Path:
    """Return Lowland's folder in the cache folder of the user, which XDG_CACHE_HOME can set."""
    windows = os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
    return Path(os.environ.get("XDG_CACHE_HOME") or windows or os.path.expanduser("~/.cache")) / "lowland"


def _cache_path() -> Path:
    """The file of the index of this installation."""
    return cache_folder() / f"methods-{hashlib.sha256(str(_FOLDER).encode()).hexdigest()[:12]}.json"


def _stamp() -> str:
    """The state of all source files: a parameter may name a type that another folder defines."""
    states = []
    for folder, _, names in os.walk(_FOLDER.parent):
        for name in names:
            if name.endswith(".py"):
                state = os.stat(os.path.join(folder, name))
                states.append(f"{folder}/{name} {state.st_mtime_ns} {state.st_size}")
    return hashlib.sha256("\n".join(sorted(states)).encode()).hexdigest()


def match_method(name: str) -> Entry | None:
    """Return a method by its class name, title or name on the command line, or None; case, - and _ do not matter."""
    word = _plain(name)
    return next((e for e in entries().values() if word in map(_plain, (e.name, e.verb, e.title))), None)


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
    cls = class_named(name)
    if cls is not None:
        return cls
    e = find_method(name)
    return getattr(importlib.import_module(e.module), e.name)


def class_named(name: str) -> type[Any] | None:
    """Return the class of a method by its exact name, or None; it is in the file of the same name in lower case."""
    module = _modules().get(name.lower())
    cls = None if module is None else getattr(importlib.import_module(module), name, None)
    return cls if isinstance(cls, type) and cls.__module__ == module else None


@functools.cache
def method_names() -> tuple[str, ...]:
    """Return the names of the classes, sorted, read from the files without importing them."""
    found = []
    for plain, module in _modules().items():
        text = (_FOLDER / f"{module.rpartition('.')[2]}.py").read_text(encoding="utf-8")
        found += [name for name in re.findall(r"^class (\w+)", text, re.MULTILINE) if name.lower() == plain]
    return tuple(sorted(found))


def build_entries() -> list[Entry]:
    """Find all methods by importing every file in this folder: the classes with a ``verb``."""
    from lowland.methods.base.method import Method

    found: list[Entry] = []
    for module in sorted(_modules().values()):
        own: list[Any] = [v for v in vars(importlib.import_module(module)).values() if isinstance(v, type)]
        own = [cls for cls in own if cls.__module__ == module and issubclass(cls, Method)]
        found += [_entry_of(cls) for cls in own if cls._traits.verb]
    return found


def _plain(name: str) -> str:
    return re.sub(r"[-_ ]", "", name.strip().lower())


def _modules() -> dict[str, str]:
    """The modules in this folder, by the lower-case name of the class that they may define."""
    stems = [name.removesuffix(".py") for name in os.listdir(_FOLDER) if name.endswith(".py")]
    return {_plain(stem): f"{__package__}.{stem}" for stem in stems if stem.isidentifier() and stem[0] != "_"}


def _entry_of(cls: Any) -> Entry:
    from lowland.methods.base.params import attributes_of, parameters_of
    from lowland.methods.base.traits import traits_of

    summary = (cls.__doc__ or "").strip().splitlines()[0]
    own = traits_of(cls)
    if own.group not in GROUPS:
        raise ValueError(f"{cls.__name__}: unknown group {own.group!r}. Choose one of {', '.join(GROUPS)}.")
    return Entry(
        name=cls.__name__,
        verb=own.verb,
        title=own.title or cls.__name__,
        module=cls.__module__,
        summary=summary,
        group=own.group,
        live="callback" in inspect.signature(cls.fit).parameters,
        warm=own.warm is not None,
        streams=own.streams,
        streams_with_landmarks=own.streams_with_landmarks,
        takes_sparse=own.takes_sparse,
        order_free=own.order_free,
        needs_y=own.needs_y,
        takes_covariance=hasattr(cls, "fit_covariance"),
        attributes=[attribute.name for attribute in attributes_of(cls)],
        flags=[_flag_of(p) for p in parameters_of(cls)],
    )


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
