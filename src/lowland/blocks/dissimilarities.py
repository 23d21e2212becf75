"""Dissimilarities to scale: given as a matrix, or measured between rows; and configurations to start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.arrays.random import standard_normal
from lowland.blocks.distances import Metric, check_distances, check_metric, distance_matrix
from lowland.data.open import open_rows
from lowland.data.rows import ArrayRows, Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.run.run import Run, all_finite, run_for

SINGLE_ABOVE = 4096  # points; beyond, measured distances are kept in float32: no stress of so many feels the rounding


@dataclass(frozen=True)
class Dissimilarities:
    """A symmetric matrix of dissimilarities, the rows they were measured between, and the run for work on them."""

    D: Array  # (n, n)
    X: Array | None  # (n, d), None where the matrix was given
    run: Run
    missing: bool  # whether some are NaN


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
    single = X.dtype == xp_of(X).float32 or (n > SINGLE_ABOVE and not given)
    matrices = max(0.0, matrices - 1) if given else matrices
    run.require(
        matrices * n * n * (4 if single else 8),
        f"{owner} of {n} points, hence a matrix of {n} x {n} distances,",
        "Use fewer rows, for instance landmarks placed first and the others by transform, or pass float32",
    )
    local = run_for(ArrayRows(X))
    if given:
        X = check_distances(X, missing=missing)
        return Dissimilarities(X, None, local, missing and not all_finite(X))
    _warn_of_a_matrix(X, owner)
    D = distance_matrix(X, local, metric, params, single=single)
    return Dissimilarities(check_distances(D) if callable(metric) else D, X, local, False)


def _matrix(rows: Rows, run: Run, owner: str) -> Array:
    """The rows as one matrix, in which NaN may have a meaning."""
    if not rows.in_memory and rows.n is not None:
        run.require(
            2 * rows.n * rows.d * rows.dtype.itemsize, f"{owner} needs the matrix in memory and", "Use fewer rows"
        )
    return rows.to_array()


def _warn_of_a_matrix(X: Array, owner: str) -> None:
    n, d = X.shape
    if n != d or n < 3:
        return
    A = to_numpy(X)
    if np.all(np.diagonal(A) == 0) and np.array_equal(A, A.T):
        warn(
            f"The rows given to {owner} look like a matrix of distances: symmetric with a diagonal of zeros. They are "
            "taken as rows; pass metric='precomputed' if they are distances.",
            DataWarning,
        )


def check_count(owner: str, k: int, n: int) -> None:
    """Refuse more dimensions than n points can span."""
    if k > max(1, n - 1):
        raise ParameterError(
            f"{owner}(n_components={k}): {n} points span at most {max(1, n - 1)} dimensions. Choose at most that many."
        )


def given_start(init: Any, n: int, beside: Array) -> Array:
    """Return a configuration a user starts from, (n, k) float64, checked."""
    rows = open_rows(init)
    Z = rows.to_array()
    if Z.shape[0] != n or not all_finite(Z):
        raise DataError(
            f"init has shape {tuple(Z.shape)}: it must hold one row of finite coordinates for each of the {n} points."
        )
    return like(Z, beside, xp_of(beside).float64)


def random_start(n: int, k: int, size: float, rng: np.random.Generator, beside: Array) -> Array:
    """Return normal coordinates, (n, k) float64, whose distances have the root mean square ``size``."""
    xp = xp_of(beside)
    Z = standard_normal((n, k), rng, xp.astype(beside[:1, :1], xp.float64))
    return Z * (size / (2 * k) ** 0.5)


def check_pair_weights(weights: Any, n: int, beside: Array) -> Array:
    """Return weights of pairs, (n, n), checked: symmetric, finite and not negative."""
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
