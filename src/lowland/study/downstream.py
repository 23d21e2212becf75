"""How well classes are told apart from coordinates: five nearest neighbours, asked about rows that were held out."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.errors import LowlandError
from lowland.quality import Measure, downstream
from lowland.study.result import Score

NAME = "downstream accuracy"
NEIGHBORS = 5
MOST = 10_000  # rows that take part; of more a sample, classes in their shares


def accuracy(Z: np.ndarray, y: np.ndarray, seed: int) -> Score | None:
    """Return the share of held-out rows that are named rightly; None where it cannot be found, as of classes of one."""
    rows = _rows(y, seed)
    try:
        return _score(downstream(Z[rows], y[rows], random_state=seed), "")
    except LowlandError:
        return None


def accuracy_when_refitted(est: Any, X: np.ndarray, y: np.ndarray, seed: int) -> Score | None:
    """The same for a method that learns from labels: fitted anew in each fold, without the rows held out."""
    from sklearn.base import clone
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline

    rows = _rows(y, seed)
    model = make_pipeline(clone(est), KNeighborsClassifier(NEIGHBORS))
    try:
        return _score(downstream(X[rows], y[rows], model, random_state=seed), ", the method being fitted without them")
    except (LowlandError, ValueError):  # too few rows once some are held out
        return None


def _rows(y: np.ndarray, seed: int) -> np.ndarray:
    rows = np.arange(len(y))
    if len(rows) <= MOST:
        return rows
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(y)), y))  # class after class, in each by chance
    return np.sort(order[np.floor((rng.random() + np.arange(MOST)) * (len(y) / MOST)).astype(np.int64)])


def _score(m: Measure, more: str) -> Score:
    about = f"Share of held-out rows that the {NEIGHBORS} nearest neighbours name rightly, in folds{more}."
    low, high = (None if end is None else min(1.0, max(0.0, end)) for end in (m.low, m.high))
    return Score(m.value, "higher", about, low, high)
