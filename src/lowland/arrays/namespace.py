"""The array library of the data: its namespace, its device, its precision, and the one conversion to numpy."""

import sys
from typing import Any

import array_api_compat
import numpy as np

Array = Any  # an array of whichever library is in use


def xp_of(*arrays: Array) -> Any:
    """Return the array API namespace of the given arrays."""
    for a in arrays:
        if not isinstance(a, np.ndarray):
            return array_api_compat.array_namespace(*arrays)
    return np  # numpy 2 is the standard


def is_array(X: object) -> bool:
    """Whether X is an array of any library that follows the array API standard."""
    return isinstance(X, np.ndarray) or array_api_compat.is_array_api_obj(X)


def is_torch(X: object) -> bool:
    """Whether X is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def is_dask(X: object) -> bool:
    """Whether X is a Dask array, without importing Dask."""
    dask_array = sys.modules.get("dask.array")
    return dask_array is not None and isinstance(X, dask_array.Array)


def is_sparse(X: object) -> bool:
    """Whether X is a scipy sparse matrix or array, without importing scipy."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and sparse.issparse(X)


def on_accelerator(X: object) -> bool:
    """Whether X lies in the memory of a device other than the host."""
    return is_torch(X) and X.device.type != "cpu"  # type: ignore[attr-defined]


def to_numpy(X: Array) -> np.ndarray:
    """Return X as a numpy array on the host: the only place that does this."""
    if isinstance(X, np.ndarray):
        return X
    if is_torch(X):
        return X.detach().cpu().numpy()
    if is_dask(X):
        return np.asarray(X.compute())
    return np.from_dlpack(X) if hasattr(X, "__dlpack__") else np.asarray(X)


def dense(X: Any) -> np.ndarray:
    """Return rows, sparse or not, as a dense numpy array on the host."""
    return X.toarray() if is_sparse(X) else to_numpy(X)


def like(values: Array, X: Array, dtype: Any = None) -> Array:
    """Return ``values`` in the library and on the device of X, in ``dtype`` (that of X unless given)."""
    if dtype is None:
        dtype = X.dtype
    if isinstance(X, np.ndarray) or is_sparse(X):
        return np.asarray(to_numpy(values), dtype=dtype)
    xp = xp_of(X)
    if type(values) is type(X):
        moved = array_api_compat.to_device(values, array_api_compat.device(X))
        return xp.astype(moved, dtype, copy=False)
    return xp.asarray(to_numpy(values), dtype=dtype, device=array_api_compat.device(X))


def take(X: Any, places: np.ndarray, axis: int = 0) -> Any:
    """Return the rows of X, sparse or not, or its columns, at some indices on the host, or those that a mask marks."""
    places = np.flatnonzero(places) if places.dtype == bool else places
    if is_sparse(X):
        return X[:, places] if axis else X[places]
    xp = xp_of(X)
    return xp.take(X, like(places, X, xp.int64), axis=axis)


def device_of(X: Array) -> Any:
    """Return the device of X, as its library represents it."""
    return array_api_compat.device(X)


def slices(n: int, step: int) -> list[slice]:
    """Return the slices that cover n rows in order, ``step`` rows each, fewer in the last."""
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


# --- precision: float32 stays float32; sums over rows and small eigenproblems are float64 ---

_SINGLE_SQUARES = 2.0**-100, 2.0**100  # mean squares that float32 holds, with their products, with all digits
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
    return ROUNDINGS * eps_of(X)


def result_dtype(xp: Any, dtype: Any) -> Any:
    """Return the dtype of results, in the library ``xp``: float32 for rows of float32, else float64."""
    return xp.float32 if dtype == np.float32 else xp.float64


def in_range_of_single(square: float) -> bool:
    """Whether float32 can hold a variance, or another mean square, and its products with all digits."""
    return square == 0 or _SINGLE_SQUARES[0] < square < _SINGLE_SQUARES[1]


def dtype_of_squares(xp: Any, square: float, kind: Any) -> Any:
    """Return the dtype of results that are squares: ``kind``, or float64 where float32 cannot hold the largest."""
    return kind if kind != xp.float32 or in_range_of_single(square) else xp.float64
