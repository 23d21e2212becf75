"""Small dense problems, one per neighborhood, solved for many neighborhoods of one size at once.

Each works on C (r, m, d), the differences of the m members of r neighborhoods from their own point, so that data far
from the origin loses no digits. Bits do not depend on how the neighborhoods are divided.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lowland.math.statistics.rescaling import power_of_two

_AT_ONCE = 1 << 20  # differences in memory at a time
_DIRECT = 1e-8  # with less regularization than this, the equations of the weights lose too many digits


def of_one_size(
    X: np.ndarray, P: np.ndarray, start: np.ndarray, to: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield neighborhoods of one size, a few at a time: their numbers (r,), their members (r, m, d), and C.

    The members of row i of X are the points ``to[start[i]:start[i + 1]]`` of P. Differences are divided by a power of
    two per neighborhood, so that no fourth power overflows or underflows.
    """
    sizes = np.diff(start)
    for m in np.unique(sizes[sizes > 0]):
        alike, step = np.flatnonzero(sizes == m), max(1, _AT_ONCE // (m * X.shape[1]))
        for rows in (alike[i : i + step] for i in range(0, len(alike), step)):
            members = P[to[start[rows][:, None] + np.arange(m)]]
            C = members.astype(np.float64) - X[rows, None].astype(np.float64)
            yield rows, members, C / power_of_two(np.abs(C).max(axis=(1, 2)))[:, None, None]


def weights_of(C: np.ndarray, reg: float) -> np.ndarray:
    """Return the weights that reconstruct each point from its members, (r, m); they sum to one."""
    m = C.shape[1]
    if reg < _DIRECT:
        return _weights_along(*principal(C), reg)
    G = C @ C.mT
    trace = np.trace(G, axis1=1, axis2=2)
    G[:, range(m), range(m)] += np.where(trace > 0, reg * trace, 1.0)[:, None]
    w = np.linalg.solve(G, np.ones((m, 1)))[..., 0]
    return w / w.sum(axis=1, keepdims=True)


def principal(C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return left singular vectors, in rows, (r, q, m), and squared singular values, (r, q), the largest first.

    With more columns than members, the Gram matrix of the members is used. Directions of zero extent have the vector
    zero.
    """
    m = C.shape[1]
    if C.shape[2] > m:
        values, U = np.linalg.eigh(C @ C.mT)
        values, U, least = np.maximum(values[:, ::-1], 0.0), U[:, :, ::-1].mT, 1e-15 * m
    else:
        U, s, _ = np.linalg.svd(C, full_matrices=False)
        values, U, least = s**2, U.mT, (1e-15 * m) ** 2
    return U * (values > least * values[:, :1])[..., None], values


def _weights_along(U: np.ndarray, values: np.ndarray, reg: float) -> np.ndarray:
    """The weights from the principal directions of each neighborhood, for any ``reg`` down to zero."""
    m, whole = U.shape[2], values.sum(axis=1, keepdims=True)
    more, least = reg * whole, 1e-14 * m * values[:, :1]
    kept = values + more > least
    sums = np.where(kept, U.sum(axis=2), 0.0)
    rest = 1 - np.einsum("rq,rqm->rm", sums, U)  # of the vector of ones, in the null space
    w = np.einsum("rq,rqm->rm", sums / np.where(kept, values + more, 1.0), U)
    outside = np.sum(rest**2, axis=1, keepdims=True) > 1e-20 * m
    w = np.where(outside, np.where(more > least, w + rest / np.where(more > 0, more, 1.0), rest), w)
    return w / w.sum(axis=1, keepdims=True)


def modified_matrices(C: np.ndarray, reg: float, eta: float) -> np.ndarray:
    """Return the matrices (r, m + 1, m + 1) of the modified weights, with the point itself first.

    With V the s trailing directions of the neighborhood, P = VV', u = P1, α = |u|/√s and w the standard weights, the
    W = VH + (1 - α) w 1' of Zhang and Wang has (1, -W')'(1, -W') = ff' + (P - uu'/u'u), where
    f = (√s, -u/|u| - (1 - α)√s w). So neither V nor the reflection H is needed.
    """
    m = C.shape[1]
    U, values = principal(C)
    w = _weights_along(U, values, reg)
    leading = np.minimum(_extent(values, m, eta), m - 1)[:, None]
    U = U * (np.arange(U.shape[1]) < leading)[..., None]
    root = np.sqrt(m - leading)  # √s
    u = 1 - np.einsum("rq,rqm->rm", U.sum(axis=2), U)
    length = np.linalg.norm(u, axis=1, keepdims=True)
    length[length <= 1e-12 * np.sqrt(m)] = 0.0
    u = np.where(length > 0, u / np.where(length > 0, length, 1.0), 0.0)
    f = np.concatenate([root, -u - (root - length) * w], axis=1)
    M = f[:, :, None] * f[:, None, :]
    M[:, 1:, 1:] += np.eye(m) - u[:, :, None] * u[:, None, :] - U.mT @ U
    return M


def _extent(values: np.ndarray, m: int, eta: float) -> np.ndarray:
    """The number of leading directions such that the ratio of the other squares to theirs is below eta, (r,)."""
    before = np.cumsum(values, axis=1) - values
    after = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
    ends = (values <= (1e-15 * m) ** 2 * values[:, :1]) | ((before > 0) & (after < eta * before))
    return np.where(ends.any(axis=1), np.argmax(ends, axis=1), values.shape[1])


def tangent_matrices(C: np.ndarray, members: np.ndarray, k: int, *, hessian: bool) -> np.ndarray:
    """Return the local penalty matrix of each neighborhood, (r, m, m).

    LTSA: I - BB', B an orthonormal basis of the functions linear in the k local coordinates. Hessian: QQ', Q an
    orthonormal basis of the quadratic functions orthogonal to the linear ones. Linearly dependent columns, of
    neighborhoods with fewer dimensions or members, are left out. Duplicate members must get equal values.
    """
    r, m, d = C.shape
    U, squares = principal(C - C.mean(axis=1, keepdims=True))
    least = 1e-14 * m if d > m else (1e-15 * m) ** 2  # Gram matrices lose half of the digits
    k = min(k, U.shape[1])
    B = np.full((r, 1, m), 1 / np.sqrt(m))
    for c in range(k):
        B = _joined(B, U[:, c] * (squares[:, c] > least * squares[:, 0])[:, None])
    if not hessian:
        return np.eye(m) - B.mT @ B
    for a in range(1, k + 1):
        for b in range(a, k + 1):
            B = _joined(B, B[:, a] * B[:, b])
    Q = B[:, k + 1 :]
    return Q.mT @ Q + _penalty_of_duplicates(members)


def _joined(B: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The basis B (r, c, m) and v, orthonormalized against it; zero where v depends on it."""
    row = v[:, None]
    for _ in range(2):  # twice is enough to be orthogonal up to rounding error
        row = row - (row @ B.mT) @ B
    left, whole = (np.linalg.norm(each, axis=2, keepdims=True) for each in (row, v[:, None]))
    new = left > 1e-9 * whole
    return np.concatenate([B, np.where(new, row / np.where(new, left, 1.0), 0.0)], axis=1)


def _penalty_of_duplicates(members: np.ndarray) -> np.ndarray:
    """A penalty on differences between duplicate members, which derivatives ignore: I - 11'/g for g of them."""
    m = members.shape[1]
    alike = members[:, :, None, 0] == members[:, None, :, 0]
    i, a, b = np.nonzero(alike & ~np.eye(m, dtype=bool))
    alike[i, a, b] = np.all(members[i, a] == members[i, b], axis=1)
    return np.eye(m) - alike / alike.sum(axis=2, keepdims=True)
