"""A data set: a table, its labels and its ground truth.

Conventions. X is float64, except where that would waste memory: "mnist", "olivetti" and "frey" have uint8 pixels,
"isomap_faces" and "moved_digits" are float32. Images are rows of pixels in row-major order; `image_shape` is (height,
width). Angles are in degrees. A seed determines all numbers; the same seed with other noise has the same ground truth.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from lowland.errors import ParameterError
from lowland.suggestions import did_you_mean

Array = np.ndarray
Seed = int | None | np.random.Generator


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table, its labels and its ground truth. `X, y = dataset` also works.

    X (n, d) rows, or for kind "distances" or "covariance" the symmetric matrix y (n,) labels or positions on the
    manifold, or None names names of the d columns label_names label_names[y[i]] is the class name of row i, or None
    about description and source truth (n, k) the true low-dimensional coordinates or sources, or None image_shape
    (height, width) when each row is an image, or None kind "rows", "distances" or "covariance"
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


# --- checks of the arguments ------------------------------------------------------------------------------------------


def check_integer(call: str, name: str, value: int, at_least: int) -> None:
    """Raise an error unless the value is an integer of at least ``at_least``."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_integer or value < at_least:
        reason = f"{name} is too small." if is_integer else f"{name} must be an integer."
        raise ParameterError(reason, f"Choose {at_least} or more.", method=call, given={name: value})


def check_number(call: str, name: str, value: float, at_least: float = -math.inf) -> None:
    """Raise an error unless the value is a finite number of at least ``at_least``."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ParameterError(
            f"{name} must be a finite number.", "Choose one, such as 1.", method=call, given={name: value}
        )
    if value < at_least:
        raise ParameterError(f"{name} is too small.", f"Choose {at_least} or more.", method=call, given={name: value})


def one_of(call: str, name: str, value: Any, choices: Any) -> str:
    """Return the value if it is one of the choices; otherwise raise an error with a suggestion."""
    if isinstance(value, str) and value in choices:
        return value
    remedy = f"{did_you_mean(value, choices)}Choose one of: {', '.join(choices)}."
    raise ParameterError(f"unknown {name}.", remedy, method=call, given={name: value})


def random_generator(call: str, n: int, noise: float, seed: Seed) -> np.random.Generator:
    """Return the random generator of a seed; raise an error for fewer than 1 point, or negative noise."""
    check_integer(call, "n", n, 1)
    check_number(call, "noise", noise, at_least=0)
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as problem:
        raise ParameterError(
            "not a valid seed.", "Choose an integer of 0 or more.", method=call, seed=seed
        ) from problem
