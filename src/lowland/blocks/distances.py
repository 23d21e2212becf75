"""Distances: of rows to points in any metric, and matrices of distances that were given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, device_of, is_torch, like, on_accelerator, to_numpy, xp_of
from lowland.arrays.precision import as_double, eps_of
from lowland.data.rows import ArrayRows, DaskRows, Rows, SlicedRows, slab_rows
from lowland.errors import DataError, ParameterError
from lowland.run.run import Run

Metric = str | Callable[..., float]

_FEW_COLUMNS = 12  # up to this many, differences cost no more than products, and lose nothing
_NEAR = 1e-6  # squared distance over squared lengths below which the products have lost too many digits
_PORTION = 1 << 18  # distances measured at a time on the host, where all are kept
_BLOCK = 1 << 22  # numbers in a block of differences
_TILE = 256  # rows and columns of a matrix that are compared with their mirror image at a time


@dataclass(frozen=True)
class DistancesTo:
    """The distances of a slab's rows to given points, (m, p); an object, so that it can travel to a worker."""

    points: Array  # (p, d)
    metric: Metric = "euclidean"
    params: dict[str, Any] = field(default_factory=dict)

    def __call__(self, X: Array) -> Array:
        """Of one slab, in its precision."""
        xp = xp_of(X)
        A, B = as_double(X), like(self.points, X, xp.float64)
        if callable(self.metric):
            pairs = [[float(self.metric(a, b, **self.params)) for b in to_numpy(B)] for a in to_numpy(A)]
            return like(np.asarray(pairs), X)
        return xp.astype(_METRICS[self.metric](A, B, **self.params), X.dtype)


def check_metric(metric: Metric, params: dict[str, Any] | None) -> None:
    """Refuse a metric that is not known, before any row is read."""
    if callable(metric) or metric in ("precomputed", *_METRICS):
        return
    known = ", ".join(repr(name) for name in (*_METRICS, "precomputed"))
    raise ParameterError(f"There is no metric {metric!r}. Choose {known}, or give a function of two rows.")


def distance_matrix(
    X: Array, run: Run, metric: Metric = "euclidean", params: dict[str, Any] | None = None, *, single: bool = False
) -> Array:
    """Return the distances of all pairs of rows, (n, n), in the precision of X; ``single``: kept in float32."""
    n = X.shape[0]
    xp = xp_of(X)
    D = xp.empty((n, n), dtype=xp.float32 if single else X.dtype, device=device_of(X))
    start = 0
    slabs = in_slabs(ArrayRows(X), n)
    if not on_accelerator(X):  # the steps between rows and distances need several such slabs
        slabs = SlicedRows(slabs, max(1, min(slabs.slab, _PORTION // n)))
    for part in run.map_rows(DistancesTo(X, metric, params or {}), slabs, name="measuring distances"):
        D[start : start + part.shape[0], :] = xp.astype(part, D.dtype, copy=False)
        start += part.shape[0]
    return D if callable(metric) else _with_zero_diagonal(D)


def _with_zero_diagonal(D: Array) -> Array:
    """A point is not away from itself, also where the metric has no say: the cosine of a row of zeros."""
    if isinstance(D, np.ndarray):
        np.fill_diagonal(D, 0)
        return D
    return D.fill_diagonal_(0) if is_torch(D) else D * (1 - like(xp_of(D).eye(D.shape[0]), D))


def in_slabs(rows: Rows, width: int) -> Rows:
    """The same rows in slabs low enough for results of ``width`` columns."""
    if isinstance(rows, ArrayRows):  # views, cut on whichever device holds them
        most = slab_rows(max(width, rows.d), rows.dtype.itemsize, accelerator=on_accelerator(rows.X))
        return replace(rows, most_rows=most) if most < rows.slab else rows
    most = slab_rows(max(width, rows.d), rows.dtype.itemsize)
    return SlicedRows(rows, most) if most < rows.slab and not isinstance(rows, DaskRows) else rows


# --- metrics ----------------------------------------------------------------------------------------------------------


def squared_euclidean(A: Array, B: Array) -> Array:
    """Return |a - b|² for all pairs of rows; pairs so near that |a|² + |b|² - 2a'b loses digits are measured again."""
    xp = xp_of(A, B)
    if A.shape[1] <= _FEW_COLUMNS:
        return _by_differences(A, B, lambda E: xp.sum(E * E, axis=-1), "sqeuclidean")
    centre = xp.mean(B, axis=0)[None, :]
    A, B = A - centre, B - centre
    lengths = xp.sum(A * A, axis=1)[:, None] + xp.sum(B * B, axis=1)[None, :]
    S = lengths - 2 * (A @ B.T)
    near = np.nonzero(to_numpy(_NEAR * lengths >= S))
    return _again(A, B, S, near) if len(near[0]) else S


def _again(A: Array, B: Array, S: Array, near: tuple[np.ndarray, ...]) -> Array:
    """S with the squared distances of some pairs taken from their differences."""
    if not isinstance(S, np.ndarray) and not is_torch(S):  # the standard has no assignment by positions
        return like(_again(to_numpy(A), to_numpy(B), to_numpy(S).copy(), near), S)
    xp = xp_of(S)
    step = max(1, _BLOCK // A.shape[1])
    for start in range(0, len(near[0]), step):
        i, j = (xp.asarray(part[start : start + step], device=device_of(S)) for part in near)
        E = xp.take(A, i, axis=0) - xp.take(B, j, axis=0)
        S[i, j] = xp.sum(E * E, axis=1)
    return S


def _by_differences(A: Array, B: Array, of: Callable[[Array], Array], name: str, **params: Any) -> Array:
    """A metric of the differences of rows: by scipy on the host, in blocks of pairs elsewhere."""
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


def _minkowski(A: Array, B: Array, p: float = 2) -> Array:
    xp = xp_of(A)
    if p == float("inf"):
        return _chebyshev(A, B)
    return _by_differences(A, B, lambda E: xp.sum(xp.abs(E) ** p, axis=-1) ** (1 / p), "minkowski", p=p)


def _hamming(A: Array, B: Array) -> Array:
    xp = xp_of(A)
    return _by_differences(A, B, lambda E: xp.mean(xp.astype(E != 0, xp.float64), axis=-1), "hamming")


def _cosine(A: Array, B: Array) -> Array:
    """1 - a'b/|a||b|; a row of zeros is at a right angle to all others, as in scikit-learn."""
    xp = xp_of(A)
    near_one = (_unit(A), _unit(B))
    # half the squared distance of unit vectors: 1 - a'b would lose the small angles
    S = squared_euclidean(*near_one) / 2
    zero = (xp.sum(near_one[0] ** 2, axis=1) == 0)[:, None] | (xp.sum(near_one[1] ** 2, axis=1) == 0)[None, :]
    return xp.where(zero, xp.ones_like(S), S)


def _unit(A: Array) -> Array:
    xp = xp_of(A)
    lengths = xp.sqrt(xp.sum(A * A, axis=1))[:, None]
    return A / xp.where(lengths > 0, lengths, xp.ones_like(lengths))


def _correlation(A: Array, B: Array) -> Array:
    xp = xp_of(A)
    return _cosine(A - xp.mean(A, axis=1)[:, None], B - xp.mean(B, axis=1)[:, None])


_METRICS: dict[str, Callable[..., Array]] = {
    "euclidean": _euclidean,
    "sqeuclidean": squared_euclidean,
    "manhattan": _manhattan,
    "cityblock": _manhattan,
    "l1": _manhattan,
    "l2": _euclidean,
    "chebyshev": _chebyshev,
    "minkowski": _minkowski,
    "cosine": _cosine,
    "correlation": _correlation,
    "hamming": _hamming,
}


# --- matrices that were given -----------------------------------------------------------------------------------------


def check_distances(D: Array, *, missing: bool = False, source: str = "The distance matrix") -> Array:
    """Return a matrix of distances, or refuse what is none, naming the entry; ``missing``: NaN stands for one unknown.

    What only rounding keeps from being one is mended in a copy: a hair below zero, off the mirror image, or on the
    diagonal, beside the largest distance.
    """
    if D.ndim != 2 or D.shape[0] != D.shape[1]:
        raise DataError(
            f"{source} has shape {tuple(D.shape)}. It must be square, with one row and one column a point; pass rows "
            "with another metric than 'precomputed' to have distances computed."
        )
    if _plainly_distances(D):
        return D
    xp = xp_of(D)
    largest = max(_largest_finite(block) for _, block, _ in _mirrored(D))
    hair = 1e4 * eps_of(D) * largest
    for start, block, mirror in _mirrored(D):
        for fault, words in (
            (xp.isnan(block) & (not missing), "is missing (NaN): MDS takes missing distances, this method does not"),
            (xp.isinf(block), "is infinite: the points are not connected. Keep one connected part, or join the parts"),
            (block < -hair, "is negative: no distance is. Pass distances, not similarities or a kernel"),
        ):
            _refuse(fault, start, block, words, source)
        unequal = xp.abs(block - mirror) > hair
        if missing:
            unequal = unequal | (xp.isnan(block) != xp.isnan(mirror))
        if bool(xp.any(unequal)):
            words = f"differs from its mirror image: the matrix is not symmetric. {_symmetric_remedy(D)}"
            _refuse(unequal, start, block, words, source)
    diagonal = to_numpy(xp.linalg.diagonal(D))
    if np.any(np.abs(diagonal) > eps_of(D) ** 0.5 * largest):
        i = int(np.argmax(np.abs(diagonal)))
        raise DataError(
            f"{source} has {diagonal[i]:g} at [{i}, {i}]. The diagonal must be zero: a point is not away from itself. "
            "Set it so with np.fill_diagonal(D, 0), if the rest are distances."
        )
    mended = (D + D.T) / 2
    return _with_zero_diagonal(xp.where(mended < 0, xp.zeros_like(mended), mended))


def _largest_finite(block: Array) -> float:
    xp = xp_of(block)
    sizes = xp.abs(block)
    return float(xp.max(xp.where(xp.isfinite(sizes), sizes, xp.zeros_like(sizes))))


def _symmetric_remedy(D: Array) -> str:
    """What to do about a matrix that is not symmetric: one triangle may hold all there is."""
    host = np.nan_to_num(to_numpy(D))
    if not np.tril(host, -1).any() or not np.triu(host, 1).any():
        return "Only one triangle is filled: pass D + D.T"
    return "Are its rows in the order of its columns? If only noise sets them apart, pass (D + D.T) / 2"


def _plainly_distances(D: Array) -> bool:
    """Whether D is finite, not negative, zero on its diagonal and symmetric to the last bit: nothing is left to tell.

    Tiles are compared with their mirror images while both lie in the cache; a device is asked once, at the end.
    """
    xp = xp_of(D)
    n = D.shape[0]
    tile = _TILE if isinstance(D, np.ndarray) else 16 * _TILE  # other libraries take longer to begin
    good = xp.all(xp.linalg.diagonal(D) == 0)
    borders = [(start, min(start + tile, n)) for start in range(0, n, tile)]
    for place, (a, b) in enumerate(borders):
        for c, d in borders[place:]:
            part, mirror = D[a:b, c:d], D[c:d, a:b].T
            good = good & xp.all((part == mirror) & (part >= 0) & (part < xp.inf))
            if isinstance(D, np.ndarray) and not good:
                return False
    return bool(good)


def _mirrored(D: Array) -> Iterator[tuple[int, Array, Array]]:
    """Blocks of rows with the same blocks of columns, turned: no second matrix is made."""
    step = slab_rows(D.shape[0], 8)
    for start in range(0, D.shape[0], step):
        stop = min(start + step, D.shape[0])
        yield start, D[start:stop, :], D[:, start:stop].T


def _refuse(fault: Array, start: int, block: Array, words: str, source: str) -> None:
    if bool(xp_of(fault).any(fault)):
        i, j = np.argwhere(to_numpy(fault))[0]
        raise DataError(f"{source} has {float(block[int(i), int(j)]):g} at [{start + i}, {j}], which {words}.")
