"""Distances between the columns of rows.

They follow from the moments of the rows, |x_i - x_j|² = S_ii + S_jj - 2 S_ij + n (μ_i - μ_j)², which one pass computes;
cosines and correlations likewise. Where columns are so close that this difference suffers from cancellation, a second
pass sums the squared differences of these pairs directly; 1 - r = |u - v|²/2 for standardized columns u and v. Columns
whose squares underflow are multiplied by a power of two and summed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.math.distances.metrics import METRICS
from lowland.math.distances.to_points import check_distances, distance_matrix
from lowland.math.statistics.moments import Moments, Total
from lowland.run.local import LocalRun
from lowland.run.run import Run

EUCLIDEAN = ("euclidean", "l2")
_MANHATTAN = ("manhattan", "l1", "cityblock")
_CORRELATIONS = ("correlation", "absolute-correlation")
METRIC_NAMES = (*METRICS, "absolute-correlation", "precomputed")
_ROUNDING = 4 * float(np.finfo(np.float64).eps)
_SAME = (4 * _ROUNDING) ** 2  # squared distance of two directions that differ by rounding only
_LOST = 1e-9  # relative error of a squared distance above which it is recomputed from differences
_BLOCK = 1 << 18  # differences in memory at a time
_TINY, _RAISED = 1e-200, 2.0**700  # sum of squares that may have underflowed, and the factor that prevents it


def moments_in_double(X: Array, times: np.ndarray | None = None) -> Moments:
    """Return the moments of a chunk, computed in float64 throughout, because distances are differences of them.

    ``times`` are powers of two, (d,), by which the columns are multiplied.
    """
    Y = as_double(X)
    return Moments.of(Y if times is None else Y * like(times, Y)[None, :])


def squares_of_pairs(
    X: Array, first: np.ndarray, second: np.ndarray, signs: np.ndarray | None = None, shift: np.ndarray | None = None,
    times: np.ndarray | None = None,
) -> Total:  # fmt: skip
    """Return the summed squared differences of pairs of columns, (p,), of which the second may change its sign.

    Columns are shifted and multiplied before, by ``shift`` and ``times``, (d,).
    """
    Y = as_double(X).T  # (d, m)
    xp = xp_of(Y)
    Y = Y if shift is None else Y - like(shift, Y)[:, None]
    Y = Y if times is None else Y * like(times, Y)[:, None]
    if isinstance(Y, np.ndarray):
        Y = np.ascontiguousarray(Y)  # once: numpy would copy all of it whenever columns are taken
    step, parts = max(1, _BLOCK // max(1, X.shape[0])), []
    for start in range(0, len(first), step):
        i, j = (like(part[start : start + step], Y, xp.int64) for part in (first, second))
        V = xp.take(Y, j, axis=0)
        V = V if signs is None else V * like(signs[start : start + step], Y)[:, None]
        E = xp.take(Y, i, axis=0) - V
        parts.append(xp.linalg.vecdot(E, E))
    return Total(xp.concat(parts))


@dataclass(frozen=True)
class CountedTotal(Total):
    """A sum over rows, and the number of rows."""

    rows: int = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(as_double(self.value) + as_double(other.value), self.rows + other.rows)


def absolute_differences(X: Array) -> CountedTotal:
    """Return the summed absolute differences of all pairs of columns, (d, d)."""
    Y = as_double(X).T
    return CountedTotal(METRICS["manhattan"].of(Y, Y), X.shape[0])


def column_distances(rows: Rows, run: Run, metric: Any, *, as_euclidean: bool = False) -> tuple[np.ndarray, int]:
    """Return the distances of all pairs of columns, (d, d) float64, on the host, and the number of rows.

    ``as_euclidean``: for correlations, the Euclidean distance √(2 - 2r) of the standardized columns instead of 1 - r,
    as Ward's linkage needs it.
    """
    d = rows.d
    run.require(32 * d * d, f"The distance matrix of all pairs of {d} columns", "Use fewer columns")
    if metric in EUCLIDEAN:
        return euclidean_distances(rows, run)
    if metric in (*_CORRELATIONS, "cosine"):
        D, n = _cosine_distances(rows, run, metric)
        return np.sqrt(2 * D) if as_euclidean else D, n
    if metric in _MANHATTAN:
        found: CountedTotal = run.fold(rows, absolute_differences, name="comparing columns")
        return np.array(to_numpy(found.value)), found.rows
    why = "A precomputed distance matrix" if metric == "precomputed" else f"The metric {metric!r} between columns"
    X = np.asarray(to_numpy(run.to_array(rows, why)), dtype=np.float64)
    if metric == "precomputed":
        return np.array(check_distances(X)), len(X)
    if callable(metric):  # a function of all columns, called as in scikit-learn
        D = np.asarray(metric(X.T), dtype=np.float64)
        if D.shape != (d, d):
            raise ParameterError(
                f"The metric function returned an array of shape {D.shape}. It receives all columns, an array of shape "
                f"{X.T.shape}, and must return their distances, of shape ({d}, {d})."
            )
        return np.array(check_distances(D, source="The matrix returned by the metric function")), len(X)
    return distance_matrix(np.ascontiguousarray(X.T), LocalRun(run.settings), metric), len(X)


def euclidean_distances(rows: Rows, run: Run) -> tuple[np.ndarray, int]:
    """Return the Euclidean distances of all pairs of columns, (d, d), and the number of rows."""
    moments, times = _moments(rows, run, alike=True)
    S, mean = to_numpy(moments.scatter), to_numpy(moments.mean)
    squares, d = S.diagonal().copy(), rows.d
    D = -2 * S
    D += squares[:, None]
    D += squares[None, :]
    first, second, step = [], [], max(1, _BLOCK // d)
    for start in range(0, d, step):  # a few rows at a time: temporaries would need several such matrices
        some = slice(start, start + step)
        apart = np.abs(mean[some, None] - mean)
        D[some] += moments.n * apart**2
        lost = squares[some, None] + squares + 2 * moments.n * apart * (np.abs(mean[some, None]) + np.abs(mean))
        i, j = np.nonzero(_LOST * D[some] <= _ROUNDING * lost)
        once = j > i + start
        first.append(i[once] + start)
        second.append(j[once])
    i, j = np.concatenate(first), np.concatenate(second)
    if len(i):
        squares_of = partial(squares_of_pairs, first=i, second=j, times=times)
        D[i, j] = D[j, i] = to_numpy(run.fold(rows, squares_of, name="comparing near columns").value)
    np.fill_diagonal(D, 0)
    np.sqrt(D, out=D)
    return D if times is None else D / times, moments.rows


def _moments(rows: Rows, run: Run, *, alike: bool) -> tuple[Moments, np.ndarray | None]:
    """The moments, and the factors of the columns, (d,), where the squares of some would underflow; otherwise None.

    ``alike``: the same factor for all columns.
    """
    moments: Moments = run.fold(rows, moments_in_double, name="summing moments")
    mean, squares = to_numpy(moments.mean), to_numpy(moments.scatter).diagonal()
    with np.errstate(over="ignore"):  # an overflow is not tiny
        lengths = squares + moments.n * mean**2
    tiny = (lengths < _TINY) & ((mean != 0) | (lengths > 0))  # a column of zeros needs no factor
    if alike:
        tiny[:] = tiny.any() and lengths.max() < _TINY
    if not tiny.any():
        return moments, None
    times = np.where(tiny, _RAISED, 1.0)
    return run.fold(rows, partial(moments_in_double, times=times), name="summing moments"), times


def _cosine_distances(rows: Rows, run: Run, metric: str) -> tuple[np.ndarray, int]:
    """1 minus the cosines of all pairs of columns, or their correlations (centered columns); and the number of rows."""
    moments, times = _moments(rows, run, alike=False)
    mean, names = to_numpy(moments.mean), [rows.column_name(j) for j in range(rows.d)]
    if metric == "cosine":
        G = to_numpy(moments.uncentered)
        zero = G.diagonal() == 0
        if zero.any():
            raise DataError(
                f"Column {_listed(names, zero)} is zero in every row, so its cosine is undefined (cosine affinity "
                "cannot be used with zero vectors). Drop it, or choose another metric."
            )
    else:
        G, zero = to_numpy(moments.scatter), to_numpy(moments.variances) == 0
        if zero.any():
            warn(
                f"Column {_listed(names, zero)} is constant, so its correlation is undefined; it is set to 0. Drop "
                "constant columns.",
                DataWarning,
            )
    lengths = np.sqrt(np.where(zero, 1.0, G.diagonal()))
    R = G / lengths[:, None]
    R /= lengths[None, :]
    R[zero, :] = R[:, zero] = 0
    D = 1 - (np.abs(R) if metric == "absolute-correlation" else R)
    i, j = np.nonzero(np.triu(D <= _ROUNDING / _LOST, 1))
    if len(i):
        by = np.ones(rows.d) if times is None else times
        shift = None if metric == "cosine" else mean / by
        signs = np.sign(R[i, j])
        squares_of = partial(squares_of_pairs, first=i, second=j, signs=signs, shift=shift, times=by / lengths)
        found = np.array(to_numpy(run.fold(rows, squares_of, name="comparing near columns").value))
        off = 1 + moments.n * (mean / lengths) ** 2  # rounding of the mean matters where it is far from 0
        found[found <= _SAME * (off[i] + off[j])] = 0
        D[i, j] = D[j, i] = found / 2
    np.fill_diagonal(D, 0)
    return D, moments.rows


def _listed(names: list[str], which: np.ndarray) -> str:
    some = [names[j] for j in np.flatnonzero(which)]
    return ", ".join(some[:5]) + (f" and {len(some) - 5} more" if len(some) > 5 else "")
