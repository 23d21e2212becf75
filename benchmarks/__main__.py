"""``python -m benchmarks``: run the jobs, print the table, store the results."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from benchmarks import report
from benchmarks.measure import stopwatch
from benchmarks.registry import Job, Plan, all_jobs


def main() -> int:
    """Return 0 if all results are correct and all requirements met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Lowland side by side with its peers.")
    parser.add_argument("--quick", action="store_true", help="small sizes, as a smoke test; requirements are ignored")
    parser.add_argument("--only", metavar="JOB[,JOB]", help="run only these jobs")
    parser.add_argument("--repeat", type=int, metavar="N", help="rounds of each comparison (5; with --quick 2)")
    parser.add_argument("--list", action="store_true", help="list the jobs and exit")
    parser.add_argument(
        "--docs", action="store_true", help="write docs/develop/benchmarks.md from the last results and exit"
    )
    asked = parser.parse_args()
    jobs = all_jobs()
    if asked.list:
        print("\n".join(f"{each.name:20s} {each.title}" for each in jobs.values()))
        return 0
    if asked.docs:
        report.write_page(jobs)
        return 0
    names = asked.only.split(",") if asked.only else list(jobs)
    if unknown := [name for name in names if name not in jobs]:
        parser.error(f"unknown job: {', '.join(unknown)}. Choose from: {', '.join(jobs)}.")
    plan = Plan(asked.quick, asked.repeat or (2 if asked.quick else 5))
    return _run([jobs[name] for name in names], plan)


def _run(jobs: list[Job], plan: Plan) -> int:
    from benchmarks.machine import describe

    outcomes: report.Outcomes = {}
    for each in jobs:
        print(f"{each.name}: {each.title} …", end=" ", file=sys.stderr, flush=True)
        seconds, outcomes[each.name] = stopwatch(partial(_outcome, each, plan))
        print(f"{seconds:.0f} s", file=sys.stderr, flush=True)
        report.keep({each.name: outcomes[each.name]}, describe(), quick=plan.quick)
    report.show(outcomes, judged=not plan.quick)
    good = all(not o.failure if plan.quick else o.good for o in outcomes.values())
    return 0 if good else 1


def _outcome(each: Job, plan: Plan) -> report.Outcome:
    try:
        return report.Outcome(each.title, report.today(), tuple(each.run(plan)))
    except Exception as error:  # the other jobs continue
        return report.Outcome(each.title, report.today(), (), f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    sys.exit(main())
