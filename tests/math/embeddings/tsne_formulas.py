"""t-SNE by plain formulas over all pairs, for the tests."""

import numpy as np


def similarities(Z, dof=1.0):
    """Squared distances, u = 1 / (1 + d²/dof) and w = u^dof, with w zero on the diagonal."""
    D = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    u = 1 / (1 + D / dof)
    w = u**dof
    np.fill_diagonal(w, 0)
    return u, w


def divergence(P, Z, dof=1.0):
    """The Kullback-Leibler divergence, for a dense P."""
    w = similarities(Z, dof)[1]
    Q, at = w / w.sum(), P > 0
    return float((P[at] * np.log(P[at] / Q[at])).sum())


def gradient(P, Z, dof=1.0, exaggeration=1.0):
    """4 sum_j (p - q) u (z_i - z_j)."""
    u, w = similarities(Z, dof)
    M = (exaggeration * P - w / w.sum()) * u
    return 4 * (M.sum(axis=1)[:, None] * Z - M @ Z)


def repulsion(Z, dof=1.0):
    """sum_j u w (z_i - z_j), and the sum of w."""
    u, w = similarities(Z, dof)
    M = u * w
    return M.sum(axis=1)[:, None] * Z - M @ Z, w.sum()
