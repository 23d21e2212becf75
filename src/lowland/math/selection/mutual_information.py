"""Mutual information of a column and a target, from nearest neighbors or from counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import digamma

from lowland.errors import ParameterError
from lowland.math.selection.columns import standardized
from lowland.math.statistics.targets import Target

_JITTER = 1e-10  # of a standard deviation: separates equal values without moving them past others


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
    near = count_nearer(x[order], v, radii)  # over all classes, including the row itself
    fraction = counts[counts > 0] / len(x)
    own = fraction @ (digamma(np.minimum(k, counts[counts > 0] - 1)) - digamma(counts[counts > 0]))
    return float(digamma(len(x)) + own - digamma(np.maximum(near, 1)).mean())


def information_of_numbers(x: np.ndarray, y: np.ndarray, k: int) -> float:
    """Return the mutual information of two continuous variables."""
    from scipy.spatial import cKDTree

    from lowland.kernels.dependence import count_nearer

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
