"""Thumbnails of images: valid PNG files, small in all, in the report of a folder of images and in a saved study."""

import base64
import io
import json
import re

import numpy as np
import pytest

import lowland
from lowland.study import load_study
from lowland.study.report import report_html
from lowland.study.table import MAX_BYTES, thumbnails_of

Image = pytest.importorskip("PIL.Image")


def opened(text):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))))


@pytest.mark.parametrize("shape", [(8, 8), (8, 6), (7, 9, 3), (1, 5)])
def test_small_images_are_kept_pixel_by_pixel(shape):
    pixels = np.random.default_rng(0).integers(0, 256, (3, int(np.prod(shape)))).astype(np.uint8)
    found = thumbnails_of(pixels / np.float32(255), shape)
    for text, row in zip(found, pixels, strict=True):
        np.testing.assert_array_equal(opened(text), row.reshape(shape))


def test_large_images_are_shrunk_to_the_means_of_blocks():
    image = np.kron(np.array([[0.0, 1.0], [0.2, 0.6]]), np.ones((100, 100)))
    (text,) = thumbnails_of(image.reshape(1, -1), (200, 200))
    small = opened(text)
    assert small.shape == (48, 48)
    assert small[0, 0] == 0
    assert small[0, -1] == 255
    assert small[-1, 0] == 51
    (wide,) = thumbnails_of(np.ones((1, 30 * 400)), (30, 400))
    assert opened(wide).shape == (4, 48)


def test_all_thumbnails_together_are_small():
    rng = np.random.default_rng(0)
    noise = rng.random((1000, 64 * 64), dtype=np.float32)
    found = thumbnails_of(np.repeat(noise, 5, axis=0), (64, 64))
    assert sum(map(len, found)) <= 1.05 * MAX_BYTES
    assert len({opened(text).shape for text in found[::500]}) == 1
    assert thumbnails_of(np.broadcast_to(noise[0], (200_000, 64 * 64)), (64, 64)) is None


@pytest.fixture(scope="module")
def of_images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for i in range(12):
        Image.fromarray(rng.integers(0, 256, (6, 5)).astype(np.uint8)).save(folder / f"image {i:02}.png")
    return folder, lowland.compare(folder, methods=["pca"], cache=False)


def test_the_report_of_a_folder_of_images_has_their_thumbnails(of_images):
    folder, study = of_images
    html = report_html(study)
    said = json.loads(re.search(r'id="study">(.*?)</script>', html, re.S)[1])
    place = said["table"]["thumbnails"]
    texts = re.search(rf'id="block-{place["block"]}">([^<]*)</script>', html)[1].split(" ")
    files = sorted(folder.iterdir())
    for text, file in zip(texts, files, strict=True):
        np.testing.assert_array_equal(opened(text), np.asarray(Image.open(file)))
    assert "img-src data:;" in html


def test_other_tables_and_parts_of_images_have_no_thumbnails(of_images):
    folder, _ = of_images
    part = lowland.compare(folder, methods=["pca"], drop=["pixel 0"], cache=False)
    assert part.table.thumbnails is None
    numbers = lowland.compare(np.random.default_rng(0).random((12, 30)), methods=["pca"], cache=False)
    assert numbers.table.thumbnails is None


def test_a_saved_study_keeps_its_thumbnails(of_images, tmp_path):
    _, study = of_images
    back = load_study(study.save(tmp_path / "study"))
    assert back.table.thumbnails.tolist() == study.table.thumbnails.tolist()
