"""Linear autoencoders: a covariance in, a decoder D and an encoder F' out, found by gradient descent.

With S the covariance of the rows (divisor n), mean |y - D F'y|² over the centered rows y is
tr S - 2 tr D'SF + tr (D'D)(F'SF). The rows enter through products with S alone, so S may be a matrix, or the rows of
one batch, Y'Y/m, never multiplied out. The three kinds of encoder differ in what is learnt; all of it lies side by
side in one array θ of d rows, so that a descent need not know which kind it learns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from lowland.arrays.linalg import orthonormal
from lowland.arrays.namespace import Array, is_sparse, like, xp_of
from lowland.arrays.precision import as_double
from lowland.arrays.random import standard_normal
from lowland.blocks.networks.batches import windows
from lowland.blocks.optimize.gradient_descent import StepSize, descend, descend_by_batches
from lowland.blocks.optimize.outcome import Outcome
from lowland.data.rows import ArrayRows, Rows, slab_rows
from lowland.run.run import Run, run_for

Encoder = Literal["tied", "untied", "least_squares"]


@dataclass(frozen=True)
class LinearCoder:
    """A decoder D and an encoder F' whose codes z = F'y lose little: y is about Dz."""

    D: Array  # (d, k)
    F: Array  # (d, k)
    step: float  # the length of the last step, per unit of gradient of the loss
    outcome: Outcome  # the trace holds the mean squared error at the start and after each iteration

    @property
    def loss(self) -> float:
        """The mean squared error of decoding the codes."""
        return self.outcome.trace[-1]


def linear_autoencoder(
    S: Array,
    k: int = 2,
    *,
    encoder: Encoder = "tied",
    step: float | None = None,
    tol: float = 1e-9,
    max_iter: int = 10_000,
    batches: Callable[[], Iterator[Array]] | None = None,
    batch_size: int = 0,
    rng: np.random.Generator | None = None,
    run: Run | None = None,
) -> LinearCoder:
    """Return decoder and encoder of k numbers that minimize the mean of |y - D F'y|² over rows of covariance S.

    Parameters
    ----------
    S : (d, d) covariance of the rows, divisor n.
    k : numbers in a code.
    encoder : "tied" (F = D), "untied" (F of its own), or "least_squares" (the best code of each row, F = D(D'D)⁻¹).
    step : length of a step per unit of gradient; None: one over the largest curvature.
    tol : norm of the gradient, relative to the least variance of a code, at which the descent has converged.
    max_iter : most iterations; with ``batches``, epochs.
    batches : reads the rows anew, centered, ``batch_size`` at a time; None: every step is taken with all rows, S alone.
    rng, run : random numbers and engine; None: a fixed seed, this machine.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.blocks.networks.linear_autoencoder import linear_autoencoder
    >>> S = np.array([[2.0, 1.0], [1.0, 2.0]])  # eigenvalues 3 and 1, the first along (1, 1)
    >>> found = linear_autoencoder(S, 1)
    >>> np.abs(found.D[:, 0]).round(4).tolist(), round(found.loss, 6)
    ([0.7071, 0.7071], 1.0)
    """
    rng = np.random.default_rng(0) if rng is None else rng
    run = run or run_for(ArrayRows(S))
    kind, xp = ENCODERS[encoder](), xp_of(S)
    total = float(xp.sum(xp.linalg.diagonal(S)))
    if not total > 0:
        return untrained(S, k, encoder, rng)
    loss = LinearAutoencoderLoss(kind, S / total, total)
    largest = largest_eigenvalue(loss.S, rng)
    start = kind.start(k, loss.S, largest, rng)
    # the first eigenvalue of a batch exceeds that of all rows, by the more the fewer rows it has
    curvature = kind.curvature * (largest if batches is None else largest + 1 / batch_size)
    length = 1 / curvature if step is None else step * total
    step_size = StepSize(length, tol, largest, max_iter, fixed=step is not None)
    if batches is None:
        found = descend(start, loss, step_size, run)
    else:
        found = descend_by_batches(start, loss, batches, batch_size, step_size, run)
    trace = tuple(total * fraction for fraction in found.outcome.trace)
    return LinearCoder(*kind.pair(found.theta), found.step / total, replace(found.outcome, trace=trace))


def untrained(S: Array, k: int, encoder: Encoder, rng: np.random.Generator) -> LinearCoder:
    """Return where the descent would start, for rows that do not vary."""
    kind = ENCODERS[encoder]()
    pair = kind.pair(kind.start(k, S, 1.0, rng))
    return LinearCoder(*pair, 0.0, Outcome.of_trace("none", [0.0], "the rows do not vary"))


# --- the three kinds of encoder ---------------------------------------------------------------------------------------


class CoderPair(NamedTuple):
    """A decoder D and an encoder F', kept by its columns."""

    D: Array  # (d, k)
    F: Array  # (d, k)


class TiedEncoder:
    """θ = C: the decoder is C and the encoder C'. Nothing asks for C'C = I, yet the optimum has it."""

    curvature: ClassVar[float] = 8.0  # the largest of the loss at its minimum, as a multiple of S's first eigenvalue

    def start(self, k: int, S: Array, largest: float, rng: np.random.Generator) -> Array:
        """Return random columns, of length about one but not orthonormal."""
        return _random_columns(k, S, rng)

    def pair(self, theta: Array) -> CoderPair:
        """Return decoder and encoder."""
        return CoderPair(theta, theta)

    def gradient(self, theta: Array, S: Any) -> Array:
        """-2 (RS + SR) C with R = I - CC'."""
        C, SC = theta, S @ theta
        return -2 * (2 * SC - C @ (C.T @ SC) - SC @ (C.T @ C))


class UntiedEncoder:
    """θ = [D, F]: decoder and encoder are free of each other. The span is determined, a basis of it is not."""

    curvature: ClassVar[float] = 8.0

    def start(self, k: int, S: Array, largest: float, rng: np.random.Generator) -> Array:
        """Return a random decoder, and an encoder that reads each direction by its fraction of the variance.

        The loss hardly feels what the encoder reads where rows hardly vary, so descent would leave it there as it came.
        """
        D = _random_columns(k, S, rng)
        return xp_of(S).concat([D, S @ D / largest], axis=1)

    def pair(self, theta: Array) -> CoderPair:
        """Return decoder and encoder."""
        k = theta.shape[1] // 2
        return CoderPair(theta[:, :k], theta[:, k:])

    def gradient(self, theta: Array, S: Any) -> Array:
        """With respect to D: -2 (I - DF') S F; with respect to F: -2 S (I - FD') D."""
        D, F = self.pair(theta)
        SD, SF = self.pair(S @ theta)
        return -2 * xp_of(theta).concat([SF - D @ (F.T @ SF), SD - SF @ (D.T @ D)], axis=1)


class LeastSquaresEncoder:
    """θ = C: every row has a code w of its own, the best for this C: w = (C'C)⁻¹C'y, a least-squares problem each.

    At the best codes the loss has the same gradient in C as if they were held fixed.
    """

    curvature: ClassVar[float] = 2.0

    def start(self, k: int, S: Array, largest: float, rng: np.random.Generator) -> Array:
        """Return random orthonormal columns: C'C then only grows, since the gradient is orthogonal to C."""
        return orthonormal(_random_columns(k, S, rng))

    def pair(self, theta: Array) -> CoderPair:
        """Return C and the map that finds the codes, F = C(C'C)⁻¹."""
        return CoderPair(theta, theta @ xp_of(theta).linalg.inv(theta.T @ theta))

    def gradient(self, theta: Array, S: Any) -> Array:
        """-2 mean of (y - Cw) w'."""
        C, F = self.pair(theta)
        SF = S @ F
        return -2 * (SF - C @ (F.T @ SF))


EncoderKind = TiedEncoder | UntiedEncoder | LeastSquaresEncoder
ENCODERS: dict[Encoder, type[EncoderKind]] = {
    "tied": TiedEncoder,
    "untied": UntiedEncoder,
    "least_squares": LeastSquaresEncoder,
}


def loss_of(pair: CoderPair, S: Array) -> float:
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
    """The loss of all rows as a fraction of their variance, so that a descent knows no units."""

    kind: EncoderKind
    S: Array  # (d, d), of trace one
    total: float  # the variance: the trace as it was

    def __call__(self, theta: Array) -> float:
        """Return the loss."""
        return loss_of(self.kind.pair(theta), self.S)

    def gradient(self, theta: Array) -> Array:
        """Return its gradient."""
        return self.kind.gradient(theta, self.S)

    def least_curvature(self, theta: Array) -> float:
        """Return the least variance within the decoder's span."""
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
    one array. A batch is small enough to be centered while it lies in the cache.
    """
    window = max(size, slab_rows(rows.d, 8) // size * size)
    for X in windows(run.map_rows(_dense, rows, name="one epoch"), window):
        xp = xp_of(X)
        order = like(rng.permutation(X.shape[0]), X, xp.int64)
        for start in range(0, X.shape[0], size):
            Y = as_double(xp.take(X, order[start : min(start + size, X.shape[0])], axis=0))
            yield Y - like(mean, Y)[None, :]


def _dense(X: Any) -> Array:
    return X.toarray() if is_sparse(X) else X


def _random_columns(k: int, S: Array, rng: np.random.Generator) -> Array:
    """Normal columns, scaled so that the longest combination of them has a length of about one."""
    return standard_normal((S.shape[0], k), rng, S) / (S.shape[0] ** 0.5 + k**0.5)
