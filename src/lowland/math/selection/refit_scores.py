"""Cross-validated scores of subsets by refitting: any scikit-learn estimator and scorer, fitted to every fold."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from lowland.errors import DataError, ParameterError
from lowland.math.selection.subset_scores import Tally
from lowland.math.statistics.fold_moments import Folds


@dataclass(frozen=True)
class Metadata:
    """Arguments for the splitter, the fit of the model and the scorer, such as groups and sample weights."""

    split: Mapping[str, Any] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=dict)
    score: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Refitted:
    """The mean score over the folds of a model fitted to the columns of a subset."""

    estimator: Any
    scorer: Any
    X: Any  # (n, d), dense or sparse by columns
    y: np.ndarray | None
    folds: Folds
    n_jobs: int | None
    tally: Tally
    tie: float = 0.0
    unit: float = 1.0
    metadata: Metadata = Metadata()

    @property
    def d(self) -> int:
        """The number of columns."""
        return self.X.shape[1]

    def with_each(self, S: tuple[int, ...], J: np.ndarray) -> np.ndarray:
        """Return the scores of S with each column of J."""
        return self.many([sorted((*S, int(j))) for j in J])

    def without_each(self, S: tuple[int, ...]) -> np.ndarray:
        """Return the scores of S without each of its columns."""
        return self.many([S[:i] + S[i + 1 :] for i in range(len(S))])

    def many(self, subsets: Any) -> np.ndarray:
        """Return the scores of subsets."""
        scores, failures = [], []
        for score in self._one_by_one(subsets):
            failures += [score] if isinstance(score, str) else []
            scores.append(math.nan if isinstance(score, str) else score)
            self.tally(1)
        if failures and len(failures) == len(scores):
            raise DataError(failures[0])
        self.tally.failures.extend(failures)
        return np.array(scores)

    def _one_by_one(self, subsets: Any) -> Iterator[float | str]:
        work = (self.estimator, self.scorer, self.X, self.y, self.folds, self.metadata)
        if self.n_jobs in (None, 1):
            return (mean_score(*work, S) for S in subsets)
        return Parallel(n_jobs=self.n_jobs, return_as="generator")(delayed(mean_score)(*work, S) for S in subsets)


def mean_score(
    estimator: Any, scorer: Any, X: Any, y: np.ndarray | None, folds: Folds, metadata: Metadata, S: Sequence[int]
) -> float | str:
    """Return the mean score over the folds of the model fitted to the columns S, or why it could not be fitted."""
    columns = X[:, np.asarray(S)]
    columns = columns.tocsr() if hasattr(columns, "tocsr") else columns
    scores = []
    for train, test in folds:
        try:
            given = _of_rows(metadata.fit, train, X.shape[0])
            fitted = clone(estimator).fit(columns[train], *(() if y is None else (y[train],)), **given)
        except Exception as error:
            return (
                f"{type(estimator).__name__} could not be fitted to {len(train)} rows and {columns.shape[1]} of the "
                f"columns: {_cause(error)} Fit it alone to find the cause, or choose another estimator or fewer folds."
            )
        given = _of_rows(metadata.score, test, X.shape[0])
        scores.append(score_of(fitted, scorer, columns[test], None if y is None else y[test], given))
    return float(np.mean(scores))


def _of_rows(metadata: Mapping[str, Any], rows: np.ndarray, n: int) -> dict[str, Any]:
    """Metadata of some rows: what has one value for each of the n rows is cut, all else is passed on."""
    found = dict(metadata)
    for name, values in metadata.items():
        if hasattr(values, "__len__") and not isinstance(values, str | dict) and len(values) == n:
            found[name] = np.asarray(values)[rows]
    return found


def score_of(
    fitted: Any, scorer: Any, X: Any, y: np.ndarray | None, metadata: Mapping[str, Any] | None = None
) -> float:
    """Return the score of a fitted model as a float."""
    name = type(fitted).__name__
    try:
        value = scorer(fitted, X, *(() if y is None else (y,)), **(metadata or {}))
    except Exception as error:
        raise ParameterError(
            f"The scorer failed for a fitted {name} and {X.shape[0]} rows: {_cause(error)} Choose a scoring that "
            "fits the estimator and `y`, such as 'r2' for numbers or 'accuracy' for classes."
        ) from error
    if not isinstance(value, numbers.Real):
        raise ParameterError(
            f"The scorer returned {value!r} for a fitted {name}, which is not a number. Pass a function of the "
            "estimator, `X` and `y` that returns a number."
        )
    return float(value)


def _cause(error: Exception) -> str:
    text = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else ""
    return f"{type(error).__name__}: {text}." if text else f"{type(error).__name__}."
