"""Forces of t-SNE: attraction along the edges, and the exact repulsion between all pairs.

The similarity of two points of the map is w = (1 + d²/a)^-a with a degrees of freedom, and u = 1 / (1 + d²/a).
"""

import numpy as np

from lowland.kernels.compile import inner_loop, kernel, vector_kernel


@kernel
def attract(start, to, p, Z, inverse_dof, exaggeration, inverse_total, first, last, G):
    """Combine the forces of rows first ... last - 1: G holds the repulsion sum_j u w (z_i - z_j), then the gradient.

    The gradient is 4 sum_j (exaggeration p_ij - w_ij / total) u_ij (z_i - z_j). Edges are stored in both directions, so
    that each row is written once; the sum of a row has a fixed order.
    """
    one, scale = G.dtype.type(1), G.dtype.type(inverse_dof)
    pull, push = G.dtype.type(4.0 * exaggeration), G.dtype.type(4.0 * inverse_total)
    if Z.shape[1] == 2:
        for i in range(first, last):
            x, y = Z[i, 0], Z[i, 1]
            f, g = x - x, x - x
            for e in range(start[i], start[i + 1]):
                j = to[e]
                dx, dy = x - Z[j, 0], y - Z[j, 1]
                w = p[e] / (one + scale * (dx * dx + dy * dy))
                f += w * dx
                g += w * dy
            G[i, 0] = pull * f - push * G[i, 0]
            G[i, 1] = pull * g - push * G[i, 1]
        return
    k = Z.shape[1]
    force = np.empty(k, G.dtype)
    for i in range(first, last):
        force[:] = 0
        for e in range(start[i], start[i + 1]):
            j, d = to[e], one - one
            for c in range(k):
                d += (Z[i, c] - Z[j, c]) ** 2
            w = p[e] / (one + scale * d)
            for c in range(k):
                force[c] += w * (Z[i, c] - Z[j, c])
        for c in range(k):
            G[i, c] = pull * force[c] - push * G[i, c]


@vector_kernel
def edge_loss(start, to, p, Z, dof, first, last):
    """Return the sum of -p log w over the edges of rows first ... last - 1."""
    total = 0.0
    for i in range(first, last):
        for e in range(start[i], start[i + 1]):
            j, d = to[e], 0.0
            for c in range(Z.shape[1]):
                difference = np.float64(Z[i, c]) - np.float64(Z[j, c])
                d += difference * difference
            total += p[e] * np.log1p(d / dof)
    return dof * total


@inner_loop
def similarity_field(z, T, dof, d, force):
    """Write the repulsion sum_j u w (z - t_j) at a place z (k,) to ``force``; return the sum of w.

    The points t_j are the columns of T (k, n), which is read along its rows; ``d`` (n,) is scratch.
    """
    k, n = T.shape
    one, zero, scale, power = T.dtype.type(1), T.dtype.type(0), T.dtype.type(1.0 / dof), T.dtype.type(-dof)
    d[:] = one
    for c in range(k):
        x, here = T[c], z[c]
        for j in range(n):
            e = here - x[j]
            d[j] += scale * e * e
    total = zero
    if dof == 1.0:
        for j in range(n):
            w = one / d[j]
            total += w
            d[j] = w * w
    else:
        for j in range(n):
            w = d[j] ** power
            total += w
            d[j] = w / d[j]
    for c in range(k):
        x, here, f = T[c], z[c], zero
        for j in range(n):
            f += d[j] * (here - x[j])
        force[c] = f
    return total


@vector_kernel
def repel_all(T, dof, first, last, G):
    """Write the repulsion sum_j u w (z_i - z_j) of rows first ... last - 1 to G; return their sum of w, self included.

    ``T`` is the map in transposed order, (k, n), which is read along its rows.
    """
    total, d = 0.0, np.empty(T.shape[1], T.dtype)
    for i in range(first, last):
        total += similarity_field(T[:, i], T, dof, d, G[i])
    return total


@vector_kernel
def place_among_all(Y, to, p, dof, inverse_mean, rate, rounds, Z):
    """Move each row of Z (m, k) by gradient descent: attracted to its neighbors, repelled by all rows of Y (n, k).

    The neighbors ``to`` (m, neighbors) have the affinities ``p``. The step is ``rate`` times
    sum_j p_j u_j (z - y_j) - ``inverse_mean`` * sum_j u_j w_j (z - y_j).
    """
    n, k = Y.shape
    force = np.empty(k)
    for i in range(Z.shape[0]):
        z = Z[i]
        for _ in range(rounds):
            force[:] = 0.0
            for e in range(to.shape[1]):
                d = 1.0
                for c in range(k):
                    d += (z[c] - Y[to[i, e], c]) ** 2 / dof
                for c in range(k):
                    force[c] += p[i, e] / d * (z[c] - Y[to[i, e], c])
            for j in range(n):
                d = 1.0
                for c in range(k):
                    d += (z[c] - Y[j, c]) ** 2 / dof
                w = 1.0 / (d * d) if dof == 1.0 else d ** (-dof - 1.0)
                for c in range(k):
                    force[c] -= inverse_mean * w * (z[c] - Y[j, c])
            for c in range(k):
                z[c] -= rate * force[c]


@vector_kernel
def start_at_best_neighbor(Y, to, p, dof, Z):
    """Write to each row of Z the place of that neighbor, a row of Y, to which the row's neighbors are nearest.

    It minimizes the loss of the attraction, sum_j p_j log(1 + d_j²/dof), over the places of the neighbors. A mean of
    the places could lie between two clusters.
    """
    for i in range(to.shape[0]):
        least, best = np.inf, 0
        for a in range(to.shape[1]):
            loss = 0.0
            for e in range(to.shape[1]):
                d = 0.0
                for c in range(Y.shape[1]):
                    d += (Y[to[i, a], c] - Y[to[i, e], c]) ** 2
                loss += p[i, e] * np.log1p(d / dof)
            if loss < least:
                least, best = loss, a
        for c in range(Y.shape[1]):
            Z[i, c] = Y[to[i, best], c]
