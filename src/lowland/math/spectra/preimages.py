"""Pre-images: rows whose features are near given coordinates in the feature space of a kernel."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lowland.arrays.namespace import Array, as_double, device_of, like, xp_of
from lowland.errors import DataError, warn
from lowland.math.distances.kernel_functions import KernelWith
from lowland.math.distances.metrics import squared_euclidean
from lowland.run.progress import pulse
from lowland.run.run import Run

_STEPS = 500  # fixed-point iterations
_SETTLED = 1e-6  # change, relative to the spread of the points, at which it has converged
_FADED = 1e-12  # a sum of weights this small, relative to their sizes, is rounding error


@dataclass(frozen=True)
class RidgePreImages:
    """Rows by kernel ridge regression on coordinates: x = k(z)'B (Bakir, Weston and Schölkopf 2004)."""

    kernel: KernelWith  # with the training coordinates
    B: Array  # (p, d)

    def __call__(self, Z: Array) -> Array:
        """Of one slab of coordinates."""
        K = self.kernel(Z)
        return K @ like(self.B, K)


def ridge_coefficients(kernel: KernelWith, X: Array, alpha: float, run: Run) -> Array:
    """Return B with (K + αI) B = X, (p, d) float64, K the kernel of the coordinates with each other."""
    assert kernel.points is not None
    Z = as_double(kernel.points)
    p = Z.shape[0]
    xp = xp_of(Z)
    K = kernel(Z) + alpha * xp.eye(p, dtype=Z.dtype, device=device_of(Z))
    Y = like(X, Z, Z.dtype)
    with run.stage("learning pre-images", None):
        try:
            if not isinstance(K, np.ndarray):
                return xp.linalg.solve(K, Y)
            import scipy.linalg

            with warnings.catch_warnings():  # alpha regularizes an ill-conditioned system
                warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
                return scipy.linalg.solve(K, Y, assume_a="pos" if kernel.is_definite else "sym", check_finite=False)
        except Exception as error:  # every array library has its own LinAlgError
            raise DataError(
                f"The kernel ridge regression of pre-images is singular with the penalty {alpha:g}. Raise it."
            ) from error


@dataclass(frozen=True)
class FixedPointPreImages:
    """Rows whose rbf features are nearest to those of given coordinates, by a fixed-point iteration (Mika et al. 1999).

    Coordinates z represent the features sum_i c_i φ(x_i), c = A z + w. Nearest to them is the x with
    x = sum_i c_i k(x, x_i) x_i / sum_i c_i k(x, x_i), iterated from the point whose coordinates are nearest to z.
    """

    kernel: KernelWith  # rbf, with the points
    Z: Array  # (p, k) coordinates of the points
    coefficients: Array  # (p, k) A
    mean_weights: Array  # (p,) w

    def __call__(self, Z: Array) -> Array:
        """Of one slab of coordinates."""
        xp = xp_of(Z)
        wide = as_double(Z)
        given = (self.kernel.points, self.Z, self.coefficients, self.mean_weights)
        points, places, A, w = (like(part, wide) for part in given)
        C = wide @ A.T + w[None, :]  # (m, p)
        X = xp.take(points, xp.argmin(squared_euclidean(wide, places), axis=1), axis=0)
        deviation = xp.sqrt(xp.mean(xp.sum((points - xp.mean(points, axis=0)[None, :]) ** 2, axis=1)))
        moved = xp.full((X.shape[0],), xp.inf, dtype=X.dtype, device=device_of(X))
        for _ in range(_STEPS):
            pulse()
            E = C * self.kernel(X)
            total = xp.sum(E, axis=1)[:, None]
            there = total > _FADED * xp.sum(xp.abs(E), axis=1)[:, None]
            new = xp.where(there, (E @ points) / xp.where(there, total, xp.ones_like(total)), X)
            moved, X = xp.linalg.vector_norm(new - X, axis=1), new
            if bool(xp.all(moved <= _SETTLED * deviation)):
                break
        else:
            left = int(xp.sum(xp.astype(moved > _SETTLED * deviation, xp.int64)))
            warn(
                f"{left} of {X.shape[0]} pre-images did not converge in {_STEPS} fixed-point iterations (last change "
                f"at most {float(xp.max(moved)) / float(deviation):.1e} of the spread of the rows). Keep more "
                "components, or choose ridge regression.",
                ConvergenceWarning,
            )
        return xp.astype(X, Z.dtype, copy=False)
