import numpy as np

from lowland.kernels.descent_steps import adam_rows, momentum_rows


def test_momentum_and_gains_follow_their_formulas():
    rng = np.random.default_rng(0)
    Z, G, V, gains = (rng.standard_normal((6, 2)) for _ in range(4))
    gains = np.abs(gains)
    grown = np.maximum(np.where((G > 0) != (V > 0), gains + 0.2, 0.8 * gains), 0.01)
    moved = 0.8 * V - 0.1 * grown * G
    length = np.linalg.norm(moved, axis=1, keepdims=True)
    moved *= np.minimum(1, 0.5 / length)
    expected = Z + moved
    squares, farthest = momentum_rows(Z, G, V, gains, 0, 6, 0.1, 0.8, 0.01, 0.5)
    np.testing.assert_allclose(Z, expected, rtol=1e-12)
    np.testing.assert_allclose([squares, farthest], [(G**2).sum(), (moved**2).sum(axis=1).max()], rtol=1e-12)


def test_adam_follows_its_formula_on_its_rows_only():
    rng = np.random.default_rng(1)
    Z, G, M, S = (rng.standard_normal((6, 3)).astype(np.float32) for _ in range(4))
    S = np.abs(S)
    before = Z.copy()
    m, s = 0.9 * M + 0.1 * G, 0.999 * S + 0.001 * G**2
    expected = Z - 0.5 * (m / 0.19) / (np.sqrt(s / 0.002) + 1e-7)
    adam_rows(Z, G, M, S, 2, 5, 0.5, 0.9, 0.999, 0.19, 0.002, 1e-7)
    np.testing.assert_allclose(Z[2:5], expected[2:5], rtol=1e-5)
    assert (Z[[0, 1, 5]] == before[[0, 1, 5]]).all()
