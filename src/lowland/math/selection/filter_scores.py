"""Univariate scores of columns by name, and what follows from them: rankings, discoveries, and mRMR.

mRMR (minimum redundancy, maximum relevance) selects columns that are associated with the target and not with each
other: Ding and Peng 2005; Peng, Long and Ding 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import is_sparse, to_numpy
from lowland.errors import DataError, ParameterError
from lowland.math.selection import column_statistics
from lowland.math.selection.column_statistics import (
    ClassColumns,
    ClassSums,
    ColumnsAndMoments,
    FilterScores,
    TargetColumns,
)
from lowland.math.selection.columns import constant_columns
from lowland.math.selection.dependence import (
    ColumnReader,
    DependenceMeasure,
    DistanceCorrelation,
    MutualInformation,
    Spearman,
    column_scores,
    discrete_columns,
)
from lowland.math.selection.subset_search import Move, first_best
from lowland.math.statistics.labels import Kind, Target, seems_classes
from lowland.math.statistics.moments import ColumnMoments
from lowland.run.run import Run

StatisticName = Literal[
    "auto", "variance", "pearson", "spearman", "distance-correlation", "mutual-information", "anova", "chi2", "mrmr"
]
IN_MEMORY = ("spearman", "distance-correlation", "mutual-information")
_NUMBERS, _CLASSES = ("pearson", "spearman"), ("anova", "chi2")  # targets they need; the others accept both
_LEAST = 1e-3  # smallest redundancy in a quotient, which would otherwise amplify noise
_TIE = 1e-10  # relative difference below which scores are tied, and the first column comes first


@dataclass(frozen=True)
class OnePass:
    """A statistic computed in one pass over the rows: what is summed per chunk, and the scores from the total."""

    of: Callable[..., Any]  # of a chunk of the rows, and of the target where there is one
    scores: Callable[[Any], FilterScores]
    aligned: tuple[np.ndarray, ...] = ()  # (n,) the target, where there is one
    stage: str = "summing columns"


def one_pass(statistic: str, target: Target | None, names: Callable[[], Sequence[str]]) -> OnePass | None:
    """Return the statistic with this name; None if it needs the rows in memory. ``names`` returns the column names."""
    if statistic == "variance":
        return OnePass(ColumnMoments.of, column_statistics.variance_scores)
    if target is None or statistic not in ("pearson", *_CLASSES):
        return None
    C, y = target.n_classes or 0, (target.values,)
    if statistic == "pearson":
        return OnePass(TargetColumns.of, column_statistics.pearson_scores, y)
    if statistic == "anova":
        return OnePass(partial(ClassColumns.of, classes=C), column_statistics.anova_scores, y, "summing classes")
    return OnePass(
        partial(ClassSums.of, classes=C), partial(column_statistics.chi2_scores, names=names()), y, "summing classes"
    )


def choose_statistic(
    statistic: Any, y: np.ndarray | None, kind: Kind, *, for_numbers: str
) -> tuple[str, Target | None]:
    """Return the name of a statistic, with "auto" resolved, and the target; ``kind`` is the type of y.

    ``for_numbers`` is what a user sets if y holds numbers.
    """
    if not isinstance(statistic, str):
        return f"{getattr(statistic, '__name__', type(statistic).__name__)}()", None
    if y is None or statistic == "variance":
        return statistic, None
    if statistic in _NUMBERS:
        if kind == "numbers" or (kind == "auto" and not seems_classes(y)):
            return statistic, Target.of_numbers(y)
        target = Target.of_classes(y)
        if target.n_classes == 2:
            return statistic, Target(target.values.astype(np.float64))
        raise DataError(  # more than two classes have no order
            f"{statistic!r}: `y` holds {target.n_classes} classes, and a correlation needs numbers or two classes. "
            f"Choose 'anova' for classes. If `y` holds numbers, set {for_numbers}."
        )
    if statistic not in _CLASSES:
        target = Target.of(y, kind, for_numbers=for_numbers)
        return {"auto": "pearson" if target.n_classes is None else "anova"}.get(statistic, statistic), target
    if kind == "numbers":
        raise ParameterError(
            f"{statistic!r} compares classes, but `y` is declared to hold numbers. Choose 'pearson', 'spearman', "
            "'distance-correlation' or 'mutual-information' for numbers."
        )
    return statistic, Target.of_classes(y)


def filter_scores(
    X: Any, y: np.ndarray | None = None, statistic: str = "auto", *, kind: Kind = "auto", n_neighbors: int = 3,
    discrete: Any = "auto", n_permutations: int = 0, seed: int = 0,
) -> FilterScores:  # fmt: skip
    """Return a univariate score for every column of a table.

    Parameters
    ----------
    X : ndarray or CSR array of shape (n, d)
        The table.
    y : ndarray of shape (n,), optional
        The target, which the variance does not need.
    statistic : str
        "variance", "pearson", "spearman", "distance-correlation", "mutual-information", "anova", "chi2", or "auto":
        anova for classes, pearson for numbers.
    kind : {"auto", "classes", "numbers"}
        Type of y.
    n_neighbors : int
        Number of neighbors used to estimate mutual information.
    discrete : "auto", bool, or sequence
        Discrete columns, for mutual information.
    n_permutations : int
        Number of permutations for p-values, for the statistics that need the rows in memory.
    seed : int
        Seed of the permutations and of the noise that breaks ties.

    Returns
    -------
    FilterScores
        ``values`` (d,), ``pvalues`` (d,) or None, ``constant`` (d,) bool.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 1.0], [2.0, 0.0], [3.0, 1.0]])
    >>> filter_scores(X, np.array([2.0, 4.0, 6.5]), "pearson").values.round(3).tolist()
    [0.998, 0.064]
    """
    d = X.shape[1]
    name, target = choose_statistic(statistic, y, kind, for_numbers="kind='numbers'")
    one = one_pass(name, target, lambda: [f"x{j}" for j in range(d)])
    if one is not None:
        return one.scores(one.of(X, *one.aligned))
    if target is None:
        raise DataError(f"{name!r} needs a target, but `y` is `None`. Pass `y`, or choose 'variance'.")
    columns = ColumnReader(X)
    measure = measure_for(name, target, discrete_columns(discrete, d, is_sparse(X)), n_neighbors, seed)
    return column_scores(columns, measure, Run(), n_permutations, seed)


def measure_for(statistic: str, target: Target, discrete: np.ndarray, k: int, seed: int) -> DependenceMeasure:
    """Return the measure with this name; the last three arguments are for mutual information."""
    if statistic == "spearman":
        return Spearman.to(target.values)
    if statistic == "distance-correlation":
        return DistanceCorrelation.to(target)
    return MutualInformation.to(target, discrete, k, seed)


def function_scores(
    function: Callable[..., Any], X: Any, y: np.ndarray | None, run: Run, n_permutations: int = 0, seed: int = 0
) -> FilterScores:
    """Return the scores, or scores and p-values, that a function of rows and target returns."""
    if n_permutations and y is None:
        raise ParameterError("Permutation p-values need `y`. Pass `y`, or leave the permutations out.")
    constant = constant_columns(X)
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


def ranked(strength: np.ndarray) -> np.ndarray:
    """Return the columns from the best to the worst, (d,); ties in the order of the columns, NaN last."""
    largest = float(np.finfo(np.float64).max) / 2
    key = np.nan_to_num(strength, nan=-largest, posinf=largest, neginf=-largest)
    order = np.argsort(-key, kind="stable")
    falling = key[order]
    lower = falling[1:] < falling[:-1] - _TIE * np.abs(falling[:-1])
    group = np.concatenate([[0], np.cumsum(lower)])
    return order[np.lexsort((order, group))]


def discoveries(pvalues: np.ndarray, rate: float, *, any_dependence: bool = False) -> np.ndarray:
    """Return which columns, (d,) bool, are significant at a false discovery rate of at most ``rate``.

    Benjamini and Hochberg 1995; valid under any dependence between the columns: Benjamini and Yekutieli 2001.
    """
    d = len(pvalues)
    ranks = np.arange(1, d + 1)
    if any_dependence:
        rate = rate / float(np.sum(1.0 / ranks))
    p = np.sort(pvalues)
    passing = p[p <= rate / d * ranks]
    return pvalues <= passing[-1] if len(passing) else np.zeros(d, dtype=bool)


# --- minimum redundancy, maximum relevance ---


@dataclass(frozen=True)
class Relevance:
    """The relevance of each column for the target, and the redundancy of any two columns."""

    values: np.ndarray  # (d,)
    redundancy: Callable[[int], np.ndarray]  # of each column with column j, (d,)
    constant: np.ndarray  # (d,) bool
    n: int  # rows


def mrmr(relevance: Relevance, steps: Iterable[Any], *, quotient: bool) -> tuple[list[Move], np.ndarray, np.ndarray]:
    """In each step add the column with the best relevance relative to its mean redundancy with those selected.

    Return the moves, the criterion of each column, (d,), of a selected one when it was selected, and all columns in
    the order of selection, then the rest by criterion, constant ones last.
    """
    scores, redundancies = relevance.values.copy(), np.zeros(len(relevance.values))
    left, chosen, moves = np.arange(len(scores)), np.empty(0, dtype=int), list[Move]()
    for _ in steps:
        varying = left[~relevance.constant[left]]
        J = varying if len(varying) else left
        j = int(J[first_best(scores[J], _TIE)])
        left, chosen = left[left != j], np.append(chosen, j)
        moves.append(Move("add", j, float(scores[j]), tuple(np.sort(chosen).tolist())))
        if not len(left):
            break
        redundancies += relevance.redundancy(j)
        mean, worth = redundancies[left] / len(chosen), relevance.values[left]
        scores[left] = worth / np.maximum(mean, _LEAST) if quotient else worth - mean
    rest = left[np.lexsort((left, -scores[left], relevance.constant[left]))]
    return moves, scores, np.concatenate([chosen, rest])


def by_correlation(found: ColumnsAndMoments) -> Relevance:
    """Return relevance and redundancy from the moments of one pass.

    Relevance is the absolute correlation with numbers, or the correlation ratio with classes, which is the same for
    two classes. Redundancy is the absolute correlation of two columns.
    """
    m = found.moments
    if m.lost_digits:
        raise DataError(
            "The means of the sparse columns are too large relative to their standard deviations: the correlations "
            "lose too many digits. Make them dense (`X.toarray()`), or measure redundancy by mutual information."
        )
    column_statistics.check_squares(m.n, to_numpy(m.mean), np.diagonal(to_numpy(m.scatter)), m.rounding)
    constant = ~(to_numpy(m.variances) > 0)
    if isinstance(found.columns, ClassColumns):
        relevance = column_statistics.correlation_ratios(found.columns)
    else:
        relevance = np.abs(column_statistics.pearson_scores(found.columns).values)
    S = to_numpy(m.scatter).astype(np.float64)
    deviations = np.sqrt(np.where(constant, np.inf, np.diagonal(S)))
    C = np.abs(S / deviations[:, None] / deviations[None, :])
    return Relevance(np.where(constant, 0.0, relevance), lambda j: C[j], constant, int(m.n))


def by_information(
    columns: ColumnReader, target: Target, discrete: np.ndarray, k: int, seed: int, run: Run
) -> Relevance:
    """Return relevance and redundancy as mutual information in nats, from rows in memory; redundancy when needed."""
    constant = constant_columns(columns.X)

    def informations(to: Target) -> np.ndarray:
        measure = MutualInformation.to(to, discrete, k, seed)

        def work(j: int) -> float:
            return 0.0 if constant[j] else measure.score(measure.prepare(columns[j], j), j)

        return np.array(run.each("comparing columns", range(columns.d), work))

    def redundancy(j: int) -> np.ndarray:
        if constant[j]:
            return np.zeros(columns.d)
        x = columns[j]
        kinds, codes = np.unique(x, return_inverse=True) if discrete[j] else (None, x)
        return informations(Target(codes, kinds))

    return Relevance(informations(target), redundancy, constant, columns.n)
