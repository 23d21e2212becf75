"""Columns that copy the labels, so that they cannot be features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowland.arrays.namespace import is_array, to_numpy
from lowland.data.open import as_vector
from lowland.math.statistics.labels import missing_labels, unboxed

UNEXPLAINED = 0.02  # fraction of the errors of the majority class that a copy of the labels leaves
SAME_ORDER = 0.999  # rank correlation of a column with the numbers to predict above which it is a copy
COPY = "a copy of the labels"
MOST_LABELS, LEAST_ROWS = 200, 5  # at most so many classes, with so many rows each


def label_copies(table: Any, names: Sequence[str], y: Any) -> dict[str, str]:
    """Return the columns of an Arrow table that determine the labels, nearly one to one, and why, by name.

    A column of levels is a copy if it has at most twice as many levels as there are classes, and predicting the most
    frequent class of each level leaves at most 2% of the errors that remain without it. A column of numbers is a copy
    of numbers to predict if its rank correlation with them exceeds 0.999 in size.
    """
    y = unboxed(as_vector(to_numpy(y) if is_array(y) else y, table.num_rows, "y"))
    missing = missing_labels(y)
    classes, labels = np.unique(y[~missing].astype(str), return_inverse=True)
    numeric = y.dtype.kind in "iuf" and len(classes) > 2 * np.sqrt(len(labels))
    found = {}
    for name in names if len(classes) > 1 else ():
        column = table.column(name)
        if numeric:
            is_copy = _has_same_order(column, y, missing)
        else:
            few = len(classes) <= min(MOST_LABELS, len(labels) / LEAST_ROWS)
            is_copy = few and _has_same_levels(column, labels, len(classes), ~missing)
        if is_copy:
            found[name] = COPY
    return found if len(found) < len(names) else {}  # something must be left to predict from


def _has_same_levels(column: Any, labels: np.ndarray, n_classes: int, known: np.ndarray) -> bool:
    values = column.combine_chunks()
    encoded = values if hasattr(values, "dictionary") else values.dictionary_encode()
    n_levels = len(encoded.dictionary)
    if not 2 <= n_levels <= 2 * n_classes:
        return False
    codes = np.asarray(encoded.indices.fill_null(n_levels))[known]  # a missing value is a level
    counts = np.zeros((n_levels + 1, n_classes))
    np.add.at(counts, (codes, labels), 1)
    errors, most = len(labels) - counts.max(axis=1).sum(), len(labels) - counts.sum(axis=0).max()
    return bool(errors <= UNEXPLAINED * most)


def _has_same_order(column: Any, y: np.ndarray, missing: np.ndarray) -> bool:
    from scipy.stats import spearmanr

    try:
        x = np.asarray(column.cast("float64").fill_null(np.nan), dtype=np.float64)
    except (ValueError, NotImplementedError):  # Arrow's errors: not a column of numbers
        return False
    seen = np.isfinite(x) & ~missing
    if seen.sum() < 10 or len(np.unique(x[seen])) < 3:
        return False
    return bool(abs(spearmanr(x[seen], y[seen]).statistic) > SAME_ORDER)
