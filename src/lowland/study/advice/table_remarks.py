"""Remarks about the table that hold for every purpose: suspect columns, units, labels, time limits."""

from __future__ import annotations

from collections.abc import Sequence

from lowland.data.suspect_columns import SuspectColumn
from lowland.study.facts import TableFacts
from lowland.study.plan import StudySize
from lowland.study.result import Trial
from lowland.study.table import MAX_RATIO

STOPPED = "The study was stopped early, so this advice is based on the completed trials only."
NOTHING_MEASURED = "The study was stopped before anything was evaluated, so there is no advice."

LEAVE_OUT = "X without this column"


def out_of_time(trials: Sequence[Trial]) -> str:
    """A caveat if trials exceeded a time limit; empty otherwise."""
    names = [trial.name for trial in trials if trial.status == "timed out"]
    if not names:
        return ""
    listed = ", ".join(names[:3]) + (f" and {len(names) - 3} others" if len(names) > 3 else "")
    return f"Caveat: {listed} did not end within the time limit and {'is' if len(names) == 1 else 'are'} not compared."


def one_column_dominates(suspects: Sequence[SuspectColumn]) -> str:
    """A caveat for advice that rests on distances or variances; empty if no column dominates."""
    found = [f" Caveat: {each.name!r} alone holds {each.detail} of the variance." for each in suspects]
    return "".join(text for each, text in zip(suspects, found, strict=True) if each.kind == "dominant")


def remarks(
    facts: TableFacts, size: StudySize, scaled: bool, suspects: Sequence[SuspectColumn], notes: Sequence[str] = (),
    n_unlabeled: int = 0, named: bool = True,
) -> tuple[str, ...]:  # fmt: skip
    """Return what holds for every purpose; ``named``: whether columns can be dropped by name."""
    found = [each.sentence(f"drop=[{each.name!r}]" if named else LEAVE_OUT, "scale='standard'") for each in suspects]
    found += notes
    ratio = facts.standard_deviation_ratio
    if scaled:
        found.append("The columns were standardized to standard deviation 1.")
    elif ratio > MAX_RATIO and not any(each.kind == "dominant" for each in suspects):
        times = f"{ratio:,.0f}" if ratio < 1e6 else f"{ratio:.1e}"
        found.append(
            f"The standard deviations of the columns differ by a factor of up to {times}, so the columns with the "
            "largest ones dominate. If only the units differ, use scale='standard'."
        )
    if n_unlabeled:
        rows = "1 row has" if n_unlabeled == 1 else f"{n_unlabeled:,} rows have"
        found.append(f"{rows} no label. They are drawn gray and excluded from the measures that use labels.")
    if size.why_no_classes and not size.predicts_numbers:
        found.append(f"There is no advice for classification because {size.why_no_classes}.")
    return tuple(found)
