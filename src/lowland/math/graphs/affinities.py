"""Affinities along the edges of a graph, their components, and the bandwidth ε of a Gaussian kernel exp(-d²/ε)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, as_double, eps_of, is_sparse, like, take, to_numpy, xp_of
from lowland.errors import DataError
from lowland.kernels.csr import mark_above
from lowland.kernels.graphs import label_components
from lowland.math.distances.to_points import DistancesTo
from lowland.math.neighbors.graph import NeighborGraph
from lowland.run.progress import pulse, pulsed_slices

_ROWS = 500  # rows whose distances to all others the kernel-sum rule uses
_OCTAVES, _PER_OCTAVE = 30, 8  # bandwidths tried: octaves above and below the median squared distance, steps per octave
_BINS = 64  # bins of squared distances per octave
_LINEAR_GROWTH = 0.8  # fraction of the fastest growth of the kernel sum that counts as linear growth
_SHORTEST, _LONGEST = 1e-150, 1e150  # squares of shorter distances underflow, sums of longer ones' squares overflow
EdgeWeights = Literal["average", "binary", "heat"]

_LEAST = 1e-6  # smallest heat weight, so that the longest edges do not vanish
_ROUNDINGS = 1e4  # roundings by which W_ij and W_ji may differ
_EPS = 2.0**-52  # machine epsilon of float64, in which eigenvectors are computed for any dtype of affinities
_LOSSY = 1e-3  # fraction of its affinity with itself below which a point's degree loses digits in the difference
_PORTION = 256  # rows of a dense matrix that are searched for edges at a time


# --- bandwidth --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bandwidth:
    """The bandwidth ε of the kernel exp(-d²/ε), and the intrinsic dimension by which the kernel sum grows."""

    epsilon: float
    dimension: float


def kernel_sum_bandwidth(distances: Array) -> Bandwidth:
    """Return the ε in the middle of the range over which log S(ε), S(ε) = Σ exp(-d²/ε), grows linearly in log ε.

    Within that range the slope is half the intrinsic dimension; below it the kernel sees single points, above it all
    points at once (Coifman, Shkolnisky, Sigworth and Singer 2008; Berry and Harlim 2016). The range is where the slope
    is at least 80% of its maximum. ``distances`` are those of some rows to all, themselves included, or of all edges.
    """
    squared = _squared(distances)
    apart = squared[squared > 0]
    if not apart.size:
        raise DataError(
            "All rows are equal, or so close that squared distances underflow to zero, so no bandwidth can be chosen. "
            "Check the data, or rescale the columns."
        )
    middle = float(np.median(apart))
    place = np.log2(apart / middle) * _BINS  # a histogram on a logarithmic scale
    first = np.floor(place)
    rest, bins = place - first, (first - first.min()).astype(np.int64)
    width = bins.max() + 2
    counts = np.bincount(bins, 1 - rest, width) + np.bincount(bins + 1, rest, width)  # split between two bins
    sizes = 2.0 ** ((first.min() + np.arange(width)) / _BINS)
    steps = np.arange(-_OCTAVES * _PER_OCTAVE, _OCTAVES * _PER_OCTAVE + 1) / _PER_OCTAVE  # log2 of the bandwidths
    x = sizes[None, :] / 2.0 ** steps[:, None]  # d²/ε
    values = counts * np.exp(-x)
    rises = np.sum(x * values, axis=1) / (np.sum(values, axis=1) + (squared.size - apart.size))
    best = int(np.argmax(rises))
    low, high = (_crossing(steps[side], rises[side]) for side in (slice(best, None, -1), slice(best, None)))
    chosen = (low + high) / 2
    return Bandwidth(middle * 2.0**chosen, 2 * float(np.interp(chosen, steps, rises)))


def _squared(distances: Array) -> np.ndarray:
    """The squares of all distances; an error where they overflow or underflow."""
    lengths = to_numpy(distances).astype(np.float64).ravel()
    longest = float(lengths.max(initial=0))
    if not longest <= _LONGEST:  # NaN is the difference of squares that overflowed
        raise DataError(f"Distances above {_LONGEST:.0e} are too large to be squared. Rescale the columns.")
    if 0 < longest < _SHORTEST:
        raise DataError(
            f"Distances of at most {longest:.2g} are too small: squared distances underflow. Rescale the columns."
        )
    return np.square(lengths)


def _crossing(steps: np.ndarray, rises: np.ndarray) -> float:
    """The step at which the rises first fall to 80% of the first one, which is the highest."""
    bar = _LINEAR_GROWTH * rises[0]
    below = np.flatnonzero(rises < bar)
    if not below.size:
        return float(steps[-1])
    i = int(below[0])
    return float(steps[i - 1] + (rises[i - 1] - bar) / (rises[i - 1] - rises[i]) * (steps[i] - steps[i - 1]))


def median_squared(length: Array) -> float:
    """Return the median of the squared lengths; of the nonzero ones, if most are zero."""
    squared = _squared(length)
    typical = float(np.median(squared)) if squared.size else 0.0
    if not typical > 0:
        apart = squared[squared > 0]
        typical = float(np.median(apart)) if apart.size else 1.0
    return typical


def sampled_distances(X: Array, metric: Any, params: dict[str, Any]) -> Array:
    """Return the distances of up to 500 rows, spread evenly over all, to all rows."""
    n = X.shape[0]
    places = np.unique(np.linspace(0, n - 1, min(n, _ROWS)).astype(np.int64))
    some = take(X, places)
    return some if metric == "precomputed" else DistancesTo.of(X, metric, params)(some)


# --- affinities -------------------------------------------------------------------------------------------------------


def edge_weights(
    graph: NeighborGraph,
    weights: EdgeWeights,
    *,
    found: NeighborGraph | None = None,
    t: float | None = None,
    label: np.ndarray | None = None,
) -> scipy.sparse.csr_array:
    """Return the affinities of a graph with its edges in both directions, (n, n), zero on the diagonal.

    binary: 1 for every edge. average: ½ if only one of the two points is a neighbor of the other in ``found``, else 1.
    heat: exp(-length²/t) (Belkin and Niyogi 2003), at least 1e-6. An edge between components, (n,) ``label``, was added
    to connect them: it gets the median weight, since the heat weight of its length would be almost zero.
    """
    if weights == "heat":
        t = median_squared(graph.length) if t is None else t
        values = np.maximum(np.exp(-(graph.length.astype(np.float64) ** 2) / t), _LEAST)
        if label is not None:
            added = label[graph.sources] != label[graph.to]
            values[added] = np.median(values[~added])
    else:
        values = np.ones(len(graph.to))
    if weights == "average" and found is not None:
        ones = found.matrix(np.ones(len(found.to)))
        mutual = ones + ones.T
        mutual.data = np.where(mutual.data == 1, 0.5, 0.0)  # an edge that was added is in neither direction
        return scipy.sparse.csr_array(graph.matrix(values) - mutual)
    pulse()
    return graph.matrix(values)


def symmetric_affinities(W: Any) -> tuple[Any, bool]:
    """Return affinities, sparse or dense, averaged with their transpose if they are not symmetric, and whether so.

    Raise an error unless W is square and nonnegative.
    """
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise DataError(
            f"The affinity matrix is {' x '.join(map(str, W.shape))}. It must be square, with one row and one column "
            "per data row."
        )
    values = W.data if is_sparse(W) else W
    if values.shape[0] and not bool(xp_of(values).all(values >= 0)):
        raise DataError(
            "The affinity matrix has a negative value. Affinities are similarities, zero or more. Pass exp(-d²/t) of "
            "distances d, or (1 + r)/2 of correlations r."
        )
    if is_sparse(W):
        gap = abs(W - W.T)
        symmetric = not gap.nnz or bool(gap.data.max() <= _ROUNDINGS * eps_of(W.data) * W.data.max())
        return (W if symmetric else (0.5 * (W + W.T)).tocsr()), not symmetric
    xp, n = xp_of(W), W.shape[0]
    blocks = [(start, min(start + _PORTION, n)) for start in range(0, n, _PORTION)]
    largest = max((float(xp.max(W[a:b, :])) for a, b in blocks), default=0.0)
    gaps = (float(xp.max(xp.abs(W[a:b, :] - W[:, a:b].T))) for a, b in blocks)
    symmetric = all(gap <= _ROUNDINGS * eps_of(W) * largest for gap in gaps)
    return (W if symmetric else 0.5 * (W + W.T)), not symmetric


def affinity_components(W: Any, *, loops: bool = False) -> np.ndarray:
    """Return the connected component of each point, (n,), 0 for the largest.

    An affinity of zero is not an edge, nor is one below rounding error relative to the degrees of its two points: it
    would not change the eigenvectors. A point's affinity with itself counts toward its degree if ``loops``.
    """
    dense = not is_sparse(W)
    degree = to_numpy(xp_of(W).sum(W, axis=1, dtype=xp_of(W).float64)) if dense else W @ np.ones(W.shape[0])
    degree = degree if loops else to_numpy(without_loops(degree, W))  # (n,)
    root = np.sqrt(np.maximum(degree, 0))
    if is_sparse(W):
        real = np.empty(W.nnz, dtype=bool)
        for part in pulsed_slices(W.shape[0], 1 + W.nnz // W.shape[0]):
            mark_above(W.data, W.indices, W.indptr, _EPS, root, part.start, part.stop, real)
        if not real.all():
            edges = scipy.sparse.coo_array(W)
            W = scipy.sparse.coo_array((edges.data[real], tuple(each[real] for each in edges.coords)), W.shape).tocsr()
        label = np.empty(W.shape[0], np.int64)
        label_components(W.indptr, W.indices, label)
        pulse()
    else:
        label = _dense_components(W, root)
    volume = np.bincount(label, degree).astype(np.float32)  # breaks ties of size, independently of the row order
    order = np.lexsort((-volume, -np.bincount(label)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[label]


def without_loops(degree: Array, W: Any) -> Array:
    """Return the degrees (n,) less each point's affinity with itself.

    Where little is left, the difference has lost its digits: the other affinities are summed again.
    """
    own = diagonal(W)
    left = degree - like(own, degree)
    lossy = lossy_points(left, own)
    if not lossy.size:
        return left
    sums = to_numpy(left).copy()
    for now, rows in rows_without_loops(W, lossy):
        sums[now] = to_numpy(xp_of(rows).sum(rows, axis=1))
    return like(sums, degree)


def lossy_points(degree: Array, own: np.ndarray) -> np.ndarray:
    """Return the points whose degree (n,) is so much smaller than their own affinity that it lost digits."""
    return np.flatnonzero(to_numpy(degree) < _LOSSY * own)


def rows_without_loops(W: Any, points: np.ndarray) -> Iterator[tuple[np.ndarray, Array]]:
    """Yield some of the points and their affinities with all others, (m, n) float64; zero with themselves."""
    for start in range(0, len(points), _PORTION):
        now = points[start : start + _PORTION]
        rows = as_double(scipy.sparse.csr_array(W)[now].toarray() if is_sparse(W) else take(W, now))
        xp = xp_of(rows)
        others = like(np.arange(W.shape[0])[None, :] != now[:, None], rows, xp.bool)
        yield now, xp.where(others, rows, xp.zeros_like(rows))


def diagonal(W: Any) -> np.ndarray:
    """Return each point's affinity with itself, (n,), on the host in float64."""
    return (W.diagonal() if is_sparse(W) else to_numpy(xp_of(W).linalg.diagonal(W))).astype(np.float64)


def _dense_components(W: Array, root: np.ndarray) -> np.ndarray:
    """Components by breadth-first search; if most pairs are edges, a few rows of W are enough."""
    n, xp = W.shape[0], xp_of(W)
    bar = like(_EPS * root, W, xp.float64)
    label = np.full(n, -1)
    for component in range(n):
        if not (label < 0).any():
            break
        frontier = np.flatnonzero(label < 0)[:1]
        label[frontier] = component
        while frontier.size and (label < 0).any():
            now, frontier = frontier[:_PORTION], frontier[_PORTION:]
            rows = as_double(take(W, now))
            joined = xp.any(rows > like(root[now], W, xp.float64)[:, None] * bar[None, :], axis=0)
            reached = np.flatnonzero(to_numpy(joined) & (label < 0))
            label[reached] = component
            frontier = np.concatenate([frontier, reached])
    return label


def submatrix(W: Any, kept: np.ndarray) -> Any:
    """Return the affinities among the marked points."""
    return take(take(scipy.sparse.csr_array(W) if is_sparse(W) else W, kept), kept, axis=1)
