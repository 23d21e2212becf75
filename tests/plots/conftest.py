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
def drawn(tmp_path):
    """Render, so that errors of rendering appear here; return the only axes."""

    def draw(figure):
        figure.savefig(tmp_path / "figure.png")
        return figure.axes[0]

    return draw
