"""Cross-validation by scikit-learn's rules: folds, scorers, and the choice among nested models."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv

from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.suggestions import did_you_mean

Folds = Sequence[tuple[np.ndarray, np.ndarray]]  # row numbers of the training set and of the test set


@runtime_checkable
class Splitter(Protocol):
    """The interface of scikit-learn's cross-validation splitters."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        """Yield training and test rows."""


def folds_of(cv: Any, X: Any, y: np.ndarray | None, *, classifier: bool, for_numbers: str, **metadata: Any) -> Folds:
    """Return the training and test rows of each fold, by scikit-learn's rules; they are the same for all subsets.

    ``for_numbers`` is what a user sets if y holds numbers, not classes; ``metadata`` is for the splitter: groups.
    """
    remedy = f"If `y` holds numbers rather than classes, set {for_numbers}."
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            folds = list(check_cv(cv, y, classifier=classifier).split(X, y, **metadata))
    except Exception as error:
        raise DataError(
            f"Cross-validation ({cv!r}) cannot split the {X.shape[0]} rows "
            f"(`{str(error).splitlines()[0].rstrip('.')}`). Choose fewer folds, or pass more rows. {remedy}"
        ) from error
    for each in caught:
        text = str(each.message).rstrip(".")
        warn(f"{text}. Choose fewer folds (`cv`), or drop rare classes. {remedy}", DataWarning)
    if not folds:
        raise ParameterError(
            f"Cross-validation ({cv!r}) has no folds. Pass a number of folds (`a splitter, or pairs of row index "
            "arrays`)."
        )
    rows = np.arange(X.shape[0])
    try:
        found = [(rows[train], rows[test]) for train, test in folds]
    except (IndexError, TypeError, ValueError) as error:
        raise ParameterError(
            f"`cv`: a fold is not a pair of training and test rows: {error}.",
            f"Pass pairs of row index arrays, with indices from 0 to {len(rows) - 1}.",
        ) from error
    if not all(len(train) and len(test) for train, test in found):
        raise ParameterError("`cv`: a fold has no training rows or no test rows. Every fold needs both.")
    return found


def scorer_of(model: Any, scoring: Any) -> Any:
    """Return scikit-learn's scorer of a name or function."""
    if isinstance(scoring, str) and scoring not in (known := get_scorer_names()):
        raise ParameterError(
            f"{scoring!r} is not the name of a scorer. {did_you_mean(scoring, known, 3)}"
            "Choose a scorer of scikit-learn, such as 'accuracy' or 'r2' (`sklearn.metrics.get_scorer_names()`)."
        )
    try:
        return check_scoring(model, scoring=scoring)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"The scorer {scoring!r} does not fit {type(model).__name__}: {str(error).splitlines()[0]} Choose a "
            "scorer of scikit-learn, such as 'accuracy' or 'r2' (`sklearn.metrics.get_scorer_names()`)."
        ) from error


def score_of(
    fitted: Any, scorer: Any, X: Any, y: np.ndarray | None, metadata: Mapping[str, Any] | None = None
) -> float:
    """Return the score of a fitted model as a float."""
    name = type(fitted).__name__
    try:
        value = scorer(fitted, X, *(() if y is None else (y,)), **(metadata or {}))
    except Exception as error:
        raise ParameterError(
            f"The scorer failed for a fitted {name} and {X.shape[0]} rows: {cause_of(error)}",
            "Choose a `scoring` that fits the estimator and `y`, such as 'r2' for numbers or 'accuracy' for classes.",
        ) from error
    if not isinstance(value, numbers.Real):
        raise ParameterError(
            f"The scorer returned {value!r} for a fitted {name}, which is not a number.",
            "Pass a function of the estimator, `X` and `y` that returns a number.",
        )
    return float(value)


def cause_of(error: Exception) -> str:
    """Return the type and the first line of an error."""
    text = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else ""
    return f"{type(error).__name__}: {text}." if text else f"{type(error).__name__}."


def best_model(losses: np.ndarray, rule: str) -> int:
    """Return the index of the best of m nested models, the simplest first, by their losses on F folds, (m, F).

    "min" means the smallest mean loss. "one-standard-error" means the simplest model within one standard error of it
    (Breiman and others 1984). Losses that differ by rounding error are tied, and the simpler model is chosen.
    """
    mean, F = losses.mean(axis=1), losses.shape[1]
    near = 1e-12 * np.abs(mean).max()
    best = int(np.argmax(mean <= mean.min() + near))
    if rule == "min" or F == 1:
        return best
    error = losses.std(axis=1, ddof=1) / np.sqrt(F)
    return int(np.argmax(mean <= mean[best] + error[best] + near))
