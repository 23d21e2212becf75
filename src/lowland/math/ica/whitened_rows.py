"""Whitened rows, and the expectations over them that independent component analysis needs.

A contrast G measures the deviation of a projection y = w'z from a Gaussian, by E G(y). The iterations need only
E g(y)z' and E g'(y), g = G': both are sums, so streams, threads and clusters need no code of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from lowland.arrays.linalg import work_space
from lowland.arrays.namespace import Array, as_double, like, rounding_of, to_numpy, xp_of
from lowland.data.rows import ArrayRows, DaskRows, Rows, sliced
from lowland.errors import DataError, ParameterError
from lowland.math.spectra.component_rules import ComponentChoice, Fixed
from lowland.math.spectra.operators import centered_product
from lowland.math.spectra.principal_axes import Axes, principal_axes
from lowland.math.statistics.moments import Moments, Sums
from lowland.run.run import Run

_BLOCK = 2**16  # numbers per block of rows that are whitened: they stay in the cache from one step to the next
_LONG_BLOCK = 2**15  # rows per block on a device
_SLAB = 2**19  # numbers in a slab of whitened rows, one block: threads meet between the steps of a block


class Contrast(Protocol):
    """A contrast: maps projections (k, b), which it may overwrite, to g, (k, b), and the sums of g', (k,)."""

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        """Return g(Y) and the sum of g'(Y) along the rows of the table, which are the columns of Y."""
        ...


@dataclass(frozen=True)
class LogCosh:
    """G = log cosh(αy)/α, g = tanh(αy): the general-purpose contrast. α between 1 and 2."""

    alpha: float = 1.0

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        """Return g and the sums of g' = α(1 − g²)."""
        b = Y.shape[1]
        if isinstance(Y, np.ndarray):
            if self.alpha != 1:
                Y *= self.alpha
            g = np.tanh(Y, out=Y)
            return g, self.alpha * (b - np.vecdot(g, g))
        xp = xp_of(Y)
        g = xp.tanh(Y * self.alpha)
        return g, (b - xp.sum(g * g, axis=1)) * self.alpha


@dataclass(frozen=True)
class Exponential:
    """G = −exp(−y²/2), g = y exp(−y²/2): robust, for sources with very heavy tails."""

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        """Return g and the sums of g' = (1 − y²) exp(−y²/2)."""
        xp = xp_of(Y)
        squares = Y * Y
        bell = xp.exp(squares / -2)
        return Y * bell, xp.sum((1 - squares) * bell, axis=1)


@dataclass(frozen=True)
class Cube:
    """G = y⁴/4, g = y³: kurtosis; sensitive to outliers."""

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        """Return g and the sums of g' = 3y²."""
        squares = Y * Y
        return squares * Y, xp_of(Y).sum(squares, axis=1) * 3


@dataclass(frozen=True)
class Custom:
    """A user's function, as in scikit-learn: returns g(y), and g'(y) or its mean along the last axis."""

    function: Callable[..., Any]
    arguments: dict[str, Any] = field(default_factory=dict)

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        """Evaluate the function; a single projection is passed as a vector."""
        y = Y[0, :] if Y.shape[0] == 1 else Y
        answer = self.function(y, **self.arguments)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise ParameterError(
                "fun: the function must return two values, g(x) and its derivative averaged along the last axis."
            )
        g, slopes = like(answer[0], Y), like(answer[1], Y)
        if g.shape != y.shape or slopes.shape not in (y.shape, y.shape[:-1]):
            raise ParameterError(
                f"fun: for x of shape {tuple(y.shape)} the function returned g of shape {tuple(g.shape)} and a "
                f"derivative of shape {tuple(slopes.shape)}. Return g of "
                "this shape, and g' averaged along the last axis."
            )
        xp = xp_of(Y)
        sums = xp.sum(slopes, axis=-1) if slopes.shape == y.shape else slopes * Y.shape[1]
        return xp.reshape(g, Y.shape), xp.reshape(sums, (Y.shape[0],))


def as_contrast(contrast: Any, arguments: dict[str, Any] | None) -> Contrast:
    """Return the contrast of a name, "logcosh", "exp" or "cube", or of a user's function."""
    given = dict(arguments or {})
    if callable(contrast):
        return Custom(contrast, given)
    alpha = given.pop("alpha", 1.0)
    if given:
        raise ParameterError(f"The contrast {contrast!r} takes no argument {', '.join(map(repr, given))}.")
    if not isinstance(alpha, int | float | np.number) or not 1 <= float(alpha) <= 2:
        raise ParameterError("`alpha` must be in [1,2].")
    known: dict[str, Contrast] = {"logcosh": LogCosh(float(alpha)), "exp": Exponential(), "cube": Cube()}
    return known[contrast]


@dataclass(frozen=True)
class ContrastSums(Sums):
    """Sums over rows of g(y)z' and g'(y), in float64. Parts of it add up."""

    n: int
    cross: Array  # (j, k)
    slopes: Array  # (j,)


@dataclass(frozen=True)
class Whiten:
    """The map x -> K(x − mean) to whitened rows; picklable, so that it can be sent to a worker."""

    K: Array  # (k, d)
    mean: Array  # (d,)

    def __call__(self, X: Array) -> Array:
        """Return whitened rows, (m, k); in numpy in column order, which suits the blocks of ``contrast_sums``."""
        if not isinstance(X, np.ndarray):
            return centered_product(X, self.mean, like(self.K, X).T)
        Z = np.empty((X.shape[0], self.K.shape[0]), dtype=X.dtype, order="F")
        A = like(self.K, X).T
        step = max(64, _BLOCK // X.shape[1])
        for start in range(0, len(X), step):
            Z[start : start + step] = centered_product(X[start : start + step], self.mean, A)
        return Z


def contrast_sums(contrast: Contrast, W: np.ndarray, whiten: Whiten | None, X: Array) -> ContrastSums:
    """Return the sums of a contrast over the projections y = Wz of one slab; W is (j, k).

    ``whiten`` is for rows that are not whitened yet.
    """
    Z = X if whiten is None else whiten(X)  # (m, k)
    W = like(W, Z)

    cross: Any = 0.0
    slopes: Any = 0.0
    for z in in_blocks(Z):
        Y = np.matmul(W, z, out=work_space(len(W), z.shape[1], z.dtype)) if isinstance(z, np.ndarray) else W @ z
        g, slope = contrast(Y)
        cross, slopes = cross + as_double(g @ z.T), slopes + as_double(slope)
    return ContrastSums(Z.shape[0], cross, slopes)


def _slab_rows(k: int) -> int:
    return max(64, _SLAB // k)


def in_blocks(Z: Array) -> list[Array]:
    """Return blocks of rows, each transposed to (k, b): for numpy a slab, for others as float32 can sum."""
    step = _slab_rows(Z.shape[1]) if isinstance(Z, np.ndarray) else _LONG_BLOCK
    return [Z[start : min(start + step, Z.shape[0]), :].T for start in range(0, Z.shape[0], step)]


# --- whitened rows, kept in memory where they fit ---------------------------------------------------------------------


@dataclass(frozen=True)
class WhiteRows:
    """Whitened rows: kept in memory, or whitened whenever they are read."""

    rows: Rows
    run: Run
    whiten: Whiten | None = None

    def expect(self, contrast: Contrast, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return E g(y)z', (j, k), and E g'(y), (j,), over the rows, on the CPU."""
        sums = self.run.fold(self.rows, partial(contrast_sums, contrast, W, self.whiten), name="summing contrasts")
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
    mean: Array  # (d,) float64, on the device of the rows
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
    """Return the rows along their k principal axes at unit variance, at most (None: exactly) as many as their rank.

    Squaring loses precision of small eigenvalues, all of it where columns are in very different units. ``exact`` then
    factors the rows instead and, where all axes are requested, standardizes the columns first: both give the same
    whitened rows up to a rotation, and the rotation is what is searched for.
    """
    k = k if k is None or rows.n is None else min(k, rows.n, rows.d)
    axes = principal_axes(rows, run, Fixed(k), solver="auto")
    values, rank = _spectrum(axes, rows)
    most = min(rows.d, axes.columns.rows - 1)
    if exact and rank and 3 * 8 * rows.d**2 < run.budget:
        least = math.sqrt(np.finfo(rows.dtype).eps) / 10 * float(values[0])  # below, squaring has lost the precision
        if rank < min(most, len(values)) or float(values[rank - 1]) < least:
            axes = principal_axes(rows, run, Fixed(k), solver="full", scale=k in (None, rows.d))
            values, rank = _spectrum(axes, rows)
    if rank == 0:
        raise DataError("All columns are constant, so there are no sources to separate. Check the data.")
    if rank in (k, rows.d):
        reason = "as requested" if rank == k else "the rank of the data"
    elif rank == most < rows.d:
        reason = f"{most + 1} rows span at most {most} dimensions after centering"
    else:
        reason = (
            f"the {rows.d} columns have rank {rank} (some are constant, linear combinations of others, or in much "
            "smaller units than the largest)"
        )
    n, mean, scale = axes.columns.rows, axes.columns.mean, axes.columns.scale
    scales = np.ones(rows.d) if scale is None else to_numpy(scale)
    roots = np.sqrt(values[:rank] * ((n - 1) / n))
    U = to_numpy(axes.pairs.vectors)[:, :rank]
    K, inverse = U.T / roots[:, None] / scales[None, :], scales[:, None] * U * roots[None, :]
    white, choice = _whiten_once(rows, run, Whiten(K, mean), n), ComponentChoice(rank, str(k), reason)
    return WhitenedRows(white, K, inverse, mean, n, choice)


def _spectrum(axes: Axes, rows: Rows) -> tuple[np.ndarray, int]:
    """The requested eigenvalues (a factor gives them all), and how many of them exceed rounding error."""
    values = to_numpy(axes.pairs.values)[: axes.choice.n_components]
    least = rounding_of(rows.dtype) * values[0]
    return values, int(np.sum(values > least)) if values[0] > 0 else 0


def already_white(rows: Rows, run: Run) -> WhitenedRows:
    """Use the rows as they are, after one pass that checks for NaN and computes their covariance."""
    moments = run.fold(rows, Moments.of, name="summing moments")
    d, n = rows.d, moments.rows
    covariance = to_numpy(moments.covariance) * ((n - 1) / n)
    white, choice = WhiteRows(_in_slabs(rows), run), ComponentChoice(d, "None", "all columns")
    return WhitenedRows(white, np.eye(d), np.eye(d), moments.mean, n, choice, covariance)


def _whiten_once(rows: Rows, run: Run, whiten: Whiten, n: int) -> WhiteRows:
    """Return whitened rows in memory, where they fit the budget; otherwise they are whitened in each pass."""
    k = whiten.K.shape[0]
    if isinstance(rows, DaskRows) or 3 * n * k * rows.dtype.itemsize > run.budget:
        return WhiteRows(rows, run, whiten)
    slabs = _in_slabs(rows)
    Z = run.gather(whiten, slabs, k, name="whitening rows")
    return WhiteRows(_in_slabs(ArrayRows(Z, source=rows.source)), run)


def _in_slabs(rows: Rows) -> Rows:
    """Return rows in memory in slabs small enough for many threads."""
    return sliced(rows, _slab_rows(rows.d)) if isinstance(rows, ArrayRows) and isinstance(rows.X, np.ndarray) else rows
