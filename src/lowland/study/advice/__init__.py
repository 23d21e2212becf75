"""Advice for each purpose, with its evidence: the rules, and separately their wording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from lowland.data.suspect_columns import SuspectColumn
from lowland.study.advice import rules, table_remarks, wording
from lowland.study.advice.prediction_wording import to_classify
from lowland.study.facts import TableFacts
from lowland.study.plan import StudySize
from lowland.study.result import Advice, Purpose, Trial

__all__ = ["advise"]


def advise(
    trials: Sequence[Trial], facts: TableFacts | None, size: StudySize, *, scaled: bool,
    suspects: Sequence[SuspectColumn] = (), notes: Sequence[str] = (), n_unlabeled: int = 0, named: bool = True,
    complete: bool = True,
) -> tuple[Advice, ...]:  # fmt: skip
    """Return the advice for every purpose that the data allow, starting with the purpose of the study.

    ``scaled``: whether the columns were standardized; ``suspects``: columns that look like identifiers or dominate;
    ``notes``: what was done to the table; ``n_unlabeled``: rows without a label; ``named``: whether columns can be
    dropped by name; ``complete``: False where the study was stopped early.
    """
    labeled = size.n_classes is not None or size.predicts_numbers
    others = [p for p in get_args(Purpose) if p != size.purpose and (p != "classify" or labeled)]
    purposes = (size.purpose, *others)
    if facts is None:
        return tuple(Advice(p, None, None, table_remarks.NOTHING_MEASURED, ()) for p in purposes)
    done = [trial for trial in trials if trial.status == "done"]
    remarks = table_remarks.remarks(facts, size, scaled, suspects, notes, n_unlabeled, named)
    found = [_advice(purpose, done, facts, size) for purpose in purposes]
    before = "" if complete else f"{table_remarks.STOPPED} "
    caveat = table_remarks.out_of_time(trials)
    after = f" {caveat}" if caveat else ""
    units = table_remarks.one_column_dominates(suspects)
    return tuple(
        replace(a, text=before + a.text + units * (a.purpose != "classify") + after, evidence=(*remarks, *a.evidence))
        for a in found
    )


def _advice(purpose: Purpose, done: list[Trial], facts: TableFacts, size: StudySize) -> Advice:
    if purpose == "visualize":
        return wording.to_see(rules.choose_to_see(done, size), facts, size)
    if purpose == "compress":
        return wording.to_compress(rules.choose_to_compress(done, facts, size), facts, size)
    return to_classify(rules.choose_to_classify(done, facts, size), facts, size)
