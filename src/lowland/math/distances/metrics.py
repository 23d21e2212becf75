"""Distance metrics by name: their arguments, and what they estimate from the points."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, device_of, is_torch, like, to_numpy, xp_of
from lowland.errors import DataError, ParameterError, shown
from lowland.math.distances.incomplete_rows import gower, learn_gower, nan_euclidean
from lowland.suggestions import did_you_mean

Metric = str | Callable[..., float]

_OTHER_NAMES = {  # of other libraries, and what gives the same neighbors
    "matching": "Choose 'hamming', which is the same.",
    "sokalmichener": "Choose 'rogerstanimoto', which is the same.",
}
_FEW_COLUMNS = 12  # up to this many, differences cost no more than products, and lose no precision
_NEAR = 1e-6  # squared distance over squared lengths below which products have lost too much precision
_BLOCK = 1 << 22  # numbers in a block of differences


def check_metric(metric: Metric, params: dict[str, Any] | None) -> None:
    """Raise an error for an unknown metric or argument, before any row is read."""
    params = params or {}
    if callable(metric):
        try:
            signature = inspect.signature(metric)
        except (TypeError, ValueError):  # a function without a signature
            return
        try:
            signature.bind(None, None, **params)
        except TypeError as error:
            raise ParameterError(
                f"The metric {function_name(metric)} cannot be called with two rows and the arguments {params!r}: "
                f"{error}."
            ) from error
        return
    if metric not in METRICS and metric != "precomputed":
        fact = f"There is no metric {shown(metric)}."
        if metric in _OTHER_NAMES:
            raise ParameterError(f"{fact} {_OTHER_NAMES[metric]}")
        known = ", ".join(repr(name) for name in METRICS)
        raise ParameterError(
            f"{fact} {did_you_mean(metric, METRICS)}Choose {known} (`or a function of two rows`). Or compute the "
            "distances yourself, for 'precomputed'."
        )
    takes = () if metric == "precomputed" else METRICS[metric].takes
    foreign = [name for name in params if name not in takes]
    if foreign:
        listed = " and ".join(filter(None, (", ".join(takes[:-1]), *takes[-1:])))
        what = f"takes {listed}" if takes else "takes no arguments"
        raise ParameterError(
            f"The metric {metric!r} {what}, not {foreign[0]!r}. {did_you_mean(foreign[0], takes)}".strip()
        )
    p = params.get("p", 2)
    if not isinstance(p, int | float | np.number) or not p > 0:
        raise ParameterError(f"The power p of the metric {metric!r} is {p!r}. It must be a number above 0.")


def allows_nan(metric: Any) -> bool:
    """Whether NaN in a row is a missing value for this metric, which it skips."""
    return isinstance(metric, str) and metric in METRICS and METRICS[metric].allows_nan


def usable_values(X: Array, metric: Any) -> Array:
    """Return which values of X, (m, d), the metric can compare: finite ones, and NaN where it skips missing values."""
    xp = xp_of(X)
    return ~xp.isinf(X) if allows_nan(metric) else xp.isfinite(X)


def distance_by(metric: Callable[..., Any], a: np.ndarray, b: np.ndarray, params: dict[str, Any]) -> float:
    """Return the distance of two rows by a function of the user: a number, or a pair of it and its gradient."""
    value = metric(a, b, **params)
    if isinstance(value, tuple) and len(value) == 2:  # as umap-learn's metrics with gradients return
        value = value[0]
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"The metric {function_name(metric)} returned {shown(value)}, which is not a number. It must return a "
            "finite number that is not negative for any two rows."
        ) from error


def function_name(metric: Any) -> str:
    """Return the name of a function for messages."""
    return repr(getattr(metric, "__name__", type(metric).__name__))


# --- differences ------------------------------------------------------------------------------------------------------


def squared_euclidean(A: Array, B: Array) -> Array:
    """Return |a - b|² for all pairs of rows; close pairs, where |a|² + |b|² - 2a'b loses precision, by differences."""
    xp = xp_of(A, B)
    if A.shape[1] <= _FEW_COLUMNS:
        return _by_differences(A, B, lambda E: xp.sum(E * E, axis=-1), "sqeuclidean")
    center = xp.mean(B, axis=0)[None, :]
    A, B = A - center, B - center
    lengths = xp.sum(A * A, axis=1)[:, None] + xp.sum(B * B, axis=1)[None, :]
    S = A @ B.T
    S *= -2
    S += lengths
    lengths *= _NEAR
    near = lengths >= S
    return _again(A, B, S, np.nonzero(to_numpy(near))) if bool(xp.any(near)) else S


def _again(A: Array, B: Array, S: Array, near: tuple[np.ndarray, ...]) -> Array:
    """Return S with the squared distances of some pairs computed from differences."""
    if not isinstance(S, np.ndarray) and not is_torch(S):  # the array API standard has no assignment by index
        return like(_again(to_numpy(A), to_numpy(B), to_numpy(S).copy(), near), S)
    xp = xp_of(S)
    step = max(1, _BLOCK // A.shape[1])
    for start in range(0, len(near[0]), step):
        i, j = (xp.asarray(part[start : start + step], device=device_of(S)) for part in near)
        E = xp.take(A, i, axis=0) - xp.take(B, j, axis=0)
        S[i, j] = xp.sum(E * E, axis=1)
    return S


def _by_differences(A: Array, B: Array, of: Callable[[Array], Array], name: str, **params: Any) -> Array:
    """Return a metric of the differences of rows: by scipy on the CPU, in blocks of pairs elsewhere."""
    xp = xp_of(A, B)
    if isinstance(A, np.ndarray):
        from scipy.spatial.distance import cdist

        return cdist(A, B, name, **params)
    step = max(1, _BLOCK // max(1, B.shape[0] * B.shape[1]))
    n = A.shape[0]
    parts = [of(A[start : min(start + step, n), None, :] - B[None, :, :]) for start in range(0, n, step)]
    return xp.concat(parts, axis=0)


def _euclidean(A: Array, B: Array) -> Array:
    return xp_of(A).sqrt(squared_euclidean(A, B))


def _manhattan(A: Array, B: Array) -> Array:
    xp = xp_of(A)
    return _by_differences(A, B, lambda E: xp.sum(xp.abs(E), axis=-1), "cityblock")


def _chebyshev(A: Array, B: Array) -> Array:
    xp = xp_of(A)
    return _by_differences(A, B, lambda E: xp.max(xp.abs(E), axis=-1), "chebyshev")


def _minkowski(A: Array, B: Array, p: float = 2, scale: np.ndarray | None = None) -> Array:
    xp = xp_of(A)
    if scale is not None:
        A, B = A * like(scale, A)[None, :], B * like(scale, B)[None, :]
    if p == float("inf"):
        return _chebyshev(A, B)
    return _by_differences(A, B, lambda E: xp.sum(xp.abs(E) ** p, axis=-1) ** (1 / p), "minkowski", p=p)


def _hamming(A: Array, B: Array) -> Array:
    xp = xp_of(A)
    return _by_differences(A, B, lambda E: xp.mean(xp.astype(E != 0, xp.float64), axis=-1), "hamming")


def _cosine(A: Array, B: Array) -> Array:
    """1 - a'b/|a||b|; a row of zeros is orthogonal to all others, as in scikit-learn."""
    xp = xp_of(A)
    A, B = unit_rows(A), unit_rows(B)
    # half the squared distance of unit vectors: 1 - a'b would lose precision for small angles
    S = squared_euclidean(A, B) / 2
    zero = (xp.sum(A**2, axis=1) == 0)[:, None] | (xp.sum(B**2, axis=1) == 0)[None, :]
    return xp.where(zero, xp.ones_like(S), S)


def unit_rows(A: Array) -> Array:
    """Return the rows divided by their lengths; a row of zeros stays as it is."""
    xp = xp_of(A)
    size = xp.max(xp.abs(A), axis=1)[:, None]  # squares of very large rows would overflow
    A = A / xp.where(size > 0, size, xp.ones_like(size))
    lengths = xp.sqrt(xp.sum(A * A, axis=1))[:, None]
    return A / xp.where(lengths > 0, lengths, xp.ones_like(lengths))


def _correlation(A: Array, B: Array) -> Array:
    xp = xp_of(A)
    return _cosine(A - xp.mean(A, axis=1)[:, None], B - xp.mean(B, axis=1)[:, None])


def _angular(A: Array, B: Array) -> Array:
    """The Euclidean distance of rows that are divided by their lengths, as in annoy."""
    return xp_of(A).sqrt(2 * _cosine(A, B))


def _hellinger(A: Array, B: Array) -> Array:
    """The distance √(1 - sum_j √(p_j q_j)) of rows divided by their sums; a row of zeros is 1 apart from others."""
    xp = xp_of(A)
    if bool(xp.any(A < 0)) or bool(xp.any(B < 0)):
        raise DataError(
            "The metric 'hellinger' needs counts or proportions, but some values are negative. Choose another metric."
        )

    def root(A: Array) -> Array:
        sums = xp.sum(A, axis=1)[:, None]
        return xp.sqrt(A / xp.where(sums > 0, sums, xp.ones_like(sums)))

    A, B = root(A), root(B)
    D = xp.sqrt(squared_euclidean(A, B) / 2)
    empty = (xp.max(A, axis=1) == 0)[:, None] & (xp.max(B, axis=1) == 0)[None, :]
    return xp.where(((A @ B.T) == 0) & ~empty, xp.ones_like(D), D)  # exactly 1 if they share no column


def _haversine(A: Array, B: Array) -> Array:
    """The central angle between two points on a sphere with latitude and longitude in radians."""
    if A.shape[1] != 2:
        raise DataError(
            f"The metric 'haversine' needs two columns, latitude and longitude in radians, but there are "
            f"{A.shape[1]}. Select these columns."
        )
    xp = xp_of(A)
    half = [xp.sin((A[:, c, None] - B[None, :, c]) / 2) ** 2 for c in (0, 1)]
    S = half[0] + xp.cos(A[:, 0])[:, None] * xp.cos(B[:, 0])[None, :] * half[1]
    return 2 * xp.asin(xp.sqrt(xp.clip(S, 0.0, 1.0)))


# --- metrics of scipy, on the CPU -------------------------------------------------------------------------------------


def _by_scipy(name: str, A: Array, B: Array, yes_or_no: bool = False) -> Array:
    """A metric of scipy; ``yes_or_no``: the columns are Boolean, zero or not."""
    from scipy.spatial.distance import cdist

    host = [to_numpy(each) != 0 if yes_or_no else to_numpy(each) for each in (A, B)]
    with np.errstate(invalid="ignore", divide="ignore"):
        D = cdist(*host, name)
    D[np.ix_(*(~each.any(axis=1) for each in host))] = 0  # equal rows, though some metrics divide by them
    if not np.isfinite(D).all() and all(np.isfinite(each).all() for each in host):
        raise DataError(
            f"The metric {name!r} is undefined for some pairs of rows, where it divides by zero. Choose another "
            "metric, or remove these rows."
        )
    return like(D, A)


# --- what a metric estimates from the points --------------------------------------------------------------------------


def _of_minkowski(points: Array, p: float = 2, w: Any = None) -> dict[str, Any]:
    if w is None:
        return {"p": p}
    w = _for_columns(w, points, "w")
    return {"p": p, "scale": np.where(w > 0, np.where(w > 0, w, 1) ** (1 / p), 0.0)}


def _of_seuclidean(points: Array, V: Any = None) -> dict[str, Any]:
    """One over the standard deviation of each column of the points, unless variances are given."""
    V = np.var(to_numpy(points), axis=0, ddof=1, dtype=np.float64) if V is None else _for_columns(V, points, "V")
    if not (V > 0).all():
        raise DataError(
            f"The metric 'seuclidean' divides by the variance of each column, but column {int(np.argmin(V))} is "
            "constant. Remove the column, or choose another metric (`or pass the variances V of the columns`)."
        )
    return {"scale": V**-0.5}


def _of_mahalanobis(points: Array, VI: Any = None) -> dict[str, Any]:
    """A root of the inverse of the points' covariance, unless that inverse is given."""
    d = points.shape[1]
    if VI is not None:
        given = np.asarray(to_numpy(VI) if hasattr(VI, "__dlpack__") else VI, dtype=np.float64)
        if given.shape != (d, d) or not np.allclose(given, given.T):
            raise ParameterError(f"The metric's VI has shape {given.shape}. It must be symmetric, {d} x {d}.")
        values, vectors = np.linalg.eigh(given)
        if values[0] < -1e-10 * np.abs(given).max():
            raise ParameterError(
                "The metric's VI has negative eigenvalues, so it is not the inverse of a covariance matrix."
            )
        return {"root": vectors * np.sqrt(np.maximum(values, 0.0))}
    values, vectors = np.linalg.eigh(np.cov(to_numpy(points), rowvar=False, dtype=np.float64).reshape(d, d))
    if not values[0] > d * np.finfo(np.float64).eps * values[-1]:
        raise DataError(
            "The metric 'mahalanobis' needs the inverse of the covariance of the columns, which is singular: some "
            "columns are collinear, or there are too few rows. Remove such columns, or "
            "choose another metric (`or pass an inverse VI, such as np.linalg.pinv(np.cov(X.T))`)."
        )
    return {"root": vectors / np.sqrt(values)}


def _for_columns(values: Any, points: Array, name: str) -> np.ndarray:
    given = np.asarray(to_numpy(values) if hasattr(values, "__dlpack__") else values, dtype=np.float64)
    if given.shape != (points.shape[1],) or not (given >= 0).all():
        raise ParameterError(
            f"The metric's {name} has shape {given.shape}. It must have one nonnegative number for each of the "
            f"{points.shape[1]} columns."
        )
    return given


@dataclass(frozen=True)
class Named:
    """A metric that has a name."""

    of: Callable[..., Array]  # from two tables, (m, d) and (p, d) float64, to (m, p)
    takes: tuple[str, ...] = ()  # the arguments users may pass
    power: int | None = None  # scaling rows by c scales distances by c**power; None: not homogeneous
    learn: Callable[..., dict[str, Any]] | None = None  # from the points and the user's arguments to those of ``of``
    allows_nan: bool = False  # whether NaN is a missing value, which the metric skips


METRICS: dict[str, Named] = {
    "euclidean": Named(_euclidean, power=1),
    "l2": Named(_euclidean, power=1),
    "nan_euclidean": Named(nan_euclidean, power=1, allows_nan=True),
    "gower": Named(gower, ("categorical", "ordered", "weights"), learn=learn_gower, allows_nan=True),
    "sqeuclidean": Named(squared_euclidean, power=2),
    "manhattan": Named(_manhattan, power=1),
    "cityblock": Named(_manhattan, power=1),
    "l1": Named(_manhattan, power=1),
    "chebyshev": Named(_chebyshev, power=1),
    "minkowski": Named(_minkowski, ("p", "w"), 1, _of_minkowski),
    "cosine": Named(_cosine, power=0),
    "correlation": Named(_correlation, power=0),
    "angular": Named(_angular, power=0),
    "hellinger": Named(_hellinger, power=0),
    "hamming": Named(_hamming),
    "haversine": Named(_haversine),
    "seuclidean": Named(
        lambda A, B, scale: _euclidean(A * like(scale, A)[None, :], B * like(scale, B)[None, :]),
        ("V",),
        learn=_of_seuclidean,
    ),
    "mahalanobis": Named(
        lambda A, B, root: _euclidean(A @ like(root, A), B @ like(root, B)), ("VI",), learn=_of_mahalanobis
    ),
    **{name: Named(partial(_by_scipy, name)) for name in ("canberra", "braycurtis")},
    **{
        name: Named(partial(_by_scipy, name, yes_or_no=True))
        for name in ("jaccard", "dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
    },
}
