"""The bandwidth ε of a Gaussian kernel exp(-d²/ε), chosen from distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.errors import DataError
from lowland.math.distances.to_points import DistancesTo

_ROWS = 500  # rows whose distances to all others the kernel-sum rule uses
_OCTAVES, _PER_OCTAVE = 30, 8  # bandwidths tried: octaves above and below the median squared distance, steps per octave
_BINS = 64  # bins of squared distances per octave
_LINEAR_GROWTH = 0.8  # fraction of the fastest growth of the kernel sum that counts as linear growth
_LEAST, _MOST = 1e-150, 1e150  # shorter distances underflow when squared; longer ones overflow when squared and summed


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
    sizes, counts = _binned(apart / middle)
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
    if not longest <= _MOST:  # NaN is the difference of squares that overflowed
        raise DataError(f"Distances above {_MOST:.0e} are too large to be squared. Rescale the columns.")
    if 0 < longest < _LEAST:
        raise DataError(
            f"Distances of at most {longest:.2g} are too small: squared distances underflow. Rescale the columns."
        )
    return np.square(lengths)


def _binned(squared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A histogram of squared distances on a logarithmic scale; each is split between its two nearest bins."""
    place = np.log2(squared) * _BINS
    first = np.floor(place)
    rest = place - first
    bins = (first - first.min()).astype(np.int64)
    counts = np.bincount(bins, 1 - rest, bins.max() + 2) + np.bincount(bins + 1, rest, bins.max() + 2)
    return 2.0 ** ((first.min() + np.arange(bins.max() + 2)) / _BINS), counts


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
    some = X[places] if is_sparse(X) else xp_of(X).take(X, like(places, X, xp_of(X).int64), axis=0)
    return some if metric == "precomputed" else DistancesTo.of(X, metric, params)(some)
