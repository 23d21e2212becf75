"""Stress of a configuration: target distances of all pairs with weights, initial configurations, and the gradient."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from lowland.arrays.linalg import eigh, over_root, plus_square
from lowland.arrays.namespace import Array, as_double, device_of, eps_of, like, on_accelerator, to_numpy, xp_of
from lowland.arrays.random import standard_normal
from lowland.data.rows import ArrayRows, Rows, SlicedRows, slab_rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.math.spectra.leading import Iteration, fix_signs, leading_eigenpairs
from lowland.math.spectra.operators import DoubleCentered
from lowland.math.statistics.rescaling import power_of_two
from lowland.run.run import Run, all_finite

PAIRS = 1 << 19  # pairs per task of a thread
_NEGLIGIBLE = 1e-12  # fraction of the first eigenvalue below which a direction counts as zero
_TOL = 1e-4  # residual of the eigenvectors: they are only an initialization
_FORMED = 1200  # points up to which a direct solver is used
_DISPROPORTIONATE = 1e6  # ratio of the extents of init and dissimilarities beyond which init is rescaled
_FLAT = 1e-9  # fraction of its largest extent below which a configuration is flat along a direction


# --- targets ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Targets:
    """Target distances of all pairs, and their weights.

    On the CPU the pairs are read from one flat array, a matrix or its upper triangle. NaN: missing.
    """

    T: Array  # (n, n), or on the CPU also the upper triangle, row by row, (n(n - 1)/2,)
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

    @cached_property
    def bases(self) -> np.ndarray:
        """Where each row begins in the flat array, less the positions before its diagonal, (n,)."""
        i = np.arange(self.n, dtype=np.int64)
        return i * self.n if self.T.ndim == 2 else condensed_bases(self.n)

    @property
    def by_ratios(self) -> bool:
        """Whether a device may use the faster formula, which computes the stress from its gradient."""
        return on_accelerator(self.T) and self.W is None and self.masses is None and not self.missing

    def rows(self) -> Rows:
        """The numbers of the points, divided into tasks."""
        numbers = np.arange(self.n, dtype=np.float64)[:, None]
        if self.on_host:
            return ArrayRows(numbers, most_rows=max(1, PAIRS // self.n))
        most = slab_rows(self.n, 8, accelerator=on_accelerator(self.T))
        most = min(most, max(256, self.n // 5))  # five tasks: a third of the square is skipped
        return ArrayRows(
            xp_of(self.T).asarray(numbers), most_rows=most
        )  # in its library, so that no threads of the run are used


def condensed_bases(n: int) -> np.ndarray:
    """Where the pairs of each point stand in the upper triangle: that of (i, j) at bases[i] + j, (n,)."""
    i = np.arange(n, dtype=np.int64)
    return i * n - i * (i + 1) // 2 - i - 1


def upper_triangle(D: np.ndarray) -> np.ndarray:
    """Return the entries above the diagonal, row by row, (n(n - 1)/2,)."""
    n = D.shape[0]
    flat = np.empty(n * (n - 1) // 2, dtype=D.dtype)
    bases = condensed_bases(n)
    for i in range(n - 1):
        flat[bases[i] + i + 1 : bases[i] + n] = D[i, i + 1 :]
    return flat


def _flat_ready(A: Array) -> Array:
    """Return a symmetric matrix in row order, where its transpose serves as well."""
    if not isinstance(A, np.ndarray) or A.flags.c_contiguous:
        return A
    return A.T if A.flags.f_contiguous else np.ascontiguousarray(A)


# --- sums over the pairs of a point -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeightSums:
    """The weights of each point's pairs, summed, and the squared targets of all pairs."""

    weights: Array  # (n,)
    squares: float  # sum over i < j of w t²

    @property
    def divisors(self) -> Array:
        """What half the gradient is divided by to make a majorizing step, (n, 1).

        Without weights this is n, and the step is the Guttman transform. With them the inverse of the Laplacian V is
        replaced by that of its diagonal, which needs no second matrix. Half of that step lowers the stress in any case,
        since V never exceeds twice its diagonal.
        """
        xp = xp_of(self.weights)
        return (self.weights + xp.sum(self.weights) / (self.weights.shape[0] * (self.weights.shape[0] - 1)))[:, None]

    @property
    def mean_target(self) -> float:
        """The root of the weighted mean of the squared targets."""
        return math.sqrt(2 * self.squares / max(1e-300, float(xp_of(self.weights).sum(self.weights))))


def weight_sums(targets: Targets, run: Run) -> WeightSums:
    """Sum weights and squared targets over the pairs of every point."""
    kind = np.dtype(np.float64)
    sums = run.gather(partial(_weight_sums_of, targets), targets.rows(), 2, name="summing weights", dtype=kind)
    return WeightSums(sums[:, 0], float(xp_of(sums).sum(sums[:, 1])) / 2)


def _weight_sums_of(targets: Targets, numbers: np.ndarray) -> Array:
    """The sums of a portion of the points, (m, 2)."""
    start, stop = int(numbers[0, 0]), int(numbers[-1, 0]) + 1
    T = targets.T[start:stop, :]
    xp = xp_of(T)
    W = None if targets.W is None else like(targets.W[start:stop, :], T)
    if targets.missing:
        known = xp.astype(~xp.isnan(T), T.dtype)
        W = known if W is None else W * known
        T = xp.where(xp.isnan(T), xp.zeros_like(T), T)
    if W is None:
        counts = xp.full((T.shape[0],), float(targets.n - 1), dtype=xp.float64, device=device_of(T))
        return xp.stack([counts, row_sums(T * T)], axis=1)
    own = xp.linalg.diagonal(W, offset=start)  # the diagonal is ignored
    return xp.stack([row_sums(W) - as_double(own), row_sums(W * T * T)], axis=1)


def row_sums(A: Array) -> Array:
    """Return the sum of each row, (n,) float64."""
    return xp_of(A).sum(A, axis=1, dtype=xp_of(A).float64)


# --- checks -----------------------------------------------------------------------------------------------------------


def check_pair_weights(weights: Any, beside: Array) -> Array:
    """Return weights of pairs, (n, n), checked: symmetric, finite and not negative."""
    n, W = beside.shape[0], weights
    if W.shape != (n, n):
        raise DataError(
            f"weights has shape {tuple(W.shape)}. It must be {n} x {n}, with one weight for each pair of points."
        )
    host = to_numpy(W)
    if not np.isfinite(host).all() or host.min() < 0:
        raise DataError("weights contains negative or non-finite values. Set the weight of a pair to 0 to ignore it.")
    if not np.allclose(host, host.T):
        raise DataError("weights is not symmetric, but a pair has one weight. Pass (W + W.T) / 2.")
    return like(W, beside)


def drop_weightless(D: Array, W: Array) -> Array:
    """Return the dissimilarities with NaN for pairs of weight zero: the initialization ignores them too."""
    xp = xp_of(W)
    weightless = (W == 0) & ~like(np.eye(W.shape[0], dtype=bool), W, xp.bool)  # the diagonal is ignored
    return xp.where(weightless, xp.full_like(D, float("nan")), D) if bool(xp.any(weightless)) else D


def check_connected(D: Array) -> None:
    """Raise an error where the graph of known distances is disconnected."""
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
            f"The graph of known distances is disconnected: {n - int(reached.sum())} of {n} points, such as point "
            f"{lost}, are not connected to point 0. Pass more distances or positive weights, or scale each connected "
            "component."
        )


# --- initial configurations -------------------------------------------------------------------------------------------


def starting_configurations(
    D: Array, k: int, run: Run, *, init: Any, n_init: int, size: float, rng: np.random.Generator, missing: bool = False
) -> Iterator[Array]:
    """Yield ``n_init`` configurations, (n, k) float64: that of ``init`` first, then random ones of root mean square
    distance ``size``. ``init`` is "classical_mds", "random" or an array.
    """
    n = D.shape[0]
    most = max(1, n - 1)
    if not isinstance(init, str):
        yield given_start(init, D, rng, size)
    elif k > most:
        raise ParameterError(f"{n} points span at most {most} dimensions.", f"Choose at most {most}.", n_components=k)
    elif init == "classical_mds":
        yield classical_start(D, k, run, missing=missing)
    else:
        yield random_start(n, k, size, rng, D)
    for _ in range(n_init - 1):
        yield random_start(n, k, size, rng, D)


def given_start(init: Any, D: Array, rng: np.random.Generator, size: float = 0.0) -> Array:
    """Return a user's initial configuration, (n, k) float64, in the unit of D, checked.

    One that is larger or smaller than the dissimilarities, of root mean square ``size``, by many orders of magnitude
    is rescaled to them: their differences would be lost in rounding error.

    A configuration that spans fewer dimensions than requested is a saddle point of the stress: the gradient is zero
    along the others. It is perturbed at random by a tenth of its extent, with a warning.
    """
    n = D.shape[0]
    if init.shape[0] != n or not all_finite(init):
        raise DataError(
            f"init has shape {tuple(init.shape)}. It must have one row of finite coordinates for each of the {n} "
            "points."
        )
    Z = like(init, D, xp_of(D).float64)
    Z = _of_similar_size(Z, size) if size > 0 and n > 1 else Z
    extents = np.linalg.svd(to_numpy(Z - xp_of(Z).mean(Z, axis=0)[None, :]), compute_uv=False)  # (k,) descending
    if n > 1 and not extents[0] > 0:
        raise ParameterError(
            "The initial configuration has all points in one place, where the gradient is zero. Pass distinct points, "
            "or choose a random initialization."
        )
    rank, full = int(np.sum(extents > _FLAT * extents[0])), min(Z.shape[1], n - 1)
    if rank >= full:
        return Z
    warn(
        f"init spans {rank} of {full} dimensions, and the gradient is zero along the others. The points are perturbed "
        "at random by a tenth of their extent. Pass points that span all dimensions.",
        DataWarning,
    )
    return Z + random_start(n, Z.shape[1], 0.1 * float(extents[0]) * (2 / n) ** 0.5, rng, D)


def _of_similar_size(Z: Array, size: float) -> Array:
    """The configuration, multiplied by a power of two if its extent is out of proportion to a size."""
    xp = xp_of(Z)
    unit = float(power_of_two(float(xp.max(xp.abs(Z)))))
    C = Z / unit - xp.mean(Z / unit, axis=0)[None, :]  # squares must not overflow
    ratio = float(xp.linalg.vector_norm(C)) * math.sqrt(2 / Z.shape[0]) * unit / size
    if ratio == 0 or 1 / _DISPROPORTIONATE < ratio < _DISPROPORTIONATE:
        return Z
    return C * (unit / float(power_of_two(ratio))) if math.isfinite(ratio) else C * size


def random_start(n: int, k: int, size: float, rng: np.random.Generator, beside: Array) -> Array:
    """Return normally distributed coordinates, (n, k) float64, with root mean square distance ``size``."""
    xp = xp_of(beside)
    Z = standard_normal((n, k), rng, xp.astype(beside[:1, :1], xp.float64))
    return Z * (size / (2 * k) ** 0.5)


def classical_start(D: Array, k: int, run: Run, *, missing: bool = False) -> Array:
    """Return the coordinates of classical scaling, (n, k) float64: the leading eigenvectors of -½ J (D∘D) J.

    A missing distance is imputed by the mean of the known distances of its two points. A direction with a negative
    eigenvalue, which has no real coordinates, gets a tenth of its size: at zero extent the gradient would be zero.
    """
    host = isinstance(D, np.ndarray) and D.shape[0] > _FORMED
    held = ArrayRows(D, most_rows=max(1, PAIRS // D.shape[0]) if host else None)
    rows: Rows = _FilledRows(held, run) if missing else held
    if D.shape[0] <= _FORMED:  # -½ J (D∘D) J, formed
        chunks = list(rows.chunks())
        S = as_double(xp_of(chunks[0]).concat(chunks, axis=0)) ** 2
        means = xp_of(S).mean(S, axis=0)
        S = (S - means[:, None] - means[None, :] + xp_of(S).mean(means)) / -2
        pairs = leading_eigenpairs(S, k, run=run, solver="eigh", definite=False)
    else:
        operator = DoubleCentered(rows, run, distances=True)
        pairs = leading_eigenpairs(operator, k, run=run, definite=False, options=Iteration(tol=_TOL, like_array=D))
    xp = xp_of(pairs.values)
    sizes = xp.abs(pairs.values)
    sizes = xp.where(pairs.values > 0, sizes, sizes / 100)
    sizes = xp.where(sizes > _NEGLIGIBLE * xp.max(sizes), sizes, xp.zeros_like(sizes))
    return pairs.vectors * xp.sqrt(sizes)[None, :]


class _FilledRows(SlicedRows):
    """The rows of a distance matrix with imputed values for missing ones."""

    def __init__(self, rows: Rows, run: Run) -> None:
        super().__init__(rows, rows.slab)
        self.means = run.gather(_mean_known, rows, 1, name="imputing distances", dtype=np.dtype(np.float64))[:, 0]

    def prepare(self, piece: Array) -> Array:
        xp = xp_of(piece)
        estimate = (_mean_known(piece) + like(self.means, piece, xp.float64)[None, :]) / 2
        return xp.where(xp.isnan(piece), xp.astype(estimate, piece.dtype), piece)


def _mean_known(D: Array) -> Array:
    """The mean of the known distances of each point, (m, 1)."""
    xp = xp_of(D)
    known = ~xp.isnan(D)
    sums = row_sums(xp.where(known, D, xp.zeros_like(D)))
    return (sums / row_sums(xp.astype(known, xp.float64)))[:, None]


def rotate_to_axes(Z: Array) -> Array:
    """Return the configuration centered and rotated to its principal axes, with fixed signs; the stress is the same."""
    xp = xp_of(Z)
    C = Z - xp.mean(Z, axis=0)[None, :]
    _, V = eigh(C.T @ C)
    return fix_signs(C @ xp.flip(V, axis=1))


# --- stress -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StressGradient:
    """The stress over some pairs, half its gradient, and for Sammon's half its second derivatives."""

    stress: Array | float  # sum over i < j of w (t - d)²
    F: Array  # (n, k) sum_j w (1 - t/d)(z_i - z_j)
    H: Array | None = None  # (n, k) second derivatives of half the stress, of Sammon's only

    def __add__(self, other: Self) -> Self:
        H = None if self.H is None else self.H + other.H
        return type(self)(self.stress + other.stress, self.F + other.F, H)

    def is_finite(self) -> bool:
        """True means the targets were checked before, and a step that is too long is detected by its stress."""
        return True


def stress_gradient(targets: Targets, Z: Array, run: Run, *, exact: bool = True) -> StressGradient:
    """Return the stress at Z, over pairs i < j, and half its gradient; not ``exact``: perhaps without the stress."""
    Z = np.ascontiguousarray(Z.T) if targets.on_host else Z
    return run.fold(targets.rows(), partial(_gradient_of, targets, Z, exact), name="computing stress")


def _gradient_of(targets: Targets, Z: Array, exact: bool, numbers: np.ndarray) -> StressGradient:
    """Stress and gradient at Z, on the CPU (k, n), over the pairs of a portion of the points with all later ones."""
    start, stop = int(numbers[0, 0]), int(numbers[-1, 0]) + 1
    if not targets.on_host:
        by = gradient_by_ratios if targets.by_ratios and not exact else gradient_by_slabs
        return by(targets, Z, start, stop)
    from lowland.kernels.scaling import add_sammon_gradient, add_stress_gradient

    F, bases, T = np.zeros_like(Z), targets.bases[start:stop], targets.T.ravel()
    if targets.masses is not None:
        H = np.zeros_like(Z)
        stress = add_sammon_gradient(T, targets.masses, bases, start, Z, F, H)
        return StressGradient(stress, F.T, H.T)
    W = np.empty(0) if targets.W is None else targets.W.ravel()
    return StressGradient(add_stress_gradient(T, W, bases, start, Z, F), F.T)


def gradient_by_slabs(targets: Targets, Z: Array, start: int, stop: int) -> StressGradient:
    """The same in any array library: a slab of the matrix from its diagonal on, in few, large operations."""
    n, m = targets.n, stop - start
    T = targets.T[start:stop, start:]
    xp = xp_of(T)
    T = T if on_accelerator(T) else as_double(T)
    Y = like(Z[start:, :], T)
    own = Y[:m, :]
    d = xp.sqrt(_squared_distances(own, Y))  # (m, n - start)
    residual = d - T
    if targets.missing:
        residual = xp.where(xp.isnan(residual), xp.zeros_like(residual), residual)
    W = None if targets.W is None else like(targets.W[start:stop, start:], T)
    if targets.masses is not None:
        masses, positive = like(targets.masses, T), xp.where(T > 0, T, xp.full_like(T, float("inf")))
        W = masses[start:stop, None] * masses[None, start:] / positive
    weighted = residual if W is None else residual * xp.sqrt(W)
    within, total = (xp.sum(as_double(xp.linalg.vector_norm(g, axis=1)) ** 2) for g in (weighted[:, :m], weighted))
    stress = total - within / 2  # pairs within the leading square are counted twice
    residual /= d
    if W is not None:
        residual *= W
    F = _differences_times(residual, Y, start, n)
    if targets.masses is None:
        return StressGradient(stress, F)
    return StressGradient(stress, F, _second_derivatives(residual, W * T / (d * d * d), own, Y, start, n))


def gradient_by_ratios(targets: Targets, Z: Array, start: int, stop: int) -> StressGradient:
    """The same for unweighted, complete targets in the fewest passes over a device's memory, without the stress.

    sum_j (1 - t/d)(z_i - z_j) = n(z_i - mean) - sum_j t/d (z_i - z_j), the first of which needs no pairs.
    """
    T = targets.T[start:stop, start:]
    Y = like(Z[start:, :], T)
    S = _squared_distances(Y[: stop - start, :], Y)
    F = -_differences_times(over_root(T, S), Y, start, targets.n)
    if start == 0:
        F += targets.n * (Z - xp_of(Z).mean(Z, axis=0)[None, :])
    return StressGradient(0.0, F)


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


def _squared_distances(own: Array, Y: Array) -> Array:
    """Squared distances by differences, (m, n); that of a point to itself or a duplicate is tiny instead of zero."""
    xp = xp_of(Y)
    S = xp.reshape(eps_of(Y) ** 2 * xp.max(xp.abs(Y)) ** 2 + float(xp.finfo(Y.dtype).smallest_normal), (1, 1))
    for c in range(Y.shape[1]):
        S = plus_square(S, own[:, c, None] - Y[None, :, c])
    return S


def _second_derivatives(ratio: Array, curvature: Array, own: Array, Y: Array, start: int, n: int) -> Array:
    """Sums over pairs of ratio + curvature e² for each coordinate e, (n, k) float64."""
    xp = xp_of(Y)
    m = own.shape[0]
    H = xp.zeros((n, Y.shape[1]), dtype=xp.float64, device=device_of(Y))
    for c in range(Y.shape[1]):
        curves = ratio + curvature * (own[:, c, None] - Y[None, :, c]) ** 2
        H[start : start + m, c] += as_double(xp.sum(curves, axis=1))
        H[start + m :, c] += as_double(xp.sum(curves[:, m:], axis=0))
    return H
