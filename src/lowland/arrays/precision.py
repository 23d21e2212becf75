"""Precision: float32 stays float32; sums over rows and small eigenproblems are float64."""

from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, xp_of


def float_dtype(dtype: Any) -> np.dtype:
    """Return the dtype rows are worked in: float32 for float32 and float16, float64 for the rest."""
    kind = np.dtype(dtype)
    return np.dtype(np.float32 if kind.kind == "f" and kind.itemsize <= 4 else np.float64)


def as_double(X: Array) -> Array:
    """Return X in float64 (in float32 where a device has no float64)."""
    if isinstance(X, np.ndarray) and X.dtype == np.float64:
        return X
    xp = xp_of(X)
    if X.dtype == xp.float64:
        return X
    try:
        return xp.astype(X, xp.float64, copy=False)
    except TypeError:  # Apple's MPS has no float64
        return xp.astype(X, xp.float32, copy=False)


def eps_of(X: Array) -> float:
    """Return the relative spacing of the floats of X."""
    return float(xp_of(X).finfo(X.dtype).eps)
