"""A data set: a table, its labels and its ground truth.

Conventions. X is float64, except where that would waste memory: "mnist", "olivetti" and "frey" have uint8 pixels,
"isomap_faces" and "moved_digits" are float32. Images are rows of pixels in row-major order; `image_shape` is (height,
width). Angles are in degrees. A seed determines all numbers; the same seed with other noise has the same ground truth.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table, its labels and its ground truth. `X, y = dataset` also works.

    X            (n, d) rows; for kind "distances" or "covariance" the symmetric matrix
    y            (n,) labels or positions on the manifold, or None
    names        names of the d columns
    label_names  label_names[y[i]] is the class name of row i, or None
    about        description and source
    truth        (n, k) the true low-dimensional coordinates or sources, or None
    image_shape  (height, width) when each row is an image, or None
    kind         "rows", "distances" or "covariance"
    """

    X: Array
    y: Array | None = None
    names: tuple[str, ...] = ()
    label_names: tuple[str, ...] | None = None
    about: str = ""
    truth: Array | None = None
    image_shape: tuple[int, int] | None = None
    kind: str = "rows"

    def __iter__(self) -> Iterator[Any]:
        yield self.X
        yield self.y

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"<Dataset of {self.kind}, {n} × {d} {self.X.dtype}: {self.about}>"


def image_dataset(
    X: Array, shape: tuple[int, int], y: Array | None, about: str, truth: Array | None = None, **rest: Any
) -> Dataset:
    """Return images, one per row, as a data set whose columns are named by pixel."""
    height, width = shape
    names = tuple(f"pixel_{row}_{column}" for row in range(height) for column in range(width))
    return Dataset(X.reshape(len(X), -1), y, names, about=about, truth=truth, image_shape=(height, width), **rest)
