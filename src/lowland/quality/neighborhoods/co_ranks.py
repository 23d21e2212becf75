"""Co-ranking: how neighborhoods of every size agree, R_NX and its area, and all rank measures from one pass."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.slices import slices
from lowland.blocks.distances.metrics import Metric
from lowland.blocks.neighbors.ranks import PointSet, ShuffledPoints
from lowland.errors import ParameterError
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
    """Return the area under R_NX over the logarithm of k: one number for neighbourhoods of all sizes.

    R_NX(k) is the share of the k nearest that X and Z have in common, scaled so that 0 is chance and 1 is perfect.

    Parameters
    ----------
    X, Z, metric, per_row, random_state : as of ``trustworthiness``.
    sample : how many rows are compared with all others; "auto": all of up to 4,096; None: all.

    Reference: Lee et al. 2013, doi:10.1016/j.neucom.2012.12.036.

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
    """How neighbourhoods of every size agree between the rows and their embedding."""

    k: np.ndarray  # (n - 2,) sizes of neighbourhoods, 1 to n - 2
    q_nx: np.ndarray  # (n - 2,) share of the k nearest that both have in common
    r_nx: np.ndarray  # (n - 2,) the same, scaled so that chance is 0 and perfect is 1
    lcmc: np.ndarray  # (n - 2,) q_nx less k/(n - 1), which chance gives
    area: Measure  # under r_nx over the logarithm of k
    r_nx_low: np.ndarray | None  # (n - 2,) the interval of each r_nx, 95 %, where rows were drawn
    r_nx_high: np.ndarray | None
    sample: int | None  # rows that were looked at; None: all
    left_out: int  # rows without coordinates

    @property
    def k_max(self) -> int:
        """The size at which ``lcmc`` is largest: up to it the embedding is better on small scales, beyond on large."""
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
    """Return how many of the k nearest X and Z have in common for every k: Q_NX, R_NX, LCMC and the area under R_NX.

    Parameters
    ----------
    X : rows, or a ``OriginalSpace`` made of them once to be compared with many embeddings.
    Z, metric, random_state : as of ``trustworthiness``.
    sample : how many rows are compared with all others; "auto": all of up to 4,096; None: all.
    per_row : whether to give the area of each row as well.

    Reference: Lee and Verleysen 2009, doi:10.1016/j.neucom.2008.12.017; Lee et al. 2013,
    doi:10.1016/j.neucom.2012.12.036.
    """
    high, low_side = OriginalSpace.beside(X, Z, metric=metric, sample=sample, random_state=random_state)
    return RankAgreement.of(high, low_side).curves(high, per_row=per_row)


@dataclass(frozen=True, eq=False)
class RankAgreement:
    """What two orders of neighbours have in common, and the errors of rank among k, from one walk over both."""

    totals: np.ndarray  # (n - 1,) int64 common neighbours within each size, summed over the rows
    squares: np.ndarray  # (n - 1,) int64 and their squares
    areas: np.ndarray  # (m,) under R_NX of each row
    errors: np.ndarray  # (m, 5) as the kernel sums them

    @classmethod
    def of(cls, high: OriginalSpace, Z: PointSet, k: int = 1) -> RankAgreement:
        """Walk over the rows that are looked at, a block at a time."""
        from lowland.kernels import ranks as kernels

        n, m = high.n, high.prepared().m
        _, weights, chance = _area_weights(n)
        areas, errors = np.empty(m), np.empty((m, 5))
        totals, squares = (np.zeros(n - 1, dtype=np.int64) for _ in range(2))  # exact, in whichever order they come
        lock, low = threading.Lock(), ShuffledPoints.of(Z)

        def work(block: slice) -> None:
            here, there = np.zeros_like(totals), np.zeros_like(squares)
            ranks, order = high.ranks(block), low.order(high.places[block])
            kernels.add_shared(ranks, order, weights, here, there, areas[block])
            kernels.sum_rank_errors(ranks, order, k, errors[block])
            with lock:
                np.add(totals, here, out=totals)
                np.add(squares, there, out=squares)

        high.side.threads(high.run).each("comparing orders", slices(m, high.step), work)
        return cls(totals, squares, areas - chance, errors)

    def curves(self, high: OriginalSpace, *, per_row: bool = False) -> CoRanking:
        """The share of common neighbours for every size."""
        n, m, k = high.n, high.m, np.arange(1, high.n - 1)
        shared = self.totals[:-1] / m  # (n - 2,) the mean over the rows
        q = shared / k
        r = ((n - 1) * q - k) / (n - 1 - k)
        low = top = None
        if high.evaluated.rows is not None:
            spread = np.sqrt(np.maximum(0, self.squares[:-1] / m - shared**2) * m / (m - 1)) / k
            ends = confidence_interval(q, spread, m, n, ends=(np.maximum(0, 2 * k - n + 1) / k, 1.0))
            low, top = (((n - 1) * end - k) / (n - 1 - k) for end in ends)
        about = f"Share of common neighbours beyond chance over all {n - 2:,} sizes, small ones counting most."
        ends = (-_area_weights(n)[2], 1.0)
        area = high.evaluated.mean("area under R_NX", self.areas, "higher", about, ends=ends, per_row=per_row)
        return CoRanking(k, q, r, q - k / (n - 1), area, low, top, area.sample, area.left_out)


def _area_weights(n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Sizes k, what a common neighbour within k adds to the area, and what chance does."""
    k = np.arange(1, n - 1)
    total = np.sum(1 / k)
    weights = np.append((n - 1) / (k**2.0 * (n - 1 - k)), 0.0) / total  # the last size has all neighbours
    return k, weights, float(np.sum(1 / (n - 1 - k)) / total)


def co_ranking_matrix(X: Any, Z: Any, *, metric: Metric = "euclidean") -> np.ndarray:
    """Return how many pairs have rank k in X and rank l in Z, at [k - 1, l - 1]: (n - 1, n - 1), for few rows.

    X may be a ``OriginalSpace`` of all rows.

    Reference: Lee and Verleysen 2009, doi:10.1016/j.neucom.2008.12.017.

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
            f"This OriginalSpace looks at {high.m:,} of {high.n:,} rows, and the co-ranking matrix counts the pairs "
            "of all. Make it with sample=None."
        )
    n = high.n
    high.run.require(8 * n**2, f"The co-ranking matrix of {n:,} rows", "Ask co_ranking for its curves")
    Q, low = np.zeros((n - 1, n - 1), dtype=np.int64), ShuffledPoints.of(side)
    high.prepared()
    for block in slices(n, high.step):
        kernels.add_coranks(high.ranks(block), low.order(high.places[block]), Q)
    return Q


def neighborhood_measures(
    high: OriginalSpace, Z: PointSet, k: int, *, per_row: bool = False
) -> tuple[tuple[Measure, ...], CoRanking]:
    """Trustworthiness, continuity, both rank errors, LCMC and the area under R_NX, and its curves, from one walk.

    ``per_row``: trustworthiness has the value of each row as well.
    """
    check_neighbors(k, high.n)
    orders, evaluated = RankAgreement.of(high, Z, k), high.evaluated
    false, missed, relative_false, relative_missed, shared = orders.errors.T
    curves = orders.curves(high)
    return (
        trustworthiness_measure(evaluated, false, k, per_row=per_row),
        continuity_measure(evaluated, missed, k),
        *relative_rank_errors(evaluated, relative_false, relative_missed, k),
        lcmc_measure(evaluated, shared, k),
        curves.area,
    ), curves
