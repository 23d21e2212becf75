"""How well classes are told apart from coordinates: five nearest neighbours, asked about rows that were held out."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.errors import LowlandError, Stopped
from lowland.quality import Measure, downstream
from lowland.study.result import Score
from lowland.study.scoring.significance import packed

NAME = "downstream accuracy"
NEIGHBORS = 5
MOST = 10_000  # rows that take part; of more a sample, classes in their shares
FOLDS = 5  # rows a class needs to be met in every fold


def accuracy(Z: np.ndarray, y: np.ndarray, seed: int) -> Score | None:
    """Return the share of held-out rows that are named rightly; None where it cannot be found, as of classes of one."""
    rows = _rows(y, seed)
    try:
        return _score(downstream(Z[rows], y[rows], folds=FOLDS, per_row=True, random_state=seed), _of_rare(y))
    except Stopped:
        raise
    except LowlandError:
        return None


def accuracy_when_refitted(est: Any, X: np.ndarray, y: np.ndarray, seed: int) -> Score:
    """The same for a method that learns from labels: fitted anew in each fold, without the rows held out."""
    from sklearn.base import clone
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline

    rows = _rows(y, seed)
    est = clone(est)
    if type(est).__name__ == "LinearDiscriminantAnalysis":  # as many axes as the classes that take part allow
        est.set_params(n_components=min(est.n_components, len(np.unique(y[rows])) - 1))
    model = make_pipeline(est, KNeighborsClassifier(NEIGHBORS))
    found = downstream(X[rows], y[rows], model, folds=FOLDS, per_row=True, random_state=seed)
    return _score(found, ", the method being fitted without them" + _of_rare(y))


def guessing(y: np.ndarray, seed: int) -> float:
    """Return the share of the rows asked about that naming the commonest class gets right."""
    rows = _rows(y, seed)
    return float(np.bincount(y[rows]).max() / len(rows)) if len(rows) else 0.0


def _rows(y: np.ndarray, seed: int) -> np.ndarray:
    rows = np.flatnonzero(_common(y))
    if len(rows) <= MOST:
        return rows
    rng = np.random.default_rng(seed)
    order = rows[np.lexsort((rng.random(len(rows)), y[rows]))]  # class after class, in each by chance
    return np.sort(order[np.floor((rng.random() + np.arange(MOST)) * (len(rows) / MOST)).astype(np.int64)])


def _common(y: np.ndarray) -> np.ndarray:
    """Whether the class of a row is large enough to be learnt and asked for in every fold, (n,).

    One rare class would leave fewer folds for all. Where no two classes are so large, those of two rows will do.
    """
    counts = np.bincount(y)
    return (counts >= (FOLDS if np.sum(counts >= FOLDS) > 1 else 2))[y]


def _of_rare(y: np.ndarray) -> str:
    left = int(np.sum(~_common(y)))
    return f"; {left} row{'s' * (left > 1)} of classes too small for that left out" if left else ""


def _score(m: Measure, more: str) -> Score:
    about = f"Share of held-out rows that the {NEIGHBORS} nearest neighbours name rightly, in folds{more}."
    assert m.per_row is not None
    asked = int(np.isfinite(m.per_row).sum())
    return Score(m.value, "higher", about, m.low, m.high, asked, packed(np.nan_to_num(m.per_row)))
