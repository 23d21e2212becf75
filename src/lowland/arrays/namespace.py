"""The array library of the data, and the one conversion to numpy."""

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


def device_of(X: Array) -> Any:
    """Return the device of X, as its library represents it."""
    return array_api_compat.device(X)
