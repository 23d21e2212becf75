"""Columns of a table in memory, one at a time, and helpers that the dependence measures share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowland.arrays.namespace import is_sparse, to_numpy
from lowland.data.rows import Rows
from lowland.errors import DataError
from lowland.run.run import Run


class ColumnReader:
    """The columns of a table in memory, one at a time in float64."""

    def __init__(self, X: Any) -> None:
        self.X = X.tocsc() if is_sparse(X) else X
        self.n, self.d = X.shape

    def __getitem__(self, j: int) -> np.ndarray:
        if is_sparse(self.X):
            return self.X[:, [j]].toarray()[:, 0].astype(np.float64, copy=False)
        return np.ascontiguousarray(self.X[:, j], dtype=np.float64)

    def constant(self) -> np.ndarray:
        """Which columns are constant, (d,) bool."""
        return np.array([x.min() == x.max() for x in (self[j] for j in range(self.d))])


def rows_in_memory(rows: Rows, run: Run, n: int, why: str) -> np.ndarray:
    """Return all rows on the host, for a target of n values; ``why`` names what needs them."""
    X = to_numpy(run.to_array(rows, why))
    if len(X) != n:
        raise DataError(f"`X` has {len(X)} rows and `y` has {n} values. Pass one value per row.")
    return X


def listed(names: Sequence[str], which: np.ndarray) -> str:
    """Return the names of some columns for a message, the first five of them."""
    return ", ".join(repr(names[j]) for j in which[:5]) + ", …" * (len(which) > 5)


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Return the inner product with a fixed order of summation, independent of BLAS threads."""
    return float((a * b).sum())


def standardized(x: np.ndarray) -> np.ndarray:
    """Return a column centered and divided by its standard deviation."""
    x = np.ldexp(x, -int(np.frexp(np.abs(x).max())[1]))  # near one, so that no square overflows or underflows
    z = x - x.mean()
    return z / z.std()
