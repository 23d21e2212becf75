"""How a column in memory depends on a target: rank correlation, distance correlation, mutual information.

Each is an object that holds what it needs of the target, and is called with one column after the other. None needs
more than a few numbers a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np
from scipy.special import chdtrc, digamma

from lowland.arrays.namespace import is_sparse
from lowland.blocks.selection.filters import Scores, correlation_pvalues
from lowland.blocks.statistics.targets import Target
from lowland.errors import DataError, ParameterError
from lowland.run.run import Run

_JITTER = 1e-10  # of a deviation: sets equal values apart without moving them past others
_FEW = 10  # rows up to which all orders of ranks are counted
_PERMUTATIONS = 999
_SMALL = 50_000  # numbers; fewer are not worth threads


class DependenceMeasure(Protocol):
    """How strongly a column depends on the target."""

    least_rows: ClassVar[int]  # with fewer its p-value is none, and permutations say it

    def prepare(self, x: np.ndarray, j: int) -> np.ndarray:
        """Return column j as the measure wants it, whatever the order of its rows."""

    def __call__(self, x: np.ndarray, j: int) -> tuple[float, float]:
        """Return the score of a prepared column, and its p-value; NaN: it has none."""


class ColumnReader:
    """The columns of a table in memory, one at a time in float64."""

    def __init__(self, X: Any) -> None:
        self.X = X.tocsc() if is_sparse(X) else X
        self.n, self.d = X.shape

    def __getitem__(self, j: int) -> np.ndarray:
        if is_sparse(self.X):
            return self.X[:, [j]].toarray()[:, 0].astype(np.float64, copy=False)
        return np.ascontiguousarray(self.X[:, j], dtype=np.float64)

    def constant(self) -> np.ndarray:
        """Which do not vary, (d,) bool."""
        return np.array([x.min() == x.max() for x in (self[j] for j in range(self.d))])


def column_scores(
    columns: ColumnReader,
    measure: DependenceMeasure,
    run: Run,
    n_permutations: int = 0,
    seed: int = 0,
    *,
    signed: bool = False,
) -> Scores:
    """Return the score of every column; p-values by permutations where some are asked for, or rows are too few.

    All columns see the same permutations.
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
    return Scores.of(values, None if np.isnan(p).any() else p, constant, columns.n, signed=signed)


def measure_for(statistic: str, target: Target, discrete: np.ndarray, k: int, seed: int) -> DependenceMeasure:
    """Return the measure of a name; the last three are for mutual information."""
    if statistic == "spearman":
        return Spearman.to(target.values)
    if statistic == "distance-correlation":
        return DistanceCorrelation.to(target)
    return MutualInformation.to(target, discrete, k, seed)


# --- ranks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spearman:
    """Correlation of the ranks."""

    z: np.ndarray  # (n,) ranks of the target, centered
    least_rows: ClassVar[int] = 0

    @classmethod
    def to(cls, y: np.ndarray) -> Spearman:
        """To numbers."""
        return cls(ranks(y) - (len(y) + 1) / 2)

    def prepare(self, x: np.ndarray, j: int) -> np.ndarray:
        """Return the ranks, centered."""
        return ranks(x) - (len(x) + 1) / 2

    def __call__(self, x: np.ndarray, j: int) -> tuple[float, float]:
        """Return the correlation and its p-value: exact for few rows, else by the t test and no less than 2/n!."""
        r = min(max(_dot(x, self.z) / np.sqrt(_dot(x, x) * _dot(self.z, self.z)), -1.0), 1.0)
        n = len(x)
        if n <= _FEW:
            return r, rank_pvalue(x, self.z)
        return r, max(float(correlation_pvalues(np.array([r]), n)[0]), 2 * math.exp(-math.lgamma(n + 1)))


def ranks(x: np.ndarray) -> np.ndarray:
    """Return the rank of each value, from 1; equal ones share the mean of theirs."""
    _, places, counts = np.unique(x, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def rank_pvalue(x: np.ndarray, z: np.ndarray) -> float:
    """Return the share of all orders of few rows whose ranks correlate as strongly; ties as they are."""
    a, b = (np.rint(2 * (ranked - ranked.min())).astype(int) for ranked in (x, z))  # mean ranks are halves
    counts = _orders_by_product(tuple(np.sort(a).tolist()), tuple(np.sort(b).tolist()))
    expected = a.sum() * b.sum() / len(a)
    apart = np.abs(np.arange(len(counts)) - expected)
    return float(counts[apart >= abs(a @ b - expected) - 1e-9].sum() / counts.sum())


@lru_cache(maxsize=1024)
def _orders_by_product(a: tuple[int, ...], b: tuple[int, ...]) -> np.ndarray:
    """How many of the n! orders of b, rising as a, have each sum of products with a: set by set of what is placed."""
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


# --- distances --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DistanceCorrelation:
    """The correlation of distances between rows, zero only where column and target are independent.

    Székely, Rizzo and Bakirov 2007; in n log n steps, as Huo and Székely 2016. Classes lie at distance one from each
    other. The p-value is the chi-square bound of Shen, Panda and Vogelstein 2022 on the correlation without bias: at
    most the share below 0.09, so that a small one may be relied on, from about 20 rows.
    """

    target: Target
    sums: np.ndarray  # (n,) of each row's distances to all, in the target
    squares: float  # of all distances
    least_rows: ClassVar[int] = 20

    @classmethod
    def to(cls, target: Target) -> DistanceCorrelation:
        """To numbers or classes."""
        y = target.values
        if target.n_classes is None:
            y = _standard(y)
            return cls(Target(y, None), distance_sums(y), _distance_squares(y))
        counts = np.bincount(y)
        return cls(target, (len(y) - counts[y]).astype(np.float64), float(len(y) ** 2 - (counts**2).sum()))

    def prepare(self, x: np.ndarray, j: int) -> np.ndarray:
        """Return the column centered and divided by its deviation: neither changes the correlation."""
        return _standard(x)

    def __call__(self, x: np.ndarray, j: int) -> tuple[float, float]:
        """Return the distance correlation and its p-value."""
        a, b, n = distance_sums(x), self.sums, len(x)
        pairs = [
            (self._products(x, a), a, b),
            (_distance_squares(x), a, a),
            (self.squares, b, b),
        ]
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
        from lowland.kernels.dependence import concordant_products

        y, n = self.target.values, len(x)
        order = np.argsort(x, kind="stable")
        if self.target.n_classes is None:
            agreeing = concordant_products(x[order], y[order])
            return 2 * (2 * agreeing - n * _dot(x, y))
        by_class = order[np.argsort(y[order], kind="stable")]  # each class in order
        counts = np.bincount(y, minlength=self.target.n_classes)
        local = np.arange(n) - np.repeat(np.cumsum(counts) - counts, counts)
        within = 2 * _dot(2.0 * local - np.repeat(counts, counts) + 1, x[by_class])
        return float(a.sum()) - within


def distance_sums(x: np.ndarray) -> np.ndarray:
    """Return for each value the sum of its distances to all, (n,)."""
    order = np.argsort(x, kind="stable")
    v, n = x[order], len(x)
    below = np.cumsum(v) - v
    sums = np.empty(n)
    sums[order] = (2 * np.arange(n) - n) * v + v.sum() - 2 * below
    return sums


def _distance_squares(x: np.ndarray) -> float:
    """The sum of all squared distances of centered values."""
    return 2 * len(x) * _dot(x, x)


def _covariance(products: float, a: np.ndarray, b: np.ndarray) -> float:
    """The mean product of doubly centered distances, from sums over rows and over all pairs."""
    n = len(a)
    return products / n**2 + (a.sum() / n**2) * (b.sum() / n**2) - 2 * _dot(a, b) / n**3


def _unbiased_covariance(products: float, a: np.ndarray, b: np.ndarray) -> float:
    """The same without bias (Székely and Rizzo 2014)."""
    n = len(a)
    centered = products - 2 / (n - 2) * _dot(a, b) + a.sum() * b.sum() / ((n - 1) * (n - 2))
    return centered / (n * (n - 3))


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    """The inner product in one order of summing, whatever threads BLAS may use."""
    return float((a * b).sum())


def _standard(x: np.ndarray) -> np.ndarray:
    x = np.ldexp(x, -int(np.frexp(np.abs(x).max())[1]))  # near one, so that no square is lost
    z = x - x.mean()
    return z / z.std()


# --- information ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MutualInformation:
    """The information that column and target have in common, in nats, estimated from nearest neighbours.

    Numbers beside numbers by Kraskov, Stögbauer and Grassberger 2004, beside classes by Ross 2014, classes beside
    classes from their counts. Equal numbers are set apart by a little noise.
    """

    y: np.ndarray  # (n,) standard numbers, or the number of each row's class
    discrete_target: bool
    discrete: np.ndarray  # (d,) bool, which columns hold classes
    k: int  # neighbours
    seed: int
    least_rows: ClassVar[int] = 0

    @classmethod
    def to(cls, target: Target, discrete: np.ndarray, k: int, seed: int) -> MutualInformation:
        """To numbers or classes."""
        classes = target.n_classes is not None
        y = target.values if classes else _apart(_standard(target.values), seed, len(discrete))
        return cls(y, classes, discrete, k, seed)

    def prepare(self, x: np.ndarray, j: int) -> np.ndarray:
        """Return the numbers of the classes, or standard numbers no two of which are equal."""
        if self.discrete[j]:
            return np.unique(x, return_inverse=True)[1].astype(np.int64)
        return _apart(_standard(x), self.seed, j)

    def __call__(self, x: np.ndarray, j: int) -> tuple[float, float]:
        """Return the information; it has no p-value of its own."""
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
    """Return the mutual information of two classifications of the rows, from the counts."""
    B = int(b.max()) + 1
    cells, counts = np.unique(a * B + b, return_counts=True)
    n_a, n_b = np.bincount(a)[cells // B], np.bincount(b)[cells % B]
    n = len(a)
    return float((counts / n) @ (np.log(counts * float(n)) - np.log(n_a * n_b.astype(np.float64))))


def information_about_classes(x: np.ndarray, y: np.ndarray, k: int) -> float:
    """Return the information of numbers about classes; a class of one row has no neighbours and is left out."""
    from lowland.kernels.dependence import count_nearer, nearest_radii

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
    near = count_nearer(x[order], v, radii)  # of all classes, itself among them
    share = counts[counts > 0] / len(x)
    own = share @ (digamma(np.minimum(k, counts[counts > 0] - 1)) - digamma(counts[counts > 0]))
    return float(digamma(len(x)) + own - digamma(np.maximum(near, 1)).mean())


def information_of_numbers(x: np.ndarray, y: np.ndarray, k: int) -> float:
    """Return the mutual information of two columns of numbers."""
    from scipy.spatial import cKDTree

    from lowland.kernels.dependence import count_nearer

    n = len(x)
    k = min(k, n - 1)
    pairs = np.column_stack([x, y])
    tree = cKDTree(pairs, balanced_tree=False, compact_nodes=False)
    radii = np.ascontiguousarray(tree.query(pairs, k=[k + 1], p=np.inf)[0][:, 0])
    near = [digamma(np.maximum(count_nearer(np.sort(v), v, radii), 1)).mean() for v in (x, y)]
    return float(digamma(n) + digamma(k) - sum(near))


def _apart(x: np.ndarray, seed: int, j: int) -> np.ndarray:
    """Standard values, those that come more than once set apart by noise: then all get some, as Kraskov advises."""
    x = np.ascontiguousarray(x)
    v = np.sort(x)
    if (v[1:] > v[:-1]).all():
        return x
    return x + _JITTER * np.random.default_rng([seed, j]).standard_normal(len(x))


def discrete_columns(given: Any, d: int, sparse: bool) -> np.ndarray:
    """Return which columns hold classes, (d,) bool, as said by True, False, a mask, places, or "auto"."""
    if isinstance(given, str) and given == "auto":
        return np.full(d, sparse)
    if isinstance(given, bool | np.bool_):
        return np.full(d, bool(given))
    places = np.asarray(given)
    if places.dtype == bool and places.shape == (d,):
        return places.copy()
    if places.dtype.kind not in "iu" or places.ndim != 1 or not ((places >= 0) & (places < d)).all():
        raise ParameterError(
            f"discrete_features={given!r}: give True, False, 'auto', a truth value for each of the {d} columns, or the "
            f"places of some, from 0 to {d - 1}."
        )
    mask = np.zeros(d, dtype=bool)
    mask[places] = True
    return mask


# --- a function of the user's -----------------------------------------------------------------------------------------


def function_scores(
    function: Callable[..., Any], X: Any, y: np.ndarray | None, run: Run, n_permutations: int = 0, seed: int = 0
) -> Scores:
    """Return what a function of rows and target makes of the columns: scores, or scores and p-values."""
    if n_permutations and y is None:
        raise ParameterError("n_permutations: without y there is nothing to permute. Pass y, or leave it out.")
    constant = ColumnReader(X).constant()
    values, p = _called(function, X, y)
    if np.isnan(values).all():
        raise DataError(
            "statistic: the function returns NaN for every column, so none is better than another. Give a function "
            "that returns numbers."
        )
    if n_permutations and y is not None:
        rng, more = np.random.default_rng(seed), np.ones(len(values))
        for _ in run.iterate("permuting rows", n_permutations):
            more += ~(_called(function, X, y[rng.permutation(len(y))])[0] < values)  # NaN is no discovery
        p = more / (1 + n_permutations)
    return Scores.of(values, p, constant, X.shape[0])


def _called(function: Callable[..., Any], X: Any, y: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    name = getattr(function, "__name__", type(function).__name__)
    try:
        found = function(X) if y is None else function(X, y)
    except Exception as error:
        raise ParameterError(
            f"statistic={name} failed with {type(error).__name__}: {str(error).rstrip('.')}. Give a function of X and "
            "y that returns one score a column, or a statistic by name."
        ) from error
    scores, p = found if isinstance(found, tuple) and len(found) == 2 else (found, None)
    try:
        scores = np.asarray(scores, dtype=np.float64)
        p = None if p is None else np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError):
        scores = np.empty(0)
    if any(a is not None and a.shape != (X.shape[1],) for a in (scores, p)):
        raise ParameterError(
            f"statistic={name} returned no score for each of the {X.shape[1]} columns. Return an array of that "
            "length, or a pair of them: scores and p-values."
        )
    return scores, None if p is None else np.where(np.isnan(p), 1.0, p)
