"""Out-of-sample extension by least stress: new points among fixed points, one at a time."""

import numpy as np

from lowland.kernels.compile import vector_kernel


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
                z[:], stress = starts[s, a], other
                gradient[:], H[:] = next_gradient, next_H
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
                gradient[:], H[:] = next_gradient, next_H
                damping = damping / 4.0 if damping > least else 0.0
            else:
                damping = damping * 4.0 if damping > least else 4.0 * least
            if np.sqrt(np.sum(step * step)) <= shortest:
                break
        out[a] = z


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
