"""Advice for each purpose, with its evidence: the rules, and separately their wording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from lowland.study.advice import rules, wording
from lowland.study.plan import StudySize
from lowland.study.result import Advice, Purpose, Trial
from lowland.study.scoring.table_facts import TableFacts

__all__ = ["advise"]


def advise(
    trials: Sequence[Trial], facts: TableFacts | None, size: StudySize, *, scaled: bool,
    row_counters: Sequence[str] = (), complete: bool = True,
) -> tuple[Advice, ...]:  # fmt: skip
    """Return the advice for every purpose that the data allow, starting with the purpose of the study.

    ``scaled``: whether the columns were standardized; ``row_counters``: names of columns that only count the rows;
    ``complete``: False where the study was stopped early.
    """
    others = [p for p in get_args(Purpose) if p != size.purpose and (p != "classify" or size.n_classes is not None)]
    purposes = (size.purpose, *others)
    if facts is None:
        return tuple(Advice(p, None, None, wording.NOTHING_MEASURED, ()) for p in purposes)
    done = [trial for trial in trials if trial.status == "done"]
    remarks = wording.remarks(facts, size, scaled, row_counters)
    found = [_advice(purpose, done, facts, size) for purpose in purposes]
    before = "" if complete else f"{wording.STOPPED} "
    return tuple(replace(a, text=before + a.text, evidence=(*remarks, *a.evidence)) for a in found)


def _advice(purpose: Purpose, done: list[Trial], facts: TableFacts, size: StudySize) -> Advice:
    if purpose == "see":
        return wording.to_see(rules.choose_to_see(done, size), facts, size)
    if purpose == "compress":
        return wording.to_compress(rules.choose_to_compress(done, facts, size), facts, size)
    return wording.to_classify(rules.choose_to_classify(done, facts, size), facts, size)
