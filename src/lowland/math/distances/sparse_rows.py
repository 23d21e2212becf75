"""Products and distances of sparse rows, none of which makes the whole table dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.arrays.namespace import is_sparse, to_numpy
from lowland.errors import DataError
from lowland.math.distances.metrics import METRICS, Metric, distance_by, function_name
from lowland.math.statistics.rescaling import ordinary_unit

_BLOCK = 1 << 19  # numbers made dense, or differences stored, at a time
_POWERS = {"euclidean": 2, "l2": 2, "sqeuclidean": 2, "manhattan": 1, "cityblock": 1, "l1": 1}
_NEAR = 1e-6  # squared distance over squared lengths below which the products have lost too many digits


def csr(X: Any) -> Any:
    """Return rows, sparse or dense, as CSR in float64."""
    import scipy.sparse

    return scipy.sparse.csr_array(X if is_sparse(X) else to_numpy(X), dtype=np.float64)


def product(A: Any, B: Any) -> np.ndarray:
    """Return a'b of all pairs of rows, (m, p)."""
    return (A @ B.T).toarray()


def squared_distances(A: Any, B: Any) -> np.ndarray:
    """Return |a - b|² of all pairs of rows, (m, p): |a|² + |b|² - 2a'b, but where this loses digits by differences."""
    lengths = _sums(A, A.data**2)[:, None] + _sums(B, B.data**2)[None, :]
    S = lengths - 2 * product(A, B)
    i, j = np.nonzero(_NEAR * lengths > S)
    S[i, j] = squared_differences(A, B, i, j)
    return S


def squared_differences(A: Any, B: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return |a_i - b_j|² of some pairs of rows, summed over the columns in their order, as for dense rows."""
    S = np.empty(len(i))
    step = max(1, _BLOCK // (1 + (A.nnz + B.nnz) // (A.shape[0] + B.shape[0])))
    for start in range(0, len(i), step):
        some = slice(start, start + step)
        E = A[i[some]] - B[j[some]]
        S[some] = _sums(E, E.data**2)
    return S


def manhattan(A: Any, B: Any) -> np.ndarray:
    """Return |a - b|₁ of all pairs of rows, (m, p)."""
    from scipy.spatial.distance import cdist

    D = np.zeros((A.shape[0], B.shape[0]))
    A, B = A.tocsc(), B.tocsc()
    step = max(1, _BLOCK // max(D.shape))
    for start in range(0, A.shape[1], step):
        D += cdist(A[:, start : start + step].toarray(), B[:, start : start + step].toarray(), "cityblock")
    return D


def distances(A: Any, B: Any, metric: Metric, params: dict[str, Any]) -> np.ndarray:
    """Return the distances of all pairs of rows in any metric, (m, p), in float64."""
    A, B = csr(A), csr(B)
    p: float | None = _POWERS.get(metric) if isinstance(metric, str) else None
    if metric == "minkowski" and params.get("w") is None and params.get("scale") is None:
        p = float(params.get("p", 2))
    if p == 2:
        c = ordinary_unit(max(np.abs(A.data).max(initial=0.0), np.abs(B.data).max(initial=0.0)), single=False)
        S = squared_distances(A, B) if c == 1 else squared_distances(A / c, B / c)
        return S * c * c if metric == "sqeuclidean" else np.sqrt(S) * c
    if p == 1:
        return manhattan(A, B)
    if metric in (
        "cosine",
        "angular",
    ):  # half the squared distance of unit vectors; a row of zeros is orthogonal to all others
        A, B = unit(A), unit(B)
        D = squared_distances(A, B) / 2
        D[_sums(A, A.data**2) == 0, :] = D[:, _sums(B, B.data**2) == 0] = 1
        return D if metric == "cosine" else np.sqrt(2 * D)
    D = np.empty((A.shape[0], B.shape[0]))
    step = max(1, _BLOCK // max(1, A.shape[1]))  # rows that are dense at a time
    for start in range(0, A.shape[0], step):
        few = A[start : start + step].toarray()
        for other in range(0, B.shape[0], step):
            part = _of_dense(few, B[other : other + step].toarray(), metric, params)
            D[start : start + step, other : other + step] = part
    return D


def _of_dense(A: np.ndarray, B: np.ndarray, metric: Metric, params: dict[str, Any]) -> np.ndarray:
    if not callable(metric):
        return METRICS[metric].of(A, B, **params)
    D = np.asarray([[distance_by(metric, a, b, params) for b in B] for a in A])
    if not np.isfinite(D).all() and np.isfinite(A).all():
        raise DataError(
            f"The metric {function_name(metric)} returned a value that is not finite. It must return a finite number "
            "for any two rows."
        )
    return D


def all_equal(X: Any) -> bool:
    """Whether all rows of a sparse matrix are equal; stored zeros count as zeros."""
    differs = X - X[np.zeros(X.shape[0], dtype=np.int64)]
    return not differs.data.any()


def finite_rows(X: Any) -> np.ndarray:
    """Return which rows of a sparse matrix are finite, (n,) bool."""
    bad = ~np.isfinite(X.data)
    return np.bincount(np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))[bad], minlength=X.shape[0]) == 0


def unit(A: Any) -> Any:
    """Return the rows with length one; a row of zeros stays as it is."""
    each = np.diff(A.indptr)
    size = np.zeros(A.shape[0])
    np.maximum.at(size, np.repeat(np.arange(A.shape[0]), each), np.abs(A.data))  # squares of large rows would overflow
    A = A.copy()
    A.data /= np.repeat(np.where(size > 0, size, 1.0), each)
    lengths = np.sqrt(_sums(A, A.data**2))
    A.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), each)
    return A


def _sums(A: Any, values: np.ndarray) -> np.ndarray:
    """The sums of values stored in the rows of A, (n,)."""
    return np.bincount(np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), values, A.shape[0])
