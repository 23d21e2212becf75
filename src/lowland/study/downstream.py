"""How well classes are told apart from the coordinates: five nearest neighbours, asked about rows held out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.errors import LowlandError
from lowland.quality.measure import NORMAL
from lowland.study.result import Score

NAME = "accuracy"
NEIGHBORS, FOLDS = 5, 5
MOST = 10_000  # rows that are asked about; more are sampled, classes in their shares

Folds = list[tuple[np.ndarray, np.ndarray]]


def folds_of(y: np.ndarray, seed: int, kept: np.ndarray | None = None) -> Folds | None:
    """Return pairs of training and test rows, classes spread evenly; None where a class has one row."""
    from sklearn.model_selection import StratifiedKFold, train_test_split

    rows = np.arange(len(y)) if kept is None else np.flatnonzero(kept)
    if len(rows) > MOST:
        rows = np.sort(train_test_split(rows, train_size=MOST, stratify=y[rows], random_state=seed)[0])
    counts = np.bincount(y[rows])
    least = int(counts[counts > 0].min(initial=len(rows)))
    if least < 2 or np.count_nonzero(counts) < 2:
        return None
    splitter = StratifiedKFold(min(FOLDS, least), shuffle=True, random_state=seed)
    return [(rows[train], rows[test]) for train, test in splitter.split(rows, y[rows])]


def accuracy(Z: np.ndarray, y: np.ndarray, seed: int) -> Score | None:
    """Return the share of held-out rows whose class their nearest neighbours name; rows of NaN are left out."""
    folds = folds_of(y, seed, ~np.isnan(Z).any(axis=1))
    if folds is None:
        return None
    right = sum(_right(Z[train], y[train], Z[test], y[test]) for train, test in folds)
    return score(right, sum(len(test) for _, test in folds), "")


def accuracy_when_refitted(est: Any, X: np.ndarray, y: np.ndarray, seed: int) -> tuple[str, Score] | None:
    """The same for a method that learns from labels: fitted anew without those of the rows held out."""
    from sklearn.base import clone

    folds = folds_of(y, seed)
    if folds is None:
        return None
    right = 0
    try:
        for train, test in folds:
            model = clone(est).fit(X[train], y[train])
            Z = [to_numpy(model.transform(X[rows])) for rows in (train, test)]
            right += _right(Z[0], y[train], Z[1], y[test])
    except LowlandError:  # too few rows once some are held out
        return None
    return NAME, score(right, sum(len(test) for _, test in folds), ", the method having been fitted without them")


def _right(Z: np.ndarray, y: np.ndarray, new: np.ndarray, wanted: np.ndarray) -> int:
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(min(NEIGHBORS, len(Z))).fit(Z, y)
    return int(np.sum(model.predict(new) == wanted))


def score(right: int, m: int, more: str) -> Score:
    """The share of rows that were told right, with Wilson's interval."""
    about = f"Share of {m:,} held-out rows whose class {NEIGHBORS} nearest neighbours name{more}."
    p, z = right / m, NORMAL
    middle, half = (p + z * z / (2 * m)), z * math.sqrt(p * (1 - p) / m + z * z / (4 * m * m))
    scale = 1 + z * z / m
    return Score(p, "higher", about, (middle - half) / scale, (middle + half) / scale)
