"""Images with few degrees of freedom and known ground truth: one picture at many positions."""

import math
from collections.abc import Callable

import numpy as np

from lowland.data.datasets.arguments import Seed, check_integer, check_number, check_points, random_generator
from lowland.data.datasets.dataset import Array, Dataset, image_dataset
from lowland.data.datasets.generators import rotation_matrix, with_noise
from lowland.errors import ParameterError


def moved_digits(
    n: int = 1000,
    noise: float = 0.0,
    seed: Seed = 0,
    *,
    digit: int = 3,
    size: int = 100,
    shift: float = 20.0,
    rotation: float = 45.0,
) -> Dataset:
    """One handwritten digit, shifted and rotated in large images: three degrees of freedom.

    The center of mass of the digit is shifted from the image center by up to `shift` pixels in each direction; the
    digit is rotated about it by up to `rotation` degrees. truth is the shift to the right, the shift down, and the
    counterclockwise angle; y is the angle. X is float32, with 1 for ink and 0 for background.
    """
    from scipy.ndimage import affine_transform, center_of_mass

    _check_moved_digits(n, noise, digit, size, shift, rotation)
    glyph = _glyph(digit)
    heart = np.array(center_of_mass(glyph))
    zoom = size / 25
    _check_room(glyph, heart, zoom, size, shift)
    rng = random_generator("moved_digits", seed)
    truth = rng.uniform(-1, 1, (n, 3)) * [shift, shift, rotation]
    images = np.empty((n, size, size), dtype=np.float32)
    for image, (right, down, turn) in zip(images, truth, strict=True):
        # affine_transform needs the inverse map: from a pixel (row, column) to a position in the glyph
        A = rotation_matrix(turn).T / zoom
        offset = heart - A @ ((size - 1) / 2 + np.array([down, right]))
        affine_transform(glyph, A, offset, output=image, order=1, mode="grid-constant")
    about = (
        f"The digit {digit} of scikit-learn's digits, randomly shifted and rotated in images of {size} × {size}. "
        "truth: shift right, shift down, angle."
    )
    X = with_noise(images.reshape(n, -1), noise, rng)
    return image_dataset(X, (size, size), truth[:, 2].copy(), about, truth)


def _check_moved_digits(n: int, noise: float, digit: int, size: int, shift: float, rotation: float) -> None:
    check_points("moved_digits", n, noise)
    check_integer("moved_digits", "digit", digit, 0)
    if digit > 9:
        raise ParameterError("not a digit.", "Choose one from 0 to 9.", method="moved_digits", digit=digit)
    # below 25 pixels the glyph would be smaller than its original 8 × 8
    check_integer("moved_digits", "size", size, 25)
    check_number("moved_digits", "shift", shift, at_least=0)
    check_number("moved_digits", "rotation", rotation, at_least=0)


def _check_room(glyph: Array, heart: Array, zoom: float, size: int, shift: float) -> None:
    # linear interpolation spreads ink over one more glyph pixel each way, √2 along the diagonal
    reach = zoom * (np.linalg.norm(np.argwhere(glyph > 0) - heart, axis=1).max() + np.sqrt(2))
    room = (size - 1) / 2 - reach
    if shift > room:
        limit = math.floor(10 * room) / 10
        raise ParameterError(
            f"the digit would leave the image of {size} × {size}.",
            f"Choose a shift of at most {limit}, or a larger size.",
            method="moved_digits",
            shift=shift,
        )


def _glyph(digit: int) -> Array:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return np.asarray(digits.images[np.argmax(digits.target == digit)] / 16)  # (8, 8)


def moved_patch(n: int = 961, noise: float = 0.05, seed: Seed = 0) -> Dataset:
    """A small face at each position of a square grid over background noise, a test of locally linear embedding.

    With n = 31² = 961 the face of 20 × 20 pixels moves through images of 50 × 50. truth is the position, in columns
    from the left and rows from the top; y is the first of them. After Saul and Roweis (2003), with a drawn face.
    """
    check_points("moved_patch", n, noise)
    steps = math.isqrt(n)
    if steps**2 != n:
        raise ParameterError(
            "the positions form a square grid.",
            f"Choose n = {steps**2} or {(steps + 1) ** 2}.",
            method="moved_patch",
            n=n,
        )
    patch = _drawn_face(20)
    size = len(patch) + steps - 1
    images = with_noise(np.zeros((n, size, size)), noise, random_generator("moved_patch", seed))
    rows, columns = np.divmod(np.arange(n), steps)
    for image, row, column in zip(images, rows, columns, strict=True):
        image[row : row + len(patch), column : column + len(patch)] = patch
    about = (
        f"A drawn face at {steps} × {steps} positions over noise, generated; after Saul and Roweis (2003). "
        "truth: columns from the left, rows from the top."
    )
    truth = np.column_stack([columns, rows]).astype(float)
    return image_dataset(images.reshape(n, -1), (size, size), truth[:, 0].copy(), about, truth)


def _drawn_face(side: int) -> Array:
    # fades to zero at the border, so that a shift by one pixel is a small change
    y, x = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side), indexing="ij")
    head = np.cos(np.pi * x / 2) ** 2 * np.cos(np.pi * y / 2) ** 2
    eyes = np.exp(-((np.abs(x) - 0.35) ** 2 + (y + 0.2) ** 2) / 0.02)
    mouth = np.exp(-(x**2 / 0.08 + (y - 0.4) ** 2 / 0.01))
    face: Array = head * (1 - 0.8 * eyes - 0.6 * mouth)
    return face


MOVING_IMAGES: dict[str, Callable[..., Dataset]] = {make.__name__: make for make in (moved_digits, moved_patch)}
