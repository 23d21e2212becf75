"""The same numbers in other types and places: dtypes, strides, files, frames, chunks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

DTYPES = (
    *("float64",) * 6, "float32", "float32", ">f8", ">f4", "float16", "longdouble",
    "int64", "int32", "int16", "int8", "uint8", ">i4", "bool", "object", "str", "words",
    "complex", "mixed", "dates",
)  # fmt: skip
REFUSED_DTYPES = {"words", "complex", "mixed", "dates"}


def cast(X: np.ndarray, dtype: str) -> np.ndarray:
    """The table in another type; integers are rounded into their range."""
    if dtype in ("float64", "float32", ">f8", ">f4", "float16", "longdouble"):
        with np.errstate(all="ignore"):
            return X.astype(dtype)
    if dtype == "bool":
        return X > 0
    if dtype == "object":
        return X.astype(object)
    if dtype == "str":
        return X.astype(str).reshape(X.shape)
    if dtype == "words":
        return np.full(X.shape, "a")
    if dtype == "mixed":
        mixed = X.astype(object)
        mixed[-1:, -1:] = "?"
        return mixed
    if dtype == "dates":
        return np.zeros(X.shape, "datetime64[s]")
    if dtype == "complex":
        return X + 1j
    info = np.iinfo(dtype)
    low, high = max(info.min, -(2**53)), min(info.max, 2**53)
    return np.clip(np.round(np.nan_to_num(X)), low, high).astype(dtype)


def _strided(X: np.ndarray, folder: Path) -> np.ndarray:
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), dtype=X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _reversed(X: np.ndarray, folder: Path) -> np.ndarray:
    return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]


def _read_only(X: np.ndarray, folder: Path) -> np.ndarray:
    X = X.copy()
    X.setflags(write=False)
    return X


def _memmap(X: np.ndarray, folder: Path) -> np.ndarray:
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


def _unaligned(X: np.ndarray, folder: Path) -> np.ndarray:
    data = np.zeros(X.nbytes + 1, np.uint8)[1:].view(X.dtype).reshape(X.shape)
    data[...] = X
    return data


def _chunks(X: np.ndarray, folder: Path) -> list[np.ndarray]:
    cut = max(1, len(X) // 3)
    return [X[:cut], X[cut:]] if len(X) > 1 else [X]


def _npy(X: np.ndarray, folder: Path) -> Path:
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def _csv(X: np.ndarray, folder: Path) -> Path:
    lines = [",".join(f"c{j}" for j in range(X.shape[1])), *(",".join(repr(float(v)) for v in row) for row in X)]
    (folder / "x.csv").write_text("\n".join(lines) + "\n")
    return folder / "x.csv"


def _parquet(X: np.ndarray, folder: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({f"c{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])}), folder / "x.parquet")
    return folder / "x.parquet"


def _pandas(X: np.ndarray, folder: Path) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])


def _polars(X: np.ndarray, folder: Path) -> Any:
    import polars as pl

    return pl.DataFrame({f"c{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])})


def _sparse(X: np.ndarray, folder: Path) -> Any:
    import scipy.sparse

    return scipy.sparse.csr_array(X)


LAYOUTS: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "C": lambda X, _: np.ascontiguousarray(X),
    "F": lambda X, _: np.asfortranarray(X),
    "strided": _strided,
    "reversed": _reversed,
    "read-only": _read_only,
    "unaligned": _unaligned,
    "memmap": _memmap,
    "list": lambda X, _: X.tolist(),
    "matrix of rows": lambda X, _: [list(row) for row in X],
    "chunks": _chunks,
    "npy": _npy,
    "csv": _csv,
    "parquet": _parquet,
    "pandas": _pandas,
    "polars": _polars,
    "sparse": _sparse,
}
_NATIVE = {"polars", "parquet", "pandas", "sparse", "csv"}  # cannot take every dtype


def fits(layout: str, dtype: str, X: np.ndarray) -> bool:
    """Whether a layout can hold a type at all; otherwise the case is about another library."""
    if X.size == 0:
        return layout in ("C", "F", "read-only", "list", "chunks")
    if layout == "list" and dtype in ("longdouble",):
        return False
    if layout in ("unaligned", "memmap", "npy") and dtype in ("object", "mixed"):
        return False
    return layout not in _NATIVE or dtype in ("float64", "float32", "int64", "int32", "int8", "uint8")
