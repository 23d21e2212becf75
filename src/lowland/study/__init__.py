"""Studies: a comparison of many methods on one table, as plain data for reports and plots."""

from lowland.study.comparison import compare
from lowland.study.result import Advice, ShownTable, StudyResult, Trial
from lowland.study.serialization import load_study
from lowland.trial.records import Curve, Score

__all__ = ["Advice", "Curve", "Score", "ShownTable", "StudyResult", "Trial", "compare", "load_study"]
