"""Amari distance: the error of a blind source separation whose true mixing matrix is known."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.arrays.namespace import is_array, to_numpy
from lowland.errors import DataError
from lowland.quality.measure import Measure


def amari_distance(unmixing: Any, mixing: Any) -> Measure:
    """Return the Amari distance between an unmixing matrix and the true mixing matrix: 0 is perfect, 1 is worst.

    With P = |unmixing @ mixing|, a scaled permutation if every source was recovered, the distance is

        [sum_i (sum_j p_ij / max_j p_ij - 1) + sum_j (sum_i p_ij / max_i p_ij - 1)] / (2k(k - 1)).

    It measures how much the other sources contribute to each component, and the other components to each source.
    Order and signs of the components do not matter. Scales do: components and sources should have equal variances.

    Parameters
    ----------
    unmixing : array-like of shape (k, d)
        Estimated unmixing matrix, such as ``components_`` of FastICA.
    mixing : array-like of shape (d, k)
        True mixing matrix.

    Returns
    -------
    Measure
        Value in [0, 1], lower is better.

    References
    ----------
    Amari, Cichocki and Yang 1996, *A new learning algorithm for blind signal separation*, NIPS 8; normalized to [0, 1].

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
            f"unmixing has shape {W.shape} and mixing has shape {A.shape}, which do not match. Pass components_, shape "
            "(k, d), and the true mixing matrix, shape (d, k)."
        )
    P = np.abs(W @ A)  # (k, k)
    across, down = P.max(axis=1), P.max(axis=0)
    if not np.isfinite(P).all() or across.min() == 0 or down.min() == 0:
        raise DataError("unmixing @ mixing has NaN, or a row or column of zeros. Pass finite matrices of full rank.")
    k = len(P)
    excess = float(np.sum(P.sum(axis=1) / across - 1) + np.sum(P.sum(axis=0) / down - 1))
    about = f"Contribution of other sources to each of {k} components, and of other components to each source."
    return Measure("Amari distance", excess / max(2 * k * (k - 1), 1), None, "lower", about)


def _matrix(values: Any) -> np.ndarray:
    return np.asarray(to_numpy(values) if is_array(values) else values, dtype=np.float64)
