"""Scores of columns by name: which statistic fits a target, what one pass computes, and what needs rows in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from lowland.errors import DataError, ParameterError
from lowland.math.selection import filters
from lowland.math.selection.column_statistics import ColumnsByClass, SumsByClass, TargetColumns
from lowland.math.selection.columns import ColumnReader
from lowland.math.selection.dependence import column_scores, measure_for
from lowland.math.selection.filters import FilterScores
from lowland.math.selection.mutual_information import discrete_columns
from lowland.math.statistics.moments import ColumnMoments
from lowland.math.statistics.targets import Kind, Target, seems_classes
from lowland.run.local import LocalRun

StatisticName = Literal[
    "auto", "variance", "pearson", "spearman", "distance-correlation", "mutual-information", "anova", "chi2", "mrmr"
]
IN_MEMORY = ("spearman", "distance-correlation", "mutual-information")
_NUMBERS, _CLASSES = ("pearson", "spearman"), ("anova", "chi2")  # targets they need; the others accept both


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
        return OnePass(ColumnMoments.of, filters.variance_scores)
    if target is None or statistic not in ("pearson", *_CLASSES):
        return None
    C, y = target.n_classes or 0, (target.values,)
    if statistic == "pearson":
        return OnePass(TargetColumns.of, filters.pearson_scores, y)
    if statistic == "anova":
        return OnePass(ColumnsByClass(C), filters.anova_scores, y, "summing classes")
    return OnePass(SumsByClass(C), partial(filters.chi2_scores, names=names()), y, "summing classes")


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
        return statistic, _numbers_for(statistic, y, kind, for_numbers)
    if statistic not in _CLASSES:
        target = Target.of(y, kind, for_numbers=for_numbers)
        return {"auto": "pearson" if target.n_classes is None else "anova"}.get(statistic, statistic), target
    if kind == "numbers":
        raise ParameterError(
            f"{statistic!r} compares classes, but `y` is declared to hold numbers. Choose 'pearson', 'spearman', "
            "'distance-correlation' or 'mutual-information' for numbers."
        )
    return statistic, Target.of_classes(y)


def _numbers_for(statistic: str, y: np.ndarray, kind: Kind, for_numbers: str) -> Target:
    """The target of a correlation; more than two classes have no order."""
    if kind == "numbers" or (kind == "auto" and not seems_classes(y)):
        return Target.of_numbers(y)
    target = Target.of_classes(y)
    if target.n_classes != 2:
        raise DataError(
            f"{statistic!r}: `y` holds {target.n_classes} classes, and a correlation needs numbers or two classes. "
            f"Choose 'anova' for classes. If `y` holds numbers, set {for_numbers}."
        )
    return Target(target.values.astype(np.float64))


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
        The target; not needed for the variance.
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
    measure = measure_for(name, target, discrete_columns(discrete, d, hasattr(X, "tocsc")), n_neighbors, seed)
    return column_scores(columns, measure, LocalRun(), n_permutations, seed)
