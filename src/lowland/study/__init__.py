"""Studies: many methods on one table, as plain data that reports and pages draw."""

from lowland.study.compare import compare
from lowland.study.plain import load_study as load
from lowland.study.result import Advice, Curve, Score, StudyResult, Table, Trial

__all__ = ["Advice", "Curve", "Score", "StudyResult", "Table", "Trial", "compare", "load"]
