"""A data set: a table with what is known about it.

Conventions. X holds float64 rows, except where that would waste memory: "mnist", "olivetti" and "frey" keep their uint8
pixels, "isomap_faces" and "moved_digits" are float32. Images are rows of pixels, read line by line; `image_shape` is
(height, width). Angles are in degrees. A seed fixes every number; the same seed with other noise keeps the same truth.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table with what is known about it. `X, y = sample` works too.

    X            (n, d) rows; for kind "distances" or "covariance" the symmetric matrix itself
    y            (n,) labels or positions on the manifold, or None
    names        the d columns' names
    label_names  label_names[y[i]] is the name of row i's class, or None
    about        what it is and where it comes from
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
        return f"<Sample of {self.kind}, {n} × {d} {self.X.dtype}: {self.about}>"


def image_dataset(
    X: Array, shape: tuple[int, int], y: Array | None, about: str, truth: Array | None = None, **rest: Any
) -> Dataset:
    """Return images, one a row, as a data set whose columns are named by their pixels."""
    height, width = shape
    names = tuple(f"pixel_{row}_{column}" for row in range(height) for column in range(width))
    return Dataset(X.reshape(len(X), -1), y, names, about=about, truth=truth, image_shape=(height, width), **rest)
