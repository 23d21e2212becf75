"""Whether distances are kept: stress in three kinds, the Shepard diagram and its correlations, residual variance.

An embedding often has a unit of its own: neighbours in Z may lie a thousandth as far apart as in X and the picture be
perfect. Unless told otherwise the stresses multiply the distances of Z by the factor that makes them smallest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lowland.blocks.distances.metrics import Metric
from lowland.blocks.neighbors.ranks import PointSet
from lowland.errors import DataError
from lowland.quality.inputs import Sample
from lowland.quality.measure import Measure
from lowland.quality.original_space import OriginalSpace
from lowland.quality.sampled_pairs import SampledPairs, Table

_ROUNDING = 1e-12  # deviation, relative to the mean, below which distances are equal but for rounding


def raw_stress(
    X: Any, Z: Any, *, metric: Metric = "euclidean", rescale: bool = True, per_row: bool = False,
    sample: Sample = "auto", random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return the sum over pairs of (δ - s d)², δ the distance in X and d in Z; it grows with rows and their unit.

    Parameters
    ----------
    X : rows, or a ``OriginalSpace``; with metric "precomputed" their distances, (n, n).
    Z : (n, k) coordinates; rows of NaN are left out, and counted.
    metric : how rows of X are compared.
    rescale : whether s is the best factor, for embeddings whose unit is free; False: s is 1, as for MDS.
    per_row : whether to give each row's share as well; the shares add up to the whole.
    sample : of how many rows all pairs are compared; "auto": of 1,448 at most; None: of all.
    random_state : seed of what is drawn; None draws the same each time.

    Examples
    --------
    >>> from lowland import MDS, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("airports").X
    >>> mds = MDS(metric="precomputed").fit(X)
    >>> raw = quality.raw_stress(X, mds.embedding_, metric="precomputed", rescale=False).value
    >>> round(raw / mds.stress_, 6)
    1.0
    """
    return _DistanceComparison.of(X, Z, metric, sample, random_state).raw(rescale, per_row)


def normalized_stress(
    X: Any, Z: Any, *, metric: Metric = "euclidean", rescale: bool = True, per_row: bool = False,
    sample: Sample = "auto", random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return Kruskal's stress-1: the root of the sum of (δ - s d)² over the sum of δ²; 0 is perfect, 1 the worst.

    Parameters
    ----------
    X, Z, metric, rescale, per_row, sample, random_state : as of ``raw_stress``.

    Reference: Kruskal 1964, doi:10.1007/BF02289565.
    """
    return _DistanceComparison.of(X, Z, metric, sample, random_state).normalized(rescale, per_row)


def sammon_stress(
    X: Any, Z: Any, *, metric: Metric = "euclidean", rescale: bool = True, per_row: bool = False,
    sample: Sample = "auto", random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return Sammon's stress: the sum of (δ - s d)²/δ over the sum of δ, in which small distances count as much.

    Pairs of equal rows, δ = 0, are left out.

    Parameters
    ----------
    X, Z, metric, rescale, per_row, sample, random_state : as of ``raw_stress``.

    Reference: Sammon 1969, doi:10.1109/T-C.1969.222678.
    """
    return _DistanceComparison.of(X, Z, metric, sample, random_state).sammon(rescale, per_row)


def residual_variance(
    X: Any, Z: Any, *, metric: Metric = "euclidean", sample: Sample = "auto", random_state: Any = None
) -> Measure:
    """Return 1 - r², r the correlation of the distances in X and in Z: what the embedding does not explain of them.

    For Isomap pass its distances along the graph: ``residual_variance(isomap.dist_matrix_, Z, metric="precomputed")``.

    Parameters
    ----------
    X, Z, metric, sample, random_state : as of ``raw_stress``.

    Reference: Tenenbaum, de Silva and Langford 2000, doi:10.1126/science.290.5500.2319.
    """
    return _DistanceComparison.of(X, Z, metric, sample, random_state).correlating().residual()


@dataclass(frozen=True, eq=False)
class Shepard:
    """The distances of pairs of rows in the data and in the embedding, and how they correlate."""

    original: np.ndarray  # (p,)
    embedded: np.ndarray  # (p,) in the unit of the embedding
    scale: float  # the factor that brings them nearest to the original ones
    spearman: Measure  # of their ranks: 1 if the order of all distances is kept
    pearson: Measure  # of the distances: 1 if they are kept up to a unit and a constant
    sample: int | None  # rows whose pairs these are; None: all
    left_out: int  # rows without coordinates


def shepard(
    X: Any, Z: Any, *, metric: Metric = "euclidean", sample: Sample = "auto", random_state: Any = None
) -> Shepard:
    """Return the distances of pairs in X beside those in Z, with Spearman's and Pearson's correlation.

    Parameters
    ----------
    X, Z, metric, sample, random_state : as of ``raw_stress``.

    Reference: Shepard 1962, doi:10.1007/BF02289630.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> found = quality.shepard(X, PCA(2).fit_transform(X))
    >>> round(found.spearman.value, 3), round(found.pearson.value, 3)
    (0.996, 0.998)
    """
    return _DistanceComparison.of(X, Z, metric, sample, random_state).correlating().shepard()


@dataclass(frozen=True, eq=False)
class DistanceMeasures:
    """Every measure of distances that can be told, and their diagram."""

    measures: tuple[Measure, ...]
    diagram: Shepard  # its correlations are NaN where all distances are equal on one side
    differ: tuple[bool, bool]  # whether distances differ in the data and in the embedding

    @classmethod
    def of(cls, high: OriginalSpace, Z: PointSet) -> DistanceMeasures:
        """In any unit of Z, from one table of them."""
        compared = _DistanceComparison(high.pairs, Z)
        diagram, differ = compared.shepard(), compared.differ
        correlations = (diagram.spearman, diagram.pearson, compared.residual()) if all(differ) else ()
        stresses = compared.normalized(rescale=True), compared.sammon(rescale=True)
        return cls((*stresses, *correlations), diagram, differ)


@dataclass(frozen=True, eq=False)
class _DistanceComparison:
    """Distances δ and d of the same pairs on both sides, each in the unit of its side, and sums over them."""

    pairs: SampledPairs
    Z: PointSet

    @classmethod
    def of(cls, X: Any, Z: Any, metric: Metric, sample: Sample, random_state: Any) -> _DistanceComparison:
        high, side = OriginalSpace.beside(X, Z, metric=metric, sample=sample, random_state=random_state)
        return cls(high.pairs, side)

    @property
    def delta(self) -> Table:
        return self.pairs.original

    @cached_property
    def d(self) -> Table:
        return self.pairs.of(self.Z)

    # --- stresses ---

    def raw(self, rescale: bool, per_row: bool = False) -> Measure:
        fit, m, n, unit = self._fit(rescale), self.pairs.m, self.pairs.side.n, self.pairs.side.length
        total, most = fit.errors.sum() / 2, fit.squares.sum() / 2
        whole = n * (n - 1) / (m * (m - 1))  # pairs for each that was looked at
        with np.errstate(over="ignore", under="ignore"):
            value, top = (float(whole * each * unit * unit) for each in (total, most))
        if not np.isfinite(top) or (total > 0 and value < np.finfo(np.float64).tiny):
            raise DataError(
                "The distances are so long or short that the sum of their squares is no number any more. Ask for the "
                "normalized stress, or rescale the columns."
            )

        def left() -> np.ndarray:
            return n * (n - 1) / ((m - 1) * (m - 2)) * (total - fit.errors) * unit * unit

        about = f"Sum of squared differences of the distances, {fit.unit}."
        return self.pairs.measure(
            "raw stress", value, "lower", about, left, ends=(0.0, top if rescale else value + max(top, value)),
            each=(lambda: whole * fit.errors / 2 * unit * unit) if per_row else None,
        )  # fmt: skip

    def normalized(self, rescale: bool, per_row: bool = False) -> Measure:
        fit = self._fit(rescale)
        about = f"Differences of the distances relative to those in the data, {fit.unit}."
        return self._share("normalized stress", fit.errors, fit.squares, about, rescale, per_row, root=True)

    def sammon(self, rescale: bool, per_row: bool = False) -> Measure:
        x, z, zz = self.pairs.sums(
            self.delta, self.d,
            lambda x, z: x, lambda x, z: np.where(x > 0, z, 0.0), lambda x, z: _ratio(z * z, x),
        )  # fmt: skip
        _check_apart(x.sum(), self._squares[2].sum())
        s = float(z.sum() / zz.sum()) if rescale and zz.any() else self._same_unit
        (errors,) = self.pairs.sums(self.delta, self.d, lambda x, z: _ratio((x - s * z) ** 2, x))
        about = f"Differences of the distances, small ones counting as much as large, {self._unit(s, rescale)}."
        return self._share("Sammon stress", errors, x, about, rescale, per_row)

    def _share(
        self, name: str, errors: np.ndarray, sizes: np.ndarray, about: str, rescale: bool, per_row: bool,
        root: bool = False,
    ) -> Measure:  # fmt: skip
        """The sum of errors over that of sizes, or its root; of the best factor it is 1 at most.

        Had the factor been found without a row it would differ, but the sum, being smallest there, would not.
        """
        value = float(errors.sum() / sizes.sum())
        if not np.isfinite(value):
            raise DataError(
                "The distances of the embedding are so much longer than those in the data that their stress is no "
                "number. Let them be rescaled: rescale=True."
            )

        def each() -> np.ndarray:
            return np.sqrt(_ratio(errors, sizes)) if root else _ratio(errors, sizes)

        return self.pairs.measure(
            name, value, "lower", about, lambda: (errors.sum() / 2 - errors) / (sizes.sum() / 2 - sizes),
            ends=(0.0, 1.0 if rescale else value + max(1.0, value)), of=math.sqrt if root else float,
            each=each if per_row else None,
        )  # fmt: skip

    @cached_property
    def _squares(self) -> np.ndarray:
        """Sums of δ², δd and d² over the pairs of each row, (3, m)."""
        return self.pairs.sums(self.delta, self.d, lambda x, z: x * x, lambda x, z: x * z, lambda x, z: z * z)

    def _fit(self, rescale: bool) -> _Fit:
        """The factor of least squares, and what it leaves; else the one that takes the units as they came."""
        xx, _, zz = self._squares
        _check_apart(xx.sum(), zz.sum())
        s = self._scale if rescale else self._same_unit
        (errors,) = self.pairs.sums(self.delta, self.d, lambda x, z: (x - s * z) ** 2)
        return _Fit(xx, errors, self._unit(s, rescale))

    @cached_property
    def _scale(self) -> float:
        """The factor of least squares."""
        _, xz, zz = self._squares
        return float(xz.sum() / zz.sum())

    @cached_property
    def _same_unit(self) -> float:
        """The factor that takes a distance in Z in the unit of X."""
        with np.errstate(all="ignore"):
            return float(np.float64(self.Z.length) / self.pairs.side.length)

    def _given(self, s: float) -> float:
        """A factor between the units of the sides as one between those that came."""
        with np.errstate(all="ignore"):
            return float(np.float64(s) / self._same_unit)

    def _unit(self, s: float, rescale: bool) -> str:
        best = f"those of the embedding times {self._given(s):.4g}, which is best"
        return best if rescale else "in the unit of the embedding"

    # --- correlations ---

    def residual(self) -> Measure:
        """1 - r², and the same of the ends between which r lies."""
        about = "Share of the variance of the distances in the data that those in the embedding do not explain."
        r = self.pearson
        found = Measure("residual variance", 1 - r.value**2, None, "lower", about, None, None, r.sample, r.left_out)
        if r.low is None or r.high is None:
            return found
        ends = 1 - r.low**2, 1 - r.high**2
        return replace(found, low=min(ends), high=1.0 if r.low < 0 < r.high else max(ends))

    @cached_property
    def pearson(self) -> Measure:
        about = "Whether the distances are kept, up to unit and constant."
        return self._correlation("Pearson correlation", about, self._moments)

    def shepard(self) -> Shepard:
        ranks = _Moments.of(self.pairs, self.pairs.original_ranks, self.pairs.ranks(self.d))
        spearman = self._correlation("Spearman correlation", "Whether the order of the distances is kept.", ranks)
        evaluated, unit = self.pairs.evaluated, self.pairs.side.length
        with np.errstate(all="ignore"):  # squared distances may be no numbers in the unit that came
            x, z = self.pairs.once(self.delta) * unit, self.pairs.once(self.d) * self.Z.length
        return Shepard(x, z, self._given(self._scale), spearman, self.pearson, evaluated.sample, evaluated.left_out)

    def _correlation(self, name: str, about: str, of: _Moments) -> Measure:
        r = of.r if all(self.differ) else math.nan
        # a row whose distances say nothing lowers r by no more than r in pairs of two: once the way to the end
        return self.pairs.measure(name, r, "higher", about, of.left, ends=(-1.0, 1.0), shared=1)

    def correlating(self) -> _DistanceComparison:
        """Refuse distances that are all equal."""
        if not all(self.differ):
            where = "the data" if not self.differ[0] else "the embedding"
            raise DataError(
                f"All distances are equal in {where}, so that nothing can correlate. Pass more rows, or ask for a "
                "stress."
            )
        return self

    @property
    def differ(self) -> tuple[bool, bool]:
        """Whether distances differ in the data and in the embedding, by more than rounding."""
        return self._moments.differ

    @cached_property
    def _moments(self) -> _Moments:
        return _Moments.of(self.pairs, self.delta, self.d)


@dataclass(frozen=True, eq=False)
class _Fit:
    """What a factor of the distances in Z leaves."""

    squares: np.ndarray  # (m,) of the distances in X, summed over the pairs of each row
    errors: np.ndarray  # (m,) the same of the differences
    unit: str


@dataclass(frozen=True, eq=False)
class _Moments:
    """Sums over the pairs of each row from which correlations are found; centered, so that no digit is lost."""

    means: np.ndarray  # (2,)
    sums: np.ndarray  # (5, m) of a, b, a², b² and ab, about the means

    @classmethod
    def of(cls, pairs: SampledPairs, A: Table, B: Table) -> _Moments:
        m = pairs.m
        x, z = means = pairs.sums(A, B, lambda a, b: a, lambda a, b: b).sum(axis=1) / (m * (m - 1))
        return cls(means, pairs.sums(
            A, B, lambda a, b: a - x, lambda a, b: b - z, lambda a, b: (a - x) ** 2, lambda a, b: (b - z) ** 2,
            lambda a, b: (a - x) * (b - z),
        ))  # fmt: skip

    @property
    def differ(self) -> tuple[bool, bool]:
        """Whether the values of either side differ by more than rounding."""
        m = self.sums.shape[1]
        spread = np.sqrt(self.sums[2:4].sum(axis=1) / (m * (m - 1)))
        a, b = spread > _ROUNDING * self.means
        return bool(a), bool(b)

    @property
    def r(self) -> float:
        """Pearson's correlation; NaN where there is none."""
        aa, bb, ab = self.sums[2:].sum(axis=1)
        norm = math.sqrt(aa) * math.sqrt(bb)
        return float(np.clip(ab / norm, -1, 1)) if norm > 0 else math.nan

    def left(self) -> np.ndarray:
        """The correlation without each row and its pairs, (m,)."""
        m = self.sums.shape[1]
        a, b, aa, bb, ab = self.sums.sum(axis=1)[:, None] / 2 - self.sums
        others = (m - 1) * (m - 2) / 2
        norms = np.sqrt(np.maximum(aa - a * a / others, 0.0)) * np.sqrt(np.maximum(bb - b * b / others, 0.0))
        return np.divide(ab - a * b / others, norms, out=np.full(m, self.r), where=norms > 0)


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.divide(a, b, out=np.zeros_like(a, dtype=np.float64), where=b > 0)


def _check_apart(x: float, z: float) -> None:
    """Refuse rows that are all equal."""
    if not x or not z:
        where = "Z" if x else "X"
        raise DataError(f"All rows of {where} that were drawn are equal. Look at more rows, or check the data.")
