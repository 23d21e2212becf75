"""The bandwidth of a kernel: by the sum of the kernel, and by the median distance."""

import numpy as np
import pytest

from lowland.errors import DataError
from lowland.math.graphs.bandwidth import kernel_sum_bandwidth, median_squared, sampled_distances


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_the_kernel_sum_gives_bandwidth_and_dimension(dimension):
    rng = np.random.default_rng(0)
    X = rng.random((1500, dimension))
    some = X[:300]
    D = np.sqrt(np.sum((some[:, None] - X[None]) ** 2, axis=-1))
    width = kernel_sum_bandwidth(D)
    assert abs(width.dimension - dimension) < 0.25 * dimension
    near = np.sort(D, axis=1)[:, 1] ** 2
    assert np.median(near) < width.epsilon < 0.3  # wider than the gaps, narrower than the data
    again = kernel_sum_bandwidth(1000 * D)
    np.testing.assert_allclose(again.epsilon, 1e6 * width.epsilon, rtol=1e-9)
    with pytest.raises(DataError, match="All rows are equal"):
        kernel_sum_bandwidth(np.zeros((3, 3)))


def test_the_binned_kernel_sum_equals_the_sum():
    D = np.abs(np.subtract.outer(np.linspace(0, 1, 80) ** 2, np.linspace(0, 1, 80) ** 2))
    width = kernel_sum_bandwidth(D)
    x = D**2 / width.epsilon
    assert abs(2 * np.sum(x * np.exp(-x)) / np.sum(np.exp(-x)) - width.dimension) < 1e-3


def test_the_median_of_squared_lengths_ignores_zeros_if_most_are_zero():
    assert median_squared(np.array([1.0, 2.0, 3.0])) == 4.0
    assert median_squared(np.array([0.0, 0.0, 0.0, 3.0])) == 9.0
    assert median_squared(np.zeros(3)) == 1.0


def test_distances_of_sampled_rows_are_rows_of_the_matrix(rng):
    X = rng.random((700, 2))
    D = sampled_distances(X, "euclidean", {})
    assert D.shape == (500, 700)
    np.testing.assert_allclose(D[-1], np.linalg.norm(X - X[-1], axis=1), atol=1e-12)
    assert sampled_distances(D[:, :500], "precomputed", {}).shape == (500, 500)
