"""Inputs of the measures: points and coordinates, opened and checked, and the sample of points to evaluate."""

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

Kind = Literal["mean", "sum over pairs", "correlation"]  # of a measure
Sample = int | Literal["auto"] | None  # number of rows to evaluate

MIN_ROWS = 3
SPARSE_ROWS = "Sparse rows are not supported here. Reduce them first, for example with `TruncatedSVD(50)`."
MIN_SAMPLE = 20
LEAST_SAMPLE = 500  # drawn by "auto"
_RING = 8  # sampled rows per ring
_EQUAL = 0.005  # difference of two values, relative to the possible one, that is as good as none

# What the parameters of the measures mean. A measure describes only those that differ.
SHARED = """
X : array-like of shape (n, d), path, or OriginalSpace
    Original data, or data prepared once with ``OriginalSpace.of``. With ``metric="precomputed"``: their
    distances, shape (n, n).
Z : array-like of shape (n, k)
    Coordinates of the same points, in the same order. Points with NaN are left out and counted in ``left_out``.
y : array-like of shape (n,)
    Class label of each point: integers or strings.
n_neighbors : int, default 5
    Size k of the neighborhood, less than n / 2.
metric : str or function, default "euclidean"
    Distance metric in X. Distances in Z are Euclidean.
per_row : bool, default False
    Also return the value of each point, in the attribute ``per_row``.
sample : int, "auto" or None, default "auto"
    Number of sampled points that are compared with all others. "auto" means all points up to 4,096, and at most
    1,024 of more. None means all points.
random_state : int, Generator or None, default None
    Seed of the sample. None draws the same sample every time.
"""
SEARCHED = """
sample : int, "auto" or None, default "auto"
    Number of sampled points whose neighbors are searched among all points. "auto" means all points up to about
    30,000. None means all points.
"""


@dataclass(frozen=True, eq=False)
class EvaluatedRows:
    """The points that a measure evaluates: ``rows``, indices among the points with coordinates, ``kept``."""

    kept: np.ndarray  # (N,) bool
    rows: np.ndarray | None = None  # (m,) indices among the kept rows, in the order of the strata; None: all of them

    @cached_property
    def n(self) -> int:
        """Number of points with coordinates."""
        return int(self.kept.sum())

    @cached_property
    def places(self) -> np.ndarray:
        """The indices of the evaluated points among the kept points, (m,)."""
        return np.arange(self.n) if self.rows is None else self.rows

    @property
    def left_out(self) -> int:
        """Number of points without coordinates."""
        return len(self.kept) - self.n

    @property
    def sample(self) -> int | None:
        """Number of sampled points; None if all points are evaluated."""
        return None if self.rows is None else len(self.rows)

    def mean(
        self, name: str, values: np.ndarray, better: Better, about: str, *, ends: Bounds = (0.0, 1.0),
        per_row: bool = False,
    ) -> Measure:  # fmt: skip
        """The mean of one value per evaluated point, with its confidence interval if the points are a sample."""
        value = float(values.mean())
        low = high = None
        if self.rows is not None:
            low, high = interval_of_sample(value, values, self.n, ends)
        each = self.spread(values) if per_row else None
        return Measure(name, value, each, better, about, low, high, self.sample, self.left_out)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """The values at the positions of their points among all points, (N,); NaN elsewhere."""
        each = np.full(len(self.kept), np.nan)
        each[np.flatnonzero(self.kept)[self.places]] = values
        return each


def interval_of_sample(value: float, values: np.ndarray, n: int, ends: Bounds, kind: Kind = "mean") -> Bounds:
    """Return the 95% confidence interval of a mean over n points from the values of a sample, ordered by strata.

    A stratified sample represents the differences between strata, so only those within strata cause an error. They are
    estimated from successive points, which are from one stratum or from similar ones. If most values are equal, the
    sample may have missed rare points, which may lie at the possible ends. Otherwise it shows how far points lie apart.
    A point counts twice in a sum over pairs. The sample never shows how far a rare one may move a correlation.
    """
    spread, away = float(np.sqrt(np.mean(np.diff(values) ** 2) / 2)), np.abs(values - np.median(values))
    reached, times = ends, 2 if kind == "sum over pairs" else 1
    if kind != "correlation" and np.mean(away <= _EQUAL * (ends[1] - ends[0])) <= 0.5:
        reached, times = (value + float(values.min() - values.mean()), value + float(values.max() - values.mean())), 1
    low, high = confidence_interval(value, spread, len(values), n, ends=reached, shared=times)
    return max(float(low), min(ends[0], value)), min(float(high), max(ends[1], value))


def check_same_rows(n: int, kept: np.ndarray) -> None:
    """Raise an error if there are coordinates for another number of points than n."""
    if n != len(kept):
        raise DataError(
            f"`X` has {n:,} rows and `Z` has {len(kept):,}. Pass the coordinates of the rows of `X`, in the same order."
        )


def open_original(X: Any, metric: Metric, scale: Any = None) -> PointSet:
    """Open the points, divided by ``scale`` (True: standardized), or with metric "precomputed" their distances."""
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
    """Open an embedding: the coordinates of the points that have some, (n, k), and a mask of these points, (N,)."""
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
    """Open coordinates or precomputed distances, and return a mask of the points that have coordinates."""
    check_metric(metric, {})
    if metric == "precomputed":
        side = open_original(Z, metric)
        return side, np.ones(side.n, dtype=bool)
    C, kept = open_coordinates(Z)
    return PointSet.of(C, metric), kept


def class_labels(y: Any, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes and the class index of each point with coordinates; other points need no label."""
    return classes_of(_one_per_row(y, len(kept))[kept])


def labeled_classes(y: Any, kept: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Return a mask of the points with coordinates that have a label (None: all), and their class indices."""
    labels = _one_per_row(y, len(kept))[kept]
    missing = missing_labels(labels)
    if not missing.any() or missing.all():
        return None, classes_of(labels)[1]
    return ~missing, classes_of(labels[~missing])[1]


def class_strata(y: Any, n: int) -> np.ndarray:
    """Return the class index of each point, (n,), for stratified sampling; -1 for points without a label."""
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
    most: int | None = None,
) -> np.ndarray | None:
    """Sample points, stratified by class (``strata``) and by distance from the center. None means use all points.

    "auto" uses all points if these give at most ``comparisons`` comparisons. Otherwise it samples as many as give so
    many comparisons with all others, and at least 500 and at most ``most``, which suffice for two digits. The
    points are sorted by class and by ring around the mean, and every n/m-th point is taken from a random first one.
    Each point has the same probability, and every region of the data is represented in proportion.
    """
    integer = not isinstance(sample, bool) and isinstance(sample, int | np.integer)
    if sample not in (None, "auto") and (not integer or int(sample) < MIN_SAMPLE):  # for a confidence interval
        raise ParameterError(
            f"`sample={sample!r}`: choose an integer of at least {MIN_SAMPLE}, 'auto', or `None` for all rows."
        )
    n = side.n
    m = max(LEAST_SAMPLE, comparisons // n) if sample == "auto" else sample
    if sample == "auto" and most is not None and m is not None and m < n:
        m = min(m, most)
    if m is None or m >= n:
        return None
    rng = generator(0 if random_state is None else random_state)
    classes = np.zeros(n) if strata is None else strata
    from_middle = np.argsort(np.argsort(_distance_from_center(side), kind="stable"), kind="stable")
    order = np.lexsort((rng.random(n), from_middle // math.ceil(_RING * n / m), classes))
    picks = np.floor((rng.random() + np.arange(m)) * (n / m)).astype(np.int64)
    return order[np.minimum(picks, n - 1)]


def _distance_from_center(side: PointSet) -> np.ndarray:
    """The squared distance of each point from the mean, (n,), or its mean distance from the other points."""
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
