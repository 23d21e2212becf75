"""Intrinsic dimension of a data set: seven estimators, each with its standard error and known bias."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from lowland.arrays.namespace import Array, take, to_numpy
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
from lowland.run.run import Run, run_for
from lowland.suggestions import did_you_mean

Estimator = Literal["auto", "mle", "twonn", "correlation", "pca", "global_pca", "isomap"]
BY_SPACINGS = ("auto", "mle", "twonn")  # estimators that use the spacings of distances
MAPPED = ("auto", "mle", "twonn", "pca")  # estimators with a local version

_FEWEST = 10  # rows; the spacings of fewer say almost nothing
_NEIGHBORS = 20  # default, if each cluster has at least twice as many rows
_CLUSTERED = 10  # neighbors of each row that connect the rows of a cluster
_PAIRED = 2000  # rows of which all pairs are compared: 32 MB of distances
_NEIGHBORHOODS = 1000  # for local PCA, unless all rows are requested
_MAPPED_BY_ISOMAP = 1000


@dataclass(frozen=True, eq=False)  # eq: comparing arrays gives no single truth value
class IntrinsicDimension:
    """An estimate of the intrinsic dimension, with its standard error and known bias.

    There is no confidence interval. It would have to include the bias, which depends on the unknown shape of the data:
    no number of points can tell a very thin direction from none.

    Attributes
    ----------
    value : float
        The estimate. ``float(result)`` also returns it.
    standard_error : float or None
        How much the estimate varies between samples of as many points. None for Isomap's elbow.
    n_rows : int
        Number of points.
    method, name : str
        Estimator, as a parameter value and in words.
    bias : str
        Known bias of the estimator, in one sentence.
    about : str
        How the estimate was computed, in one sentence.
    per_point : array of shape (n,) or None
        Local dimension around each point, if ``per_point=True`` was passed.
    details : dict
        Intermediate results, such as the dimension at each radius.
    others : tuple of IntrinsicDimension
        The other estimators, with ``method="all"``.
    """

    value: float
    standard_error: float | None
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
        error = "" if self.standard_error is None else f" (standard error {self.standard_error:.2g})"
        own = f"{self.name}: {self.value:.3g}{error}. {self.about} Bias: {self.bias}"
        return "\n".join([own, *map(str, self.others)])


class Work:
    """The distinct points, and what the estimators share: neighbors, clusters, samples."""

    def __init__(
        self, X: Array, run: Run, k: int | None, per_point: bool, sample: int | None, rng: np.random.Generator
    ) -> None:
        self.unit = unit_of(X)  # rescaled, so that squared distances neither overflow nor underflow
        self.X = X if self.unit == 1 else X / self.unit
        self.run, self.asked_k, self.per_point = run, k, per_point
        self.most = X.shape[0] if per_point or sample is None else sample
        self.place = np.arange(X.shape[0])  # (number of input rows,) index of the distinct row
        self._check_rows()
        self.order = rng.permutation(self.n)
        self.indices, self.distances = self._neighbors()
        if np.any(self.distances[:, 0] == 0):
            self._drop_repeated()
            self.order = rng.permutation(self.n)
            self.indices, self.distances = self._neighbors()
        self.n_clusters, self.rows_per_cluster = self._find_clusters()
        positive = self.distances[self.distances > 0]
        self.distances = np.maximum(self.distances, positive.min())  # distinct rows at distance zero due to rounding

    @property
    def n(self) -> int:
        """Number of distinct points."""
        return int(self.X.shape[0])

    @property
    def most_k(self) -> int:
        """Number of neighbors that are searched."""
        return self.asked_k or min(_NEIGHBORS, self.n - 1)

    @property
    def k(self) -> int:
        """Number of neighbors that are used, all of them in the same cluster."""
        return int(self.indices.shape[1])

    def _check_rows(self) -> None:
        if self.n == 1 < len(self.place):
            raise DataError("All rows are equal, so the intrinsic dimension is undefined. Pass other rows.")
        kind = "rows" if self.n == len(self.place) else "distinct rows"
        if self.n < _FEWEST:
            raise DataError(
                f"The data has {self.n} {kind}: too few to estimate a dimension. Pass at least {_FEWEST}, preferably "
                "hundreds."
            )
        if self.n <= self.most_k:
            raise _error(f"the data has {self.n} {kind}. Choose at most {self.n - 1}.", n_neighbors=self.most_k)

    def _drop_repeated(self) -> None:
        """Remove duplicate points: a distance of zero has no logarithm."""
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
        """The nearest neighbors, among all points, of each sampled point, nearest first, (m, k)."""
        searcher = choose_searcher(self.X, "euclidean", {}, "auto", self.most_k)
        rows = None if self.most >= self.n else self.asked
        indices, distances = searcher.nearest(self.most_k, self.run, rows=rows)
        return indices, distances.astype(np.float64)

    def _find_clusters(self) -> tuple[int, float]:
        """Return the number of clusters and the geometric mean of their points; keep only neighbors within a cluster.

        Clusters are the connected components of the neighbor graph of the sampled points. The shape of a cluster
        affects distances beyond half of its points, so such neighbors are left out, unless their number was given.
        """
        near, m = self.indices, len(self.asked)
        if m < self.n:
            X = self.take(self.asked)
            near = choose_searcher(X, "euclidean", {}, "auto", min(self.most_k, m - 1)).nearest(self.most_k, self.run)[
                0
            ]

        def clusters(k: int) -> tuple[int, np.ndarray]:
            edges = np.repeat(np.arange(m), near[:, :k].shape[1]), near[:, :k].ravel()
            count, label = connected_components(
                coo_array((np.ones(len(edges[0])), edges), shape=(m, m)), directed=False
            )
            return count, np.bincount(label)[label]

        most = self.most_k
        count, rows = clusters(most)
        if self.asked_k is None:
            apart, fewer = clusters(_CLUSTERED)
            if apart > count:
                most, count, rows = _CLUSTERED, apart, fewer
        typical = math.exp(float(np.log(rows).mean())) * self.n / m
        if self.asked_k is None and typical < 2 * most:
            most = int(typical / 2)
            if most < _CLUSTERED:
                where = f"{self.n} distinct rows" if count == 1 else f"{count} clusters of about {typical:.0f} rows"
                warn(f"With {where}, {most} neighbors per point are used instead of {_NEIGHBORS}. "
                     "The estimate is uncertain. Pass more rows.")  # fmt: skip
        self.indices, self.distances = self.indices[:, :most], self.distances[:, :most]
        return count, typical

    @property
    def asked(self) -> np.ndarray:
        """The sampled points whose neighbors are searched, sorted."""
        return self.draw(self.most)

    def draw(self, most: int) -> np.ndarray:
        """Points sampled at random, sorted: the same for all estimators."""
        return np.sort(self.order[:most])

    def take(self, places: np.ndarray) -> Array:
        """The points at these indices."""
        return take(self.X, places)

    def error_of_mean(self, values: np.ndarray, rows: np.ndarray | None = None, k: int | None = None) -> float:
        """Standard error of the mean of values, (m,), that are correlated between the k nearest neighbors."""
        rows = self.asked if rows is None else rows
        near = self.indices[np.searchsorted(self.asked, rows), :k]
        return math.sqrt(spacings.covariance_of_means(values[:, None], near, rows)[0, 0])

    def expand(self, values: np.ndarray) -> np.ndarray | None:
        """Values of the distinct points, expanded to all points, if local estimates were requested."""
        return values[self.place] if self.per_point else None

    def result(self, method: str, value: float, error: float | None, about: str, **more: Any) -> IntrinsicDimension:
        """The result for an estimate with its standard error."""
        name, bias = _KNOWN[method]
        if not value < 0.99 * spacings.MOST:  # NaN as well
            raise DataError(
                f"{name}: the distances to the nearest neighbors are all equal, as on a grid, so there is no estimate. "
                "Choose another method, or add a little noise to the rows."
            )
        return IntrinsicDimension(
            float(value), None if error is None else float(error), n_rows=len(self.place), method=method, name=name,
            bias=bias, about=about, **more,
        )  # fmt: skip


# --- the estimators ---------------------------------------------------------------------------------------------------


def _auto(work: Work) -> IntrinsicDimension:
    trend, curve = spacings.calibrated_dimension(work.distances, work.indices, work.asked, work.rows_per_cluster)
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
    if work.n_clusters > 1:
        about += f" The rows form {work.n_clusters} clusters, and neighbors are counted within each."
    local = None
    if work.per_point:
        each = spacings.neighborhood_means(spacings.log_spacings(work.distances).mean(axis=1), work.indices)
        local = work.expand(curve.dimension(each))
    details = {
        "sampled rows": len(work.asked), "neighbors": work.k, "clusters": work.n_clusters, "radius": radius,
        "dimension at radius": trend.at_scale, "slope in standard errors": trend.slope, "taken from": trend.taken,
    }  # fmt: skip
    return work.result("auto", trend.value, trend.error, about, per_point=local, details=details)


def _mle(work: Work) -> IntrinsicDimension:
    each = spacings.log_spacings(work.distances).mean(axis=1)
    value = 1 / each.mean() if each.any() else math.inf
    local = None
    if work.per_point:
        local = work.expand(1 / np.maximum(spacings.neighborhood_means(each, work.indices), 1e-9))
    about = f"From the {work.k} nearest neighbors of {len(work.asked)} points."
    details = {"sampled rows": len(work.asked), "neighbors": work.k}
    return work.result("mle", value, value**2 * work.error_of_mean(each), about, per_point=local, details=details)


def _twonn(work: Work) -> IntrinsicDimension:
    value, influence = spacings.two_nearest(work.distances)
    local = None
    if work.per_point:
        ratios = spacings.neighborhood_means(spacings.log_spacings(work.distances[:, :2])[:, 0], work.indices)
        local = work.expand(1 / np.maximum(ratios, 1e-9))
    about = f"From the two nearest neighbors of {len(work.asked)} points, without the 10% with the largest ratios."
    error = value * work.error_of_mean(influence, k=2)
    return work.result("twonn", value, error, about, per_point=local, details={"sampled rows": len(work.asked)})


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
        f"{fraction[0]:.2%} to {fraction[-1]:.2%} of the pairs of {m} points."
    )
    details = {"rows": m, "radius": radius, "fraction of pairs": fraction}
    return work.result("correlation", slope, error, about, details=details)


def _pca(work: Work) -> IntrinsicDimension:
    rows = work.asked if work.per_point else np.intersect1d(work.asked, work.draw(_NEIGHBORHOODS))
    ranks = spacings.local_ranks(work.X, rows, work.indices[np.searchsorted(work.asked, rows)])
    about = (
        f"Mean number of components with at least 5% of the first one's variance, in {len(rows)} neighborhoods of "
        f"{work.k + 1} points."
    )
    details = {"neighborhoods": len(rows), "neighbors": work.k}
    error = work.error_of_mean(ranks, rows)
    return work.result("pca", float(ranks.mean()), error, about, per_point=work.expand(ranks), details=details)


def _global_pca(work: Work) -> IntrinsicDimension:
    rows = work.draw(_PAIRED)
    value, error = spacings.participation(to_numpy(work.take(rows)))
    about = (
        f"Participation ratio: (sum of variances)² / sum of squared variances, over components of {len(rows)} points."
    )
    return work.result("global_pca", value, error, about, details={"rows": len(rows)})


def _isomap(work: Work) -> IntrinsicDimension:
    X = to_numpy(work.take(work.draw(_MAPPED_BY_ISOMAP)))
    k = min(work.k, 10)
    joined = connected(nearest_neighbors(X, k, Run()), "connect", ShortestBridges(X), Run())
    if joined.count > 1:
        warn(f"`intrinsic_dimension(method='isomap')`: the graph of {k} nearest neighbors has "
             f"{joined.count} connected components, which were joined by their shortest edges. "
             "Estimate the dimension of each component separately.")  # fmt: skip
    left = residual_variances(geodesic_distances(joined.graph, Run()))
    value = min(elbow(left, len(X)), X.shape[1])  # at most the number of columns
    about = f"Elbow of the residual variances of {len(X)} points, at {left[value - 1]:.2g}."
    details = {"rows": len(X), "neighbors": k, "residual variances": left}
    return work.result("isomap", float(value), None, about, details=details)


_KNOWN: dict[str, tuple[str, str]] = {
    "auto": (
        "Corrected maximum likelihood",
        "none in uniformly filled balls, up to 17% high on spheres and 13% on Gaussian clouds, up to 9% low in cubes, "
        "and low if the extents of the directions are very different.",
    ),
    "mle": (
        "Maximum likelihood",
        "low in high dimensions (15% at 10, 24% at 20, with a few thousand rows), high with curvature or noise.",
    ),
    "twonn": (
        "Two nearest neighbors",
        "low in high dimensions (9 to 18% at 10), and high with noise, since it uses only the smallest scale.",
    ),
    "correlation": (
        "Correlation dimension",
        "low in high dimensions (17% at 10, 27% at 20), with 2 log10(n) as an upper limit, and in clusters, and high "
        "with curvature.",
    ),
    "pca": (
        "Local PCA",
        "high with curvature or noise within neighborhoods, low if the dimension is close to the number of neighbors.",
    ),
    "global_pca": (
        "Global PCA",
        "high on curved data, since it measures the linear span of the points, and low if the variances are unequal.",
    ),
    "isomap": (
        "Isomap's elbow",
        "an integer, low if dimensions have unequal extent, high on closed surfaces and if the graph has shortcuts.",
    ),
}
ESTIMATORS: dict[str, Callable[[Work], IntrinsicDimension]] = {
    estimate.__name__[1:]: estimate for estimate in (_auto, _mle, _twonn, _correlation, _pca, _global_pca, _isomap)
}


def intrinsic_dimension(
    X: Any, method: Estimator | Literal["all"] = "auto", *, n_neighbors: int | None = None, per_point: bool = False,
    sample: int | None = 5_000, random_state: Any = None,
) -> IntrinsicDimension:  # fmt: skip
    """Estimate the intrinsic dimension of the points, with the standard error and the known bias of the estimator.

    The intrinsic dimension is the number of coordinates needed to describe the points locally: 2 on a surface, whatever
    the number of columns.

    Parameters
    ----------
    X : array-like of shape (n, d) or path
        Points. They are compared by Euclidean distance, so the columns should have a common scale.
    method : str, default "auto"
        Estimator:

        - "auto": maximum likelihood of Levina and Bickel, corrected for borders, curvature and noise.
        - "mle": maximum likelihood, uncorrected.
        - "twonn": ratio of the distances to the two nearest neighbors (Facco et al.).
        - "correlation": correlation dimension (Grassberger and Procaccia).
        - "pca": number of principal components of neighborhoods (Fukunaga and Olsen).
        - "global_pca": participation ratio of the principal components of all points.
        - "isomap": elbow of Isomap's residual variances.
        - "all": "auto", with all others in the attribute ``others``.
    n_neighbors : int or None, default None
        Number of neighbors per point. None means 20, but 10 if the points form clusters with fewer connections, and at
        most half of the points of a cluster.
    per_point : bool, default False
        Also estimate the local dimension around each point ("auto", "mle", "twonn", "pca").
    sample : int or None, default 5000
        Number of points, sampled at random, whose neighbors are searched among all points. None, or ``per_point=True``:
        all points.
    random_state : int, Generator or None, default None
        Seed of the sample. None draws the same sample every time.

    Returns
    -------
    IntrinsicDimension
        Estimate, standard error, known bias and details.

    References
    ----------
    Levina and Bickel 2004, *Maximum likelihood estimation of intrinsic dimension*, NIPS 17; averaged as in MacKay and
    Ghahramani 2005, *Comments* on it. Ceruti et al. 2014 (DANCo), doi:10.1016/j.patcog.2014.02.013: the same kind of
    correction, here with exact expectations instead of simulations.

    Examples
    --------
    >>> from lowland import data, quality
    >>> roll = quality.intrinsic_dimension(data.load_dataset("swiss_roll").X)
    >>> f"{roll.value:.2f}, standard error {roll.standard_error:.2f}"
    '1.96, standard error 0.02'
    """
    _check(method, n_neighbors, per_point, sample, random_state)
    rows = open_rows(X)
    if rows.is_sparse:
        raise DataTypeError(SPARSE_ROWS)
    run = run_for(rows)
    table = run.to_array(rows, "The intrinsic dimension")
    rng = generator(0 if random_state is None else random_state)
    work = Work(table, run, n_neighbors, per_point, sample, rng)
    if method in (*BY_SPACINGS, "all") and spacings.are_discrete(work.distances, work.rows_per_cluster):
        warn(
            "intrinsic_dimension: the distances to neighbors are discrete, as on a grid or between near-duplicate "
            "rows, so estimates from their spacings are unreliable. Choose `method='pca'`."
        )
    if method != "all":
        return ESTIMATORS[method](work)
    others = [ESTIMATORS[each] for each in get_args(Estimator) if each != "auto"]
    return replace(ESTIMATORS["auto"](work), others=tuple(of(work) for of in others))


def _check(method: str, n_neighbors: int | None, per_point: bool, sample: int | None, random_state: Any) -> None:
    known = (*get_args(Estimator), "all")
    if method not in known:
        choices = f"Choose one of {', '.join(repr(each) for each in known)}."
        raise _error(f"unknown method. {did_you_mean(method, known)}{choices}", method=method)
    for name, value, least in (("n_neighbors", n_neighbors, 2), ("sample", sample, 20)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least):
            raise _error(f"choose an integer of at least {least}.", **{name: value})
    seeds = int | np.integer | np.random.Generator | np.random.RandomState | None
    if not isinstance(random_state, seeds) or (isinstance(random_state, int | np.integer) and random_state < 0):
        raise _error("choose an integer of at least 0, or a Generator.", random_state=random_state)
    if per_point and method not in (*MAPPED, "all"):
        choices = f"Choose among {', '.join(map(repr, MAPPED))}."
        raise _error(f"this estimator has no local version. {choices}", method=method, per_point=True)


def _error(reason: str, **parameters: Any) -> ParameterError:
    return ParameterError(reason, method="intrinsic_dimension", given=parameters)
