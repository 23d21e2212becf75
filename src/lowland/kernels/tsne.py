"""t-SNE: Gaussian affinities of given perplexity, attraction along the edges, and the exact repulsion of all pairs.

The similarity of two points of the map is w = (1 + d²/a)^-a with a degrees of freedom, and u = 1 / (1 + d²/a).
"""

import numpy as np

from lowland.kernels.compile import inner_loop, kernel, vector_kernel

# --- affinities -------------------------------------------------------------------------------------------------------


@kernel
def _most_edges(start, first, last):
    """The largest number of edges of a row."""
    most = 0
    for i in range(first, last):
        most = max(most, start[i + 1] - start[i])
    return most


@vector_kernel
def calibrate(start, length, log_perplexity, tolerance, first, last, P):
    """Add to P the Gaussian weights exp(-b d²), normalized in each row, whose entropy is ``log_perplexity``.

    ``start`` and ``length`` hold the distances of a neighbor graph; the rows are first ... last - 1. The entropy
    decreases in log b: Newton's method, with bisection where a step leaves the bracket. Where no b attains the entropy
    (too few neighbors, or too many at the same shortest distance), the weights are those of the nearest entropy.
    """
    most = _most_edges(start, first, last)
    d, w = np.empty(most), np.empty(most)
    for i in range(first, last):
        a, k = start[i], start[i + 1] - start[i]
        if k == 0:
            continue
        shortest, mean = np.inf, 0.0
        for j in range(k):
            shortest = min(shortest, length[a + j])
        longest = 0.0
        for j in range(k):
            longest = max(longest, length[a + j] - shortest)
        unit = 1.0 / longest if longest > 0.0 else 0.0
        for j in range(k):  # d² minus the shortest one, in units that cannot overflow
            e = (length[a + j] - shortest) * unit
            d[j] = e * (e + 2.0 * shortest * unit)
            mean += d[j] / k
        for j in range(k):
            w[j] = 1.0 / k
        if mean > 0.0 and np.log(k) > log_perplexity:
            log_b, low, high = -np.log(mean), -np.inf, np.inf
            for _ in range(100):
                b = np.exp(log_b)
                total, first_moment, second_moment = 0.0, 0.0, 0.0
                for j in range(k):
                    w[j] = np.exp(-b * d[j])
                for j in range(k):
                    total += w[j]
                    first_moment += w[j] * d[j]
                    second_moment += w[j] * d[j] * d[j]
                first_moment /= total
                excess = np.log(total) + b * first_moment - log_perplexity
                if abs(excess) < tolerance:
                    break
                if excess > 0.0:
                    low = log_b
                else:
                    high = log_b
                slope = b * b * (second_moment / total - first_moment * first_moment)  # minus the derivative by log b
                step = excess / slope if slope > 0.0 else np.inf
                if low < log_b + step < high and abs(step) < 4.0:
                    log_b += step
                elif low == -np.inf:
                    log_b -= 2.0
                elif high == np.inf:
                    log_b += 2.0
                else:
                    log_b = 0.5 * (low + high)
                if log_b > 80.0:  # the shortest distance occurs too often
                    break
        total = 0.0
        for j in range(k):
            total += w[j]
        for j in range(k):
            P[a + j] += w[j] / total


# --- forces -----------------------------------------------------------------------------------------------------------


@vector_kernel
def attract_2d(start, to, p, Z, places, inverse_dof, first, last, F):
    """Write the attraction of rows first ... last - 1 of a plane to F, as ``attract_on_plane`` says."""
    attract_on_plane(start, to, p, Z, places, inverse_dof, first, last, F)


@inner_loop
def attract_on_plane(start, to, p, Z, places, inverse_dof, first, last, F):
    """Write the attraction sum_j p_ij u_ij (z_i - z_j) of rows first ... last - 1 to F, for a map (n, 2) float32.

    Edges are stored in both directions, so that each row is written once. The ends of the edges of a row are collected
    first, so that the loops over them are vectorized. ``places`` (n,) are both coordinates of a row, as one integer.
    """
    copies = np.empty(_most_edges(start, first, last), np.int64)
    ends = copies.view(np.float32)
    zero, one, scale = np.float32(0), np.float32(1), np.float32(inverse_dof)
    for i in range(first, last):
        a, edges = start[i], start[i + 1] - start[i]
        for e in range(edges):
            copies[e] = places[to[a + e]]
        x, y, f, g = Z[i, 0], Z[i, 1], zero, zero
        for e in range(edges):
            dx, dy = x - ends[2 * e], y - ends[2 * e + 1]
            v = p[a + e] / (one + scale * (dx * dx + dy * dy))
            f += v * dx
            g += v * dy
        F[i, 0], F[i, 1] = f, g


@vector_kernel
def attract(start, to, p, Z, inverse_dof, first, last, F):
    """The same for a map of any dimension and precision."""
    k, dtype = Z.shape[1], Z.dtype.type
    zero, one, scale = dtype(0), dtype(1), dtype(inverse_dof)
    most = _most_edges(start, first, last)
    ends, w = np.empty(most * k, Z.dtype), np.empty(most, Z.dtype)
    for i in range(first, last):
        a, edges = start[i], start[i + 1] - start[i]
        w[:edges] = one
        for c in range(k):
            z, difference = Z[i, c], ends[c * most : (c + 1) * most]
            for e in range(edges):
                difference[e] = z - Z[to[a + e], c]
                w[e] += scale * difference[e] * difference[e]
        for e in range(edges):
            w[e] = p[a + e] / w[e]
        for c in range(k):
            difference, f = ends[c * most : (c + 1) * most], zero
            for e in range(edges):
                f += w[e] * difference[e]
            F[i, c] = f


@vector_kernel
def edge_denominators(start, to, Z, inverse_dof, first, last, out):
    """Write 1 + d²/dof for each edge of rows first ... last - 1, float64."""
    for i in range(first, last):
        for e in range(start[i], start[i + 1]):
            j, d = to[e], 0.0
            for c in range(Z.shape[1]):
                difference = np.float64(Z[i, c]) - np.float64(Z[j, c])
                d += difference * difference
            out[e - start[first]] = 1.0 + inverse_dof * d


@inner_loop
def similarity_field(z, T, dof, a, b, d, force):
    """Write the repulsion sum_j u w (z - t_j) at a place z (k,) to ``force``; return the sum of w.

    The points t_j are the columns of T (k, n), which is read along its rows; ``d`` (n,) is scratch. Columns a to b are
    the point at z itself. They are left out: to subtract their ones would cancel the sum of a map with light tails.
    """
    k, n = T.shape
    one, zero, scale, power = T.dtype.type(1), T.dtype.type(0), T.dtype.type(1.0 / dof), T.dtype.type(-dof)
    d[:] = one
    for c in range(k):
        x, here = T[c], z[c]
        for j in range(n):
            e = here - x[j]
            d[j] += scale * e * e
    for j in range(a, b):
        d[j] = np.inf
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
    """Write the repulsion sum_j u w (z_i - z_j) of rows first ... last - 1 to G; return their sum of w, without self.

    ``T`` is the map in transposed order, (k, n), which is read along its rows.
    """
    total, d = 0.0, np.empty(T.shape[1], T.dtype)
    for i in range(first, last):
        total += similarity_field(T[:, i], T, dof, i, i + 1, d, G[i])
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
