"""Linear algebra for any array library: the functions of the standard, or faster ones where a library has them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.arrays.namespace import Array, as_double, is_torch, on_accelerator, xp_of

_OUTER_ROWS = 128  # rows of an outer product made at a time
SUM_ROWS = 256  # rows summed in the precision of the data
_FACTORED_ALONE = range(32, 1201)  # sizes at which one thread is nearly as fast as several, and never waits for them
_GRAM_STRIPE = 256  # columns; below this a GPU's product no longer fills the device


def gram(Y: Array) -> Array:
    """Return Y'Y, (d, d), computing only one triangle where the library allows it."""
    if isinstance(Y, np.ndarray):
        if Y.itemsize not in Y.strides:  # BLAS cannot read it, and before version 2.3 numpy would sum without it
            Y = np.ascontiguousarray(Y)
        return Y.T @ Y  # numpy sees the same buffer twice and calls BLAS's syrk: one triangle only
    if not on_accelerator(Y) or Y.shape[1] < 2 * _GRAM_STRIPE:
        return Y.T @ Y
    return _gram_by_stripes(Y)


def _gram_by_stripes(Y: Array) -> Array:
    """Y'Y by stripes of columns on and above the diagonal: half the products of a device without syrk."""
    xp = xp_of(Y)
    d = Y.shape[1]
    G = xp.empty((d, d), dtype=Y.dtype, device=Y.device)
    for start in range(0, d, _GRAM_STRIPE):
        stop = min(start + _GRAM_STRIPE, d)
        stripe = Y[:, start:stop].T @ Y[:, start:]  # (b, d - start)
        G[start:stop, start:] = stripe
        G[start:, start:stop] = stripe.T
    return G


def add_outer(A: Array, x: Array, y: Array) -> Array:
    """Return A + xy', in place, a few rows at a time, which avoids a temporary array of the size of A."""
    for start in range(0, x.shape[0], _OUTER_ROWS):
        stop = min(start + _OUTER_ROWS, x.shape[0])
        A[start:stop, :] += x[start:stop, None] * y[None, :]
    return A


def plus_square(S: Array, e: Array) -> Array:
    """Return S + e∘e, (m, n), in place of e, in one pass over memory where the library allows it."""
    if is_torch(e):
        import torch

        return torch.addcmul(S, e, e, out=e)
    e *= e
    e += S
    return e


def product_into(A: Array, B: Array, out: Array) -> None:
    """Write AB into ``out``."""
    if isinstance(out, np.ndarray):
        np.matmul(A, B, out=out)
    elif is_torch(out):
        import torch

        torch.matmul(A, B, out=out)
    else:
        out[...] = A @ B


def affine(X: Array, W: Array, b: Array) -> Array:
    """Return XW + b, (m, n)."""
    if is_torch(X):
        import torch

        return torch.addmm(b, X, W)
    a = X @ W
    a += b
    return a


def column_sums(Y: Array) -> Array:
    """Return the sum of each column in float64, (d,), from sums over short runs of rows in the precision of Y."""
    if isinstance(Y, np.ndarray) and not Y.flags.f_contiguous:
        # numpy adds rows one after the other, which costs float32 a digit every ten thousand of them
        if Y.dtype == np.float64 and Y.shape[1] <= SUM_ROWS:  # BLAS is faster than numpy for short rows
            return np.sum([np.ones(len(run)) @ run for run in _runs(Y, 8 * SUM_ROWS)], axis=0)
        return np.sum([run.sum(axis=0) for run in _runs(Y)], axis=0, dtype=np.float64)
    return as_double(xp_of(Y).sum(Y, axis=0))


def column_squares(Y: Array) -> Array:
    """Return the sum of squares of each column in float64, (d,), summed as ``column_sums`` does."""
    if isinstance(Y, np.ndarray) and not Y.flags.f_contiguous:
        return np.sum([np.einsum("ij,ij->j", run, run) for run in _runs(Y)], axis=0, dtype=np.float64)
    return as_double(xp_of(Y).sum(Y * Y, axis=0))


def _runs(Y: np.ndarray, step: int = SUM_ROWS) -> Iterator[np.ndarray]:
    """Short runs of rows: few enough to sum accurately in float32 and to stay in the cache."""
    return (Y[start : start + step] for start in range(0, len(Y), step))


def on_one_thread_if_small(A: Array) -> AbstractContextManager[None]:
    """Limit BLAS to one thread while a matrix of moderate size is factorized.

    A factorization makes a threaded call for every few columns. Next to a busy process, each may wait for a time slice.
    """
    return blas_on_one_thread() if isinstance(A, np.ndarray) and min(A.shape) in _FACTORED_ALONE else nullcontext()


def eigh(A: Array) -> tuple[Array, Array]:
    """Return all eigenvalues (ascending) and eigenvectors of a symmetric matrix."""
    with on_one_thread_if_small(A):
        return tuple(xp_of(A).linalg.eigh(A))


def eigvalsh(A: Array) -> Array:
    """Return all eigenvalues (ascending) of a symmetric matrix."""
    with on_one_thread_if_small(A):
        return xp_of(A).linalg.eigvalsh(A)


def svd(A: Array) -> tuple[Array, Array, Array]:
    """Return the thin singular value decomposition U, s, V'."""
    with on_one_thread_if_small(A):
        return tuple(xp_of(A).linalg.svd(A, full_matrices=False))


def triangle(A: Array) -> Array:
    """Return the triangular factor R of A = QR, (min(n, d), d)."""
    if isinstance(A, np.ndarray):
        return np.linalg.qr(A, mode="r")
    if is_torch(A):
        import torch

        return torch.linalg.qr(A, mode="r").R
    return xp_of(A).linalg.qr(A).R


def orthonormal(A: Array) -> Array:
    """Return an orthonormal basis of the columns of A, (n, k)."""
    return xp_of(A).linalg.qr(A).Q


def over_root(T: Array, S: Array) -> Array:
    """Return T / sqrt(S), in place of S where the library allows it."""
    return S.rsqrt_().mul_(T) if is_torch(S) else T / xp_of(S).sqrt(S)


_own = threading.local()


def work_space(n: int, d: int, dtype: Any) -> np.ndarray:
    """An array (n, d) small enough for the cache: in the same memory each time on a thread."""
    few = getattr(_own, "few", None)
    if few is None or few.dtype != dtype or few.size < n * d:
        few = _own.few = np.empty(n * d, dtype=dtype)
    return few[: n * d].reshape(n, d)


def segment_sums(values: Any, counts: Any) -> Any:
    """Return the sum of the first counts[0] rows, of the next counts[1] rows, …; (m, …), zero for an empty segment.

    A segment is added up in the order of its rows, so the bits are the same every time, also on a GPU.
    """
    import torch

    return torch.segment_reduce(values, "sum", lengths=counts, axis=0, unsafe=True)
