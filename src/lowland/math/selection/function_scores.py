"""Scores of columns by a user's function of rows and target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowland.errors import DataError, ParameterError
from lowland.math.selection.columns import ColumnReader
from lowland.math.selection.filters import FilterScores
from lowland.run.run import Run


def function_scores(
    function: Callable[..., Any], X: Any, y: np.ndarray | None, run: Run, n_permutations: int = 0, seed: int = 0
) -> FilterScores:
    """Return the scores, or scores and p-values, that a function of rows and target returns."""
    if n_permutations and y is None:
        raise ParameterError("Permutation p-values need `y`. Pass `y`, or leave the permutations out.")
    constant = ColumnReader(X).constant()
    values, p = _called(function, X, y)
    if np.isnan(values).all():
        raise DataError(
            "The function returns NaN for every column, so no column can be ranked. Pass a function that returns "
            "numbers."
        )
    if n_permutations and y is not None:
        rng, more = np.random.default_rng(seed), np.ones(len(values))
        for _ in run.iterate("permuting rows", n_permutations):
            more += ~(_called(function, X, y[rng.permutation(len(y))])[0] < values)  # NaN counts as not significant
        p = more / (1 + n_permutations)
    return FilterScores.of(values, p, constant, X.shape[0])


def _called(function: Callable[..., Any], X: Any, y: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    name = getattr(function, "__name__", type(function).__name__)
    try:
        found = function(X) if y is None else function(X, y)
    except Exception as error:
        raise ParameterError(
            f"The function {name} failed with {type(error).__name__}: {str(error).rstrip('.')}. Pass a function of "
            "`X` and `y` that returns one score per column, or the name of a statistic."
        ) from error
    scores, p = found if isinstance(found, tuple) and len(found) == 2 else (found, None)
    try:
        scores = np.asarray(scores, dtype=np.float64)
        p = None if p is None else np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError):
        scores = np.empty(0)
    if any(a is not None and a.shape != (X.shape[1],) for a in (scores, p)):
        raise ParameterError(
            f"The function {name} did not return one score for each of the {X.shape[1]} columns. Return an array of "
            "that length, or a pair of arrays: scores and p-values."
        )
    return scores, None if p is None else np.where(np.isnan(p), 1.0, p)
