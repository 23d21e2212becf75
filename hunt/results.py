"""Verdicts: appended to hunt/out/AREA.jsonl, printed as one table, and written to docs/reliability.md."""

from __future__ import annotations

import datetime
import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from hunt.cases import FAILURES, Area, Verdict

OUT = Path(__file__).parent / "out"  # another folder with --out
PAGE = Path(__file__).parent.parent / "docs" / "reliability.md"
BEGIN, END = "<!-- hunt: written by python -m hunt --docs -->", "<!-- hunt: end -->"
SHOWN = 40  # failures below the table


def path_of(area: Area | str) -> Path:
    """The file with the verdicts of an area."""
    OUT.mkdir(exist_ok=True)
    return OUT / f"{area if isinstance(area, str) else area.name}.jsonl"


def clear(areas: Iterable[Area]) -> None:
    """Remove earlier verdicts."""
    for area in areas:
        path_of(area).unlink(missing_ok=True)


def read(area: Area) -> list[Verdict]:
    """The verdicts of an area; a line cut off by a killed hunt is left out."""
    if not path_of(area).exists():
        return []
    verdicts = []
    for line in path_of(area).read_text(encoding="utf-8").splitlines():
        try:
            verdicts.append(Verdict(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return verdicts


def seeds(area: Area) -> set[int]:
    """The seeds an area has verdicts of."""
    return {verdict.seed for verdict in read(area)}


def collect(verdicts: Iterable[Verdict], total: int) -> None:
    """Append verdicts as they arrive; say how far it is, and every failure."""
    start = shown = time.monotonic()
    files = {}
    try:
        for count, verdict in enumerate(verdicts, 1):
            if verdict.area not in files:
                files[verdict.area] = path_of(verdict.area).open("a", encoding="utf-8", buffering=1)
            files[verdict.area].write(json.dumps(asdict(verdict), ensure_ascii=True) + "\n")
            if time.monotonic() > shown + 10:
                shown = time.monotonic()
                print(f"{count:,} of {total:,} cases, {shown - start:.0f} s", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("Interrupted. Continue with --resume.", file=sys.stderr)
    finally:
        for file in files.values():
            file.close()


def show(areas: Iterable[Area]) -> int:
    """Print the table and the failures; return 1 if there are any."""
    found = {area.name: read(area) for area in areas}
    rows = _rows(found)
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    for row in rows:
        print(
            "  ".join(
                cell.ljust(w) if j == 0 else cell.rjust(w) for j, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
        )
    failures = [verdict for verdicts in found.values() for verdict in verdicts if verdict.outcome in FAILURES]
    for reason, count in Counter(v.text for vs in found.values() for v in vs if v.outcome == "skipped").items():
        print(f"skipped ({count}): {reason}")
    for verdict in failures[:SHOWN]:
        print(f"\n{verdict.repeat}\n  {verdict.outcome}: {verdict.text}")
    if len(failures) > SHOWN:
        print(f"\n… and {len(failures) - SHOWN} more in {OUT}")
    return int(bool(failures))


def _rows(found: Mapping[str, list[Verdict]]) -> list[list[str]]:
    """The table: one row per area, and the sum. A skipped case was not tried."""
    rows = [["area", "tried", "wrong", "crashed", "hung"]]
    total: Counter[str] = Counter()
    for name, verdicts in found.items():
        counts = Counter(verdict.outcome for verdict in verdicts)
        tried = len(verdicts) - counts["skipped"]
        total.update({**counts, "tried": tried})
        rows.append([name, f"{tried:,}", *(f"{counts[what]:,}" for what in FAILURES)])
    return [*rows, ["all", f"{total['tried']:,}", *(f"{total[what]:,}" for what in FAILURES)]]


def write_page(areas: Iterable[Area]) -> None:
    """Replace the table in docs/reliability.md by that of the last run."""
    found = {area.name: read(area) for area in areas}
    if not any(found.values()):
        raise SystemExit("No results found. Run python -m hunt first.")
    rows = _rows(found)
    marks = [["---", *["--:"] * (len(rows[0]) - 1)]]
    lines = [f"| {' | '.join(row)} |" for row in [rows[0], *marks, *rows[1:]]]
    skipped = sorted({v.text for vs in found.values() for v in vs if v.outcome == "skipped"})
    lines += [
        "",
        f"Last run: {datetime.date.today().isoformat()}, Python {platform.python_version()}, {platform.system()}.",
    ]
    lines += [f"Skipped: {reason}" for reason in skipped]
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    PAGE.write_text("\n".join([before + BEGIN, "", *lines, "", END]) + after, encoding="utf-8")
