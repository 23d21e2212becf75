"""Fixtures of the tests of figures."""

import pytest

import lowland
from lowland.data import load_dataset


@pytest.fixture(scope="module")
def digits():
    return load_dataset("digits")


@pytest.fixture(scope="module")
def pca(digits):
    return lowland.PCA().fit(digits.X)


@pytest.fixture
def drawn():
    """Draw, so that errors of drawing appear here; return the first axes."""

    def draw(figure):
        figure.draw_without_rendering()  # pixels are rendered in the tests of notebooks
        return figure.axes[0]

    return draw
