"""Intrinsic dimension of a data set: seven estimators, each with a confidence interval and its known bias."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any, Literal, get_args

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.arrays.random import generator
from lowland.data.open import open_rows
from lowland.errors import DataError, DataTypeError, ParameterError, warn
from lowland.math.distances.to_points import distance_matrix
from lowland.math.graphs.geodesics import elbow, geodesic_distances, residual_variances
from lowland.math.neighbors.connectivity import ShortestBridges, connected
from lowland.math.neighbors.search import choose_searcher, nearest_neighbors
from lowland.math.statistics.rescaling import unit_of
from lowland.quality import spacings
from lowland.quality.inputs import SPARSE_ROWS
from lowland.run.local import LocalRun
from lowland.run.run import Run, run_for
from lowland.suggestions import did_you_mean

Estimator = Literal["auto", "mle", "twonn", "correlation", "pca", "global_pca", "isomap"]
BY_SPACINGS = ("auto", "mle", "twonn")  # estimators that use the spacings of distances
MAPPED = ("auto", "mle", "twonn", "pca")  # estimators with a local version

_FEWEST = 10  # rows; the spacings of fewer say almost nothing
_NEIGHBORS = 20  # default
_PAIRED = 2000  # rows of which all pairs are compared: 32 MB of distances
_NEIGHBORHOODS = 1000  # for local PCA, unless all rows are requested
_MAPPED_BY_ISOMAP = 1000
_REPEATS = 3  # fits of Isomap, each without another tenth of the rows, for the range of the elbow


@dataclass(frozen=True, eq=False)  # eq: comparing arrays gives no single truth value
class IntrinsicDimension:
    """An estimate of the intrinsic dimension, with its confidence interval and known bias.

    Attributes
    ----------
    value : float
        The estimate. ``float(result)`` returns it, too.
    low, high : float
        Confidence interval.
    confidence : float
        Confidence level of the interval.
    interval : str
        How the interval was computed.
    n_rows : int
        Number of rows.
    method, name : str
        Estimator, as a parameter value and in words.
    bias : str
        Known bias of the estimator, in one sentence.
    about : str
        How this estimate came about, in one sentence.
    per_point : array of shape (n,) or None
        Local dimension around each row, if ``per_point=True`` was passed.
    details : dict
        Intermediate results, such as the dimension at each radius.
    others : tuple of IntrinsicDimension
        The other estimators, with ``method="all"``.
    """

    value: float
    low: float
    high: float
    confidence: float
    interval: str
    n_rows: int
    method: str
    name: str
    bias: str
    about: str
    per_point: np.ndarray | None = None  # (n,) float64 on the host
    details: dict[str, Any] = field(default_factory=dict)
    others: tuple[IntrinsicDimension, ...] = ()

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        own = f"{self.name}: {self.value:.3g} ({self.low:.3g} to {self.high:.3g}). {self.about} Bias: {self.bias}"
        return "\n".join([own, *map(str, self.others)])


class Work:
    """The distinct rows, and what the estimators share: neighbors, samples, the wording of the interval."""

    def __init__(
        self, X: Array, run: Run, k: int | None, per_point: bool, confidence: float, sample: int | None,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.unit = unit_of(X)  # rescaled, so that squared distances neither overflow nor underflow
        self.X = X if self.unit == 1 else X / self.unit
        self.run, self.asked_k, self.per_point, self.confidence = run, k, per_point, confidence
        self.most = X.shape[0] if per_point or sample is None else sample
        self.place = np.arange(X.shape[0])  # (number of input rows,) index of the distinct row
        self._check_rows()
        self.order = rng.permutation(self.n)
        self.indices, self.distances = self._neighbors()
        if np.any(self.distances[:, 0] == 0):
            self._drop_repeated()
            self.order = rng.permutation(self.n)
            self.indices, self.distances = self._neighbors()
        if self.k < _NEIGHBORS and k is None:
            warn(f"intrinsic_dimension: with {self.n} distinct rows, {self.k} neighbors per row are used instead of "
                 f"{_NEIGHBORS}. The estimate is uncertain. Pass more rows.")  # fmt: skip
        positive = self.distances[self.distances > 0]
        self.distances = np.maximum(self.distances, positive.min())  # distinct rows at distance zero due to rounding

    @property
    def n(self) -> int:
        """Number of distinct rows."""
        return int(self.X.shape[0])

    @property
    def k(self) -> int:
        """Number of neighbors per row."""
        return self.asked_k or min(_NEIGHBORS, self.n - 1)

    def _check_rows(self) -> None:
        if self.n == 1 < len(self.place):
            raise DataError("All rows are equal, so the intrinsic dimension is undefined. Pass other rows.")
        kind = "rows" if self.n == len(self.place) else "distinct rows"
        if self.n < _FEWEST:
            raise DataError(
                f"The data has {self.n} {kind}: too few to estimate a dimension. Pass at least {_FEWEST}, preferably "
                "hundreds."
            )
        if self.n <= self.k:
            raise _error(f"the data has {self.n} {kind}. Choose at most {self.n - 1}.", n_neighbors=self.k)

    def _drop_repeated(self) -> None:
        """Remove duplicate rows: a distance of zero has no logarithm."""
        host = to_numpy(self.X)
        _, first, place = np.unique(host, axis=0, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))
        self.place = rank[place.reshape(-1)]
        self.X = self.take(np.sort(first))
        duplicates = len(host) - self.n
        self._check_rows()
        if duplicates:
            warn(f"intrinsic_dimension: {duplicates} of {len(host)} rows are duplicates. Each row is counted once.")

    def _neighbors(self) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest neighbors, among all rows, of each sampled row, nearest first, (m, k)."""
        searcher = choose_searcher(self.X, "euclidean", {}, "auto", self.k)
        rows = None if self.most >= self.n else self.asked
        indices, distances = searcher.nearest(self.k, self.run, rows=rows)
        return indices, distances.astype(np.float64)

    @property
    def asked(self) -> np.ndarray:
        """The sampled rows whose neighbors are searched, sorted."""
        return self.draw(self.most)

    def draw(self, most: int) -> np.ndarray:
        """Rows sampled at random, sorted: the same for all estimators."""
        return np.sort(self.order[:most])

    def take(self, places: np.ndarray) -> Array:
        """The rows at these indices."""
        xp = xp_of(self.X)
        return xp.take(self.X, like(places, self.X, xp.int64), axis=0)

    def error_of_mean(self, values: np.ndarray, asked: np.ndarray | None = None) -> float:
        """Standard error of the mean of values, (m,), that are correlated between neighbors."""
        places = slice(None) if asked is None else np.searchsorted(self.asked, asked)
        rows = self.asked if asked is None else asked
        return math.sqrt(spacings.covariance_of_means(values[:, None], self.indices[places], rows)[0, 0])

    def expand(self, values: np.ndarray) -> np.ndarray | None:
        """Values of the distinct rows, expanded to all rows, if local estimates were requested."""
        return values[self.place] if self.per_point else None

    def result(self, method: str, value: float, error: float, about: str, **more: Any) -> IntrinsicDimension:
        """The result for an estimate with its standard error; the interval stays above zero."""
        name, bias = _KNOWN[method]
        if not value < 0.99 * spacings.MOST:  # NaN as well
            raise DataError(
                f"{name}: the distances to the nearest neighbors are all equal, as on a grid, so there is no estimate. "
                "Choose another method, or add a little noise to the rows."
            )
        z = NormalDist().inv_cdf((1 + self.confidence) / 2)
        ratio = math.exp(z * error / value) if value > 0 else 1.0
        above, below = _BIAS.get(method, (0.0, 0.0))
        more.setdefault("interval", _ASYMPTOTIC if method not in _BIAS else _WIDENED)
        return IntrinsicDimension(
            value, value / ratio / (1 + above), value * ratio / (1 - below), self.confidence, n_rows=len(self.place),
            method=method, name=name, bias=bias, about=about, **more,
        )  # fmt: skip


# --- the estimators ---------------------------------------------------------------------------------------------------


def _auto(work: Work) -> IntrinsicDimension:
    trend, curve = spacings.calibrated_dimension(work.distances, work.indices, work.asked, work.n)
    first, last = trend.at_scale[0], trend.at_scale[-1]
    radius = trend.scale * work.unit
    course = f"from {first:.3g} at radius {radius[0]:.3g} to {last:.3g} at {radius[-1]:.3g}"
    about = {
        "all scales": f"The estimate has no trend over the scales ({course}), so all scales are averaged.",
        "extrapolation to scale zero": (
            f"The estimate rises with the scale ({course}), a sign of curvature, so it is extrapolated to scale zero."
        ),
        "the largest scale": (
            f"The estimate falls with the scale ({course}), a sign of noise, so it is taken at the largest scale."
        ),
    }[trend.taken]
    local = None
    if work.per_point:
        each = spacings.neighborhood_means(spacings.log_spacings(work.distances).mean(axis=1), work.indices)
        local = work.expand(curve.dimension(each))
    details = {
        "sampled rows": len(work.asked), "neighbors": work.k, "radius": radius, "dimension at radius": trend.at_scale,
        "slope in standard errors": trend.slope, "taken from": trend.taken,
    }  # fmt: skip
    return work.result("auto", trend.value, trend.error, about, per_point=local, details=details)


def _mle(work: Work) -> IntrinsicDimension:
    each = spacings.log_spacings(work.distances).mean(axis=1)
    value = 1 / each.mean() if each.any() else math.inf
    local = None
    if work.per_point:
        local = work.expand(1 / np.maximum(spacings.neighborhood_means(each, work.indices), 1e-9))
    about = f"From the {work.k} nearest neighbors of {len(work.asked)} rows."
    details = {"sampled rows": len(work.asked), "neighbors": work.k}
    return work.result("mle", value, value**2 * work.error_of_mean(each), about, per_point=local, details=details)


def _twonn(work: Work) -> IntrinsicDimension:
    value = spacings.two_nearest(work.distances)
    each = spacings.log_spacings(work.distances[:, :2])[:, 0]
    each = np.minimum(each, np.quantile(each, 0.9))  # the fit leaves out the largest ratios, too
    relative_error = work.error_of_mean(each) / max(each.mean(), 1e-300)
    local = None
    if work.per_point:
        ratios = spacings.neighborhood_means(spacings.log_spacings(work.distances[:, :2])[:, 0], work.indices)
        local = work.expand(1 / np.maximum(ratios, 1e-9))
    about = f"From the two nearest neighbors of {len(work.asked)} rows, without the 10% with the largest ratios."
    return work.result(
        "twonn", value, value * relative_error, about, per_point=local, details={"sampled rows": len(work.asked)}
    )


def _correlation(work: Work) -> IntrinsicDimension:
    rows = work.draw(_PAIRED)
    m = len(rows)
    low = min(3 / m, 0.1)
    high = min(max(0.03, 10 * low), 0.5)
    D = to_numpy(distance_matrix(work.take(rows), work.run))
    radius, fraction, slope, error = spacings.correlation_sum(D, low, high)
    radius = radius * work.unit
    about = (
        f"Slope of the correlation sum over radii from {radius[0]:.3g} to {radius[-1]:.3g}, which contain "
        f"{fraction[0]:.2%} to {fraction[-1]:.2%} of the pairs of {m} rows."
    )
    details = {"rows": m, "radius": radius, "fraction of pairs": fraction}
    interval = "normal, from the variance between rows"
    return work.result("correlation", slope, error, about, interval=interval, details=details)


def _pca(work: Work) -> IntrinsicDimension:
    rows = work.asked if work.per_point else np.intersect1d(work.asked, work.draw(_NEIGHBORHOODS))
    ranks = spacings.local_ranks(work.X, rows, work.indices[np.searchsorted(work.asked, rows)])
    about = (
        f"Mean number of components with at least 5% of the first one's variance, in {len(rows)} neighborhoods of "
        f"{work.k + 1} rows."
    )
    details = {"neighborhoods": len(rows), "neighbors": work.k}
    error = work.error_of_mean(ranks, rows)
    return work.result("pca", float(ranks.mean()), error, about, per_point=work.expand(ranks), details=details)


def _global_pca(work: Work) -> IntrinsicDimension:
    rows = work.draw(_PAIRED)
    value, error = spacings.participation(to_numpy(work.take(rows)))
    about = (
        f"Participation ratio: (sum of variances)² / sum of squared variances, over the components of {len(rows)} rows."
    )
    interval = "normal, from the variance between rows"
    return work.result("global_pca", value, error, about, interval=interval, details={"rows": len(rows)})


def _isomap(work: Work) -> IntrinsicDimension:
    rows = work.draw(_MAPPED_BY_ISOMAP)
    k = min(work.k, 10)

    def residuals_and_components(places: np.ndarray) -> tuple[np.ndarray, int]:
        """Residual variances of embeddings in 1, 2, … dimensions, and the components of the neighbor graph."""
        X = to_numpy(work.take(places))
        graph = nearest_neighbors(X, k, LocalRun())
        joined = connected(graph, "connect", ShortestBridges(X), LocalRun())
        return residual_variances(geodesic_distances(joined.graph, LocalRun())), joined.count

    def elbow_of(left: np.ndarray, n: int) -> int:
        return min(elbow(left, n), work.X.shape[1])  # at most the number of columns

    left, components = residuals_and_components(rows)
    if components > 1:
        warn(f"`intrinsic_dimension(method='isomap')`: the graph of {k} nearest neighbors has "
             f"{components} connected components, which were joined by their shortest edges. "
             "Estimate the dimension of each component separately.")  # fmt: skip
    left_out = work.order[: len(rows)] % 10
    parts = []
    for part in work.run.iterate("fitting Isomap to subsets", _REPEATS):
        some = rows[left_out != part]
        parts.append(elbow_of(residuals_and_components(some)[0], len(some)))
    value = elbow_of(left, len(rows))
    found = work.result(
        "isomap", float(value), 0.0,
        f"Elbow of the residual variances of {len(rows)} rows, at {left[value - 1]:.2g}.",
        interval=f"range of the elbows when a different tenth of the rows is left out each time: {parts}",
        details={"rows": len(rows), "neighbors": k, "residual variances": left},
    )  # fmt: skip
    return replace(found, low=float(min(*parts, value)), high=float(max(*parts, value)))


_ASYMPTOTIC = "normal, from the variance between rows, with the correlation between neighbors"
_BIAS = {"auto": (0.13, 0.09)}  # how far the estimate may be above and below the truth apart from sampling error
_WIDENED = f"{_ASYMPTOTIC}, widened by the known bias: 13% downward, 9% upward"
_KNOWN: dict[str, tuple[str, str]] = {
    "auto": (
        "Corrected maximum likelihood",
        "none in uniformly filled balls; up to 7% high on spheres and 13% on Gaussian clouds, up to 9% low in cubes. "
        "The interval includes it.",
    ),
    "mle": (
        "Maximum likelihood",
        "low in high dimensions (15% at 10, 24% at 20, with a few thousand rows), high with curvature or noise.",
    ),
    "twonn": (
        "Two nearest neighbors",
        "low in high dimensions (9 to 18% at 10); high with noise, since it uses only the smallest scale.",
    ),
    "correlation": (
        "Correlation dimension",
        "low in high dimensions (17% at 10, 27% at 20), with 2 log10(n) as an upper limit; high with curvature.",
    ),
    "pca": (
        "Local PCA",
        "high with curvature or noise within neighborhoods, low if the dimension is close to the number of neighbors.",
    ),
    "global_pca": (
        "Global PCA",
        "high on curved data, since it measures the linear span of the rows; low if the variances are unequal.",
    ),
    "isomap": (
        "Isomap's elbow",
        "an integer; low if dimensions have unequal extent, high on closed surfaces and if the graph has shortcuts.",
    ),
}
ESTIMATORS: dict[str, Callable[[Work], IntrinsicDimension]] = {
    estimate.__name__[1:]: estimate for estimate in (_auto, _mle, _twonn, _correlation, _pca, _global_pca, _isomap)
}


def intrinsic_dimension(
    X: Any, method: Estimator | Literal["all"] = "auto", *, n_neighbors: int | None = None, per_point: bool = False,
    confidence: float = 0.95, sample: int | None = 5_000, random_state: Any = None,
) -> IntrinsicDimension:  # fmt: skip
    """Estimate the intrinsic dimension of the rows, with a confidence interval and the known bias of the estimator.

    The intrinsic dimension is the number of coordinates needed to describe the rows locally: 2 on a surface, whatever
    the number of columns.

    Parameters
    ----------
    X : array-like of shape (n, d) or path
        Rows. They are compared by Euclidean distance, so the columns should have a common scale.
    method : str, default "auto"
        Estimator:

        - "auto": maximum likelihood of Levina and Bickel, corrected for borders, curvature and noise.
        - "mle": maximum likelihood, uncorrected.
        - "twonn": ratio of the distances to the two nearest neighbors (Facco et al.).
        - "correlation": correlation dimension (Grassberger and Procaccia).
        - "pca": number of principal components of neighborhoods (Fukunaga and Olsen).
        - "global_pca": participation ratio of the principal components of all rows.
        - "isomap": elbow of Isomap's residual variances.
        - "all": "auto", with all others in the attribute ``others``.
    n_neighbors : int or None, default None
        Number of neighbors per row. None: 20, or all other rows if there are fewer.
    per_point : bool, default False
        Also estimate the local dimension around each row ("auto", "mle", "twonn", "pca").
    confidence : float, default 0.95
        Confidence level of the interval. It covers sampling error; that of "auto" also the bias on Gaussian
        clouds, spheres and cubes.
    sample : int or None, default 5000
        Number of rows, sampled at random, whose neighbors are searched among all rows. None, or ``per_point=True``:
        all rows.
    random_state : int, Generator or None, default None
        Seed of the sample. None draws the same sample every time.

    Returns
    -------
    IntrinsicDimension
        Estimate, confidence interval, known bias and details.

    References
    ----------
    Levina and Bickel 2004, *Maximum likelihood estimation of intrinsic dimension*, NIPS 17; averaged as in MacKay and
    Ghahramani 2005, *Comments* on it. Ceruti et al. 2014 (DANCo), doi:10.1016/j.patcog.2014.02.013: the same kind of
    correction, here with exact expectations instead of simulations.

    Examples
    --------
    >>> from lowland import data, quality
    >>> roll = quality.intrinsic_dimension(data.load_dataset("swiss_roll").X)
    >>> f"{roll.value:.2f}, from {roll.low:.2f} to {roll.high:.2f}"
    '1.96, from 1.70 to 2.19'
    """
    _check(method, n_neighbors, per_point, confidence, sample, random_state)
    rows = open_rows(X)
    if rows.is_sparse:
        raise DataTypeError(SPARSE_ROWS)
    run = run_for(rows)
    table = run.to_array(rows, "The intrinsic dimension")
    rng = generator(0 if random_state is None else random_state)
    work = Work(table, run, n_neighbors, per_point, confidence, sample, rng)
    if method in (*BY_SPACINGS, "all") and spacings.are_discrete(spacings.log_spacings(work.distances), work.n):
        warn(
            "intrinsic_dimension: the distances to neighbors are discrete, as on a grid or between near-duplicate "
            "rows, so estimates from their spacings are unreliable. Choose `method='pca'`."
        )
    if method != "all":
        return ESTIMATORS[method](work)
    others = [ESTIMATORS[each] for each in get_args(Estimator) if each != "auto"]
    return replace(ESTIMATORS["auto"](work), others=tuple(of(work) for of in others))


def _check(
    method: str, n_neighbors: int | None, per_point: bool, confidence: float, sample: int | None, random_state: Any
) -> None:
    known = (*get_args(Estimator), "all")
    if method not in known:
        choices = f"Choose one of {', '.join(repr(each) for each in known)}."
        raise _error(f"unknown method. {did_you_mean(method, known)}{choices}", method=method)
    for name, value, least in (("n_neighbors", n_neighbors, 2), ("sample", sample, 20)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least):
            raise _error(f"choose an integer of at least {least}.", **{name: value})
    if not isinstance(confidence, float | np.floating) or not 0 < confidence < 1:
        raise _error("choose a number between 0 and 1.", confidence=confidence)
    seeds = int | np.integer | np.random.Generator | np.random.RandomState | None
    if not isinstance(random_state, seeds) or (isinstance(random_state, int | np.integer) and random_state < 0):
        raise _error("choose an integer of at least 0, or a Generator.", random_state=random_state)
    if per_point and method not in (*MAPPED, "all"):
        choices = f"Choose among {', '.join(map(repr, MAPPED))}."
        raise _error(f"this estimator has no local version. {choices}", method=method, per_point=True)


def _error(reason: str, **parameters: Any) -> ParameterError:
    return ParameterError(reason, method="intrinsic_dimension", given=parameters)
