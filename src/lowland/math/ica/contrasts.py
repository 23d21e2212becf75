"""Contrast functions of independent component analysis, and their sums over rows.

A contrast G measures the deviation of a projection y = w'z of whitened rows from a Gaussian, by E G(y). The iterations
need only two expectations over the rows: E g(y)z' and E g'(y), with g = G'. Both are sums, so streams, threads and
clusters need no code of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from lowland.arrays.namespace import Array, like, xp_of
from lowland.arrays.precision import as_double
from lowland.errors import ParameterError
from lowland.math.spectra.operators import centered_product

_BLOCK = 24_000  # numbers per block: they stay in the cache from one product to the next

_LONG_BLOCK = 2**15  # rows per block on a device


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
            return g, self.alpha * (b - np.einsum("ij,ij->i", g, g))
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
        raise ParameterError("`alpha` must be in [1, 2].")
    known: dict[str, Contrast] = {"logcosh": LogCosh(float(alpha)), "exp": Exponential(), "cube": Cube()}
    return known[contrast]


@dataclass(frozen=True)
class ContrastSums:
    """Sums over rows of g(y)z' and g'(y), in float64. Parts of it add up."""

    n: int
    cross: Array  # (j, k)
    slopes: Array  # (j,)

    def __add__(self, other: Self) -> Self:
        """Merge two parts."""
        return type(self)(self.n + other.n, self.cross + other.cross, self.slopes + other.slopes)

    def is_finite(self) -> bool:
        """True: the rows have been checked before, and ``WhiteRows.expect`` checks the contrast."""
        return True


@dataclass(frozen=True)
class Whiten:
    """The map x -> K(x − mean) to whitened rows; picklable, so that it can be sent to a worker."""

    K: Array  # (k, d)
    mean: Array  # (d,)
    single: bool = False  # whether to return float32

    def __call__(self, X: Array) -> Array:
        """Return whitened rows, (m, k); in numpy in column order, which suits the blocks of ``ContrastOf``."""
        xp = xp_of(X)
        kind = xp.float32 if self.single else X.dtype
        if not isinstance(X, np.ndarray):
            return xp.astype(centered_product(X, self.mean, like(self.K, X).T), kind)
        Z = np.empty((X.shape[0], self.K.shape[0]), dtype=kind, order="F")
        A = like(self.K, X).T
        step = block_rows(X.shape[1])
        for start in range(0, len(X), step):
            Z[start : start + step] = centered_product(X[start : start + step], self.mean, A)
        return Z


@dataclass(frozen=True)
class ContrastOf:
    """The sums of a contrast over the projections y = Wz of one slab; picklable."""

    contrast: Contrast
    W: np.ndarray  # (j, k) float64
    whiten: Whiten | None = None  # for rows that are not whitened yet

    def __call__(self, X: Array) -> ContrastSums:
        """Return the statistic of one slab."""
        Z = X if self.whiten is None else self.whiten(X)  # (m, k)
        W = like(self.W, Z)
        total: ContrastSums | None = None
        for z in in_blocks(Z):
            g, slopes = self.contrast(W @ z)
            part = ContrastSums(z.shape[1], as_double(g @ z.T), as_double(slopes))
            total = part if total is None else total + part
        assert total is not None
        return total


def block_rows(k: int) -> int:
    """Return the number of rows of k columns in a block."""
    return max(64, _BLOCK // k)


def in_blocks(Z: Array) -> list[Array]:
    """Return blocks of rows, each transposed to (k, b): for numpy as fit the cache, for others as float32 can sum."""
    step = block_rows(Z.shape[1]) if isinstance(Z, np.ndarray) else _LONG_BLOCK
    return [Z[start : min(start + step, Z.shape[0]), :].T for start in range(0, Z.shape[0], step)]
