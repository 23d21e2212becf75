"""How well classes can be predicted from coordinates: five nearest neighbors, tested on held-out rows."""

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
MAX_ROWS = 10_000  # rows that take part; of more a sample, stratified by class
FOLDS = 5  # rows a class needs to be present in every fold


@dataclass(frozen=True, eq=False)
class KnnTest:
    """The rows of one cross-validation, chosen once: every trial is tested on the same ones."""

    rows: np.ndarray  # (m,) of classes that are large enough, or a sample of them
    y: np.ndarray  # (m,) their class codes
    seed: int
    remark: str  # on classes that are too small

    @classmethod
    def of(cls, y: np.ndarray, seed: int) -> Self:
        """Choose rows by their class codes, (n,)."""
        common = _in_common_classes(y)
        rows = _sample(np.flatnonzero(common), y, seed)
        rare = int(np.sum(~common))
        remark = f"; {rare} row{'s' * (rare > 1)} of classes too small for that left out" if rare else ""
        return cls(rows, y[rows], seed, remark)

    def accuracy(self, Z: np.ndarray) -> Score | None:
        """Return the fraction of held-out rows that are classified correctly; None where it cannot be found."""
        try:
            found = downstream_accuracy(Z[self.rows], self.y, folds=FOLDS, per_row=True, random_state=self.seed)
        except Stopped:
            raise
        except LowlandError:  # as of classes of one row
            return None
        return _score(found, self.remark)

    def accuracy_when_refitted(self, est: Any, X: np.ndarray) -> Score:
        """The same for a method that learns from labels: fitted anew in each fold, without the held-out rows."""
        from sklearn.base import clone
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.pipeline import make_pipeline

        est, traits = clone(est), traits_of(est)
        width, max_components = traits.width_parameter, traits.study.max_components
        if width is not None and max_components is not None:  # as many axes as the classes that take part allow
            most = max_components(X.shape[1], len(np.unique(self.y)))
            est.set_params(**{width: min(getattr(est, width), most)})
        model = make_pipeline(est, KNeighborsClassifier(NEIGHBORS))
        found = downstream_accuracy(X[self.rows], self.y, model, folds=FOLDS, per_row=True, random_state=self.seed)
        return _score(found, ", the method being fitted without them" + self.remark)

    @property
    def majority_class_fraction(self) -> float:
        """The fraction of the rows that the largest class holds: what predicting it always would get right."""
        return float(np.bincount(self.y).max() / len(self.rows)) if len(self.rows) else 0.0


def _in_common_classes(y: np.ndarray) -> np.ndarray:
    """Whether the class of a row is large enough to be learnt and tested in every fold, (n,).

    One rare class would leave fewer folds for all. Where no two classes are so large, those of two rows will do.
    """
    counts = np.bincount(y)
    return (counts >= (FOLDS if np.sum(counts >= FOLDS) > 1 else 2))[y]


def _sample(rows: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    if len(rows) <= MAX_ROWS:
        return rows
    rng = np.random.default_rng(seed)
    order = rows[np.lexsort((rng.random(len(rows)), y[rows]))]  # class after class, in each by chance
    return np.sort(order[np.floor((rng.random() + np.arange(MAX_ROWS)) * (len(rows) / MAX_ROWS)).astype(np.int64)])


def _score(m: Measure, remark: str) -> Score:
    about = f"Share of held-out rows that the {NEIGHBORS} nearest neighbours name rightly, in folds{remark}."
    assert m.per_row is not None
    n_tested = int(np.isfinite(m.per_row).sum())
    correct = np.packbits(np.nan_to_num(m.per_row) > 0).tobytes().hex()
    return Score(m.value, "higher", about, m.low, m.high, n_tested, correct)
