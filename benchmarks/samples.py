"""Reproducible tables for the jobs, and their exact results."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

_BLOCK = 10_000  # rows generated at a time, which avoids a second copy


def tall_table(n: int, d: int) -> np.ndarray:
    """Rows of correlated columns with a decreasing spectrum, (n, d) float32."""
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    mix = ((3 * 0.95 ** np.arange(d) + 0.1)[:, None] * Q.T).astype(np.float32)  # (d, d)
    X = np.empty((n, d), dtype=np.float32)
    for start in range(0, n, _BLOCK):
        block = X[start : start + _BLOCK]
        block[:] = rng.standard_normal(block.shape, dtype=np.float32) @ mix
    return X


def wide_table(n: int, d: int, rank: int = 100) -> np.ndarray:
    """Few rows of many columns: factors with variances 1/j, and noise, (n, d) float32."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((n, rank), dtype=np.float32) / np.sqrt(np.arange(1, rank + 1, dtype=np.float32))
    X = factors @ rng.standard_normal((rank, d), dtype=np.float32)
    for row in X:
        row += 0.5 * rng.standard_normal(d, dtype=np.float32)
    return X


def exact_axes(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k leading eigenvalues of the covariance of X, (k,), and their axes, (k, d), all in float64."""
    n, d = X.shape
    mean = X.mean(axis=0, dtype=np.float64)
    S = np.zeros((d, d))
    for start in range(0, n, _BLOCK):
        C = X[start : start + _BLOCK] - mean
        S += C.T @ C
    values, vectors = np.linalg.eigh(S / (n - 1))
    return values[::-1][:k], vectors[:, ::-1][:, :k].T


def exact_values_by_rows(X: np.ndarray, k: int) -> np.ndarray:
    """Return the k leading eigenvalues of the covariance of X, found in float64 from the Gram matrix of the rows."""
    C = X.astype(np.float64)
    C -= C.mean(axis=0)
    return np.linalg.eigvalsh(C @ C.T / (len(C) - 1))[::-1][:k]


@contextmanager
def large_file(n: int, d: int, group: int) -> Iterator[tuple[str, int]]:
    """Yield the path of a Parquet file of n x d float32 and its size; it is deleted afterwards. Fail without room."""
    with tempfile.TemporaryDirectory(prefix="lowland-benchmark-") as folder:
        needed, free = 1.2 * 4 * n * d, shutil.disk_usage(folder).free
        if free < needed:
            raise OSError(f"the file needs {needed / 1e9:.1f} GB; the temporary folder has {free / 1e9:.1f} GB free")
        path = Path(folder) / "rows.parquet"
        yield str(path), write_parquet(path, n, d, group)


def write_parquet(path: Path, n: int, d: int, group: int) -> int:
    """Write n rows of d float32 columns about the origin, ``group`` rows per row group; return the bytes written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(d)]
    axes = rng.standard_normal((12, d), dtype=np.float32) * (0.8 ** np.arange(12, dtype=np.float32))[:, None]
    schema = pa.schema([(name, pa.float32()) for name in names])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, n, group):
            m = min(group, n - start)
            X = rng.standard_normal((m, d), dtype=np.float32)
            X += rng.standard_normal((m, 12), dtype=np.float32) @ axes
            writer.write_table(pa.table(list(np.ascontiguousarray(X.T)), schema=schema))
    return path.stat().st_size
