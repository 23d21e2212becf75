"""Studies: many methods on one table, as plain data that reports and pages draw."""

from lowland.study.study import StudyResult, Trial, study

__all__ = ["StudyResult", "Trial", "study"]
