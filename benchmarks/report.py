"""Results: stored as JSON, printed as a table, and written to docs/develop/benchmarks.md."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.lines import Bar, Line
from benchmarks.registry import Job

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "develop" / "benchmarks.md"
MARK = "†"  # of a result from another machine than the others
HEADINGS = ("job", "ours", "peer", "ratio", "required", "memory", "remark")


@dataclass(frozen=True)
class Outcome:
    """Outcome of one job: its lines, or the error."""

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
    """Write the results; earlier results from the same machine and libraries are kept."""
    path = _path(quick)
    path.parent.mkdir(exist_ok=True)
    former, former_machine = last(quick=quick)
    same = all(former_machine.get(what) == words for what, words in machine.items() if what != "BLAS")  # once loaded
    merged = {**(former if same else {}), **outcomes}
    stored = {"machine": machine, "jobs": {name: asdict(outcome) for name, outcome in merged.items()}}
    path.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def last(*, quick: bool = False) -> tuple[Outcomes, dict[str, str]]:
    """Return the last stored results and the machine they were measured on."""
    path = _path(quick)
    if not path.exists():
        return {}, {}
    stored = json.loads(path.read_text(encoding="utf-8"))
    return {name: Outcome.read(outcome) for name, outcome in stored["jobs"].items()}, stored["machine"]


def _path(quick: bool) -> Path:
    return HERE / "out" / ("quick.json" if quick else "results.json")


def show(outcomes: Outcomes, *, judged: bool) -> None:
    """Print the table; missed requirements are red, unless the sizes are reduced."""
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


def write_page(jobs: Mapping[str, Job]) -> None:
    """Write docs/develop/benchmarks.md from the last results of the named jobs, in order; other results are kept.

    If those were measured on another machine, the page keeps its name, and new results are marked.
    """
    found, machine = last()
    if not found:
        raise SystemExit("No results found. Run python -m benchmarks first.")
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    kept = dict(re.findall(r"^(?=\| \*\*([^*]+)\*\*:)(.*?)(?=^\| \*\*|^\n|\Z)", before, flags=re.M | re.S))
    former = dict(re.findall(r"^- ([^:\n]+): (.*)$", before, flags=re.M))
    elsewhere = any(name not in found for name in kept) and former.get("processor") != machine["processor"]
    kept |= {name: _lines_of(jobs[name], outcome, elsewhere) for name, outcome in found.items()}
    shown = {what: words for what, words in former.items() if what not in ("date", MARK)} if elsewhere else machine
    if any(MARK in lines for lines in kept.values()):
        others = former.get(MARK, "measured on another machine").split("; ")
        others += [f"{machine['processor']}, {machine['cores']} cores"] if elsewhere else []
        shown = {**shown, MARK: "; ".join(dict.fromkeys(others))}
    dates = [*re.findall(r"^- date: (\S+)", before, flags=re.M), *sorted({outcome.date for outcome in found.values()})]
    shown["date"] = " to ".join(dict.fromkeys((dates[0], dates[-1])))
    PAGE.write_text(_page({name: kept[name] for name in jobs if name in kept}, jobs, shown), encoding="utf-8")


def _lines_of(job: Job, outcome: Outcome, elsewhere: bool) -> str:
    """Return the lines of a job in the table of its family: its title, then its results."""
    title = f"**{job.name}**: {outcome.title}{f' {MARK}' if elsewhere else ''}"
    failure = f"Failed: {outcome.failure}" if outcome.failure else "real data" * (job.data == "real")
    cells = [[title, *[""] * 5, failure], *(_cells(line) for line in outcome.lines)]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |\n" for row in cells)


def _page(kept: dict[str, str], jobs: Mapping[str, Job], machine: dict[str, str]) -> str:
    families: dict[str, list[str]] = {}
    for name, lines in kept.items():
        families.setdefault(jobs[name].family, []).append(lines)
    head = f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}\n"
    parts = [
        "# Benchmarks\n",
        "Generated by `python -m benchmarks --docs` from the last run of each job. Do not edit.\n",
        'Lowland ("ours") and the peer run alternately in one process, or in new processes where memory, imports or '
        "compilation are measured. Times are medians after one warm-up run. The ratio is the median of the ratios of "
        "consecutive runs. Compare ratios: times depend on the machine. Memory is the peak resident set size in a new "
        "process minus its size with the data loaded. Every result is checked for correctness.\n",
        *(f"- {what}: {words}" for what, words in machine.items()),
        "",
        *(f"## {family}\n\n{head}{''.join(lines)}" for family, lines in families.items()),
    ]
    return "\n".join(parts)


def _cells(line: Line) -> list[str]:
    cells = line.cells()
    if line.missed:
        cells[3] += " (missed)"
    return [line.what, *cells]
