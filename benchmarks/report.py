"""The results: kept as JSON, shown as a table, and written as the page docs/benchmarks.md."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.lines import Bar, Line

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
HEADINGS = ("job", "ours", "peer", "ratio", "required", "memory beyond the data", "remark")


@dataclass(frozen=True)
class Outcome:
    """What came of one job: its lines, or why there are none."""

    title: str
    date: str
    lines: tuple[Line, ...]
    failure: str = ""

    @classmethod
    def read(cls, stored: dict[str, Any]) -> Outcome:
        lines = (
            Line(**{**line, "required": tuple(Bar(**bar) for bar in line["required"])}) for line in stored["lines"]
        )
        return cls(stored["title"], stored["date"], tuple(lines), stored["failure"])

    @property
    def good(self) -> bool:
        return not self.failure and not any(line.missed for line in self.lines)


Outcomes = dict[str, Outcome]


def today() -> str:
    return datetime.date.today().isoformat()


def keep(outcomes: Outcomes, machine: dict[str, str], *, quick: bool) -> None:
    """Write the results; jobs run earlier on the same machine with the same libraries stay."""
    path = _path(quick)
    path.parent.mkdir(exist_ok=True)
    former, former_machine = last(quick=quick)
    same = all(former_machine.get(what) == words for what, words in machine.items() if what != "BLAS")  # once loaded
    merged = {**(former if same else {}), **outcomes}
    stored = {"machine": machine, "jobs": {name: asdict(outcome) for name, outcome in merged.items()}}
    path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def last(*, quick: bool = False) -> tuple[Outcomes, dict[str, str]]:
    """Return the results last kept, and the machine they were measured on."""
    path = _path(quick)
    if not path.exists():
        return {}, {}
    stored = json.loads(path.read_text(encoding="utf-8"))
    return {name: Outcome.read(outcome) for name, outcome in stored["jobs"].items()}, stored["machine"]


def _path(quick: bool) -> Path:
    return HERE / "out" / ("quick.json" if quick else "results.json")


def show(outcomes: Outcomes, *, judged: bool) -> None:
    """Print the table; a missed bar is red, unless the sizes are not those the bars are meant for."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*HEADINGS, box=box.SIMPLE)
    console = Console()
    if not console.is_terminal:
        console.width = 200  # a log has room
    for name, outcome in outcomes.items():
        if outcome.failure:
            table.add_row(name, *["–"] * 5, outcome.failure, style="bold red")
        for line in outcome.lines:
            table.add_row(f"{name}: {line.what}", *line.cells(), style="red" if judged and line.missed else None)
    console.print(table)


def write_page(names: Iterable[str]) -> None:
    """Write docs/benchmarks.md from the last results of the named jobs, in their order; others stay as they stand.

    Where those were measured on another machine, the page keeps its name, and new sections tell theirs.
    """
    found, machine = last()
    if not found:
        raise SystemExit("There are no results yet. Run python -m benchmarks first.")
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    sections = dict(re.findall(r"^## (\S+): (.*?)(?=^## |\Z)", before, flags=re.M | re.S))
    former = dict(re.findall(r"^- ([^:\n]+): (.*)$", before.partition("\n## ")[0], flags=re.M))
    elsewhere = any(name not in found for name in sections) and former.get("processor") != machine["processor"]
    where = f"Measured on another machine: {machine['processor']}, {machine['cores']} cores.\n\n" if elsewhere else ""
    sections |= {name: _section(outcome, where) for name, outcome in found.items()}
    dates = [*re.findall(r"^- date: (\S+)", before, flags=re.M), *sorted({outcome.date for outcome in found.values()})]
    kept = {name: sections[name] for name in names if name in sections}
    told = {what: words for what, words in former.items() if what != "date"} if elsewhere else machine
    PAGE.write_text(_page(kept, told, " to ".join(dict.fromkeys((dates[0], dates[-1])))), encoding="utf-8")


def _section(outcome: Outcome, where: str) -> str:
    body = f"Failed: {outcome.failure}\n" if outcome.failure else _markdown(outcome.lines)
    return f"{outcome.title}\n\n{where}{body}"


def _page(sections: dict[str, str], machine: dict[str, str], date: str) -> str:
    parts = [
        "# Benchmarks\n",
        "Written by `python -m benchmarks --docs` from the last run of each job; do not edit.\n",
        "Ours and the peer run in turn in one process, or in fresh processes where memory, imports or compilation are "
        "measured; after one warm-up each, the median counts, and the ratio is the median of the ratios of neighboring "
        "runs. Ratios are the result: seconds belong to the machine. Memory is the peak of the resident set beyond its "
        "size with the data loaded, in a fresh process. Every answer is checked before its time counts.\n",
        *(f"- {what}: {words}" for what, words in {**machine, "date": date}.items()),
        "",
    ]
    parts += [f"## {name}: {words.rstrip()}\n" for name, words in sections.items()]
    return "\n".join(parts)


def _markdown(lines: tuple[Line, ...]) -> str:
    rows = [list(HEADINGS), ["---"] * len(HEADINGS)]
    for line in lines:
        cells = line.cells()
        if line.missed:
            cells[3] += " (missed)"
        rows.append([cell.replace("|", "\\|") for cell in (line.what, *cells)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"
