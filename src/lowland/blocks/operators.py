"""Operators: anything with ``shape``, ``dtype`` and ``@``. Matrix-free products over rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, device_of, is_sparse, like, xp_of
from lowland.arrays.precision import as_double
from lowland.blocks.moments import Total
from lowland.data.rows import Rows
from lowland.run.run import Run


@dataclass(frozen=True)
class RowsGram:
    """The d x d matrix C'WC of rows centered at ``mean`` and divided by ``scale``, applied without being formed.

    One product is one pass over the rows: the sum of C'(CV) over the slabs.
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
class _GramProduct:
    """C'W(CV) of one slab; an object, so that it can travel to a worker."""

    V: Array
    mean: Array | None

    def __call__(self, X: Array, weights: np.ndarray | None) -> Total:
        V = like(self.V, X)
        projected = centered_product(X, self.mean, V)  # (m, k)
        if weights is not None:
            projected = projected * like(weights, projected)[:, None]
        return Total(centered_transposed_product(X, self.mean, projected))


@dataclass(frozen=True)
class Divided:
    """An operator over a number."""

    operator: Any
    divisor: float

    @property
    def shape(self) -> tuple[int, int]:
        """That of the operator."""
        return self.operator.shape

    def __matmul__(self, V: Array) -> Array:
        """Return the operator's product over the number."""
        return (self.operator @ V) / self.divisor


def centered_product(X: Any, mean: Array | None, V: Array) -> Array:
    """Return (X - mean) V, (m, k), without filling the zeros of a sparse X."""
    if mean is None:
        return X @ V
    if is_sparse(X):
        return X @ V - like(mean, V) @ V
    near, lost = _rounded(mean, X)
    Z = (X - near[None, :]) @ V
    return Z if lost is None else Z - (lost @ V)[None, :]


def centered_transposed_product(X: Any, mean: Array | None, Y: Array) -> Array:
    """Return (X - mean)' Y, (d, k), without filling the zeros of a sparse X."""
    if mean is None:
        return X.T @ Y
    if is_sparse(X):
        return X.T @ Y - np.outer(mean, Y.sum(axis=0))
    near, lost = _rounded(mean, X)
    P = (X - near[None, :]).T @ Y
    return P if lost is None else P - lost[:, None] * xp_of(Y).sum(Y, axis=0)[None, :]


def _rounded(mean: Array, X: Array) -> tuple[Array, Array | None]:
    """The mean in the precision of X, and what the rounding lost: float32 rows far from the origin would feel it."""
    near = like(mean, X)
    exact = like(mean, X, xp_of(X).float64) if X.dtype != xp_of(X).float64 else None
    return near, None if exact is None else like(exact - as_double(near), X)


def divided_columns(X: Any, scale: Array) -> Any:
    """Return X with every column divided, sparse or not."""
    if is_sparse(X):
        return X.multiply(1 / scale[None, :]).tocsr().astype(X.dtype)
    return X / like(scale, X)[None, :]


def centered_gram_of_rows(X: Any, mean: Array, run: Run, block: int = 4096) -> Array:
    """Return (X - mean)(X - mean)', (n, n) float64, summed over blocks of columns: float32 products, float64 sums."""
    if is_sparse(X):
        # CC' = XX' - X m 1' - 1 m'X' + m'm: the zeros stay zeros
        wide = X.astype(np.float64)
        cross = (wide @ mean)[:, None]
        return (wide @ wide.T).toarray() - cross - cross.T + mean @ mean
    xp = xp_of(X)
    n, d = X.shape
    total = xp.zeros((n, n), dtype=xp.float64, device=device_of(X))
    with run.stage("multiplying columns", d) as stage:
        for start in range(0, d, block):
            stop = min(start + block, d)
            C = X[:, start:stop] - like(mean[start:stop], X)[None, :]
            total += as_double(C @ C.T)
            stage.advance(stop - start)
    return total
