"""Whitened rows: principal axes at unit variance; kept in memory where they fit, else whitened in each pass."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from lowland.arrays.namespace import Array, to_numpy, xp_of
from lowland.arrays.precision import rounding_of
from lowland.data.rows import ArrayRows, DaskRows, Rows
from lowland.errors import DataError
from lowland.math.ica.contrasts import Contrast, ContrastOf, Whiten, block_rows
from lowland.math.spectra.component_rules import ComponentChoice, Fixed
from lowland.math.spectra.principal_axes import Axes, principal_axes
from lowland.math.statistics.moments import Moments
from lowland.run.run import Run

_LARGE = 2**20  # whitened numbers from which on the search begins in float32
_SLAB = 2**18  # numbers in a slab of whitened rows: enough for the overhead of a thread, few enough for many threads


@dataclass(frozen=True)
class WhiteRows:
    """Whitened rows: kept in memory, or whitened whenever they are read."""

    rows: Rows
    run: Run
    whiten: Whiten | None = None
    single: WhiteRows | None = None  # the same in float32, for large data

    def expect(self, contrast: Contrast, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return E g(y)z', (j, k), and E g'(y), (j,), over the rows, on the CPU."""
        sums = self.run.fold(self.rows, ContrastOf(contrast, W, self.whiten), name="summing contrasts")
        cross, slopes = to_numpy(sums.cross) / sums.n, to_numpy(sums.slopes) / sums.n
        if not (np.isfinite(cross).all() and np.isfinite(slopes).all()):
            raise DataError(f"The contrast {contrast!r} is not finite on these rows: it returned NaN or infinity.")
        return cross, slopes


@dataclass(frozen=True)
class WhitenedRows:
    """White rows z = K(x − mean), of unit variance with divisor n; x = mean + inverse z on their span."""

    white: WhiteRows
    K: np.ndarray  # (k, d) float64 on the CPU, as all of these but the mean
    inverse: np.ndarray  # (d, k)
    mean: Array  # (d,) float64, beside the rows
    n: int
    choice: ComponentChoice  # how many components, and why
    covariance: np.ndarray | None = None  # (k, k) with divisor n, where the rows were assumed to be white

    @property
    def k(self) -> int:
        """Number of components."""
        return self.K.shape[0]

    @property
    def sample(self) -> Array:
        """An array in the library and on the device of the results."""
        return self.mean

    def standardized(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return B and a shift for which Bz + shift are the projections Wz at mean 0 and variance 1."""
        if self.covariance is None:
            return W, None
        deviations = np.sqrt(np.sum((W @ self.covariance) * W, axis=1))
        B = W / np.where(deviations > 0, deviations, 1.0)[:, None]
        return B, -B @ to_numpy(self.mean)


def whitened(rows: Rows, run: Run, k: int | None, *, exact: bool) -> WhitenedRows:
    """Return the rows along their k principal axes at unit variance, at most as many as their rank; None: that many.

    Squaring loses precision of small eigenvalues, all of it where columns are in very different units. ``exact`` then
    factors the rows instead and, where all axes are requested, standardizes the columns first: both give the same
    whitened rows up to a rotation, and the rotation is what is searched for.
    """
    k = k if k is None or rows.n is None else min(k, rows.n, rows.d)
    axes = principal_axes(rows, run, Fixed(k), solver="auto")
    values, rank = _spectrum(axes, rows)
    most = min(rows.d, axes.columns.rows - 1)
    if exact and rank and _digits_lost(values[:rank], rank < min(most, len(values)), rows) and _factor_fits(rows, run):
        axes = principal_axes(rows, run, Fixed(k), solver="full", scale=k in (None, rows.d))
        values, rank = _spectrum(axes, rows)
    if rank == 0:
        raise DataError("All columns are constant, so there are no sources to separate. Check the data.")
    reason = "as requested" if rank == k else "the rank of the data" if rank == rows.d else _why_fewer(rank, most, rows)
    n, mean, scale = axes.columns.rows, axes.columns.mean, axes.columns.scale
    scales = np.ones(rows.d) if scale is None else to_numpy(scale)
    roots = np.sqrt(values[:rank] * ((n - 1) / n))
    U = to_numpy(axes.pairs.vectors)[:, :rank]
    K, inverse = U.T / roots[:, None] / scales[None, :], scales[:, None] * U * roots[None, :]
    return WhitenedRows(
        _whitened_once(rows, run, Whiten(K, mean), n), K, inverse, mean, n, ComponentChoice(rank, str(k), reason)
    )


def _spectrum(axes: Axes, rows: Rows) -> tuple[np.ndarray, int]:
    """The requested eigenvalues (a factor gives them all), and how many of them exceed rounding error."""
    values = to_numpy(axes.pairs.values)[: axes.choice.n_components]
    least = rounding_of(rows.dtype) * values[0]
    return values, int(np.sum(values > least)) if values[0] > 0 else 0


def _digits_lost(values: np.ndarray, dropped: bool, rows: Rows) -> bool:
    """Whether an eigenvalue is so small relative to the first that squaring the rows has lost its precision."""
    return dropped or float(values[-1]) < math.sqrt(np.finfo(rows.dtype).eps) / 10 * float(values[0])


def _factor_fits(rows: Rows, run: Run) -> bool:
    return 3 * 8 * rows.d**2 < run.budget


def _why_fewer(rank: int, most: int, rows: Rows) -> str:
    if rank == most < rows.d:
        return f"{most + 1} rows span at most {most} dimensions after centering"
    return (
        f"the {rows.d} columns have rank {rank} (some are constant, linear combinations of others, or in much smaller "
        "units than the largest)"
    )


def already_white(rows: Rows, run: Run) -> WhitenedRows:
    """Use the rows as they are, after one pass that checks for NaN and computes their covariance."""
    moments = run.fold(rows, Moments.of, name="summing moments")
    d, n = rows.d, moments.rows
    covariance = to_numpy(moments.covariance) * ((n - 1) / n)
    return WhitenedRows(
        WhiteRows(_sliced(rows), run),
        np.eye(d),
        np.eye(d),
        moments.mean,
        n,
        ComponentChoice(d, "None", "all columns"),
        covariance,
    )


def _whitened_once(rows: Rows, run: Run, whiten: Whiten, n: int) -> WhiteRows:
    """Return whitened rows in memory, where they fit the budget; otherwise they are whitened in each pass."""
    k = whiten.K.shape[0]
    large = n * k >= _LARGE and rows.dtype == np.float64
    if isinstance(rows, DaskRows) or 3 * n * k * rows.dtype.itemsize > run.budget:
        return WhiteRows(rows, run, whiten, WhiteRows(rows, run, replace(whiten, single=True)) if large else None)
    Z = run.gather(whiten, _sliced(rows), k, name="whitening rows")
    xp = xp_of(Z)
    single = WhiteRows(_sliced(ArrayRows(xp.astype(Z, xp.float32))), run) if large else None
    return WhiteRows(_sliced(ArrayRows(Z, source=rows.source)), run, single=single)


def _sliced(rows: Rows) -> Rows:
    """Return rows in memory in slabs small enough for many threads."""
    if isinstance(rows, ArrayRows) and isinstance(rows.X, np.ndarray):
        most = max(block_rows(rows.d), _SLAB // rows.d)
        return ArrayRows(rows.X, rows.names, rows.source, rows.in_memory, most)
    return rows
