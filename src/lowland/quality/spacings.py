"""Intrinsic dimension from the growth of the number of neighbors with distance, in theory and in data.

The logarithms of the distances r_1 ≤ r_2 ≤ … to a point's neighbors have spacings s_j = j ln(r_{j+1} / r_j). In a flat
and uniformly filled space of dimension d they are independent with mean 1/d (Levina and Bickel's likelihood averages
them). Near borders, where most points of a high-dimensional body lie, neighbors are missing and the mean is larger;
its exact value in a ball is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, take, to_numpy

MOST = 1000.0  # upper limit: beyond it all distances are nearly equal
_BELIEVED = 2.0  # t statistic from which a trend counts
_JUMP = 2.5  # ratio of consecutive mean spacings beyond which distances are discrete
_BLOCK = 1 << 22  # numbers in a block of neighborhoods
_SPACE = 0.05  # fraction of the largest eigenvalue below which a direction is not counted (Fukunaga and Olsen 1971)


# --- spacings of neighbors --------------------------------------------------------------------------------------------


def shell_edges(k: int) -> np.ndarray:
    """Return the borders of shells of neighbors, from the first to the k-th, growing like Fibonacci numbers."""
    edges = [1, 2]
    while edges[-1] + edges[-2] < 0.8 * k:
        edges.append(edges[-1] + edges[-2])
    return np.array([edge for edge in edges if edge < k] + [k])


def log_spacings(distances: np.ndarray) -> np.ndarray:
    """Return s_j = j ln(r_{j+1} / r_j) of distances sorted within each point, (m, k) -> (m, k - 1)."""
    return np.diff(np.log(distances.astype(np.float64)), axis=1) * np.arange(1, distances.shape[1])


def shell_means(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the means of (m, k - 1) values over the shells, (m, shells)."""
    return np.add.reduceat(values, edges[:-1] - 1, axis=1) / np.diff(edges)


def are_discrete(distances: np.ndarray, n: float) -> bool:
    """Whether the mean spacings of (m, k) distances among n points jump from one neighbor to the next.

    They change slowly with j wherever points are random, also on curved surfaces, with noise, or rounded. On a grid
    they are near zero within a ring of neighbors and large between rings, whatever d is.
    """
    m, values = len(distances), log_spacings(distances)
    means = values[:, : max(2, int(n / 3))].mean(axis=0)  # at larger radii the border of the data has an effect
    jumps = means[:-1] / np.maximum(means[1:], 1e-9)
    return bool(np.any(jumps > max(_JUMP, math.exp(5 * math.sqrt(2 / m)))))  # beyond five standard errors


def covariance_of_means(values: np.ndarray, indices: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Return the covariance of the column means of (m, s) values that are correlated between neighbors.

    Two points share distances if either is a neighbor of the other. The products of their deviations are counted in
    addition to the squares (the Newey-West estimator, on a graph instead of a time series).
    """
    m = len(values)
    place = np.full(int(max(indices.max(), asked.max())) + 1, -1)
    place[asked] = np.arange(m)
    i, j = np.repeat(np.arange(m), indices.shape[1]), place[indices.ravel()]
    i, j = i[j >= 0], j[j >= 0]
    A = scipy.sparse.csr_array((np.ones(len(i)), (i, j)), shape=(m, m))
    A = ((A + A.T) > 0).astype(np.float64)
    C = values - values.mean(axis=0)
    alone = C.T @ C / m**2
    alone += 1e-12 * max(np.trace(alone), 1e-300) * np.eye(len(alone))
    L = np.linalg.cholesky(alone)
    ratio = np.linalg.solve(L, np.linalg.solve(L, C.T @ (A @ C) / m**2).T)  # L⁻¹ (cross products) L⁻ᵀ
    more, U = np.linalg.eigh((ratio + ratio.T) / 2)
    L = L @ U * np.sqrt(1 + np.maximum(more, 0))  # never less than for independent points
    return L @ L.T


# --- expected spacings in a ball --------------------------------------------------------------------------------------


def fraction_within(r: np.ndarray, rho: np.ndarray, d: float) -> np.ndarray:
    """Return the fraction of the unit d-ball that lies within r of a point at distance rho from its center.

    Two intersecting balls share two caps. A cap at distance a from the center of a ball of radius R has the fraction
    I(1 - a²/R²; (d + 1)/2, 1/2) / 2 of its volume, where I is the regularized incomplete beta function (Li 2011). d may
    be fractional.
    """
    from scipy.special import betainc

    def cap(a: np.ndarray, R: np.ndarray | float) -> np.ndarray:
        half = betainc((d + 1) / 2, 0.5, 1 - np.clip(a / R, -1, 1) ** 2) / 2
        return np.where(a >= 0, half, 1 - half)

    r, rho = r[None, :], rho[:, None]
    crossing = cap((rho**2 + 1 - r**2) / (2 * rho), 1.0) + r**d * cap((rho**2 + r**2 - 1) / (2 * rho), r)
    return np.where(r <= 1 - rho, r**d, np.where(r >= 1 + rho, 1.0, crossing))


def ball_spacings(d: float, n: float, edges: np.ndarray) -> np.ndarray:
    """Return the expected spacings, by shell, of n points distributed uniformly in a d-ball, (shells,).

    If F(r) is the fraction of the ball within r of a point, F(r_k) of its k-th neighbor is Beta(k, n - k), and given
    r_k the mean of ln(r_k / r_j) over j < k is G(r_k) = (∫ F(s) / s ds up to r_k) / F(r_k). The means over the k-th
    neighbors and over the points of the ball are computed by Gaussian quadrature, without simulation.
    """
    from scipy.special import betaincinv

    x, w = np.polynomial.legendre.leggauss(24)
    x, w = (x + 1) / 2, w / 2
    t = np.linspace(math.log(1e-5 / n) / d, math.log(2), 512)  # ln r
    F = fraction_within(np.exp(t), x ** (1 / d), d)  # (24, 512)
    area = np.cumsum((F[:, 1:] + F[:, :-1]) / 2 * (t[1] - t[0]), axis=1)
    G = (np.concatenate([np.zeros((len(x), 1)), area], axis=1) + F[:, :1] / d) / F
    q = np.log(betaincinv(edges[1:, None], n - edges[1:, None], x))  # (shells, 24): ln F(r_k)
    means = np.array([np.interp(q, log_F, g) for log_F, g in zip(np.log(F), G, strict=True)])  # (24, shells, 24)
    sums = np.concatenate([[0.0], (edges[1:] - 1) * np.einsum("i,isj,j->s", w, means, w)])
    return np.diff(sums) / np.diff(edges)


@dataclass(frozen=True)
class BallCurve:
    """The expected spacings of n points in balls of several dimensions, to be inverted."""

    d: np.ndarray  # (g,) ascending
    expected: np.ndarray  # (g, shells) descending along g
    edges: np.ndarray

    @classmethod
    def around(cls, means: np.ndarray, n: float, edges: np.ndarray) -> BallCurve:
        """The curve over all dimensions that the mean spacings, (shells,), may correspond to."""
        raw = np.clip(1 / np.maximum(means, 1 / MOST), None, MOST)
        low, high = 0.5 * raw.min(), 1.5 * raw.max()
        while high < MOST and np.any(ball_spacings(high, n, edges) > means):
            high *= 1.5
        d = np.geomspace(low, min(high, MOST), max(6, 1 + math.ceil(8 * math.log(high / low))))
        return cls(d, np.array([ball_spacings(each, n, edges) for each in d]), edges)

    def dimension(self, means: np.ndarray, shell: int | None = None) -> np.ndarray:
        """Return the dimensions of the balls with these mean spacings, of one shell or of all neighbors together."""
        w = np.diff(self.edges)
        curve = self.expected @ w / w.sum() if shell is None else self.expected[:, shell]
        x, y = np.log(curve[::-1]), np.log(self.d[::-1])
        at = np.log(np.maximum(means, 1e-300))
        beyond = np.clip(at, x[0], x[-1]) - at  # single points may lie beyond the curve, which continues as 1/d
        return np.minimum(np.exp(np.interp(at, x, y) + beyond), MOST)


# --- the estimate over scales -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trend:
    """Dimensions at several scales, their trend, and the resulting estimate."""

    value: float
    error: float  # standard error
    scale: np.ndarray  # (shells,) radius
    at_scale: np.ndarray  # (shells,) dimension
    slope: float  # t statistic of the slope over radius²
    taken: Literal["all scales", "extrapolation to scale zero", "the largest scale"]


def over_scales(at_scale: np.ndarray, covariance: np.ndarray, radius: np.ndarray, weights: np.ndarray) -> Trend:
    """Return the dimension from its estimates at several radii, and the covariance of their logarithms.

    The logarithm of the dimension is modeled as linear in radius², as curvature implies. If it rises, the line is
    extrapolated toward zero, but no further below the smallest radius² than half of the range of radius². Noise adds
    dimensions at the smallest scales: if it falls, the line is evaluated at the largest radius, but not below every
    estimate. Without a trend all scales are averaged. The slope is shrunk by 1 - (2/t)², where t is its t statistic, so
    that the estimate changes continuously.
    """
    w = weights / weights.sum()
    x = radius**2 / radius[-1] ** 2
    center = float(w @ x)
    spread = float(w @ (x - center) ** 2)
    tilt = w * (x - center) / spread if spread > 0 else 0 * w  # w gives the mean, tilt the slope
    y = np.log(at_scale)
    slope = float(tilt @ y)
    deviation = math.sqrt(max(float(tilt @ covariance @ tilt), 0.0))
    t = slope / deviation if deviation > 0 else 0.0
    kept = max(0.0, 1 - (_BELIEVED / t) ** 2) if t else 0.0
    target = max(0.0, x[0] - (x[-1] - x[0]) / 2) if slope > 0 else x[-1]
    coefficients = w + kept * (target - center) * tilt
    value = math.exp(float(coefficients @ y))
    variance = max(float(coefficients @ covariance @ coefficients), 0.0)
    if slope > 0:  # half of the extrapolated change counts as error
        variance += (kept * slope * (x[0] - target) / 2) ** 2
    error = value * math.sqrt(variance)
    if not kept:
        return Trend(value, error, radius, at_scale, t, "all scales")
    if slope > 0:
        return Trend(value, error, radius, at_scale, t, "extrapolation to scale zero")
    return Trend(max(value, float(at_scale.min())), error, radius, at_scale, t, "the largest scale")


def calibrated_dimension(
    distances: np.ndarray, indices: np.ndarray, asked: np.ndarray, n: float
) -> tuple[Trend, BallCurve]:
    """Return the dimension of the balls with the same spacings, over the scales of the shells.

    ``distances`` and ``indices`` (m, k) are those of the neighbors of the points ``asked`` (m,), among n in a cluster.
    """
    edges = shell_edges(distances.shape[1])
    s = shell_means(log_spacings(distances), edges)  # (m, shells)
    means = s.mean(axis=0)
    curve = BallCurve.around(means, n, edges)
    shells = range(len(means))
    d = np.array([float(curve.dimension(means[j : j + 1], j)[0]) for j in shells])
    step = 0.01
    up = np.array([float(curve.dimension(means[j : j + 1] * (1 + step), j)[0]) for j in shells])
    down = np.array([float(curve.dimension(means[j : j + 1] * (1 - step), j)[0]) for j in shells])
    gradient = np.log(up / down) / (2 * step * np.maximum(means, 1 / MOST))  # of ln d
    covariance = covariance_of_means(s, indices, asked) * np.outer(gradient, gradient)
    middle = np.log(distances.astype(np.float64)).mean(axis=0)
    radius = np.exp(shell_means(((middle[1:] + middle[:-1]) / 2)[None, :], edges)[0])
    return over_scales(d, covariance, radius, np.diff(edges).astype(np.float64)), curve


def neighborhood_means(values: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the mean of each point's value and those of its neighbors, (n,)."""
    return (values + values[indices].sum(axis=1)) / (1 + indices.shape[1])


# --- the older estimators ---------------------------------------------------------------------------------------------


def two_nearest(distances: np.ndarray) -> tuple[float, np.ndarray]:
    """Return TwoNN, and the influence of each point on its logarithm, (n,).

    TwoNN is the slope, through the origin, of -ln(1 - F) over ln(r_2 / r_1), F the empirical distribution. The tenth
    of the points with the largest ratios is left out (Facco et al. 2017). Numerator and denominator of the slope are
    sums over the sorted ratios x_i: a point of rank r contributes to the steps from x_i to x_{i+1} for all i >= r.
    """
    x = np.log(distances[:, 1].astype(np.float64) / distances[:, 0])
    n, order = len(x), np.argsort(x)
    m = max(1, int(0.9 * n))
    x, y = x[order[:m]], -np.log1p(-np.arange(1, m + 1) / (n + 1))
    if not x[-1] > 0:
        return math.inf, np.zeros(n)
    top, bottom = float(x @ y), float(x @ x)
    steps = n * (y[:-1] * np.diff(x) / top - np.diff(x**2) / bottom)
    influence = np.zeros(n)
    influence[order[: m - 1]] = -np.cumsum(steps[::-1])[::-1]
    return top / bottom, influence


def correlation_sum(D: np.ndarray, low: float, high: float) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return 16 radii, the fraction C(r) of pairs within each, the slope of ln C over ln r, and its standard error.

    ``D`` are the distances of all pairs, (m, m); the radii lie between those at which C is ``low`` and ``high``. The
    standard error follows from how much each point's own fraction of near pairs differs from C, as for any U-statistic.
    """
    m = len(D)
    smallest, largest = (float(r) for r in np.quantile(D[np.triu_indices(m, 1)], [low, high]))
    if not 0 < smallest < largest:
        return np.array([smallest, largest]), np.array([low, high]), math.nan, math.nan
    radius = np.geomspace(smallest, largest, 16)
    counts = np.array([(r >= D).sum(axis=1) - 1 for r in radius])  # (l, m): a point is not its own neighbor
    fraction = counts.mean(axis=1) / (m - 1)
    x = np.log(radius) - np.log(radius).mean()
    tilt = x / (x @ x)
    each = 2 * tilt @ (counts / (m - 1) / fraction[:, None] - 1)  # (m,)
    return radius, fraction, float(tilt @ np.log(fraction)), float(each.std() / math.sqrt(m))


def local_ranks(X: Array, asked: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the number of principal components of each neighborhood that are not small relative to the first, (m,)."""
    k = indices.shape[1] + 1
    step = max(1, _BLOCK // (k * X.shape[1]))
    found = []
    for start in range(0, len(asked), step):
        rows = np.concatenate([asked[start : start + step, None], indices[start : start + step]], axis=1)
        P = to_numpy(take(X, rows.ravel())).reshape(*rows.shape, -1).astype(np.float64)
        P -= P.mean(axis=1, keepdims=True)
        values = np.linalg.eigvalsh(P @ P.transpose(0, 2, 1))  # (b, k) ascending: eigenvalues of the covariance
        found.append((values > _SPACE * values[:, -1:]).sum(axis=1))
    return np.concatenate(found).astype(np.float64)


def participation(X: np.ndarray) -> tuple[float, float]:
    """Return (sum of eigenvalues)² / (sum of their squares) of the covariance of the points, and its standard error.

    Both sums come from the inner products of points, (m, m); the product of a point with itself would count noise as
    variance.
    """
    m = len(X)
    C = X.astype(np.float64) - X.mean(axis=0)
    K = C @ C.T
    lengths = np.diag(K).copy()
    np.fill_diagonal(K, 0)
    squares = (K**2).sum(axis=1) / (m - 1)
    value = float(lengths.mean() ** 2 / squares.mean())
    each = 2 * (lengths / lengths.mean() - 1) - 2 * (squares / squares.mean() - 1)
    return value, float(value * each.std() / math.sqrt(m))
