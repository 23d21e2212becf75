"""Principal axes in the feature space of a kernel: from the kernel matrix, from landmarks, or from the rows.

The resulting map is always z = (k(x) - means) coefficients, with k(x) the kernel values of a row with the points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.arrays.linalg import svd
from lowland.arrays.namespace import Array, as_double, device_of, is_sparse, like, rounding_of, to_numpy, xp_of
from lowland.data.rows import ArrayRows, Rows, in_slabs
from lowland.errors import DataError
from lowland.math.distances.kernel_functions import (
    KernelMatrix,
    KernelWith,
    check_kernel_matrix,
    with_equal_means,
)
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.component_rules import Fixed
from lowland.math.spectra.leading import (
    ROUNDING,
    Eigenpairs,
    Iteration,
    Solver,
    all_eigenvalues,
    fix_signs,
    leading_eigenpairs,
)
from lowland.math.spectra.operators import Divided, DoubleCentered, centered_product
from lowland.math.spectra.principal_axes import principal_axes
from lowland.math.statistics.moments import Moments
from lowland.run.memory import show_bytes
from lowland.run.run import Run, all_finite

_ALONE = 1e-3  # sum of the kernel values with all other rows below which a row is isolated


@dataclass(frozen=True)
class FeatureSpaceRequest:
    """The number of axes and the solver options."""

    k: int | None  # None: all with a positive eigenvalue
    solver: str = "auto"
    fewer: bool = False  # whether fewer than k are accepted where fewer eigenvalues are positive
    tol: float = 0.0
    max_iter: int | None = None
    power_steps: int | None = None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))


def count_positive(values: np.ndarray, wanted: FeatureSpaceRequest, floor: float) -> int:
    """Return the number of positive eigenvalues among those requested."""
    positive = int(np.sum(values > floor))
    return positive if wanted.k is None else min(positive, wanted.k)


def rounding_floor(values: Array, means: Array, n: int, dtype: Any) -> float:
    """Return the level of rounding error: of the matrix entries, or relative to the first eigenvalue."""
    floor = float(xp_of(means).max(xp_of(means).abs(means)))
    floor *= n * np.finfo(np.float64).eps + math.sqrt(n) * np.finfo(dtype).eps
    return max(floor, negligible(dtype) * float(values[0]))


def nearly_identity(means: Array, kernel: KernelWith, what: str) -> list[str]:
    """Return a warning where a kernel matrix is nearly the identity, so that its components are arbitrary."""
    n = means.shape[0]
    if kernel.kernel in ("rbf", "laplacian") and float(np.median(n * to_numpy(means) - 1)) < _ALONE:
        return [
            f"the kernel matrix is nearly the identity. No two {what}s are similar, so the components are meaningless."
        ]
    return []


def negligible(dtype: Any) -> float:
    """Return the fraction of the first eigenvalue below which another is rounding error, as in scikit-learn."""
    return 1e-12 if np.dtype(dtype) == np.float64 else 2e-7


def indefinite(
    ends: tuple[float, float], kept: float, kernel: KernelWith, wanted: FeatureSpaceRequest, dtype: Any
) -> list[str]:
    """Return a warning for an indefinite kernel; raise an error where an eigenvalue that is kept is negative.

    ``ends`` are the lowest and the largest eigenvalue, ``kept`` is the lowest of those requested.
    """
    lowest, largest = min(*ends, kept), max(ends)
    scale = max(abs(largest), abs(lowest))
    significant = -(1e-5 if np.dtype(dtype) == np.float64 else 5e-3) * scale  # as in scikit-learn
    if lowest >= significant:
        return []
    remedy = "Choose 'rbf', 'laplacian', 'cosine', or 'poly' with `coef0` >= 0"
    if kernel.points is None:
        remedy = "Pass a positive semidefinite matrix, for instance without its negative eigenvalues"
    if kept < significant and not wanted.fewer:
        raise DataError(
            f"There are significant negative eigenvalues: the centered kernel matrix is indefinite, and the components "
            f"requested include one of eigenvalue {kept:.4g}{_beside(kept, largest, dtype)}. Request fewer components. "
            f"{remedy}."
        )
    return [
        f"The centered kernel matrix is indefinite: it has the eigenvalue {lowest:.4g}"
        f"{_beside(lowest, largest, dtype)}, so it does not contain inner products. Only components with positive "
        "eigenvalues are kept."
    ]


def _beside(value: float, largest: float, dtype: Any) -> str:
    some = largest > negligible(dtype) * abs(value)
    return f", {abs(value) / largest:.2g} times the largest" if some else ", and none is positive"


def check_squares_vary(first: float, X: Array) -> None:
    """Raise an error for rows whose squared differences are too small for their precision."""
    if first > 0 or is_sparse(X):
        return
    xp = xp_of(X)
    gap = float(xp.max(xp.abs(X - X[:1, :])))
    if gap > 0:
        raise DataError(
            f"The rows differ by at most {gap:.2g}, which is lost to rounding error in `{X.dtype}`. Use `float64`, "
            "rescale the columns, or center them."
        )


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
        xp, positive = xp_of(self.values), int(self.values.shape[0])
        missing = 0 if wanted.k is None or wanted.fewer else min(wanted.k, most) - positive

        def wide(A: Array) -> Array:
            zeros = xp.zeros((A.shape[0], missing), dtype=A.dtype, device=device_of(A))
            return xp.concat([A, zeros], axis=1) if missing > 0 else A

        values, vectors = wide(self.values[None, :])[0, :], None if self.vectors is None else wide(self.vectors)
        identical = positive == 0
        return replace(self, values=values, coefficients=wide(self.coefficients), vectors=vectors, identical=identical)


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
    rows, n = ArrayRows(X), X.shape[0]
    k = None if wanted.k is None else min(wanted.k, n, rows.d)
    solver = "covariance_eigh" if wanted.solver == "dense" else wanted.solver
    axes = principal_axes(rows, run, Fixed(k), solver=solver)
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
    """Return the principal axes in feature space of points with this kernel matrix: J K J u = λ u, J = I - 11'/n.

    Parameters
    ----------
    K
        The symmetric matrix of the points' inner products in feature space, (n, n).
    k
        Number of axes. None means all with a positive eigenvalue.
    wanted
        Solver options. None means LAPACK or an iterative solver, whichever is faster.
    run
        Shows progress and limits the memory.

    Returns
    -------
    KernelAxes
        ``values`` (k,) λ, ``vectors`` (n, k) u. The points' coordinates are u √λ, and those of a further point with the
        kernel values x with the n points (x - ``means``) @ ``coefficients``.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[-1.0], [0.0], [1.0]])
    >>> axes = kernel_axes(points @ points.T, 1)
    >>> axes.values.round(12), np.abs(axes.vectors[:, 0] * axes.values**0.5).round(12)
    (array([2.]), array([1., 0., 1.]))
    """
    run = Run() if run is None else run
    wanted = FeatureSpaceRequest(k) if wanted is None else replace(wanted, k=k)
    if not check_kernel_matrix(K := with_equal_means(K)):
        K = (K + K.T) / 2
    return axes_of_rows(K, KernelWith(None, "precomputed"), run, wanted)


def axes_of_rows(X: Array, kernel: KernelWith, run: Run, wanted: FeatureSpaceRequest) -> KernelAxes:
    """The axes of all rows of X; the kernel matrix is kept if it fits the budget, else computed for each product."""
    n = X.shape[0]
    hold = _is_dense(n, wanted) or 1.5 * ArrayRows(X).dtype.itemsize * n * n <= run.budget
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
    solver: Solver = "subspace" if wanted.solver == "randomized" and wanted.power_steps is not None else "krylov"
    with blas_on_one_thread():  # the products have their own threads, and small problems do not benefit from more
        steps = wanted.power_steps if solver == "subspace" else wanted.max_iter
        rounding = max(ROUNDING, rounding_of(matrix.rows.dtype))
        options = Iteration(wanted.rng, wanted.tol, steps, like_array=matrix.means[None, :], rounding=rounding)
        pairs = leading_eigenpairs(A, k, run=run, solver=solver, definite=False, options=options)
    if wanted.solver == "auto" and not pairs.converged and _dense_bytes(n) <= run.budget:
        return _dense(matrix, run, k, "the spectrum is too flat for an iterative solver")
    how = "kept in memory"
    if matrix.held is None:
        size = show_bytes(matrix.rows.dtype.itemsize * n * n)
        how = f"computed again for each product, since {size} exceed the memory budget"
    why = f"{k} of {n} eigenpairs, without forming the centered matrix. The kernel matrix is {how}"
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
    A, ends = DoubleCentered(matrix.rows, run), []
    options = Iteration(tol=_NEAR, max_iter=_END_STEPS, like_array=matrix.means[None, :])
    with np.errstate(over="ignore"), blas_on_one_thread():  # residuals are relative to a value that may be zero
        for operator in (Divided(A, -1.0), A):
            found = leading_eigenpairs(operator, 1, run=run, solver="krylov", definite=False, options=options)
            ends.append(float(found.values[0]))
    return -ends[0], ends[1]


# --- from landmarks: the Nyström method -------------------------------------------------------------------------------


def _feature_moments(X: Array, features: FeatureCoordinates) -> Moments:
    return Moments.of(features(X))


def landmark_axes(rows: Rows, kernel: KernelWith, run: Run, wanted: FeatureSpaceRequest) -> KernelAxes:
    """The axes of the Nyström features: the rows' features projected to the span of the landmarks.

    Both are centered at the mean of the landmarks, which does not change the centered kernel and keeps the precision of
    rows far from the origin. One pass over the rows sums the moments of the features; the eigenvalues are those of
    their scatter, comparable with exact ones.
    """
    points = kernel.points
    assert points is not None
    concerns: list[str] = []
    if kernel.kernel == "linear" and not is_sparse(points):
        features, back = _linear_features(points, rows.dtype)
    else:
        features, back, concerns = _nystrom_features(kernel, run, wanted, rows.dtype)
    m, r = points.shape[0], features.coefficients.shape[1]
    if r == 0:
        raise DataError(
            f"The {m} landmarks are identical in the feature space of the kernel. Use more landmarks, or check the "
            "data."
        )
    moments = run.fold(in_slabs(rows, m), partial(_feature_moments, features=features), name="summing features")
    W = features.coefficients
    S, mean = like(as_double(moments.scatter), W), like(moments.mean, W)
    pairs = leading_eigenpairs(S, r if wanted.k is None else min(wanted.k, r), run=run)
    of_rows = features.kernel.points is None
    if of_rows:
        check_squares_vary(float(pairs.values[0]), points)
    floor = 0.0 if of_rows else rounding_floor(pairs.values, features.means, moments.rows, rows.dtype)
    k = count_positive(to_numpy(pairs.values), wanted, max(floor, negligible(rows.dtype) * float(pairs.values[0])))
    C = W @ pairs.vectors[:, :k]
    means = features.means + back @ mean
    signs = signs_of(as_double(FeatureCoordinates(features.kernel, means, C)(points)))  # they differ between machines
    C = C * signs[None, :]
    outcome = pairs.outcome(f"{m} landmarks represent {moments.rows} rows by {r} features", "nystrom")
    weights = None if of_rows else 1 / m + W @ mean
    axes = KernelAxes(pairs.values[:k], C, means, None, outcome, moments.rows, weights, tuple(concerns))
    return axes.with_zeros(wanted, m)


def _linear_features(points: Array, dtype: Any) -> tuple[FeatureCoordinates, Array]:
    """The features of the linear kernel, (x - c)V with V an orthonormal basis of the centered landmarks; and V."""
    P = as_double(points)
    c = xp_of(P).mean(P, axis=0)
    _, s, Vt = svd(P - c[None, :])
    size = to_numpy(s) ** 2
    r = int(np.sum(size > negligible(dtype) * size[0])) if size[0] > 0 else 0
    V = Vt[:r, :].T
    return FeatureCoordinates(KernelWith(None), c, V), V


def _nystrom_features(
    kernel: KernelWith, run: Run, wanted: FeatureSpaceRequest, dtype: Any
) -> tuple[FeatureCoordinates, Array, list[str]]:
    """The features (k(x) - means)U/√s with J K_mm J = U diag(s) U'; U√s, which maps back to kernel values; warnings."""
    points = kernel.points
    assert points is not None
    wide = points.astype(np.float64) if is_sparse(points) else as_double(points)
    K = kernel(wide)  # (m, m)
    kernel.refuse(K, wide)
    xp, m = xp_of(K), K.shape[0]
    means = xp.mean(K, axis=0)
    concerns = nearly_identity(means, kernel, "landmark")
    K = K - means[:, None]
    own = leading_eigenpairs(K - xp.mean(K, axis=0)[None, :], m, run=run, solver="eigh", definite=False)
    s = to_numpy(own.values)
    if not kernel.is_definite:
        kept = float(s[-1 if wanted.k is None else min(wanted.k, m) - 1])
        concerns += indefinite((float(s[-1]), float(s[0])), kept, kernel, wanted, dtype)
    r = int(np.sum(s > rounding_floor(own.values, means, m, dtype)))
    U, root = own.vectors[:, :r], xp.sqrt(own.values[:r])[None, :]
    W = U / root
    return FeatureCoordinates(kernel, means, W - xp.mean(W, axis=0)[None, :]), U * root, concerns
