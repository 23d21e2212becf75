"""Initial coordinates of a neighbor embedding, whose large-scale arrangement the descent keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, as_double, is_sparse, like, slices, to_numpy, xp_of
from lowland.arrays.records import record
from lowland.data.rows import ArrayRows
from lowland.errors import DataError, warn
from lowland.math.distances.metrics import Metric
from lowland.math.distances.to_points import DistancesTo
from lowland.math.embeddings.descent import TensorEdges
from lowland.math.graphs.affinities import submatrix
from lowland.math.graphs.laplacian import laplacian_eigenmaps
from lowland.math.scaling.classical import Placement, classical_scaling
from lowland.math.spectra.component_rules import Fixed
from lowland.math.spectra.leading import Iteration, leading_eigenpairs
from lowland.math.spectra.operators import SparseOnDevice, centered_product
from lowland.math.spectra.principal_axes import SolverOptions, principal_axes
from lowland.math.statistics.rescaling import power_of_two
from lowland.run.run import Run, all_finite

_LANDMARKS = 1_000  # rows that are scaled where all pairs would be too many
_TOL = 0.05  # residual of the eigenvectors: they are only an initialization, and right to four digits then
_TOL_ON_DEVICE = 1e-3  # relative to the eigenvalue, which is almost 1: correlation with the exact ones above 0.999
_STEPS = 30  # Krylov iterations
_ONE_PLACE, _FAR = 1e-14, 1e-3  # extent of given coordinates, relative to their distance from the origin
_SMALLEST = 1e-30  # extent of given coordinates whose squares are ordinary in float32
_REACH = 1e3  # standard deviation of points whose gradients are almost zero
_SMALL = 30  # rows of a component that starts at random places: too few for eigenvectors to matter
_EXTENT = 10.0  # of the whole map
_PRODUCT_ROWS = 256  # rows of every product: BLAS rounds a row alike in products of the same shape


def principal_start(X: Any, k: int, run: Run, rng: np.random.Generator) -> np.ndarray:
    """Return the first k principal components of the rows, (n, k) float64; beyond their rank, small random numbers."""
    rows = ArrayRows(X)
    most = min(k, *X.shape)
    axes = principal_axes(rows, run, Fixed(most), options=SolverOptions(rng=lambda: np.random.default_rng(0)))
    V = like(axes.pairs.vectors[:, :most], X.data if is_sparse(X) else X)
    Z = to_numpy(as_double(centered_product(X, axes.columns.mean, V)))
    return add_noise_columns(Z, k, rng)


def classical_start(D: Array, k: int, run: Run, rng: np.random.Generator) -> np.ndarray:
    """Return classical scaling of given distances of all pairs, (n, k) float64."""
    most = min(k, D.shape[0] - 1)
    return add_noise_columns(to_numpy(as_double(classical_scaling(D, most, run).Z)), k, rng)


def landmark_start(
    X: np.ndarray, k: int, run: Run, rng: np.random.Generator, metric: Metric, params: dict[str, Any]
) -> np.ndarray:
    """Return classical scaling of up to 1,000 rows by a metric, and all rows by their distances to these, (n, k).

    For rows with missing values or categories, which have no principal components. An undefined distance, of rows that
    share no column, is replaced by the mean one.
    """
    n = len(X)
    places = np.unique(np.linspace(0, n - 1, min(n, _LANDMARKS)).astype(np.int64))
    measure = replace(DistancesTo.of(X, metric, params), points=X[places])
    D = np.asarray(measure(X[places]), dtype=np.float64)
    mean = float(np.nanmean(D))
    D = np.where(np.isnan(D), mean, D)
    np.fill_diagonal(D, 0)
    scaling = classical_scaling(D, min(k, len(places) - 1), run)
    if len(places) == n:
        return add_noise_columns(to_numpy(scaling.Z), k, rng)
    place = Placement(scaling.weights, scaling.means)

    def placed(rows: slice) -> np.ndarray:
        E = np.asarray(measure(X[rows]), dtype=np.float64)
        return to_numpy(place(np.where(np.isnan(E), mean, E)))

    return add_noise_columns(np.concatenate(run.each("placing rows", slices(n, _LANDMARKS), placed)), k, rng)


def spectral_start(W: Any, k: int, run: Run, rng: np.random.Generator) -> np.ndarray:
    """Return the first k Laplacian eigenmaps of symmetric affinities of a connected graph, (n, k) float64."""
    most = min(k, W.shape[0] - 1)
    return add_noise_columns(laplacian_eigenmaps(W, most, run, rng=np.random.default_rng(0), tol=_TOL).Z, k, rng)


def spectral_start_on_device(
    edges: TensorEdges, weight: Array, k: int, run: Run, rng: np.random.Generator
) -> np.ndarray:
    """The same for edges on a device: the leading eigenvectors of the normalized affinities, by Krylov iterations."""
    weight = as_double(weight)
    root = xp_of(weight).sqrt(edges.sums(weight))  # of the degrees
    W = SparseOnDevice(edges.counts, edges.to, weight / (root[edges.source] * root[edges.to]))
    most = min(k, W.shape[0] - 1)
    pairs = leading_eigenpairs(
        W, most + 1, run=run, solver="krylov", definite=False,
        options=Iteration(tol=_TOL_ON_DEVICE, max_iter=_STEPS, like_array=root[:1, None]),
    )  # fmt: skip
    return add_noise_columns(to_numpy(pairs.vectors[:, 1:] / root[:, None]), k, rng)


def given_start(init: Any, n: int, k: int) -> np.ndarray:
    """Return a copy of given coordinates, (n, k) float64, checked; of ordinary size and near the origin."""
    try:
        given = np.asarray(to_numpy(init))
        Z = np.array(given.real, dtype=np.float64)
    except (TypeError, ValueError) as error:  # text, or rows of unequal lengths
        raise DataError(f"The initial coordinates are not all numbers. Pass an array of shape ({n}, {k}).") from error
    if given.dtype.kind == "c":
        raise DataError("The initial coordinates are complex numbers. Pass real numbers.")
    if Z.shape != (n, k):
        raise DataError(f"The initial coordinates have shape {Z.shape}. They must have shape ({n}, {k}).")
    if not all_finite(Z):
        raise DataError("The initial coordinates contain NaN or infinity. Pass finite numbers.")
    unit = float(power_of_two(np.abs(Z).max(initial=0.0)))
    center = (Z / unit).mean(axis=0)
    spread = float(np.abs(Z / unit - center).max(initial=0.0))
    if n > 1 and spread <= _ONE_PLACE:
        raise DataError(
            "The initial coordinates of all points are equal, where the gradient is zero. Pass distinct points."
        )
    if spread < _FAR:  # differences would be lost in float32
        Z = (Z / unit - center) * unit
    return Z if _SMALLEST < unit * spread < 1 / _SMALLEST else Z / unit


def limit_spread(Z: np.ndarray, deviation: float) -> np.ndarray:
    """Return initial coordinates, scaled to this standard deviation if no step could bring the points together."""
    wide = float(Z.std())
    if wide < _REACH:
        return Z
    warn(
        f"The initial coordinates have a standard deviation of {wide:.2g}, where the gradient is almost zero. They are "
        f"scaled to {deviation:g}. Pass coordinates between 1e-4 and 100."
    )
    return scale_deviation(Z, deviation)


def add_noise_columns(Z: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return Z with further columns up to k, random and a thousandth as wide: rows could not separate along zeros."""
    if Z.shape[1] >= k:
        return Z
    width = 1e-3 * float(np.abs(Z).max(initial=0.0)) or 1.0
    return np.hstack([Z, width * rng.standard_normal((len(Z), k - Z.shape[1]))])


def scale_deviation(Z: np.ndarray, deviation: float) -> np.ndarray:
    """Return Z centered, and scaled so that its first column has this standard deviation."""
    Z = Z - Z.mean(axis=0)
    wide = float(np.std(Z[:, 0])) or float(np.abs(Z).max()) or 1.0
    return Z * (deviation / wide)


def scale_largest(Z: np.ndarray, largest: float) -> np.ndarray:
    """Return Z scaled so that its largest coordinate is ``largest``."""
    return Z * (largest / (float(np.abs(Z).max(initial=0.0)) or 1.0))


def scale_range(Z: np.ndarray, extent: float) -> np.ndarray:
    """Return Z with every column scaled to the range from 0 to ``extent``."""
    low, high = Z.min(axis=0), Z.max(axis=0)
    return (Z - low) * (extent / np.where(high > low, high - low, 1.0))


def add_jitter(Z: np.ndarray, deviation: float, rng: np.random.Generator) -> np.ndarray:
    """Return Z with normal noise added, so that duplicate rows can separate."""
    return Z + deviation * rng.standard_normal(Z.shape)


# --- disconnected graphs ----------------------------------------------------------------------------------------------


def component_centers(X: Any, label: np.ndarray, k: int) -> np.ndarray:
    """Return the principal components of the means of the connected components, (components, k)."""
    count = int(label.max()) + 1
    member = scipy.sparse.csr_array((np.ones(len(label)), (label, np.arange(len(label)))), shape=(count, len(label)))
    sums = member @ (X if is_sparse(X) else np.asarray(X, dtype=np.float64))
    means = (sums.toarray() if is_sparse(sums) else sums) / np.bincount(label)[:, None]
    U, s, _ = np.linalg.svd(means - means.mean(axis=0), full_matrices=False)
    Z = np.zeros((count, k))
    Z[:, : min(k, len(s))] = (U * s)[:, :k]
    return Z


def separate_start(
    W: Any, label: np.ndarray, centers: np.ndarray | None, k: int, run: Run, rng: np.random.Generator
) -> np.ndarray:
    """Return initial coordinates, (n, k): each component within half the distance to its nearest other component.

    ``centers`` (components, k) are places that the components should have relative to each other. None means random
    ones.
    """
    count = int(label.max()) + 1
    if centers is None:
        centers = rng.standard_normal((count, k))
    centers = scale_largest(centers - centers.mean(axis=0), _EXTENT)
    Z = np.empty((len(label), k))
    for c in range(count):
        members = np.flatnonzero(label == c)
        others = np.delete(np.sqrt(np.sum((centers - centers[c]) ** 2, axis=1)), c)
        radius = max(float(others.min()) / 2, 1e-2 * _EXTENT)
        if len(members) <= max(_SMALL, k + 1):
            inner = rng.uniform(-1, 1, (len(members), k))
        else:
            inner = scale_largest(spectral_start(submatrix(W, label == c), k, run, rng), 1.0)
        Z[members] = centers[c] + radius * inner
    return Z


# --- many columns -----------------------------------------------------------------------------------------------------


@record
@dataclass(frozen=True)
class ColumnReduction:
    """The projection of rows on their first principal axes."""

    mean: Array  # (d,)
    axes: Array  # (d, q)

    @classmethod
    def of(cls, X: Any, most: int, run: Run) -> ColumnReduction:
        """Return the projection on the first ``most`` principal axes of the rows, or on all there are."""
        q = min(most, X.shape[0] - 1, X.shape[1])
        found = principal_axes(ArrayRows(X), run, Fixed(q))
        return cls(to_numpy(found.columns.mean), to_numpy(found.pairs.vectors[:, :q]))

    def __call__(self, X: Any) -> np.ndarray:
        """Return the coordinates of rows, (m, q), in their precision."""
        if is_sparse(X):
            return np.asarray(centered_product(X, self.mean, self.axes), dtype=X.dtype)
        X = to_numpy(X)
        V = as_double(self.axes)
        out = np.empty((len(X), V.shape[1]), dtype=X.dtype)
        block = np.zeros((_PRODUCT_ROWS, X.shape[1]))  # in double: single rounds a row differently in another place
        for rows in slices(len(X), _PRODUCT_ROWS):
            few = X[rows]
            block[: len(few)] = few - self.mean
            out[rows] = (block @ V)[: len(few)]
        return out
