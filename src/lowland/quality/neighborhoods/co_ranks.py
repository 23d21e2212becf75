"""Co-ranking: agreement of neighborhoods of every size, R_NX and its area, and all rank measures in one pass."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.slices import slices
from lowland.errors import ParameterError
from lowland.math.distances.metrics import Metric
from lowland.math.neighbors.ranks import PointSet, ShuffledPoints
from lowland.quality.inputs import Sample, check_neighbors
from lowland.quality.measure import Measure, confidence_interval
from lowland.quality.neighborhoods.formulas import (
    continuity_measure,
    lcmc_measure,
    relative_rank_errors,
    trustworthiness_measure,
)
from lowland.quality.original_space import OriginalSpace


def r_nx_area(
    X: Any, Z: Any, *, metric: Metric = "euclidean", per_row: bool = False, sample: Sample = "auto",
    random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return the area under the R_NX curve over log k: one number for neighborhoods of all sizes.

    R_NX(k) is the fraction of the k nearest neighbors that X and Z have in common, rescaled so that 0 is chance and 1
    is perfect.
    The area weights each k by 1/k, so small neighborhoods count most.

    Parameters
    ----------
    X : array-like of shape (n, d), path, or OriginalSpace
        Original rows, or rows prepared once with ``OriginalSpace.of``. With ``metric="precomputed"``: their
        distances, shape (n, n).
    Z : array-like of shape (n, k)
        Coordinates of the same rows, in the same order. Rows with NaN are left out and counted in ``left_out``.
    metric : str or function, default "euclidean"
        Distance metric in X. Distances in Z are Euclidean.
    per_row : bool, default False
        Also return the value of each row, in the attribute ``per_row``.
    sample : int, "auto" or None, default "auto"
        Number of sampled rows that are compared with all others. "auto": all rows up to 4,096. None: all rows.
    random_state : int, Generator or None, default None
        Seed of the sample. None draws the same sample every time.

    Returns
    -------
    Measure
        Higher is better; 0 is chance, 1 is perfect.

    References
    ----------
    Lee, Renard, Bernard, Dupont and Verleysen 2013, *Type 1 and 2 mixtures of Kullback-Leibler divergences*,
    doi:10.1016/j.neucom.2012.12.036.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> round(quality.r_nx_area(X, PCA(2).fit_transform(X)).value, 3)
    0.692
    """
    return co_ranking(X, Z, metric=metric, sample=sample, random_state=random_state, per_row=per_row).area


@dataclass(frozen=True, eq=False)
class CoRanking:
    """Agreement of neighborhoods of every size k between the data and the embedding.

    Attributes
    ----------
    k : array of shape (n - 2,)
        Neighborhood sizes, 1 to n - 2.
    q_nx : array of shape (n - 2,)
        Q_NX(k): fraction of the k nearest neighbors that data and embedding have in common.
    r_nx : array of shape (n - 2,)
        R_NX(k): Q_NX rescaled so that chance is 0 and perfect is 1.
    lcmc : array of shape (n - 2,)
        Local continuity meta-criterion: Q_NX minus k/(n - 1), the value expected by chance.
    area : Measure
        Area under R_NX over log k.
    r_nx_low, r_nx_high : array of shape (n - 2,) or None
        95% confidence interval of each R_NX(k). None if all rows were evaluated.
    sample : int or None
        Number of sampled rows. None if all rows were evaluated.
    left_out : int
        Number of rows without coordinates.
    """

    k: np.ndarray  # (n - 2,)
    q_nx: np.ndarray  # (n - 2,)
    r_nx: np.ndarray  # (n - 2,)
    lcmc: np.ndarray  # (n - 2,)
    area: Measure
    r_nx_low: np.ndarray | None  # (n - 2,)
    r_nx_high: np.ndarray | None  # (n - 2,)
    sample: int | None
    left_out: int

    @property
    def k_max(self) -> int:
        """The k that maximizes LCMC: the boundary between local and global neighborhoods of this embedding."""
        return int(self.k[np.argmax(self.lcmc)])


def co_ranking(
    X: Any,
    Z: Any,
    *,
    metric: Metric = "euclidean",
    sample: Sample = "auto",
    random_state: Any = None,
    per_row: bool = False,
) -> CoRanking:
    """Return the agreement of the k nearest neighbors in X and Z for every k: Q_NX, R_NX, LCMC and the area under R_NX.

    Parameters
    ----------
    X : array-like of shape (n, d), path, or OriginalSpace
        Original rows, or rows prepared once with ``OriginalSpace.of``. With ``metric="precomputed"``: their
        distances, shape (n, n).
    Z : array-like of shape (n, k)
        Coordinates of the same rows, in the same order. Rows with NaN are left out and counted in ``left_out``.
    metric : str or function, default "euclidean"
        Distance metric in X. Distances in Z are Euclidean.
    sample : int, "auto" or None, default "auto"
        Number of sampled rows that are compared with all others. "auto": all rows up to 4,096. None: all rows.
    random_state : int, Generator or None, default None
        Seed of the sample. None draws the same sample every time.
    per_row : bool, default False
        Also return the area of each row, in ``area.per_row``.

    Returns
    -------
    CoRanking
        The curves over k and the area under R_NX.

    References
    ----------
    Lee and Verleysen 2009, *Quality assessment of dimensionality reduction*, doi:10.1016/j.neucom.2008.12.017.
    Lee et al. 2013, doi:10.1016/j.neucom.2012.12.036.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> found = quality.co_ranking(X, PCA(2).fit_transform(X))
    >>> found.k_max, round(float(found.r_nx[9]), 3)  # at 10 neighbors
    (24, 0.716)
    """
    high, low_side = OriginalSpace.beside(X, Z, metric=metric, sample=sample, random_state=random_state)
    return RankAgreement.of(high, low_side).curves(high, per_row=per_row)


@dataclass(frozen=True, eq=False)
class RankAgreement:
    """Common neighbors of every size, and rank errors of the k nearest, from one pass over both rankings."""

    totals: np.ndarray  # (n - 1,) int64 common neighbors for each size, summed over the rows
    squares: np.ndarray  # (n - 1,) int64 sums of their squares
    areas: np.ndarray  # (m,) area under R_NX of each row
    errors: np.ndarray  # (m, 5) as the kernel sums them

    @classmethod
    def of(cls, high: OriginalSpace, Z: PointSet, k: int = 1) -> RankAgreement:
        """Compare the rankings of the evaluated rows, one block at a time."""
        from lowland.kernels import ranks as kernels

        n, m = high.n, high.prepared().m
        _, weights, chance = _area_weights(n)
        areas, errors = np.empty(m), np.empty((m, 5))
        totals, squares = (
            np.zeros(n - 1, dtype=np.int64) for _ in range(2)
        )  # integers: exact in any order of summation
        lock, low = threading.Lock(), ShuffledPoints.of(Z)

        def work(block: slice) -> None:
            here, there = np.zeros_like(totals), np.zeros_like(squares)
            ranks, order = high.ranks(block), low.order(high.places[block])
            kernels.add_shared(ranks, order, weights, here, there, areas[block])
            kernels.sum_rank_errors(ranks, order, k, errors[block])
            with lock:
                np.add(totals, here, out=totals)
                np.add(squares, there, out=squares)

        high.side.threads(high.run).each("comparing ranks", slices(m, high.step), work)
        return cls(totals, squares, areas - chance, errors)

    def curves(self, high: OriginalSpace, *, per_row: bool = False) -> CoRanking:
        """The fraction of common neighbors for every size."""
        n, m, k = high.n, high.m, np.arange(1, high.n - 1)
        shared = self.totals[:-1] / m  # (n - 2,) the mean over the rows
        q = shared / k
        r = ((n - 1) * q - k) / (n - 1 - k)
        low = top = None
        if high.evaluated.rows is not None:
            spread = np.sqrt(np.maximum(0, self.squares[:-1] / m - shared**2) * m / (m - 1)) / k
            ends = confidence_interval(q, spread, m, n, ends=(np.maximum(0, 2 * k - n + 1) / k, 1.0))
            low, top = (((n - 1) * end - k) / (n - 1 - k) for end in ends)
        about = (
            f"Fraction of common neighbors beyond chance, averaged over {n - 2:,} neighborhood sizes with weight 1/k."
        )
        ends = (-_area_weights(n)[2], 1.0)
        area = high.evaluated.mean("area under R_NX", self.areas, "higher", about, ends=ends, per_row=per_row)
        return CoRanking(k, q, r, q - k / (n - 1), area, low, top, area.sample, area.left_out)


def _area_weights(n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Sizes k, the contribution of a common neighbor within k to the area, and the area expected by chance."""
    k = np.arange(1, n - 1)
    total = np.sum(1 / k)
    weights = np.append((n - 1) / (k**2.0 * (n - 1 - k)), 0.0) / total  # the last size contains all rows
    return k, weights, float(np.sum(1 / (n - 1 - k)) / total)


def co_ranking_matrix(X: Any, Z: Any, *, metric: Metric = "euclidean") -> np.ndarray:
    """Return the co-ranking matrix: how many pairs have rank k in X and rank l in Z, at [k - 1, l - 1].

    It has (n - 1)² entries, so it is for few rows. For many rows use ``co_ranking``.

    Parameters
    ----------
    X : array-like of shape (n, d), path, or OriginalSpace
        Original rows, or rows prepared once with ``OriginalSpace.of``. With ``metric="precomputed"``: their
        distances, shape (n, n).
    Z : array-like of shape (n, k)
        Coordinates of the same rows, in the same order. Rows with NaN are left out and counted in ``left_out``.
    metric : str or function, default "euclidean"
        Distance metric in X. Distances in Z are Euclidean.

    Returns
    -------
    array of shape (n - 1, n - 1)
        Counts, int64. They add up to n(n - 1).

    References
    ----------
    Lee and Verleysen 2009, doi:10.1016/j.neucom.2008.12.017.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import quality
    >>> X = np.array([[0.0], [1.0], [3.0], [7.0]])
    >>> quality.co_ranking_matrix(X, X * 2)
    array([[4, 0, 0],
           [0, 4, 0],
           [0, 0, 4]])
    """
    from lowland.kernels import ranks as kernels

    if not isinstance(X, OriginalSpace):
        X = OriginalSpace.of(X, metric=metric, sample=None)
    high, side = OriginalSpace.beside(X, Z, metric=metric)
    if high.evaluated.rows is not None:
        raise ParameterError(
            f"This OriginalSpace samples {high.m:,} of {high.n:,} rows, but the co-ranking matrix counts all pairs. "
            "Create it with `sample=None`."
        )
    n = high.n
    high.run.require(8 * n**2, f"The co-ranking matrix of {n:,} rows", "Use co_ranking, which computes its curves")
    Q, low = np.zeros((n - 1, n - 1), dtype=np.int64), ShuffledPoints.of(side)
    high.prepared()
    for block in slices(n, high.step):
        kernels.add_coranks(high.ranks(block), low.order(high.places[block]), Q)
    return Q


def neighborhood_measures(
    high: OriginalSpace, Z: PointSet, k: int, *, per_row: bool = False
) -> tuple[tuple[Measure, ...], CoRanking]:
    """Trustworthiness, continuity, both rank errors, LCMC, the area under R_NX, and its curves, from one pass.

    ``per_row``: trustworthiness and continuity also have the value of each row.
    """
    check_neighbors(k, high.n)
    orders, evaluated = RankAgreement.of(high, Z, k), high.evaluated
    false, missed, relative_false, relative_missed, shared = orders.errors.T
    curves = orders.curves(high)
    return (
        trustworthiness_measure(evaluated, false, k, per_row=per_row),
        continuity_measure(evaluated, missed, k, per_row=per_row),
        *relative_rank_errors(evaluated, relative_false, relative_missed, k),
        lcmc_measure(evaluated, shared, k),
        curves.area,
    ), curves
