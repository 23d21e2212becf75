"""The modules of a page as one classic script, so that a report is one file that opens offline.

The modules follow rules that keep this simple: imports are named and relative, nothing is renamed, exported by default
or re-exported, no module imports itself through others, and no two modules declare the same name at the top level.
Types, which only ``make check`` reads, are left out.
"""

from __future__ import annotations

import posixpath
import re
from importlib.resources import files

IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.{1,2}/[^"]+\.js)";\n?', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?function\b|class\b|const\b|let\b)", re.MULTILINE)
TYPES = re.compile(r"^ */\*\*(?:[^*]|\*(?!/))*\*/\n", re.MULTILINE)  # JSDoc that has lines of its own
DECLARED = re.compile(r"^(?:export )?(?:async )?(?:function\*?|class|const|let) (\w+)", re.MULTILINE)


def script(entry: str, last: str = "") -> str:
    """Return the module ``entry``, such as ``"report/page.js"``, and all that it imports as one classic script.

    ``last`` is code that comes after it, inside of the same function.
    """
    parts = [f"// {name}\n{_plain(name)}" for name in modules(entry)]
    return "\n".join(['(() => {\n"use strict";', *parts, *([last] if last else []), "})();\n"])


def modules(entry: str) -> list[str]:
    """Return the names of a module and of all that it imports, each after those that it imports."""
    done: list[str] = []
    _visit(entry, done, ())
    return done


def page_text(name: str) -> str:
    """Return the text of a file of this package, such as ``"view/view.css"``."""
    return (files("lowland.pages") / name).read_text(encoding="utf-8").replace("\r\n", "\n")


def imported(name: str) -> list[str]:
    """Return the names of the modules that a module imports."""
    return [
        posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) for _, path in IMPORT.findall(page_text(name))
    ]


def declared(name: str) -> list[str]:
    """Return the names that a module declares at its top level."""
    return DECLARED.findall(page_text(name))


def _visit(name: str, done: list[str], within: tuple[str, ...]) -> None:
    if name in within:
        raise ValueError(
            f"{name} imports itself: {' -> '.join((*within, name))}. Move what they share to a third module."
        )
    if name in done:
        return
    for other in imported(name):
        _visit(other, done, (*within, name))
    done.append(name)


def _plain(name: str) -> str:
    text = TYPES.sub("", EXPORT.sub("", IMPORT.sub("", page_text(name))))
    if left := re.search(r"^(?:import|export)\b.*", text, re.MULTILINE):
        raise ValueError(
            f"{name}: {left[0]!r} is not supported. Import by name from a relative path, or export a declaration."
        )
    return text
