"""Sweeps and exact solves of the active set: the minimum of a quadratic with an L1 penalty."""

import numpy as np
import pytest

import lowland
from lowland.math.selection.coordinate_descent import minimize
from lowland.run.local import LocalRun


def solve(G, q, alpha, sweeps=10_000):
    beta, g = np.zeros(len(q)), q.copy()
    made, gap = minimize(G, q, g, beta, alpha, 0.0, 1.0, 1e-14, sweeps)
    np.testing.assert_allclose(g, q - G @ beta, atol=1e-12)
    return beta, made, gap


def test_two_columns_by_hand():
    """With both columns in, Gβ = q - α: (0.8 - 0.1, 0.6 - 0.1) = (β₁ + β₂/2, β₁/2 + β₂)."""
    beta, _, gap = solve(np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([0.8, 0.6]), 0.1)
    np.testing.assert_allclose(beta, [0.6, 0.2], atol=1e-12)
    assert gap <= 1e-14


def test_correlated_columns_need_few_sweeps():
    """Sweeps alone would take thousands: the equations of the active set are solved directly."""
    G = np.full((4, 4), 0.9999) + 0.0001 * np.eye(4)
    beta, made, _ = solve(G, G @ [0.3, 0.2, 0.1, 0.1] + 0.01, 0.01)
    np.testing.assert_allclose(beta, [0.3, 0.2, 0.1, 0.1], atol=1e-7)
    assert made <= 60


@pytest.mark.parametrize("times", [1.0, 0.5])
def test_of_collinear_columns_the_largest_is_selected(times):
    beta, _, _ = solve(np.array([[1.0, times], [times, times**2]]), np.array([0.8, 0.8 * times]), 0.1)
    np.testing.assert_allclose(beta, [0.7, 0.0], atol=1e-12)


def test_the_search_reports_and_ends_where_the_gap_no_longer_decreases(monkeypatch):
    monkeypatch.setattr("lowland.run.progress.EVENT_EVERY", 0.0)
    events = []
    G, q = np.eye(3), np.array([1e-17, -2e-17, 3e-17])
    beta = np.zeros(3)
    with lowland.config(progress=events.append), LocalRun().stage("fitting", 1):
        steps, gap = minimize(G, q, q.copy(), beta, 1e-20, 0.0, 1.0, -1.0, 10**7)
    assert gap > -1.0  # the tolerance cannot be reached
    assert steps < 10**5
    assert len(events) > 10
