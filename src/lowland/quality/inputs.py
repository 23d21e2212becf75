"""Inputs of the measures: rows and coordinates, opened and checked, and the sample of rows to evaluate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import is_sparse, slices, to_numpy
from lowland.arrays.random import generator
from lowland.data.categories import levels_of, open_categories
from lowland.data.open import as_vector, open_rows
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.math.distances.metrics import Metric, allows_nan, check_metric
from lowland.math.distances.to_points import check_distances
from lowland.math.neighbors.ranks import PointSet
from lowland.math.statistics.intervals import Bounds, confidence_interval
from lowland.math.statistics.labels import classes_of, missing_labels
from lowland.quality.measure import Better, Measure
from lowland.run.run import run_for

Sample = int | Literal["auto"] | None  # number of rows to evaluate

MIN_ROWS = 3
SPARSE_ROWS = "Sparse rows are not supported here. Reduce them first, for example with `TruncatedSVD(50)`."
MIN_SAMPLE = 20
_RING = 8  # sampled rows per ring

# What the parameters of the measures mean; a measure describes only those that differ.
SHARED = """
X : array-like of shape (n, d), path, or OriginalSpace
    Original rows, or rows prepared once with ``OriginalSpace.of``. With ``metric="precomputed"``: their
    distances, shape (n, n).
Z : array-like of shape (n, k)
    Coordinates of the same rows, in the same order. Rows with NaN are left out and counted in ``left_out``.
y : array-like of shape (n,)
    Class label of each row: integers or strings.
n_neighbors : int, default 5
    Size k of the neighborhood, less than n / 2.
metric : str or function, default "euclidean"
    Distance metric in X. Distances in Z are Euclidean.
per_row : bool, default False
    Also return the value of each row, in the attribute ``per_row``.
sample : int, "auto" or None, default "auto"
    Number of sampled rows that are compared with all others. "auto": all rows up to 4,096, at most 1,448 of more rows.
    None: all rows.
random_state : int, Generator or None, default None
    Seed of the sample. None draws the same sample every time.
"""
SEARCHED = """
sample : int, "auto" or None, default "auto"
    Number of sampled rows whose neighbors are searched among all rows. "auto": all rows up to about 30,000. None:
    all rows.
"""


@dataclass(frozen=True, eq=False)
class EvaluatedRows:
    """The rows that a measure evaluates: ``rows``, indices among the rows with coordinates, ``kept``."""

    kept: np.ndarray  # (N,) bool
    rows: np.ndarray | None = None  # (m,) indices among the kept rows; None: all of them

    @cached_property
    def n(self) -> int:
        """Number of rows with coordinates."""
        return int(self.kept.sum())

    @cached_property
    def places(self) -> np.ndarray:
        """The indices of the evaluated rows among the kept rows, (m,)."""
        return np.arange(self.n) if self.rows is None else self.rows

    @property
    def left_out(self) -> int:
        """Number of rows without coordinates."""
        return len(self.kept) - self.n

    @property
    def sample(self) -> int | None:
        """Number of sampled rows; None if all rows are evaluated."""
        return None if self.rows is None else len(self.rows)

    def mean(
        self, name: str, values: np.ndarray, better: Better, about: str, *, ends: Bounds = (0.0, 1.0),
        per_row: bool = False,
    ) -> Measure:  # fmt: skip
        """The mean of one value per evaluated row, with its confidence interval if the rows are a sample."""
        value = float(values.mean())
        low = high = None
        if self.rows is not None:
            found = confidence_interval(value, float(values.std(ddof=1)), len(values), self.n, ends=ends)
            low, high = (float(end) for end in found)
        each = self.spread(values) if per_row else None
        return Measure(name, value, each, better, about, low, high, self.sample, self.left_out)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """The values at the positions of their rows among all rows, (N,); NaN elsewhere."""
        each = np.full(len(self.kept), np.nan)
        each[np.flatnonzero(self.kept)[self.places]] = values
        return each


def check_same_rows(n: int, kept: np.ndarray) -> None:
    """Raise an error if there are coordinates for another number of rows than n."""
    if n != len(kept):
        raise DataError(
            f"`X` has {n:,} rows and `Z` has {len(kept):,}. Pass the coordinates of the rows of `X`, in the same order."
        )


def open_original(X: Any, metric: Metric, scale: Any = None) -> PointSet:
    """Open the rows, divided by ``scale`` (True: standardized), or with metric "precomputed" their distances."""
    check_metric(metric, {})
    rows = open_categories(X) if metric == "gower" else open_rows(X)
    rows.allow_nan = allows_nan(metric)
    if rows.is_sparse:
        raise DataTypeError(SPARSE_ROWS)
    table = to_numpy(run_for(rows).to_array(rows, "Comparing rows"))
    if metric == "precomputed":
        table = check_distances(table)
    elif bool((table == table[:1]).all()):
        raise DataError("All rows of `X` are equal, so there are no nearest neighbors. Check the selected columns.")
    elif metric == "gower":  # columns of text are categories, or ranks if they are ordered
        ordered = rows.ordered or (False,) * rows.d
        texts = [j for j, known in enumerate(levels_of(rows)) if known is not None and not ordered[j]]
        return PointSet(table, metric, {"categorical": texts})
    elif scale is not None:
        table = table / _scale_factors(table, scale)
    return PointSet.of(table, metric)


def _scale_factors(X: np.ndarray, scale: Any) -> np.ndarray:
    """The numbers by which the columns are divided, (d,): those given, or the standard deviations; 1 if constant."""
    if scale is True:
        constant = (X[:1] == X).all(axis=0)  # a mean with a rounding error would give a tiny standard deviation
        return np.where(constant, 1.0, X.std(axis=0, dtype=np.float64)).astype(X.dtype)
    factors = np.asarray(to_numpy(scale))
    if factors.shape != (X.shape[1],):
        raise DataError(
            f"scale has shape {factors.shape}, but `X` has {X.shape[1]} columns. Pass one number per column."
        )
    return np.where(factors > 0, factors, 1.0).astype(X.dtype)


def open_coordinates(Z: Any) -> tuple[np.ndarray, np.ndarray]:
    """Open an embedding: the coordinates of the rows that have some, (n, k), and a mask of these rows, (N,)."""
    C: np.ndarray
    if type(Z) is np.ndarray and Z.ndim == 2 and Z.size and Z.dtype in (np.float32, np.float64):
        C = Z  # the usual case
    else:
        rows = open_rows(Z)
        if rows.is_sparse:
            raise DataTypeError("The coordinates `Z` are sparse. Make them dense (`Z.toarray()`).")
        C = to_numpy(rows.to_array())
    kept: np.ndarray = np.ones(len(C), dtype=bool)
    if not np.isfinite(C).all():
        kept = ~np.isnan(C).any(axis=1)
        if not np.isfinite(C[kept]).all():
            raise DataError(
                "`Z` contains infinite coordinates. Refit the method, or remove those rows from `X` and `Z`."
            )
        C = C[kept]
    if len(C) < MIN_ROWS:
        raise DataError(
            f"{len(C)} of the {len(kept)} rows of `Z` have coordinates. At least {MIN_ROWS} are needed. Pass more "
            "rows, or fit the method with `disconnected='connect'`, which leaves no rows out."
        )
    if bool((C[:1] == C).all()):
        raise DataError("All rows of `Z` are equal. Check the method that computed `Z`, and its input.")
    return C, kept


def open_points(Z: Any, metric: Metric) -> tuple[PointSet, np.ndarray]:
    """Open coordinates or precomputed distances, and return a mask of the rows that have coordinates."""
    check_metric(metric, {})
    if metric == "precomputed":
        side = open_original(Z, metric)
        return side, np.ones(side.n, dtype=bool)
    C, kept = open_coordinates(Z)
    return PointSet.of(C, metric), kept


def class_labels(y: Any, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and the class index of each row with coordinates; other rows need no label."""
    return classes_of(_one_per_row(y, len(kept))[kept])


def labeled_classes(y: Any, kept: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Return a mask of the rows with coordinates that have a label (None: all), and their class indices."""
    labels = _one_per_row(y, len(kept))[kept]
    missing = missing_labels(labels)
    if not missing.any() or missing.all():
        return None, classes_of(labels)[1]
    return ~missing, classes_of(labels[~missing])[1]


def class_strata(y: Any, n: int) -> np.ndarray:
    """Return the class index of each row, (n,), for stratified sampling; -1 for rows without a label."""
    labels = _one_per_row(y, n)
    named, strata = ~missing_labels(labels), np.full(n, -1)
    if named.any():
        strata[named] = classes_of(labels[named], least=1)[1]
    return strata


def _one_per_row(y: Any, n: int) -> np.ndarray:
    if isinstance(y, np.ndarray) and y.shape == (n,):
        return y
    if is_sparse(y):
        raise DataTypeError("The labels `y` are sparse. Make them dense (`y.toarray()`).")
    return as_vector(y, n, "y")


def check_neighbors(k: int, n: int, *, half: bool = True) -> None:
    """Raise an error if the measure is not defined for so many neighbors."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ParameterError(f"`n_neighbors={k!r}`: choose an integer of at least 1.")
    most = (n - 1) // 2 if half else n - 1  # for larger k the normalization of the rank measures does not hold
    if k > most:
        raise ParameterError(f"`n_neighbors={k}`: there are {n:,} rows with coordinates. Choose at most {most:,}.")


def sample_rows(
    side: PointSet,
    sample: Sample,
    comparisons: int,
    random_state: Any,
    strata: np.ndarray | None = None,
    least: int = 500,
    most: int | None = None,
) -> np.ndarray | None:
    """Sample rows, stratified by class (``strata``) and by distance from the center; None: use all rows.

    "auto" uses all rows if these give at most ``comparisons`` comparisons. Otherwise it samples as many as give so many
    comparisons with all others, and at least ``least`` and at most ``most``, which suffice for two digits. The rows
    are sorted by class and by ring around the mean, and every n/m-th row is taken from a random first one. Each row has
    the same probability, and every region of the data is represented in proportion.
    """
    integer = not isinstance(sample, bool) and isinstance(sample, int | np.integer)
    if sample not in (None, "auto") and (not integer or int(sample) < MIN_SAMPLE):  # for a confidence interval
        raise ParameterError(
            f"`sample={sample!r}`: choose an integer of at least {MIN_SAMPLE}, 'auto', or `None` for all rows."
        )
    n = side.n
    m = max(least, comparisons // n) if sample == "auto" else sample
    if sample == "auto" and most is not None and m is not None and m < n:
        m = min(m, most)
    if m is None or m >= n:
        return None
    rng = generator(0 if random_state is None else random_state)
    classes = np.zeros(n) if strata is None else strata
    from_middle = np.argsort(np.argsort(_distance_from_center(side), kind="stable"), kind="stable")
    order = np.lexsort((rng.random(n), from_middle // math.ceil(_RING * n / m), classes))
    picks = np.floor((rng.random() + np.arange(m)) * (n / m)).astype(np.int64)
    return np.sort(order[np.minimum(picks, n - 1)])


def _distance_from_center(side: PointSet) -> np.ndarray:
    """The squared distance of each row from the mean, (n,), or its mean distance from the other rows."""
    X = side.X
    if side.metric == "precomputed":
        return X.mean(axis=1, dtype=np.float64)
    known = ~np.isnan(X)
    mean = np.where(known, X, 0).sum(axis=0, dtype=np.float64) / np.maximum(known.sum(axis=0), 1)
    out = np.empty(side.n)
    with np.errstate(over="ignore"):
        for block in slices(side.n, 1024):
            C = np.nan_to_num(X[block] - mean)  # a missing value is at the mean
            out[block] = np.einsum("ij,ij->i", C, C)
    return out
