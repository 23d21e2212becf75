"""Principal axes in the feature space of a kernel: from the kernel matrix, from landmarks, or from the rows.

The resulting map is always z = (k(x) - means) coefficients, with k(x) the kernel values of a row with the points.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.arrays.precision import as_double, rounding_of
from lowland.errors import DataError
from lowland.math.distances.kernel_functions import KernelMatrix, KernelWith, check_kernel_matrix, rows_of
from lowland.math.kernel_pca.positive_eigenvalues import (
    FeatureSpaceRequest,
    check_squares_vary,
    count_positive,
    indefinite,
    nearly_identity,
    rounding_floor,
)
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.component_rules import Fixed
from lowland.math.spectra.leading import ROUNDING, Eigenpairs, Solver, all_eigenvalues, fix_signs, leading_eigenpairs
from lowland.math.spectra.operators import Divided, DoubleCentered, centered_product
from lowland.math.spectra.principal_axes import principal_axes
from lowland.run.local import LocalRun
from lowland.run.memory import show_bytes
from lowland.run.run import Run, all_finite

_SMALL = 1200  # rows up to which LAPACK is faster than iterative solvers
_MANY = 20  # with fewer rows per component, an iterative solver is slower
_END_STEPS, _NEAR = 8, 1e-2  # iterations and residual of the search for a negative eigenvalue


@dataclass(frozen=True)
class KernelAxes:
    """Axes in feature space, by the kernel values that give a row's coordinates along them."""

    values: Array  # (k,) float64, eigenvalues of the centered kernel matrix
    coefficients: Array  # (p, k) float64
    means: Array  # (p,) float64
    vectors: Array | None  # (n, k) eigenvectors of the centered kernel matrix, where there is one
    outcome: Outcome
    n: int
    mean_weights: Array | None = None  # (p,) the mean in feature space, as weights of the points' features
    concerns: tuple[str, ...] = ()  # warnings about the axes
    identical: bool = False  # whether no eigenvalue is positive

    def with_zeros(self, wanted: FeatureSpaceRequest, most: int) -> KernelAxes:
        """These axes, of positive eigenvalue, followed by zeros up to the number requested, at most ``most``."""
        positive = int(self.values.shape[0])
        found = replace(self, identical=positive == 0)
        if wanted.k is None or wanted.fewer or positive >= min(wanted.k, most):
            return found
        zeros = xp_of(self.values).zeros_like
        k = min(wanted.k, most)

        def wide(A: Array) -> Array:
            xp = xp_of(A)
            return xp.concat([A, zeros(xp.broadcast_to(self.means[:1], (A.shape[0], k - positive)))], axis=1)

        vectors = None if self.vectors is None else wide(self.vectors)
        return replace(
            found, values=wide(self.values[None, :])[0, :], coefficients=wide(self.coefficients), vectors=vectors
        )


@dataclass(frozen=True)
class FeatureCoordinates:
    """The coordinates of a slab of rows; picklable, so that it can be sent to a worker."""

    kernel: KernelWith
    means: Array
    coefficients: Array

    def __call__(self, X: Array) -> Array:
        """z = (k(x) - means) coefficients. The columns of the coefficients add up to zero, so this is centered."""
        K = self.kernel(X)
        Z = centered_product(K, self.means, like(self.coefficients, K))
        if not all_finite(Z):
            self.kernel.refuse(K, X)
        return Z


def signs_of(Z: Array) -> Array:
    """+1 or -1 for each column, so that its largest entry becomes positive."""
    xp = xp_of(Z)
    return xp.sign(xp.sum(fix_signs(Z) * Z, axis=0))


def check_range(values: Array, dtype: Any) -> None:
    """Raise an error where positive eigenvalues are out of the range of the dtype."""
    xp = xp_of(values)
    positive = values[values > 0]
    if not positive.shape[0]:
        return
    smallest, largest = float(positive[-1]), float(positive[0])
    info = xp.finfo(dtype)
    if not float(info.smallest_normal) <= smallest <= largest <= float(info.max):
        raise DataError(
            f"The eigenvalues of the kernel matrix, from {largest:.2g} to {smallest:.2g}, are out of the range of "
            f"`{dtype}`. Use `float64`, or rescale the columns."
        )


# --- from the rows: the linear kernel ---------------------------------------------------------------------------------


def linear_axes(X: Array, run: Run, wanted: FeatureSpaceRequest) -> KernelAxes:
    """The axes of the linear kernel: those of PCA, with eigenvalues times n - 1. No n x n matrix is formed."""
    rows, n = rows_of(X), X.shape[0]
    solvers = {"dense": "covariance_eigh"}
    k = None if wanted.k is None else min(wanted.k, n, rows.d)
    axes = principal_axes(rows, run, Fixed(k), solver=solvers.get(wanted.solver, wanted.solver))
    values = axes.pairs.values * (n - 1)
    check_squares_vary(float(values[0]), X)
    k = count_positive(to_numpy(values), wanted, 0.0)
    V, values = axes.pairs.vectors[:, :k], values[:k]
    xp = xp_of(V)
    mean = axes.columns.mean
    Z = as_double(run.gather(FeatureCoordinates(KernelWith(None), mean, V), rows, k, "transforming rows"))
    turned = signs_of(Z)[None, :]
    U = Z * turned / xp.sqrt(values)[None, :]
    return KernelAxes(values, V * turned, mean, U, axes.outcome, n).with_zeros(wanted, n)


# --- from the kernel matrix -------------------------------------------------------------------------------------------


def kernel_axes(
    K: Array, k: int | None = None, *, wanted: FeatureSpaceRequest | None = None, run: Run | None = None
) -> KernelAxes:
    """Return the principal axes in feature space of points whose kernel matrix is given: J K J u = λ u, J = I - 11'/n.

    Parameters
    ----------
    K
        The symmetric matrix of the points' inner products in feature space, (n, n).
    k
        Number of axes; None: all with a positive eigenvalue.
    wanted
        Solver options; None: LAPACK or an iterative solver, whichever is faster.
    run
        Shows progress and limits the memory.

    Returns
    -------
    KernelAxes
        ``values`` (k,) λ, ``vectors`` (n, k) u; the points' coordinates are u √λ, those of a further point with the
        kernel values x with the n points (x - ``means``) @ ``coefficients``.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[-1.0], [0.0], [1.0]])
    >>> axes = kernel_axes(points @ points.T, 1)
    >>> axes.values.round(12), np.abs(axes.vectors[:, 0] * axes.values**0.5).round(12)
    (array([2.]), array([1., 0., 1.]))
    """
    run = LocalRun() if run is None else run
    wanted = FeatureSpaceRequest(k) if wanted is None else replace(wanted, k=k)
    if not check_kernel_matrix(K):
        K = (K + K.T) / 2
    return axes_of_rows(K, KernelWith(None, "precomputed"), run, wanted)


def holds_matrix(n: int, itemsize: int, wanted: FeatureSpaceRequest, run: Run) -> bool:
    """Whether the kernel matrix fits the budget; raise an error, before allocating, where no algorithm fits."""
    if _is_dense(n, wanted):
        run.require(
            _dense_bytes(n),
            f"The {n} x {n} kernel matrix, its centered copy and its eigenvectors",
            "Request fewer components with the solver 'auto', or use landmarks",
        )
        return True
    width = (wanted.k or n) + 10
    run.require(
        18 * 8 * n * width, f"A Krylov basis of {8 * width} vectors of {n} numbers and their images", "Use landmarks"
    )
    return 1.5 * itemsize * n * n <= run.budget


def axes_of_rows(X: Array, kernel: KernelWith, run: Run, wanted: FeatureSpaceRequest) -> KernelAxes:
    """The axes of all rows of X; the kernel matrix is kept if it fits the budget, else computed for each product."""
    hold = holds_matrix(X.shape[0], rows_of(X).dtype.itemsize, wanted, run)
    return exact_axes(KernelMatrix.of(X, kernel, run, hold=hold), kernel, run, wanted)


def exact_axes(matrix: KernelMatrix, kernel: KernelWith, run: Run, wanted: FeatureSpaceRequest) -> KernelAxes:
    """The axes of all rows: the leading eigenpairs of J K J, J = I - 11'/n."""
    n, concerns = int(matrix.rows.n or 0), []
    k = n if wanted.k is None else min(wanted.k, n)
    pairs, outcome = _centered_pairs(matrix, run, k, wanted)
    if not kernel.is_definite:
        kept = float(pairs.values[-1])
        ends = (kept, float(pairs.values[0])) if k == n else _ends(matrix, run, wanted)
        concerns += indefinite(ends, kept, kernel, wanted, matrix.rows.dtype)
    concerns += nearly_identity(matrix.means, kernel, "row")
    k = count_positive(to_numpy(pairs.values), wanted, rounding_floor(pairs.values, matrix.means, n, matrix.rows.dtype))
    xp = xp_of(pairs.vectors)
    U, values = pairs.vectors[:, :k], pairs.values[:k]
    C = U / xp.sqrt(values)[None, :]
    C = C - xp.mean(C, axis=0)[None, :]
    weights = xp.full_like(matrix.means, 1 / n)
    axes = KernelAxes(values, C, matrix.means, U, outcome, n, weights, tuple(concerns))
    return axes.with_zeros(wanted, n)


def _centered_pairs(matrix: KernelMatrix, run: Run, k: int, wanted: FeatureSpaceRequest) -> tuple[Eigenpairs, Outcome]:
    """The leading eigenpairs of the centered matrix, and the outcome of the solver."""
    n = int(matrix.rows.n or 0)
    if _is_dense(n, wanted):
        why = "as requested" if wanted.solver == "dense" else f"LAPACK is fastest for {k} of {n} eigenpairs"
        return _dense(matrix, run, k, why)
    A = DoubleCentered(matrix.rows, run)
    solvers: dict[str, Solver] = {"arpack": "arpack", "randomized": "krylov", "auto": "krylov"}
    solver = "subspace" if wanted.solver == "randomized" and wanted.power_steps is not None else solvers[wanted.solver]
    with blas_on_one_thread():  # the products have their own threads, and small problems do not benefit from more
        pairs = leading_eigenpairs(
            A,
            k,
            run=run,
            solver=solver,
            rng=wanted.rng,
            tol=wanted.tol,
            max_iter=wanted.power_steps if solver == "subspace" else wanted.max_iter,
            like_array=matrix.means[None, :],
            rounding=max(ROUNDING, rounding_of(matrix.rows.dtype)),
            definite=False,
        )
    if wanted.solver == "auto" and not pairs.converged and _dense_bytes(n) <= run.budget:
        return _dense(matrix, run, k, "the spectrum is too flat for an iterative solver")
    size = show_bytes(matrix.rows.dtype.itemsize * n * n)
    how = (
        "kept in memory"
        if matrix.held is not None
        else f"computed again for each product, since {size} exceed the memory budget"
    )
    why = f"{k} of {n} eigenpairs, without forming the centered matrix; the kernel matrix is {how}"
    return pairs, pairs.outcome(why)


def _dense(matrix: KernelMatrix, run: Run, k: int, why: str) -> tuple[Eigenpairs, Outcome]:
    with run.stage("eigenpairs of the kernel matrix", None):
        pairs = leading_eigenpairs(_centered(matrix), k, run=run, solver="eigh", definite=False)
    return pairs, pairs.outcome(why, "dense")


def _centered(matrix: KernelMatrix) -> Array:
    A = as_double(matrix.held) - matrix.means[:, None]
    return A - xp_of(A).mean(A, axis=0)[None, :]


def _is_dense(n: int, wanted: FeatureSpaceRequest) -> bool:
    k = n if wanted.k is None else min(wanted.k, n)
    return wanted.solver == "dense" or k == n or (wanted.solver == "auto" and (n <= _SMALL or _MANY * k > n))


def _dense_bytes(n: int) -> int:
    return 4 * 8 * n * n  # the kernel, its centered copy, LAPACK's copy, the vectors


def _ends(matrix: KernelMatrix, run: Run, wanted: FeatureSpaceRequest) -> tuple[float, float]:
    """The lowest and the largest eigenvalue, or values near them and between them.

    A Ritz value is never below the lowest eigenvalue, so that a negative one proves a negative eigenvalue.
    """
    if _is_dense(int(matrix.rows.n or 0), wanted):
        values = all_eigenvalues(_centered(matrix))
        return float(values[-1]), float(values[0])
    A, start = DoubleCentered(matrix.rows, run), matrix.means[None, :]
    ends = []
    with np.errstate(over="ignore"), blas_on_one_thread():  # residuals are relative to a value that may be zero
        for operator in (Divided(A, -1.0), A):
            found = leading_eigenpairs(
                operator, 1, run=run, solver="krylov", tol=_NEAR, max_iter=_END_STEPS, like_array=start, definite=False
            )
            ends.append(float(found.values[0]))
    return -ends[0], ends[1]
