"""Dependence of the columns of a table in memory on a target, one column at a time.

A measure is an object that stores what it needs of the target: Spearman correlation, distance correlation, mutual
information. ``prepare(x, j)`` returns column j as the measure needs it, whatever the order of its rows. The measure
returns the score of a prepared column, and its p-value, NaN where only permutations give one. None needs more than a
few numbers per row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import digamma, gammaincc
from scipy.stats import rankdata

from lowland.arrays.namespace import is_sparse
from lowland.errors import ParameterError
from lowland.math.selection.column_statistics import FilterScores, correlation_pvalues
from lowland.math.statistics.labels import Target
from lowland.run.run import Run

_PERMUTATIONS = 999
_ENOUGH = 10  # permutations with at least the score of the column, after which no more are drawn
_GAMMA_ROWS, _DOMINANCE = 30, 0.4  # from and up to which simulated p-values of the gamma distribution hold
_SMALL = 50_000  # numbers; smaller tables are not worth threads
_FEW = 10  # largest number of rows for the exact permutation distribution of rank correlations
_JITTER = 1e-10  # of a standard deviation: separates equal values without moving them past others


class ColumnReader:
    """The columns of a table in memory, one at a time in float64."""

    def __init__(self, X: Any) -> None:
        self.X = X.tocsc() if is_sparse(X) else X
        self.n, self.d = X.shape

    def __getitem__(self, j: int) -> np.ndarray:
        if is_sparse(self.X):
            return self.X[:, [j]].toarray()[:, 0].astype(np.float64, copy=False)
        return np.ascontiguousarray(self.X[:, j], dtype=np.float64)


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Return the inner product with a fixed order of summation, independent of BLAS threads."""
    return float((a * b).sum())


def standardized(x: np.ndarray) -> np.ndarray:
    """Return a column centered and divided by its standard deviation."""
    x = np.ldexp(x, -int(np.frexp(np.abs(x).max())[1]))  # near one, so that no square overflows or underflows
    z = x - x.mean()
    return z / z.std()


# --- Spearman correlation ---


@dataclass(frozen=True)
class Spearman:
    """Correlation of the ranks; ties have their mean rank."""

    z: np.ndarray  # (n,) ranks of the target, centered
    permutes: ClassVar[bool] = False
    signed: ClassVar[bool] = True

    @classmethod
    def to(cls, y: np.ndarray) -> Spearman:
        """Return the measure for a target of numbers."""
        return cls(rankdata(y) - (len(y) + 1) / 2)

    def prepare(self, x: np.ndarray, j: int) -> np.ndarray:
        """Return the centered ranks."""
        return rankdata(x) - (len(x) + 1) / 2

    def score(self, x: np.ndarray, j: int) -> float:
        """Return the correlation."""
        return min(max(dot(x, self.z) / math.sqrt(dot(x, x) * dot(self.z, self.z)), -1.0), 1.0)

    def pvalue(self, x: np.ndarray, j: int) -> float:
        """Return the p-value: exact for few rows, otherwise by the t test, but at least 2/n!."""
        n = len(x)
        if n > _FEW:
            by_t = float(correlation_pvalues(np.array([self.score(x, j)]), n)[0])
            return max(by_t, 2 * math.exp(-math.lgamma(n + 1)))
        a, b = (np.rint(2 * (ranks - ranks.min())).astype(int) for ranks in (x, self.z))  # mean ranks are halves
        counts = _orders_by_product(tuple(np.sort(a).tolist()), tuple(np.sort(b).tolist()))
        expected = a.sum() * b.sum() / n
        apart = np.abs(np.arange(len(counts)) - expected)
        return float(counts[apart >= abs(a @ b - expected) - 1e-9].sum() / counts.sum())


@lru_cache(maxsize=1024)
def _orders_by_product(a: tuple[int, ...], b: tuple[int, ...]) -> np.ndarray:
    """The number of the n! orders of b that have each sum of products with a, by dynamic programming over subsets."""
    n, most = len(a), int(np.dot(a, b))
    counts = np.zeros((2**n, most + 1))
    counts[0, 0] = 1
    for placed in range(2**n - 1):
        i = placed.bit_count()
        for j in range(n):
            if not placed >> j & 1:
                step = a[i] * b[j]
                counts[placed | 1 << j, step:] += counts[placed, : most + 1 - step]
    return counts[-1]


# --- distance correlation ---


@dataclass(frozen=True)
class CenteredDistances:
    """Sums over K = -H D H, the distances between n rows after double centering, which is positive semidefinite."""

    sums: np.ndarray  # (n,) sum of the distances of each row to all others
    square: float  # trace of K²
    cube: float  # trace of K³

    @classmethod
    def of_numbers(cls, x: np.ndarray) -> CenteredDistances:
        """Return the sums of the distances |x_i - x_j| between standardized numbers, (n,)."""
        n, sums = len(x), distance_sums(x)
        # K is twice the integral over t of the products of the centered indicators of x <= t. Those have the
        # covariance F(s) (1 - F(t)), s <= t, so a trace is an ordered sum over the gaps between the sorted numbers.
        gaps, F = np.diff(np.sort(x)), np.arange(1, n) / n
        first, second, third = gaps * F**2, gaps * F * (1 - F), gaps * (1 - F) ** 2
        before, after = np.cumsum(first) - first, third.sum() - np.cumsum(third)
        triples = second * (6 * before * after + 3 * first * after + 3 * before * third + first * third)
        return cls(sums, n**2 * _covariance(2 * n * dot(x, x), sums, sums), (2 * n) ** 3 * float(triples.sum()))

    @classmethod
    def of_classes(cls, y: np.ndarray) -> CenteredDistances:
        """Return the same for class numbers, (n,): rows of two classes are at distance one."""
        n, counts = len(y), np.bincount(y)
        p2, p3, p4 = (float(((counts / n) ** power).sum()) for power in (2, 3, 4))
        square, cube = p2 - 2 * p3 + p2**2, p3 - 3 * p4 + 3 * p2 * p3 - p2**3  # of diag(p) - p p', to powers 2 and 3
        return cls((n - counts[y]).astype(np.float64), n**2 * square, n**3 * cube)

    @property
    def trace(self) -> float:
        """The trace of K."""
        return float(self.sums.sum()) / len(self.sums)

    @property
    def diagonal(self) -> np.ndarray:
        """The diagonal of K, (n,)."""
        n = len(self.sums)
        return 2 * self.sums / n - self.trace / n


@dataclass(frozen=True)
class DistanceCorrelation:
    """The correlation of distances between rows, zero only if column and target are independent.

    Székely, Rizzo and Bakirov 2007; the O(n log n) algorithm is that of Huo and Székely 2016. Two classes are at
    distance one.

    The p-value is that of a permutation test. Where no row dominates, a gamma distribution replaces the permutations:
    it has their exact mean and variance (Kazi-Aoual, Hitier, Sabatier and Lebreton 1995) and the skewness of the limit
    for many rows, a weighted sum of chi-square variables.
    """

    target: Target
    centered: CenteredDistances  # of the target
    permutes: ClassVar[bool] = True
    signed: ClassVar[bool] = False

    @classmethod
    def to(cls, target: Target) -> DistanceCorrelation:
        """Return the measure for a target of numbers or classes."""
        if target.n_classes is not None:
            return cls(target, CenteredDistances.of_classes(target.values))
        y = standardized(target.values)
        return cls(Target(y, None), CenteredDistances.of_numbers(y))

    def prepare(self, x: np.ndarray, j: int) -> np.ndarray:
        """Return the standardized column, which has the same correlation."""
        return standardized(x)

    def score(self, x: np.ndarray, j: int) -> float:
        """Return the distance correlation."""
        a, n = distance_sums(x), len(x)
        both = _covariance(2 * n * dot(x, x), a, a) * self.centered.square / n**2
        return float(np.sqrt(max(self._covariance(x, a), 0.0) / np.sqrt(both)))

    def pvalue(self, x: np.ndarray, j: int) -> float:
        """Return the p-value by the gamma distribution; NaN where it is not accurate."""
        n, A, B = len(x), CenteredDistances.of_numbers(x), self.centered
        if n < _GAMMA_ROWS:
            return np.nan
        # A value that occurs r times has 1/r of the trace. So this is the reciprocal of the smallest expected count, by
        # which the chi-square test of a table of counts is evaluated, for any two columns.
        dominance = n * (A.diagonal.max() / A.trace) * (B.diagonal.max() / B.trace)
        if dominance > _DOMINANCE:
            return np.nan
        spread, diagonal = (
            [(n - 1) * K.square - K.trace**2 for K in (A, B)],
            [n * (n + 1) * dot(K.diagonal, K.diagonal) - (n - 1) * (K.trace**2 + 2 * K.square) for K in (A, B)],
        )
        variance = 2 * spread[0] * spread[1] / ((n - 1) ** 2 * (n + 1) * (n - 2))
        variance += diagonal[0] * diagonal[1] / ((n + 1) * n * (n - 1) * (n - 2) * (n - 3))
        deviation = (n**2 * self._covariance(x, A.sums) - A.trace * B.trace / (n - 1)) / math.sqrt(variance)
        skewness = 8 * A.cube * B.cube / (2 * A.square * B.square) ** 1.5
        shape = 4 / skewness**2
        return float(gammaincc(shape, max(shape + deviation * math.sqrt(shape), 0.0)))

    def _covariance(self, x: np.ndarray, a: np.ndarray) -> float:
        """The squared distance covariance of a column whose distances have the sums a, and the target."""
        return _covariance(self._products(x, a), a, self.centered.sums)

    def _products(self, x: np.ndarray, a: np.ndarray) -> float:
        """The sum over all pairs of distance times distance."""
        from lowland.kernels.selection import concordant_products

        y, n = self.target.values, len(x)
        order = np.argsort(x, kind="stable")
        if self.target.n_classes is None:
            agreeing = concordant_products(x[order], y[order])
            return 2 * (2 * agreeing - n * dot(x, y))
        by_class = order[np.argsort(y[order], kind="stable")]  # sorted within each class
        counts = np.bincount(y, minlength=self.target.n_classes)
        local = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
        within = 2 * dot(2.0 * local - np.repeat(counts, counts) + 1, x[by_class])
        return float(a.sum()) - within


def distance_sums(x: np.ndarray) -> np.ndarray:
    """Return for each value the sum of its distances to all others, (n,)."""
    order = np.argsort(x, kind="stable")
    v, n = x[order], len(x)
    below = np.cumsum(v) - v
    sums = np.empty(n)
    sums[order] = (2 * np.arange(n) - n) * v + v.sum() - 2 * below
    return sums


def _covariance(products: float, a: np.ndarray, b: np.ndarray) -> float:
    """The squared distance covariance: the mean product of doubly centered distances, from sums."""
    n = len(a)
    return products / n**2 + (a.sum() / n**2) * (b.sum() / n**2) - 2 * dot(a, b) / n**3


# --- mutual information ---


@dataclass(frozen=True)
class MutualInformation:
    """The mutual information of column and target in nats, estimated from nearest neighbors.

    Two continuous variables: Kraskov, Stögbauer and Grassberger 2004. A continuous and a discrete variable: Ross 2014.
    Two discrete variables: from the counts. Ties among continuous values are broken by a little noise.
    """

    y: np.ndarray  # (n,) standardized numbers, or the class index of each row
    discrete_target: bool
    discrete: np.ndarray  # (d,) bool, which columns are discrete
    k: int  # number of neighbors
    seed: int
    permutes: ClassVar[bool] = False
    signed: ClassVar[bool] = False

    @classmethod
    def to(cls, target: Target, discrete: np.ndarray, k: int, seed: int) -> MutualInformation:
        """Return the measure for a target of numbers or classes."""
        classes = target.n_classes is not None
        y = target.values if classes else _with_jitter(standardized(target.values), seed, len(discrete))
        return cls(y, classes, discrete, k, seed)

    def prepare(self, x: np.ndarray, j: int) -> np.ndarray:
        """Return class indices, or standardized numbers without ties."""
        if self.discrete[j]:
            return np.unique(x, return_inverse=True)[1].astype(np.int64)
        return _with_jitter(standardized(x), self.seed, j)

    def score(self, x: np.ndarray, j: int) -> float:
        """Return the mutual information."""
        match bool(self.discrete[j]), self.discrete_target:
            case True, True:
                found = information_of_classes(x, self.y)
            case True, False:
                found = information_about_classes(self.y, x, self.k)
            case False, True:
                found = information_about_classes(x, self.y, self.k)
            case _:
                found = information_of_numbers(x, self.y, self.k)
        return max(found, 0.0)

    def pvalue(self, x: np.ndarray, j: int) -> float:
        """Return NaN: mutual information has no p-value but that of permutations."""
        return np.nan


def information_of_classes(a: np.ndarray, b: np.ndarray) -> float:
    """Return the mutual information of two discrete variables, from the counts."""
    B = int(b.max()) + 1
    cells, counts = np.unique(a * B + b, return_counts=True)
    n_a, n_b = np.bincount(a)[cells // B], np.bincount(b)[cells % B]
    n = len(a)
    return float((counts / n) @ (np.log(counts * float(n)) - np.log(n_a * n_b.astype(np.float64))))


def information_about_classes(x: np.ndarray, y: np.ndarray, k: int) -> float:
    """Return the mutual information of numbers and classes; a class of one row has no neighbors and is left out."""
    from lowland.kernels.selection import count_nearer

    counts = np.bincount(y)
    kept = counts[y] > 1
    if not kept.all():
        if not kept.any():
            return 0.0
        x, y = x[kept], y[kept]
        counts = np.bincount(y)
    order = np.argsort(x, kind="stable")
    by_class = order[np.argsort(y[order], kind="stable")]
    v = x[by_class]
    radii = np.concatenate([nearest_radii(own, k) for own in np.split(v, np.cumsum(counts)[:-1])])
    near = count_nearer(x[order], v, radii)  # over all classes, including the row itself
    fraction = counts[counts > 0] / len(x)
    own = fraction @ (digamma(np.minimum(k, counts[counts > 0] - 1)) - digamma(counts[counts > 0]))
    return float(digamma(len(x)) + own - digamma(np.maximum(near, 1)).mean())


def nearest_radii(v: np.ndarray, k: int) -> np.ndarray:
    """Return the distance of each of some sorted values to its k-th nearest neighbor, or to the farthest of fewer."""
    k = max(min(k, len(v) - 1), 0)
    ends = np.concatenate([np.full(k, -np.inf), v, np.full(k, np.inf)])
    # of k + 1 successive values around it, those that reach least far are its nearest
    reach = [np.maximum(v - ends[a : a + len(v)], ends[a + k : a + k + len(v)] - v) for a in range(k + 1)]
    return np.min(reach, axis=0)


def information_of_numbers(x: np.ndarray, y: np.ndarray, k: int) -> float:
    """Return the mutual information of two continuous variables."""
    from scipy.spatial import cKDTree

    from lowland.kernels.selection import count_nearer

    n = len(x)
    k = min(k, n - 1)
    pairs = np.column_stack([x, y])
    tree = cKDTree(pairs, balanced_tree=False, compact_nodes=False)
    radii = np.ascontiguousarray(tree.query(pairs, k=[k + 1], p=np.inf)[0][:, 0])
    near = [digamma(np.maximum(count_nearer(np.sort(v), v, radii), 1)).mean() for v in (x, y)]
    return float(digamma(n) + digamma(k) - sum(near))


def _with_jitter(x: np.ndarray, seed: int, j: int) -> np.ndarray:
    """Standardized values; where some are tied, a little noise is added to all, as Kraskov advises."""
    x = np.ascontiguousarray(x)
    v = np.sort(x)
    if (v[1:] > v[:-1]).all():
        return x
    return x + _JITTER * np.random.default_rng([seed, j]).standard_normal(len(x))


def discrete_columns(given: Any, d: int, sparse: bool) -> np.ndarray:
    """Return which columns are discrete, (d,) bool, given True, False, a mask, indices, or "auto"."""
    if isinstance(given, str) and given == "auto":
        return np.full(d, sparse)
    if isinstance(given, bool | np.bool_):
        return np.full(d, bool(given))
    places = np.asarray(given)
    if places.dtype == bool and places.shape == (d,):
        return places.copy()
    if places.dtype.kind not in "iu" or places.ndim != 1 or not ((places >= 0) & (places < d)).all():
        raise ParameterError(
            f"{given!r} does not specify the discrete columns. Pass `True`, `False`, 'auto', a boolean mask of "
            f"length {d}, or column indices from 0 to {d - 1}."
        )
    mask = np.zeros(d, dtype=bool)
    mask[places] = True
    return mask


# --- scores of all columns ---

DependenceMeasure = Spearman | DistanceCorrelation | MutualInformation


def column_scores(
    columns: ColumnReader, measure: DependenceMeasure, run: Run, n_permutations: int = 0, seed: int = 0
) -> FilterScores:
    """Return the score of every column; permutation p-values where asked for, or where the measure needs them.

    All columns use the same permutations.
    """
    asked = n_permutations > 0
    seeds = np.random.default_rng(seed if asked else 0).integers(2**63, size=n_permutations or _PERMUTATIONS)

    def work(j: int) -> tuple[float, float, bool]:
        x = columns[j]
        if x.min() == x.max():
            return 0.0, 1.0, True
        x = measure.prepare(x, j)
        p = np.nan if asked else measure.pvalue(x, j)
        if asked or (np.isnan(p) and measure.permutes):
            p = _permutation_pvalue(measure, x, j, seeds, len(seeds) + 1 if asked else _ENOUGH)
        return measure.score(x, j), p, False

    most = len(seeds) if asked or measure.permutes else 0
    small = columns.n * columns.d * (1 + most) < _SMALL
    found = [work(j) for j in range(columns.d)] if small else run.each("scoring columns", range(columns.d), work)
    values, p, constant = (np.array(each) for each in zip(*found, strict=True))
    return FilterScores.of(values, None if np.isnan(p).any() else p, constant, columns.n, signed=measure.signed)


def _permutation_pvalue(measure: DependenceMeasure, x: np.ndarray, j: int, seeds: np.ndarray, enough: int) -> float:
    """The fraction of the permutations with at least the score of the column, which counts as one of them.

    It ends after ``enough`` such permutations: their fraction is a valid p-value as well (Besag and Clifford 1991).
    """
    least, more = abs(measure.score(x, j)) * (1 - 1e-12), 0  # rounding must not decide
    for drawn, seed in enumerate(seeds, start=1):
        more += abs(measure.score(x[np.random.default_rng(seed).permutation(len(x))], j)) >= least
        if more == enough:
            return enough / drawn
    return (1 + more) / (1 + len(seeds))
