"""Placing new points among points that stay, one after the other."""

import numpy as np

from lowland.kernels.compile import vector_kernel


@vector_kernel
def place_points(T, W, Z, starts, arrived, rounds, least, flattest, rounding, out):
    """Minimise sum_j w_j (t_j - |z - z_j|)² for each row of T, (m, n), by damped Newton steps; Z is (k, n).

    ``starts`` (s, m, k) holds where each may begin; the best of them is taken. Ends at a step shorter than ``arrived``.
    """
    k, n = Z.shape
    pull, bend = np.empty(n), np.empty(n)
    slope, H = np.empty(k), np.empty((k, k))
    next_slope, next_H = np.empty(k), np.empty((k, k))
    for a in range(T.shape[0]):
        total = W[a].sum()
        z = starts[0, a].copy()
        stress = _own_stress(z, T[a], W[a], Z, pull, bend, slope, H)
        for s in range(1, starts.shape[0]):
            other = _own_stress(starts[s, a], T[a], W[a], Z, pull, bend, next_slope, next_H)
            if other < stress:
                z[:], stress = starts[s, a], other
                slope[:], H[:] = next_slope, next_H
        damping = 0.0
        for _ in range(rounds):
            if not np.isfinite(stress):
                z[:] = np.nan
                break
            values, V = np.linalg.eigh(H)
            bends = np.maximum(np.abs(values), flattest * total) + damping * total
            step = V @ ((V.T @ slope) / bends)
            there = z - step
            value = _own_stress(there, T[a], W[a], Z, pull, bend, next_slope, next_H)
            flatter = np.sum(next_slope * next_slope) < np.sum(slope * slope)
            if value <= stress * (1.0 + rounding if flatter else 1.0 - rounding):
                z, stress = there, value
                slope[:], H[:] = next_slope, next_H
                damping = damping / 4.0 if damping > least else 0.0
            else:
                damping = damping * 4.0 if damping > least else 4.0 * least
            if np.sqrt(np.sum(step * step)) <= arrived:
                break
        out[a] = z


@vector_kernel
def _own_stress(z, t, w, Z, pull, bend, slope, H):
    """Return the stress at z; write half its gradient and half its Hessian."""
    k, n = Z.shape
    pull[:] = 0.0
    for c in range(k):
        x, zc = Z[c], z[c]
        for j in range(n):
            e = zc - x[j]
            pull[j] += e * e
    stress, sum_of_pulls = 0.0, 0.0
    for j in range(n):
        d = np.sqrt(pull[j])
        far = d if d > 0.0 else np.inf
        gap = d - t[j]
        stress += w[j] * gap * gap
        p = w[j] * gap / far
        pull[j] = p
        sum_of_pulls += p
        bend[j] = w[j] * t[j] / (far * far * far)
    for c in range(k):
        x, zc, total = Z[c], z[c], 0.0
        for j in range(n):
            total += pull[j] * (zc - x[j])
        slope[c] = total
        for b in range(c + 1):
            y, zb, total = Z[b], z[b], 0.0
            for j in range(n):
                total += bend[j] * (zc - x[j]) * (zb - y[j])
            H[c, b] = H[b, c] = total
        H[c, c] += sum_of_pulls
    return stress
