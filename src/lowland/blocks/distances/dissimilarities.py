"""Dissimilarities to scale: given as a matrix, or measured between rows; and configurations to start from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.arrays.random import standard_normal
from lowland.blocks.distances.metrics import Metric, check_metric
from lowland.blocks.distances.to_points import check_distances, distance_matrix, own_array, warn_of_a_matrix
from lowland.blocks.statistics.rescaling import unit_of
from lowland.data.open import open_rows
from lowland.data.rows import ArrayRows, Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.run.run import Run, all_finite, run_for

SINGLE_ABOVE = 4096  # points; beyond, measured distances are kept in float32: no stress of so many feels the rounding

_FLAT = 1e-9  # share of its largest extent below which a start has none along a direction


@dataclass(frozen=True)
class Dissimilarities:
    """A symmetric matrix of dissimilarities, the rows they were measured between, and the run for work on them."""

    D: Array  # (n, n), divided by ``unit``
    X: Array | None  # (n, d), None where the matrix was given
    run: Run
    missing: bool  # whether some are NaN
    matrix: Array  # (n, n) as they are told, in their own unit
    unit: float = 1.0

    @property
    def told_in(self) -> Any:
        """The precision of results: that of the rows or of the matrix."""
        return self.matrix.dtype if self.X is None else self.X.dtype

    def in_unit(self, Z: Array) -> Array:
        """Coordinates as they are told."""
        return xp_of(Z).astype(Z if self.unit == 1 else Z * self.unit, self.told_in)


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
    """Return all dissimilarities; ``matrices`` says how many of that size the method holds, for the budget.

    With ``missing``, NaN in a given matrix stands for a dissimilarity that is not known.
    """
    check_metric(metric, params)
    given = metric == "precomputed"
    if given and rows.n is not None and rows.n != rows.d:
        check_distances(np.empty((rows.n, rows.d)))  # says what is wrong with the shape
    X = _matrix(rows, run, owner) if given else run.to_array(rows, owner)
    n = X.shape[0]
    single = X.dtype == xp_of(X).float32 or (n > SINGLE_ABOVE and not given and unit_of(X, single=True) == 1)
    each = n * n * (4 if single else 8)
    kept = 0 if given else X.shape[1] * n * rows.dtype.itemsize  # the model's own rows
    what = f"{owner} of {n} points, hence a matrix of {n} x {n} distances,"
    remedy = "Use fewer rows, for instance landmarks placed first and the others by transform, or pass float32"
    run.require((max(0.0, matrices - 1) if given else matrices) * each + kept, what, remedy)
    local = run_for(ArrayRows(X))
    if given:
        D, kept_rows = check_distances(X, missing=missing), None
    else:
        warn_of_a_matrix(X, owner)
        kept_rows = own_array(rows, X)
        D = distance_matrix(kept_rows, local, metric, params, single=single)
        D = check_distances(D) if callable(metric) else D
    unit = unit_of(D)
    if unit != 1:
        run.require((matrices + 1) * each + kept, what, remedy)
    scaled = D if unit == 1 else D / unit
    return Dissimilarities(scaled, kept_rows, local, missing and not all_finite(D), D, unit)


def _matrix(rows: Rows, run: Run, owner: str) -> Array:
    """The rows as one matrix, in which NaN may have a meaning."""
    if not rows.in_memory and rows.n is not None:
        run.require(
            2 * rows.n * rows.d * rows.dtype.itemsize, f"{owner} needs the matrix in memory and", "Use fewer rows"
        )
    return rows.to_array()


def check_count(owner: str, k: int, n: int) -> None:
    """Refuse more dimensions than n points can span."""
    if k > max(1, n - 1):
        raise ParameterError(
            f"{owner}(n_components={k}): {n} points span at most {max(1, n - 1)} dimensions. Choose at most that many."
        )


def given_start(init: Any, data: Dissimilarities, rng: np.random.Generator) -> Array:
    """Return a configuration a user starts from, (n, k) float64, checked.

    One that lies on a line, or in a plane where more dimensions are asked for, is a saddle of the stress: no slope
    leads out of it. Such a start is moved by a tenth of its extent at random, and this is told.
    """
    Z = open_rows(init).to_array()
    n = data.D.shape[0]
    if Z.shape[0] != n or not all_finite(Z):
        raise DataError(
            f"init has shape {tuple(Z.shape)}: it must hold one row of finite coordinates for each of the {n} points."
        )
    Z = like(Z, data.D, xp_of(data.D).float64) / data.unit
    extents = np.linalg.svd(to_numpy(Z - xp_of(Z).mean(Z, axis=0)[None, :]), compute_uv=False)  # (k,) descending
    if n > 1 and not extents[0] > 0:
        raise ParameterError(
            "init has all points in one place, from where no slope leads. Start from points that are apart, or leave "
            "init to the method."
        )
    rank, full = int(np.sum(extents > _FLAT * extents[0])), min(Z.shape[1], n - 1)
    if rank >= full:
        return Z
    warn(
        f"init spans {rank} of {full} dimensions: no slope leads out of them, so the points are moved by a tenth of "
        "their extent, at random. Start from points that span them all.",
        DataWarning,
    )
    return Z + random_start(n, Z.shape[1], 0.1 * float(extents[0]) * (2 / n) ** 0.5, rng, data.D)


def random_start(n: int, k: int, size: float, rng: np.random.Generator, beside: Array) -> Array:
    """Return normal coordinates, (n, k) float64, whose distances have the root mean square ``size``."""
    xp = xp_of(beside)
    Z = standard_normal((n, k), rng, xp.astype(beside[:1, :1], xp.float64))
    return Z * (size / (2 * k) ** 0.5)


def check_pair_weights(weights: Any, beside: Array) -> Array:
    """Return weights of pairs, (n, n), checked: symmetric, finite and not negative."""
    n = beside.shape[0]
    W = open_rows(weights).to_array()
    if W.shape != (n, n):
        raise DataError(
            f"weights has shape {tuple(W.shape)}: it must be {n} x {n}, one weight for each pair of points."
        )
    host = to_numpy(W)
    if not np.isfinite(host).all() or host.min() < 0:
        raise DataError("weights holds negative or non-finite values. Give 0 to a pair that should not count.")
    if not np.allclose(host, host.T):
        raise DataError("weights is not symmetric: a pair has one weight. Pass (W + W.T) / 2.")
    return like(W, beside)


def without_weightless(data: Dissimilarities, W: Array) -> Dissimilarities:
    """Dissimilarities of weight zero count as missing, also where the start is found."""
    xp = xp_of(W)
    n = W.shape[0]
    weightless = (W == 0) & ~like(np.eye(n, dtype=bool), W, xp.bool)  # a point's weight with itself means nothing
    if not bool(xp.any(weightless)):
        return data
    return replace(data, D=xp.where(weightless, xp.full_like(data.D, float("nan")), data.D), missing=True)
