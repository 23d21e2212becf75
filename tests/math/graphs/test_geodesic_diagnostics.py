"""Residual variances and strain: zero for points in a plane, in any unit."""

import numpy as np
import pytest

from lowland.data import swiss_roll
from lowland.math.graphs.geodesic_diagnostics import residual_variances, sampled, strain
from lowland.math.graphs.shortest_paths import geodesic_distances
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun

RUN = LocalRun()


def test_residual_variance_of_planar_points_is_zero_from_two_dimensions_on():
    P = np.random.default_rng(0).standard_normal((80, 2)) * [3, 1]
    D = np.linalg.norm(P[:, None] - P[None, :], axis=2)
    left = residual_variances(D, 4)
    assert left[0] > 0.01
    np.testing.assert_allclose(left[1:], 0, atol=1e-9)
    values = np.linalg.eigvalsh(np.cov(P.T, bias=True) * 80)[::-1]
    means = (D * D).mean(axis=0)
    assert strain(D, means, values) == pytest.approx(0, abs=1e-6)
    assert strain(D, means, values[:1]) == pytest.approx(values[1] / 80)


@pytest.mark.parametrize("unit", [1e-150, 1e-100, 1e80, 1e150])
def test_diagnostics_do_not_depend_on_units(unit):
    graph = nearest_neighbors(swiss_roll(700, seed=2).X, 9, RUN).symmetric()
    D = geodesic_distances(graph, RUN)[:90, :90]
    np.testing.assert_allclose(residual_variances(D * unit, 3), residual_variances(D, 3), rtol=1e-6)
    means = (D * D).mean(axis=0)
    kept = np.array([means.mean()])
    assert strain(D * unit, means * unit * unit, kept * unit * unit) / unit / unit == pytest.approx(
        strain(D, means, kept)
    )


def test_a_sample_is_all_points_or_spread_evenly_over_them():
    assert sampled(5, 10).tolist() == [0, 1, 2, 3, 4]
    some = sampled(10_000, 100)
    assert len(some) == 100
    assert np.diff(some).max() <= 200
