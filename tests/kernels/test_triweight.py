"""Sums over pairs against plain numpy."""

import numpy as np
import pytest

from lowland.kernels.triweight import add_triweight_slopes, add_triweights


def plainly(P, width):
    square = ((P[:, :, None] - P[:, None, :]) ** 2).sum(axis=0) / width**2
    return np.triu(np.maximum(1 - square, 0) ** 3, 1).sum()


@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_sum_and_its_slopes(rng, k):
    P, width = rng.standard_normal((k, 40)), 0.8
    assert add_triweights(P, width) == pytest.approx(plainly(P, width))
    G = np.zeros_like(P)
    assert add_triweight_slopes(P, width, G) == pytest.approx(plainly(P, width))
    for c, i in ((0, 3), (k - 1, 20)):
        E = np.zeros_like(P)
        E[c, i] = 1e-6
        assert (plainly(P + E, width) - plainly(P - E, width)) / 2e-6 == pytest.approx(G[c, i], rel=1e-5, abs=1e-6)


def test_two_points_by_hand():
    assert add_triweights(np.array([[0.0, 1.0]]), 2.0) == pytest.approx((3 / 4) ** 3)
    assert add_triweights(np.array([[0.0, 3.0]]), 2.0) == 0
