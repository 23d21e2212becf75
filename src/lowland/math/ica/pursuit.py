"""Projection pursuit: search for the projection of whitened rows with the largest index.

A projection is k orthonormal rows A; its coordinates are A Y for whitened rows Y (d, n). Evaluate many, refine the best
few, keep the best. Its structure can be removed (Friedman 1987), so that the next search finds another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.arrays.namespace import Array, to_numpy
from lowland.errors import DataError
from lowland.math.ica.projection_indices import Index
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.leading import fix_signs
from lowland.run.run import Run

_BATCH = 2**17  # coordinates evaluated together: they stay in the cache
_KEPT = {True: 6, False: 20}  # projections refined, for smooth indices and others
_STARTS, _STARTS_BEYOND, _SMOOTH_STARTS = {2: 500, 3: 4000, 4: 4000}, 1000, 200
_TRIES = 16  # projections tried around each in one step of the random search
_WIDE = 0.3  # radians: the first step of a refinement
_NEAR = 0.02  # radians: the first step near the maximum
_RACE = 2  # steps after which the worse half of the projections is dropped
_MOST_HALVINGS = 40
_PASSES = 6  # passes of Gaussianization over all rotations
_INSIDE = 200  # directions evaluated within a projection, to order its axes

Steps = Callable[[str, int], Iterable[int]]


def without_progress(name: str, steps: int) -> Iterable[int]:
    """Count steps without showing progress."""
    return range(steps)


@dataclass(frozen=True)
class PursuitSearch:
    """The index and the options of a search, which is the same for data and noise."""

    index: Index  # of the whole projection
    starts: int | None  # random projections; None: depends on the index and the number of columns
    columns: np.ndarray  # (p, d) further directions to evaluate, unit rows
    max_iter: int
    tol: float  # radians

    def count(self, d: int) -> int:
        """Return the number of random projections of d columns.

        Thin stripes are visible within about three degrees. In the plane that takes tens of directions, in three
        dimensions thousands, and in more than four too many: there, only wider structure is searched for.
        """
        if self.starts is not None:
            return self.starts
        return _SMOOTH_STARTS if self.index.smooth else _STARTS.get(d, _STARTS_BEYOND)


@dataclass(frozen=True)
class Projection:
    """A projection, its index, and the outcome of its refinement."""

    A: np.ndarray  # (k, d) orthonormal rows
    index: float
    outcome: Outcome  # its trace is the initial index and that after each step

    @classmethod
    def of(cls, A: np.ndarray, index: float, trace: np.ndarray, converged: bool) -> Projection:
        """Return the projection with the record of its refinement."""
        outcome = Outcome("refinement", "", len(trace) - 1, converged, tuple(trace.tolist()))
        return cls(A, index, outcome)


# --- the sampled rows --------------------------------------------------------------------------------------


def sorted_rows(X: Array) -> np.ndarray:
    """Bring rows to the CPU in float64, sorted by their values, so that rounding does not depend on their order."""
    X = to_numpy(X).astype(np.float64)
    return np.ascontiguousarray(X[np.lexsort(X.T[::-1])])


@dataclass(frozen=True)
class Sphered:
    """Whitened rows: Y = W(X - mean)', with identity covariance; r is the rank."""

    Y: np.ndarray  # (r, n)
    W: np.ndarray  # (r, d)
    inverse: np.ndarray  # (d, r) the inverse of W on the span of the rows


def sphered(X: np.ndarray, rounding: float = 0.0) -> Sphered:
    """Whiten rows X (n, d) along the principal axes of the standardized columns, so that units do not matter.

    Directions below ``rounding`` of the largest are dropped.
    """
    n = X.shape[0]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = X.mean(axis=0)
        C = X - mean
        C = C - C.mean(axis=0)  # correct the rounding error of the mean
    if not np.isfinite(C).all():
        raise DataError("The values are too large: their sums overflow. Rescale the columns.")
    largest = np.abs(C).max(axis=0)
    largest[largest <= rounding * np.abs(mean)] = 0.0  # nothing but rounding error
    units = np.where(largest > 0, largest, np.inf)
    units = units * np.sqrt(np.mean((C / units) ** 2, axis=0), where=largest > 0, out=np.ones_like(units))
    C = C / units  # squares of rescaled columns neither overflow nor underflow
    _, s, Vt = np.linalg.svd(C, full_matrices=False)
    Vt = fix_signs(Vt.T).T  # so that neither the order of the rows nor rounding decides
    s = s[s**2 > rounding * s[0] ** 2] / np.sqrt(n - 1)
    W = Vt[: len(s)] / s[:, None]
    inverse = np.where(largest > 0, units, 0.0)[:, None] * Vt[: len(s)].T * s
    return Sphered(np.ascontiguousarray(W @ C.T), W / units, inverse)


# --- the search -------------------------------------------------------------------------------------------------------


def pursue(
    Y: np.ndarray, search: PursuitSearch, rng: np.random.Generator, steps: Steps = without_progress
) -> Projection:
    """Return the best projection of whitened rows Y (d, n), its axes sorted by their one-dimensional index."""
    with blas_on_one_thread():  # the products are small, and noise tables are searched in threads
        if search.index.by_axes:
            return _axis_by_axis(Y, search, rng, steps)
        return _with_ordered_axes(Y, _best_projection(Y, search, rng, steps), search, rng)


def _axis_by_axis(Y: np.ndarray, search: PursuitSearch, rng: np.random.Generator, steps: Steps) -> Projection:
    """Find the best axis, then the best one orthogonal to it, and so on; finally refine all together."""
    k, single = search.index.k, replace(search.index, k=1)
    axes: list[np.ndarray] = []
    trace: list[np.ndarray] = []
    basis, converged, so_far = np.eye(len(Y)), True, 0.0
    for _ in range(k):
        columns = unit_rows(search.columns @ basis.T)
        found = _best_projection(basis @ Y, replace(search, index=single, columns=columns), rng, steps)
        if k == 1:
            return found
        axes.append(found.A[0] @ basis)
        trace.append(so_far + np.array(found.outcome.trace))
        converged, so_far = converged and found.outcome.converged, so_far + found.index
        basis = np.linalg.svd(np.array(axes))[2][len(axes) :]  # (d - axes, d) their orthogonal complement
    found = _refined(Y, np.array(axes)[None], search, rng, steps)
    order = np.argsort(-single.value((found.A @ Y)[:, None, :]), kind="stable")
    whole = np.concatenate([*trace, found.outcome.trace[1:]])
    return Projection.of(found.A[order], found.index, whole, converged and found.outcome.converged)


def _best_projection(Y: np.ndarray, search: PursuitSearch, rng: np.random.Generator, steps: Steps) -> Projection:
    """Evaluate random and informative projections, keep the best few, refine them."""
    d, k = len(Y), search.index.k
    if d == k == 1:
        A = np.ones((1, 1, 1))
        values = search.index.value(A @ Y)
        return Projection.of(A[0], float(values[0]), values, True)
    kept = _informative_starts(Y, search)
    size, starts = max(1, _BATCH // (k * Y.shape[1])), search.count(d)
    parts = [search.index.value(kept[i : i + size] @ Y) for i in range(0, len(kept), size)]
    values = np.concatenate(parts) if parts else np.zeros(0)
    for done in steps("random projections", -(-starts // size)):
        count = min(size, starts - done * size)
        candidates = _orthonormal(rng.standard_normal((count, k, d)))
        kept, values = np.concatenate([kept, candidates]), np.concatenate([values, search.index.value(candidates @ Y)])
        best = np.argsort(-values, kind="stable")[: _KEPT[search.index.smooth]]
        kept, values = kept[best], values[best]
    return _refined(Y, kept, search, rng, steps)


def _informative_starts(Y: np.ndarray, search: PursuitSearch) -> np.ndarray:
    """Projections along principal axes, columns, and eigenvectors of E|y|²yy', (N, k, d).

    The last are the independent components, if their kurtoses differ (Cardoso 1989). For k > 1, directions that are
    adjacent when sorted by their indices make a projection.
    """
    d, k = len(Y), search.index.k
    weighted = Y * np.square(Y).sum(axis=0)
    fourth = np.linalg.eigh(weighted @ Y.T)[1].T
    directions = fix_signs(np.concatenate([np.eye(d), search.columns, fourth]).T).T
    if k == 1:
        return directions[:, None, :]
    values = replace(search.index, k=1).value((directions @ Y)[:, None, :])
    directions = directions[np.argsort(-values, kind="stable")]
    candidates = np.stack([directions[i : len(directions) - k + 1 + i] for i in range(k)], axis=1)
    sizes = np.linalg.svd(candidates, compute_uv=False)
    return _orthonormal(candidates[sizes[:, -1] > 0.1])  # not nearly parallel directions


def _refined(
    Y: np.ndarray, candidates: np.ndarray, search: PursuitSearch, rng: np.random.Generator, steps: Steps
) -> Projection:
    if not search.index.smooth:
        return _shrinking(Y, candidates, search, rng, steps)
    found = [_ascended(Y, candidate, search, steps) for candidate in candidates]
    return max(found, key=lambda candidate: candidate.index)  # the first in case of ties


def _ascended(Y: np.ndarray, A: np.ndarray, search: PursuitSearch, steps: Steps) -> Projection:
    """Gradient ascent over orthonormal projections, with monotone Barzilai-Borwein steps (1988)."""
    value, slope = _slope(search.index, A, Y)
    trace, length, converged = [value], _WIDE / max(float(np.linalg.norm(slope)), 1e-300), False
    for _ in steps("refining projections", search.max_iter):
        length = min(length, _WIDE / max(float(np.linalg.norm(slope)), 1e-300))
        rise = float(np.sum(slope**2))
        for _ in range(_MOST_HALVINGS):
            B = _orthonormal((A + length * slope)[None])[0]
            new, new_slope = _slope(search.index, B, Y)
            if new >= value + 1e-4 * length * rise:
                break
            length /= 2
        else:
            converged = True  # only rounding error is left
            break
        moved, turned = B - A, abs(float(np.sum((B - A) * (new_slope - slope))))
        A, value, slope = B, new, new_slope
        trace.append(value)
        if float(np.linalg.norm(moved)) < search.tol:
            converged = True
            break
        length = float(np.sum(moved**2)) / turned if turned > 0 else 2 * length
    return Projection.of(A, value, np.array(trace), converged)


def _shrinking(
    Y: np.ndarray, candidates: np.ndarray, search: PursuitSearch, rng: np.random.Generator, steps: Steps
) -> Projection:
    """Random search around each projection, at an angle that shrinks whenever none is better; drop the worse half.

    For indices with a discontinuous gradient; some tries still follow it, which helps with many columns.
    """
    index, k = search.index, search.index.k
    values = index.value(candidates @ Y)
    wide = 3 * search.count(len(Y)) ** (-1 / (len(Y) - 1))  # about the distance of adjacent random projections
    angles = np.full(len(candidates), min(_WIDE, max(_NEAR, wide)) if len(candidates) > 1 else _NEAR)
    traces = values[:, None]
    converged = False
    for step in steps("refining projections", search.max_iter):
        tries = _turn_each(Y, candidates, index, angles, rng)  # (S, tries, k, d)
        found = index.value(tries.reshape(-1, *candidates.shape[1:]) @ Y).reshape(len(candidates), -1)
        best = np.argmax(found, axis=1)
        new = np.take_along_axis(found, best[:, None], axis=1)[:, 0]
        better = new > values
        candidates = np.where(better[:, None, None], tries[np.arange(len(candidates)), best], candidates)
        values = np.where(better, new, values)
        angles = np.where(better, angles, angles / 3)
        traces = np.concatenate([traces, values[:, None]], axis=1)
        if step % _RACE == _RACE - 1 and len(candidates) > 1:
            left = np.argsort(-values, kind="stable")[: (len(candidates) + 1) // 2]
            candidates, values, angles, traces = candidates[left], values[left], angles[left], traces[left]
        if len(candidates) == 1 and angles[0] < search.tol:
            converged = True
            break
    winner = int(np.argmax(values))
    return Projection.of(candidates[winner].reshape(k, -1), float(values[winner]), traces[winner], converged)


def _turn_each(
    Y: np.ndarray, candidates: np.ndarray, index: Index, angles: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Rotate each projection by its angle in random directions, and by this or smaller angles along the gradient."""
    S, k, d = candidates.shape
    ways = rng.standard_normal((S, _TRIES, k, d))
    _, G = index.slope(candidates @ Y)
    ways[:, : _TRIES // 4] = (G @ Y.T)[:, None]
    ways = _tangent(ways, candidates[:, None])
    lengths = np.linalg.norm(ways, axis=(2, 3), keepdims=True)
    ways /= np.where(lengths > 0, lengths, 1.0)
    fractions = np.ones(_TRIES)
    fractions[: _TRIES // 4] = 0.5 ** np.arange(_TRIES // 4)
    turned = candidates[:, None] + np.tan(angles)[:, None, None, None] * fractions[None, :, None, None] * ways
    return _orthonormal(turned.reshape(-1, k, d)).reshape(S, _TRIES, k, d)


def _with_ordered_axes(
    Y: np.ndarray, candidate: Projection, search: PursuitSearch, rng: np.random.Generator
) -> Projection:
    """Sort the axes by their index; where the index is invariant to rotation, rotate the best axis to the front."""
    single, P = replace(search.index, k=1), candidate.A @ Y
    if search.index.k == 1:
        return candidate
    if not search.index.turns:
        return replace(candidate, A=candidate.A[np.argsort(-single.value(P[:, None, :]), kind="stable")])
    R: list[np.ndarray] = []
    basis = np.eye(search.index.k)
    for _ in range(search.index.k):
        inside = replace(search, index=single, starts=_INSIDE, columns=np.zeros((0, len(basis))))
        R.append(_best_projection(basis @ P, inside, rng, without_progress).A[0] @ basis)
        basis = np.linalg.svd(np.array(R))[2][len(R) :]
    return replace(candidate, A=_orthonormal(np.array(R)[None])[0] @ candidate.A)


def _slope(index: Index, A: np.ndarray, Y: np.ndarray) -> tuple[float, np.ndarray]:
    """The index of a projection and its gradient along orthonormal projections, (k, d)."""
    value, G = index.slope((A @ Y)[None])
    return float(value[0]), _tangent(G[0] @ Y.T, A)


def _tangent(G: np.ndarray, A: np.ndarray) -> np.ndarray:
    """The component of G that is tangent to the orthonormal projections at A."""
    M = G @ np.swapaxes(A, -1, -2)
    return G - (M + np.swapaxes(M, -1, -2)) / 2 @ A


def _orthonormal(candidates: np.ndarray) -> np.ndarray:
    """Orthonormalize the rows of each projection in order, by Gram-Schmidt; (N, k, d) with a small k."""
    out = np.empty_like(candidates)
    for a in range(candidates.shape[1]):
        row = candidates[:, a]
        for _ in range(2 if a else 0):  # twice is enough
            for b in range(a):
                row = row - np.sum(row * out[:, b], axis=1, keepdims=True) * out[:, b]
        out[:, a] = row / np.linalg.norm(row, axis=1, keepdims=True)
    return out


def unit_rows(M: np.ndarray) -> np.ndarray:
    """Return the rows scaled to unit length, without zero rows."""
    largest = np.abs(M).max(axis=1, initial=0.0)
    M = M[largest > 0] / largest[largest > 0, None]  # squares must not overflow
    return M / np.linalg.norm(M, axis=1)[:, None]


# --- structure removal, and the search in noise -----------------------------------------------------------------


def gaussianized(Y: np.ndarray, A: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows that are Gaussian in the projection A and unchanged orthogonal to it, (d, n).

    On one axis, values become normal scores. On more, so do the values along rotated axes, repeatedly: rotated by
    quarters of a right angle in a plane (Friedman 1987), at random in three dimensions.
    """
    P = scores = A @ Y
    k = len(A)
    for turn in range(4 * _PASSES if k > 1 else 1):
        if k == 3:
            R = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        else:
            c, s = np.cos(turn * np.pi / 8), np.sin(turn * np.pi / 8)
            R = np.array([[c, s], [-s, c]])[:k, :k] if k == 2 else np.ones((1, 1))
        ranks = np.argsort(np.argsort(R @ scores, axis=1, kind="stable"), axis=1, kind="stable")
        values = ndtri((ranks + 0.5) / Y.shape[1])
        scores = R.T @ (values / values.std(axis=1, ddof=1, keepdims=True))
    return Y + A.T @ (scores - P)


def noise_indices(n: int, d: int, search: PursuitSearch, count: int, rng: np.random.Generator, run: Run) -> np.ndarray:
    """Return the indices that the same search finds in ``count`` tables of n Gaussian rows of d columns, (count,)."""

    def simulate(seed: int) -> float:
        rng = np.random.default_rng(seed)
        return pursue(sphered(rng.standard_normal((n, d))).Y, search, rng).index

    with blas_on_one_thread():  # the same result with any number of threads
        return np.array(
            run.each("searching simulated noise", rng.integers(2**63, size=count).tolist(), simulate), dtype=float
        )
