"""Preservation of neighborhoods: trustworthiness, continuity, relative rank errors, LCMC, and co-ranking.

Ranks of the k nearest neighbors are computed in blocks of points. Nothing is sorted: the rank of a neighbor is the
number of points that are nearer. Ties are broken by the point index in X and by an unrelated order in Z, so that ties
in both agree only by chance. Co-ranking compares neighborhoods of every size, and ranks all points.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import slices
from lowland.docstrings import with_parameters
from lowland.errors import ParameterError
from lowland.math.distances.metrics import Metric
from lowland.math.neighbors.ranks import PointSet, ShuffledPoints
from lowland.math.statistics.intervals import confidence_interval
from lowland.quality.inputs import (
    SEARCHED,
    SHARED,
    EvaluatedRows,
    Sample,
    check_neighbors,
    check_same_rows,
    open_coordinates,
    open_original,
    sample_rows,
)
from lowland.quality.measure import Measure
from lowland.quality.original_space import OriginalSpace
from lowland.run.run import Run

COUNTED = 1 << 30  # pairs of rows that "auto" compares to rank k neighbors
TRUSTWORTHINESS = ("trustworthiness", "embedding", "data")  # whose neighbors, and where they should be near, too
CONTINUITY = ("continuity", "data", "embedding")


@with_parameters(SHARED, SEARCHED)
def trustworthiness(
    X: Any, Z: Any, n_neighbors: int = 5, *, metric: Metric = "euclidean", per_row: bool = False,
    sample: Sample = "auto", random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return whether the nearest neighbors in the embedding are also near in the data: 1 if all are.

    Each of the k nearest neighbors in Z that is not among the k nearest in X is penalized by how far its rank in X
    exceeds k. Low values mean false neighbors: points drawn close together that are far apart in the data.

    Returns
    -------
    Measure
        Value in [0, 1], higher is better, with about 0.5 by chance.

    Notes
    -----
    Equals ``sklearn.manifold.trustworthiness`` unless there are ties. Report it together with continuity.

    References
    ----------
    Venna and Kaski 2001, *Neighborhood preservation in nonlinear projection methods*,
    doi:10.1007/3-540-44668-0_68.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> X = data.load_dataset("iris").X
    >>> round(quality.trustworthiness(X, PCA(2).fit_transform(X)).value, 3)
    0.979
    """
    near = _Neighbors.of(X, Z, n_neighbors, metric, sample, random_state)
    ranks = near.ranks(near.X, near.nearest(near.Z))
    return _nearness(TRUSTWORTHINESS, near.evaluated, _excess(ranks, n_neighbors), n_neighbors, per_row)


@with_parameters(SHARED, SEARCHED)
def continuity(
    X: Any, Z: Any, n_neighbors: int = 5, *, metric: Metric = "euclidean", per_row: bool = False,
    sample: Sample = "auto", random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return whether the nearest neighbors in the data are also near in the embedding: 1 if all are.

    Trustworthiness with X and Z exchanged. Low values mean missed neighbors: neighborhoods that the embedding tears
    apart.

    Returns
    -------
    Measure
        Value in [0, 1], higher is better, with about 0.5 by chance.

    References
    ----------
    Venna and Kaski 2001, doi:10.1007/3-540-44668-0_68.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> X = data.load_dataset("iris").X
    >>> round(quality.continuity(X, PCA(2).fit_transform(X)).value, 3)
    0.99
    """
    near = _Neighbors.of(X, Z, n_neighbors, metric, sample, random_state)
    ranks = near.ranks(near.Z, near.nearest(near.X))
    return _nearness(CONTINUITY, near.evaluated, _excess(ranks, n_neighbors), n_neighbors, per_row)


@with_parameters(SHARED, SEARCHED)
def trustworthiness_and_continuity(
    X: Any, Z: Any, n_neighbors: int = 5, *, metric: Metric = "euclidean", per_row: bool = False,
    sample: Sample = "auto", random_state: Any = None,
) -> tuple[Measure, Measure]:  # fmt: skip
    """Return trustworthiness and continuity from one comparison of the points instead of two.

    Returns
    -------
    tuple of two Measure
        Trustworthiness and continuity.

    References
    ----------
    Venna and Kaski 2001, doi:10.1007/3-540-44668-0_68.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> X = data.load_dataset("iris").X
    >>> [round(each.value, 3) for each in quality.trustworthiness_and_continuity(X, PCA(2).fit_transform(X))]
    [0.979, 0.99]
    """
    near = _Neighbors.of(X, Z, n_neighbors, metric, sample, random_state)
    false, missed = (_excess(ranks, n_neighbors) for ranks in near.both_ranks())
    trust = _nearness(TRUSTWORTHINESS, near.evaluated, false, n_neighbors, per_row)
    return trust, _nearness(CONTINUITY, near.evaluated, missed, n_neighbors, per_row)


@with_parameters(SHARED, SEARCHED)
def mean_relative_rank_errors(
    X: Any, Z: Any, n_neighbors: int = 5, *, metric: Metric = "euclidean", per_row: bool = False,
    sample: Sample = "auto", random_state: Any = None,
) -> tuple[Measure, Measure]:  # fmt: skip
    """Return the mean relative rank errors (MRRE) of neighbors in the embedding and in the data: 0 is perfect.

    Unlike trustworthiness, they also count changes of order among the k nearest neighbors. Errors are divided by the
    rank, so the nearest neighbors count most. 1 is the worst possible value.

    Returns
    -------
    tuple of two Measure
        Relative rank error in the embedding and relative rank error in the data, lower is better.

    References
    ----------
    Lee and Verleysen 2009, *Quality assessment of dimensionality reduction*, W_n and W_ν,
    doi:10.1016/j.neucom.2008.12.017.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> X = data.load_dataset("iris").X
    >>> [round(each.value, 3) for each in quality.mean_relative_rank_errors(X, PCA(2).fit_transform(X))]
    [0.03, 0.016]
    """
    near = _Neighbors.of(X, Z, n_neighbors, metric, sample, random_state)
    here = np.arange(1, n_neighbors + 1)
    false, missed = ((np.abs(there - here) / here).sum(axis=1) for there in near.both_ranks())
    return _relative_rank_errors(near.evaluated, false, missed, n_neighbors, per_row)


@with_parameters(SHARED, SEARCHED)
def lcmc(
    X: Any, Z: Any, n_neighbors: int = 5, *, metric: Metric = "euclidean", per_row: bool = False,
    sample: Sample = "auto", random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return the local continuity meta-criterion (LCMC): common nearest neighbors in X and Z beyond chance.

    The fraction of the k nearest neighbors that X and Z have in common, minus the expected value k/(n - 1) of a random
    embedding.

    Parameters
    ----------
    n_neighbors : int, default 5
        Size k of the neighborhood, at most n - 1.

    Returns
    -------
    Measure
        Higher is better: 0 is chance, 1 - k/(n - 1) is perfect.

    References
    ----------
    Chen and Buja 2009, *Local multidimensional scaling for nonlinear dimension reduction*,
    doi:10.1198/jasa.2009.0111.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> X = data.load_dataset("iris").X
    >>> round(quality.lcmc(X, PCA(2).fit_transform(X)).value, 3)
    0.602
    """
    near = _Neighbors.of(X, Z, n_neighbors, metric, sample, random_state, half=False)
    A, B = (np.sort(near.nearest(side), axis=1) for side in (near.X, near.Z))
    both = np.sort(np.concatenate([A, B], axis=1), axis=1)
    shared = (both[:, 1:] == both[:, :-1]).sum(axis=1)
    return _lcmc(near.evaluated, shared, n_neighbors, per_row)


@with_parameters(SHARED)
def r_nx_area(
    X: Any, Z: Any, *, metric: Metric = "euclidean", per_row: bool = False, sample: Sample = "auto",
    random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return the area under the R_NX curve over log k: one number for neighborhoods of all sizes.

    R_NX(k) is the fraction of the k nearest neighbors that X and Z have in common, rescaled so that 0 is chance and 1
    is perfect. The area weights each k by 1/k, so small neighborhoods count most.

    Returns
    -------
    Measure
        Higher is better: 0 is chance, 1 is perfect.

    References
    ----------
    Lee, Renard, Bernard, Dupont and Verleysen 2013, *Type 1 and 2 mixtures of Kullback-Leibler divergences*,
    doi:10.1016/j.neucom.2012.12.036.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> X = data.load_dataset("iris").X
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
        95% confidence interval of each R_NX(k). None if all points were evaluated.
    sample : int or None
        Number of sampled points. None if all points were evaluated.
    left_out : int
        Number of points without coordinates.
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


@with_parameters(SHARED)
def co_ranking(
    X: Any, Z: Any, *, metric: Metric = "euclidean", sample: Sample = "auto", random_state: Any = None,
    per_row: bool = False,
) -> CoRanking:  # fmt: skip
    """Return the agreement of the k nearest neighbors in X and Z for every k: Q_NX, R_NX, LCMC and the area under R_NX.

    Parameters
    ----------
    per_row : bool, default False
        Also return the area of each point, in ``area.per_row``.

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
    >>> from lowland import PCA, data, quality
    >>> X = data.load_dataset("iris").X
    >>> found = quality.co_ranking(X, PCA(2).fit_transform(X))
    >>> found.k_max, round(float(found.r_nx[9]), 3)  # at 10 neighbors
    (24, 0.716)
    """
    high, low_side = OriginalSpace.open_pair(X, Z, metric=metric, sample=sample, random_state=random_state)
    return _RankAgreement.of(high, low_side).curves(high, per_row=per_row)


@with_parameters(SHARED)
def co_ranking_matrix(X: Any, Z: Any, *, metric: Metric = "euclidean") -> np.ndarray:
    """Return the co-ranking matrix: how many pairs have rank k in X and rank l in Z, at [k - 1, l - 1].

    It has (n - 1)² entries, so it is for few points. For many points use ``co_ranking``.

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
    if not isinstance(X, OriginalSpace):
        X = OriginalSpace.of(X, metric=metric, sample=None)
    high, side = OriginalSpace.open_pair(X, Z, metric=metric)
    if high.evaluated.rows is not None:
        raise ParameterError(
            f"This OriginalSpace samples {high.m:,} of {high.n:,} rows, but the co-ranking matrix counts all pairs. "
            "Create it with `sample=None`."
        )
    n = high.n
    high.run.require(8 * n**2, f"The co-ranking matrix of {n:,} rows", "Use co_ranking, which computes its curves")
    Q, low = np.zeros((n - 1, n - 1), dtype=np.int64), ShuffledPoints.of(side)
    high.compute_ranks()
    for block in slices(n, high.step):
        ranks = np.take_along_axis(high.ranks(block), low.order(high.places[block]), axis=1)  # (b, n - 1)
        np.add.at(Q, (ranks - 1, np.arange(n - 1)), 1)
    return Q


# --- the k nearest neighbors ---


@dataclass(frozen=True, eq=False)
class _Neighbors:
    """Points and coordinates of the same points, and the points whose k nearest neighbors are compared."""

    X: PointSet
    Z: ShuffledPoints  # ties are broken in another order than in X
    k: int
    evaluated: EvaluatedRows
    run: Run

    @classmethod
    def of(
        cls, X: Any, Z: Any, k: int, metric: Metric, sample: Sample, random_state: Any, *, half: bool = True
    ) -> _Neighbors:
        """Open both; points without coordinates are left out."""
        if isinstance(X, OriginalSpace):  # its metric and its sample
            high, points = OriginalSpace.open_pair(X, Z, metric=metric, sample=sample, random_state=random_state)
            check_neighbors(k, high.n, half=half)
            return cls(high.side, ShuffledPoints.of(points), k, high.evaluated, Run())
        side, (C, kept) = open_original(X, metric), open_coordinates(Z)
        check_same_rows(side.n, kept)
        if not kept.all():
            side = side.among(kept)
        check_neighbors(k, side.n, half=half)
        evaluated = EvaluatedRows(kept, sample_rows(side, sample, COUNTED, random_state))
        return cls(side, ShuffledPoints.of(PointSet.of(C)), k, evaluated, Run())

    def nearest(self, side: PointSet | ShuffledPoints) -> np.ndarray:
        """The k nearest neighbors on one side, (m, k)."""
        return side.nearest(self.k, self.run, self.evaluated.rows)

    def ranks(self, side: PointSet | ShuffledPoints, near: np.ndarray) -> np.ndarray:
        """The ranks of points on one side, (m, k)."""
        return side.ranks(near, self.run, self.evaluated.rows)

    def both_ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """The ranks in X of the k nearest in Z, and the ranks in Z of the k nearest in X, each (m, k)."""
        there, originals = self.X.ranks_and_nearest(self.nearest(self.Z), self.k, self.run, self.evaluated.rows)
        return there, self.ranks(self.Z, originals)


# --- all neighbors ---


@dataclass(frozen=True, eq=False)
class _RankAgreement:
    """Common neighbors of every size, and rank errors of the k nearest, from one pass over both rankings."""

    totals: np.ndarray  # (n - 1,) int64 common neighbors for each size, summed over the rows
    squares: np.ndarray  # (n - 1,) int64 sums of their squares
    areas: np.ndarray  # (m,) area under R_NX of each row
    errors: np.ndarray  # (m, 5) as the kernel sums them

    @classmethod
    def of(cls, high: OriginalSpace, Z: PointSet, k: int = 1) -> _RankAgreement:
        """Compare the rankings of the evaluated points, one block at a time."""
        from lowland.kernels import ranks as kernels

        n, m = high.n, high.m
        high.compute_ranks()
        weights, chance = _area_weights(n)
        areas, errors = np.empty(m), np.empty((m, 5))
        totals, squares = np.zeros((2, n - 1), dtype=np.int64)  # integers: exact in any order of summation
        lock, low = threading.Lock(), ShuffledPoints.of(Z)

        def work(block: slice) -> None:
            here, there = np.zeros_like(totals), np.zeros_like(squares)
            ranks, order = high.ranks(block), low.order(high.places[block])
            kernels.compare_orders(ranks, order, k, weights, here, there, areas[block], errors[block])
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
        ends = (-_area_weights(n)[1], 1.0)
        area = high.evaluated.mean("area under R_NX", self.areas, "higher", about, ends=ends, per_row=per_row)
        return CoRanking(k, q, r, q - k / (n - 1), area, low, top, area.sample, area.left_out)


def _area_weights(n: int) -> tuple[np.ndarray, float]:
    """The contribution of a common neighbor within k to the area, and the area expected by chance."""
    k = np.arange(1, n - 1)
    total = np.sum(1 / k)
    weights = np.append((n - 1) / (k**2.0 * (n - 1 - k)), 0.0) / total  # the last size contains all rows
    return weights, float(np.sum(1 / (n - 1 - k)) / total)


def neighborhood_measures(
    high: OriginalSpace, Z: PointSet, k: int, *, per_row: bool = False
) -> tuple[tuple[Measure, ...], CoRanking]:
    """Trustworthiness, continuity, both rank errors, LCMC, the area under R_NX, and its curves, from one pass.

    ``per_row``: trustworthiness and continuity also have the value of each point.
    """
    check_neighbors(k, high.n)
    orders, evaluated = _RankAgreement.of(high, Z, k), high.evaluated
    false, missed, relative_false, relative_missed, shared = orders.errors.T
    curves = orders.curves(high)
    return (
        _nearness(TRUSTWORTHINESS, evaluated, false, k, per_row),
        _nearness(CONTINUITY, evaluated, missed, k, per_row),
        *_relative_rank_errors(evaluated, relative_false, relative_missed, k),
        _lcmc(evaluated, shared, k),
        curves.area,
    ), curves


# --- formulas ---


def _excess(ranks: np.ndarray, k: int) -> np.ndarray:
    """Sum over each point of how far its ranks exceed k."""
    return np.maximum(ranks - k, 0).sum(axis=1)


def _nearness(
    which: tuple[str, str, str], evaluated: EvaluatedRows, excess: np.ndarray, k: int, per_row: bool
) -> Measure:
    """1 - 2/(k(2n - 3k - 1)) excess of each point: trustworthiness, or continuity, with X and Z exchanged."""
    name, here, there = which
    about = f"Whether the {k} nearest neighbors in the {here} are also near in the {there}."
    values = 1 - 2 * excess / (k * (2 * evaluated.n - 3 * k - 1))
    return evaluated.mean(name, values, "higher", about, per_row=per_row)


def _relative_rank_errors(
    evaluated: EvaluatedRows, false: np.ndarray, missed: np.ndarray, k: int, per_row: bool = False
) -> tuple[Measure, Measure]:
    """The mean relative rank errors of neighbors in the embedding and of neighbors in the data."""
    here = np.arange(1, k + 1)
    worst = float(np.sum(np.abs(evaluated.n - 2 * here) / here))

    def measure(place: str, errors: np.ndarray) -> Measure:
        about = f"Mean rank error of the {k} nearest neighbors in the {place}, relative to the rank."
        return evaluated.mean(f"relative rank error in the {place}", errors / worst, "lower", about, per_row=per_row)

    return measure("embedding", false), measure("data", missed)


def _lcmc(evaluated: EvaluatedRows, shared: np.ndarray, k: int, per_row: bool = False) -> Measure:
    """The fraction of common neighbors beyond chance."""
    about = f"Fraction of the {k} nearest neighbors shared by data and embedding, minus the value expected by chance."
    chance = k / (evaluated.n - 1)
    ends = (-chance, 1 - chance)
    return evaluated.mean("LCMC", shared / k - chance, "higher", about, ends=ends, per_row=per_row)
