"""The pseudo-inverse of A = E'E from a factorization of its sparse root E, as of the weights in LLE.

The factor of E fills in much less than that of E'E, whose graph joins neighbors of neighbors, and its condition number
is the square root.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowland.errors import Stopped
from lowland.kernels.graphs import level_shape
from lowland.run.progress import in_one_call
from lowland.run.run import Run

Solve = Callable[[np.ndarray], np.ndarray]

_PIVOT = 0.01  # a pivot off the diagonal is chosen only where the diagonal is this much smaller
_CONSTANT = 1e-6  # error of the known null vector at which the factor is unusable
_WIDEST = 0.25  # fraction of the points: separators are no larger, however wide a level is


def root_costs(E: Any) -> tuple[float, float]:
    """Predict seconds and bytes of the factorization from the widest level w of a breadth-first search.

    The constants were measured on graphs of surfaces, cubes of 3 and 5 dimensions, Gaussians and images, of 2,500 to
    50,000 points: fill-in and time are within a factor of 3.
    """
    n, P = E.shape[0], (abs(E) + abs(E).T).tocsr()
    w = min(float(level_shape(P.indices, P.indptr)[0]), _WIDEST * n)
    fill = 0.35 * P.nnz * np.log2(n) + 3 * w**2
    return 5e-8 * fill + 2e-10 * w**3, 2 * 12 * fill


def root_inverse(E: Any, run: Run) -> Solve | None:
    """Return x = A⁺b for b that sums to zero, where E1 = 0; None where E has further null vectors.

    E + e e' is invertible for a unit vector e of a point p that all others depend on. Let π'E = 0. Then y from
    (E + e e')'y = b satisfies E'y = b. Without its component along π it is in the range of E, and x from
    (E + e e')x = y satisfies Ex = y. So E'Ex = b.
    """
    from scipy import sparse
    from scipy.sparse.linalg import splu

    p = _sink(E)
    if p is None:
        return None
    e = np.zeros(E.shape[0])
    e[p] = 1.0
    with run.stage("factorizing"):
        try:
            matrix = (E + sparse.diags_array(e)).tocsc()
            settings = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": _PIVOT, "options": {"SymmetricMode": True}}
            lu = in_one_call(lambda: splu(matrix, **settings))
        except Stopped:  # also a RuntimeError
            raise
        except (RuntimeError, MemoryError, SystemError):  # singular, or too large for SuperLU
            return None
    pi = lu.solve(e, trans="T")
    pi /= np.linalg.norm(pi)
    if not np.abs(lu.solve(e) - 1).max() <= _CONSTANT or not np.isfinite(pi).all():
        return None

    def solve(B: np.ndarray) -> np.ndarray:
        Y = lu.solve(B, trans="T")
        found: np.ndarray = lu.solve(Y - np.multiply.outer(pi, pi @ Y))
        return found

    return solve


def _sink(E: Any) -> int | None:
    """Return the point on which most others depend, in the only strongly connected component without outgoing edges."""
    from scipy.sparse.csgraph import connected_components

    count, label = connected_components(E, directed=True, connection="strong")
    C = E.tocoo()
    leaves = label[C.row] != label[C.col]
    is_sink = np.ones(count, dtype=bool)
    is_sink[label[C.row[leaves]]] = False
    if is_sink.sum() != 1:
        return None
    sums = np.bincount(C.col, np.abs(C.data), minlength=E.shape[0])
    return int(np.argmax(np.where(is_sink[label], sums, -1.0)))
