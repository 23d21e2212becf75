"""Dissimilarities to scale: given as a matrix, or computed from rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, like, xp_of
from lowland.data.rows import ArrayRows, Rows, own_array
from lowland.math.distances.metrics import Metric, check_metric
from lowland.math.distances.to_points import check_distances, distance_matrix
from lowland.math.statistics.rescaling import unit_of
from lowland.run.run import Run, run_for

SINGLE_ABOVE = (
    4096  # points; beyond, computed distances are kept in float32, whose rounding is negligible in the stress
)


@dataclass(frozen=True)
class Dissimilarities:
    """A symmetric dissimilarity matrix, the rows it was computed from, and the run to work on it."""

    D: Array  # (n, n), divided by ``unit``
    X: Array | None  # (n, d), None where the matrix was given
    run: Run
    matrix: Array  # (n, n) in the original unit
    unit: float = 1.0

    @property
    def result_dtype(self) -> Any:
        """The precision of results: that of the rows or of the matrix."""
        return self.matrix.dtype if self.X is None else self.X.dtype

    def in_unit(self, Z: Array) -> Array:
        """Return coordinates in the unit and the precision of the data."""
        return xp_of(Z).astype(Z if self.unit == 1 else Z * self.unit, self.result_dtype)

    def in_unit_of_distances(self, Z: Array) -> Array:
        """Return a configuration in the unit of D, on its device, in float64."""
        return like(Z, self.D, xp_of(self.D).float64) / self.unit


def dissimilarities(
    rows: Rows,
    run: Run,
    metric: Metric,
    params: dict[str, Any] | None,
    *,
    owner: str,
    missing: bool,
    matrices: float = 1,
) -> Dissimilarities:
    """Return all dissimilarities; ``matrices`` of that size are needed by the method, for the memory budget.

    With ``missing``, NaN in a given matrix, and that of two rows which share no column, is a missing dissimilarity.
    """
    check_metric(metric, params)
    given = metric == "precomputed"
    if given and rows.n is not None and rows.n != rows.d:
        check_distances(np.empty((rows.n, rows.d)))  # raises the error of a wrong shape
    X = _matrix(rows, run, owner) if given else run.to_array(rows, owner)
    n = X.shape[0]
    single = X.dtype == xp_of(X).float32 or (n > SINGLE_ABOVE and not given and unit_of(X, single=True) == 1)
    each = n * n * (4 if single else 8)
    kept = 0 if given else X.shape[1] * n * rows.dtype.itemsize  # the model's own rows
    what = f"{owner} of {n} points, with a {n} x {n} distance matrix,"
    remedy = "Use fewer rows (fit a sample of landmarks, then transform the others), or use `float32`"
    run.require((max(0.0, matrices - 1) if given else matrices) * each + kept, what, remedy)
    local = run_for(ArrayRows(X))
    if given:
        D, kept_rows = check_distances(X, missing=missing), None
    else:
        kept_rows = own_array(rows, X)
        D = distance_matrix(kept_rows, local, metric, params, single=single, missing=missing)
        D = check_distances(D) if callable(metric) else D
    unit = unit_of(D)
    if unit != 1:
        run.require((matrices + 1) * each + kept, what, remedy)
    scaled = D if unit == 1 else D / unit
    return Dissimilarities(scaled, kept_rows, local, D, unit)


def _matrix(rows: Rows, run: Run, owner: str) -> Array:
    """Return the rows as one matrix, in which NaN is allowed."""
    if not rows.in_memory and rows.n is not None:
        run.require(
            2 * rows.n * rows.d * rows.dtype.itemsize, f"{owner} needs the matrix in memory, which", "Use fewer rows"
        )
    return rows.to_array()
