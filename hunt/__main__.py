"""``python -m hunt``: try hostile inputs, print one table, store every failure with the command that repeats it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from hunt import results
from hunt.attempt import attempt
from hunt.cases import FAILURES, Area
from hunt.pool import run_all
from hunt.registry import NAMES, find_area


def main() -> int:
    """Return 0 if no case was wrong, crashed or hung."""
    parser = argparse.ArgumentParser(prog="python -m hunt", description="Hostile inputs against Lowland.")
    parser.add_argument("--only", metavar="AREA[,AREA]", help="run only these areas")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="first seed of every area (0)")
    parser.add_argument("--cases", type=int, metavar="N", help="number of cases, all areas together (about 104,000)")
    parser.add_argument("--minutes", type=float, metavar="M", help="start no case after M minutes")
    parser.add_argument("--jobs", type=int, metavar="N", help="worker processes (all cores)")
    parser.add_argument("--resume", action="store_true", help="skip the cases that hunt/out already has")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the verdicts are stored (hunt/out)")
    parser.add_argument("--case", metavar="AREA:SEED", help="run one case in this process, with its traceback")
    parser.add_argument("--list", action="store_true", help="list the areas and exit")
    parser.add_argument("--docs", action="store_true", help="write the last table to docs/reliability.md and exit")
    asked = parser.parse_args()
    results.OUT = asked.out or results.OUT
    if asked.case:
        name, _, seed = asked.case.partition(":")
        if not seed.isdecimal():
            parser.error(f"{asked.case!r} is not AREA:SEED, such as methods:17.")
        verdict = attempt(_areas(parser, name)[0], int(seed), debug=True)
        print(f"{verdict.outcome} after {verdict.seconds:.2f} s: {verdict.text}")
        return int(verdict.outcome in FAILURES)
    chosen = _areas(parser, asked.only or ",".join(NAMES))
    if asked.list:
        print("\n".join(f"{area.name:14s} {area.cases:6,d}  {area.title}" for area in chosen))
        return 0
    if asked.docs:
        results.write_page(chosen)
        return 0
    if not asked.resume:
        results.clear(chosen)
    done = {area.name: results.seeds(area) for area in chosen}
    cases = [case for case in _cases(chosen, asked.seed, asked.cases) if case[1] not in done[case[0].name]]
    minutes = asked.minutes
    jobs = asked.jobs or len(os.sched_getaffinity(0))
    results.collect(run_all(cases, jobs, None if minutes is None else 60 * minutes), len(cases))
    return results.show(chosen)


def _areas(parser: argparse.ArgumentParser, names: str) -> list[Area]:
    """The areas with these names, separated by commas."""
    try:
        return [find_area(name) for name in names.split(",")]
    except ModuleNotFoundError as error:
        if "hunt.areas" not in str(error):
            raise
        parser.error(f"unknown area: {names}. Choose from: {', '.join(NAMES)}.")


def _cases(areas: list[Area], first: int, total: int | None) -> Iterator[tuple[Area, int]]:
    """The cases of every area in proportion to its number, interleaved, so that a run cut short has some of all."""
    factor = 1.0 if total is None else total / sum(area.cases for area in areas)
    counts = [max(1, round(area.cases * factor)) for area in areas]
    if total is not None:  # the largest area takes what rounding leaves
        counts[counts.index(max(counts))] += total - sum(counts)
    order = sorted(((i + 0.5) / count, k, i) for k, count in enumerate(counts) for i in range(count))
    return ((areas[k], first + i) for _, k, i in order)


if __name__ == "__main__":
    sys.exit(main())
