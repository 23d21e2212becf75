"""Operators: anything with ``shape`` and ``@``. Matrix-free products over rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.linalg import segment_sums
from lowland.arrays.namespace import Array, as_double, device_of, is_sparse, like, on_accelerator, xp_of
from lowland.data.rows import Rows
from lowland.math.statistics.moments import Total, without_zero_weights
from lowland.run.run import Run

_WIDE = 64  # columns above which BLAS is faster


@dataclass(frozen=True)
class RowsGram:
    """The d x d matrix C'WC of rows centered at ``mean`` and divided by ``scale``, applied without being formed.

    One product is one pass over the rows: the sum of C'(CV) over the chunks.
    """

    rows: Rows
    run: Run
    mean: Array | None  # (d,) or None: not centered
    scale: Array | None  # (d,) or None
    weights: np.ndarray | None

    @property
    def shape(self) -> tuple[int, int]:
        """(d, d)."""
        return self.rows.d, self.rows.d

    def __matmul__(self, V: Array) -> Array:
        """Return C'W(CV), (d, k) float64."""
        scale = None if self.scale is None else like(self.scale, V)
        scaled = V if scale is None else V / scale[:, None]
        product = self.run.fold(self.rows, _GramProduct(scaled, self.mean), self.weights, name="multiplying rows").value
        return product if scale is None else product / scale[:, None]


@dataclass(frozen=True)
class SparseOnDevice:
    """A sparse matrix on a torch device. The terms of a row are added in their order: the bits are always the same."""

    counts: Array  # (n,) int64, entries of each row
    columns: Array  # (entries,) int32
    values: Array  # (entries,) float64

    @classmethod
    def of(cls, A: Any, home: Array) -> SparseOnDevice:
        """Move a CSR matrix to the device of ``home``."""
        xp, counts = xp_of(home), np.diff(A.indptr).astype(np.int64)
        return cls(like(counts, home, xp.int64), like(A.indices, home, xp.int32), like(A.data, home, xp.float64))

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        n = int(self.counts.shape[0])
        return n, n

    def __matmul__(self, V: Array) -> Array:
        """Return AV, (n, k)."""
        return segment_sums(self.values[:, None] * V[self.columns], self.counts)


@dataclass(frozen=True)
class _GramProduct:
    """C'W(CV) of one chunk; an object, so that it can be sent to a worker."""

    V: Array
    mean: Array | None

    def __call__(self, X: Array, weights: np.ndarray | None) -> Total:
        X, weights = without_zero_weights(X, weights)
        V = like(self.V, X)
        projected = centered_product(X, self.mean, V)  # (m, k)
        if weights is not None:
            projected = projected * like(weights, projected)[:, None]
        return Total(centered_transposed_product(X, self.mean, projected))


@dataclass(frozen=True)
class Divided:
    """An operator divided by a number."""

    operator: Any
    divisor: float

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the operator."""
        return self.operator.shape

    def __matmul__(self, V: Array) -> Array:
        """Return the product, divided by the number."""
        return (self.operator @ V) / self.divisor


@dataclass(frozen=True)
class DoubleCentered:
    """The n x n matrix J A J, or -½ J (A∘A) J of distances A, with J = I - 11'/n: centered without being formed.

    ``rows`` are those of the symmetric matrix A, in memory or computed chunk by chunk. A ``constant`` c is added to all
    off-diagonal distances: A∘A becomes A∘(A + 2c) + c²(11' - I).
    """

    rows: Rows
    run: Run
    distances: bool = False
    constant: float = 0.0

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.rows.d, self.rows.d

    def __matmul__(self, V: Array) -> Array:
        """Return the product with V, (n, k) float64."""
        xp = xp_of(V)
        C = as_double(V)
        C = C - xp.mean(C, axis=0)[None, :]
        P = self._times(C)
        P = P - xp.mean(P, axis=0)[None, :]
        if not self.distances:
            return P
        return P / -2 + C * (self.constant**2 / 2) if self.constant else P / -2

    def row_means(self, like_array: Array) -> Array:
        """Return the mean of each row of A, or of A∘A, (n,) float64, in the library of ``like_array``."""
        n, c = self.rows.d, self.constant
        ones = like(np.ones((n, 1)), as_double(like_array[:1, ...]))
        return self._times(ones)[:, 0] / n + c**2 * (n - 1) / n

    def _times(self, V: Array) -> Array:
        times = _Times(V, self.distances, 2 * self.constant)
        return self.run.gather(times, self.rows, V.shape[1], "multiplying", np.dtype(np.float64))


@dataclass(frozen=True)
class _Times:
    """A chunk of a matrix A, or of A∘(A + shift), times V."""

    V: Array
    squared: bool
    shift: float = 0.0

    def __call__(self, A: Array) -> Array:
        V = like(self.V, A, xp_of(A).float64)
        if on_accelerator(
            A
        ):  # squared in the precision of A, which adds no more error than A has, and saves memory traffic
            return as_double(self._squared(A)) @ V
        if not isinstance(A, np.ndarray):
            return self._squared(as_double(A)) @ V
        if A.dtype == np.float64 and not self.squared and V.shape[1] > _WIDE:
            return A @ V
        from lowland.kernels.products import add_product

        P = np.zeros((A.shape[0], V.shape[1]))
        add_product(np.ascontiguousarray(A), np.ascontiguousarray(V.T), self.squared, self.shift, P)
        return P

    def _squared(self, A: Array) -> Array:
        if not self.squared:
            return A
        return A * (A + self.shift) if self.shift else A * A


def times_rows(rows: Rows, V: Array, run: Run) -> Array:
    """Return A V, (n, k) float64, for the rows of a matrix A, chunk by chunk."""
    return run.gather(_Times(V, False), rows, V.shape[1], "multiplying", np.dtype(np.float64))


def centered_product(X: Any, mean: Array | None, V: Array) -> Array:
    """Return (X - mean) V, (m, k), without filling in the zeros of a sparse X."""
    if mean is None:
        return X @ V
    if is_sparse(X):
        return X @ V - like(mean, V) @ V
    near, lost = _rounded(mean, X)
    Z = (X - near[None, :]) @ V
    return Z if lost is None else Z - (lost @ V)[None, :]


def centered_transposed_product(X: Any, mean: Array | None, Y: Array) -> Array:
    """Return (X - mean)' Y, (d, k), without filling in the zeros of a sparse X."""
    if mean is None:
        return X.T @ Y
    if is_sparse(X):
        return X.T @ Y - np.outer(mean, Y.sum(axis=0))
    near, lost = _rounded(mean, X)
    P = (X - near[None, :]).T @ Y
    return P if lost is None else P - lost[:, None] * xp_of(Y).sum(Y, axis=0)[None, :]


def _rounded(mean: Array, X: Array) -> tuple[Array, Array | None]:
    """The mean in the precision of X, and its rounding error, which matters for float32 rows far from the origin."""
    near = like(mean, X)
    exact = like(mean, X, xp_of(X).float64) if X.dtype != xp_of(X).float64 else None
    return near, None if exact is None else like(exact - as_double(near), X)


def divided_columns(X: Any, scale: Array) -> Any:
    """Return X with every column divided, sparse or not."""
    if is_sparse(X):
        return X.multiply(1 / scale[None, :]).tocsr().astype(X.dtype)
    return X / like(scale, X)[None, :]


def centered_gram_of_rows(X: Any, mean: Array, w: np.ndarray, run: Run, *, double: bool = False) -> Array:
    """Return √W (X - mean)(X - mean)' √W, (n, n) float64, W the weights; ``double``: also the products are float64.

    The mean may be approximate: its rounding error is corrected in the (n, n) matrix.
    """
    if is_sparse(X):
        wide = X.astype(np.float64)
        cross = (wide @ mean)[:, None]
        K = (wide @ wide.T).toarray() - cross - cross.T + mean @ mean  # the zeros of X stay zeros
    else:
        K = _gram_by_columns(X, mean, run, double)
    xp = xp_of(K)
    weights = like(w / w.sum(), K)
    of_mean = K @ weights  # (n,) products of every row with the remaining mean
    K = K - of_mean[:, None] - of_mean[None, :] + weights @ of_mean
    root = xp.sqrt(like(w, K))
    return K * (root[:, None] * root[None, :])


def _gram_by_columns(X: Array, mean: Array, run: Run, double: bool) -> Array:
    xp = xp_of(X)
    n, d = X.shape
    total = xp.zeros((n, n), dtype=xp.float64, device=device_of(X))
    with run.stage("multiplying columns", d) as stage:
        for C in _centered_columns(X, mean, double):
            total += as_double(C @ C.T)
            stage.advance(C.shape[1])
    return total


def centered_transposed_by_columns(X: Any, mean: Array, w: np.ndarray, U: Array, *, double: bool) -> Array:
    """Return (X - mean)' √W U, (d, k) float64, a few columns at a time: no centered copy of X is made."""
    U = U * xp_of(U).sqrt(like(w, U))[:, None]
    if is_sparse(X):
        return centered_transposed_product(X.astype(np.float64), mean, U)
    parts = [as_double(C.T @ like(U, C)) for C in _centered_columns(X, mean, double)]
    return xp_of(X).concat(parts, axis=0)


def _centered_columns(X: Array, mean: Array, double: bool) -> Iterator[Array]:
    for start in range(0, X.shape[1], 4096):
        part = X[:, start : min(start + 4096, X.shape[1])]
        part = as_double(part) if double else part
        yield part - like(mean[start : start + part.shape[1]], part)[None, :]


@dataclass(frozen=True)
class Affine:
    """The map x -> (x - shift) A + offset, as an object that can be pickled and sent to a worker."""

    A: Array  # (d, k)
    shift: Array | None = None  # (d,)
    offset: Array | None = None  # (k,)

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return int(self.A.shape[1])

    def __call__(self, X: Any) -> Array:
        """Map one slab of rows."""
        A = like(self.A, X.data if is_sparse(X) else X)
        Z = centered_product(X, self.shift, A)
        if self.offset is not None:
            Z += like(self.offset, Z)[None, :]
        return Z
