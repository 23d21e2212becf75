"""What one more column adds to a linear fit: the algebra by which a fit is updated instead of made again.

Let A be the scatter of the training rows, S the columns so far and j one more. With K the inverse of A_SS and
B = K A_Sj, what j has beyond S is u_j = x_j - B'x_S, of scatter s = A_jj - A_jS B. Adding j moves a least-squares fit
along u_j alone, and the scores of a discriminant by u_j u_j'/s; removing j moves them along X_S K_j. So all candidates
of a step cost one inverse and a few products. Where A is nearly singular the model is fitted again, so that both routes
agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.blocks.statistics.rescaling import power_of_two

LEAST_OWN = 1e-7  # fraction of a column's variance that must be its own, or its weight is not known well enough
MOST_NUMBERS = 2**22  # held at a time


def of_order_one(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns divided by powers of two, so that no square is too large or too small, and these, (d,)."""
    size = power_of_two(np.abs(X).max(axis=0))
    return X / size, size


def residual_scatter(A: np.ndarray, S: np.ndarray, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return B = A_SS⁻¹ A_SJ, (F, k, m), and what the columns J have beyond S, A_jj - A_jS B, (F, m)."""
    A_SJ = A[:, S[:, None], J]
    B = np.linalg.solve(A[:, S[:, None], S], A_SJ)
    return B, A[:, J, J] - np.sum(A_SJ * B, axis=1)


def is_regular(A: np.ndarray, least: float = LEAST_OWN) -> Any:
    """Whether every column of the matrices, (F, B, k, k), has enough of its own in all folds, (B,)."""
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
