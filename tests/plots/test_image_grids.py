"""Grids of images."""

import numpy as np
import pytest

import lowland
from lowland import plots
from lowland.errors import DataError, ParameterError


def test_reconstructions_are_drawn_next_to_the_rows(digits, pca, drawn):
    ax = drawn(plots.reconstructions(pca, digits.X[:2], digits.image_shape, (1, 10, 250)))
    mosaic = np.asarray(ax.images[0].get_array())
    assert [text.get_text() for text in ax.texts if text.get_text()] == [
        "original",
        "M = 1",
        "M = 10",
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


def test_a_component_of_zeros_is_drawn(drawn):
    ax = drawn(plots.components_as_images(np.zeros((1, 4)), (2, 2)))
    assert np.nanmax(np.abs(np.asarray(ax.images[0].get_array()))) == 0


def test_invalid_images_are_refused(digits):
    with pytest.raises(DataError, match="need 81 columns"):
        plots.images(digits.X[:5], (9, 9))
    with pytest.raises(DataError, match="2 titles for 5 images"):
        plots.images(digits.X[:5], (8, 8), titles=["a", "b"])
    for columns in (0, 1.5):
        with pytest.raises(ParameterError, match=f"columns={columns}"):
            plots.images(digits.X[:5], (8, 8), columns=columns)
    with pytest.raises(ParameterError, match="image_shape=8"):
        plots.images(digits.X[:5], 8)
    for rows in (np.ones((0, 64)), np.full((2, 64), np.nan)):
        with pytest.raises(DataError, match="nothing to draw"):
            plots.images(rows, (8, 8))


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
