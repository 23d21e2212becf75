"""Positive eigenvalues of a centered kernel matrix, and errors where one that is kept is negative."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, to_numpy, xp_of
from lowland.errors import DataError
from lowland.math.distances.kernel_functions import KernelWith

_ALONE = 1e-3  # sum of the kernel values with all other rows below which a row is isolated


@dataclass(frozen=True)
class FeatureSpaceRequest:
    """The number of axes and the solver options."""

    k: int | None  # None: all with a positive eigenvalue
    solver: str = "auto"
    fewer: bool = False  # whether fewer than k are accepted where fewer eigenvalues are positive
    tol: float = 0.0
    max_iter: int | None = None
    power_steps: int | None = None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))


def count_positive(values: np.ndarray, wanted: FeatureSpaceRequest, floor: float) -> int:
    """Return the number of positive eigenvalues among those requested."""
    positive = int(np.sum(values > floor))
    return positive if wanted.k is None else min(positive, wanted.k)


def rounding_floor(values: Array, means: Array, n: int, dtype: Any) -> float:
    """Return the level of rounding error: of the matrix entries, or relative to the first eigenvalue."""
    floor = float(xp_of(means).max(xp_of(means).abs(means)))
    floor *= n * np.finfo(np.float64).eps + math.sqrt(n) * np.finfo(dtype).eps
    return max(floor, negligible(dtype) * float(values[0]))


def nearly_identity(means: Array, kernel: KernelWith, what: str) -> list[str]:
    """Return a warning where a kernel matrix is nearly the identity, so that its components are arbitrary."""
    n = means.shape[0]
    if kernel.kernel in ("rbf", "laplacian") and float(np.median(n * to_numpy(means) - 1)) < _ALONE:
        return [
            f"the kernel matrix is nearly the identity. No two {what}s are similar, so the components are meaningless."
        ]
    return []


def negligible(dtype: Any) -> float:
    """Return the fraction of the first eigenvalue below which another is rounding error, as in scikit-learn."""
    return 1e-12 if np.dtype(dtype) == np.float64 else 2e-7


def indefinite(
    ends: tuple[float, float], kept: float, kernel: KernelWith, wanted: FeatureSpaceRequest, dtype: Any
) -> list[str]:
    """Return a warning for an indefinite kernel; raise an error where an eigenvalue that is kept is negative.

    ``ends`` are the lowest and the largest eigenvalue, ``kept`` is the lowest of those requested.
    """
    lowest, largest = min(*ends, kept), max(ends)
    scale = max(abs(largest), abs(lowest))
    significant = -(1e-5 if np.dtype(dtype) == np.float64 else 5e-3) * scale  # as in scikit-learn
    if lowest >= significant:
        return []
    remedy = "Choose 'rbf', 'laplacian', 'cosine', or 'poly' with `coef0` >= 0"
    if kernel.points is None:
        remedy = "Pass a positive semidefinite matrix, for instance without its negative eigenvalues"
    if kept < significant and not wanted.fewer:
        raise DataError(
            f"There are significant negative eigenvalues: the centered kernel matrix is indefinite, and the components "
            f"requested include one of eigenvalue {kept:.4g}{_beside(kept, largest, dtype)}. Request fewer components. "
            f"{remedy}."
        )
    return [
        f"The centered kernel matrix is indefinite: it has the eigenvalue {lowest:.4g}"
        f"{_beside(lowest, largest, dtype)}, so it does not contain inner products. Only components with positive "
        "eigenvalues are kept."
    ]


def _beside(value: float, largest: float, dtype: Any) -> str:
    some = largest > negligible(dtype) * abs(value)
    return f", {abs(value) / largest:.2g} times the largest" if some else ", and none is positive"


def check_squares_vary(first: float, X: Array) -> None:
    """Raise an error for rows whose squared differences are too small for their precision."""
    if first > 0 or is_sparse(X):
        return
    xp = xp_of(X)
    gap = float(xp.max(xp.abs(X - X[:1, :])))
    if gap > 0:
        raise DataError(
            f"The rows differ by at most {gap:.2g}, which is lost to rounding error in `{X.dtype}`. Use `float64`, "
            "rescale the columns, or center them."
        )
