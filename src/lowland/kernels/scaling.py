"""Stress and its gradient over pairs of points, and new points by least stress.

Stress is computed one row of distances at a time: no n x n matrix is formed. Target distances are in one flat array;
that of the pair (start + a, j), j > start + a, is at ``bases[a] + j``. So the same loops read a full matrix or its
upper triangle, stored row by row.
"""

import numpy as np

from lowland.kernels.compile import vector_kernel

# --- stress -----------------------------------------------------------------------------------------------------------


@vector_kernel
def add_stress_gradient(targets, weights, bases, start, Z, F):
    """Add sum_j w(1 - t/d)(z_i - z_j) to F, (k, n), over the pairs of some rows; return their stress sum w(t - d)².

    Z is (k, n). Empty ``weights`` mean ones. Missing targets (NaN) are ignored.
    """
    k, n = Z.shape
    ratio, ones = np.empty(n), np.empty(0 if weights.size else n, weights.dtype)
    ones[:] = 1.0
    total = 0.0
    for a in range(bases.size):
        i = start + a
        row = targets[bases[a] + i + 1 : bases[a] + n]
        m = n - i - 1
        _squared_distances(Z, i, ratio)
        row_weights = weights[bases[a] + i + 1 : bases[a] + n] if weights.size else ones[:m]
        for j in range(m):
            t, w = np.float64(row[j]), np.float64(row_weights[j])
            d = np.sqrt(ratio[j])
            known = t == t
            residual = d - t if known else 0.0
            w = w if known else 0.0
            total += w * residual * residual
            ratio[j] = w * residual / (d if d > 0.0 else np.inf)
        for c in range(k):
            z, f, zi, own = Z[c, i + 1 :], F[c, i + 1 :], Z[c, i], 0.0
            for j in range(m):
                v = ratio[j] * (zi - z[j])
                own += v
                f[j] -= v
            F[c, i] += own
    return total


@vector_kernel
def add_sammon_gradient(targets, masses, bases, start, Z, F, H):
    """The same with weights m_i m_j / t, and the second derivatives by each coordinate added to H, (k, n).

    Pairs with target zero are ignored.
    """
    k, n = Z.shape
    ratio, curvature = np.empty(n), np.empty(n)
    total = 0.0
    for a in range(bases.size):
        i = start + a
        row = targets[bases[a] + i + 1 : bases[a] + n]
        m = n - i - 1
        _squared_distances(Z, i, ratio)
        others = masses[i + 1 :]
        for j in range(m):
            t = np.float64(row[j])
            d = np.sqrt(ratio[j])
            w = masses[i] * others[j] / (t if t > 0.0 else np.inf)
            far = d if d > 0.0 else np.inf
            residual = d - t
            total += w * residual * residual
            ratio[j] = w * residual / far
            curvature[j] = w * t / (far * far * far)
        for c in range(k):
            z, f, h, zi = Z[c, i + 1 :], F[c, i + 1 :], H[c, i + 1 :], Z[c, i]
            own, own_curvature = 0.0, 0.0
            for j in range(m):
                e = zi - z[j]
                v = ratio[j] * e
                b = ratio[j] + curvature[j] * e * e
                own += v
                own_curvature += b
                f[j] -= v
                h[j] += b
            F[c, i] += own
            H[c, i] += own_curvature
    return total


@vector_kernel
def _squared_distances(Z, i, out):
    """Write |z_i - z_j|² for all j > i, the first at out[0]."""
    m = Z.shape[1] - i - 1
    out[:m] = 0.0
    for c in range(Z.shape[0]):
        z, zi = Z[c, i + 1 :], Z[c, i]
        for j in range(m):
            e = zi - z[j]
            out[j] += e * e


# --- new points -------------------------------------------------------------------------------------------------------


@vector_kernel
def place_points(T, W, Z, starts, shortest, rounds, least, flattest, rounding, out):
    """Minimize sum_j w_j (t_j - |z - z_j|)² for each row of T, (m, n), by a damped Newton method; Z is (k, n).

    ``starts`` (s, m, k) holds initial points; the best one is used. The iteration stops at a step shorter than
    ``shortest``.
    """
    k, n = Z.shape
    ratio, curvature = np.empty(n), np.empty(n)
    gradient, H = np.empty(k), np.empty((k, k))
    next_gradient, next_H = np.empty(k), np.empty((k, k))
    for a in range(T.shape[0]):
        total = W[a].sum()
        z = starts[0, a].copy()
        stress = _point_stress(z, T[a], W[a], Z, ratio, curvature, gradient, H)
        for s in range(1, starts.shape[0]):
            other = _point_stress(starts[s, a], T[a], W[a], Z, ratio, curvature, next_gradient, next_H)
            if other < stress:
                z, stress = starts[s, a].copy(), other
                gradient, next_gradient, H, next_H = next_gradient, gradient, next_H, H
        damping = 0.0
        for _ in range(rounds):
            if not np.isfinite(stress):
                z[:] = np.nan
                break
            values, V = np.linalg.eigh(H)
            curvatures = np.maximum(np.abs(values), flattest * total) + damping * total
            step = V @ ((V.T @ gradient) / curvatures)
            there = z - step
            value = _point_stress(there, T[a], W[a], Z, ratio, curvature, next_gradient, next_H)
            flatter = np.sum(next_gradient * next_gradient) < np.sum(gradient * gradient)
            if value <= stress * (1.0 + rounding if flatter else 1.0 - rounding):
                z, stress = there, value
                gradient, next_gradient, H, next_H = next_gradient, gradient, next_H, H
                damping = damping / 4.0 if damping > least else 0.0
            else:
                damping = damping * 4.0 if damping > least else 4.0 * least
            if np.sqrt(np.sum(step * step)) <= shortest:
                break
        for c in range(k):
            out[a, c] = z[c]


@vector_kernel
def _point_stress(z, t, w, Z, ratio, curvature, gradient, H):
    """Return the stress at z; write half its gradient and half its Hessian."""
    k, n = Z.shape
    ratio[:] = 0.0
    for c in range(k):
        x, zc = Z[c], z[c]
        for j in range(n):
            e = zc - x[j]
            ratio[j] += e * e
    stress, sum_of_ratios = 0.0, 0.0
    for j in range(n):
        d = np.sqrt(ratio[j])
        far = d if d > 0.0 else np.inf
        residual = d - t[j]
        stress += w[j] * residual * residual
        p = w[j] * residual / far
        ratio[j] = p
        sum_of_ratios += p
        curvature[j] = w[j] * t[j] / (far * far * far)
    for c in range(k):
        x, zc, total = Z[c], z[c], 0.0
        for j in range(n):
            total += ratio[j] * (zc - x[j])
        gradient[c] = total
        for b in range(c + 1):
            y, zb, total = Z[b], z[b], 0.0
            for j in range(n):
                total += curvature[j] * (zc - x[j]) * (zb - y[j])
            H[c, b] = H[b, c] = total
        H[c, c] += sum_of_ratios
    return stress
