"""Distance correlation against its definition by two n x n tables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.math.selection.distance_correlation import DistanceCorrelation
from lowland.math.statistics.labels import Target


def by_definition(x, y):
    """Distance correlation from two n x n tables; y a vector, or a table of distances."""
    tables = [np.abs(x[:, None] - x[None, :]), np.abs(y[:, None] - y[None, :]) if y.ndim == 1 else y]
    A, B = (D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean() for D in tables)
    return np.sqrt((A * B).mean() / np.sqrt((A * A).mean() * (B * B).mean()))


def distance_correlation(x, target):
    measure = DistanceCorrelation.to(target)
    return measure(measure.prepare(x, 0), 0)


@settings(max_examples=30, deadline=None)
@given(n=st.integers(2, 60), ties=st.booleans(), seed=st.integers(0, 1000))
def test_distance_correlation_agrees_with_its_definition(n, ties, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, n))
    y = x**2 + y
    if ties:
        x, y = np.round(x), np.round(y)
    x[0], y[0] = 10, 20  # neither is constant
    value, p = distance_correlation(x, Target(y, None))
    np.testing.assert_allclose(value, by_definition(x, y), rtol=1e-7, atol=1e-7)
    assert 0 <= p <= 1
    kinds = (rng.integers(0, 3, n) + np.arange(n)) % 3
    kinds = np.unique(kinds, return_inverse=True)[1]
    if kinds.max() > 0:
        apart = (kinds[:, None] != kinds[None, :]).astype(float)
        value, _ = distance_correlation(x, Target.of_classes(kinds))
        np.testing.assert_allclose(value, by_definition(x, apart), rtol=1e-7, atol=1e-7)


def test_distance_correlation_detects_nonlinear_dependence():
    x = np.linspace(-1, 1, 201)
    value, p = distance_correlation(x, Target(x**2, None))
    assert value == pytest.approx(0.49, abs=0.02)
    assert p < 1e-6
    assert distance_correlation(x, Target(3 - 7 * x, None))[0] == pytest.approx(1)
    two = (x > 0.3).astype(np.int64)
    assert distance_correlation(x, Target.of_classes(two))[0] == pytest.approx(
        distance_correlation(x, Target(two.astype(float), None))[0]
    )


def test_the_bound_on_the_p_value_holds():
    rng = np.random.default_rng(0)
    pairs = rng.standard_normal((400, 2, 40))
    p = np.array([distance_correlation(x, Target(y, None))[1] for x, y in pairs])
    for level in (0.01, 0.05):
        assert (p <= level).mean() <= level + 3 * np.sqrt(level / 400)
