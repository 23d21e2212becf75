"""Linear autoencoders: a decoder D and an encoder F' from a covariance matrix, by gradient descent.

With S the covariance of the rows (divisor n), the mean of |y - D F'y|² over the centered rows y is
tr S - 2 tr D'SF + tr (D'D)(F'SF). The rows enter only through products with S, so S may be a matrix, or the operator
Y'Y/m of a mini-batch. The three kinds of encoder differ in their free parameters, which are stored side by side in one
array θ of d rows, so that the optimizer need not know the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from lowland.arrays.linalg import orthonormal
from lowland.arrays.namespace import Array, as_double, is_sparse, like, xp_of
from lowland.arrays.random import standard_normal
from lowland.data.rows import Rows, slab_rows
from lowland.math.networks.training import windows
from lowland.math.optimize.gradient_descent import StepSize, descend, descend_by_batches
from lowland.math.optimize.outcome import Outcome
from lowland.run.run import Run

Encoder = Literal["tied", "untied", "least_squares"]


@dataclass(frozen=True)
class LinearCoder:
    """A decoder D and an encoder F': the code of y is z = F'y, its reconstruction Dz."""

    D: Array  # (d, k)
    F: Array  # (d, k)
    step: float  # learning rate of the last step
    outcome: Outcome  # the trace holds the loss at the initialization and after each iteration

    @property
    def loss(self) -> float:
        """Mean squared reconstruction error."""
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
    """Return the decoder and encoder of k components that minimize the mean of |y - D F'y|² for rows of covariance S.

    Parameters
    ----------
    S : (d, d) covariance of the rows, divisor n.
    k : number of components.
    encoder : "tied" (F = D), "untied" (separate F), or "least_squares" (least-squares codes, F = D(D'D)⁻¹).
    step : learning rate. None means one over the largest curvature.
    tol : tolerance for the norm of the gradient, relative to the smallest variance of a component.
    max_iter : maximum number of iterations, or with ``batches`` of epochs.
    batches : function that yields the centered rows, ``batch_size`` at a time. None means all rows in every step,
        through S.
    rng, run : random number generator and engine. None means a fixed seed, local threads.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.networks.linear_autoencoder import linear_autoencoder
    >>> S = np.array([[2.0, 1.0], [1.0, 2.0]])  # eigenvalues 3 and 1, the first along (1, 1)
    >>> found = linear_autoencoder(S, 1)
    >>> np.abs(found.D[:, 0]).round(4).tolist(), round(found.loss, 6)
    ([0.7071, 0.7071], 1.0)
    """
    rng = np.random.default_rng(0) if rng is None else rng
    run = run or Run()
    kind, xp = ENCODERS[encoder](), xp_of(S)
    total = float(xp.sum(xp.linalg.diagonal(S)))
    if not total > 0:
        return untrained(S, k, encoder, rng)
    loss = LinearAutoencoderLoss(kind, S / total, total)
    largest = largest_eigenvalue(loss.S, rng)
    start = kind.start(k, loss.S, largest, rng)
    # the largest eigenvalue of a mini-batch exceeds that of all rows, more so for small mini-batches
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
    """Return the initialization, for rows of zero variance."""
    kind = ENCODERS[encoder]()
    pair = kind.pair(kind.start(k, S, 1.0, rng))
    outcome = Outcome.of_trace("none", [0.0], "the rows have zero variance")
    return LinearCoder(*pair, 0.0, outcome)


# --- the three kinds of encoder ---------------------------------------------------------------------------------------


class TiedEncoder:
    """θ = C: the decoder is C and the encoder C'. C'C = I is not imposed, but holds at the optimum."""

    curvature: ClassVar[float] = 8.0  # largest one of the loss at its minimum, over the largest eigenvalue of S

    def start(self, k: int, S: Array, largest: float, rng: np.random.Generator) -> Array:
        """Return random columns of norm about one, not orthonormal."""
        return _random_columns(k, S, rng)

    def pair(self, theta: Array) -> tuple[Array, Array]:
        """Return decoder and encoder."""
        return theta, theta

    def gradient(self, theta: Array, S: Any) -> Array:
        """-2 (RS + SR) C with R = I - CC'."""
        C, SC = theta, S @ theta
        return -2 * (2 * SC - C @ (C.T @ SC) - SC @ (C.T @ C))


class UntiedEncoder:
    """θ = [D, F]: separate decoder and encoder. The optimum determines the span, not its basis."""

    curvature: ClassVar[float] = 8.0

    def start(self, k: int, S: Array, largest: float, rng: np.random.Generator) -> Array:
        """Return a random decoder, and an encoder whose weight in each direction is proportional to its variance.

        The gradient is small in directions of small variance, where the encoder would stay close to its initialization.
        """
        D = _random_columns(k, S, rng)
        return xp_of(S).concat([D, S @ D / largest], axis=1)

    def pair(self, theta: Array) -> tuple[Array, Array]:
        """Return decoder and encoder."""
        k = theta.shape[1] // 2
        return theta[:, :k], theta[:, k:]

    def gradient(self, theta: Array, S: Any) -> Array:
        """With respect to D: -2 (I - DF') S F; with respect to F: -2 S (I - FD') D."""
        D, F = self.pair(theta)
        SD, SF = self.pair(S @ theta)
        return -2 * xp_of(theta).concat([SF - D @ (F.T @ SF), SD - SF @ (D.T @ D)], axis=1)


class LeastSquaresEncoder:
    """θ = C: the code of a row is the least-squares solution w = (C'C)⁻¹C'y.

    At the optimal codes the gradient of the loss in C is the same as for fixed codes.
    """

    curvature: ClassVar[float] = 2.0

    def start(self, k: int, S: Array, largest: float, rng: np.random.Generator) -> Array:
        """Return random orthonormal columns: the gradient is orthogonal to C, so C'C can only increase."""
        return orthonormal(_random_columns(k, S, rng))

    def pair(self, theta: Array) -> tuple[Array, Array]:
        """Return C and F = C(C'C)⁻¹."""
        return theta, theta @ xp_of(theta).linalg.inv(theta.T @ theta)

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


def loss_of(pair: tuple[Array, Array], S: Array) -> float:
    """Return the mean squared reconstruction error."""
    D, F = pair
    xp = xp_of(S)
    SF = S @ F
    lost = xp.sum(xp.linalg.diagonal(S)) - 2 * xp.sum(D * SF) + xp.sum((D.T @ D) * (F.T @ SF))
    return max(0.0, float(lost)) if np.isfinite(float(lost)) else float("inf")


def largest_eigenvalue(S: Array, rng: np.random.Generator) -> float:
    """Estimate the largest eigenvalue of S by power iteration, accurately enough for a learning rate."""
    xp = xp_of(S)
    v = standard_normal((S.shape[0], 1), rng, S)
    for _ in range(30):
        v = S @ v
        v = v / xp.linalg.vector_norm(v)
    return float(xp.linalg.vector_norm(S @ v))


@dataclass(frozen=True)
class LinearAutoencoderLoss:
    """Loss of all rows as a fraction of the variance, so that it does not depend on units."""

    kind: EncoderKind
    S: Array  # (d, d), of trace one
    total: float  # total variance

    def __call__(self, theta: Array) -> float:
        """Return the loss."""
        return loss_of(self.kind.pair(theta), self.S)

    def gradient(self, theta: Array) -> Array:
        """Return the gradient of the loss."""
        return self.kind.gradient(theta, self.S)

    def least_curvature(self, theta: Array) -> float:
        """Return the smallest variance within the span of the decoder."""
        Q = orthonormal(self.kind.pair(theta)[0])
        return float(xp_of(Q).linalg.eigvalsh(Q.T @ self.S @ Q)[0])

    def gradient_of_batch(self, Y: Array) -> Callable[[Array], Array]:
        """Return the gradient of the loss of a mini-batch of centered rows."""
        return partial(self.kind.gradient, S=BatchCovariance(Y, Y.shape[0] * self.total))


@dataclass(frozen=True)
class BatchCovariance:
    """Covariance of a mini-batch as an operator: Y'Y divided by a number."""

    Y: Array  # (m, d) centered
    divisor: float

    def __matmul__(self, A: Array) -> Array:
        return self.Y.T @ (self.Y @ A) / self.divisor


def shuffled_batches(rows: Rows, run: Run, mean: Array, size: int, rng: np.random.Generator) -> Iterator[Array]:
    """Yield all rows once, centered and in float64, ``size`` at a time.

    They are shuffled within windows that depend only on the shape, so a file or chunks give the same mini-batches as an
    array. A mini-batch is centered while it is in the cache.
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
    """Return random normal columns, scaled to a spectral norm of about one."""
    return standard_normal((S.shape[0], k), rng, S) / (S.shape[0] ** 0.5 + k**0.5)
