"""Stress: how far the distances of a configuration are from given ones, its slopes, and where new points lie best."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from lowland.arrays.linalg import eigh, over_root, plus_square
from lowland.arrays.namespace import Array, device_of, like, on_accelerator, to_numpy, xp_of
from lowland.arrays.precision import as_double, eps_of
from lowland.blocks.optimize.gradient_descent import StepSize, descend
from lowland.blocks.optimize.lbfgs import Course, Spot, descend_safely
from lowland.blocks.spectra.leading import fix_signs, leading_eigenpairs
from lowland.blocks.spectra.operators import DoubleCentered
from lowland.data.rows import ArrayRows, Rows, SlicedRows, slab_rows
from lowland.errors import DataError
from lowland.run.run import Run

_PAIRS = 1 << 19  # pairs that make a thread's portion of work
_NEGLIGIBLE = 1e-12  # share of the first eigenvalue below which the start has no extent along a direction
_START_TOL = 1e-4  # residual of the eigenvectors of a start: the stress goes on from there
_FORMED = 1200  # points up to which the start is found by a direct method


# --- targets: what the distances should be ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Targets:
    """What the distances of all pairs should be, and how much each counts.

    On the host the pairs are read from one flat array, be it a matrix or the upper triangle of one. NaN: not known.
    """

    T: Array  # (n, n), or on the host also the upper triangle, row by row, (n(n - 1)/2,)
    W: Array | None = None  # (n, n) weights, or None: ones
    masses: Array | None = None  # (n,) of Sammon's stress: the weights are m_i m_j / t
    n: int = 0
    missing: bool = False  # whether any target is NaN

    @classmethod
    def of(cls, T: Array, W: Array | None = None, masses: Array | None = None, *, missing: bool = False) -> Self:
        """Targets in a matrix, (n, n)."""
        return cls(_flat_ready(T), None if W is None else _flat_ready(W), masses, T.shape[0], missing)

    @property
    def on_host(self) -> bool:
        """Whether compiled loops can read them."""
        return isinstance(self.T, np.ndarray)

    @property
    def bases(self) -> np.ndarray:
        """Where each row begins in the flat array, less the positions before its diagonal, (n,)."""
        i = np.arange(self.n, dtype=np.int64)
        return i * self.n if self.T.ndim == 2 else condensed_bases(self.n)

    @property
    def by_ratios(self) -> bool:
        """Whether a device may take the short way, which finds the stress from the pulls."""
        return on_accelerator(self.T) and self.W is None and self.masses is None and not self.missing

    def rows(self) -> Rows:
        """The numbers of the points, cut into portions of work."""
        numbers = np.arange(self.n, dtype=np.float64)[:, None]
        if self.on_host:
            return ArrayRows(numbers, most_rows=max(1, _PAIRS // self.n))
        most = slab_rows(self.n, 8, accelerator=on_accelerator(self.T))
        most = min(most, max(256, self.n // 5))  # five: a third of the square is left out
        return ArrayRows(xp_of(self.T).asarray(numbers), most_rows=most)  # numbers of its library: no threads of ours


def condensed_bases(n: int) -> np.ndarray:
    """Where the pairs of each point stand in the upper triangle: that of (i, j) at bases[i] + j, (n,)."""
    i = np.arange(n, dtype=np.int64)
    return i * n - i * (i + 1) // 2 - i - 1


def _flat_ready(A: Array) -> Array:
    """A symmetric matrix as the loops read it: by rows, which those of its transpose are as well."""
    if not isinstance(A, np.ndarray) or A.flags.c_contiguous:
        return A
    return A.T if A.flags.f_contiguous else np.ascontiguousarray(A)


# --- stress and slopes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pulls:
    """The stress over some pairs, and what they pull every point by: half its gradient."""

    stress: Array | float  # sum over i < j of w (t - d)²
    F: Array  # (n, k) sum_j w (1 - t/d)(z_i - z_j)
    H: Array | None = None  # (n, k) second derivatives of half the stress, of Sammon's only

    def __add__(self, other: Self) -> Self:
        """Add those of other pairs."""
        H = None if self.H is None else self.H + other.H
        return type(self)(self.stress + other.stress, self.F + other.F, H)

    def is_finite(self) -> bool:
        """Always: the targets were checked before, and a step too far is seen by its stress."""
        return True


@dataclass(frozen=True)
class PullsAt:
    """The pulls at Z over the pairs of some points with all later ones."""

    targets: Targets
    Z: Array  # (n, k) float64
    exact: bool = False  # whether the stress must be summed from the gaps

    def __call__(self, numbers: np.ndarray) -> Pulls:
        """Of a portion of the points."""
        start, stop = int(numbers[0, 0]), int(numbers[-1, 0]) + 1
        if self.targets.on_host:
            return self._by_loops(start, stop)
        by = pulls_by_ratios if self.targets.by_ratios and not self.exact else pulls_by_slabs
        return by(self.targets, self.Z, start, stop)

    def _by_loops(self, start: int, stop: int) -> Pulls:
        from lowland.kernels.stress import add_pulls, add_sammon_pulls

        targets, Z = self.targets, np.ascontiguousarray(self.Z.T)  # (k, n)
        F, bases = np.zeros_like(Z), targets.bases[start:stop]
        T = targets.T.ravel()
        if targets.masses is not None:
            H = np.zeros_like(Z)
            stress = add_sammon_pulls(T, targets.masses, bases, start, Z, F, H)
            return Pulls(stress, F.T, H.T)
        W = np.empty(0) if targets.W is None else targets.W.ravel()
        return Pulls(add_pulls(T, W, bases, start, Z, F), F.T)


def pulls_by_slabs(targets: Targets, Z: Array, start: int, stop: int) -> Pulls:
    """The same in any array library: a slab of the matrix from its diagonal on, in few, large operations."""
    n = targets.n
    T = targets.T[start:stop, start:]
    xp = xp_of(T)
    T = T if on_accelerator(T) else as_double(T)
    Y = like(Z[start:, :], T)
    own = Y[: stop - start, :]
    d = _distances(own, Y)  # (m, n - start)
    gap = d - T
    if targets.missing:
        gap = xp.where(xp.isnan(gap), xp.zeros_like(gap), gap)
    W = _slab_weights(targets, T, start, stop)
    stress = _half_within(gap if W is None else gap * xp.sqrt(W))
    gap /= d
    if W is not None:
        gap *= W
    F = _differences_times(gap, Y, start, n)
    if targets.masses is None:
        return Pulls(stress, F)
    return Pulls(stress, F, _second_derivatives(gap, W * T / (d * d * d), own, Y, start, n))


def pulls_by_ratios(targets: Targets, Z: Array, start: int, stop: int) -> Pulls:
    """The same for unweighted, complete targets in the fewest passes over a device's memory, without the stress.

    sum_j (1 - t/d)(z_i - z_j) = n(z_i - mean) - sum_j t/d (z_i - z_j), the first of which needs no pairs.
    """
    T = targets.T[start:stop, start:]
    Y = like(Z[start:, :], T)
    S = _squared_distances(Y[: stop - start, :], Y)
    F = -_differences_times(over_root(T, S), Y, start, targets.n)
    if start == 0:
        F += targets.n * (Z - xp_of(Z).mean(Z, axis=0)[None, :])
    return Pulls(0.0, F)


def _differences_times(M: Array, Y: Array, start: int, n: int) -> Array:
    """sum_j m_ij (z_i - z_j) over the pairs of a slab from its diagonal on, for both of each pair, (n, k) float64."""
    xp = xp_of(M)
    m = M.shape[0]
    own, ones = Y[:m, :], xp.ones_like(Y[:, :1])
    sums = as_double(M @ xp.concat([Y, ones], axis=1))  # (m, k + 1)
    F = xp.zeros((n, Y.shape[1]), dtype=sums.dtype, device=device_of(M))
    F[start : start + m, :] += sums[:, -1:] * as_double(own) - sums[:, :-1]
    if start + m < n:
        sums = as_double(M[:, m:].T @ xp.concat([own, ones[:m, :]], axis=1))
        F[start + m :, :] += sums[:, -1:] * as_double(Y[m:, :]) - sums[:, :-1]
    return F


def _distances(own: Array, Y: Array) -> Array:
    return xp_of(Y).sqrt(_squared_distances(own, Y))


def _squared_distances(own: Array, Y: Array) -> Array:
    """Squared distances by differences, (m, n); that of a point to itself, or to its twin, is tiny instead of zero."""
    xp = xp_of(Y)
    S = xp.reshape(eps_of(Y) ** 2 * xp.max(xp.abs(Y)) ** 2 + float(xp.finfo(Y.dtype).smallest_normal), (1, 1))
    for c in range(Y.shape[1]):
        S = plus_square(S, own[:, c, None] - Y[None, :, c])
    return S


def _half_within(gap: Array) -> Array:
    """The sum of squares, float64, of which pairs within the leading square are met twice."""
    xp = xp_of(gap)
    m = gap.shape[0]
    within, all_of_them = (xp.sum(as_double(xp.linalg.vector_norm(g, axis=1)) ** 2) for g in (gap[:, :m], gap))
    return all_of_them - within / 2


def _second_derivatives(pull: Array, bend: Array, own: Array, Y: Array, start: int, n: int) -> Array:
    """Sums over pairs of pull + bend e² for each coordinate e, (n, k) float64."""
    xp = xp_of(Y)
    m = own.shape[0]
    H = xp.zeros((n, Y.shape[1]), dtype=xp.float64, device=device_of(Y))
    for c in range(Y.shape[1]):
        curves = pull + bend * (own[:, c, None] - Y[None, :, c]) ** 2
        H[start : start + m, c] += as_double(xp.sum(curves, axis=1))
        H[start + m :, c] += as_double(xp.sum(curves[:, m:], axis=0))
    return H


def _slab_weights(targets: Targets, T: Array, start: int, stop: int) -> Array | None:
    xp = xp_of(T)
    if targets.masses is None:
        return None if targets.W is None else like(targets.W[start:stop, start:], T)
    m = like(targets.masses, T)
    positive = xp.where(T > 0, T, xp.full_like(T, float("inf")))
    return m[start:stop, None] * m[None, start:] / positive


def stress_pulls(targets: Targets, Z: Array, run: Run, *, exact: bool = True) -> Pulls:
    """Return the stress at Z, over pairs i < j, and its pulls; not ``exact``: perhaps without the stress."""
    return run.fold(targets.rows(), PullsAt(targets, Z, exact), name="measuring stress")


# --- majorization -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Loads:
    """Of every point, the weights of its pairs and their squared targets, summed."""

    weights: Array  # (n,)
    squares: float  # sum over i < j of w t²

    @property
    def steps(self) -> Array:
        """What a pull is divided by to make a step, (n, 1).

        Without weights this is n, and the step that of Guttman's transform. With them the inverse of the Laplacian V is
        replaced by that of its diagonal, which needs no second matrix. Half of that step lowers the stress in any case,
        since V never exceeds twice its diagonal.
        """
        xp = xp_of(self.weights)
        return (self.weights + xp.sum(self.weights) / (self.weights.shape[0] * (self.weights.shape[0] - 1)))[:, None]


def loads_of(targets: Targets, run: Run) -> Loads:
    """Sum weights and squared targets over the pairs of every point."""
    sums = run.gather(_LoadsAt(targets), targets.rows(), 2, name="adding weights", dtype=np.dtype(np.float64))
    xp = xp_of(sums)
    return Loads(sums[:, 0], float(xp.sum(sums[:, 1])) / 2)


@dataclass(frozen=True)
class _LoadsAt:
    targets: Targets

    def __call__(self, numbers: np.ndarray) -> Array:
        start, stop = int(numbers[0, 0]), int(numbers[-1, 0]) + 1
        T = self.targets.T[start:stop, :]
        xp = xp_of(T)
        W = None if self.targets.W is None else like(self.targets.W[start:stop, :], T)
        if self.targets.missing:
            known = xp.astype(~xp.isnan(T), T.dtype)
            W = known if W is None else W * known
            T = xp.where(xp.isnan(T), xp.zeros_like(T), T)
        if W is None:
            counts = xp.full((T.shape[0],), float(self.targets.n - 1), dtype=xp.float64, device=device_of(T))
            return xp.stack([counts, _row_sums(T * T)], axis=1)
        own = xp.linalg.diagonal(W, offset=start)  # a point's weight with itself means nothing
        return xp.stack([_row_sums(W) - as_double(own), _row_sums(W * T * T)], axis=1)


def _row_sums(A: Array) -> Array:
    return xp_of(A).sum(A, axis=1, dtype=xp_of(A).float64)


@dataclass(frozen=True)
class MetricStress:
    """Half the raw stress, as something to be minimised."""

    targets: Targets
    loads: Loads
    run: Run

    def __call__(self, Z: Array) -> Spot:
        """The stress at Z, its slope, and the scale of the majorizing step."""
        return self._spot(Z, exact=False)

    def exactly(self, Z: Array) -> Spot:
        """The same with the stress summed from the gaps also where a device has a shorter way."""
        return self._spot(Z, exact=True)

    def _spot(self, Z: Array, *, exact: bool) -> Spot:
        pulls = stress_pulls(self.targets, Z, self.run, exact=exact)
        xp = xp_of(Z)
        # sum w(t - d)² = sum w t² - 2 sum w t d + sum w d², F'Z = sum w d² - sum w t d: two of three tell the third
        known = self.loads.squares + 2 * float(xp.sum(pulls.F * Z))
        if exact or not self.targets.by_ratios:
            stress = float(pulls.stress)
            extent = known - stress
        else:
            extent = self.targets.n * float(xp.sum((Z - xp.mean(Z, axis=0)[None, :]) ** 2))
            stress = max(0.0, known - extent)
        return Spot(Z, stress / 2, pulls.F, 1 / self.loads.steps, extent / 2)


@dataclass(frozen=True)
class SammonStress:
    """Half of Sammon's stress, without its divisor: sum (t - d)²/t over pairs."""

    targets: Targets
    total: float  # sum of the targets over pairs
    run: Run

    def __call__(self, Z: Array) -> Spot:
        """The stress at Z, its slope, and Newton's scale: one over the second derivative by each coordinate."""
        pulls = stress_pulls(self.targets, Z, self.run)
        H = pulls.H
        assert H is not None
        xp = xp_of(H)
        bends = xp.abs(H)  # as Sammon did: where the curve bends down, step down it all the same
        least = 1e-3 * xp.mean(bends)
        bends = xp.where(bends > least, bends, xp.broadcast_to(least, bends.shape))
        stress = float(pulls.stress)
        return Spot(Z, stress / 2, pulls.F, 1 / bends, self.total / 2)


def minimize_stress(
    Z: Array,
    stress: Callable[[Array], Spot],
    run: Run,
    *,
    eps: float,
    max_iter: int,
    solver: Literal["majorization", "gradient"] = "majorization",
    accelerate: bool = True,
) -> Course:
    """Minimise a stress from Z by majorization, or by gradient descent with momentum as the textbooks describe.

    Both stop when an iteration lowers the stress by less than ``eps`` times sum w d².
    """
    if solver == "gradient":
        return _by_gradients(Z, stress, run, eps, max_iter)
    return descend_safely(
        Z,
        stress,
        lambda before, after: before.value - after.value < eps * after.size,
        max_iter=max_iter,
        run=run,
        accelerate=accelerate,
    )


def _by_gradients(Z: Array, stress: Callable[[Array], Spot], run: Run, eps: float, max_iter: int) -> Course:
    xp = xp_of(Z)
    loss = _Loss(stress, Z)
    first = loss.at(Z)
    step = float(xp.min(first.inverse)) * first.size if first.size > 0 else 1.0
    descent = descend(Z, loss, StepSize(step, None, math.sqrt(eps / step), 1.0, max_iter), run)
    trace = tuple(value * loss.unit for value in descent.trace)
    return Course(loss.at(descent.theta), trace, descent.converged, loss.passes)


class _Loss:
    """A stress in units of its extent at the start, for ``descend``; each configuration is measured once."""

    def __init__(self, stress: Callable[[Array], Spot], Z: Array) -> None:
        self.stress, self.last = stress, stress(Z)
        self.unit, self.passes = self.last.size or 1.0, 1

    def at(self, Z: Array) -> Spot:
        if Z is not self.last.Z:
            self.last = self.stress(Z)
            self.passes += 1
        return self.last

    def __call__(self, theta: Array) -> float:
        return self.at(theta).value / self.unit

    def faintest(self, theta: Array) -> float:
        """One: what is small beside the whole stress is small."""
        return 1.0

    def gradient(self, theta: Array) -> Array:
        return self.at(theta).slope / self.unit


def check_connected(D: Array) -> None:
    """Refuse distances of which so many are missing that parts of the points could lie anywhere."""
    n = D.shape[0]
    reached, waiting = np.zeros(n, dtype=bool), [0]
    reached[0] = True
    while waiting:
        i = waiting.pop()
        fresh = np.flatnonzero(~np.isnan(to_numpy(D[i, :])) & ~reached)
        reached[fresh] = True
        waiting.extend(fresh.tolist())
    if not reached.all():
        lost = int(np.argmin(reached))
        raise DataError(
            f"No chain of known distances joins point {lost} to point 0: {n - int(reached.sum())} of {n} points could "
            "lie anywhere. Give more distances, or weights above zero, or scale each part by itself."
        )


# --- where to start, and how to turn the result -----------------------------------------------------------------------


def classical_start(D: Array, k: int, run: Run, *, missing: bool = False) -> Array:
    """Return the coordinates of classical scaling, (n, k) float64: the leading eigenvectors of -½ J (D∘D) J.

    A missing distance is taken as the mean of what is known of its two points. A direction of negative eigenvalue,
    which no real coordinates have, is given a tenth of its size: along an exact zero the stress would have no slope.
    """
    host = isinstance(D, np.ndarray) and D.shape[0] > _FORMED
    held = ArrayRows(D, most_rows=max(1, _PAIRS // D.shape[0]) if host else None)
    rows: Rows = _FilledRows(held, run) if missing else held
    if D.shape[0] <= _FORMED:
        pairs = leading_eigenpairs(_centered_squares(rows), k, run=run, solver="eigh", definite=False)
    else:
        operator = DoubleCentered(rows, run, distances=True)
        pairs = leading_eigenpairs(operator, k, run=run, like_array=D, definite=False, tol=_START_TOL)
    xp = xp_of(pairs.values)
    sizes = xp.abs(pairs.values)
    sizes = xp.where(pairs.values > 0, sizes, sizes / 100)
    sizes = xp.where(sizes > _NEGLIGIBLE * xp.max(sizes), sizes, xp.zeros_like(sizes))
    return pairs.vectors * xp.sqrt(sizes)[None, :]


def _centered_squares(rows: Rows) -> Array:
    """-½ J (D∘D) J, formed, (n, n) float64."""
    chunks = list(rows.chunks())
    xp = xp_of(chunks[0])
    S = as_double(xp.concat(chunks, axis=0)) ** 2
    means = xp.mean(S, axis=0)
    return (S - means[:, None] - means[None, :] + xp.mean(means)) / -2


class _FilledRows(SlicedRows):
    """The rows of a matrix of distances with guesses for those that are missing."""

    def __init__(self, rows: Rows, run: Run) -> None:
        super().__init__(rows, rows.slab)
        self.means = run.gather(_mean_known, rows, 1, name="filling gaps", dtype=np.dtype(np.float64))[:, 0]

    def prepare(self, piece: Array) -> Array:
        xp = xp_of(piece)
        guess = (_mean_known(piece) + like(self.means, piece, xp.float64)[None, :]) / 2
        return xp.where(xp.isnan(piece), xp.astype(guess, piece.dtype), piece)


def _mean_known(D: Array) -> Array:
    """The mean of the known distances of each point, (m, 1)."""
    xp = xp_of(D)
    known = ~xp.isnan(D)
    sums = _row_sums(xp.where(known, D, xp.zeros_like(D)))
    return (sums / _row_sums(xp.astype(known, xp.float64)))[:, None]


def in_principal_axes(Z: Array) -> Array:
    """Return the configuration centered and turned to its principal axes, signs fixed: stress leaves these free."""
    xp = xp_of(Z)
    C = Z - xp.mean(Z, axis=0)[None, :]
    _, V = eigh(C.T @ C)
    return fix_signs(C @ xp.flip(V, axis=1))
