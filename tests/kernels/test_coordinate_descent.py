"""Coordinate descent compared with the same sweeps in numpy, and its duality gap with the objective."""

import numpy as np

from lowland.kernels.coordinate_descent import descend


def table(n=60, d=8, seed=0, shared=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + shared * rng.standard_normal((n, 1))
    return X, X[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(n)


def descend_in_numpy(G, q, beta, alpha, sweeps):
    """The same sweeps over the coordinates in plain numpy."""
    beta = beta.copy()
    for _ in range(sweeps):
        for j in range(len(q)):
            goal = q[j] - G[j] @ beta + G[j, j] * beta[j]
            beta[j] = np.sign(goal) * max(abs(goal) - alpha, 0) / G[j, j]
    return beta


def test_the_duality_gap_bounds_the_suboptimality():
    X, y = table()
    G, q, power = X.T @ X / 60, X.T @ y / 60, y @ y / 60

    def objective(beta):
        return power / 2 - q @ beta + beta @ G @ beta / 2 + 0.3 * np.abs(beta).sum()

    best = objective(descend_in_numpy(G, q, np.zeros(8), 0.3, 5000))
    for sweeps in range(6):
        beta, g = np.zeros(8), q.copy()
        _, gap = descend(G, q, g, beta, 0.3, 0.0, power, -np.inf, sweeps)
        assert gap >= objective(beta) - best - 1e-12
    assert gap < 0.01
    made, gap = descend(G, q, g, beta, 0.3, 0.0, power, 1e-10, 10_000)
    assert gap <= 1e-10
    assert made < 1000
