"""Precision: float32 stays float32; sums over rows and small eigenproblems are float64."""

from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, xp_of

ROUNDINGS = 8  # relative differences below this multiple of the machine epsilon are rounding error


def float_dtype(dtype: Any) -> np.dtype:
    """Return the dtype of computations on rows: float32 for float32 and float16, float64 for the rest."""
    kind = np.dtype(dtype)
    return np.dtype(np.float32 if kind.kind == "f" and kind.itemsize <= 4 else np.float64)


def as_double(X: Array) -> Array:
    """Return X in float64 (in float32 where a device has no float64)."""
    if isinstance(X, np.ndarray):
        return X.astype(np.float64, copy=False)
    xp = xp_of(X)
    if X.dtype == xp.float64:
        return X
    try:
        return xp.astype(X, xp.float64, copy=False)
    except TypeError:  # Apple's MPS has no float64
        return xp.astype(X, xp.float32, copy=False)


def eps_of(X: Array) -> float:
    """Return the machine epsilon of the dtype of X."""
    return float((np if isinstance(X, np.ndarray) else xp_of(X)).finfo(X.dtype).eps)


def rounding_of(dtype: Any) -> float:
    """Return the relative difference that counts as rounding error in a numpy dtype."""
    return ROUNDINGS * float(np.finfo(dtype).eps)


def rounding_in(X: Array) -> float:
    """Return the relative difference that counts as rounding error in the dtype of X."""
    return ROUNDINGS * float((np if isinstance(X, np.ndarray) else xp_of(X)).finfo(X.dtype).eps)


def result_dtype(xp: Any, dtype: Any) -> Any:
    """Return the dtype of results, in the library ``xp``: float32 for rows of float32, else float64."""
    return xp.float32 if dtype == np.float32 else xp.float64
