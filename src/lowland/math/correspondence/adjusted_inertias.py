"""Adjusted principal inertias of multiple correspondence analysis.

The indicators of one column explain each other trivially, which inflates the dimension of the table: the inertias of
the indicators understate how well a map fits. With Q columns, an axis of inertia below 1/Q tells less than a column.
"""

from __future__ import annotations

import numpy as np


def benzecri(inertias: np.ndarray, q: int) -> np.ndarray:
    """Return the inertias after Benzécri's adjustment: (q/(q-1) (λ - 1/q))² above 1/q, zero below."""
    if q < 2:
        return np.zeros_like(inertias)
    return np.where(inertias > 1 / q, (q / (q - 1) * (inertias - 1 / q)) ** 2, 0.0)


def greenacre_total(sum_of_squares: float, n_levels: int, q: int) -> float:
    """Return Greenacre's total: the mean inertia of the cross tables of two different columns.

    ``sum_of_squares`` is that of all inertias of the indicators, the total inertia of the Burt table.
    """
    return q / (q - 1) * (sum_of_squares - (n_levels - q) / q**2) if q > 1 else 0.0
