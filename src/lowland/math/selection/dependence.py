"""Dependence of the columns of a table in memory on a target, one column at a time.

A measure is an object that stores what it needs of the target: Spearman correlation, distance correlation, mutual
information. ``prepare(x, j)`` returns column j as the measure needs it, whatever the order of its rows. The measure
itself returns the score of a prepared column, and its p-value, NaN where it has none. None needs more than a few
numbers per row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtrc, digamma
from scipy.stats import rankdata

from lowland.arrays.namespace import is_sparse
from lowland.errors import ParameterError
from lowland.math.selection.column_statistics import FilterScores, correlation_pvalues
from lowland.math.statistics.labels import Target
from lowland.run.run import Run

_PERMUTATIONS = 999
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
    least_rows: ClassVar[int] = 0
    signed: ClassVar[bool] = True

    @classmethod
    def to(cls, y: np.ndarray) -> Spearman:
        """Return the measure for a target of numbers."""
        return cls(rankdata(y) - (len(y) + 1) / 2)

    def prepare(self, x: np.ndarray, j: int) -> np.ndarray:
        """Return the centered ranks."""
        return rankdata(x) - (len(x) + 1) / 2

    def __call__(self, x: np.ndarray, j: int) -> tuple[float, float]:
        """Return the correlation and its p-value: exact for few rows, otherwise by the t test, but at least 2/n!."""
        r = min(max(dot(x, self.z) / np.sqrt(dot(x, x) * dot(self.z, self.z)), -1.0), 1.0)
        n = len(x)
        if n > _FEW:
            return r, max(float(correlation_pvalues(np.array([r]), n)[0]), 2 * math.exp(-math.lgamma(n + 1)))
        a, b = (np.rint(2 * (ranks - ranks.min())).astype(int) for ranks in (x, self.z))  # mean ranks are halves
        counts = _orders_by_product(tuple(np.sort(a).tolist()), tuple(np.sort(b).tolist()))
        expected = a.sum() * b.sum() / n
        apart = np.abs(np.arange(len(counts)) - expected)
        return r, float(counts[apart >= abs(a @ b - expected) - 1e-9].sum() / counts.sum())


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
class DistanceCorrelation:
    """The correlation of distances between rows, zero only if column and target are independent.

    Székely, Rizzo and Bakirov 2007; the O(n log n) algorithm is that of Huo and Székely 2016. Two classes are at
    distance one. The p-value is the chi-square bound of Shen, Panda and Vogelstein 2022 on the unbiased correlation: it
    is conservative for significance levels below 0.09, from about 20 rows on.
    """

    target: Target
    sums: np.ndarray  # (n,) sum of the distances of each row to all others, in the target
    squares: float  # sum of all squared distances
    least_rows: ClassVar[int] = 20
    signed: ClassVar[bool] = False

    @classmethod
    def to(cls, target: Target) -> DistanceCorrelation:
        """Return the measure for a target of numbers or classes."""
        y = target.values
        if target.n_classes is None:
            y = standardized(y)
            return cls(Target(y, None), distance_sums(y), 2 * len(y) * dot(y, y))
        counts = np.bincount(y)
        return cls(target, (len(y) - counts[y]).astype(np.float64), float(len(y) ** 2 - (counts**2).sum()))

    def prepare(self, x: np.ndarray, j: int) -> np.ndarray:
        """Return the standardized column, which has the same correlation."""
        return standardized(x)

    def __call__(self, x: np.ndarray, j: int) -> tuple[float, float]:
        """Return the distance correlation and its p-value."""
        a, b, n = distance_sums(x), self.sums, len(x)
        pairs = [(self._products(x, a), a, b), (2 * n * dot(x, x), a, a), (self.squares, b, b)]
        covariance, x_variance, y_variance = (_covariance(*pair) for pair in pairs)
        value = np.sqrt(max(covariance, 0.0) / np.sqrt(x_variance * y_variance))
        if n < 4:
            return float(value), 1.0
        covariance, x_variance, y_variance = (_unbiased_covariance(*pair) for pair in pairs)
        both = x_variance * y_variance
        unbiased = covariance / np.sqrt(both) if both > 0 else 0.0
        return float(value), float(chdtrc(1, max(n * unbiased + 1, 0.0)))

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


def _unbiased_covariance(products: float, a: np.ndarray, b: np.ndarray) -> float:
    """The unbiased squared distance covariance (Székely and Rizzo 2014)."""
    n = len(a)
    centered = products - 2 / (n - 2) * dot(a, b) + a.sum() * b.sum() / ((n - 1) * (n - 2))
    return centered / (n * (n - 3))


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
    least_rows: ClassVar[int] = 0
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

    def __call__(self, x: np.ndarray, j: int) -> tuple[float, float]:
        """Return the mutual information; it has no p-value."""
        match bool(self.discrete[j]), self.discrete_target:
            case True, True:
                found = information_of_classes(x, self.y)
            case True, False:
                found = information_about_classes(self.y, x, self.k)
            case False, True:
                found = information_about_classes(x, self.y, self.k)
            case _:
                found = information_of_numbers(x, self.y, self.k)
        return max(found, 0.0), np.nan


def information_of_classes(a: np.ndarray, b: np.ndarray) -> float:
    """Return the mutual information of two discrete variables, from the counts."""
    B = int(b.max()) + 1
    cells, counts = np.unique(a * B + b, return_counts=True)
    n_a, n_b = np.bincount(a)[cells // B], np.bincount(b)[cells % B]
    n = len(a)
    return float((counts / n) @ (np.log(counts * float(n)) - np.log(n_a * n_b.astype(np.float64))))


def information_about_classes(x: np.ndarray, y: np.ndarray, k: int) -> float:
    """Return the mutual information of numbers and classes; a class of one row has no neighbors and is left out."""
    from lowland.kernels.selection import count_nearer, nearest_radii

    counts = np.bincount(y)
    kept = counts[y] > 1
    if not kept.all():
        if not kept.any():
            return 0.0
        x, y = x[kept], y[kept]
        counts = np.bincount(y)
    order = np.argsort(x, kind="stable")
    by_class = order[np.argsort(y[order], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(counts)])
    v = x[by_class]
    radii = nearest_radii(v, starts, k)
    near = count_nearer(x[order], v, radii)  # over all classes, including the row itself
    fraction = counts[counts > 0] / len(x)
    own = fraction @ (digamma(np.minimum(k, counts[counts > 0] - 1)) - digamma(counts[counts > 0]))
    return float(digamma(len(x)) + own - digamma(np.maximum(near, 1)).mean())


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
    """Return the score of every column; permutation p-values where asked for, or where there are too few rows.

    All columns use the same permutations.
    """
    if not n_permutations and columns.n < measure.least_rows:
        n_permutations, seed = _PERMUTATIONS, 0
    seeds = np.random.default_rng(seed).integers(2**63, size=n_permutations)

    def work(j: int) -> tuple[float, float, bool]:
        x = columns[j]
        if x.min() == x.max():
            return 0.0, 1.0, True
        x = measure.prepare(x, j)
        value, p = measure(x, j)
        if n_permutations:
            least = abs(value) * (1 - 1e-12)  # rounding must not decide
            more = sum(abs(measure(x[np.random.default_rng(s).permutation(len(x))], j)[0]) >= least for s in seeds)
            p = (1 + more) / (1 + n_permutations)
        return value, p, False

    small = columns.n * columns.d * (1 + n_permutations) < _SMALL
    found = [work(j) for j in range(columns.d)] if small else run.each("scoring columns", range(columns.d), work)
    values, p, constant = (np.array(each) for each in zip(*found, strict=True))
    return FilterScores.of(values, None if np.isnan(p).any() else p, constant, columns.n, signed=measure.signed)
