"""Affinities: kernel values of rows with points, whole kernel matrices, and matrices that were given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, device_of, is_torch, like, to_numpy, xp_of
from lowland.arrays.precision import as_double, eps_of
from lowland.blocks.distances import DistancesTo, in_slabs, squared_euclidean
from lowland.blocks.moments import Total
from lowland.data.rows import ArrayRows, Rows, slab_rows
from lowland.errors import DataError, ParameterError
from lowland.run.run import Run, all_finite

Kernel = str | Callable[..., float]

_BLOCK = 1 << 19  # kernel values made at a time: few enough to stay in a cache, enough for a product at full rate
_LOST = 1e-11  # error of an exponent -γ|a - b|² above which the distance is measured with more care
_PAIRED_ROWS = 2000  # rows whose pairs the median rule looks at
_ASYMMETRY = 1e4  # roundings by which an entry may differ from its mirror image


@dataclass(frozen=True)
class KernelWith:
    """The kernel values of a slab's rows with given points, (m, p); an object, so that it can travel to a worker.

    linear x'y; poly (γ x'y + c)^degree; rbf exp(-γ|x - y|²); laplacian exp(-γ|x - y|₁); sigmoid tanh(γ x'y + c);
    cosine x'y/|x||y|; or a function of two rows. Precomputed rows hold the values already.
    """

    points: Array | None  # (p, d); None where the rows are kernel values
    kernel: Kernel = "linear"
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 1
    params: dict[str, Any] = field(default_factory=dict)  # of a function

    def __call__(self, X: Array) -> Array:
        """Of one slab, in its precision; NaN where the slab is not finite, since exp(-∞) would hide it."""
        if self.points is None:
            return X
        xp = xp_of(X)
        if not all_finite(X):
            return xp.full((X.shape[0], self.points.shape[0]), xp.nan, dtype=X.dtype, device=device_of(X))
        if callable(self.kernel):
            pairs = [[float(self.kernel(a, b, **self.params)) for b in to_numpy(self.points)] for a in to_numpy(X)]
            return like(np.asarray(pairs), X)
        return _KERNELS[self.kernel](self, as_double(X), like(self.points, X, as_double(X).dtype), X.dtype)

    @property
    def is_definite(self) -> bool:
        """Whether every matrix of it is positive semi-definite, whatever the rows."""
        if self.kernel == "poly":
            return self.coef0 >= 0 and float(self.degree).is_integer()
        return self.kernel in ("linear", "rbf", "laplacian", "cosine")


# --- kernels ----------------------------------------------------------------------------------------------------------


def _linear(k: KernelWith, A: Array, B: Array, dtype: Any) -> Array:
    return _in_blocks(A, B, dtype, lambda P: P)


def _rbf(k: KernelWith, A: Array, B: Array, dtype: Any) -> Array:
    """One product gives the exponents: -γ|a - b|² = [2γa, -γ|a|², 1] · [b, 1, -γ|b|²]."""
    xp = xp_of(A)
    centre = xp.mean(B, axis=0)[None, :]
    U, V = A - centre, B - centre
    u, v = k.gamma * xp.sum(U * U, axis=1)[:, None], k.gamma * xp.sum(V * V, axis=1)[:, None]
    if eps_of(A) * (float(xp.max(u)) + float(xp.max(v))) > _LOST:
        return xp.astype(xp.exp(-k.gamma * squared_euclidean(U, V)), dtype, copy=False)
    left = xp.concat([2 * k.gamma * U, -u, xp.ones_like(u)], axis=1)
    right = xp.concat([V, xp.ones_like(v), -v], axis=1)
    return _in_blocks(left, right, dtype, _exp)


def _laplacian(k: KernelWith, A: Array, B: Array, dtype: Any) -> Array:
    xp = xp_of(A)
    return _exp(xp.astype(-k.gamma * DistancesTo(B, "manhattan")(A), dtype, copy=False))


def _poly(k: KernelWith, A: Array, B: Array, dtype: Any) -> Array:
    return _in_blocks(A * k.gamma, B, dtype, lambda P: _power(P + k.coef0, k.degree), double=True)


def _sigmoid(k: KernelWith, A: Array, B: Array, dtype: Any) -> Array:
    xp = xp_of(A)
    return _in_blocks(A * k.gamma, B, dtype, lambda P: xp.tanh(P + k.coef0))


def _cosine(k: KernelWith, A: Array, B: Array, dtype: Any) -> Array:
    return _in_blocks(_unit(A), _unit(B), dtype, lambda P: P)


_KERNELS: dict[str, Callable[[KernelWith, Array, Array, Any], Array]] = {
    "linear": _linear,
    "poly": _poly,
    "rbf": _rbf,
    "sigmoid": _sigmoid,
    "laplacian": _laplacian,
    "cosine": _cosine,
}


def _in_blocks(A: Array, B: Array, dtype: Any, f: Callable[[Array], Array], *, double: bool = False) -> Array:
    """f of A B', in ``dtype``, on the host a few rows at a time; ``double``: f sees it in float64."""
    xp = xp_of(A)
    if not isinstance(A, np.ndarray):
        P = A @ B.T
        return xp.astype(f(P if double else xp.astype(P, dtype, copy=False)), dtype, copy=False)
    K = np.empty((A.shape[0], B.shape[0]), dtype=dtype)
    step = max(16, _BLOCK // max(1, B.shape[0]))
    for start in range(0, A.shape[0], step):
        P = A[start : start + step] @ B.T
        K[start : start + step] = f(P if double else P.astype(dtype, copy=False))
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


def _unit(A: Array) -> Array:
    xp = xp_of(A)
    size = xp.max(xp.abs(A), axis=1)[:, None]  # squares of very large rows would overflow
    A = A / xp.where(size > 0, size, xp.ones_like(size))
    lengths = xp.sqrt(xp.sum(A * A, axis=1))[:, None]
    return A / xp.where(lengths > 0, lengths, xp.ones_like(lengths))


# --- the width of a kernel --------------------------------------------------------------------------------------------


def median_gamma(X: Array, kernel: Kernel) -> float:
    """Return 1 / median of the squared distances (rbf; laplacian: of the distances) of pairs of rows, no seed needed.

    Pairs of up to 2000 rows are looked at, spread evenly over all: then a typical pair has the affinity 1/e.
    """
    if kernel not in ("rbf", "laplacian"):
        raise ParameterError(
            f"gamma='median' is a rule about distances, for the kernels 'rbf' and 'laplacian', not {kernel!r}. "
            "Give gamma as a number."
        )
    n, xp = X.shape[0], xp_of(X)
    if n > _PAIRED_ROWS:
        places = np.linspace(0, n - 1, _PAIRED_ROWS).astype(np.int64)
        X = xp.take(X, like(places, X, xp.int64), axis=0)
    A = as_double(X)
    D = DistancesTo(A, "sqeuclidean" if kernel == "rbf" else "manhattan")(A)
    pairs = to_numpy(D)[np.triu_indices(A.shape[0], 1)]
    typical = float(np.median(pairs))
    if not typical > 0:  # more than half of the pairs are alike
        apart = pairs[pairs > 0]
        typical = float(np.median(apart)) if apart.size else 1.0
    return 1 / typical


# --- whole matrices ---------------------------------------------------------------------------------------------------


@dataclass
class KernelRows(Rows):
    """The rows of a kernel matrix, each slab made when it is asked for: the matrix is never held."""

    X: Array  # (n, d)
    kernel: KernelWith  # with X
    source: str = "the kernel"

    def __post_init__(self) -> None:
        whole = ArrayRows(self.X)
        self.n = self.d = whole.n
        self.dtype = whole.dtype
        self.slabs = in_slabs(whole, whole.n)

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
        """Say that the kernel overflows: the rows themselves are finite."""
        return _overflow(self.kernel)


@dataclass(frozen=True)
class KernelMatrix:
    """The rows of a symmetric kernel matrix, held or made slab by slab, and the means of its columns."""

    rows: Rows
    means: Array  # (n,) float64
    held: Array | None  # (n, n)

    @classmethod
    def of(cls, X: Array, kernel: KernelWith, run: Run, *, hold: bool) -> Self:
        """Of all pairs of rows of X; a kernel without points says that X is the matrix itself."""
        n, xp = X.shape[0], xp_of(X)
        if kernel.points is None:
            return cls(ArrayRows(X), run.fold(ArrayRows(X), _SumColumns()).value / n, X)
        if not hold:
            rows = KernelRows(X, kernel)
            return cls(rows, run.fold(rows, _SumColumns(), name="making the kernel").value / n, None)
        if not isinstance(X, np.ndarray) and not is_torch(X):  # the standard promises no views to write into
            K = kernel(X)
            return cls(ArrayRows(K), _SumColumns()(K).value / n, K)
        K = xp.empty((n, n), dtype=X.dtype, device=device_of(X))
        try:
            # the matrix is aligned with the rows: each worker gets, and fills, its own part of it
            total = run.fold(in_slabs(ArrayRows(X), n), _Fill(kernel), K, name="making the kernel")
        except DataError as error:
            raise _overflow(kernel) from error
        return cls(ArrayRows(K), total.value / n, K)


@dataclass(frozen=True)
class _SumColumns:
    """The sums of the columns of a slab; an object, so that it can travel to a worker."""

    def __call__(self, K: Array) -> Total:
        return Total(xp_of(K).sum(K, axis=0, dtype=as_double(K[:0, :]).dtype))


@dataclass(frozen=True)
class _Fill:
    """Write a slab of the kernel where it belongs, and sum its columns."""

    kernel: KernelWith

    def __call__(self, X: Array, out: Array) -> Total:
        out[:, :] = self.kernel(X)
        return _SumColumns()(out)


def _overflow(kernel: KernelWith) -> DataError:
    if callable(kernel.kernel):
        return DataError("The kernel function returned NaN or infinity for a pair of finite rows. Check the function.")
    return DataError(
        f"Values of the kernel {kernel.kernel!r} overflow: the rows are too large for "
        "it. Pass float64, standardise the columns, or lower gamma or degree."
    )


def check_kernel_matrix(K: Array, source: str = "The kernel matrix") -> None:
    """Refuse what is no matrix of kernel values of points with each other: not square, not symmetric."""
    if K.shape[0] != K.shape[1]:
        raise DataError(
            f"{source} has shape {tuple(K.shape)}. It must be square, with one row and one column a point; pass rows "
            "with another kernel than 'precomputed' to have it computed, and the kernel of new points to transform."
        )
    n, xp = K.shape[0], xp_of(K)
    step = slab_rows(n, 8)
    largest = max(float(xp.max(xp.abs(K[start : min(start + step, n), :]))) for start in range(0, n, step))
    for start in range(0, n, step):
        stop = min(start + step, n)
        gap = xp.abs(K[start:stop, :] - K[:, start:stop].T)
        found = to_numpy(gap > _ASYMMETRY * eps_of(K) * largest)
        if found.any():
            i, j = (int(p) for p in np.argwhere(found)[0])
            raise DataError(
                f"{source} has {float(K[start + i, j]):g} at [{start + i}, {j}] and {float(K[j, start + i]):g} at "
                f"[{j}, {start + i}]: it is not symmetric. Pass (K + K.T) / 2 if that is what is meant."
            )
