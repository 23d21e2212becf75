"""Shifting rows in work memory that a thread reuses for every slab: allocating it would cost more than the work."""

import threading

import numpy as np

from lowland.arrays.linalg import SUM_ROWS, column_sums, gram
from lowland.arrays.namespace import Array, device_of, xp_of

_CACHED = 1 << 16  # numbers that stay in a core's cache

_own = threading.local()


def use_scratch() -> None:
    """Let the current thread reuse its work memory; only for the threads of a run, which end with it."""
    _own.space = np.empty(0)


def row_major(X: Array) -> bool:
    """Whether X is a numpy array whose rows are contiguous."""
    return isinstance(X, np.ndarray) and X.strides[1] == X.itemsize


def shifted_with_sums(X: Array, shift: Array) -> tuple[Array, Array]:
    """Return X - shift and the sums of its columns in float64.

    Use the rows only within the calling function: on a thread of a run, the next call overwrites them. They are shifted
    and summed a few at a time, while they are in the cache.
    """
    if not row_major(X):
        Y = X - shift[None, :]
        return Y, column_sums(Y)
    Y = _space(X)
    sums = np.zeros(X.shape[1])
    for start in range(0, len(X), SUM_ROWS):
        run = Y[start : start + SUM_ROWS]
        np.subtract(X[start : start + SUM_ROWS], shift, out=run)
        sums += run.sum(axis=0)
    return Y, sums


def space_for_rows(n: int, X: np.ndarray) -> np.ndarray:
    """Work memory for n rows like those of X, few enough for the cache: in the same memory each time on a thread."""
    size = n * X.shape[1]
    few = getattr(_own, "few", None)
    if few is None or few.dtype != X.dtype or few.size < size:
        few = _own.few = np.empty(size, dtype=X.dtype)
    return few[:size].reshape(n, X.shape[1])


def shifted_gram(X: Array, shift: Array) -> tuple[Array, Array]:
    """Return Y'Y and the sums of the columns of Y in float64, where Y = X - shift.

    Where a few hundred rows are wider than the matrix is large, they are shifted and multiplied while they are in the
    cache, and Y is never formed.
    """
    step = max(SUM_ROWS, _CACHED // max(1, X.shape[1]))
    if not row_major(X) or len(X) <= step or step < 2 * X.shape[1]:
        Y, sums = shifted_with_sums(X, shift)
        return gram(Y), sums
    Y, G, sums = space_for_rows(step, X), np.zeros((X.shape[1],) * 2), np.zeros(X.shape[1])
    for start in range(0, len(X), step):
        few = X[start : start + step]
        run = np.subtract(few, shift, out=Y[: len(few)])
        G += gram(run)
        sums += np.ones(len(run)) @ run if X.dtype == np.float64 else column_sums(run)
    return G, sums


def less_rows_of(X: Array, M: Array, places: np.ndarray) -> Array:
    """Return X minus row ``places[i]`` of M in each row i; for use within the calling function, as above."""
    if not row_major(X):
        xp = xp_of(X)
        return X - xp.take(M, xp.asarray(places, device=device_of(X)), axis=0)
    Y = _space(X)
    for start in range(0, len(X), SUM_ROWS):
        stop = start + SUM_ROWS
        np.subtract(X[start:stop], M[places[start:stop]], out=Y[start:stop])
    return Y


def _space(X: np.ndarray) -> np.ndarray:
    """An array like X; on a thread of a run, in the same memory each time."""
    space = getattr(_own, "space", None)
    if space is None:
        return np.empty(X.shape, X.dtype)
    if space.dtype != X.dtype or space.size < X.size:
        space = _own.space = np.empty(X.size, dtype=X.dtype)
    return space[: X.size].reshape(X.shape)
