"""Unmixing whitened rows: the orthogonal W that makes the projections y = Wz as non-Gaussian as possible."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from lowland.arrays.namespace import Array
from lowland.data.rows import ArrayRows
from lowland.math.ica.whitened_rows import Contrast, LogCosh, WhiteRows
from lowland.math.optimize.outcome import Outcome, iteration_limit
from lowland.run.progress import pulse
from lowland.run.run import Run

_PATIENCE = 10  # fixed-point iterations without a clearly smaller change
_BETTER = 0.9  # ratio of a clearly smaller change
_SHORTEST = 1 / 4  # fraction of a fixed-point step
_TRUST = 5  # decreasing changes after which steps grow again
_FIRST = 5  # fixed-point iterations before the quasi-Newton ones: they are faster far from the solution
_NEAR = 1e-3  # gradient below which they are skipped
_MEMORY = 10  # memory of L-BFGS
_LEAST_CURVATURE = 1e-2  # lower bound of the approximate curvature
_LONGEST = 0.5  # largest rotation of a component per step, in radians
_TRIES = 10  # shorter steps tried per direction
_OVERSHOT = 0.2  # largest slope at the end of a step, as a fraction of that at its start
_FLIPS = 5  # how often a component may change between super- and sub-Gaussian
_NO_TURN = "no component changed by more than the tolerance {:g}"

Algorithm = Literal["parallel", "deflation", "picard"]


@dataclass(frozen=True)
class Unmixing:
    """The unmixing matrix and the convergence."""

    W: np.ndarray  # (k, k) float64, orthogonal
    outcome: Outcome  # its trace is what was compared with the tolerance after each iteration


def unmixing_matrix(
    Z: Array | WhiteRows,
    contrast: Contrast | None = None,
    *,
    algorithm: Algorithm = "parallel",
    start: np.ndarray | None = None,
    tol: float = 1e-4,
    max_iter: int = 200,
    run: Run | None = None,
) -> Unmixing:
    """Return the orthogonal W whose projections y = Wz of whitened rows are as non-Gaussian as possible.

    Parameters
    ----------
    Z
        Rows of mean zero and identity covariance, (n, k).
    contrast
        Measure of non-Gaussianity (``math.ica.whitened_rows``). None means log cosh.
    algorithm
        All components at once, one by one, or by a quasi-Newton method with a line search.
    start
        Initial W, (k, k). None means the identity.
    tol
        Tolerance of the largest change (1 - |cosine|), or for the quasi-Newton method of the largest gradient entry.
    max_iter
        Maximum number of iterations.
    run
        Shows progress and provides the threads.

    Returns
    -------
    Unmixing
        ``W`` (k, k) and ``outcome``.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])  # two independent binary sources
    >>> turned = corners @ np.array([[0.8, 0.6], [-0.6, 0.8]])
    >>> np.abs(unmixing_matrix(turned).W).round(6)
    array([[0.8, 0.6],
           [0.6, 0.8]])
    """
    white = Z if isinstance(Z, WhiteRows) else WhiteRows(ArrayRows(Z), Run() if run is None else run)
    W = np.eye(white.rows.d) if start is None else start
    with white.run.rounds():
        return ALGORITHMS[algorithm](white, LogCosh() if contrast is None else contrast, W, tol, max_iter)


def _found(W: np.ndarray, name: str, iterations: int, converged: bool, trace: list[float], reason: str) -> Unmixing:
    return Unmixing(W, Outcome(name, "", iterations, converged, tuple(trace), reason))


# --- fixed points -----------------------------------------------------------------------------------------------------


def polar(A: np.ndarray) -> np.ndarray:
    """Return the orthogonal matrix nearest to A, (AA')^-1/2 A: symmetric orthogonalization of the rows."""
    U, _, Vt = np.linalg.svd(A)
    return U @ Vt


def unmix_in_parallel(white: WhiteRows, contrast: Contrast, W: np.ndarray, tol: float, max_iter: int) -> Unmixing:
    """All components at once: W <- polar(E g(y)z' − diag(E g'(y)) W), until no row changes (Hyvärinen 1999)."""
    W, trace, damping = polar(W), [], _Damping()
    for step in white.run.iterate("parallel fixed point", max_iter):
        cross, slopes = white.expect(contrast, W)
        turned = polar(cross - slopes[:, None] * W)
        trace.append(_turn(turned, W))
        if trace[-1] < tol:
            return _found(turned, "parallel", step + 1, True, trace, _NO_TURN.format(tol))
        W = polar(damping.towards(turned, W, trace[-1]))
    return _found(W, "parallel", max_iter, False, trace, iteration_limit(max_iter))


def unmix_by_deflation(white: WhiteRows, contrast: Contrast, W: np.ndarray, tol: float, max_iter: int) -> Unmixing:
    """One component after the other, each kept orthogonal to those before (Hyvärinen and Oja 1997)."""
    k = W.shape[0]
    found = np.zeros((0, k))
    whole: list[float] = []
    most = stuck = 0
    for i in white.run.iterate("deflation", k):
        w, trace, damping = _orthogonalize(W[i : i + 1], found), [], _Damping()
        for _ in range(max_iter):
            pulse()
            cross, slopes = white.expect(contrast, w)
            turned = _orthogonalize(cross - slopes[:, None] * w, found)
            trace.append(_turn(turned, w))
            w = turned if trace[-1] < tol else _orthogonalize(damping.towards(turned, w, trace[-1]), found)
            if trace[-1] < tol:
                break
        else:
            stuck += 1
        whole, most, found = whole + trace, max(most, len(trace)), np.vstack([found, w])
    reason = f"{stuck} of {k} components did not converge in {max_iter} iterations" if stuck else _NO_TURN.format(tol)
    return _found(found, "deflation", most, not stuck, whole, reason)


class _Damping:
    """Full steps until they oscillate, then half steps; longer again while the changes decrease.

    The fixed points stay the same.
    """

    def __init__(self) -> None:
        self.length, self.best, self.last = 1.0, np.inf, np.inf
        self.waited = self.falling = 0

    def towards(self, turned: np.ndarray, W: np.ndarray, turn: float) -> np.ndarray:
        """Return the next W: ``turned``, or a point between it and W."""
        better = turn < _BETTER * self.best
        self.best, self.waited = (turn, 0) if better else (self.best, self.waited + 1)
        self.falling, self.last = self.falling + 1 if turn < self.last else 0, turn
        if self.waited >= _PATIENCE:
            self.length, self.best = max(self.length / 2, _SHORTEST), np.inf
            self.waited = self.falling = 0
        elif self.falling >= _TRUST:
            self.length, self.falling = min(1.5 * self.length, 1.0), 0
        if self.length == 1:
            return turned
        signs = np.where(np.sum(turned * W, axis=1) < 0, -1.0, 1.0)[:, None]
        return (1 - self.length) * W + self.length * signs * turned


def _orthogonalize(w: np.ndarray, found: np.ndarray) -> np.ndarray:
    """The unit vector (1, k) along the part of w that is orthogonal to those found."""
    for _ in range(2):  # twice is enough (Kahan)
        w = w - (w @ found.T) @ found
    length = np.linalg.norm(w)
    if length == 0:  # w is in their span: take any orthogonal direction
        return np.linalg.svd(found)[2][len(found) :][:1]
    return w / length


def _turn(after: np.ndarray, before: np.ndarray) -> float:
    """The largest change of a row, 1 − |cosine|, irrespective of sign."""
    return float(np.abs(np.abs(np.sum(after * before, axis=1)) - 1).max())


# --- quasi-Newton -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Point:
    """A point of the search. The loss is sum_i s_i E G(y_i), s_i = 1 for super-Gaussian components, else −1."""

    W: np.ndarray
    cross: np.ndarray  # (k, k) C = E g(y)y'
    stein: np.ndarray  # (k,) E g'(y) − E g(y)y: zero for a Gaussian component, by Stein's identity

    def gradient(self, signs: np.ndarray) -> np.ndarray:
        """The gradient of the loss along rotations W <- exp(A)W, A' = −A: the antisymmetric part of diag(s)C."""
        C = signs[:, None] * self.cross
        return (C - C.T) / 2

    def curvature(self) -> np.ndarray:
        """The curvature along each rotation if the components were independent, (k, k), bounded below."""
        sizes = np.abs(self.stein)
        return np.maximum((sizes[:, None] + sizes[None, :]) / 2, _LEAST_CURVATURE)


def unmix_by_quasi_newton(white: WhiteRows, contrast: Contrast, W: np.ndarray, tol: float, max_iter: int) -> Unmixing:
    """Descend over rotations with L-BFGS, preconditioned by the curvature of independent components.

    The fixed-point iteration assumes independent sources and oscillates where the rows are not exactly a mixture of
    them. Here, after a few fixed-point iterations, each step is checked, and shortened where it was too long (Ablin,
    Cardoso and Gramfort 2018). It stops where the largest entry of the gradient is below ``tol``. A step is checked
    by the gradient at its end, which the next step needs anyway: one pass, and no values of G.
    """
    here = _at(white, contrast, polar(W))
    signs, flips = _signs(here.stein), np.zeros(len(W), dtype=int)
    memory: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=_MEMORY)
    trace: list[float] = []
    for step in white.run.iterate("quasi-Newton", max_iter + 1):
        G = here.gradient(signs)
        trace.append(float(np.abs(G).max()))
        if trace[-1] < tol:
            reason = f"the gradient is below the tolerance {tol:g}"
            return _found(polar(here.W), "quasi-Newton", step, True, trace, reason)
        if step == max_iter:
            break
        if step < _FIRST and trace[-1] > _NEAR:  # a step of the parallel fixed-point iteration
            turned = polar(here.cross - np.diag(here.stein + np.diagonal(here.cross)))
            here = _at(white, contrast, turned @ here.W)
            signs = _signs(here.stein)
            continue
        A = _direction(G, here.curvature(), memory)
        there, turned = _line_search(white, contrast, here, A, signs, G)
        if there is None and memory:
            memory.clear()
            there, turned = _line_search(white, contrast, here, -G / here.curvature(), signs, G)
        if there is None:
            reason = "no step improves the components further, up to rounding error"
            return _found(polar(here.W), "quasi-Newton", step, False, trace, reason)
        changed = (_signs(there.stein) != signs) & (flips < _FLIPS)
        if changed.any():  # the loss has changed: clear the memory
            signs, flips = np.where(changed, -signs, signs), flips + changed
            memory.clear()
        elif np.sum(turned * (change := there.gradient(signs) - G)) > 0:
            memory.append((turned, change))
        here = there
    return _found(polar(here.W), "quasi-Newton", max_iter, False, trace, iteration_limit(max_iter))


def _at(white: WhiteRows, contrast: Contrast, W: np.ndarray) -> _Point:
    cross, slopes = white.expect(contrast, W)
    C = cross @ W.T
    return _Point(W, C, slopes - np.diagonal(C))


def _signs(stein: np.ndarray) -> np.ndarray:
    return np.where(stein >= 0, 1.0, -1.0)


def _direction(G: np.ndarray, curvature: np.ndarray, memory: deque[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The two-loop recursion of L-BFGS (Nocedal 1980), with the preconditioner as initial inverse Hessian."""
    q, weights = G.copy(), []
    for s, y in reversed(memory):
        weights.append(float(np.sum(s * q) / np.sum(s * y)))
        q = q - weights[-1] * y
    q = q / curvature
    for (s, y), weight in zip(memory, reversed(weights), strict=True):
        q = q + (weight - float(np.sum(y * q) / np.sum(s * y))) * s
    return -q


def _line_search(
    white: WhiteRows, contrast: Contrast, here: _Point, A: np.ndarray, signs: np.ndarray, G: np.ndarray
) -> tuple[_Point | None, np.ndarray]:
    """Rotate by exp(tA), t = 1 or less, until the loss does not increase steeply at the end; None where it always does.

    The slope of the loss at the end of the step is <gradient, A>. If it is positive, the step went past the minimum:
    by little, which is accepted, or by much; then the next t is where the interpolated slope is zero.
    """
    from scipy.linalg import expm

    start = float(np.sum(G * A))
    longest = float(np.linalg.norm(A, axis=1).max())
    t = min(1.0, _LONGEST / longest) if longest > 0 else 1.0
    if start >= 0:
        return None, A
    for _ in range(_TRIES):
        there = _at(white, contrast, expm(t * A) @ here.W)
        end = float(np.sum(there.gradient(signs) * A))
        if end <= -_OVERSHOT * start:
            return there, t * A
        t *= float(np.clip(start / (start - end), 0.1, 0.5))
    return None, A


ALGORITHMS: dict[str, Callable[[WhiteRows, Contrast, np.ndarray, float, int], Unmixing]] = {
    "parallel": unmix_in_parallel,
    "deflation": unmix_by_deflation,
    "picard": unmix_by_quasi_newton,
}
