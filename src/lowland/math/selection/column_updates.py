"""Updates of a linear fit by one column, so that it need not be refitted.

Let A be the scatter matrix of the training rows, S the columns so far and j another column. With K the inverse of A_SS
and B = K A_Sj, the residual of j on S is u_j = x_j - B'x_S, with scatter s = A_jj - A_jS B. Adding j changes a
least-squares fit along u_j alone, and the scores of a discriminant by u_j u_j'/s. Removing j changes them along
X_S K_j. So all candidates of a step cost one inverse and a few products. Where A is nearly singular the model is
refitted, so that both routes agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.math.statistics.rescaling import power_of_two

MIN_UNEXPLAINED = 1e-7  # fraction of a column's variance not explained by the others, below which the model is refitted
MOST_NUMBERS = 2**22  # in memory at a time


def of_order_one(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns divided by powers of two, so that no square overflows or underflows, and these, (d,)."""
    size = power_of_two(np.abs(X).max(axis=0))
    return X / size, size


def residual_scatter(A: np.ndarray, S: np.ndarray, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return B = A_SS⁻¹ A_SJ, (F, k, m), and the residual scatter of the columns J on S, A_jj - A_jS B, (F, m)."""
    A_SJ = A[:, S[:, None], J]
    B = np.linalg.solve(A[:, S[:, None], S], A_SJ)
    return B, A[:, J, J] - np.sum(A_SJ * B, axis=1)


def is_regular(A: np.ndarray, least: float = MIN_UNEXPLAINED) -> Any:
    """Whether every column of the matrices, (F, B, k, k), has enough residual variance in all folds, (B,)."""
    size = np.diagonal(A, axis1=-2, axis2=-1)  # (F, B, k)
    fine = (size > 0).all(axis=(0, 2))
    root = np.sqrt(np.where(size > 0, size, 1.0))
    R = A / (root[..., :, None] * root[..., None, :])
    if not R.size:
        return fine
    fine &= (np.linalg.eigvalsh(R)[..., 0] > np.finfo(np.float64).eps * A.shape[-1]).all(axis=0)
    own = 1 / np.diagonal(np.linalg.inv(R[:, fine]), axis1=-2, axis2=-1)
    fine[fine] = (own > least).all(axis=(0, 2))
    return fine
