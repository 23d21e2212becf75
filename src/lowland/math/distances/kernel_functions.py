"""Kernel functions: kernel values of rows with points, and kernel matrices, computed or given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations_with_replacement
from typing import Any, Self

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread, blas_threads_for
from lowland.arrays.linalg import work_space
from lowland.arrays.namespace import (
    Array,
    as_double,
    device_of,
    eps_of,
    is_sparse,
    is_torch,
    like,
    slices,
    take,
    to_numpy,
    xp_of,
)
from lowland.data.rows import ArrayRows, Rows, in_slabs, slab_rows
from lowland.errors import DataError, ParameterError
from lowland.math.distances.metrics import squared_euclidean, unit_rows
from lowland.math.distances.sparse_rows import csr, manhattan, product, squared_distances, unit
from lowland.math.distances.to_points import DistancesTo
from lowland.math.statistics.moments import Total
from lowland.run.run import Run, all_finite

Kernel = str | Callable[..., float]

_BLOCK = 1 << 19  # kernel values per block: few enough for the cache, enough for fast products
_TILE = 1008  # rows of a tile of a kernel matrix; a power of two would cause cache conflicts
_LOST = 1e-11  # error of an exponent -γ|a - b|² above which the distance is computed from differences
_PAIRED_ROWS = 2000  # sampled rows of the median rule
_ASYMMETRY, _ROUNDINGS = 1e-8, 1e4  # tolerance of asymmetry relative to the largest entry, or in rounding errors


@dataclass(frozen=True)
class KernelWith:
    """The kernel values of a slab's rows with given points, (m, p); picklable, so that it can be sent to a worker.

    linear x'y; poly (γ x'y + c)^degree; rbf exp(-γ|x - y|²); laplacian exp(-γ|x - y|₁); sigmoid tanh(γ x'y + c); cosine
    x'y/|x||y|, or a function of two rows. Precomputed rows are kernel values already.
    """

    points: Array | None  # (p, d), sparse or not; None where the rows are kernel values
    kernel: Kernel = "linear"
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 1
    params: dict[str, Any] = field(default_factory=dict)  # of a function

    def __call__(self, X: Array) -> Array:
        """Return the kernel values of one slab, in its precision; NaN where the slab is not finite."""
        if self.points is None:
            return X
        sparse = is_sparse(X) or is_sparse(self.points)
        if not all_finite(X):
            some = _stored(X)
            xp = xp_of(some)
            return xp.full((X.shape[0], self.points.shape[0]), xp.nan, dtype=X.dtype, device=device_of(some))
        if callable(self.kernel) and sparse:
            raise DataError(
                "A kernel function takes dense rows. Make them dense (`X.toarray()`), or choose a named kernel."
            )
        if callable(self.kernel):
            return self._by_function(self.kernel, X)
        with np.errstate(over="ignore", invalid="ignore"):  # ``refuse`` reports it, where it matters
            if sparse:
                return self._of_sparse(csr(X), csr(self.points)).astype(X.dtype, copy=False)
            return self._of_dense(as_double(X), like(self.points, X, as_double(X).dtype), X.dtype)

    def _of_dense(self, A: Array, B: Array, dtype: Any) -> Array:
        xp = xp_of(A)
        match self.kernel:
            case "rbf":
                return _rbf(self.gamma, A, B, dtype)
            case "laplacian":
                return _exp(xp.astype(-self.gamma * DistancesTo(B, "manhattan")(A), dtype, copy=False))
            case "poly":
                return _in_blocks(A * self.gamma, B, dtype, lambda P: _power(P + self.coef0, self.degree), double=True)
            case "sigmoid":
                return _in_blocks(A * self.gamma, B, dtype, lambda P: xp.tanh(P + self.coef0))
            case "cosine":
                A, B = unit_rows(A), unit_rows(B)
        return _in_blocks(A, B, dtype, lambda P: P)

    def _of_sparse(self, A: Any, B: Any) -> np.ndarray:
        """By sparse products, without dense rows."""
        match self.kernel:
            case "rbf":
                return _exp(-self.gamma * squared_distances(A, B))
            case "laplacian":
                return _exp(-self.gamma * manhattan(A, B))
            case "poly":
                return _power(self.gamma * product(A, B) + self.coef0, self.degree)
            case "sigmoid":
                return np.tanh(self.gamma * product(A, B) + self.coef0)
            case "cosine":
                A, B = unit(A), unit(B)
        return product(A, B)

    def _by_function(self, function: Callable[..., Any], X: Array) -> Array:
        pairs = [[function(a, b, **self.params) for b in to_numpy(self.points)] for a in to_numpy(X)]
        try:
            return like(np.asarray([[float(value) for value in values] for values in pairs]), X)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"The kernel function returned {pairs[0][0]!r} for two rows. It must return one number per pair."
            ) from error

    def refuse(self, K: Array, X: Array) -> None:
        """Raise an error that explains kernel values that are not finite, unless the slab itself is not finite."""
        if all_finite(K) or (self.kernel != "precomputed" and not all_finite(X)):
            return
        bad = np.argwhere(~np.isfinite(to_numpy(K)))[0]
        value = "NaN" if np.isnan(float(K[int(bad[0]), int(bad[1])])) else "infinite"
        if self.kernel == "precomputed":
            text = (
                f"The kernel value of a new row with training row {bad[1]} is {value}. Pass finite kernel values, one "
                f"for each of the {K.shape[1]} training rows."
            )
        elif callable(self.kernel):
            what = value.replace("infinite", "infinity")
            text = f"The kernel function returned {what} for a pair of finite rows. Check the function."
        elif value == "NaN" and self.kernel == "poly" and not float(self.degree).is_integer():
            text = (
                f"The kernel 'poly' with the degree {self.degree:g} is undefined where `gamma` x'y + `coef0` is "
                "negative. Choose an integer degree, or raise `coef0`."
            )
        else:
            text = (
                f"Values of the kernel {self.kernel!r} overflow. Use `float64`, standardize the columns, or lower "
                "`gamma` or `degree`."
            )
        raise DataError(text)

    @property
    def is_definite(self) -> bool:
        """Whether every kernel matrix is positive semidefinite, for any rows."""
        if self.kernel == "poly":
            return self.coef0 >= 0 and float(self.degree).is_integer()
        return self.kernel in ("linear", "rbf", "laplacian", "cosine")


# --- kernels ----------------------------------------------------------------------------------------------------------


def _rbf(gamma: float, A: Array, B: Array, dtype: Any) -> Array:
    """One product gives the exponents: -γ|a - b|² = [2γa, -γ|a|², 1] · [b, 1, -γ|b|²]."""
    xp = xp_of(A)
    center = xp.mean(B, axis=0)[None, :]
    U, V = A - center, B - center
    u, v = gamma * xp.sum(U * U, axis=1)[:, None], gamma * xp.sum(V * V, axis=1)[:, None]
    if eps_of(A) * (float(xp.max(u)) + float(xp.max(v))) > _LOST:
        return xp.astype(xp.exp(-gamma * squared_euclidean(U, V)), dtype, copy=False)
    left = xp.concat([2 * gamma * U, -u, xp.ones_like(u)], axis=1)
    right = xp.concat([V, xp.ones_like(v), -v], axis=1)
    return _in_blocks(left, right, dtype, _exp)


def _in_blocks(A: Array, B: Array, dtype: Any, f: Callable[[Array], Array], *, double: bool = False) -> Array:
    """Return f(A B') in ``dtype``, on the CPU a few rows at a time; ``double``: f gets float64."""
    xp = xp_of(A)
    if not isinstance(A, np.ndarray):
        P = A @ B.T
        return xp.astype(f(P if double else xp.astype(P, dtype, copy=False)), dtype, copy=False)
    K = np.empty((A.shape[0], B.shape[0]), dtype=dtype)
    step = max(16, _BLOCK // max(1, B.shape[0]))
    for start in range(0, A.shape[0], step):
        few = K[start : start + step]
        space = few if dtype == A.dtype else work_space(len(few), len(B), A.dtype)
        P = np.matmul(A[start : start + step], B.T, out=space)
        if not double and space is not few:
            few[...] = P
            P = few
        values = f(P)
        if values is not few:
            few[...] = values
    return K


def _exp(P: Array) -> Array:
    return np.exp(P, out=P) if isinstance(P, np.ndarray) else xp_of(P).exp(P)


def _power(P: Array, degree: float) -> Array:
    if not float(degree).is_integer() or not 1 <= degree <= 16:
        return P**degree
    product = P  # a general power costs as much as twenty products
    for _ in range(int(degree) - 1):
        product = product * P
    return product


def _stored(X: Any) -> Array:
    """Return an array in the library of the rows, sparse or not."""
    return X.data if is_sparse(X) else X


# --- the width of a kernel --------------------------------------------------------------------------------------------


def median_gamma(X: Array, kernel: Kernel) -> float:
    """Return 1 / median of the squared distances (rbf; laplacian: of the distances) of pairs of rows.

    A typical pair then has the kernel value 1/e. Up to 2000 rows are used, spread evenly, without a seed.
    """
    if kernel not in ("rbf", "laplacian"):
        raise ParameterError(
            f"The median rule is defined for kernels of distances, 'rbf' and 'laplacian', not for {kernel!r}. Set "
            "`gamma` to a number."
        )
    n = X.shape[0]
    places = np.linspace(0, n - 1, min(n, _PAIRED_ROWS)).astype(np.int64)
    if is_sparse(X):
        A = csr(X[places])
        D = squared_distances(A, A) if kernel == "rbf" else manhattan(A, A)
    else:
        A = as_double(X if n <= _PAIRED_ROWS else take(X, places))
        D = DistancesTo(A, "sqeuclidean" if kernel == "rbf" else "manhattan")(A)
    pairs = to_numpy(D)[np.triu_indices(A.shape[0], 1)]
    typical = float(np.median(pairs))
    if not typical > 0:  # more than half of the pairs are duplicates
        apart = pairs[pairs > 0]
        typical = float(np.median(apart)) if apart.size else 1.0
    return 1 / typical


# --- whole matrices ---------------------------------------------------------------------------------------------------


@dataclass
class KernelRows(Rows):
    """The rows of a kernel matrix; each slab is computed when it is read, and the matrix is never in memory."""

    X: Array  # (n, d)
    kernel: KernelWith  # with X
    source: str = "the kernel"

    def __post_init__(self) -> None:
        whole = ArrayRows(self.X)
        self.n = self.d = int(whole.n or 0)
        self.dtype = whole.dtype
        self.slabs = in_slabs(whole, self.n)

    @property
    def slab(self) -> int:
        """Rows in a slab."""
        return self.slabs.slab

    def pieces(self) -> Iterator[Array]:
        """Yield slabs of X."""
        return self.slabs.pieces()

    def prepare(self, piece: Array) -> Array:
        """Return the kernel values of a slab with all rows."""
        return self.kernel(self.slabs.prepare(piece))

    def non_finite_error(self) -> DataError:
        """Return the error of the kernel, since the rows themselves are finite."""
        try:
            for chunk in self.slabs.chunks():
                self.kernel.refuse(self.kernel(chunk), chunk)
        except DataError as error:
            return error
        return super().non_finite_error()  # single values are finite, their sums are not


@dataclass(frozen=True)
class KernelMatrix:
    """The rows of a symmetric kernel matrix, in memory or computed in slabs, and its column means."""

    rows: Rows
    means: Array  # (n,) float64
    held: Array | None  # (n, n)

    @classmethod
    def of(cls, X: Array, kernel: KernelWith, run: Run, *, hold: bool) -> Self:
        """Return the kernel matrix of the rows of X; for a kernel without points, X itself."""
        n, xp = X.shape[0], xp_of(_stored(X))
        if kernel.points is None:
            return cls(ArrayRows(X), run.fold(ArrayRows(X), _sum_columns).value / n, X)
        if not hold:
            rows = KernelRows(X, kernel)
            return cls(rows, run.fold(rows, _sum_columns, name="computing the kernel").value / n, None)
        if xp is not np and not is_torch(X):  # the array API standard does not guarantee writable views
            K = kernel(X)
            kernel.refuse(K, X)
            return cls(ArrayRows(K), _sum_columns(K).value / n, K)
        K = xp.empty((n, n), dtype=X.dtype, device=device_of(_stored(X)))
        if isinstance(X, np.ndarray) and not callable(kernel.kernel):
            _fill_by_tiles(K, X, kernel, run)
            sums = run.gather(_sum_rows, ArrayRows(K), 1, "computing the kernel", np.dtype(np.float64))
            return cls(ArrayRows(K), sums[:, 0] / n, K)
        # the matrix is aligned with the rows: each worker gets, and fills, its own part of it
        total = run.fold(in_slabs(ArrayRows(X), n), partial(_fill, kernel), K, name="computing the kernel")
        return cls(ArrayRows(K), total.value / n, K)


def _fill_by_tiles(K: np.ndarray, X: np.ndarray, kernel: KernelWith, run: Run) -> None:
    """Write the kernel values of all pairs of rows: those of two groups of rows serve both."""
    n, d = X.shape
    groups = slices(n, _TILE)

    def work(pair: tuple[slice, slice]) -> None:
        a, b = pair
        values = replace(kernel, points=X[b])(X[a])
        kernel.refuse(values, X[a])
        K[a, b] = values
        if a != b:
            K[b, a] = values.T

    with blas_on_one_thread() if len(groups) > 1 else blas_threads_for(n * n * d):
        run.each("computing the kernel", list(combinations_with_replacement(groups, 2)), work)


def _sum_rows(K: np.ndarray) -> np.ndarray:
    return K.sum(axis=1, keepdims=True, dtype=np.float64)


def _sum_columns(K: Array) -> Total:
    return Total(xp_of(K).sum(K, axis=0, dtype=as_double(K[:0, :]).dtype))


def _fill(kernel: KernelWith, X: Array, out: Array) -> Total:
    """Write a slab of the kernel where it belongs, and sum its columns."""
    out[:, :] = kernel(X)
    total = _sum_columns(out)
    if not total.is_finite():
        kernel.refuse(out, X)
    return total


def with_equal_means(K: Array) -> Array:
    """Return K with a constant added to each row that gives it the mean of its column, if K is symmetric then.

    Centering removes such constants.
    """
    xp = xp_of(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        return K
    gap = xp.mean(K, axis=0) - xp.mean(K, axis=1)  # (n,), zero if K is symmetric
    limit = _tolerance(K) * float(xp.max(xp.abs(K)))
    if not float(xp.max(xp.abs(gap))) > limit:
        return K
    even = K + gap[:, None]
    return even if float(xp.max(xp.abs(even - even.T))) <= limit else K


def _tolerance(K: Array) -> float:
    """The gap between an entry and its mirror image, as a fraction of the largest entry, that is rounding error."""
    return max(_ASYMMETRY, _ROUNDINGS * eps_of(K))


def check_kernel_matrix(K: Array) -> bool:
    """Raise an error for a kernel matrix that is not square or not symmetric; return whether it is so exactly."""
    if K.shape[0] != K.shape[1]:
        raise DataError(
            f"The kernel matrix is {' x '.join(map(str, K.shape))}. It must be square, with one row and one column per "
            "point. To compute it from rows, choose a kernel other than 'precomputed'. Kernel values of new points "
            "belong in `transform`."
        )
    n, xp = K.shape[0], xp_of(K)
    step = slab_rows(n, 8)
    largest = max(float(xp.max(xp.abs(K[start : min(start + step, n), :]))) for start in range(0, n, step))
    exact = True
    for start in range(0, n, step):
        stop = min(start + step, n)
        gap = xp.abs(K[start:stop, :] - K[:, start:stop].T)
        exact = exact and not float(xp.max(gap)) > 0
        found = to_numpy(gap > _tolerance(K) * largest)
        if found.any():
            i, j = (int(p) for p in np.argwhere(found)[0])
            raise DataError(
                f"The kernel matrix has {float(K[start + i, j]):g} in row {start + i + 1}, column {j + 1} and "
                f"{float(K[j, start + i]):g} in row {j + 1}, column {start + i + 1}: it is not symmetric. If this is "
                "rounding error, average it with its transpose (`(K + K.T) / 2`)."
            )
    return exact
