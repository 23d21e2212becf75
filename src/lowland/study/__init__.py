"""Studies: a comparison of many methods on one table, as plain data for reports and plots."""

from lowland.study.comparison import compare
from lowland.study.result import Advice, Curve, Score, ShownTable, StudyResult, Trial
from lowland.study.serialization import load_study

__all__ = ["Advice", "Curve", "Score", "ShownTable", "StudyResult", "Trial", "compare", "load_study"]
