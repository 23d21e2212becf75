import numpy as np
import pytest

from lowland.math.embeddings.anchor import Anchor

RNG = np.random.default_rng(0)
A = RNG.standard_normal((50, 2))


def test_a_scaled_copy_of_the_reference_costs_nothing():
    anchor = Anchor(A, 0.25)
    assert anchor.with_value(7 * A, 2.0) == pytest.approx(1.5)
    G = np.ones_like(A)
    anchor.add_gradient(7 * A, G)
    np.testing.assert_allclose(G, 0.75)


def test_the_value_is_the_mean_squared_distance_at_the_best_scale():
    Z = RNG.standard_normal((50, 2))
    tried = [((Z - s * A) ** 2).sum() / 50 for s in np.linspace(0, 1, 100_001)]
    assert Anchor(A, 1.0).with_value(Z, 3.0) == pytest.approx(min(tried), rel=1e-6)


def test_the_scale_is_never_negative():
    assert Anchor(A, 0.5).scale(-A) == 0


def test_the_reference_is_rotated_or_reflected_to_the_start():
    turn = np.array([[0.0, 1.0], [1.0, 0.0]])
    start = A - A.mean(axis=0)
    anchor = Anchor.aligned(3 * A @ turn + 5, 0.5, start)
    np.testing.assert_allclose(anchor.A, 3 * start, atol=1e-12)
