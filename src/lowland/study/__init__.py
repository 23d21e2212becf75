"""Studies: a comparison of many methods on one table, as plain data for reports and plots."""

from lowland.study.comparison import compare
from lowland.study.result import Advice, Curve, Score, StudyResult, Table, Trial
from lowland.study.serialization import load_study

__all__ = ["Advice", "Curve", "Score", "StudyResult", "Table", "Trial", "compare", "load_study"]
