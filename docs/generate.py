"""Write everything that is generated: the index of methods, the reference, tables of methods, and the pictures.

``make docs`` runs it, ``make texts`` all but the pictures; the same data give the same files. Tests hold the index, the
reference and the tables to the code. What the tables say of a method is read from its class and from the table "In
short" of its page.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lowland
from lowland.methods.base.parameters import parameters_of
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import INDEX, Entry, entries, index_text, load_method

DOCS = Path(__file__).parent
README = DOCS.parent / "README.md"
WHICH = DOCS / "which-method.md"
MOST_BYTES = 150_000
MODULES = ("data", "quality", "plots", "study", "rules", "algorithms", "errors")
SHORT = ("Keeps", "Straight", "Time", "Memory", "Measured", "Citation")  # of the table "In short" of a method's page


def main(*, draw_pictures: bool = True) -> None:
    """Write everything anew."""
    INDEX.write_text(index_text(), encoding="utf-8")
    (DOCS / "reference.md").write_text(reference(), encoding="utf-8")
    README.write_text(with_methods(README.read_text(encoding="utf-8")), encoding="utf-8")
    WHICH.write_text(with_facts(WHICH.read_text(encoding="utf-8")), encoding="utf-8")
    for name, draw in pictures().items() if draw_pictures else ():
        path = DOCS / "pictures" / f"{name}.png"
        path.parent.mkdir(exist_ok=True)
        draw().savefig(path, dpi=90, metadata={"Software": None})
        size = path.stat().st_size
        print(f"{path.relative_to(DOCS.parent)}: {size / 1000:.0f} kB")
        if size > MOST_BYTES:
            sys.exit(f"{path} is larger than {MOST_BYTES} bytes. Draw fewer points or at a lower resolution.")


# --- pictures ---------------------------------------------------------------------------------------------------------


def pictures() -> dict[str, Callable[[], Any]]:
    """Return what draws each picture: the public functions of pictures.py, else the page that shows it."""
    sys.path.insert(0, str(DOCS))
    module = importlib.import_module("pictures")
    drawn = {n: f for n, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == "pictures"}
    found = {name: draw for name, draw in drawn.items() if not name.startswith("_")}
    for entry in entries().values():
        page = page_of(entry)
        for name in re.findall(r"\]\(\.\./pictures/(\w+)\.png\)", page.read_text(encoding="utf-8")):
            found.setdefault(name, partial(drawn_by_page, page))
    return found


def drawn_by_page(page: Path) -> Any:
    """Run the Python snippets of a page in an empty folder and return the ``figure`` they leave."""
    snippets = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    space: dict[str, Any] = {"__name__": "snippet"}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            exec(compile("\n".join(snippets), str(page), "exec"), space)
        finally:
            os.chdir(before)
    if "figure" not in space:
        raise ValueError(f"{page.name} shows a picture that nothing draws. Draw it in a snippet: figure = plots....")
    return space["figure"]


# --- texts ------------------------------------------------------------------------------------------------------------


def with_methods(text: str) -> str:
    """Return the README with its table of methods as the registry has it."""
    return _between(text, "README.md", "methods", methods_table())


def with_facts(text: str) -> str:
    """Return the page on which method to take with its tables: abilities, costs and citations."""
    for mark, table in (("facts", facts_table), ("costs", costs_table), ("citations", citations_table)):
        text = _between(text, WHICH.name, mark, table())
    return text


def page_of(entry: Entry) -> Path:
    """Return the page of a method."""
    return DOCS / "methods" / f"{entry.module.rpartition('.')[2]}.md"


def in_short(entry: Entry) -> dict[str, str]:
    """Return the table "In short" of a method's page."""
    page = page_of(entry)
    section = page.read_text(encoding="utf-8").partition("\n## In short\n")[2].partition("\n## ")[0]
    table = dict(re.findall(r"^\| (\w+) \| (.*) \|$", section, re.M))
    missing = [name for name in SHORT if name not in table]
    if missing:
        raise ValueError(f'{page.name} lacks {", ".join(missing)} in its table "In short". See the page of PCA.')
    return table


def _between(text: str, page: str, mark: str, table: str) -> str:
    """Put a table where the marks of a page say."""
    begin, end = f"<!-- {mark}: written by make docs -->", f"<!-- {mark}: end -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{page} has lost its marks {begin} and {end}. Put them back around the table.")
    return f"{before}{begin}\n\n{table}\n\n{end}{after}"


def methods_table() -> str:
    """Return one line a method: name with its page, verb, what it is, what it takes."""
    lines = ["| Method | Verb | What it does | Larger than memory | Sparse |", "|---|---|---|---|---|"]
    for entry in entries().values():
        page = page_of(entry).relative_to(DOCS.parent).as_posix()
        takes = (_large(entry), _yes(entry.takes_sparse))
        lines.append(f"| [{entry.name}]({page}) | `{entry.verb}` | {entry.summary} | {' | '.join(takes)} |")
    return "\n".join(lines)


def facts_table() -> str:
    """Return one line a method: whether it needs labels, places new rows, leads back, streams, takes sparse rows."""
    lines = [
        "| Method | Labels | New rows | Way back | Larger than memory | Sparse rows |",
        "|---|---|---|---|---|---|",
    ]
    for entry in entries().values():
        cls = load_method(entry.name)
        labels = "needs" if entry.needs_y else "takes" if traits_of(cls).reads_y else "no"
        back = "if asked" if hasattr(cls, "fit_inverse_transform") else _yes(hasattr(cls, "inverse_transform"))
        can = (labels, _yes(hasattr(cls, "transform")), back, _large(entry), _yes(entry.takes_sparse))
        lines.append(f"| [{entry.name}](methods/{page_of(entry).name}) | {' | '.join(can)} |")
    return "\n".join(lines)


def costs_table() -> str:
    """Return one line a method: what it preserves, its cost, and the largest table it was measured on."""
    lines = [
        "| Method | Keeps | Straight? | Time | Memory | How large it was, in practice |",
        "|---|---|---|---|---|---|",
    ]
    for entry in entries().values():
        short = in_short(entry)
        cells = [short[name] for name in ("Keeps", "Straight", "Time", "Memory", "Measured")]
        lines.append(f"| {entry.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def citations_table() -> str:
    """Return one line a method: whom to cite."""
    lines = [f"| {entry.name} | {in_short(entry)['Citation']} |" for entry in entries().values()]
    return "\n".join(["| Method | Citation |", "|---|---|", *lines])


def reference() -> str:
    """Return the reference: every method with its parameters and verbs, every other public name with its sentence."""
    parts = [
        "# Reference",
        "Written by `make docs` from the code; change the code, not this page.",
        "## Methods",
        *(_method(load_method(name), entry) for name, entry in entries().items()),
        "## Names of `lowland`",
        _names("lowland", [n for n in dir(lowland) if n not in entries() and n not in MODULES and n != "__version__"]),
    ]
    for public in MODULES:
        module = importlib.import_module(f"lowland.{public}")
        names = getattr(module, "__all__", None) or [n for n, v in vars(module).items() if inspect.isclass(v)]
        parts += [f"## Names of `lowland.{public}`", _first_line(module), _names(f"lowland.{public}", sorted(names))]
    return "\n\n".join(parts) + "\n"


def _method(cls: Any, entry: Any) -> str:
    facts = (
        f"[Page](methods/{page_of(entry).name}) · on the command line `lowland fit {entry.verb}` · in `{entry.module}`"
    )
    head = "| Parameter | Type | Default | Limits | What it does |\n|---|---|---|---|---|\n"
    rows = [f"| `{p.name}` | {p.words} | `{p.default!r}` | {_limits(p.limits)} | {p.doc} |" for p in parameters_of(cls)]
    verbs = [f"- `{name}{_signature(value)}`: {_first_line(value)}" for name, value in sorted(_own_methods(cls))]
    return "\n\n".join([f"### {cls.__name__}", entry.summary, facts, head + "\n".join(rows), "\n".join(verbs)])


def _own_methods(cls: Any) -> Iterator[tuple[str, Any]]:
    """The public methods that Lowland writes; those every scikit-learn estimator has are not repeated."""
    for name, value in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_") and value.__module__.startswith("lowland."):
            yield name, value


def _names(where: str, names: list[str]) -> str:
    lines = ["| Name | What it is |", "|---|---|"]
    module = importlib.import_module(where)
    for name in names:
        value = getattr(module, name)
        lines.append(f"| `{name}{_signature(value)}` | {_first_line(value)} |")
    return "\n".join(lines)


def _signature(value: Any) -> str:
    """The arguments by name, with defaults where they are plain."""
    if inspect.isclass(value) and issubclass(value, BaseException):
        return ""
    found = inspect.signature(value)
    parts = []
    for p in found.parameters.values():
        if p.name == "self":
            continue
        stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        plain = p.default is not p.empty and not callable(p.default) and p.default is not ...
        parts.append(f"{p.name}={p.default!r}" if plain and "factory" not in repr(p.default) else stars + p.name)
    return f"({', '.join(parts)})"


def _limits(limits: dict[str, float]) -> str:
    return ", ".join(f"{words} {limit:g}" for words, limit in limits.items()) or "–"


def _first_line(value: Any) -> str:
    line = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    return line.replace("|", "\\|").replace("``", "`")  # of a table, and Markdown's code


def _large(entry: Any) -> str:
    """Whether a method takes files larger than memory."""
    return "with landmarks" if entry.streams_with_landmarks else _yes(entry.streams)


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


if __name__ == "__main__":
    main(draw_pictures="--texts" not in sys.argv)
