"""Preservation of distances: three kinds of stress, the Shepard diagram and its correlations, residual variance.

The scale of an embedding is often arbitrary: all distances in Z may be a thousandth of those in X in a perfect
embedding. By default the stresses therefore multiply the distances in Z by the factor that minimizes the stress.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from lowland.docstrings import with_parameters
from lowland.errors import DataError
from lowland.math.distances.metrics import Metric
from lowland.math.neighbors.ranks import PointSet
from lowland.quality.inputs import SHARED, Sample
from lowland.quality.measure import Measure
from lowland.quality.original_space import OriginalSpace, SampledPairs, Table

PAIRS = """
rescale : bool, default True
    Multiply the distances in Z by the factor s that minimizes the stress. False means s = 1, the stress that MDS and
    Sammon mapping minimize.
sample : int, "auto" or None, default "auto"
    Number of sampled points of which all pairs are compared. "auto" means at most 1,024, None all points.
"""
_ROUNDING = 1e-12  # standard deviation, relative to the mean, below which distances are equal up to rounding error


@with_parameters(SHARED, PAIRS)
def raw_stress(
    X: Any, Z: Any, *, metric: Metric = "euclidean", rescale: bool = True, per_row: bool = False,
    sample: Sample = "auto", random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return the raw stress: the sum over all pairs of (δ - s d)².

    δ is the distance in X and d the distance in Z. The value grows with the number of points and with the squared unit
    of X.

    Parameters
    ----------
    per_row : bool, default False
        Also return the contribution of each point. The contributions add up to the value.

    Returns
    -------
    Measure
        Value of at least 0, lower is better.

    References
    ----------
    Kruskal 1964, *Multidimensional scaling by optimizing goodness of fit*, doi:10.1007/BF02289565.

    Examples
    --------
    >>> from lowland import MDS, data, quality
    >>> X = data.load_dataset("airports").X
    >>> mds = MDS(metric="precomputed").fit(X)
    >>> raw = quality.raw_stress(X, mds.embedding_, metric="precomputed", rescale=False).value
    >>> round(raw / mds.stress_, 6)
    1.0
    """
    return _DistanceComparison.of(X, Z, metric, sample, random_state).raw(rescale, per_row)


@with_parameters(SHARED, PAIRS)
def normalized_stress(
    X: Any, Z: Any, *, metric: Metric = "euclidean", rescale: bool = True, per_row: bool = False,
    sample: Sample = "auto", random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return the normalized stress (Kruskal's stress-1): the root of sum (δ - s d)² / sum δ².

    δ is the distance in X and d the distance in Z. 0 is perfect, and with ``rescale=True`` 1 is the worst value.

    Returns
    -------
    Measure
        Value of at least 0, lower is better.

    References
    ----------
    Kruskal 1964, *Multidimensional scaling by optimizing goodness of fit*, doi:10.1007/BF02289565.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> X = data.load_dataset("iris").X
    >>> round(quality.normalized_stress(X, PCA(2).fit_transform(X)).value, 3)
    0.04
    """
    return _DistanceComparison.of(X, Z, metric, sample, random_state).normalized(rescale, per_row)


@with_parameters(SHARED, PAIRS)
def sammon_stress(
    X: Any, Z: Any, *, metric: Metric = "euclidean", rescale: bool = True, per_row: bool = False,
    sample: Sample = "auto", random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return the Sammon stress: sum (δ - s d)²/δ over sum δ, which gives more weight to small distances.

    δ is the distance in X and d the distance in Z. Pairs of duplicate points, δ = 0, are left out.

    Returns
    -------
    Measure
        Value of at least 0, lower is better.

    References
    ----------
    Sammon 1969, *A nonlinear mapping for data structure analysis*, doi:10.1109/T-C.1969.222678.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> X = data.load_dataset("iris").X
    >>> round(quality.sammon_stress(X, PCA(2).fit_transform(X)).value, 4)
    0.0063
    """
    return _DistanceComparison.of(X, Z, metric, sample, random_state).sammon(rescale, per_row)


@with_parameters(SHARED, PAIRS)
def residual_variance(
    X: Any, Z: Any, *, metric: Metric = "euclidean", sample: Sample = "auto", random_state: Any = None
) -> Measure:
    """Return the residual variance 1 - r², where r is the Pearson correlation of the distances in X and in Z.

    For Isomap, pass its geodesic distances: ``residual_variance(isomap.dist_matrix_, Z, metric="precomputed")``.

    Returns
    -------
    Measure
        Value in [0, 1], lower is better.

    References
    ----------
    Tenenbaum, de Silva and Langford 2000, *A global geometric framework for nonlinear dimensionality reduction*,
    doi:10.1126/science.290.5500.2319.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> X = data.load_dataset("iris").X
    >>> round(quality.residual_variance(X, PCA(2).fit_transform(X)).value, 4)
    0.0032
    """
    return _DistanceComparison.of(X, Z, metric, sample, random_state).correlating().residual()


@dataclass(frozen=True, eq=False)
class Shepard:
    """The data of a Shepard diagram: pairwise distances in the data and in the embedding, and their correlations.

    Attributes
    ----------
    original : array of shape (p,)
        Distances in the data.
    embedded : array of shape (p,)
        Distances of the same pairs in the embedding.
    scale : float
        The least-squares factor from embedded to original distances.
    spearman : Measure
        Spearman correlation: 1 if the order of all distances is preserved.
    pearson : Measure
        Pearson correlation: 1 if the distances are preserved up to a scale and a constant.
    sample : int or None
        Number of sampled points whose pairs these are. None means all points.
    left_out : int
        Number of points without coordinates.
    """

    original: np.ndarray  # (p,)
    embedded: np.ndarray  # (p,)
    scale: float
    spearman: Measure
    pearson: Measure
    sample: int | None
    left_out: int


@with_parameters(SHARED, PAIRS)
def shepard(
    X: Any, Z: Any, *, metric: Metric = "euclidean", sample: Sample = "auto", random_state: Any = None
) -> Shepard:
    """Return the Shepard diagram: pairwise distances in X and in Z, with their Spearman and Pearson correlations.

    Returns
    -------
    Shepard
        Distances and correlations, which you can draw with ``plots.shepard``.

    References
    ----------
    Shepard 1962, *The analysis of proximities*, doi:10.1007/BF02289630.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> X = data.load_dataset("iris").X
    >>> found = quality.shepard(X, PCA(2).fit_transform(X))
    >>> round(found.spearman.value, 3), round(found.pearson.value, 3)
    (0.996, 0.998)
    """
    return _DistanceComparison.of(X, Z, metric, sample, random_state).correlating().shepard()


def correlation_of_distances(X: OriginalSpace, Z: Any) -> Measure:
    """Return the Pearson correlation of the distances, without the ranks of a Shepard diagram."""
    return _DistanceComparison.of(X, Z, "euclidean", "auto", None).correlating().pearson


@dataclass(frozen=True, eq=False)
class DistanceMeasures:
    """Every measure of distances that is defined for these points, and the Shepard diagram."""

    measures: tuple[Measure, ...]
    diagram: Shepard  # correlations are NaN if all distances are equal in the data or in the embedding
    differ: tuple[bool, bool]  # whether distances differ in the data and in the embedding

    @classmethod
    def of(cls, high: OriginalSpace, Z: PointSet) -> DistanceMeasures:
        """Compute all of them from one table of distances; the scale of Z is free."""
        compared = _DistanceComparison(high.pairs, Z)
        diagram, differ = compared.shepard(), compared.moments.differ
        correlations = (diagram.spearman, diagram.pearson, compared.residual()) if all(differ) else ()
        stresses = compared.normalized(rescale=True), compared.sammon(rescale=True)
        return cls((*stresses, *correlations), diagram, differ)


@dataclass(frozen=True, eq=False)
class _DistanceComparison:
    """Distances δ and d of the same pairs in data and embedding, each in the unit of its side, and sums over them."""

    pairs: SampledPairs
    Z: PointSet
    _found: dict[bool, np.ndarray] = field(default_factory=dict)  # errors, by whether d is rescaled

    @classmethod
    def of(cls, X: Any, Z: Any, metric: Metric, sample: Sample, random_state: Any) -> _DistanceComparison:
        high, side = OriginalSpace.open_pair(X, Z, metric=metric, sample=sample, random_state=random_state)
        return cls(high.pairs, side)

    @property
    def delta(self) -> Table:
        return self.pairs.original

    @cached_property
    def d(self) -> Table:
        return self.pairs.of(self.Z)

    # --- stresses ---

    def raw(self, rescale: bool, per_row: bool = False) -> Measure:
        squares, errors, factor = self._fit(rescale, 0)
        m, n, unit = self.pairs.m, self.pairs.side.n, self.pairs.side.length
        total, most = errors.sum() / 2, squares.sum() / 2
        whole = n * (n - 1) / (m * (m - 1))  # number of all pairs over number of sampled pairs
        with np.errstate(over="ignore", under="ignore"):
            value, top = (float(whole * each * unit * unit) for each in (total, most))
        if not np.isfinite(top) or (total > 0 and value < np.finfo(np.float64).tiny):
            raise DataError(
                "raw_stress: the sum of squared distances overflows or underflows. Use `normalized_stress`, "
                "or rescale the columns."
            )

        def left() -> np.ndarray:
            return n * (n - 1) / ((m - 1) * (m - 2)) * (total - errors) * unit * unit

        about = f"Sum of squared differences between distances in data and embedding, {factor}."
        return self.pairs.measure(
            "raw stress", value, "lower", about, left, ends=(0.0, top if rescale else value + max(top, value)),
            each=(lambda: whole * errors / 2 * unit * unit) if per_row else None,
        )  # fmt: skip

    def normalized(self, rescale: bool, per_row: bool = False) -> Measure:
        squares, errors, factor = self._fit(rescale, 0)
        about = (
            "Square root of the sum of squared differences between distances, divided by the sum of squared distances "
            f"in the data (Kruskal's stress-1), {factor}."
        )
        return self._relative_stress("normalized stress", errors, squares, about, rescale, per_row, root=True)

    def sammon(self, rescale: bool, per_row: bool = False) -> Measure:
        sizes, errors, factor = self._fit(rescale, 1)
        about = f"Squared differences between distances, weighted by 1 / distance in the data, {factor}."
        return self._relative_stress("Sammon stress", errors, sizes, about, rescale, per_row)

    def _relative_stress(
        self, name: str, errors: np.ndarray, sizes: np.ndarray, about: str, rescale: bool, per_row: bool,
        root: bool = False,
    ) -> Measure:  # fmt: skip
        """The sum of errors over the sum of sizes, or its root; with the best factor it is at most 1.

        The factor would differ if a point were left out, but the sum would not to first order, since it is at its
        minimum.
        """
        value = float(errors.sum() / sizes.sum())
        if not np.isfinite(value):
            raise DataError(
                f"{name}: the distances in the embedding are so much larger than those in the data that the stress "
                "overflows. Pass `rescale=True`."
            )

        def each() -> np.ndarray:
            return np.sqrt(_ratio(errors, sizes)) if root else _ratio(errors, sizes)

        return self.pairs.measure(
            name, value, "lower", about, lambda: (errors.sum() / 2 - errors) / (sizes.sum() / 2 - sizes),
            ends=(0.0, 1.0 if rescale else value + max(1.0, value)), of=math.sqrt if root else float,
            each=each if per_row else None,
        )  # fmt: skip

    def _fit(self, rescale: bool, relative: int) -> tuple[np.ndarray, np.ndarray, str]:
        """For each point, the sizes and the errors of its pairs, and the factor s in words.

        The sizes are the sums of δ², the errors those of (δ - s d)². ``relative`` 1: both are divided by δ.
        """
        sizes = self._sums[0 if relative else 2]
        if not sizes.sum() or not self._sums[4].sum():
            where = "Z" if sizes.sum() else "X"
            raise DataError(f"All sampled rows of {where} are equal. Choose a larger sample, or check the data.")
        return sizes, self._errors(rescale)[relative], self._unit(self._factors(rescale)[relative], rescale)

    @cached_property
    def _sums(self) -> np.ndarray:
        """Sums over the pairs of each point, (7, m): of δ, d, δ², δd, d², and where δ > 0 of d and d²/δ."""

        def of(A: np.ndarray, B: np.ndarray) -> list[np.ndarray]:
            apart = np.where(A > 0, B, 0.0)
            products = [_dot(a, b) for a, b in ((A, A), (A, B), (B, B))]
            return [A.sum(axis=1), B.sum(axis=1), *products, apart.sum(axis=1), _dot(apart, _ratio(apart, A))]

        return self.pairs.sums(self.delta, self.d, of)

    def _errors(self, rescale: bool) -> np.ndarray:
        """Sums over the pairs of each point, (2, m): of (δ - s d)², and of (δ - s d)²/δ where δ > 0."""
        s, t = self._factors(rescale)

        def of(A: np.ndarray, B: np.ndarray) -> list[np.ndarray]:
            return [((A - s * B) ** 2).sum(axis=1), _ratio((A - t * B) ** 2, A).sum(axis=1)]

        if rescale not in self._found:
            self._found[rescale] = self.pairs.sums(self.delta, self.d, of)
        return self._found[rescale]

    def _factors(self, rescale: bool) -> tuple[float, float]:
        """The factor s of the squared errors, and that of the squared errors divided by δ."""
        _, _, _, xz, zz, z, relative = self._sums.sum(axis=1).tolist()
        same = self._same_unit
        return (xz / zz if rescale and zz else same), (z / relative if rescale and relative else same)

    @cached_property
    def _same_unit(self) -> float:
        """The factor that converts a distance in Z to the unit of X."""
        with np.errstate(all="ignore"):
            return float(np.float64(self.Z.length) / self.pairs.side.length)

    def _given(self, s: float) -> float:
        """A factor between internal units, converted to the units of the input."""
        with np.errstate(all="ignore"):
            return float(np.float64(s) / self._same_unit)

    def _unit(self, s: float, rescale: bool) -> str:
        best = f"embedded distances multiplied by {self._given(s):.4g}, the optimal factor"
        return best if rescale else "embedded distances not rescaled"

    # --- correlations ---

    def residual(self) -> Measure:
        """1 - r², with the interval that follows from that of r."""
        about = "1 - r², where r is the Pearson correlation between distances in the data and in the embedding."
        r = self.pearson
        found = Measure("residual variance", 1 - r.value**2, None, "lower", about, None, None, r.sample, r.left_out)
        if r.low is None or r.high is None:
            return found
        ends = 1 - r.low**2, 1 - r.high**2
        return replace(found, low=min(ends), high=1.0 if r.low < 0 < r.high else max(ends))

    @cached_property
    def pearson(self) -> Measure:
        about = "Linear correlation between distances in the data and in the embedding."
        return self._correlation("Pearson correlation", about, self.moments)

    def shepard(self) -> Shepard:
        middle = (self.pairs.m * (self.pairs.m - 1) / 2 + 1) / 2  # the mean rank
        ranks = _Moments.of(self.pairs, self.pairs.original_ranks, self.pairs.ranks(self.d), middle, middle)
        spearman = self._correlation(
            "Spearman correlation", "Rank correlation between distances in the data and in the embedding.", ranks
        )
        evaluated, unit = self.pairs.evaluated, self.pairs.side.length
        with np.errstate(all="ignore"):  # squared distances may overflow in the original unit
            x, z = self.pairs.original_once * unit, self.pairs.once(self.d) * self.Z.length
        return Shepard(
            x,
            z,
            self._given(self._factors(rescale=True)[0]),
            spearman,
            self.pearson,
            evaluated.sample,
            evaluated.left_out,
        )

    def _correlation(self, name: str, about: str, of: _Moments) -> Measure:
        r = of.r if all(self.moments.differ) else math.nan
        return self.pairs.measure(name, r, "higher", about, of.left, ends=(-1.0, 1.0), kind="correlation")

    def correlating(self) -> _DistanceComparison:
        """Raise an error if all distances are equal."""
        if not all(self.moments.differ):
            where = "the embedding" if self.moments.differ[0] else "the data"
            raise DataError(
                f"All distances are equal in {where}, so their correlation is undefined. Pass more rows, or use a "
                "stress measure."
            )
        return self

    @cached_property
    def moments(self) -> _Moments:
        m = self.pairs.m
        return _Moments.of(self.pairs, self.delta, self.d, *(self._sums[:2].sum(axis=1) / (m * (m - 1))).tolist())


@dataclass(frozen=True, eq=False)
class _Moments:
    """Sums over the pairs of each point from which correlations follow; centered, so that no digits cancel."""

    means: np.ndarray  # (2,)
    sums: np.ndarray  # (5, m) of a, b, a², b² and ab, about the means

    @classmethod
    def of(cls, pairs: SampledPairs, A: Table, B: Table, x: float, z: float) -> _Moments:

        def of(a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
            a, b = a - x, b - z
            sums = [a.sum(axis=1), b.sum(axis=1), _dot(a, a), _dot(b, b), _dot(a, b)]
            return [each - own for each, own in zip(sums, (-x, -z, x * x, z * z, x * z), strict=True)]  # without i = j

        return cls(np.array([x, z]), pairs.sums(A, B, of))

    @property
    def differ(self) -> tuple[bool, bool]:
        """Whether the values of each side differ by more than rounding error."""
        m = self.sums.shape[1]
        spread = np.sqrt(self.sums[2:4].sum(axis=1) / (m * (m - 1)))
        a, b = spread > _ROUNDING * self.means
        return bool(a), bool(b)

    @property
    def r(self) -> float:
        """Pearson's correlation; NaN if it is undefined."""
        aa, bb, ab = self.sums[2:].sum(axis=1)
        norm = math.sqrt(aa) * math.sqrt(bb)
        return float(np.clip(ab / norm, -1, 1)) if norm > 0 else math.nan

    def left(self) -> np.ndarray:
        """The correlation without each point and its pairs, (m,)."""
        m = self.sums.shape[1]
        a, b, aa, bb, ab = self.sums.sum(axis=1)[:, None] / 2 - self.sums
        others = (m - 1) * (m - 2) / 2
        norms = np.sqrt(np.maximum(aa - a * a / others, 0.0)) * np.sqrt(np.maximum(bb - b * b / others, 0.0))
        return np.divide(ab - a * b / others, norms, out=np.full(m, self.r), where=norms > 0)


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.divide(a, b, out=np.zeros_like(a, dtype=np.float64), where=b > 0)


def _dot(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Products of rows, without BLAS, whose sum of a long row depends on the number of threads."""
    return np.einsum("ij,ij->i", A, B)
