"""Helpers for the columns of a table: rows in memory, names in messages, constant columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowland.arrays.namespace import is_sparse, to_numpy
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, warn
from lowland.run.run import Run


def rows_in_memory(rows: Rows, run: Run, n: int, why: str) -> np.ndarray:
    """Return all rows on the host, for a target of n values; ``why`` names what needs them."""
    X = to_numpy(run.to_array(rows, why))
    if len(X) != n:
        raise DataError(f"`X` has {len(X)} rows and `y` has {n} values. Pass one value per row.")
    return X


def constant_columns(X: Any) -> np.ndarray:
    """Return which columns of a dense or sparse table are constant, (d,) bool."""
    if is_sparse(X):
        return (X.max(axis=0).toarray() == X.min(axis=0).toarray()).ravel()
    return np.asarray(X.max(axis=0) == X.min(axis=0))


def check_constant(constant: np.ndarray, names: Sequence[str]) -> None:
    """Warn of constant columns, (d,) bool; refuse data where every column is constant."""
    if constant.all():
        raise DataError("Every column is constant, so no column can be selected. Pass columns that vary.")
    if constant.any():
        which = np.flatnonzero(constant)
        many = len(which) > 1
        warn(
            f"{'Columns' if many else 'Column'} {listed(names, which)} {'are' if many else 'is'} constant and cannot "
            "predict `y`. Drop constant columns.",
            DataWarning,
        )


def listed(names: Sequence[str], which: np.ndarray) -> str:
    """Return the names of some columns for a message, the first five of them."""
    return ", ".join(repr(names[j]) for j in which[:5]) + ", …" * (len(which) > 5)
