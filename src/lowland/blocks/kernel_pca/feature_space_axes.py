"""Principal axes in the feature space of a kernel: from the whole kernel matrix, from landmarks, from the rows.

Every route ends in the same map: z = (k(x) - means) coefficients, with k(x) the kernel values of a row with the points.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowland.arrays.linalg import svd
from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.arrays.precision import as_double, rounding_of
from lowland.blocks.distances.kernel_functions import KernelMatrix, KernelWith, rows_of
from lowland.blocks.distances.to_points import in_slabs
from lowland.blocks.optimize.outcome import Outcome
from lowland.blocks.spectra.component_rules import Fixed
from lowland.blocks.spectra.leading import ROUNDING, Eigenpairs, Solver, all_eigenvalues, fix_signs, leading_eigenpairs
from lowland.blocks.spectra.operators import Divided, DoubleCentered, centered_product
from lowland.blocks.spectra.principal_axes import principal_axes
from lowland.blocks.statistics.moments import Moments
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.run.local import blas_on_one_thread
from lowland.run.memory import show_bytes
from lowland.run.run import Run, all_finite

_SMALL = 1200  # rows up to which LAPACK beats every iteration
_MANY = 20  # one component for so many rows is too many for an iteration
_END_STEPS, _NEAR = 8, 1e-2  # of the search for a negative eigenvalue, and the residual that ends it
_ALONE = 1e-3  # affinity to all other rows together below which a row is alone


@dataclass(frozen=True)
class FeatureSpaceRequest:
    """What is asked of the axes: how many, and how they are found."""

    k: int | None  # None: all of a positive eigenvalue
    solver: str = "auto"
    fewer: bool = False  # whether fewer than k will do, where no more eigenvalues are positive
    tol: float = 0.0
    max_iter: int | None = None
    power_steps: int | None = None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))


@dataclass(frozen=True)
class KernelAxes:
    """Axes in feature space, by the kernel values that give a row's coordinates along them."""

    values: Array  # (k,) float64, eigenvalues of the centered kernel matrix
    coefficients: Array  # (p, k) float64
    means: Array  # (p,) float64
    vectors: Array | None  # (n, k) eigenvectors of the centered kernel matrix, where there is one
    solver: Outcome
    n: int
    mean_weights: Array | None = None  # (p,) the mean in feature space, as a sum of the points' features


@dataclass(frozen=True)
class Placing:
    """The coordinates of a slab of rows; an object, so that it can travel to a worker."""

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


# --- from the rows: the linear kernel ---------------------------------------------------------------------------------


def linear_axes(X: Array, run: Run, wanted: FeatureSpaceRequest) -> KernelAxes:
    """The axes of the linear kernel: those of PCA, its eigenvalues times n - 1. No n x n matrix is made."""
    rows, n = rows_of(X), X.shape[0]
    solvers = {"dense": "covariance_eigh"}
    k = min(wanted.k, n, rows.d) if wanted.fewer and wanted.k is not None else wanted.k
    axes = principal_axes(rows, run, Fixed(k), solver=solvers.get(wanted.solver, wanted.solver))
    values = axes.pairs.values * (n - 1)
    _tell_tiny(float(values[0]), X)
    k = _kept(to_numpy(values), wanted, 0.0)
    V, values = axes.pairs.vectors[:, :k], values[:k]
    xp = xp_of(V)
    mean = axes.columns.mean
    Z = as_double(run.gather(Placing(KernelWith(None), mean, V), rows, k, "transforming rows"))
    turned = _signs(Z)[None, :]
    U = Z * turned / xp.sqrt(values)[None, :]
    return KernelAxes(values, V * turned, mean, U, axes.solver, n)


def _tell_tiny(first: float, X: Array) -> None:
    """Refuse rows that differ, but whose squares are too small for their precision."""
    if first > 0 or is_sparse(X):
        return
    xp = xp_of(X)
    gap = float(xp.max(xp.abs(X - X[:1, :])))
    if gap > 0:
        raise DataError(
            f"The rows differ by at most {gap:.2g}, too little for the squares and the rounding of {X.dtype}. Pass "
            "float64, rescale the columns, or take their means away."
        )


# --- from the kernel matrix -------------------------------------------------------------------------------------------


def holds_matrix(n: int, itemsize: int, wanted: FeatureSpaceRequest, run: Run) -> bool:
    """Whether the kernel matrix fits the budget; refuse, before anything is allocated, what fits in neither way."""
    if _is_dense(n, wanted):
        run.require(
            _dense_bytes(n),
            f"All of the {n} x {n} kernel matrix, its centered copy and its eigenvectors",
            "Ask for fewer components with eigen_solver='auto', or set n_landmarks",
        )
        return True
    width = (wanted.k or n) + 10
    run.require(
        18 * 8 * n * width, f"A basis of {8 * width} vectors of {n} numbers and their images", "Set n_landmarks"
    )
    return 1.5 * itemsize * n * n <= run.budget


def exact_axes(matrix: KernelMatrix, kernel: KernelWith, run: Run, wanted: FeatureSpaceRequest) -> KernelAxes:
    """The axes of all rows: the leading eigenpairs of J K J, J = I - 11'/n."""
    n = int(matrix.rows.n or 0)
    k = n if wanted.k is None else min(wanted.k, n)
    if not kernel.is_definite:
        _tell_negative(*_ends(matrix, run, wanted), kernel, wanted, matrix.rows.dtype)
    pairs, solver = _centered_pairs(matrix, run, k, wanted)
    _tell_alone(matrix.means, kernel, "row")
    k = _kept(to_numpy(pairs.values), wanted, _floor(pairs.values, matrix.means, n, matrix.rows.dtype))
    xp = xp_of(pairs.vectors)
    U, values = pairs.vectors[:, :k], pairs.values[:k]
    C = U / xp.sqrt(values)[None, :]
    C = C - xp.mean(C, axis=0)[None, :]
    return KernelAxes(values, C, matrix.means, U, solver, n, xp.full_like(matrix.means, 1 / n))


def _centered_pairs(matrix: KernelMatrix, run: Run, k: int, wanted: FeatureSpaceRequest) -> tuple[Eigenpairs, Outcome]:
    """The leading eigenpairs of the centered matrix, and how they were found."""
    n = int(matrix.rows.n or 0)
    if _is_dense(n, wanted):
        why = "asked for" if wanted.solver == "dense" else f"{k} of {n} pairs cost no more by LAPACK"
        return _dense(matrix, run, k, why)
    A = DoubleCentered(matrix.rows, run)
    solvers: dict[str, Solver] = {"arpack": "arpack", "randomized": "krylov", "auto": "krylov"}
    solver = "subspace" if wanted.solver == "randomized" and wanted.power_steps is not None else solvers[wanted.solver]
    with blas_on_one_thread():  # the products have threads of their own, and what is small gains nothing by more
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
        return _dense(matrix, run, k, "the spectrum is too flat for an iteration")
    size = show_bytes(matrix.rows.dtype.itemsize * n * n)
    how = "held" if matrix.held is not None else f"made anew for each product, since {size} are beyond the budget"
    why = f"{k} of {n} pairs, centered without being formed; the kernel matrix is {how}"
    return pairs, Outcome(pairs.solver, why, pairs.iterations, pairs.converged, pairs.trace)


def _dense(matrix: KernelMatrix, run: Run, k: int, why: str) -> tuple[Eigenpairs, Outcome]:
    with run.stage("eigenpairs of the kernel matrix", None):
        pairs = leading_eigenpairs(_centered(matrix), k, run=run, solver="eigh", definite=False)
    return pairs, Outcome("dense", why)


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


def _tell_negative(lowest: float, largest: float, kernel: KernelWith, wanted: FeatureSpaceRequest, dtype: Any) -> None:
    """Refuse an indefinite kernel. The sigmoid kernel seldom is definite: with k given, its positive part is used."""
    scale = max(abs(largest), abs(lowest))
    if lowest >= -(1e-5 if np.dtype(dtype) == np.float64 else 5e-3) * scale:
        return
    some = largest > _null(dtype) * scale
    beside = f"{abs(lowest) / largest:.2g} times the largest" if some else "and none is positive"
    text = (
        f"The centered kernel matrix is indefinite: it has the eigenvalue {lowest:.4g}, {beside}, so it holds no inner "
        "products of features."
    )
    if kernel.kernel == "sigmoid" and wanted.k is not None and some:
        warn(
            f"{text} Components of positive eigenvalues are kept; a lower gamma, or 'rbf', avoids negative ones.",
            DataWarning,
        )
        return
    remedy = "Choose 'rbf', 'laplacian', 'cosine', or 'poly' with coef0 >= 0"
    if kernel.points is None:
        remedy = "Pass similarities that are inner products, or drop the negative part of the spectrum first"
    raise DataError(f"{text} {remedy}.")


# --- from landmarks ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _FeatureMoments:
    """The moments of the features of a slab; an object, so that it can travel to a worker."""

    features: Placing

    def __call__(self, X: Array) -> Moments:
        return Moments.of(self.features(X))


def landmark_axes(rows: Rows, kernel: KernelWith, run: Run, wanted: FeatureSpaceRequest) -> KernelAxes:
    """The axes of features whose inner products are Nystrom's kernel: the rows' features in the landmarks' span.

    Both are seen from the landmarks' mean, which changes no centered kernel, and keeps the digits of rows far from the
    origin. One pass over the rows sums the features' moments; the eigenvalues are those of their scatter, to compare
    with exact ones.
    """
    points = kernel.points
    assert points is not None
    if kernel.kernel == "linear" and not is_sparse(points):
        features, back = _linear_features(points, rows.dtype)
    else:
        features, back = _nystrom_features(kernel, run, wanted, rows.dtype)
    m, r = points.shape[0], features.coefficients.shape[1]
    if r == 0:
        raise DataError(
            f"The {m} landmarks do not differ in the kernel's feature space. Raise n_landmarks, or check the data."
        )
    moments = run.fold(in_slabs(rows, m), _FeatureMoments(features), name="summing features")
    W = features.coefficients
    S, mean = like(as_double(moments.scatter), W), like(moments.mean, W)
    pairs = leading_eigenpairs(S, r if wanted.k is None else min(wanted.k, r), run=run)
    of_rows = features.kernel.points is None
    if of_rows:
        _tell_tiny(float(pairs.values[0]), points)
    floor = 0.0 if of_rows else _floor(pairs.values, features.means, moments.rows, rows.dtype)
    k = _kept(to_numpy(pairs.values), wanted, max(floor, _null(rows.dtype) * float(pairs.values[0])))
    C = W @ pairs.vectors[:, :k]
    means = features.means + back @ mean
    C = C * _signs(as_double(Placing(features.kernel, means, C)(points)))[None, :]  # they differ between machines
    solver = Outcome("nystrom", f"{m} landmarks stand for {moments.rows} rows, {r} features")
    weights = None if of_rows else 1 / m + W @ mean
    return KernelAxes(pairs.values[:k], C, means, None, solver, moments.rows, weights)


def _linear_features(points: Array, dtype: Any) -> tuple[Placing, Array]:
    """The features of the linear kernel, (x - c)V with V an orthonormal basis of the centered landmarks; and V."""
    P = as_double(points)
    c = xp_of(P).mean(P, axis=0)
    _, s, Vt = svd(P - c[None, :])
    size = to_numpy(s) ** 2
    r = int(np.sum(size > _null(dtype) * size[0])) if size[0] > 0 else 0
    V = Vt[:r, :].T
    return Placing(KernelWith(None), c, V), V


def _nystrom_features(kernel: KernelWith, run: Run, wanted: FeatureSpaceRequest, dtype: Any) -> tuple[Placing, Array]:
    """The features (k(x) - means)U/√s with J K_mm J = U diag(s) U'; and U√s, which leads back to kernel values."""
    points = kernel.points
    assert points is not None
    wide = points.astype(np.float64) if is_sparse(points) else as_double(points)
    K = kernel(wide)  # (m, m)
    kernel.refuse(K, wide)
    xp, m = xp_of(K), K.shape[0]
    means = xp.mean(K, axis=0)
    _tell_alone(means, kernel, "landmark")
    K = K - means[:, None]
    own = leading_eigenpairs(K - xp.mean(K, axis=0)[None, :], m, run=run, solver="eigh", definite=False)
    s = to_numpy(own.values)
    if not kernel.is_definite:
        _tell_negative(float(s[-1]), float(s[0]), kernel, wanted, dtype)
    r = int(np.sum(s > _floor(own.values, means, m, dtype)))
    U, root = own.vectors[:, :r], xp.sqrt(own.values[:r])[None, :]
    W = U / root
    return Placing(kernel, means, W - xp.mean(W, axis=0)[None, :]), U * root


# --- what is positive -------------------------------------------------------------------------------------------------


def _kept(values: np.ndarray, wanted: FeatureSpaceRequest, floor: float) -> int:
    """How many components are kept; more than there are positive eigenvalues are refused."""
    positive = int(np.sum(values > floor))
    if positive == 0:
        raise DataError(
            "The rows do not differ in the kernel's feature space: no eigenvalue of the centered kernel matrix is "
            "positive. Check the data and gamma."
        )
    if wanted.k is not None and wanted.k > positive and not wanted.fewer:
        raise ParameterError(
            f"n_components={wanted.k}: the centered kernel matrix has {positive} positive eigenvalue"
            f"{'s' * (positive != 1)}. Choose at most {positive}, or remove_zero_eig=True to "
            "keep as many as there are."
        )
    return positive if wanted.k is None else min(positive, wanted.k)


def _floor(values: Array, means: Array, n: int, dtype: Any) -> float:
    """What is no larger is rounding: of the matrix's entries, or beside the first eigenvalue."""
    floor = float(xp_of(means).max(xp_of(means).abs(means)))
    floor *= n * np.finfo(np.float64).eps + math.sqrt(n) * np.finfo(dtype).eps
    return max(floor, _null(dtype) * float(values[0]))


def _tell_alone(means: Array, kernel: KernelWith, what: str) -> None:
    """Warn of a kernel matrix that is nearly the identity: its components are as good as arbitrary."""
    n = means.shape[0]
    if kernel.kernel in ("rbf", "laplacian") and float(np.median(n * to_numpy(means) - 1)) < _ALONE:
        warn(
            f"KernelPCA(kernel={kernel.kernel!r}): with gamma={kernel.gamma:g} the kernel matrix is nearly the "
            f"identity. Every {what} is alone, and the components tell nothing. Lower gamma, or take gamma='median'.",
            DataWarning,
        )


def _null(dtype: Any) -> float:
    """The share of the first eigenvalue below which another is nothing but rounding, as in scikit-learn."""
    return 1e-12 if np.dtype(dtype) == np.float64 else 2e-7


def _signs(Z: Array) -> Array:
    """+1 or -1 for each column, so that its largest entry becomes positive."""
    xp = xp_of(Z)
    return xp.sign(xp.sum(fix_signs(Z) * Z, axis=0))
