"""Accuracy of a 5-nearest-neighbor classifier on the coordinates, by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowland.errors import LowlandError, Stopped
from lowland.methods.base.traits import traits_of
from lowland.quality import Measure, downstream_accuracy
from lowland.study.result import Score

NAME = "downstream accuracy"
NEIGHBORS = 5
MAX_ROWS = 10_000  # rows used; above that, a sample stratified by class
FOLDS = 5  # rows a class needs to be present in every fold


@dataclass(frozen=True, eq=False)
class KnnTest:
    """The rows of the cross-validation, chosen once, so that every trial is tested on the same rows."""

    rows: np.ndarray  # (m,) rows in classes that are large enough, or a sample of them
    y: np.ndarray  # (m,) their class codes
    seed: int
    remark: str  # about classes that are too small

    @classmethod
    def of(cls, y: np.ndarray, seed: int) -> Self:
        """Choose rows by their class codes, (n,)."""
        common = _in_common_classes(y)
        rows = _sample(np.flatnonzero(common), y, seed)
        rare = int(np.sum(~common))
        remark = f"; {rare} row{'s' * (rare > 1)} in classes too small for cross-validation excluded" if rare else ""
        return cls(rows, y[rows], seed, remark)

    def accuracy(self, Z: np.ndarray) -> Score | None:
        """Return the fraction of held-out rows that are classified correctly; None if it cannot be computed."""
        try:
            found = downstream_accuracy(Z[self.rows], self.y, folds=FOLDS, per_row=True, random_state=self.seed)
        except Stopped:
            raise
        except LowlandError:  # such as classes with one row
            return None
        return _score(found, self.remark)

    def accuracy_when_refitted(self, est: Any, X: np.ndarray) -> Score:
        """The same for a supervised method, which is fitted again in each fold without the held-out rows."""
        from sklearn.base import clone
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.pipeline import make_pipeline

        est, traits = clone(est), traits_of(est)
        width, max_components = traits.width_parameter, traits.study.max_components
        if width is not None and max_components is not None:  # at most as many axes as these classes allow
            most = max_components(X.shape[1], len(np.unique(self.y)))
            est.set_params(**{width: min(getattr(est, width), most)})
        model = make_pipeline(est, KNeighborsClassifier(NEIGHBORS))
        found = downstream_accuracy(X[self.rows], self.y, model, folds=FOLDS, per_row=True, random_state=self.seed)
        return _score(found, ", with the method fitted without the held-out rows" + self.remark)

    @property
    def majority_class_fraction(self) -> float:
        """The fraction of rows in the largest class: the accuracy of the majority-class baseline."""
        return float(np.bincount(self.y).max() / len(self.rows)) if len(self.rows) else 0.0


def _in_common_classes(y: np.ndarray) -> np.ndarray:
    """Whether the class of each row is large enough to be in every fold, (n,).

    One rare class would reduce the number of folds for all. If fewer than two classes are large enough, two rows per
    class suffice.
    """
    counts = np.bincount(y)
    return (counts >= (FOLDS if np.sum(counts >= FOLDS) > 1 else 2))[y]


def _sample(rows: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    if len(rows) <= MAX_ROWS:
        return rows
    rng = np.random.default_rng(seed)
    order = rows[np.lexsort((rng.random(len(rows)), y[rows]))]  # by class, in random order within each
    return np.sort(order[np.floor((rng.random() + np.arange(MAX_ROWS)) * (len(rows) / MAX_ROWS)).astype(np.int64)])


def _score(m: Measure, remark: str) -> Score:
    about = f"Fraction of held-out rows classified correctly by their {NEIGHBORS} nearest neighbors{remark}."
    assert m.per_row is not None
    n_tested = int(np.isfinite(m.per_row).sum())
    correct = np.packbits(np.nan_to_num(m.per_row) > 0).tobytes().hex()
    return Score(m.value, "higher", about, m.low, m.high, n_tested, correct)
