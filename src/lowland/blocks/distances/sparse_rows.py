"""Products and distances of sparse rows: no row is made dense, except a few columns at a time for sums of |a - b|."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.arrays.namespace import is_sparse, to_numpy

_BLOCK = 1 << 19  # numbers made dense, or differences stored, at a time
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
    step = max(1, _BLOCK // (1 + (A.nnz + B.nnz) // (A.shape[0] + B.shape[0])))
    for start in range(0, len(i), step):
        some = slice(start, start + step)
        E = A[i[some]] - B[j[some]]
        S[i[some], j[some]] = _sums(E, E.data**2)
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
