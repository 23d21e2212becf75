"""How well sources were separated, where the true mixing is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.arrays.namespace import is_array, to_numpy
from lowland.errors import DataError
from lowland.quality.measure import Measure


def amari_distance(unmixing: Any, mixing: Any) -> Measure:
    """Return the Amari distance of an unmixing matrix (k, d) from the true mixing (d, k): 0 perfect, 1 the worst.

    With P = |unmixing @ mixing|, which is a scaled permutation where every source was found, it is
    [sum_i (sum_j p_ij / max_j p_ij − 1) + sum_j (sum_i p_ij / max_i p_ij − 1)] / (2k(k − 1)): the share of the other
    sources in each component, and of the other components in each source. Order and signs
    do not matter; components and sources should each be of equal variance, since their scales do count.

    Reference: Amari, Cichocki and Yang 1996, normalised to [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import quality
    >>> mixing = np.array([[1.0, 0.6], [0.4, 1.0]])
    >>> found = 3 * np.linalg.inv(mixing)[::-1]  # other order, other scale
    >>> round(quality.amari_distance(found, mixing).value, 6)
    0.0
    """
    W, A = _matrix(unmixing), _matrix(mixing)
    if W.ndim != 2 or A.ndim != 2 or W.shape != A.T.shape or not W.size:
        raise DataError(
            f"An unmixing of shape {W.shape} does not fit a mixing of shape {A.shape}. Pass components_, (k, d), and "
            "the true mixing, (d, k)."
        )
    P = np.abs(W @ A)  # (k, k)
    across, down = P.max(axis=1), P.max(axis=0)
    if not np.isfinite(P).all() or across.min() == 0 or down.min() == 0:
        raise DataError("unmixing @ mixing has NaN, or a row or column of zeros. Pass matrices of full rank.")
    k = len(P)
    excess = float(np.sum(P.sum(axis=1) / across - 1) + np.sum(P.sum(axis=0) / down - 1))
    about = f"Share of other sources in each of {k} components, and of other components in each source."
    return Measure("Amari distance", excess / max(2 * k * (k - 1), 1), None, "lower", about)


def _matrix(values: Any) -> np.ndarray:
    return np.asarray(to_numpy(values) if is_array(values) else values, dtype=np.float64)
