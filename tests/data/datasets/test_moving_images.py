"""Moved images: the ground truth can be measured in the pixels."""

import numpy as np
import pytest

from lowland import data as samples


@pytest.fixture(scope="module")
def moved():
    return samples.moved_digits(60, size=100, shift=20, rotation=45, seed=5)


def centroids_and_axes(X, shape):
    """Center of mass (right, down) of each image and the direction of its longest axis in degrees, y up."""
    rows, columns = np.indices(shape).reshape(2, -1)
    mass = X.sum(axis=1)
    right, down = X @ columns / mass, X @ rows / mass
    x, y = columns - right[:, None], down[:, None] - rows
    xx, yy, xy = ((X * a * b).sum(axis=1) for a, b in ((x, x), (y, y), (x, y)))
    return np.column_stack([right, down]), np.degrees(np.arctan2(2 * xy, xx - yy)) / 2


def test_moved_digits_keep_their_total_brightness(moved):
    assert moved.X.shape == (60, 10000)
    assert moved.X.dtype == np.float32
    assert moved.X.min() >= 0
    assert moved.X.max() <= 1
    mass = moved.X.sum(axis=1)
    np.testing.assert_allclose(mass, mass.mean(), rtol=0.01)


def test_moved_digits_stay_in_the_image_and_the_truth_in_its_range(moved):
    images = moved.X.reshape(-1, 100, 100)
    frame = np.ones((100, 100), dtype=bool)
    frame[1:-1, 1:-1] = False
    assert images[:, frame].max() == 0
    largest = np.abs(moved.truth).max(axis=0)
    assert (largest <= [20, 20, 45]).all()
    assert (largest > [18, 18, 40]).all()


def test_the_truth_of_moved_digits_can_be_measured_in_the_images(moved):
    centers, axes = centroids_and_axes(moved.X.astype(float), (100, 100))
    np.testing.assert_allclose(centers, 49.5 + moved.truth[:, :2], atol=0.1)
    upright = samples.moved_digits(1, rotation=0).X.astype(float)
    _, (axis,) = centroids_and_axes(upright, (100, 100))
    turned = (axes - axis + 90) % 180 - 90
    np.testing.assert_allclose(turned, moved.truth[:, 2], atol=1.5)


@pytest.mark.parametrize("digit", range(10))
def test_every_digit_fits(digit):
    assert samples.moved_digits(2, digit=digit).X.sum() > 0


def test_the_patch_visits_every_position():
    sample = samples.moved_patch()
    assert sample.X.shape == (961, 2500)
    assert sample.image_shape == (50, 50)
    assert {(x, y) for x, y in sample.truth} == {(x, y) for x in range(31) for y in range(31)}


def test_the_position_of_the_patch_can_be_measured_in_the_images():
    noisy = samples.moved_patch(noise=0.1)
    clean = samples.moved_patch(noise=0)
    centers, _ = centroids_and_axes(clean.X, clean.image_shape)
    np.testing.assert_allclose(centers - centers[0], clean.truth - clean.truth[0], atol=1e-9)
    np.testing.assert_array_equal(np.argmax(noisy.X @ clean.X.T, axis=1), np.arange(961))


def test_the_nearest_images_are_the_nearest_positions():
    sample = samples.moved_patch()
    inner = ((sample.truth > 0) & (sample.truth < 30)).all(axis=1)
    square = (sample.X**2).sum(axis=1)
    D2 = square[:, None] + square - 2 * sample.X @ sample.X.T
    nearest = np.argsort(D2, axis=1)[:, 1:5]
    steps = np.abs(sample.truth[nearest] - sample.truth[:, None]).max(axis=2)
    assert (steps[inner] == 1).all()
