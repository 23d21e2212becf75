"""Principal axes in feature space from landmarks: the Nyström approximation, in one pass over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.linalg import svd
from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.data.rows import Rows
from lowland.errors import DataError
from lowland.math.distances.kernel_functions import KernelWith
from lowland.math.distances.to_points import in_slabs
from lowland.math.kernel_pca.feature_space_axes import FeatureCoordinates, KernelAxes, signs_of
from lowland.math.kernel_pca.positive_eigenvalues import (
    FeatureSpaceRequest,
    check_squares_vary,
    count_positive,
    indefinite,
    nearly_identity,
    negligible,
    rounding_floor,
)
from lowland.math.spectra.leading import leading_eigenpairs
from lowland.math.statistics.moments import Moments
from lowland.run.run import Run


@dataclass(frozen=True)
class _FeatureMoments:
    """The moments of the features of a slab; picklable, so that it can be sent to a worker."""

    features: FeatureCoordinates

    def __call__(self, X: Array) -> Moments:
        return Moments.of(self.features(X))


def landmark_axes(rows: Rows, kernel: KernelWith, run: Run, wanted: FeatureSpaceRequest) -> KernelAxes:
    """The axes of the Nyström features: the rows' features projected to the span of the landmarks.

    Both are centered at the mean of the landmarks, which does not change the centered kernel and keeps the precision of
    rows far from the origin. One pass over the rows sums the moments of the features; the eigenvalues are those of
    their scatter, comparable with exact ones.
    """
    points = kernel.points
    assert points is not None
    concerns: list[str] = []
    if kernel.kernel == "linear" and not is_sparse(points):
        features, back = _linear_features(points, rows.dtype)
    else:
        features, back, concerns = _nystrom_features(kernel, run, wanted, rows.dtype)
    m, r = points.shape[0], features.coefficients.shape[1]
    if r == 0:
        raise DataError(
            f"The {m} landmarks are identical in the feature space of the kernel. Use more landmarks, or check the "
            "data."
        )
    moments = run.fold(in_slabs(rows, m), _FeatureMoments(features), name="summing features")
    W = features.coefficients
    S, mean = like(as_double(moments.scatter), W), like(moments.mean, W)
    pairs = leading_eigenpairs(S, r if wanted.k is None else min(wanted.k, r), run=run)
    of_rows = features.kernel.points is None
    if of_rows:
        check_squares_vary(float(pairs.values[0]), points)
    floor = 0.0 if of_rows else rounding_floor(pairs.values, features.means, moments.rows, rows.dtype)
    k = count_positive(to_numpy(pairs.values), wanted, max(floor, negligible(rows.dtype) * float(pairs.values[0])))
    C = W @ pairs.vectors[:, :k]
    means = features.means + back @ mean
    C = (
        C * signs_of(as_double(FeatureCoordinates(features.kernel, means, C)(points)))[None, :]
    )  # signs differ between machines
    outcome = pairs.outcome(f"{m} landmarks represent {moments.rows} rows by {r} features", "nystrom")
    weights = None if of_rows else 1 / m + W @ mean
    axes = KernelAxes(pairs.values[:k], C, means, None, outcome, moments.rows, weights, tuple(concerns))
    return axes.with_zeros(wanted, m)


def _linear_features(points: Array, dtype: Any) -> tuple[FeatureCoordinates, Array]:
    """The features of the linear kernel, (x - c)V with V an orthonormal basis of the centered landmarks; and V."""
    P = as_double(points)
    c = xp_of(P).mean(P, axis=0)
    _, s, Vt = svd(P - c[None, :])
    size = to_numpy(s) ** 2
    r = int(np.sum(size > negligible(dtype) * size[0])) if size[0] > 0 else 0
    V = Vt[:r, :].T
    return FeatureCoordinates(KernelWith(None), c, V), V


def _nystrom_features(
    kernel: KernelWith, run: Run, wanted: FeatureSpaceRequest, dtype: Any
) -> tuple[FeatureCoordinates, Array, list[str]]:
    """The features (k(x) - means)U/√s with J K_mm J = U diag(s) U'; U√s, which maps back to kernel values; warnings."""
    points = kernel.points
    assert points is not None
    wide = points.astype(np.float64) if is_sparse(points) else as_double(points)
    K = kernel(wide)  # (m, m)
    kernel.refuse(K, wide)
    xp, m = xp_of(K), K.shape[0]
    means = xp.mean(K, axis=0)
    concerns = nearly_identity(means, kernel, "landmark")
    K = K - means[:, None]
    own = leading_eigenpairs(K - xp.mean(K, axis=0)[None, :], m, run=run, solver="eigh", definite=False)
    s = to_numpy(own.values)
    if not kernel.is_definite:
        kept = float(s[-1 if wanted.k is None else min(wanted.k, m) - 1])
        concerns += indefinite((float(s[-1]), float(s[0])), kept, kernel, wanted, dtype)
    r = int(np.sum(s > rounding_floor(own.values, means, m, dtype)))
    U, root = own.vectors[:, :r], xp.sqrt(own.values[:r])[None, :]
    W = U / root
    return FeatureCoordinates(kernel, means, W - xp.mean(W, axis=0)[None, :]), U * root, concerns
