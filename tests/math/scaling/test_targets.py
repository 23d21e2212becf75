"""Target distances and the sums over their pairs."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, squareform

from lowland.errors import DataError
from lowland.math.scaling.targets import (
    Targets,
    check_connected,
    check_pair_weights,
    condensed_bases,
    upper_triangle,
    weight_sums,
    without_weightless,
)
from lowland.run.local import LocalRun

RUN = LocalRun()
TRIANGLE = np.array([[0.0, 3.0, 5.0], [3.0, 0.0, 4.0], [5.0, 4.0, 0.0]])


def test_the_upper_triangle_agrees_with_scipy(rng):
    D = cdist(*[rng.standard_normal((7, 2))] * 2)
    np.testing.assert_array_equal(upper_triangle(D), squareform(D, checks=False))
    bases = condensed_bases(7)
    assert upper_triangle(D)[bases[2] + 5] == D[2, 5]


def test_sums_of_a_triangle_of_sides_3_4_and_5():
    sums = weight_sums(Targets.of(TRIANGLE), RUN)
    assert sums.squares == 50
    np.testing.assert_array_equal(sums.weights, 2)
    np.testing.assert_array_equal(sums.divisors[:, 0], 3)  # n: the Guttman transform
    assert sums.mean_target == pytest.approx(np.sqrt(50 / 3))


def test_weights_and_missing_distances_count_in_the_sums():
    W = np.array([[7.0, 1.0, 2.0], [1.0, 7.0, 3.0], [2.0, 3.0, 7.0]])  # a point's weight with itself counts nothing
    sums = weight_sums(Targets.of(TRIANGLE, W), RUN)
    np.testing.assert_array_equal(sums.weights, [3, 4, 5])
    assert sums.squares == 1 * 9 + 2 * 25 + 3 * 16
    D = TRIANGLE.copy()
    D[0, 2] = D[2, 0] = np.nan
    sums = weight_sums(Targets.of(D, W, missing=True), RUN)
    assert sums.squares == 1 * 9 + 3 * 16


def test_weights_are_checked():
    for W, words in (
        (np.ones((2, 2)), "3 x 3"),
        (-np.ones((3, 3)), "negative"),
        (np.arange(9.0).reshape(3, 3), "not symmetric"),
    ):
        with pytest.raises(DataError, match=words):
            check_pair_weights(W, TRIANGLE)


def test_pairs_of_zero_weight_are_missing():
    W = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    D = without_weightless(TRIANGLE, W)
    assert np.argwhere(np.isnan(D)).tolist() == [[0, 1], [1, 0]]
    assert without_weightless(TRIANGLE, np.ones((3, 3))) is TRIANGLE


def test_points_without_any_known_distance_are_refused():
    D = np.full((4, 4), np.nan)
    np.fill_diagonal(D, 0)
    D[0, 1] = D[1, 0] = D[2, 3] = D[3, 2] = 1
    with pytest.raises(DataError, match=r"disconnected: 2 of 4 points, such as point 2, .* point 0"):
        check_connected(D)
    D[1, 2] = D[2, 1] = 1
    check_connected(D)
