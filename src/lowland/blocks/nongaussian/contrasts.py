"""Contrast functions of independent component analysis, and their sums over rows, which fold.

A contrast G measures how far a projection y = w'z of white rows is from normal, by E G(y). All the iterations need of
the rows are two expectations: E g(y)z' and E g'(y), with g = G'. Both are sums, so streams, threads and clusters need
no code of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np

from lowland.arrays.namespace import Array, like, xp_of
from lowland.arrays.precision import as_double
from lowland.blocks.spectra.operators import centered_product
from lowland.errors import ParameterError

_BLOCK = 24_000  # numbers worked at a time: what is made of them stays in the cache from product to product

_LONG_BLOCK = 2**15  # rows: a device wants many at a time


class Contrast(Protocol):
    """A contrast: takes projections (k, b), which it may overwrite; gives g of each, (k, b), and sums of g', (k,)."""

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        """Return g(Y) and the sum of g'(Y) along the rows of the table, which are the columns of Y."""
        ...


@dataclass(frozen=True)
class LogCosh:
    """G = log cosh(αy)/α, g = tanh(αy): the all-round contrast. α between 1 and 2."""

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
    """G = y⁴/4, g = y³: kurtosis; outliers rule it."""

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        """Return g and the sums of g' = 3y²."""
        squares = Y * Y
        return squares * Y, xp_of(Y).sum(squares, axis=1) * 3


@dataclass(frozen=True)
class Custom:
    """A function of the user's, as scikit-learn takes it: returns g(y), and g'(y) or its mean along the last axis."""

    function: Callable[..., Any]
    arguments: dict[str, Any] = field(default_factory=dict)

    def __call__(self, Y: Array) -> tuple[Array, Array]:
        """Return what the function says; one projection alone is passed as a vector."""
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
                f"derivative of shape {tuple(slopes.shape)}. Return g like x, and g' averaged along the last axis."
            )
        xp = xp_of(Y)
        sums = xp.sum(slopes, axis=-1) if slopes.shape == y.shape else slopes * Y.shape[1]
        return xp.reshape(g, Y.shape), xp.reshape(sums, (Y.shape[0],))


def as_contrast(contrast: Any, arguments: dict[str, Any] | None) -> Contrast:
    """Return the contrast of a name, "logcosh", "exp" or "cube", or of a function of the user's."""
    given = dict(arguments or {})
    if callable(contrast):
        return Custom(contrast, given)
    alpha = given.pop("alpha", 1.0)
    if given:
        raise ParameterError(f"The contrast {contrast!r} takes no {', '.join(map(repr, given))}.")
    if not isinstance(alpha, int | float | np.number) or not 1 <= float(alpha) <= 2:
        raise ParameterError("alpha must be in [1, 2].")
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
        """True: the rows are finite, they have been read before; who unmixes them looks at the contrast."""
        return True


@dataclass(frozen=True)
class Whiten:
    """The map x -> K(x − mean) to white rows; an object, so that it can travel to a worker."""

    K: Array  # (k, d)
    mean: Array  # (d,)
    single: bool = False  # whether the white rows are wanted in float32

    def __call__(self, X: Array) -> Array:
        """Return white rows, (m, k); in numpy column by column in memory, as the blocks of ``ContrastOf`` like them."""
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
    """The sums of a contrast over the projections y = Wz of one slab; an object, so that it can travel."""

    contrast: Contrast
    W: np.ndarray  # (j, k) float64
    whiten: Whiten | None = None  # where the rows are not white yet

    def __call__(self, X: Array) -> ContrastSums:
        """Return the statistic of one slab, to be folded."""
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
    """How many rows of k columns make a block."""
    return max(64, _BLOCK // k)


def in_blocks(Z: Array) -> list[Array]:
    """Blocks of rows, each turned to (k, b): for numpy such as fit the cache, for others such as float32 can sum."""
    step = block_rows(Z.shape[1]) if isinstance(Z, np.ndarray) else _LONG_BLOCK
    return [Z[start : min(start + step, Z.shape[0]), :].T for start in range(0, Z.shape[0], step)]
