"""Distances of rows to points in any metric, checks of given distance matrices, and dissimilarities of all pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import combinations_with_replacement
from typing import Any, Self

import numpy as np
import scipy.sparse

from lowland.arrays.blas_threads import blas_on_one_thread, blas_threads_for
from lowland.arrays.namespace import (
    Array,
    as_double,
    device_of,
    eps_of,
    is_sparse,
    is_torch,
    like,
    on_accelerator,
    slices,
    to_numpy,
    xp_of,
)
from lowland.data.rows import ArrayRows, Rows, SlicedRows, in_slabs, own_array, slab_rows
from lowland.errors import DataError
from lowland.math.distances.incomplete_rows import no_shared_column
from lowland.math.distances.metrics import (
    METRICS,
    Metric,
    allows_nan,
    check_metric,
    distance_by,
    function_name,
    usable_values,
)
from lowland.math.distances.sparse_rows import distances as sparse_distances
from lowland.math.distances.sparse_rows import finite_rows
from lowland.math.statistics.rescaling import largest_of, unit_of
from lowland.run.run import Run, all_finite

_ROUNDED = 1e-12  # fraction of the longest distance below which a negative one is rounding error
_PORTION = 1 << 18  # distances computed at a time on the CPU, where all are kept
_SMALLEST_GROUP, _LARGEST_GROUP = 504, 1008  # rows of a group; a power of two would cause cache conflicts
_HAIR = 1e4  # tolerance of negative or asymmetric distances, in units of rounding error of the largest one
_MISSING = "is missing (NaN). This method needs all distances; stress minimization accepts missing ones"
_NEGATIVE = "is negative. Pass distances, which are positive or zero, not similarities or a kernel"
_NOT_CONNECTED = "is infinite: the points are not connected. Keep one connected component, or connect the components"
_NOT_SYMMETRIC = "differs from its transpose: the matrix is not symmetric (`Array must be symmetric`)."
_ONE_TRIANGLE = f"{_NOT_SYMMETRIC} Only one triangle is filled: fill the other (`D + D.T`)"
_ASYMMETRIC = (
    f"{_NOT_SYMMETRIC} Check that its rows are in the order of its columns. If the difference is noise, average it "
    "with its transpose (`(D + D.T) / 2`)"
)
_NONE = -1.0  # stands for an undefined distance while a matrix is computed
_TILE = 256  # rows and columns of a block that is compared with its transpose
SINGLE_ABOVE = 4096  # points; beyond, distances are kept in float32, whose rounding is negligible in the stress


@dataclass(frozen=True)
class DistancesTo:
    """The distances of a slab's rows to given points, (m, p); picklable, so that it can be sent to a worker.

    Rows and points may be sparse; the distances are dense.
    """

    points: Array  # (p, d), sparse or not
    metric: Metric = "euclidean"
    params: dict[str, Any] = field(default_factory=dict)
    unit: float = 1.0  # number that rows are divided by
    undefined: float = math.nan  # the distance of two rows that share no column

    @classmethod
    def of(cls, points: Array, metric: Metric, params: dict[str, Any] | None) -> Self:
        """Return it with what the metric estimates from the points, in a unit whose squares do not overflow."""
        params = params or {}
        if callable(metric):
            return cls(points, metric, params)
        named, unit = METRICS[metric], 1.0
        if is_sparse(points):  # estimates would need dense rows
            needed = {"seuclidean": "V", "mahalanobis": "VI"}.get(metric)
            if needed is not None and params.get(needed) is None:
                raise DataError(
                    f"The metric {metric!r} estimates {needed} from dense rows, but `X` is sparse. Make it dense if it "
                    f"fits in memory (`X.toarray()`), or pass {needed} as an argument of the metric."
                )
        elif named.power is not None and points.dtype != xp_of(points).float32:  # whose squares are in float64
            unit = unit_of(points)
        return cls(points, metric, params if named.learn is None else named.learn(points, **params), unit)

    def __call__(self, X: Array) -> Array:
        """Return the distances of one slab, in its precision; NaN for a row that is not finite, in every metric."""
        if is_sparse(X) or is_sparse(self.points):
            return self._of_sparse(X)
        xp = xp_of(X)
        D = self._measured(as_double(X), like(self.points, X, xp.float64))
        if self.undefined == self.undefined and allows_nan(self.metric):
            D = xp.where(xp.isnan(D), xp.full_like(D, self.undefined), D)
        if not all_finite(X):
            D = xp.where(xp.all(usable_values(X, self.metric), axis=1)[:, None], D, xp.full_like(D, float("nan")))
        return xp.astype(D, X.dtype, copy=False)

    def _of_sparse(self, X: Any) -> np.ndarray:
        X = X if is_sparse(X) else scipy.sparse.csr_array(to_numpy(X))
        D = np.full((X.shape[0], self.points.shape[0]), np.nan)
        finite = finite_rows(X)
        D[finite] = sparse_distances(X if finite.all() else X[finite], self.points, self.metric, self.params)
        return D.astype(X.dtype, copy=False)

    def _measured(self, A: Array, B: Array) -> Array:
        if callable(self.metric):
            return like(self._by_function(to_numpy(A), to_numpy(B)), A)
        named, c = METRICS[self.metric], self.unit
        if c == 1:
            return named.of(A, B, **self.params)
        D = named.of(A / c, B / c, **self.params)
        for _ in range(named.power or 0):
            D = D * c
        return D

    def _by_function(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """A function of two rows, pair by pair, (m, p)."""
        assert callable(self.metric)
        D = np.asarray([[distance_by(self.metric, a, b, self.params) for b in B] for a in A])
        least = -_ROUNDED * np.abs(D[np.isfinite(D)]).max(initial=0.0)
        if not (np.isfinite(D).all() and D.min(initial=0.0) >= least) and np.isfinite(A).all():
            i, j = np.argwhere(~(np.isfinite(D) & (least <= D)))[0]
            raise DataError(
                f"The metric {function_name(self.metric)} returned {D[i, j]} for the rows {_shown(A[i])} and "
                f"{_shown(B[j])}. This is negative or not finite (`All distances of the metric given must be "
                "positive`). A metric must return a finite number, at least zero, for any two rows."
            )
        return np.where(D < 0, 0.0, D)


def _shown(row: np.ndarray) -> str:
    few = ", ".join(f"{value:.4g}" for value in row[:4])
    return f"[{few}, …]" if len(row) > 4 else f"[{few}]"


def distance_matrix(
    X: Array, run: Run, metric: Metric = "euclidean", params: dict[str, Any] | None = None, *, single: bool = False,
    missing: bool = False,
) -> Array:  # fmt: skip
    """Return the distances of all pairs of rows, (n, n), in the precision of X; ``single``: kept in float32.

    With ``missing``, the distance of two rows that share no column is NaN; without, it is an error.
    """
    n, stored = X.shape[0], X.data if is_sparse(X) else X
    xp = xp_of(stored)
    D = xp.empty((n, n), dtype=xp.float32 if single else X.dtype, device=device_of(stored))
    slabs = in_slabs(ArrayRows(X), n)
    slabs.allow_nan = allows_nan(metric)
    measure = DistancesTo.of(X, metric, params)
    if slabs.allow_nan:
        measure = replace(measure, undefined=_NONE)

    def defined(part: Array, i: int, j: int) -> Array:
        """The distances of a block, the first those of rows i and j."""
        if slabs.allow_nan and bool(xp.any(part == _NONE)):
            pairs = np.argwhere(to_numpy(part == _NONE)) + np.array([i, j])
            apart = pairs[pairs[:, 0] != pairs[:, 1]]  # not a row without any value and itself
            if len(apart) and not missing:
                raise no_shared_column(*apart[0].tolist())
            part = xp.where(part == _NONE, xp.full_like(part, float("nan")), part)
        return xp.astype(part, D.dtype, copy=False)

    def fill(pair: tuple[slice, slice]) -> None:
        """Write the distances between two groups of rows, which serve both."""
        a, b = pair
        part = replace(measure, points=X[b])(X[a])
        if not all_finite(part):
            raise slabs.non_finite_error()
        D[a, b] = part = defined(part, a.start, b.start)
        if a != b:
            D[b, a] = part.T

    if isinstance(X, np.ndarray) and not callable(metric):
        groups = slices(n, min(_LARGEST_GROUP, max(_SMALLEST_GROUP, n // 20)))
        with blas_on_one_thread() if len(groups) > 1 else blas_threads_for(n * n * X.shape[1]):
            run.each("computing distances", list(combinations_with_replacement(groups, 2)), fill)
        return _with_zero_diagonal(D)
    if not on_accelerator(X):  # intermediate results need several such slabs
        slabs = SlicedRows(slabs, max(1, min(slabs.slab, _PORTION // n)))
    start = 0
    for part in run.map_rows(measure, slabs, name="computing distances"):
        D[start : start + part.shape[0], :] = defined(part, start, 0)
        start += part.shape[0]
    return D if callable(metric) else _with_zero_diagonal(D)


def _with_zero_diagonal(D: Array) -> Array:
    """Set the diagonal to zero, also where the metric is undefined: the cosine of a row of zeros."""
    if isinstance(D, np.ndarray):
        np.fill_diagonal(D, 0)
        return D
    return D.fill_diagonal_(0) if is_torch(D) else D * (1 - like(xp_of(D).eye(D.shape[0]), D))


# --- given matrices ---------------------------------------------------------------------------------------------------


def check_distances(D: Array, *, missing: bool = False, source: str = "The distance matrix") -> Array:
    """Return a distance matrix; raise an error with the entry where it is none. ``missing``: NaN is a missing distance.

    Rounding errors are corrected in a copy: entries that are negative, asymmetric or nonzero on the diagonal, but small
    relative to the largest distance.
    """
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        raise DataError(
            f"{source} is {' x '.join(map(str, D.shape))}. It must be square: a square distance matrix "
            "has one row and one column per point (`array must be 2-dimensional and square`). To compute distances "
            "from rows, choose a metric other than 'precomputed'."
        )
    if _plainly_distances(D):
        return D
    xp, n = xp_of(D), D.shape[0]
    largest = largest_of(D)
    hair, step = _HAIR * eps_of(D) * largest, slab_rows(n, 8)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        block, mirror = D[rows, :], D[:, rows].T

        def refuse(fault: Array, words: str, start: int = start, block: Array = block) -> None:
            if bool(xp.any(fault)):
                i, j = (int(place) for place in np.argwhere(to_numpy(fault))[0])
                where = f"row {start + i + 1}, column {j + 1}"
                raise DataError(f"{source} has {float(block[i, j]):g} in {where}, which {words}.")

        refuse(xp.isnan(block) & (not missing), _MISSING)
        refuse(xp.isinf(block), _NOT_CONNECTED)
        refuse(block < -hair, _NEGATIVE)
        unequal = xp.abs(block - mirror) > hair
        if missing:
            unequal = unequal | (xp.isnan(block) != xp.isnan(mirror))
        if bool(xp.any(unequal)):
            host = np.nan_to_num(to_numpy(D))
            refuse(unequal, _ASYMMETRIC if np.tril(host, -1).any() and np.triu(host, 1).any() else _ONE_TRIANGLE)
    diagonal = to_numpy(xp.linalg.diagonal(D))
    if np.any(np.abs(diagonal) > eps_of(D) ** 0.5 * largest):
        i = int(np.argmax(np.abs(diagonal)))
        raise DataError(
            f"{source} has {diagonal[i]:g} in row {i + 1}, column {i + 1}. The diagonal must be zero. If the other "
            "entries are distances, set it to zero (`np.fill_diagonal(D, 0)`)."
        )
    corrected = (D + D.T) / 2
    return _with_zero_diagonal(xp.where(corrected < 0, xp.zeros_like(corrected), corrected))


def _plainly_distances(D: Array) -> bool:
    """Whether D is finite, nonnegative, zero on its diagonal and exactly symmetric.

    Blocks are compared with their transposes while both are in the cache; a device is synchronized once, at the end.
    """
    xp = xp_of(D)
    n = D.shape[0]
    tile = _TILE if isinstance(D, np.ndarray) else 16 * _TILE  # other libraries have more overhead per call
    good = xp.all(xp.linalg.diagonal(D) == 0)
    borders = [(start, min(start + tile, n)) for start in range(0, n, tile)]
    for place, (a, b) in enumerate(borders):
        for c, d in borders[place:]:
            part, mirror = D[a:b, c:d], D[c:d, a:b].T
            good = good & xp.all((part == mirror) & (part >= 0) & (part < xp.inf))
            if isinstance(D, np.ndarray) and not good:
                return False
    return bool(good)


def check_new_distances(D: Array, *, missing: bool = False, columns: np.ndarray | None = None) -> Array:
    """Return checked distances of new points to fitted ones, (m, n); ``missing``: NaN is a missing distance.

    ``columns`` are the numbers of the fitted points (None: all). Rounding errors below zero are set to zero in a copy.
    """
    xp = xp_of(D)
    good = (D >= 0) & ~xp.isinf(D)
    if bool(xp.all(good | xp.isnan(D) if missing else good)):
        return D
    hair = _HAIR * eps_of(D) * largest_of(D)
    for fault, words in (
        (xp.isnan(D) & (not missing), _MISSING),
        (xp.isinf(D), "is infinite. Pass finite distances"),
        (D + hair < 0, _NEGATIVE),
    ):
        if bool(xp.any(fault)):
            i, j = (int(place) for place in np.argwhere(to_numpy(fault))[0])
            point = j if columns is None else int(columns[j])
            raise DataError(
                f"The distance of a new point to the fitted point {point} is {float(D[i, j]):g}, which {words}."
            )
    return xp.where(D < 0, xp.zeros_like(D), D)


def looks_like_distances(X: Array) -> bool:
    """Whether the rows are symmetric with a zero diagonal, as a distance matrix is."""
    n, d = X.shape
    if n != d or n < 3:
        return False
    A = to_numpy(X)
    return bool(np.all(np.diagonal(A) == 0) and np.array_equal(A, A.T))


# --- dissimilarities --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dissimilarities:
    """A symmetric dissimilarity matrix, the rows it was computed from, and the run to work on it."""

    D: Array  # (n, n), divided by ``unit``
    X: Array | None  # (n, d), None where the matrix was given
    run: Run
    matrix: Array  # (n, n) in the original unit
    unit: float = 1.0

    @property
    def result_dtype(self) -> Any:
        """The precision of results: that of the rows or of the matrix."""
        return self.matrix.dtype if self.X is None else self.X.dtype

    def in_unit(self, Z: Array) -> Array:
        """Return coordinates in the unit and the precision of the data."""
        return xp_of(Z).astype(Z if self.unit == 1 else Z * self.unit, self.result_dtype)

    def in_unit_of_distances(self, Z: Array) -> Array:
        """Return a configuration in the unit of D, on its device, in float64."""
        return like(Z, self.D, xp_of(self.D).float64) / self.unit


def dissimilarities(
    rows: Rows,
    run: Run,
    metric: Metric,
    params: dict[str, Any] | None,
    *,
    owner: str,
    missing: bool,
) -> Dissimilarities:
    """Return all dissimilarities.

    With ``missing``, NaN in a given matrix, and that of two rows which share no column, is a missing dissimilarity.
    """
    check_metric(metric, params)
    given = metric == "precomputed"
    if given and rows.n is not None and rows.n != rows.d:
        check_distances(np.empty((rows.n, rows.d)))  # raises the error of a wrong shape
    X = rows.to_array() if given else run.to_array(rows, owner)  # in a given matrix, NaN is allowed
    n = X.shape[0]
    single = X.dtype == xp_of(X).float32 or (n > SINGLE_ABOVE and not given and unit_of(X, single=True) == 1)
    local = Run()
    if given:
        D, kept_rows = check_distances(X, missing=missing), None
    else:
        kept_rows = own_array(rows, X)
        D = distance_matrix(kept_rows, local, metric, params, single=single, missing=missing)
        D = check_distances(D) if callable(metric) else D
    unit = unit_of(D)
    scaled = D if unit == 1 else D / unit
    return Dissimilarities(scaled, kept_rows, local, D, unit)
