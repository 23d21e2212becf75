"""Rows drawn as images, thumbnails around a map, and the paths along which they are chosen."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lowland
from lowland import plots
from lowland.errors import DataError, ParameterError
from lowland.plots.pictures import rows_along, walk


def test_reconstructions_are_drawn_next_to_the_rows(digits, pca, drawn):
    ax = drawn(plots.reconstructions(pca, digits.X[:2], digits.image_shape, (1, 10, 250)))
    mosaic = np.asarray(ax.images[0].get_array())
    assert [text.get_text() for text in ax.texts if text.get_text()] == [
        "original",
        "m = 1",
        "m = 10",
    ]
    assert np.ma.masked_invalid(mosaic).count() == 2 * 3 * 64
    np.testing.assert_allclose(mosaic[2:10, 1:9].ravel(), digits.X[0])
    ten = lowland.PCA(10).fit(digits.X)
    np.testing.assert_allclose(
        mosaic[2:10, 19:27].ravel(), ten.inverse_transform(ten.transform(digits.X[:1]))[0], atol=1e-9
    )
    with pytest.raises(ParameterError, match=r"components=.*the model has 64"):
        plots.reconstructions(pca, digits.X[:2], digits.image_shape, (100,))
    for count in (1.5, "3", True, 0):
        with pytest.raises(ParameterError, match="integer of at least 1"):
            plots.reconstructions(pca, digits.X[:2], digits.image_shape, (count, 5))
    for model in (pca.components_, lowland.Isomap(2)):
        with pytest.raises(DataError, match=r"has no inverse_transform.*plots.reconstructions"):
            plots.reconstructions(model, digits.X[:2], digits.image_shape)


def test_only_rows_of_images_with_titles_reserve_space(digits, drawn):
    titled, plain = ["a", "b", "", ""], ["a", "b", "c", "d"]
    heights = [
        drawn(plots.images(digits.X[:4], (8, 8), columns=2, titles=words)).images[0].get_array().shape[0]
        for words in (None, titled, plain)
    ]
    assert heights == [2 * 9 + 1, 10 + 9 + 1, 2 * 10 + 1]


def test_components_as_images_keep_every_pixel_and_its_sign(digits, pca, drawn):
    ax = drawn(plots.components_as_images(pca.components_[:6], digits.image_shape, columns=3))
    mosaic = np.asarray(ax.images[0].get_array())
    assert ax.images[0].get_clim() == (-1, 1)
    assert [text.get_text() for text in ax.texts] == list("123456")
    # six tiles of 8 x 8, each to its own scale
    tiles = [mosaic[top : top + 8, left : left + 8] for top in (2, 12) for left in (1, 10, 19)]
    for tile, component in zip(tiles, pca.components_, strict=False):
        np.testing.assert_allclose(tile.ravel(), component / np.abs(component).max())
    assert np.ma.masked_invalid(mosaic).count() == 6 * 64


def test_images_share_one_scale(digits, drawn):
    ax = drawn(plots.images(digits.X[:5], digits.image_shape, columns=5, titles=list("abcde")))
    assert ax.images[0].get_clim() == (0, 16)
    assert [text.get_text() for text in ax.texts] == list("abcde")


def test_images_of_three_dimensions_tell_their_shape(drawn):
    pixels = np.arange(24.0).reshape(2, 3, 4)
    ax = drawn(plots.images(pixels))
    assert np.nanmax(ax.images[0].get_array()) == 23
    assert len(ax.patches) == 2
    assert len(drawn(plots.images(pixels[0].ravel(), (3, 4))).patches) == 1  # a single row
    figure = plots.thumbnails(np.eye(4, 2), np.arange(48.0).reshape(4, 3, 4), count=2)
    assert drawn(figure).images[0].get_array().shape == (3, 4)
    for draw in (plots.images, lambda X: plots.thumbnails(X[:, :2], X)):
        with pytest.raises(ParameterError, match=r"image_shape=None.*height and width"):
            draw(np.ones((5, 4)))


def boxes(ax):
    return np.array([image.get_extent() for image in ax.images])[:, [0, 2, 1, 3]]  # left, bottom, right, top


def crossing(a, b, c, d):
    def side(p, q, r):
        return np.sign((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]))

    return side(a, b, c) != side(a, b, d) and side(c, d, a) != side(c, d, b)


@pytest.mark.parametrize(("shape", "stretch"), [((8, 8), 1.0), ((16, 4), 0.01), ((4, 16), 30.0)])
def test_thumbnails_are_placed_around_the_points_and_do_not_overlap(digits, pca, shape, stretch, drawn):
    Z = pca.transform(digits.X)[:, :2] * [1.0, stretch]
    rows = np.arange(0, 1750, 70)
    ax = drawn(plots.thumbnails(Z, digits.X, shape, rows))
    np.testing.assert_array_equal([image.get_array() for image in ax.images], digits.X[rows].reshape(-1, *shape))
    found = boxes(ax)
    for one, other in itertools.combinations(found, 2):
        assert (one[2:] <= other[:2]).any() or (other[2:] <= one[:2]).any()
    for left, bottom, right, top in found:
        inside = ([left, bottom] < Z) & ([right, top] > Z)
        assert not inside.all(axis=1).any()
        assert np.isclose((right - left) / (top - bottom), shape[1] / shape[0])
    leaders = [line.get_xydata() for line in ax.lines if len(line.get_xydata()) == 2]
    np.testing.assert_array_equal([line[0] for line in leaders], Z[rows])
    assert not any(crossing(*one, *other) for one, other in itertools.combinations(leaders, 2))
    assert (found[:, :2].min(axis=0) > [ax.get_xlim()[0], ax.get_ylim()[0]]).all()


def test_thumbnails_along_a_path(digits, pca, drawn):
    Z = pca.transform(digits.X)
    ax = drawn(plots.thumbnails(Z, digits.X, digits.image_shape, count=6, labels=digits.y, title="walk"))
    path = ax.lines[0].get_xydata()
    ends = Z[[Z[:, 0].argmin(), Z[:, 0].argmax()], :2]
    np.testing.assert_array_equal(path[[0, -1]], ends)
    assert len(ax.images) == 6
    np.testing.assert_array_equal(ax.images[0].get_array().ravel(), digits.X[Z[:, 0].argmin()])
    assert ax.get_title(loc="left") == "walk"
    line = np.array([[-20.0, 0.0], [20.0, 0.0]])
    ax = drawn(plots.thumbnails(Z, digits.X, digits.image_shape, path=line))
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), line)
    Z[500:] = np.nan
    ax = drawn(plots.thumbnails(Z, digits.X, digits.image_shape, [7], path=[3, 4, 5]))
    assert len(ax.images) == 1
    np.testing.assert_array_equal(ax.lines[0].get_xydata()[[0, -1]], Z[[3, 5], :2])


def test_a_component_of_zeros_and_a_single_location_are_drawn(drawn):
    ax = drawn(plots.components_as_images(np.zeros((1, 4)), (2, 2)))
    assert np.nanmax(np.abs(np.asarray(ax.images[0].get_array()))) == 0
    assert len(drawn(plots.thumbnails(np.zeros((3, 2)), np.eye(3, 4), (2, 2))).images) == 1


# --- paths


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 40))
@settings(max_examples=30, deadline=None)
def test_the_path_minimizes_the_sum_of_squared_steps(seed, n):
    Z = np.random.default_rng(seed).random((n, 2))
    costs = np.sum((Z[:, None] - Z[None]) ** 2, axis=2)
    least = costs.copy()
    for k in range(n):  # Floyd and Warshall, over all pairs
        least = np.minimum(least, least[:, [k]] + least[[k]])
    rows = walk(Z, np.array([0, n - 1]))
    assert (rows[0], rows[-1]) == (0, n - 1)
    np.testing.assert_allclose(costs[rows[:-1], rows[1:]].sum(), least[0, n - 1])


def test_the_path_follows_a_curve_through_the_given_points():
    angle = np.linspace(0, 1.6 * np.pi, 80)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    np.testing.assert_array_equal(walk(ring, np.array([0, 79])), np.arange(80))
    np.testing.assert_array_equal(walk(ring, np.array([5, 9, 7])), [5, 6, 7, 8, 9, 8, 7])


@pytest.mark.parametrize("slope", [0.0, 0.3, np.inf])
def test_paths_over_collinear_and_duplicate_points(slope):
    t = np.array([3.0, 0.0, 1.0, 1.0, 2.0])
    Z = np.column_stack([0 * t, t]) if np.isinf(slope) else np.column_stack([t, slope * t])
    assert walk(Z, np.array([1, 0])).tolist() == [1, 2, 4, 0]
    assert walk(Z, np.array([3, 0])).tolist() == [3, 4, 0]
    assert walk(Z, np.array([2, 3])).tolist() == [2, 3]
    assert walk(Z[:2], np.array([0, 1])).tolist() == [0, 1]


def test_rows_are_spread_evenly_over_the_length_of_the_path():
    Z = np.stack(np.meshgrid(np.arange(11.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    corners = np.array([[0, 0], [1, 0], [10, 0], [10, 2]])  # 12 long; how it is cut into pieces does not matter
    np.testing.assert_array_equal(Z[rows_along(Z, corners, 4)], [[0, 0], [4, 0], [8, 0], [10, 2]])
    assert rows_along(Z, corners, 1).tolist() == [0]


def test_rows_appear_once_and_have_coordinates():
    Z = np.array([[2.0, 0], [0, 0], [np.nan, np.nan], [1, 0]])
    assert rows_along(Z, np.array([[0.0, 0], [2, 0]]), 50).tolist() == [1, 3, 0]
    assert rows_along(Z, np.array([[1.0, 0], [1, 0]]), 3).tolist() == [3]
