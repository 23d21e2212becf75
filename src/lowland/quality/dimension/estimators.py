"""Estimators of the intrinsic dimension, each with an interval and the bias that is known of it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.blocks.distances.to_points import distance_matrix
from lowland.blocks.neighbors.search import choose_searcher
from lowland.blocks.statistics.rescaling import unit_of
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.quality.dimension import spacings as blocks
from lowland.run.run import Run

Estimator = Literal["auto", "mle", "twonn", "correlation", "pca", "global_pca", "isomap"]
BY_SPACINGS = ("auto", "mle", "twonn")  # those that read the spacings of distances
MAPPED = ("auto", "mle", "twonn", "pca")  # those that speak of single points

_NEIGHBOURS = 20  # unless told otherwise
_PAIRED = 2000  # rows of which all pairs are compared: 32 MB of distances
_NEIGHBOURHOODS = 1000  # taken apart by local PCA, unless a map is asked for
_MAPPED_BY_ISOMAP = 1000
_REPEATS = 3  # of Isomap's map, each without another tenth of the rows, to see whether its elbow stays


@dataclass(frozen=True, eq=False)  # eq: two arrays do not compare to one truth
class IntrinsicDimension:
    """An estimate of the dimension, the interval it lies in, and what is known of its bias."""

    value: float
    low: float
    high: float
    confidence: float  # of the interval
    interval: str  # how it was found
    n_rows: int
    method: str
    name: str
    bias: str  # known bias, in one sentence
    about: str  # what was seen in these rows, in one sentence
    per_point: np.ndarray | None = None  # (n,) float64 on the host, where asked for
    details: dict[str, Any] = field(default_factory=dict)
    others: tuple[IntrinsicDimension, ...] = ()  # with method="all"

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        own = f"{self.name}: {self.value:.3g} ({self.low:.3g} to {self.high:.3g}). {self.about} Bias: {self.bias}"
        return "\n".join([own, *map(str, self.others)])


class Work:
    """The rows, each counted once, and what the estimators share: neighbours, samples, the words of the interval."""

    def __init__(
        self, X: Array, run: Run, k: int | None, per_point: bool, confidence: float, sample: int | None,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.unit = unit_of(X)  # squares of distances are taken: of numbers of order one
        self.X = X if self.unit == 1 else X / self.unit
        self.run, self.asked_k, self.per_point, self.confidence = run, k, per_point, confidence
        self.most = X.shape[0] if per_point or sample is None else sample
        self.place = np.arange(X.shape[0])  # (rows given,) which distinct row each is
        self._demand_rows()
        self.order = rng.permutation(self.n)
        self.indices, self.distances = self._neighbours()
        if np.any(self.distances[:, 0] == 0):
            self._drop_repeated()
            self.order = rng.permutation(self.n)
            self.indices, self.distances = self._neighbours()
        if self.k < _NEIGHBOURS and k is None:
            warn(f"intrinsic_dimension: there are {self.n} rows to compare, so {self.k} neighbours of each are looked "
                 f"at in place of {_NEIGHBOURS}. Few rows say little.", DataWarning)  # fmt: skip
        positive = self.distances[self.distances > 0]
        self.distances = np.maximum(self.distances, positive.min())  # of distinct rows that rounding has made meet

    @property
    def n(self) -> int:
        """How many distinct rows there are."""
        return int(self.X.shape[0])

    @property
    def k(self) -> int:
        """How many neighbours are looked at."""
        return self.asked_k or min(_NEIGHBOURS, self.n - 1)

    def _demand_rows(self) -> None:
        if self.n == 1 < len(self.place):
            raise DataError("All rows are the same: there is no dimension to estimate. Pass other rows.")
        told = "rows" if self.n == len(self.place) else "distinct rows"
        if self.n < 3:
            raise DataError(f"The data has {self.n} {told}: too few for a dimension. Pass at least 3, better hundreds.")
        if self.n <= self.k:
            raise ParameterError(
                f"intrinsic_dimension(n_neighbors={self.k}): the data has {self.n} {told}. Choose at most {self.n - 1}."
            )

    def warn_of_steps(self) -> None:
        """Say so where spacings are of no use: a ball is no model of rows on a grid, or in groups of near twins."""
        if blocks.are_discrete(blocks.spacings(self.distances), self.n):
            warn(
                "intrinsic_dimension: the distances to neighbours come in steps, as on a grid or in groups of nearly "
                "equal rows, so estimates from their spacings are not to be trusted. Choose method='pca'.",
                DataWarning,
            )

    def _drop_repeated(self) -> None:
        """Count repeated rows once: a distance of zero has no logarithm."""
        host = to_numpy(self.X)
        _, first, place = np.unique(host, axis=0, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))
        self.place = rank[place.reshape(-1)]
        self.X = self.taken(np.sort(first))
        repeated = len(host) - self.n
        self._demand_rows()
        if repeated:
            warn(f"intrinsic_dimension: {repeated} of {len(host)} rows repeat another. Each was counted once.",
                 DataWarning)  # fmt: skip

    def _neighbours(self) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest of all rows to each row that is asked, nearest first, (m, k)."""
        searcher = choose_searcher(self.X, "euclidean", {}, "auto", self.k)
        rows = None if self.most >= self.n else self.asked
        indices, distances = searcher.nearest(self.k, self.run, rows=rows)
        return indices, distances.astype(np.float64)

    @property
    def asked(self) -> np.ndarray:
        """The rows that are asked for their neighbours, in order."""
        return self.drawn(self.most)

    def drawn(self, most: int) -> np.ndarray:
        """Rows drawn at random, in order: the same for all estimators."""
        return np.sort(self.order[:most])

    def taken(self, places: np.ndarray) -> Array:
        """These rows."""
        xp = xp_of(self.X)
        return xp.take(self.X, like(places, self.X, xp.int64), axis=0)

    def error_of_mean(self, values: np.ndarray, asked: np.ndarray | None = None) -> float:
        """Standard error of the mean of values, (m,), of rows that are neighbours of each other."""
        places = slice(None) if asked is None else np.searchsorted(self.asked, asked)
        rows = self.asked if asked is None else asked
        return math.sqrt(blocks.covariance_of_means(values[:, None], self.indices[places], rows)[0, 0])

    def map_of(self, values: np.ndarray) -> np.ndarray | None:
        """Values of the distinct rows for all rows, where a map was asked for."""
        return values[self.place] if self.per_point else None

    def found(self, method: str, value: float, error: float, about: str, **more: Any) -> IntrinsicDimension:
        """The record of an estimate with its standard error; the interval keeps above zero."""
        name, bias = _KNOWN[method]
        if not value < 0.99 * blocks.MOST:  # NaN as well
            raise DataError(
                f"{name}: the nearest distances are all equal, as on a grid, so there is no estimate. "
                "Choose another method, or add a little noise to the rows."
            )
        z = NormalDist().inv_cdf((1 + self.confidence) / 2)
        ratio = math.exp(z * error / value) if value > 0 else 1.0
        more.setdefault("interval", _ASYMPTOTIC)
        return IntrinsicDimension(
            value,
            value / ratio,
            value * ratio,
            self.confidence,
            n_rows=len(self.place),
            method=method,
            name=name,
            bias=bias,
            about=about,
            **more,
        )


# --- the estimators ---------------------------------------------------------------------------------------------------


def _auto(work: Work) -> IntrinsicDimension:
    trend, curve = blocks.calibrated_dimension(work.distances, work.indices, work.asked, work.n)
    first, last = trend.at_scale[0], trend.at_scale[-1]
    radius = trend.scale * work.unit
    course = f"from {first:.3g} at radius {radius[0]:.3g} to {last:.3g} at {radius[-1]:.3g}"
    about = {
        "all scales": f"There is no trend over the scales, {course}, so all count.",
        "towards scale zero": f"It rises with the scale, {course}, as on curved sheets: it was carried towards zero.",
        "the largest scale": f"It falls with the scale, {course}, as under noise: it was read at the largest.",
    }[trend.taken]
    local = None
    if work.per_point:
        each = blocks.smoothed(blocks.spacings(work.distances).mean(axis=1), work.indices)
        local = work.map_of(curve.dimension(each))
    details = {
        "rows asked": len(work.asked),
        "neighbours": work.k,
        "radius": radius,
        "dimension at radius": trend.at_scale,
        "slope in standard errors": trend.slope,
        "taken from": trend.taken,
    }
    return work.found("auto", trend.value, trend.error, about, per_point=local, details=details)


def _mle(work: Work) -> IntrinsicDimension:
    each = blocks.spacings(work.distances).mean(axis=1)
    value = 1 / each.mean() if each.any() else math.inf
    local = work.map_of(1 / np.maximum(blocks.smoothed(each, work.indices), 1e-9)) if work.per_point else None
    about = f"{len(work.asked)} rows were asked for their {work.k} neighbours."
    details = {"rows asked": len(work.asked), "neighbours": work.k}
    return work.found("mle", value, value**2 * work.error_of_mean(each), about, per_point=local, details=details)


def _twonn(work: Work) -> IntrinsicDimension:
    value = blocks.two_nearest(work.distances)
    each = blocks.spacings(work.distances[:, :2])[:, 0]
    each = np.minimum(each, np.quantile(each, 0.9))  # as the fit leaves the largest ratios out
    share = work.error_of_mean(each) / max(each.mean(), 1e-300)
    local = None
    if work.per_point:
        ratios = blocks.smoothed(blocks.spacings(work.distances[:, :2])[:, 0], work.indices)
        local = work.map_of(1 / np.maximum(ratios, 1e-9))
    about = (
        f"{len(work.asked)} rows were asked for their two neighbours; the tenth with the largest ratios was left out."
    )
    return work.found("twonn", value, value * share, about, per_point=local, details={"rows asked": len(work.asked)})


def _correlation(work: Work) -> IntrinsicDimension:
    rows = work.drawn(_PAIRED)
    m = len(rows)
    low = min(3 / m, 0.1)
    high = min(max(0.03, 10 * low), 0.5)
    D = to_numpy(distance_matrix(work.taken(rows), work.run))
    found = blocks.correlation_sum(D, low, high)
    radius = found.radius * work.unit
    about = (
        f"Slope over radii from {radius[0]:.3g} to {radius[-1]:.3g}, within which lie "
        f"{found.share[0]:.2%} to {found.share[-1]:.2%} of the pairs of {m} rows."
    )
    details = {"rows": m, "radius": radius, "share of pairs": found.share}
    interval = "normal, from how much the shares of single rows differ"
    return work.found("correlation", found.slope, found.error, about, interval=interval, details=details)


def _pca(work: Work) -> IntrinsicDimension:
    rows = work.asked if work.per_point else np.intersect1d(work.asked, work.drawn(_NEIGHBOURHOODS))
    ranks = blocks.local_ranks(work.X, rows, work.indices[np.searchsorted(work.asked, rows)])
    about = (
        f"Components of a twentieth of the first one's variance or more, in {len(rows)} neighbourhoods of {work.k + 1}."
    )
    details = {"neighbourhoods": len(rows), "neighbours": work.k}
    error = work.error_of_mean(ranks, rows)
    return work.found("pca", float(ranks.mean()), error, about, per_point=work.map_of(ranks), details=details)


def _global_pca(work: Work) -> IntrinsicDimension:
    rows = work.drawn(_PAIRED)
    value, error = blocks.participation(to_numpy(work.taken(rows)))
    about = f"(sum of variances)² / (sum of their squares), over the components of {len(rows)} rows."
    interval = "normal, from how much single rows add"
    return work.found("global_pca", value, error, about, interval=interval, details={"rows": len(rows)})


def _isomap(work: Work) -> IntrinsicDimension:
    from lowland.methods.registry import load_method

    Isomap = load_method("Isomap")
    rows = work.drawn(_MAPPED_BY_ISOMAP)
    k = min(work.k, 10)

    def fitted(places: np.ndarray) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it speaks of its map; what counts here is said below
            return Isomap(2, n_neighbors=k).fit(to_numpy(work.taken(places)))

    def elbow(map_: Any) -> int:
        return min(int(map_.elbow_), work.X.shape[1])  # rows have no more dimensions than columns

    whole = fitted(rows)
    if whole.n_connected_components_ > 1:
        warn(f"intrinsic_dimension(method='isomap'): with {k} neighbours the rows fall into "
             f"{whole.n_connected_components_} groups, which were joined by their shortest links. "
             "Ask for the dimension of each group by itself.",
             DataWarning)  # fmt: skip
    left_out = work.order[: len(rows)] % 10
    parts = [elbow(fitted(rows[left_out != part])) for part in work.run.iterate("mapping parts", _REPEATS)]
    found = work.found(
        "isomap", float(elbow(whole)), 0.0,
        f"Residual variance {whole.residual_variances_[elbow(whole) - 1]:.2g} at the elbow, of {len(rows)} rows.",
        interval=f"the range of elbows, {parts} where another tenth of the rows was left out each time",
        details={"rows": len(rows), "neighbours": k, "residual variances": np.asarray(whole.residual_variances_)},
    )  # fmt: skip
    low, high = min(*parts, found.value), max(*parts, found.value)
    return replace(found, low=float(low), high=float(high))


_ASYMPTOTIC = "normal, from how much the rows differ, with the dependence of neighbours"
_KNOWN: dict[str, tuple[str, str]] = {
    "auto": (
        "Corrected maximum likelihood",
        "none in evenly filled balls; up to 7 % high on spheres and 11 % on Gaussian clouds, up to 9 % low in cubes.",
    ),
    "mle": (
        "Maximum likelihood",
        "low at many dimensions (15 % at 10, 24 % at 20, of some thousand rows), high where rows curve or are noisy.",
    ),
    "twonn": (
        "Two nearest neighbours",
        "low at many dimensions (9 to 18 % at 10); it sees the smallest scale alone, where noise makes it high.",
    ),
    "correlation": (
        "Correlation dimension",
        "low at many dimensions (17 % at 10, 27 % at 20) and never far above 2 log10(n); high where the rows curve.",
    ),
    "pca": (
        "Local PCA",
        "high where neighbourhoods curve or are noisy, low where the dimension comes near the number of neighbours.",
    ),
    "global_pca": (
        "Global PCA",
        "high on all that curves: it speaks of the flat space the rows fill, and is low where that is filled unevenly.",
    ),
    "isomap": (
        "Isomap's elbow",
        "a whole number: low where dimensions are unequal, high on closed surfaces and where the graph has short cuts.",
    ),
}
ESTIMATORS: dict[str, Callable[[Work], IntrinsicDimension]] = {
    "auto": _auto,
    "mle": _mle,
    "twonn": _twonn,
    "correlation": _correlation,
    "pca": _pca,
    "global_pca": _global_pca,
    "isomap": _isomap,
}
