"""Whether neighbours stay neighbours: trustworthiness, continuity, relative rank errors, and what curves of them say.

Ranks are found in blocks of rows. For k neighbours nothing is sorted: the points nearer than each are counted. Ties are
broken by the index in X and by an unrelated order in Z: where both have ties, these agree no more than by chance.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.slices import slices
from lowland.blocks.distances.metrics import Metric
from lowland.blocks.neighbors.ranks import Shuffled, Side
from lowland.errors import ParameterError
from lowland.quality.inputs import Looked, Sample, Sides, check_neighbors, drawn_rows, open_sides
from lowland.quality.measure import Measure, interval_about
from lowland.quality.original_space import HighSide
from lowland.run.run import Run

COUNTED = 1 << 30  # pairs of rows that "auto" compares for the ranks of a few neighbours


def trustworthiness(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    metric: Metric = "euclidean",
    per_row: bool = False,
    sample: Sample = "auto",
    random_state: Any = None,
) -> Measure:
    """Return whether neighbours in the embedding are neighbours in the data: 1 if all are.

    Each of the k nearest in Z that is not among the k nearest in X is charged by how far beyond it ranks there.

    Parameters
    ----------
    X : rows, as any method takes them; with metric "precomputed" their distances, (n, n).
    Z : (n, k) coordinates; rows of NaN are left out, and counted.
    n_neighbors : fewer than half of the rows.
    metric : how rows of X are compared; those of Z are by straight lines.
    per_row : whether to give the value of each row as well.
    sample : how many rows are asked for their neighbours among all; "auto": all of up to 30,000; None: all.
    random_state : seed of what is drawn; None draws the same each time.

    Reference: Venna and Kaski 2001, doi:10.1007/3-540-44668-0_68; agrees with scikit-learn's but for ties.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> round(quality.trustworthiness(X, PCA(2).fit_transform(X)).value, 3)
    0.979
    """
    sides, looked = _looked(X, Z, n_neighbors, metric, sample, random_state)
    excess = _excess(sides.X, sides.Z, sides.run, looked, n_neighbors)
    return _trust(looked, excess, n_neighbors, per_row=per_row)


def continuity(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    metric: Metric = "euclidean",
    per_row: bool = False,
    sample: Sample = "auto",
    random_state: Any = None,
) -> Measure:
    """Return whether neighbours in the data are neighbours in the embedding: 1 if all are.

    The same as ``trustworthiness`` with X and Z exchanged: what was near and has been torn apart is charged.

    Parameters
    ----------
    X, Z, n_neighbors, metric, per_row, sample, random_state : as of ``trustworthiness``.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> round(quality.continuity(X, PCA(2).fit_transform(X)).value, 3)
    0.99
    """
    sides, looked = _looked(X, Z, n_neighbors, metric, sample, random_state)
    excess = _excess(sides.Z, sides.X, sides.run, looked, n_neighbors)
    return _continuity(looked, excess, n_neighbors, per_row=per_row)


def trustworthiness_and_continuity(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    metric: Metric = "euclidean",
    per_row: bool = False,
    sample: Sample = "auto",
    random_state: Any = None,
) -> tuple[Measure, Measure]:
    """Return both, which should be reported together: rows of X are compared once, not twice.

    Parameters
    ----------
    X, Z, n_neighbors, metric, per_row, sample, random_state : as of ``trustworthiness``.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> [round(each.value, 3) for each in quality.trustworthiness_and_continuity(X, PCA(2).fit_transform(X))]
    [0.979, 0.99]
    """
    sides, looked = _looked(X, Z, n_neighbors, metric, sample, random_state)
    false, missed = (_beyond(ranks, n_neighbors) for ranks in _both_ranks(sides, looked, n_neighbors))
    trust = _trust(looked, false, n_neighbors, per_row=per_row)
    return trust, _continuity(looked, missed, n_neighbors, per_row=per_row)


def mean_relative_rank_errors(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    metric: Metric = "euclidean",
    per_row: bool = False,
    sample: Sample = "auto",
    random_state: Any = None,
) -> tuple[Measure, Measure]:
    """Return by how much ranks differ, relative to the rank: of neighbours in Z, and of neighbours in X; 0 is perfect.

    Unlike trustworthiness it also counts neighbours that change their order, the nearest most; 1 is the worst there is.

    Parameters
    ----------
    X, Z, n_neighbors, metric, per_row, sample, random_state : as of ``trustworthiness``.

    Reference: Lee and Verleysen 2009, doi:10.1016/j.neucom.2008.12.017, W_n and W_ν.
    """
    sides, looked = _looked(X, Z, n_neighbors, metric, sample, random_state)
    here = np.arange(1, n_neighbors + 1)
    found = [(np.abs(there - here) / here).sum(axis=1) for there in _both_ranks(sides, looked, n_neighbors)]
    first, second = _relative(looked, found[0], found[1], n_neighbors, per_row=per_row)
    return first, second


def lcmc(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    metric: Metric = "euclidean",
    per_row: bool = False,
    sample: Sample = "auto",
    random_state: Any = None,
) -> Measure:
    """Return the share of the k nearest that X and Z have in common, less what chance gives (LCMC): 0 is chance.

    Parameters
    ----------
    X, Z, metric, per_row, sample, random_state : as of ``trustworthiness``.
    n_neighbors : up to all others.

    Reference: Chen and Buja 2009, doi:10.1198/jasa.2009.0111.
    """
    sides, looked = _looked(X, Z, n_neighbors, metric, sample, random_state, half=False)
    k, run = n_neighbors, sides.run
    A, B = (np.sort(side.nearest(k, run, looked.rows), axis=1) for side in (sides.X, sides.Z))
    both = np.sort(np.concatenate([A, B], axis=1), axis=1)
    shared = (both[:, 1:] == both[:, :-1]).sum(axis=1)
    return _lcmc(looked, shared, k, per_row=per_row)


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
    X : rows, or a ``HighSide`` made of them once to be compared with many embeddings.
    Z, metric, random_state : as of ``trustworthiness``.
    sample : how many rows are compared with all others; "auto": all of up to 4,096; None: all.
    per_row : whether to give the area of each row as well.

    Reference: Lee and Verleysen 2009, doi:10.1016/j.neucom.2008.12.017; Lee et al. 2013,
    doi:10.1016/j.neucom.2012.12.036.
    """
    high, low_side = HighSide.beside(X, Z, metric=metric, sample=sample, random_state=random_state)
    return Orders.of(high, low_side).curves(high, per_row=per_row)


@dataclass(frozen=True, eq=False)
class Orders:
    """What two orders of neighbours have in common, and the errors of rank among k, from one walk over both."""

    totals: np.ndarray  # (n - 1,) int64 common neighbours within each size, summed over the rows
    squares: np.ndarray  # (n - 1,) int64 and their squares
    areas: np.ndarray  # (m,) under R_NX of each row
    errors: np.ndarray  # (m, 5) as the kernel sums them

    @classmethod
    def of(cls, high: HighSide, Z: Side, k: int = 1) -> Orders:
        """Walk over the rows that are looked at, a block at a time."""
        from lowland.kernels import ranks as kernels

        n, m = high.n, high.prepared().m
        _, weights, chance = _area_weights(n)
        areas, errors = np.empty(m), np.empty((m, 5))
        totals, squares = (np.zeros(n - 1, dtype=np.int64) for _ in range(2))  # exact, in whichever order they come
        lock, low = threading.Lock(), Shuffled.of(Z)

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

    def curves(self, high: HighSide, *, per_row: bool = False) -> CoRanking:
        """The share of common neighbours for every size."""
        n, m, k = high.n, high.m, np.arange(1, high.n - 1)
        shared = self.totals[:-1] / m  # (n - 2,) the mean over the rows
        q = shared / k
        r = ((n - 1) * q - k) / (n - 1 - k)
        low = top = None
        if high.looked.rows is not None:
            spread = np.sqrt(np.maximum(0, self.squares[:-1] / m - shared**2) * m / (m - 1)) / k
            ends = interval_about(q, spread, m, n, ends=(np.maximum(0, 2 * k - n + 1) / k, 1.0))
            low, top = (((n - 1) * end - k) / (n - 1 - k) for end in ends)
        about = f"Share of common neighbours beyond chance over all {n - 2:,} sizes, small ones counting most."
        ends = (-_area_weights(n)[2], 1.0)
        area = high.looked.mean("area under R_NX", self.areas, "higher", about, ends=ends, per_row=per_row)
        return CoRanking(k, q, r, q - k / (n - 1), area, low, top, area.sample, area.left_out)


def _area_weights(n: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Sizes k, what a common neighbour within k adds to the area, and what chance does."""
    k = np.arange(1, n - 1)
    total = np.sum(1 / k)
    weights = np.append((n - 1) / (k**2.0 * (n - 1 - k)), 0.0) / total  # the last size has all neighbours
    return k, weights, float(np.sum(1 / (n - 1 - k)) / total)


def co_ranking_matrix(X: Any, Z: Any, *, metric: Metric = "euclidean") -> np.ndarray:
    """Return how many pairs have rank k in X and rank l in Z, at [k - 1, l - 1]: (n - 1, n - 1), for few rows.

    X may be a ``HighSide`` of all rows.

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

    if not isinstance(X, HighSide):
        X = HighSide.of(X, metric=metric, sample=None)
    high, side = HighSide.beside(X, Z, metric=metric)
    if high.looked.rows is not None:
        raise ParameterError(
            f"This HighSide looks at {high.m:,} of {high.n:,} rows, and the co-ranking matrix counts the pairs of all. "
            "Make it with sample=None."
        )
    n = high.n
    high.run.require(8 * n**2, f"The co-ranking matrix of {n:,} rows", "Ask co_ranking for its curves")
    Q, low = np.zeros((n - 1, n - 1), dtype=np.int64), Shuffled.of(side)
    high.prepared()
    for block in slices(n, high.step):
        kernels.add_coranks(high.ranks(block), low.order(high.places[block]), Q)
    return Q


# --- one row's errors, as measures ---


def neighborhood_measures(
    high: HighSide, Z: Side, k: int, *, per_row: bool = False
) -> tuple[tuple[Measure, ...], CoRanking]:
    """Trustworthiness, continuity, both rank errors, LCMC and the area under R_NX, and its curves, from one walk.

    ``per_row``: trustworthiness has the value of each row as well.
    """
    check_neighbors(k, high.n)
    orders, looked = Orders.of(high, Z, k), high.looked
    false, missed, relative_false, relative_missed, shared = orders.errors.T
    curves = orders.curves(high)
    return (
        _trust(looked, false, k, per_row=per_row),
        _continuity(looked, missed, k),
        *_relative(looked, relative_false, relative_missed, k),
        _lcmc(looked, shared, k),
        curves.area,
    ), curves


def _looked(
    X: Any, Z: Any, k: int, metric: Metric, sample: Sample, random_state: Any, *, half: bool = True
) -> tuple[Sides, Looked]:
    if isinstance(X, HighSide):
        raise ParameterError(
            "A HighSide keeps whole orders of neighbours: pass it to evaluate or co_ranking, rows here."
        )
    sides = open_sides(X, Z, metric)
    check_neighbors(k, sides.n, half=half)
    return sides, Looked(sides.kept, drawn_rows(sides.X, sample, COUNTED, random_state))


def _excess(X: Side | Shuffled, Z: Side | Shuffled, run: Run, looked: Looked, k: int) -> np.ndarray:
    """By how much the ranks in X of each row's k nearest in Z exceed k, summed, (m,)."""
    near = Z.nearest(k, run, looked.rows)  # (m, k)
    return _beyond(X.ranks(near, run, looked.rows), k)


def _both_ranks(sides: Sides, looked: Looked, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The ranks in X of the k nearest in Z, and the ranks in Z of the k nearest in X, (m, k) each."""
    near = sides.Z.nearest(k, sides.run, looked.rows)
    there, originals = sides.X.ranks_and_nearest(near, k, sides.run, looked.rows)
    return there, sides.Z.ranks(originals, sides.run, looked.rows)


def _beyond(ranks: np.ndarray, k: int) -> np.ndarray:
    """By how much ranks exceed k, summed over each row's."""
    return np.maximum(ranks - k, 0).sum(axis=1)


def _share_of_worst(excess: np.ndarray, n: int, k: int) -> np.ndarray:
    return 1 - 2 * excess / (k * (2 * n - 3 * k - 1))


def _trust(looked: Looked, excess: np.ndarray, k: int, *, per_row: bool = False) -> Measure:
    about = f"Whether the {k} nearest in the embedding are near in the data."
    values = _share_of_worst(excess, looked.n, k)
    return looked.mean("trustworthiness", values, "higher", about, per_row=per_row)


def _continuity(looked: Looked, excess: np.ndarray, k: int, *, per_row: bool = False) -> Measure:
    about = f"Whether the {k} nearest in the data are near in the embedding."
    return looked.mean("continuity", _share_of_worst(excess, looked.n, k), "higher", about, per_row=per_row)


def _relative(
    looked: Looked, false: np.ndarray, missed: np.ndarray, k: int, *, per_row: bool = False
) -> tuple[Measure, Measure]:
    here = np.arange(1, k + 1)
    worst = float(np.sum(np.abs(looked.n - 2 * here) / here))
    where = {"embedding": false, "data": missed}
    first, second = (
        looked.mean(
            f"relative rank error in the {place}", errors / worst, "lower",
            f"By how much ranks of the {k} nearest in the {place} differ, relative to the rank.", per_row=per_row,
        )
        for place, errors in where.items()
    )  # fmt: skip
    return first, second


def _lcmc(looked: Looked, shared: np.ndarray, k: int, *, per_row: bool = False) -> Measure:
    about = f"Share of the {k} nearest that data and embedding have in common, less what chance gives."
    chance = k / (looked.n - 1)
    ends = (-chance, 1 - chance)
    return looked.mean("LCMC", shared / k - chance, "higher", about, ends=ends, per_row=per_row)
