"""Self-organizing maps online."""

import numpy as np
import pytest

from lowland.math.prototypes.codebook import centering_scaling
from lowland.math.prototypes.grids import Grid, nearness
from lowland.math.prototypes.som_batch import Schedule, decayed
from lowland.math.prototypes.som_online import train_online
from lowland.run.local import LocalRun

TOPOLOGIES = ["hexagonal", "rectangular"]


def rows(n=200, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def trained_row_by_row(X, order, W, grid, radii, rates, kind):
    """The loop of the kernel in numpy."""
    W = W.copy()
    for i, radius, rate in zip(order, radii, rates, strict=True):
        best = ((X[i] - W) ** 2).sum(axis=1).argmin()
        h = nearness(((grid.positions - grid.positions[best]) ** 2).sum(axis=1), radius, kind)
        W += rate * h[:, None] * (X[i] - W)
    return W


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("kind", ["gaussian", "bubble"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_online_training_agrees_with_a_plain_loop(topology, kind, dtype):
    X, grid = rows(120).astype(dtype), Grid(5, 4, topology)
    start = rows(20, seed=4).astype(dtype)
    schedule = Schedule(2, (2.5, 0.6), (0.4, 0.05), "linear", kind)
    units, trace = train_online(
        X, LocalRun(), grid, centering_scaling(start.astype(float)), start, schedule, np.random.default_rng(0)
    )
    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(120), rng.permutation(120)])
    t = np.arange(240) / 239
    plain = trained_row_by_row(
        X.astype(float), order, start.astype(float), grid, decayed((2.5, 0.6), t, "linear"),
        decayed((0.4, 0.05), t, "linear"), kind,
    )  # fmt: skip
    assert units.dtype == dtype
    assert len(trace) == 2
    np.testing.assert_allclose(units, plain, atol=1e-6 if dtype == "float64" else 2e-4)
