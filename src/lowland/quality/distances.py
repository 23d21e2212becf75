"""Whether distances are kept: stress in three kinds, the Shepard diagram and its correlations, residual variance.

An embedding often has a unit of its own: neighbours in Z may lie a thousandth as far apart as in X and the picture be
perfect. Unless told otherwise the stresses multiply the distances of Z by the factor that makes them smallest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.blocks.metrics import Metric
from lowland.blocks.ranks import Side
from lowland.errors import DataError
from lowland.quality.high_side import HighSide
from lowland.quality.measure import Measure
from lowland.quality.pairs import Pairs
from lowland.quality.sides import Sample


def raw_stress(
    X: Any, Z: Any, *, metric: Metric = "euclidean", rescale: bool = True, per_row: bool = False,
    sample: Sample = "auto", random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return the sum over pairs of (δ - s d)², δ the distance in X and d in Z; it grows with rows and their unit.

    Parameters
    ----------
    X : rows, or a ``HighSide``; with metric "precomputed" their distances, (n, n).
    Z : (n, k) coordinates; rows of NaN are left out, and counted.
    metric : how rows of X are compared.
    rescale : whether s is the best factor, for embeddings whose unit is free; False: s is 1, as for MDS.
    per_row : whether to give each row's share as well; the shares add up to the whole.
    sample : of how many rows all pairs are compared; "auto": of 1,448 at most; None: of all.
    random_state : seed of what is drawn; None draws the same each time.

    Examples
    --------
    >>> from lowland import MDS, quality
    >>> from lowland.data import load
    >>> X = load("airports").X
    >>> mds = MDS(metric="precomputed").fit(X)
    >>> raw = quality.raw_stress(X, mds.embedding_, metric="precomputed", rescale=False).value
    >>> round(raw / mds.stress_, 6)
    1.0
    """
    return _Compared.of(X, Z, metric, sample, random_state).raw(rescale, per_row)


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
    return _Compared.of(X, Z, metric, sample, random_state).normalized(rescale, per_row)


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
    return _Compared.of(X, Z, metric, sample, random_state).sammon(rescale, per_row)


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
    return _Compared.of(X, Z, metric, sample, random_state).residual()


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
    >>> from lowland.data import load
    >>> X = load("iris").X
    >>> found = quality.shepard(X, PCA(2).fit_transform(X))
    >>> round(found.spearman.value, 3), round(found.pearson.value, 3)
    (0.996, 0.998)
    """
    return _Compared.of(X, Z, metric, sample, random_state).shepard()


def distance_measures(high: HighSide, Z: Side) -> tuple[tuple[Measure, ...], Shepard]:
    """Every measure of distances, in any unit of Z, and their diagram, from one table of them."""
    compared = _Compared(high.pairs, high.pairs.of(Z))
    diagram = compared.shepard()
    return (
        compared.normalized(rescale=True),
        compared.sammon(rescale=True),
        diagram.spearman,
        diagram.pearson,
        compared.residual(),
    ), diagram


@dataclass(frozen=True, eq=False)
class _Compared:
    """Distances of the same pairs on both sides."""

    pairs: Pairs
    d: np.ndarray  # (p,) in the embedding

    @classmethod
    def of(cls, X: Any, Z: Any, metric: Metric, sample: Sample, random_state: Any) -> _Compared:
        high, side = HighSide.beside(X, Z, metric=metric, sample=sample, random_state=random_state)
        found = cls(high.pairs, high.pairs.of(side))
        if not found.delta.any() or not found.d.any():
            where = "X" if not found.delta.any() else "Z"
            raise DataError(f"All rows of {where} that were drawn are equal. Look at more rows, or check the data.")
        return found

    @property
    def delta(self) -> np.ndarray:
        return self.pairs.original

    def raw(self, rescale: bool, per_row: bool = False) -> Measure:
        s = self._scale() if rescale else 1.0
        errors = (self.delta - s * self.d) ** 2
        m, n = self.pairs.m, self.pairs.side.n
        whole = n * (n - 1) / (m * (m - 1))  # pairs for each that was looked at

        def of_sums(xx: Any, xz: Any, zz: Any) -> Any:
            left = (n * (n - 1)) / ((m - 1) * (m - 2))  # one row fewer
            return left * _squared(xx, xz, zz, rescale)

        about = f"Sum of squared differences of the distances, {_unit(s, rescale)}."
        return self.pairs.measure(
            "raw stress", whole * float(errors.sum()), "lower", about, of_sums, *self._squares(),
            each=(lambda: whole * self.pairs.row_sums(errors) / 2) if per_row else None,
        )  # fmt: skip

    def normalized(self, rescale: bool, per_row: bool = False) -> Measure:
        s = self._scale() if rescale else 1.0
        errors = (self.delta - s * self.d) ** 2
        squares = self._squares()

        def of_sums(xx: Any, xz: Any, zz: Any) -> Any:
            return np.sqrt(_squared(xx, xz, zz, rescale) / xx)

        def each() -> np.ndarray:
            return np.sqrt(_ratio(self.pairs.row_sums(errors), self.pairs.row_sums(squares[0])))

        about = f"Differences of the distances relative to those in the data, {_unit(s, rescale)}."
        value = float(np.sqrt(errors.sum() / squares[0].sum()))
        return self.pairs.measure(
            "normalized stress", value, "lower", about, of_sums, *squares, each=each if per_row else None
        )

    def sammon(self, rescale: bool, per_row: bool = False) -> Measure:
        apart = self.delta > 0
        x = np.where(apart, self.delta, 0.0)
        z = np.where(apart, self.d, 0.0)
        zz = _ratio(z * z, x)
        s = float(z.sum() / zz.sum()) if rescale and zz.any() else 1.0
        errors = _ratio((x - s * z) ** 2, x)

        def of_sums(x: Any, z: Any, zz: Any) -> Any:
            t = z / zz if rescale else 1.0
            return (x - 2 * t * z + t * t * zz) / x

        about = f"Differences of the distances, small ones counting as much as large, {_unit(s, rescale)}."
        return self.pairs.measure(
            "Sammon stress", float(errors.sum() / x.sum()), "lower", about, of_sums, x, z, zz,
            each=(lambda: _ratio(self.pairs.row_sums(errors), self.pairs.row_sums(x))) if per_row else None,
        )  # fmt: skip

    def residual(self) -> Measure:
        about = "Share of the variance of the distances in the data that those in the embedding do not explain."
        r, parts = _correlation(self.delta, self.d)
        return self.pairs.measure("residual variance", 1 - r * r, "lower", about, lambda *s: 1 - _r(*s) ** 2, *parts)

    def shepard(self) -> Shepard:
        from scipy.stats import rankdata

        kinds = {
            "Spearman": ("Whether the order of the distances is kept.", self.pairs.original_ranks, rankdata(self.d)),
            "Pearson": ("Whether the distances are kept, up to unit and constant.", self.delta, self.d),
        }
        found = []
        for name, (about, a, b) in kinds.items():
            r, parts = _correlation(a, b)
            found.append(self.pairs.measure(f"{name} correlation", r, "higher", about, _r, *parts))
        looked = self.pairs.looked
        return Shepard(self.delta, self.d, self._scale(), found[0], found[1], looked.sample, looked.left_out)

    def _scale(self) -> float:
        """The factor of least squares."""
        return float(self.delta @ self.d / (self.d @ self.d))

    def _squares(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.delta**2, self.delta * self.d, self.d**2


def _squared(xx: Any, xz: Any, zz: Any, rescale: bool) -> Any:
    """The sum of (δ - s d)² from the sums of δ², δd and d²."""
    return np.maximum(xx - xz * xz / zz if rescale else xx - 2 * xz + zz, 0.0)


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.divide(a, b, out=np.zeros_like(a, dtype=np.float64), where=b > 0)


def _unit(s: float, rescale: bool) -> str:
    return f"those of the embedding times {s:.4g}, which is best" if rescale else "in the unit of the embedding"


def _correlation(a: np.ndarray, b: np.ndarray) -> tuple[float, tuple[np.ndarray, ...]]:
    """Pearson's correlation, and the values over whose sums it can be found again; centered, so that none is lost."""
    a, b = a - a.mean(), b - b.mean()
    a, b = a / (np.abs(a).max() or 1.0), b / (np.abs(b).max() or 1.0)
    norm = float(np.sqrt((a @ a) * (b @ b)))
    if norm == 0:
        raise DataError("All distances are equal on one side, so that nothing can correlate. Pass more rows.")
    return float(np.clip(a @ b / norm, -1, 1)), (np.ones_like(a), a, b, a * a, b * b, a * b)


def _r(count: Any, a: Any, b: Any, aa: Any, bb: Any, ab: Any) -> Any:
    return (ab - a * b / count) / np.sqrt((aa - a * a / count) * (bb - b * b / count))
