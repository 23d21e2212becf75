"""Small dense problems, one per neighborhood, and the sum of their matrices.

The members of neighborhood i are ``to[start[i]:start[i + 1]]``. Rows are float32 or float64; computations are in
float64, on differences from the neighborhood's own point, so that data far from the origin loses no digits.
"""

import numpy as np

from lowland.kernels.compile import vector_kernel
from lowland.kernels.neighbor_search import sort_by_value


@vector_kernel
def reconstruct(X, P, start, to, reg, W):
    """Write the weights, which sum to one, that reconstruct each row of X from its members among P, to the flat W.

    For very small ``reg`` the Cholesky factorization loses digits; use ``reconstruct_by_directions``.
    """
    most = 0
    for i in range(X.shape[0]):
        most = max(most, start[i + 1] - start[i])
    C, G, w = np.empty((most, X.shape[1])), np.empty((most, most)), np.empty(most)
    for i in range(X.shape[0]):
        a, m = start[i], start[i + 1] - start[i]
        trace = _gram(X[i], P, to[a : a + m], C, G)
        if trace == 0.0:
            for j in range(m):
                w[j] = 1.0
        else:
            for j in range(m):
                G[j, j] += reg * trace
            _solve_ones(G, m, w)
        total = 0.0
        for j in range(m):
            total += w[j]
        for j in range(m):
            W[a + j] = w[j] / total


@vector_kernel
def reconstruct_by_directions(X, P, start, to, reg, W):
    """The same from the principal directions of each neighborhood, for any ``reg`` down to zero."""
    for i in range(X.shape[0]):
        a, m = start[i], start[i + 1] - start[i]
        U, squares = _principal(X[i], P, to[a : a + m], False)
        if squares[0] == 0.0:
            W[a : a + m] = 1.0 / m
        else:
            W[a : a + m] = _weights_from(U, squares, reg)


@vector_kernel
def _gram(x, P, members, C, G):
    """Write p - x for the members and their Gram matrix; return its trace.

    Differences whose squares would overflow or underflow are divided by a power of two, which the weights ignore.
    """
    m, d = members.size, x.size
    trace, top = 0.0, 0.0
    for j in range(m):
        p, own = P[members[j]], C[j]
        for e in range(d):
            own[e] = np.float64(p[e]) - np.float64(x[e])
            top = max(top, abs(own[e]))
    if top > 0.0 and not 1e-100 < top < 1e100:
        unit = 2.0 ** np.floor(np.log2(top))
        for j in range(m):
            for e in range(d):
                C[j, e] /= unit
    for j in range(m):
        own = C[j]
        for i in range(j + 1):
            other, total = C[i], 0.0
            for e in range(d):
                total += own[e] * other[e]
            G[j, i] = G[i, j] = total
        trace += G[j, j]
    return trace


@vector_kernel
def _solve_ones(G, m, w):
    """Solve G w = 1 by a Cholesky factorization, written to the lower triangle of G."""
    for j in range(m):
        total = G[j, j]
        for e in range(j):
            total -= G[j, e] * G[j, e]
        pivot = np.sqrt(total)
        G[j, j] = pivot
        for i in range(j + 1, m):
            total = G[i, j]
            for e in range(j):
                total -= G[i, e] * G[j, e]
            G[i, j] = total / pivot
    for j in range(m):
        total = 1.0
        for e in range(j):
            total -= G[j, e] * w[e]
        w[j] = total / G[j, j]
    for j in range(m - 1, -1, -1):
        total = w[j]
        for e in range(j + 1, m):
            total -= G[e, j] * w[e]
        w[j] = total / G[j, j]


@vector_kernel
def directions(X, first, start, to, vectors, values):
    """Write the principal directions among the members of each neighborhood, for modified weights.

    Neighborhood i, of point first + i, has at most q of them, q being the number of columns of ``values``: its
    directions (q, m) begin at ``start[i] * q`` of the flat ``vectors``, and row i of ``values`` holds its squared
    singular values.
    """
    q = values.shape[1]
    for i in range(start.size - 1):
        members = to[start[i] : start[i + 1]]
        m = members.size
        U, squares = _principal(X[first + i], X, members, False)
        for c in range(q):
            at = (start[i] * q) + c * m
            values[i, c] = squares[c] if c < squares.size else 0.0
            for j in range(m):
                vectors[at + j] = U[c, j] if c < squares.size else 0.0


@vector_kernel
def _principal(x, P, members, centered):
    """Return left singular vectors, in rows, and squared singular values of the members minus x, or minus their mean.

    The values are scaled per neighborhood, so that fourth powers do not overflow. With more columns than members, the
    Gram matrix of the members is used. Directions of zero extent have the vector zero.
    """
    m, d, top = members.size, x.size, 0.0
    A = np.empty((d, m))  # columns of the neighborhood, in rows
    for e in range(d):
        mean = 0.0
        for j in range(m):
            A[e, j] = np.float64(P[members[j], e]) - np.float64(x[e])
            mean += A[e, j]
        mean = mean / m if centered else 0.0
        for j in range(m):
            A[e, j] -= mean
            top = max(top, abs(A[e, j]))
    unit = 2.0 ** np.floor(np.log2(top)) if top > 0.0 else 1.0  # a power of two: no digit is lost
    for e in range(d):
        for j in range(m):
            A[e, j] /= unit
    if d > m:
        G = np.zeros((m, m))
        for j in range(m):
            for c in range(j + 1):
                total = 0.0
                for e in range(d):
                    total += A[e, j] * A[e, c]
                G[j, c] = G[c, j] = total
        A = G
    squares = _orthogonal_rows(A)
    order = _descending(squares)
    U, values = np.zeros(A.shape), np.empty(order.size)
    least = (m * 1e-15) ** 2 * squares[order[0]]
    for c in range(order.size):
        row, square = A[order[c]], squares[order[c]]
        values[c] = np.sqrt(square) if d > m else square
        if square > least:
            length = np.sqrt(square)
            for j in range(m):
                U[c, j] = row[j] / length
    return U, values


@vector_kernel
def _descending(values):
    """Return the places of the values, the largest first, ties in their order: an insertion sort, as they are few."""
    order = np.empty(values.size, np.int64)
    for c in range(values.size):
        a = c
        while a > 0 and values[order[a - 1]] < values[c]:
            order[a] = order[a - 1]
            a -= 1
        order[a] = c
    return order


@vector_kernel
def _orthogonal_rows(A):
    """Rotate pairs of rows of A until they are orthogonal (one-sided Jacobi, Hestenes 1958); return squared norms."""
    q, m = A.shape
    squares = np.zeros(q)
    for _ in range(60):
        top = 0.0
        for a in range(q):
            squares[a] = np.sum(A[a] * A[a])
            top = max(top, squares[a])
        turned = False
        for a in range(q - 1):
            for b in range(a + 1, q):
                x, y = squares[a], squares[b]
                if x <= 1e-32 * top or y <= 1e-32 * top:
                    continue
                r, s = A[a], A[b]
                cross = 0.0
                for j in range(m):
                    cross += r[j] * s[j]
                if cross * cross <= 1e-30 * x * y:
                    continue
                turned = True
                half = (y - x) / (2.0 * cross)
                t = 1.0 / (abs(half) + np.sqrt(1.0 + half * half))
                t = t if half >= 0.0 else -t
                cosine = 1.0 / np.sqrt(1.0 + t * t)
                sine = cosine * t
                for j in range(m):
                    u, v = r[j], s[j]
                    r[j] = cosine * u - sine * v
                    s[j] = sine * u + cosine * v
                squares[a], squares[b] = x - t * cross, y + t * cross
        if not turned:
            break
    return squares


@vector_kernel
def modified_matrices(start, vectors, values, reg, eta, bases, L):
    """Write the matrices (m + 1, m + 1) of the modified weights, with the point itself first, to the flat L.

    With V the s trailing directions of the neighborhood, P = VV', u = P1, α = |u|/√s and w the standard weights, the
    W = VH + (1 - α) w 1' of Zhang and Wang has (1, -W')'(1, -W') = ff' + (P - uu'/u'u), where
    f = (√s, -u/|u| - (1 - α)√s w). So neither V nor the reflection H is needed.
    """
    q = values.shape[1]
    for i in range(start.size - 1):
        m = start[i + 1] - start[i]
        U = vectors[start[i] * q : start[i + 1] * q].reshape(q, m)
        r = min(_extent(values[i], m, eta), m - 1)
        s = m - r
        w = _weights_from(U, values[i], reg)
        u = np.ones(m)
        for c in range(r):
            u -= U[c] * U[c].sum()
        length = np.sqrt(np.sum(u * u))
        if length > 1e-12 * np.sqrt(m):
            u /= length
        else:
            u[:], length = 0.0, 0.0
        f = np.empty(m + 1)
        f[0] = np.sqrt(s)
        f[1:] = -u - (1.0 - length / np.sqrt(s)) * np.sqrt(s) * w
        M = L[bases[i] : bases[i] + (m + 1) * (m + 1)].reshape(m + 1, m + 1)
        for a in range(m + 1):
            for b in range(m + 1):
                total = f[a] * f[b]
                if a > 0 and b > 0:
                    total -= u[a - 1] * u[b - 1]
                    for c in range(r):
                        total -= U[c, a - 1] * U[c, b - 1]
                    if a == b:
                        total += 1.0
                M[a, b] = total


@vector_kernel
def _extent(values, m, eta):
    """Return the number of leading directions such that the ratio of the other squares to theirs is below eta."""
    seen = 0.0
    for c in range(values.size):
        if values[c] <= (m * 1e-15) ** 2 * values[0]:
            return c
        if c > 0 and values[c:].sum() / seen < eta:
            return c
        seen += values[c]
    return values.size


@vector_kernel
def _weights_from(U, values, reg):
    """The weights of ``reconstruct`` from directions u, in rows, and squares v: G is the sum of v uu'."""
    m = U.shape[1]
    more, least = reg * values.sum(), 1e-14 * m * values[0]
    rest, w = np.ones(m), np.zeros(m)
    for c in range(values.size):
        if values[c] + more > least:
            coefficient = U[c].sum()
            rest -= coefficient * U[c]
            w += coefficient / (values[c] + more) * U[c]
    if np.sum(rest * rest) > 1e-20 * m:  # the vector of ones has a part in the null space
        w = w + rest / more if more > least else rest
    return w / w.sum()


@vector_kernel
def tangent_matrices(X, first, start, to, k, hessian, bases, L):
    """Write the local penalty matrix of each neighborhood, (m, m), to the flat L.

    LTSA: I - BB', B an orthonormal basis of the functions linear in the k local coordinates. Hessian: QQ', Q an
    orthonormal basis of the quadratic functions orthogonal to the linear ones. Linearly dependent columns, of
    neighborhoods with fewer dimensions or members, are left out. Duplicate members must get equal values.
    """
    for i in range(start.size - 1):
        members = to[start[i] : start[i + 1]]
        m = members.size
        least = 1e-14 * m if X.shape[1] > m else (1e-15 * m) ** 2  # Gram matrices lose half of the digits
        U, squares = _principal(X[first + i], X, members, True)
        B = np.empty((1 + k + k * (k + 1) // 2, m))  # a basis in its rows
        B[0] = 1.0 / np.sqrt(m)
        width = 1
        for c in range(min(k, squares.size)):
            if squares[c] > least * squares[0]:
                width += _joined(B, width, U[c])
        linear = width
        M = L[bases[i] : bases[i] + m * m].reshape(m, m)
        M[:] = 0.0
        if not hessian:
            for a in range(m):
                M[a, a] = 1.0
            for c in range(width):
                _add_outer(M, B[c], -1.0)
        else:
            for a in range(1, linear):
                for b in range(a, linear):
                    width += _joined(B, width, B[a] * B[b])
            for c in range(linear, width):
                _add_outer(M, B[c], 1.0)
            _add_duplicates(X, members, M)


@vector_kernel
def _joined(B, width, v):
    """Orthonormalize v against the first rows of B, write it to the next row and return 1; 0 if it is dependent."""
    m = v.size
    if width >= m or width >= B.shape[0]:
        return 0
    whole = np.sqrt(np.sum(v * v))
    row = B[width]
    row[:] = v
    for _ in range(2):  # twice is enough to be orthogonal up to rounding error
        for c in range(width):
            row -= np.sum(B[c] * row) * B[c]
    left = np.sqrt(np.sum(row * row))
    if left <= 1e-9 * whole or left == 0.0:
        return 0
    row /= left
    return 1


@vector_kernel
def _add_duplicates(X, members, M):
    """Add a penalty on differences between duplicate members, which derivatives ignore: I - 11'/g for g of them."""
    m = members.size
    seen = np.zeros(m, dtype=np.bool_)
    for a in range(m):
        if seen[a]:
            continue
        group = np.zeros(m)
        group[a] = 1.0
        for b in range(a + 1, m):
            if X[members[a], 0] == X[members[b], 0] and np.all(X[members[a]] == X[members[b]]):
                group[b] = 1.0
                seen[b] = True
        size = group.sum()
        if size > 1.0:
            for b in range(m):
                M[b, b] += group[b]
            _add_outer(M, group, -1.0 / size)


@vector_kernel
def _add_outer(M, v, factor):
    for a in range(v.size):
        for b in range(v.size):
            M[a, b] += factor * v[a] * v[b]


@vector_kernel
def count_entries(first, last, start, to, mine, sets, marks, counts):
    """Count, for each point of a range, the points that share a set with it; ``marks`` (n,) is workspace, all -1."""
    for p in range(first, last):
        count = 0
        for e in range(mine[p], mine[p + 1]):
            s = sets[e]
            for a in range(start[s], start[s + 1]):
                if marks[to[a]] != p:
                    marks[to[a]] = p
                    count += 1
        counts[p] = count


@vector_kernel
def sum_matrices(first, last, start, to, bases, L, mine, sets, places, marks, sums, begin, columns, values):
    """Write rows of the sum of the matrices, each at the points of its set; columns ascend within a row.

    Point p is a member of the sets ``sets[mine[p]:mine[p + 1]]``, at the corresponding ``places``.
    """
    for p in range(first, last):
        at = begin[p]
        for e in range(mine[p], mine[p + 1]):
            s = sets[e]
            m = start[s + 1] - start[s]
            base = bases[s] + places[e] * m
            for a in range(m):
                j = to[start[s] + a]
                if marks[j] != p:
                    marks[j] = p
                    sums[j] = 0.0
                    columns[at] = j
                    at += 1
                sums[j] += L[base + a]
        for e in range(begin[p], at):
            values[e] = sums[columns[e]]
        sort_by_value(columns[begin[p] : at], values[begin[p] : at])
