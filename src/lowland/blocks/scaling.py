"""Classical scaling: distances to coordinates by eigenpairs, the additive constant, and Gower's placement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.linalg import eigh
from lowland.arrays.namespace import Array, device_of, like, to_numpy, xp_of
from lowland.arrays.precision import as_double, eps_of
from lowland.blocks.axes import Axes, SolverChoice
from lowland.blocks.distances import DistancesTo
from lowland.blocks.operators import DoubleCentered
from lowland.blocks.spectral import Eigenpairs, all_eigenvalues, fix_signs, leading_eigenpairs
from lowland.data.rows import ArrayRows
from lowland.errors import DataError, ParameterError
from lowland.run.run import Run

SMALL = 1000  # points up to which all eigenpairs cost nothing worth saving
BYTES_TO_SOLVE = 5 * 8  # for each entry of the matrix: it in float64, a copy for LAPACK, its vectors, work space
_TOL = 1e-9  # residual of a leading pair: coordinates of different engines agree to about as much
_ROUNDING = 1e-13  # the share of the first eigenvalue below which another is nothing but rounding
_MOST_STEPS = 50


@dataclass(frozen=True)
class Eigenvalues:
    """What is known of the eigenvalues of B = -½ J(D∘D)J."""

    leading: np.ndarray  # (k,) the largest
    known: np.ndarray  # descending: all n of them; or those found; or Ritz values, which lie within the spectrum
    whole: bool  # whether ``known`` are all that are not zero
    trace: float  # their sum, which is the sum of all squared distances over 2n
    rounding: float  # a share of the first
    definite: bool = False  # whether none can be negative: those of Euclidean distances

    @property
    def least(self) -> float:
        """What an eigenvalue must exceed to be more than rounding."""
        return self.rounding * max(float(self.known[0]), 0.0)

    @property
    def lowest(self) -> float:
        """The most negative known, or 0."""
        low = float(self.known[-1])
        return low if low < -self.least else 0.0

    @property
    def positive(self) -> int:
        """How many of the leading ones are positive beyond rounding."""
        return int(np.sum(self.leading > self.least))

    @property
    def exact(self) -> bool:
        """Whether the goodness of fit is known, not only bounded: all eigenvalues are, or none can be negative."""
        return self.whole or self.definite

    @property
    def goodness(self) -> tuple[float, float]:
        """Σ_k λ / Σ|λ| and Σ_k λ / Σ max(λ, 0), as in R's cmdscale; at most that, if not all eigenvalues are known.

        With P and N the sums of the positive and of the negative ones, trace = P - N. The Ritz values give N at least
        (Ky Fan), and never too much.
        """
        kept, N = float(self.leading.sum()), float(-self.known[self.known < 0].sum())
        return kept / (self.trace + 2 * N), kept / (self.trace + N)

    @property
    def significant(self) -> int | None:
        """How many exceed every negative one in size, and rounding; None if all that are known do, and are not all."""
        count = int(np.sum(self.known > max(-self.lowest, self.least)))
        return count if self.whole or count < len(self.known) else None

    def check(self, k: int) -> None:
        """Refuse to draw more coordinates than there are positive eigenvalues."""
        if not self.trace > 0:
            raise DataError("All points coincide: every distance is zero. There is nothing to draw; check the data.")
        if self.positive < k:
            raise ParameterError(
                f"n_components={k}: the distances have {self.positive} positive eigenvalues, and no more coordinates. "
                f"Choose at most {self.positive}."
            )


@dataclass(frozen=True)
class Scaling:
    """Coordinates whose distances are those given, as nearly as the leading eigenpairs can."""

    Z: Array  # (n, k) float64
    eigenvalues: Eigenvalues
    means: Array  # (n,) float64, the mean squared distance of each point to all
    solver: SolverChoice

    @property
    def weights(self) -> Array:
        """½ Z Λ^-1, (n, k): what Gower's formula multiplies squared distances with."""
        return self.Z / like(2 * self.eigenvalues.leading, self.Z)[None, :]


def classical_scaling(D: Array, k: int, run: Run, *, constant: float = 0.0, whole: bool = False) -> Scaling:
    """Return k coordinates Z = V Λ^½ of points with distances D, (n, n), from the leading eigenpairs of -½ J(D∘D)J.

    ``constant`` is added to the distances of different points. ``whole`` asks for all eigenvalues; of up to a thousand
    points they are always found.
    """
    n = D.shape[0]
    B = DoubleCentered(ArrayRows(D), run, True, constant)
    means = B.row_means(D)
    trace = float(xp_of(means).sum(means)) / 2
    rounding = max(_ROUNDING, 32 * eps_of(D))
    if n <= SMALL:
        values, V = eigh(formed(B, D))
        xp = xp_of(values)
        known, V = np.flip(to_numpy(values)), fix_signs(xp.flip(V, axis=1)[:, : min(k, n)])
        solver = SolverChoice("eigh", f"{n} points are few, so all eigenpairs cost nothing worth saving")
        found = Eigenvalues(known[:k], known, True, trace, rounding)
    else:
        pairs, known = _leading(B, min(k, n), D, run, whole)
        V, values = pairs.vectors, to_numpy(pairs.values)
        solver = SolverChoice(
            pairs.solver,
            "all eigenvalues were asked for" if whole else f"{k} of {n} eigenpairs, without forming the matrix",
            pairs.iterations,
            pairs.converged,
            pairs.trace,
        )
        found = Eigenvalues(values, known, whole, trace, rounding)
    found.check(k)
    return Scaling(V * like(np.sqrt(found.leading), V)[None, :], found, means, solver)


def _leading(B: DoubleCentered, k: int, D: Array, run: Run, whole: bool) -> tuple[Eigenpairs, np.ndarray]:
    """The leading pairs, with all eigenvalues or the Ritz values of the iteration."""
    if whole:
        full = formed(B, D)
        return leading_eigenpairs(full, k, run=run, definite=False, tol=_TOL), to_numpy(all_eigenvalues(full))
    pairs = leading_eigenpairs(B, k, run=run, like_array=D, definite=False, tol=_TOL)
    return pairs, to_numpy(pairs.values) if pairs.ritz is None else pairs.ritz


def formed(B: Any, D: Array) -> Array:
    """Return the operator as a symmetric matrix, (n, n) float64."""
    xp = xp_of(D)
    full = B @ as_double(xp.eye(D.shape[0], dtype=D.dtype, device=device_of(D)))
    return (full + full.T) / 2


def eigenvalues_of_axes(axes: Axes, k: int) -> Eigenvalues:
    """What the principal axes of rows tell of their Euclidean distances: B = CC' has the scatter's eigenvalues."""
    rows = axes.columns.rows
    known = axes.spectrum.values * (rows - 1)
    trace = axes.spectrum.total * (rows - 1)
    return Eigenvalues(known[:k], known, axes.spectrum.whole, trace, 0.0, definite=True)


# --- the additive constant --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constant:
    """The smallest number that makes distances Euclidean when it is added to all of them."""

    value: float
    trace: tuple[float, ...]  # after each step
    converged: bool


@dataclass(frozen=True)
class _Reflected:
    """σJ - B: its leading eigenvector is the lowest of B, the constant vector set aside."""

    B: Any
    sigma: float

    @property
    def shape(self) -> tuple[int, int]:
        return self.B.shape

    def __matmul__(self, V: Array) -> Array:
        C = V - xp_of(V).mean(V, axis=0)[None, :]
        return self.sigma * C - self.B @ C


def additive_constant(D: Array, run: Run) -> Constant:
    """Return Cailliez's constant: the least c >= 0 for which the distances d_ij + c, i ≠ j, are Euclidean.

    B(c) = B1 + 2c B2 + ½c² J with B1 = -½ J(D∘D)J and B2 = -½ JDJ must have no negative eigenvalue. For a vector v the
    quadratic v'B(c)v is negative up to its larger root p(v), and c is the largest p(v) there is. Taking v as the lowest
    eigenvector of B(c) and c = p(v) in turn climbs to it, quadratically, through symmetric eigenproblems only; Cailliez
    (1983) reads the same number from an unsymmetric one of twice the size.
    """
    rows = ArrayRows(D)
    sums = DoubleCentered(rows, run, False)  # JDJ = -2 B2
    means = DoubleCentered(rows, run, True).row_means(D)
    sigma = float(xp_of(means).sum(means)) / 2
    small = D.shape[0] <= SMALL
    c, trace = 0.0, []
    for _ in run.iterate("additive constant", _MOST_STEPS):
        B = DoubleCentered(rows, run, True, c)
        M: Any = _Reflected(B, sigma)
        if small:
            M = formed(M, D)
        v = leading_eigenpairs(M, 1, run=run, like_array=None if small else D, definite=False, tol=_TOL).vectors
        v = v - xp_of(v).mean(v, axis=0)[None, :]
        length = float(xp_of(v).sum(v * v))
        b0 = float(xp_of(v).sum(v * (B @ v))) / length  # v'B(c)v
        b1 = c - float(xp_of(v).sum(v * (sums @ v))) / length
        # v'B(c + t)v = b0 + b1 t + ½t²: its larger root is the step
        step = -b1 + max(b1 * b1 - 2 * b0, 0.0) ** 0.5
        c += max(step, 0.0) if b0 < 0 else 0.0
        trace.append(c)
        if b0 >= -_ROUNDING * sigma or step <= 1e-13 * c:
            return Constant(c, tuple(trace), True)
    return Constant(c, tuple(trace), False)


# --- new points -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Placement:
    """Gower's formula: a point at squared distances δ from the kept ones lies at z = ½ Λ^-1 Z'(means - δ).

    An object, so that it can travel to a worker. ``measure`` gives the distances of rows; without it the rows are
    distances, of which ``columns`` are those to the kept points (None: all). The additive ``constant`` is added to
    every distance but zero, which says that the new point is the old one.
    """

    weights: Array  # (m, k)
    means: Array  # (m,)
    measure: DistancesTo | None = None
    columns: np.ndarray | None = None
    constant: float = 0.0

    def __call__(self, X: Array) -> Array:
        """Place one slab of rows, (rows, k), in its precision."""
        xp = xp_of(X)
        D = as_double(self._distances(X))
        if self.constant:
            D = xp.where(D > 0, D + self.constant, D)
        W, means = like(self.weights, D), like(self.means, D)
        return xp.astype((means[None, :] - D * D) @ W, X.dtype, copy=False)

    def _distances(self, X: Array) -> Array:
        if self.measure is not None:
            return self.measure(X)
        if self.columns is None:
            return X
        return xp_of(X).take(X, like(self.columns, X, xp_of(X).int64), axis=1)
