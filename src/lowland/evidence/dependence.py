"""Do the columns of a table depend on one another at all? A permutation test, to tell structure from noise."""

from __future__ import annotations

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.evidence.nulls import draw_null

PERMUTATIONS = 99
MOST_ROWS, MOST_COLUMNS = 500, 200
_LEAST_ROWS = 10
_NEIGHBOR = 5  # whose distance says how dense the rows lie


def dependence_p_value(X: np.ndarray, seed: int) -> float | None:
    """Return the p-value of the hypothesis that the columns are independent; None for one column or very few rows.

    Three statistics are compared with those of tables whose columns are permuted by themselves: the sum of the squared
    correlations, the largest eigenvalue of the correlation matrix, and how near the fifth neighbors of the rows are in
    standardized columns, which also finds clusters and curves without correlations. Each is standardized over all
    tables, the observed one included, and the largest counts: for every table alike, so that the test is exact. A large
    table is represented by 500 rows and its 200 columns of largest variance.
    """
    rng = np.random.default_rng(seed)
    if len(X) > MOST_ROWS:
        X = X[np.sort(rng.permutation(len(X))[:MOST_ROWS])]
    Y = np.asarray(X, dtype=np.float64) - X.mean(axis=0, dtype=np.float64)
    top = np.abs(Y).max(axis=0, initial=0.0)
    Y = Y[:, top > 0] / top[top > 0]  # squares cannot overflow
    spread = Y.std(axis=0)
    kept = np.argsort(-spread * top[top > 0], kind="stable")[:MOST_COLUMNS]
    if len(Y) < _LEAST_ROWS or len(kept) < 2:
        return None
    Y = Y[:, kept] / spread[kept]
    with blas_on_one_thread():
        null = [_statistics(draw_null(Y, "independent", rng)) for _ in range(PERMUTATIONS)]
        found = np.array([_statistics(Y), *null])
    scale = found.std(axis=0)
    largest = ((found - found.mean(axis=0)) / np.where(scale > 0, scale, 1.0)).max(axis=1)
    return float(np.mean(largest >= largest[0] - 1e-9))


def _statistics(Y: np.ndarray) -> tuple[float, float, float]:
    """Correlations, largest eigenvalue and nearness of neighbors, from standardized columns."""
    n, d = Y.shape
    R = Y.T @ Y / n
    norms = (Y**2).sum(axis=1)
    squares = norms[:, None] + norms[None, :] - 2 * (Y @ Y.T)
    k = min(_NEIGHBOR, n - 1)
    near = np.partition(squares, k, axis=1)[:, k]  # the row itself is the nearest
    return (
        float((R**2).sum()),
        float(np.linalg.eigvalsh(R)[-1]),
        -float(np.log(np.maximum(near, 1e-9 * d)).mean()),
    )
