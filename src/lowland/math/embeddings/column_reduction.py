"""Rows with many columns, reduced by PCA before their neighbors are searched; a row does not depend on its batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy
from lowland.arrays.records import record
from lowland.arrays.slices import slices
from lowland.data.rows import ArrayRows, SparseRows
from lowland.math.spectra.component_rules import Fixed
from lowland.math.spectra.operators import centered_product
from lowland.math.spectra.principal_axes import principal_axes
from lowland.run.run import Run

_ROWS = 256  # rows of every product: BLAS rounds a row alike in products of the same shape


@record
@dataclass(frozen=True)
class ColumnReduction:
    """The projection of rows on their first principal axes."""

    mean: Array  # (d,)
    axes: Array  # (d, q)

    @classmethod
    def of(cls, X: Any, most: int, run: Run) -> ColumnReduction:
        """Return the projection on the first ``most`` principal axes of the rows, or on all there are."""
        q = min(most, X.shape[0] - 1, X.shape[1])
        found = principal_axes(SparseRows(X) if is_sparse(X) else ArrayRows(X), run, Fixed(q))
        return cls(to_numpy(found.columns.mean), to_numpy(found.pairs.vectors[:, :q]))

    def __call__(self, X: Any) -> np.ndarray:
        """Return the coordinates of rows, (m, q), in their precision."""
        if is_sparse(X):
            return np.asarray(centered_product(X, self.mean, self.axes), dtype=X.dtype)
        X = to_numpy(X)
        V = like(self.axes, X)
        out = np.empty((len(X), V.shape[1]), dtype=X.dtype)
        block = np.zeros((_ROWS, X.shape[1]), dtype=X.dtype)
        for rows in slices(len(X), _ROWS):
            few = X[rows]
            block[: len(few)] = few - self.mean
            out[rows] = (block @ V)[: len(few)]
        return out
