"""Work space that a thread of a run uses again for every slab: fresh pages cost more than the subtraction itself."""

import threading

import numpy as np

from lowland.arrays.namespace import Array

_own = threading.local()


def minus_row(X: Array, row: Array) -> Array:
    """Return X - row for use within the calling function: on a run's thread the next call overwrites it."""
    if not isinstance(X, np.ndarray) or threading.current_thread() is threading.main_thread():
        return X - row[None, :]
    space = getattr(_own, "space", None)
    if space is None or space.dtype != X.dtype or space.size < X.size:
        space = _own.space = np.empty(X.size, dtype=X.dtype)  # lives as long as the run's thread
    out = space[: X.size].reshape(X.shape, order="F" if X.flags.f_contiguous else "C")
    return np.subtract(X, row[None, :], out=out)
