"""Classical scaling: distances to coordinates by eigenpairs, the additive constant, and Gower's placement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, as_double, device_of, eps_of, like, take, to_numpy, xp_of
from lowland.data.rows import ArrayRows, Rows
from lowland.errors import DataError, ParameterError
from lowland.math.distances.to_points import check_new_distances
from lowland.math.optimize.outcome import Outcome, iteration_limit
from lowland.math.spectra.component_rules import Rule
from lowland.math.spectra.leading import Iteration, all_eigenvalues, leading_eigenpairs
from lowland.math.spectra.operators import DoubleCentered
from lowland.math.spectra.principal_axes import Axes, principal_axes
from lowland.math.statistics.rescaling import ValueRange, divided_rows, ordinary_unit
from lowland.run.run import Run

SMALL = 1000  # points up to which all eigenpairs are cheap
_MIXED = 1e-13  # mean of an eigenvector, relative to its largest entry, that is more than rounding error
_TOL, _TOL_SINGLE = 1e-9, 1e-8  # residual of a leading pair, which is about the agreement of different engines
_ROUNDING = 1e-13  # fraction of the first eigenvalue below which another is rounding error
_MOST_STEPS = 50


@dataclass(frozen=True)
class Eigenvalues:
    """The known eigenvalues of B = -½ J(D∘D)J."""

    leading: np.ndarray  # (k,) the largest
    known: np.ndarray  # descending: all n of them; or those found; or Ritz values, which lie within the spectrum
    whole: bool  # whether ``known`` has all nonzero ones
    trace: float  # their sum, which is the sum of all squared distances over 2n
    rounding: float  # a fraction of the first
    definite: bool = False  # whether none can be negative, as with Euclidean distances

    @property
    def least(self) -> float:
        """The level of rounding error of the eigenvalues."""
        return self.rounding * max(float(self.known[0]), 0.0)

    @property
    def lowest(self) -> float:
        """The most negative known eigenvalue, or 0."""
        low = float(self.known[-1])
        return low if low < -self.least else 0.0

    @property
    def positive(self) -> int:
        """Number of leading eigenvalues above rounding error."""
        return int(np.sum(self.leading > self.least))

    @property
    def exact(self) -> bool:
        """Whether the goodness of fit is exact: all eigenvalues are known, or none can be negative."""
        return self.whole or self.definite

    @property
    def goodness(self) -> tuple[float, float]:
        """Σ_k λ / Σ|λ| and Σ_k λ / Σ max(λ, 0), as in R's cmdscale; upper bounds, if not all eigenvalues are known.

        With P and N the sums of the positive and of the negative ones, trace = P - N. The Ritz values give a lower
        bound of N (Ky Fan).
        """
        if self.one_point:
            return 0.0, 0.0
        kept, N = float(self.leading[self.leading > self.least].sum()), float(-self.known[self.known < 0].sum())
        return kept / (self.trace + 2 * N), kept / (self.trace + N)

    @property
    def one_point(self) -> bool:
        """Whether all points coincide."""
        return not self.trace > 0

    @property
    def significant(self) -> int | None:
        """Number of eigenvalues above the size of every negative one; None where more than the known ones may be."""
        count = int(np.sum(self.known > max(-self.lowest, self.least)))
        return count if self.whole or count < len(self.known) else None


@dataclass(frozen=True)
class Scaling:
    """Coordinates whose distances approximate the given ones, from the leading eigenpairs."""

    Z: Array  # (n, k) float64
    eigenvalues: Eigenvalues
    means: Array  # (n,) float64, mean squared distance of each point to all points
    outcome: Outcome

    @property
    def weights(self) -> Array:
        """½ Z Λ^-1, (n, k): the weights of the squared distances in Gower's formula, which sum to zero.

        The eigenvector of a small eigenvalue may contain a part of the constant one, which would be multiplied by the
        largest distances: it is subtracted.
        """
        xp, leading = xp_of(self.Z), self.eigenvalues.leading
        W = self.Z / like(2 * np.where(leading > 0, leading, 1.0), self.Z)[None, :]
        means = xp.mean(W, axis=0)
        mixed = xp.abs(means) > _MIXED * xp.max(xp.abs(W), axis=0)
        return W - xp.where(mixed, means, xp.zeros_like(means))[None, :] if bool(xp.any(mixed)) else W


def classical_scaling(
    D: Array,
    k: int = 2,
    run: Run | None = None,
    *,
    constant: float = 0.0,
    whole: bool = False,
    tol: float | None = None,
    max_iter: int | None = None,
) -> Scaling:
    """Return k coordinates Z = V Λ^½ of points with distances D, (n, n), from the leading eigenpairs of -½ J(D∘D)J.

    Coordinates beyond the positive eigenvalues are zero.

    Parameters
    ----------
    D : (n, n) symmetric distances, zero on the diagonal.
    k : the number of coordinates.
    run : the engine. None means this machine.
    constant : a number added to the distances of different points.
    whole : compute all eigenvalues, as always for up to a thousand points.
    tol, max_iter : when the iteration for the leading eigenpairs stops.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.scaling.classical import classical_scaling
    >>> D = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]])  # three points along a line
    >>> np.abs(classical_scaling(D, 1).Z[:, 0]).round(4).tolist()
    [1.3333, 0.3333, 1.6667]
    """
    n = D.shape[0]
    check_dimensions(k, n)
    run = run or Run()
    whole = whole or n <= SMALL
    B = DoubleCentered(ArrayRows(D), run, True, constant)
    means = B.row_means(D)
    if whole:  # all eigenvalues, and the leading eigenvectors only: the others would cost most
        full = formed(B, D)
        pairs = leading_eigenpairs(full, k, run=run, definite=False, options=Iteration(tol=_TOL))
        known, why = to_numpy(all_eigenvalues(full)), f"all eigenvalues of {n} points"
    else:
        tol = tol or (_TOL if eps_of(D) < _TOL else _TOL_SINGLE)
        options = Iteration(tol=tol, max_iter=max_iter, like_array=D)
        pairs = leading_eigenpairs(B, k, run=run, definite=False, options=options)
        known = to_numpy(pairs.values) if pairs.ritz is None else pairs.ritz
        why = f"{k} of {n} eigenpairs, without forming the matrix"
    trace, rounding = float(xp_of(means).sum(means)) / 2, max(_ROUNDING, 32 * eps_of(D))
    found = Eigenvalues(to_numpy(pairs.values), known, whole, trace, rounding)
    sizes = np.zeros(k) if found.one_point else np.sqrt(np.where(found.leading > found.least, found.leading, 0))
    return Scaling(pairs.vectors * like(sizes, pairs.vectors)[None, :], found, means, pairs.outcome(why))


def check_dimensions(k: int, n: int) -> None:
    """Raise an error for more coordinates than points."""
    if k > n:
        raise ParameterError(f"there are {n} points.", f"Choose at most {n}.", n_components=k)


def bytes_to_solve(n: int, k: int, *, whole: bool) -> int:
    """Return the memory besides the distances: B in float64 with copies for LAPACK, or a Krylov basis and its image."""
    return 5 * 8 * n * n if whole or n <= SMALL else 20 * 8 * n * (k + 10)


def formed(B: DoubleCentered, D: Array) -> Array:
    """Return the operator over the rows of D as a matrix, (n, n) float64."""
    S, c = as_double(D), B.constant
    xp, n = xp_of(S), D.shape[0]
    if B.distances:
        S = S * (S + 2 * c) / -2
    means = xp.mean(S, axis=0)
    S = S - means[None, :] - (means - xp.mean(means))[:, None]
    return S + (c * c / 2) * _centering(n, S) if c else S


def _centering(n: int, like_array: Array) -> Array:
    """J = I - 11'/n."""
    return xp_of(like_array).eye(n, dtype=like_array.dtype, device=device_of(like_array)) - 1 / n


def eigenvalues_of_axes(axes: Axes, k: int) -> Eigenvalues:
    """Return the eigenvalues of Euclidean distances from the principal axes: B = CC' has those of the scatter."""
    rows = axes.columns.rows
    known = axes.spectrum.values * (rows - 1)
    trace = axes.spectrum.total * (rows - 1)
    leading = np.zeros(k)
    leading[: len(known)] = known[:k]
    return Eigenvalues(leading, known, axes.spectrum.whole, trace, 0.0, definite=True)


def axes_in_units(rows: Rows, run: Run, rule: Rule) -> tuple[Axes, Rows, float]:
    """Return the principal axes of rows, divided by a unit if their squares overflow; those rows, and the unit.

    The rows are read again only in this case, or where they contain NaN, which the error reports.
    """
    single = rows.dtype == np.float32
    found: Axes | DataError
    try:
        found = principal_axes(rows, run, rule)
        total = found.spectrum.total
        if total > 0 and ordinary_unit(total**0.5, single=single) == 1:
            return found, rows, 1.0
    except DataError as error:
        found = error
    values = run.fold(rows, ValueRange.of, name="finding the scale")
    unit = ordinary_unit(max(-values.low, values.high), single=single)
    if unit == 1:
        if isinstance(found, DataError):
            raise found
        return found, rows, 1.0
    divided = divided_rows(rows, unit)
    return principal_axes(divided, run, rule), divided, unit


def squared_units(values: np.ndarray, unit: float, like_array: Array) -> Array:
    """Return eigenvalues times the squared unit, in float64 where they are out of the range of float32."""
    with np.errstate(over="ignore", under="ignore"):
        values = values * unit * unit
    sizes = np.abs(values[np.isfinite(values)])
    reach = np.finfo(np.float32)
    far = sizes.size and sizes.max() > 0 and not reach.tiny < sizes.max() < reach.max
    return like(values, like_array, xp_of(like_array).float64 if far else None)


# --- the additive constant --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AdditiveConstant:
    """The smallest number that makes distances Euclidean when it is added to all of them."""

    value: float
    outcome: Outcome  # the trace holds the constant after each step


@dataclass(frozen=True)
class _Reflected:
    """σJ - B: its leading eigenvector is that of the lowest eigenvalue of B, except for the constant vector."""

    B: Any
    sigma: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.B.shape

    def __matmul__(self, V: Array) -> Array:
        C = V - xp_of(V).mean(V, axis=0)[None, :]
        return self.sigma * C - self.B @ C


def additive_constant(D: Array, run: Run | None = None) -> AdditiveConstant:
    """Return Cailliez's constant: the smallest c >= 0 for which the distances d_ij + c, i ≠ j, are Euclidean.

    B(c) = B1 + 2c B2 + ½c² J with B1 = -½ J(D∘D)J and B2 = -½ JDJ must have no negative eigenvalue. For a vector v the
    quadratic v'B(c)v is negative up to its larger root p(v), and c is the maximum of p(v). Alternating between v, the
    lowest eigenvector of B(c), and c = p(v) converges to it quadratically, with symmetric eigenproblems only; Cailliez
    (1983) finds the same number by an unsymmetric eigenproblem of twice the size.
    """
    run = run or Run()
    B, sums = DoubleCentered(ArrayRows(D), run, True), DoubleCentered(ArrayRows(D), run, False)  # B1, and JDJ = -2 B2
    means = B.row_means(D)
    xp, sigma = xp_of(means), float(xp_of(means).sum(means)) / 2
    small = D.shape[0] <= SMALL
    B1: Any = formed(B, D) if small else B
    S: Any = formed(sums, D) if small else sums
    c, trace = 0.0, []
    converged = False
    for _ in run.iterate("additive constant", _MOST_STEPS):
        if small:  # σJ - B(c)
            M = (sigma - c * c / 2) * _centering(B1.shape[0], B1) - B1 + c * S
        else:
            M = _Reflected(replace(B, constant=c), sigma)
        pair = leading_eigenpairs(M, 1, run=run, definite=False, options=Iteration(tol=_TOL, like_array=D))
        v = pair.vectors
        # v'B(c + t)v = b0 + b1 t + ½t², whose larger root is the step
        b0, b1 = sigma - float(pair.values[0]), c - float(xp.sum(v * (S @ v)))
        step = (b1 * b1 - 2 * b0) ** 0.5 - b1 if b0 < 0 else 0.0
        c += step
        trace.append(c)
        converged = b0 >= -_ROUNDING * sigma or step <= _ROUNDING * c
        if converged:
            break
    why = "the distances are Euclidean" if converged else iteration_limit(_MOST_STEPS)
    return AdditiveConstant(c, Outcome("lowest eigenvector", "", len(trace), converged, tuple(trace), why))


# --- new points -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Placement:
    """Gower's formula: a point at squared distances δ from the kept ones has the coordinates z = ½ Λ^-1 Z'(means - δ).

    Picklable, so that it can be sent to a worker. ``measure`` computes the distances of rows; without it the rows are
    distances, of which ``columns`` are those to the kept points (None: all). The additive ``constant`` c is added to
    every distance but zero, which means that the new point is a training point. At distance zero of r points, which
    are at distance c in the fit, it is placed at their center: δ = c²(r - 1)/r for each of them. Weights and means are
    those of distances divided by ``unit``.
    """

    weights: Array  # (m, k)
    means: Array  # (m,)
    measure: Callable[[Array], Array] | None = None
    columns: np.ndarray | None = None
    constant: float = 0.0
    unit: float = 1.0

    def __call__(self, X: Array) -> Array:
        """Place one slab of rows, (rows, k), in its precision."""
        if self.measure is not None:
            D = as_double(self.measure(X))
        else:
            kept = X if self.columns is None else take(X, self.columns, axis=1)
            D = as_double(check_new_distances(kept, columns=self.columns))
        xp = xp_of(D)  # the rows may be edges in a sparse matrix
        D = D if self.unit == 1 else D / self.unit
        S = D * D  # δ
        if self.constant:
            c, same = self.constant / self.unit, D == 0
            r = xp.sum(xp.astype(same, D.dtype), axis=1)[:, None]
            at_duplicates = c * c * (r - 1) / xp.where(r > 0, r, xp.ones_like(r))
            S = xp.where(same, xp.broadcast_to(at_duplicates, D.shape), (D + c) ** 2)
        W, means = like(self.weights, D), like(self.means, D)
        Z = (means[None, :] - S) @ W
        return xp.astype(Z if self.unit == 1 else Z * self.unit, X.dtype, copy=False)
