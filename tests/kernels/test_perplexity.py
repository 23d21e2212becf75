import numpy as np

from lowland.kernels.perplexity import calibrate


def test_weights_are_gaussian_with_the_entropy_asked_for():
    d = np.sort(np.random.default_rng(0).uniform(1, 3, 40))
    P = np.zeros(40)
    calibrate(np.array([0, 40]), d, np.log(12.0), 1e-10, 0, 1, P)
    slope = np.diff(np.log(P)) / np.diff(d**2)
    np.testing.assert_allclose(slope, slope[0])
    assert abs(-(P * np.log(P)).sum() - np.log(12)) < 1e-9


def test_only_the_asked_rows_are_added_to():
    P = np.ones(6)
    calibrate(np.array([0, 2, 4, 6]), np.arange(6.0), np.log(1.5), 1e-9, 1, 2, P)
    assert (P[[0, 1, 4, 5]] == 1).all()
    assert P[2:4].sum() == 3
