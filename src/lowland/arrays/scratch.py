"""Shifting rows in work space that a run's thread uses again for every slab: fresh pages cost more than the work."""

import threading

import numpy as np

from lowland.arrays.linalg import SUM_ROWS, column_sums
from lowland.arrays.namespace import Array, device_of, xp_of

_own = threading.local()


def use_scratch() -> None:
    """Let the current thread keep its work space from slab to slab: for a run's own threads, which end with the run."""
    _own.space = np.empty(0)


def shifted_with_sums(X: Array, shift: Array) -> tuple[Array, Array]:
    """Return X - shift and the sums of its columns in float64.

    The rows are for use within the calling function: on a run's thread the next call overwrites them. They are shifted
    and summed a few at a time, while they lie in the cache.
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
    """Return X less, in every row i, the row ``places[i]`` of M; for use within the calling function, as above."""
    if not isinstance(X, np.ndarray) or not X.flags.c_contiguous:
        xp = xp_of(X)
        return X - xp.take(M, xp.asarray(places, device=device_of(X)), axis=0)
    Y = _space(X)
    for start in range(0, len(X), SUM_ROWS):
        stop = start + SUM_ROWS
        np.subtract(X[start:stop], M[places[start:stop]], out=Y[start:stop])
    return Y


def _space(X: np.ndarray) -> np.ndarray:
    """An array like X; on a thread of a run the same memory each time."""
    space = getattr(_own, "space", None)
    if space is None:
        return np.empty_like(X)
    if space.dtype != X.dtype or space.size < X.size:
        space = _own.space = np.empty(X.size, dtype=X.dtype)
    return space[: X.size].reshape(X.shape)
