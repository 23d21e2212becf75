"""Linear autoencoders: what a decoder D and an encoder F' lose, and how the loss falls.

With S the covariance of the rows (divisor n), mean |y - D F'y|² over the centered rows y is
tr S - 2 tr D'SF + tr (D'D)(F'SF). The rows enter through products with S alone, so S may be a matrix, or the rows of
one batch, Y'Y/m, never multiplied out. The three kinds differ in what is learnt; all of it lies side by side in one
array θ of d rows, so that a descent need not know which kind it learns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from lowland.arrays.linalg import orthonormal
from lowland.arrays.namespace import Array, is_sparse, like, xp_of
from lowland.arrays.precision import as_double
from lowland.arrays.random import standard_normal
from lowland.data.rows import Rows, slab_rows
from lowland.run.run import Run

Kind = Literal["tied", "untied", "free"]


class Pair(NamedTuple):
    """A decoder D and an encoder F', kept by its columns."""

    D: Array  # (d, k)
    F: Array  # (d, k)


class Tied:
    """θ = C: the decoder is C and the encoder C'. Nothing asks for C'C = I, yet the optimum has it."""

    curvature: ClassVar[float] = 8.0  # the largest of the loss at its minimum, as a multiple of S's first eigenvalue

    def start(self, k: int, S: Array, largest: float, rng: np.random.Generator) -> Array:
        """Return random columns, of length about one but not orthonormal."""
        return _random_columns(k, S, rng)

    def pair(self, theta: Array) -> Pair:
        """Return decoder and encoder."""
        return Pair(theta, theta)

    def gradient(self, theta: Array, S: Any) -> Array:
        """-2 (RS + SR) C with R = I - CC'."""
        C, SC = theta, S @ theta
        return -2 * (2 * SC - C @ (C.T @ SC) - SC @ (C.T @ C))


class Untied:
    """θ = [D, F]: decoder and encoder are free of each other. The span is determined, a basis of it is not."""

    curvature: ClassVar[float] = 8.0

    def start(self, k: int, S: Array, largest: float, rng: np.random.Generator) -> Array:
        """Return a random decoder, and an encoder that reads each direction by its share of the variance.

        The loss hardly feels what the encoder reads where rows hardly vary, so descent would leave it there as it came.
        """
        D = _random_columns(k, S, rng)
        return xp_of(S).concat([D, S @ D / largest], axis=1)

    def pair(self, theta: Array) -> Pair:
        """Return decoder and encoder."""
        k = theta.shape[1] // 2
        return Pair(theta[:, :k], theta[:, k:])

    def gradient(self, theta: Array, S: Any) -> Array:
        """With respect to D: -2 (I - DF') S F; with respect to F: -2 S (I - FD') D."""
        D, F = self.pair(theta)
        SD, SF = self.pair(S @ theta)
        return -2 * xp_of(theta).concat([SF - D @ (F.T @ SF), SD - SF @ (D.T @ D)], axis=1)


class Free:
    """θ = C: every row has a code w of its own, the best for this C: w = (C'C)⁻¹C'y, a least-squares problem each.

    At the best codes the loss has the same gradient in C as if they were held fixed.
    """

    curvature: ClassVar[float] = 2.0

    def start(self, k: int, S: Array, largest: float, rng: np.random.Generator) -> Array:
        """Return random orthonormal columns: C'C then only grows, since the gradient is orthogonal to C."""
        return orthonormal(_random_columns(k, S, rng))

    def pair(self, theta: Array) -> Pair:
        """Return C and the map that finds the codes, F = C(C'C)⁻¹."""
        return Pair(theta, theta @ xp_of(theta).linalg.inv(theta.T @ theta))

    def gradient(self, theta: Array, S: Any) -> Array:
        """-2 mean of (y - Cw) w'."""
        C, F = self.pair(theta)
        SF = S @ F
        return -2 * (SF - C @ (F.T @ SF))


Autoencoder = Tied | Untied | Free
KINDS: dict[Kind, type[Autoencoder]] = {"tied": Tied, "untied": Untied, "free": Free}


def loss_of(pair: Pair, S: Array) -> float:
    """Return the mean squared error of decoding the codes."""
    D, F = pair
    xp = xp_of(S)
    SF = S @ F
    lost = xp.sum(xp.linalg.diagonal(S)) - 2 * xp.sum(D * SF) + xp.sum((D.T @ D) * (F.T @ SF))
    return max(0.0, float(lost)) if np.isfinite(float(lost)) else float("inf")


def largest_eigenvalue(S: Array, rng: np.random.Generator, steps: int = 30) -> float:
    """Return about the largest eigenvalue of S by power iteration: enough to choose a step by."""
    xp = xp_of(S)
    v = standard_normal((S.shape[0], 1), rng, S)
    for _ in range(steps):
        v = S @ v
        v = v / xp.linalg.vector_norm(v)
    return float(xp.linalg.vector_norm(S @ v))


@dataclass(frozen=True)
class LinearAutoencoderLoss:
    """The loss of all rows as a share of their variance, so that a descent knows no units."""

    kind: Autoencoder
    S: Array  # (d, d), of trace one
    total: float  # the variance: the trace as it was

    def __call__(self, theta: Array) -> float:
        """Return the loss."""
        return loss_of(self.kind.pair(theta), self.S)

    def gradient(self, theta: Array) -> Array:
        """Return its gradient."""
        return self.kind.gradient(theta, self.S)

    def faintest(self, theta: Array) -> float:
        """Return the least variance within the decoder's span: a direction of it that is to be learnt is faint."""
        Q = orthonormal(self.kind.pair(theta).D)
        return float(xp_of(Q).linalg.eigvalsh(Q.T @ self.S @ Q)[0])

    def gradient_of_batch(self, Y: Array) -> Callable[[Array], Array]:
        """Return the gradient of the loss of some centered rows."""
        return partial(self.kind.gradient, S=BatchCovariance(Y, Y.shape[0] * self.total))


@dataclass(frozen=True)
class BatchCovariance:
    """S of one batch, as an operator: Y'Y over a divisor."""

    Y: Array  # (m, d) centered
    divisor: float

    def __matmul__(self, A: Array) -> Array:
        return self.Y.T @ (self.Y @ A) / self.divisor


def shuffled_batches(rows: Rows, run: Run, mean: Array, size: int, rng: np.random.Generator) -> Iterator[Array]:
    """Yield all rows once, centered and in float64, ``size`` at a time.

    They are shuffled within windows that depend on the shape alone, so that a file or chunks give the same batches as
    one array.
    """
    window = max(size, slab_rows(rows.d, 8) // size * size)
    held: list[Array] = []
    count = 0
    for X in run.map_rows(_dense, rows, name="one epoch"):
        start = 0
        while start < X.shape[0]:
            part = X[start : min(start + window - count, X.shape[0]), :]
            held.append(part)
            start, count = start + part.shape[0], count + part.shape[0]
            if count == window:
                yield from _cut(held, mean, size, rng)
                held, count = [], 0
    if held:
        yield from _cut(held, mean, size, rng)


def _dense(X: Any) -> Array:
    return X.toarray() if is_sparse(X) else X


def _cut(held: list[Array], mean: Array, size: int, rng: np.random.Generator) -> Iterator[Array]:
    """Shuffle a window and cut it; a batch is small enough to be centered while it lies in the cache."""
    xp = xp_of(held[0])
    X = held[0] if len(held) == 1 else xp.concat(held, axis=0)
    order = like(rng.permutation(X.shape[0]), X, xp.int64)
    for start in range(0, X.shape[0], size):
        Y = as_double(xp.take(X, order[start : min(start + size, X.shape[0])], axis=0))
        yield Y - like(mean, Y)[None, :]


def _random_columns(k: int, S: Array, rng: np.random.Generator) -> Array:
    """Normal columns, scaled so that the longest combination of them has a length of about one."""
    return standard_normal((S.shape[0], k), rng, S) / (S.shape[0] ** 0.5 + k**0.5)
