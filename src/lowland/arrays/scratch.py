"""Shifting rows in work memory that a thread reuses for every slab: allocating it would cost more than the work."""

import threading

import numpy as np

from lowland.arrays.linalg import SUM_ROWS, column_sums
from lowland.arrays.namespace import Array, device_of, xp_of

_own = threading.local()


def use_scratch() -> None:
    """Let the current thread reuse its work memory; only for the threads of a run, which end with it."""
    _own.space = np.empty(0)


def shifted_with_sums(X: Array, shift: Array) -> tuple[Array, Array]:
    """Return X - shift and the sums of its columns in float64.

    Use the rows only within the calling function: on a thread of a run, the next call overwrites them. They are shifted
    and summed a few at a time, while they are in the cache.
    """
    if not isinstance(X, np.ndarray) or not X.flags.c_contiguous:
        Y = X - shift[None, :]
        return Y, column_sums(Y)
    Y = _space(X)
    sums = np.zeros(X.shape[1])
    for start in range(0, len(X), SUM_ROWS):
        run = Y[start : start + SUM_ROWS]
        np.subtract(X[start : start + SUM_ROWS], shift, out=run)
        sums += run.sum(axis=0)
    return Y, sums


def less_rows_of(X: Array, M: Array, places: np.ndarray) -> Array:
    """Return X minus row ``places[i]`` of M in each row i; for use within the calling function, as above."""
    if not isinstance(X, np.ndarray) or not X.flags.c_contiguous:
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
        return np.empty_like(X)
    if space.dtype != X.dtype or space.size < X.size:
        space = _own.space = np.empty(X.size, dtype=X.dtype)
    return space[: X.size].reshape(X.shape)
