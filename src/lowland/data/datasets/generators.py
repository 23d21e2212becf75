"""Samples to learn, test and measure with: classics, generators whose truth is known, and real sets from a folder.

`load_dataset(name)` gives any of them, `available()` lists them. Nothing is downloaded: the larger real sets are read from the
folder that the environment variable LOWLAND_DATA names.

Conventions. X holds float64 rows, except where that would waste memory: "mnist", "olivetti" and "frey" keep their uint8
pixels, "isomap_faces" and "moved_digits" are float32. Images are rows of pixels, read line by line; `image_shape` is
(height, width). Angles are in degrees. A seed fixes every number; the same seed with other noise keeps the same truth.
"""

import difflib
import inspect
import math
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from lowland.errors import FileProblem, MissingFile, ParameterError

__all__ = [
    "Dataset",
    "available",
    "concentric_circles",
    "ellipse",
    "load_dataset",
    "low_rank",
    "moved_digits",
    "moved_patch",
    "randu",
    "s_curve",
    "sphere",
    "swiss_roll",
]

Array = np.ndarray
Seed = int | None | np.random.Generator

FOLDER_VARIABLE = "LOWLAND_DATA"


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


def load_dataset(name: str, **options: Any) -> Dataset:
    """Give the sample of that name, with its generator's options (n, noise, seed …) or its own (split of "mnist").

    >>> X, y = load_dataset("iris")
    >>> X.shape
    (150, 4)
    """
    make = _MAKERS[_one_of("load", "name", name, _MAKERS)]
    accepted = inspect.signature(make).parameters
    for option in options:
        if option not in accepted:
            choices = f"Choose among: {', '.join(accepted)}." if accepted else "It has no options: leave it out."
            raise ParameterError(f"load({name!r}): there is no option {option!r}. {choices}")
    return make(**options)


def available() -> dict[str, str]:
    """Name and one-line description of every sample, saying which need the folder that LOWLAND_DATA names."""
    lines = {name: (inspect.getdoc(make) or name).splitlines()[0] for name, make in _MAKERS.items()}
    return {
        name: f"{line} (Needs {FOLDER_VARIABLE}.)" if name in _FROM_FOLDER else line for name, line in lines.items()
    }


# Manifolds and clouds whose truth is known


def swiss_roll(n: int = 1000, noise: float = 0.0, seed: Seed = 0, *, hole: bool = False) -> Dataset:
    """A sheet rolled up in three dimensions: unrolling it takes geodesic distances.

    The spiral is (t cos t, t sin t) for t from 3π/2 to 9π/2 and the sheet 21 high. y is the arc length along it, truth
    the flat sheet: arc length and height. With hole=True a window in its middle is left out, which bends
    Isomap's shortest paths but leaves Hessian LLE right (Donoho and Grimes 2003).
    """
    _check_points("swiss_roll", n, noise)
    rng = _random("swiss_roll", seed)
    u = _square_with_hole(n, rng) if hole else rng.random((n, 2))
    t, height = 1.5 * np.pi * (1 + 2 * u[:, 0]), 21 * u[:, 1]
    X = np.column_stack([t * np.cos(t), height, t * np.sin(t)])
    return _rolled_sheet(
        _with_noise(X, noise, rng), t, height, "generated; after Tenenbaum, de Silva and Langford (2000)"
    )


def s_curve(n: int = 1000, noise: float = 0.0, seed: Seed = 0) -> Dataset:
    """A sheet bent into an S in three dimensions, gentler than the swiss roll.

    The curve (sin t, sign(t)(cos t − 1)) runs at unit speed, so t from −3π/2 to 3π/2 is its arc length; the sheet is
    2 wide. y is t, truth the flat sheet: t and height.
    """
    _check_points("s_curve", n, noise)
    rng = _random("s_curve", seed)
    u = rng.random((n, 2))
    t, height = 3 * np.pi * (u[:, 0] - 0.5), 2 * u[:, 1]
    X = np.column_stack([np.sin(t), height, np.sign(t) * (np.cos(t) - 1)])
    about = "A sheet bent into an S, generated. truth: arc length and height on the flat sheet."
    return Dataset(_with_noise(X, noise, rng), t, ("x", "y", "z"), about=about, truth=np.column_stack([t, height]))


def concentric_circles(n: int = 600, noise: float = 0.05, seed: Seed = 0, *, rings: int = 3) -> Dataset:
    """Circles of radius 1, 2, 3 … around one center: no line separates them, kernels do.

    y is the ring, counted from 0 inside, with equally many points each (give or take one); truth is radius and angle.
    """
    _check_points("concentric_circles", n, noise)
    _check_whole("concentric_circles", "rings", rings, 1)
    if rings > n:
        raise ParameterError(
            f"concentric_circles(rings={rings}): {n} points cannot fill that many. Choose at most {n} rings."
        )
    rng = _random("concentric_circles", seed)
    y = np.arange(n) % rings
    radius, angle = y + 1.0, rng.uniform(0, 360, n)
    X = radius[:, None] * np.column_stack([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    about = f"{rings} concentric circles, generated. truth: radius and angle in degrees."
    label_names = tuple(f"ring {ring}" for ring in range(rings))
    truth = np.column_stack([radius, angle])
    return Dataset(_with_noise(X, noise, rng), y, ("x", "y"), label_names, about, truth)


def ellipse(
    n: int = 500, noise: float = 0.0, seed: Seed = 0, *, axes: tuple[float, float] = (3.0, 1.0), angle: float = 30.0
) -> Dataset:
    """A Gaussian cloud in the plane, with given standard deviations along two turned axes: PCA's first picture.

    The covariance is R diag(axes²) Rᵀ + noise² I, with R the rotation by `angle` against the clock.
    truth holds the coordinates along the axes; y is the first of them.
    """
    _check_points("ellipse", n, noise)
    if not isinstance(axes, tuple | list | np.ndarray) or len(axes) != 2:
        raise ParameterError(f"ellipse(axes={axes!r}): a plane has two axes. Give two numbers, such as (3, 1).")
    for axis in axes:
        _check_number("ellipse", "axes", axis, at_least=0)
    _check_number("ellipse", "angle", angle)
    rng = _random("ellipse", seed)
    truth = rng.standard_normal((n, 2)) * np.asarray(axes, dtype=float)
    X = truth @ _rotation(angle).T
    about = f"A Gaussian cloud with deviations {axes[0]:g} and {axes[1]:g}, turned by {angle:g} degrees, generated."
    return Dataset(_with_noise(X, noise, rng), truth[:, 0].copy(), ("x", "y"), about=about, truth=truth)


def low_rank(
    n: int = 500, noise: float = 0.01, seed: Seed = 0, *, d: int = 50, rank: int = 5, decay: float = 0.7
) -> Dataset:
    """A noisy low-rank table: a few directions, each weaker than the one before, under noise in all of them.

    X = U diag(σ) Vᵀ + noise, with U and V random and orthonormal and σᵢ = √(nd) decayⁱ, so that the entries are of
    the order of 1 whatever the shape. truth is U diag(σ).
    """
    _check_points("low_rank", n, noise)
    _check_whole("low_rank", "d", d, 1)
    _check_whole("low_rank", "rank", rank, 1)
    if rank > min(n, d):
        raise ParameterError(
            f"low_rank(rank={rank}): a table of {n} × {d} has rank at most {min(n, d)}. Choose at most {min(n, d)}."
        )
    _check_number("low_rank", "decay", decay)
    if not 0 < decay <= 1:
        raise ParameterError(
            f"low_rank(decay={decay}): singular values shrink by this factor. Choose it above 0, at most 1."
        )
    rng = _random("low_rank", seed)
    U = np.linalg.qr(rng.standard_normal((n, rank)))[0]  # (n, rank)
    V = np.linalg.qr(rng.standard_normal((d, rank)))[0]  # (d, rank)
    truth = U * (np.sqrt(n * d) * float(decay) ** np.arange(rank))
    about = f"A table of rank {rank} with noise of deviation {noise:g}, generated. truth: the rows along the true axes."
    return Dataset(_with_noise(truth @ V.T, noise, rng), None, _numbered("x", d), about=about, truth=truth)


def sphere(n: int = 1000, noise: float = 0.0, seed: Seed = 0, *, d: int = 3, cap: float | None = None) -> Dataset:
    """Points spread evenly at random over the unit sphere in d dimensions: closed, so no flat map shows it whole.

    y is the last coordinate, a point's height. With `cap`, in three dimensions, only the points within so many degrees
    of the north pole: a patch, which a flat map shows whole but not without stretching it. truth is then the
    map that keeps distance and direction from the pole.
    """
    _check_points("sphere", n, noise)
    _check_whole("sphere", "d", d, 1)
    if cap is not None:
        _check_cap(d, cap)
    rng = _random("sphere", seed)
    # a Gaussian cloud looks the same in all directions, so its directions are uniform
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if cap is not None:
        return _cap_of(X, cap, noise, rng)
    about = f"Uniform points on the unit sphere in {d} dimensions, generated. y: height."
    return Dataset(_with_noise(X, noise, rng), X[:, -1].copy(), _numbered("x", d), about=about)


def _check_cap(d: int, cap: float) -> None:
    _check_number("sphere", "cap", cap)
    if d != 3 or not 0 < cap < 180:
        raise ParameterError(
            f"sphere(cap={cap}): a cap is cut from the sphere in 3 dimensions, here {d}, by an angle in degrees. "
            "Choose d=3 and a cap above 0 and below 180."
        )


def _cap_of(X: Array, cap: float, noise: float, rng: np.random.Generator) -> Dataset:
    # heights are spread evenly over a sphere (Archimedes), so pressed together they are so over its cap
    height = 1 - (1 - X[:, 2]) * (1 - np.cos(np.radians(cap))) / 2
    east = X[:, :2] / np.linalg.norm(X[:, :2], axis=1, keepdims=True)  # (n, 2) directions from the pole
    X = np.column_stack([east * np.sqrt(1 - height**2)[:, None], height])
    about = f"Uniform points on the unit sphere within {cap:g} degrees of the north pole, generated. y: height."
    truth = east * np.arccos(height)[:, None]
    return Dataset(_with_noise(X, noise, rng), height, _numbered("x", 3), about=about, truth=truth)


def randu(n: int = 400, seed: int = 1) -> Dataset:
    """Triples from the flawed random generator RANDU: they look uniform but lie on 15 planes.

    I ← 65539 I mod 2³¹, three steps per row, divided by 2³¹ without rounding. Since 65539 = 2¹⁶ + 3, 9x − 6y + z is
    a whole number from −5 to 9 in every row; y is that plane, counted from 0. The seed is the I before the first.
    """
    _check_whole("randu", "n", n, 1)
    _check_whole("randu", "seed", seed, 1)
    if seed % 2 == 0 or seed >= 2**31:
        raise ParameterError(f"randu(seed={seed}): RANDU starts from an odd number below 2^31. Choose one, such as 1.")
    whole = np.fromiter(_randu_integers(int(seed), 3 * n), dtype=np.int64, count=3 * n).reshape(n, 3)
    y = whole @ [9, -6, 1] // 2**31 + 5
    label_names = tuple(f"9x-6y+z={value}" for value in range(-5, 10))
    about = (
        "Consecutive triples of RANDU, IBM's generator of the 1960s, by its integer recurrence. y: the plane of each."
    )
    return Dataset(whole / 2**31, y, ("x", "y", "z"), label_names, about)


def _randu_integers(value: int, count: int) -> Iterator[int]:
    for _ in range(count):
        value = 65539 * value % 2**31
        yield value


def _rolled_sheet(X: Array, t: Array, height: Array, source: str) -> Dataset:
    # the arc length of the spiral r = t, from its center: the integral of √(1 + t²)
    arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    about = f"A rolled-up sheet, {source}. truth: arc length and height on the flat sheet."
    return Dataset(X, arc, ("x", "y", "z"), about=about, truth=np.column_stack([arc, height]))


def _square_with_hole(n: int, rng: np.random.Generator) -> Array:
    # of the nine cells of a 3 × 3 board, the fifth is never drawn
    cell = rng.integers(0, 8, n)
    cell += cell >= 4
    return (rng.random((n, 2)) + np.column_stack([cell // 3, cell % 3])) / 3


# Images with few degrees of freedom


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
    """One handwritten digit shifted and turned in large images: many pixels, three degrees of freedom.

    The digit's center of mass lies at the image's center, moved by up to `shift` pixels each way; the digit is turned
    about it by up to `rotation` degrees. truth is the shift to the right, the shift down, and the angle against the
    clock; y is the angle. X is float32, ink 1 on paper 0.
    """
    from scipy.ndimage import affine_transform, center_of_mass

    _check_moved_digits(n, noise, digit, size, shift, rotation)
    glyph = _glyph(digit)
    heart = np.array(center_of_mass(glyph))
    zoom = size / 25
    _check_room(glyph, heart, zoom, size, shift)
    rng = _random("moved_digits", seed)
    truth = rng.uniform(-1, 1, (n, 3)) * [shift, shift, rotation]
    images = np.empty((n, size, size), dtype=np.float32)
    for image, (right, down, turn) in zip(images, truth, strict=True):
        # the way back, as affine_transform wants it: from a pixel (row, column) to a place in the glyph
        A = _rotation(turn).T / zoom
        offset = heart - A @ ((size - 1) / 2 + np.array([down, right]))
        affine_transform(glyph, A, offset, output=image, order=1, mode="grid-constant")
    about = (
        f"The digit {digit} from scikit-learn's digits, shifted and turned at random in images of {size} × {size}. "
        "truth: shift right, shift down, angle."
    )
    X = _with_noise(images.reshape(n, -1), noise, rng)
    return _images(X, (size, size), truth[:, 2].copy(), about, truth)


def _check_moved_digits(n: int, noise: float, digit: int, size: int, shift: float, rotation: float) -> None:
    _check_points("moved_digits", n, noise)
    _check_whole("moved_digits", "digit", digit, 0)
    if digit > 9:
        raise ParameterError(f"moved_digits(digit={digit}): there are ten digits. Choose one from 0 to 9.")
    # below 25 pixels the glyph would be drawn smaller than its own 8 × 8
    _check_whole("moved_digits", "size", size, 25)
    _check_number("moved_digits", "shift", shift, at_least=0)
    _check_number("moved_digits", "rotation", rotation, at_least=0)


def _check_room(glyph: Array, heart: Array, zoom: float, size: int, shift: float) -> None:
    # linear interpolation spreads ink over one more glyph pixel each way, √2 along the diagonal
    reach = zoom * (np.linalg.norm(np.argwhere(glyph > 0) - heart, axis=1).max() + np.sqrt(2))
    room = (size - 1) / 2 - reach
    if shift > room:
        limit = math.floor(10 * room) / 10
        raise ParameterError(
            f"moved_digits(shift={shift}): the digit would leave the image of {size} × {size}. "
            f"Choose a shift of at most {limit}, or a larger size."
        )


def _glyph(digit: int) -> Array:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return np.asarray(digits.images[np.argmax(digits.target == digit)] / 16)  # (8, 8)


def moved_patch(n: int = 961, noise: float = 0.05, seed: Seed = 0) -> Dataset:
    """A small face at each position of a square grid, over fresh background noise: locally linear embedding's test.

    With n = 31² = 961 the face of 20 × 20 pixels moves through images of 50 × 50. truth is the position, columns from
    the left and rows from the top; y is the first of them. After Saul and Roweis (2003), with a drawn face.
    """
    _check_points("moved_patch", n, noise)
    steps = math.isqrt(n)
    if steps**2 != n:
        raise ParameterError(
            f"moved_patch(n={n}): the positions form a square grid. Choose n = {steps**2} or {(steps + 1) ** 2}."
        )
    patch = _drawn_face(20)
    size = len(patch) + steps - 1
    images = _with_noise(np.zeros((n, size, size)), noise, _random("moved_patch", seed))
    rows, columns = np.divmod(np.arange(n), steps)
    for image, row, column in zip(images, rows, columns, strict=True):
        image[row : row + len(patch), column : column + len(patch)] = patch
    about = (
        f"A drawn face at {steps} × {steps} positions over noise, generated; after Saul and Roweis (2003). "
        "truth: columns from the left, rows from the top."
    )
    truth = np.column_stack([columns, rows]).astype(float)
    return _images(images.reshape(n, -1), (size, size), truth[:, 0].copy(), about, truth)


def _drawn_face(side: int) -> Array:
    # fades to zero at the border, so that moving it by one pixel is a small step
    y, x = np.meshgrid(np.linspace(-1, 1, side), np.linspace(-1, 1, side), indexing="ij")
    head = np.cos(np.pi * x / 2) ** 2 * np.cos(np.pi * y / 2) ** 2
    eyes = np.exp(-((np.abs(x) - 0.35) ** 2 + (y + 0.2) ** 2) / 0.02)
    mouth = np.exp(-(x**2 / 0.08 + (y - 0.4) ** 2 / 0.01))
    face: Array = head * (1 - 0.8 * eyes - 0.6 * mouth)
    return face


def _images(
    X: Array, shape: tuple[int, int], y: Array | None, about: str, truth: Array | None = None, **rest: Any
) -> Dataset:
    height, width = shape
    names = tuple(f"pixel_{row}_{column}" for row in range(height) for column in range(width))
    return Dataset(X.reshape(len(X), -1), y, names, about=about, truth=truth, image_shape=(height, width), **rest)


# Small classics that need no folder


def _iris() -> Dataset:
    """Fisher's iris: 150 flowers, 4 lengths in cm, 3 species."""
    from sklearn.datasets import load_iris

    return _from_scikit_learn(load_iris(), "150 iris flowers of 3 species, measured by Anderson; Fisher (1936).")


def _wine() -> Dataset:
    """UCI wine: 178 wines, 13 chemical measurements on very different scales, 3 growers."""
    from sklearn.datasets import load_wine

    return _from_scikit_learn(
        load_wine(), "178 Italian wines from 3 growers, 13 measurements; Forina et al., UCI (1991)."
    )


def _digits() -> Dataset:
    """UCI handwritten digits: 1797 images of 8 × 8 pixels, 10 classes."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    about = "1797 handwritten digits, 8 × 8 pixels from 0 to 16; Alpaydin and Kaynak, UCI (1998), as in scikit-learn."
    return _images(digits.data, (8, 8), digits.target.astype(np.int64), about, label_names=tuple("0123456789"))


def _from_scikit_learn(bunch: Any, about: str) -> Dataset:
    label_names = tuple(str(label) for label in bunch.target_names)
    return Dataset(bunch.data, bunch.target.astype(np.int64), tuple(bunch.feature_names), label_names, about)


_AIRPORTS = ("ATL", "ORD", "DEN", "HOU", "LAX", "MIA", "JFK", "SFO", "SEA", "IAD")
_MILES = (
    (587, 1212, 701, 1936, 604, 748, 2139, 2182, 543),
    (920, 940, 1745, 1188, 713, 1858, 1737, 597),
    (879, 831, 1726, 1631, 949, 1021, 1494),
    (1374, 968, 1420, 1645, 1891, 1220),
    (2339, 2451, 347, 959, 2300),
    (1092, 2594, 2734, 923),
    (2571, 2408, 205),
    (678, 2442),
    (2329,),
)


def _airports() -> Dataset:
    """Distances in miles between 10 US airports: multidimensional scaling draws the map."""
    D = np.zeros((10, 10))
    D[np.triu_indices(10, k=1)] = [miles for row in _MILES for miles in row]
    about = "Distances in miles between 10 US airports, as in R's UScitiesD."
    return Dataset(D + D.T, names=_AIRPORTS, about=about, kind="distances")


# Real sets from the folder


def _mnist(split: str = "train") -> Dataset:
    """MNIST: handwritten digits of 28 × 28 pixels, 60,000 to train or 10,000 to test (split)."""
    file = f"mnist_{_one_of('mnist', 'split', split, ('train', 'test'))}.npz"
    X, y = _read_npz("mnist", file, "X", "y")
    about = f"{len(X)} handwritten digits, 28 × 28 pixels from 0 to 255; LeCun, Cortes and Burges (1998)."
    return _images(X, (28, 28), y.astype(np.int64), about, label_names=tuple("0123456789"))


def _olivetti() -> Dataset:
    """Olivetti faces: 10 photographs each of 40 persons, 64 × 64 pixels."""
    X, y = _read_npz("olivetti", "olivetti.npz", "X", "y")
    about = "400 faces of 40 persons, taken at AT&T Laboratories Cambridge in 1992 to 1994. y: the person."
    return _images(X, (64, 64), y.astype(np.int64), about)


def _frey() -> Dataset:
    """Frey's face: 1965 video frames of one person, 28 × 20 pixels, pose and expression vary."""
    (X,) = _read_npz("frey", "frey.npz", "X")
    return _images(X, (28, 20), None, "1965 frames of a video of Brendan Frey's face; Roweis and Saul (2000).")


def _isomap_faces() -> Dataset:
    """Isomap's faces: 698 renderings of one head, 32 × 32 pixels, by pan, tilt and light."""
    X, pan, tilt, light = _read_npz("isomap_faces", "isomap_faces32.npz", "X", "pan", "tilt", "light")
    about = (
        "698 rendered faces at 32 × 32 pixels; Tenenbaum, de Silva and Langford (2000). "
        "truth: pan, tilt and light, standardized; y: pan."
    )
    return _images(X, (32, 32), pan, about, np.column_stack([pan, tilt, light]))


def _yeast() -> Dataset:
    """UCI yeast: 1484 proteins, 8 scores, 10 places in the cell."""
    names, X, words = _read_csv("yeast", "yeast.csv", text=("name", "class"))
    label_names, y = np.unique(words["class"], return_inverse=True)
    about = "1484 yeast proteins with 8 scores of their sequence; Nakai, UCI (1996). y: where in the cell they stay."
    return Dataset(X, y.astype(np.int64), names, tuple(map(str, label_names)), about)


def _height_weight() -> Dataset:
    """Height in inches and weight in pounds of 210 people: what standardizing changes."""
    names, X, words = _read_csv("height_weight", "height_weight.csv", text=("sex",))
    about = "Height (inches) and weight (pounds) of 73 men and 137 women. y: 0 for F, 1 for M."
    return Dataset(X, (words["sex"] == "M").astype(np.int64), names, ("F", "M"), about)


def _eurodist() -> Dataset:
    """Road distances in km between 21 European cities: not quite Euclidean."""
    about = "Road distances in kilometers between 21 European cities, as in R's eurodist (The Cambridge Encyclopaedia)."
    return _matrix("eurodist", "eurodist.csv", "distances", about)


def _ability() -> Dataset:
    """Covariances of 6 ability tests taken by 112 people: a small factor analysis."""
    about = "Covariance matrix of 6 ability tests, n = 112 people, as in R's ability.cov; Smith and Stanley (1983)."
    return _matrix("ability", "ability.cov.csv", "covariance", about)


def _harman() -> Dataset:
    """Correlations of 24 psychological tests taken by 145 pupils: factor analysis's classic."""
    about = "Correlation matrix of 24 tests, n = 145 pupils, as in R's Harman74.cor; Holzinger and Swineford (1939)."
    return _matrix("harman", "Harman74.cor.csv", "covariance", about)


def _cocktail(recording: str = "speech") -> Dataset:
    """Two microphones in one room (recording: speech, music or hard_speech): who says what?"""
    file, recordings = "cocktail_audio.npz", ("speech", "music", "hard_speech")
    (X,) = _read_npz("cocktail", file, _one_of("cocktail", "recording", recording, recordings))
    about = f"{len(X)} sound samples at 16 kHz from two microphones ({recording}), real, so without known sources."
    return Dataset(X.astype(np.float64), None, ("microphone_1", "microphone_2"), about=about)


def _foetal_ecg() -> Dataset:
    """Eight skin electrodes on a pregnant woman, 10 s at 250 Hz: find the child's heartbeat."""
    names, X, _ = _read_csv("foetal_ecg", "foetal_ecg.csv.gz")
    about = "Potentials at 5 abdominal and 3 thoracic electrodes, 250 Hz; De Lathauwer et al. (2000), DaISy database."
    return Dataset(X, None, names, about=about)


def _ica_mixed() -> Dataset:
    """Four mixtures of four known signals: independent component analysis with the answer in truth."""
    names, X, _ = _read_csv("ica_mixed", "ica_mixed.csv.gz")
    _, truth, _ = _read_csv("ica_mixed", "ica_sources.csv.gz")
    return Dataset(
        X, None, names, about="2000 samples of 4 linear mixtures, generated. truth: the 4 sources.", truth=truth
    )


def _randu_r() -> Dataset:
    """The 400 RANDU triples that R ships, rounded to six decimals."""
    names, X, _ = _read_csv("randu_r", "randu.csv")
    about = "400 triples of the generator RANDU under VAX Fortran, rounded to 6 decimals, as in R's randu."
    return Dataset(X, None, names, about=about)


def _swiss_roll_fixed(n: int = 1000) -> Dataset:
    """The very swiss rolls, of 300 or 1000 points (n), on which the reference answers were computed."""
    if n not in (300, 1000):
        raise ParameterError(f"swiss_roll_fixed(n={n!r}): there are two. Choose n = 300 or 1000.")
    _, cells, _ = _read_csv("swiss_roll_fixed", f"swissroll{n}.csv")
    return _rolled_sheet(cells[:, :3], cells[:, 3], cells[:, 4], "fixed, as the reference answers use it")


def _matrix(sample: str, file: str, kind: str, about: str) -> Dataset:
    names, X, _ = _read_csv(sample, file, text=("",))
    return Dataset(X, None, names, about=about, kind=kind)


def _read_npz(sample: str, file: str, *keys: str) -> list[Array]:
    path = _find(sample, file)
    # opened here, since np.load leaves its own file open when the archive is broken
    with _reading(path), path.open("rb") as opened, np.load(opened, allow_pickle=False) as arrays:
        return [arrays[key] for key in keys]


def _read_csv(sample: str, file: str, text: tuple[str, ...] = ()) -> tuple[tuple[str, ...], Array, dict[str, Array]]:
    """Names and numbers of the columns that hold numbers, and the columns of text by name."""
    path = _find(sample, file)
    with _reading(path):
        cells = np.loadtxt(path, dtype=str, delimiter=",", comments=None, encoding="utf-8", ndmin=2)
        header = [str(name) for name in cells[0]]
        numeric = [column for column, name in enumerate(header) if name not in text]
        words = {name: cells[1:, header.index(name)] for name in text}
        return tuple(header[column] for column in numeric), cells[1:, numeric].astype(np.float64), words


def _find(sample: str, file: str) -> Path:
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        raise MissingFile(
            f"load({sample!r}) reads {file}, and the environment variable {FOLDER_VARIABLE} is not set. "
            f"Set {FOLDER_VARIABLE} to the folder that holds {file}."
        )
    path = Path(folder).expanduser() / file
    if not path.is_file():
        missing = f"{file} in it" if path.parent.is_dir() else "such folder"
        raise MissingFile(
            f"load({sample!r}) reads {file} from {FOLDER_VARIABLE}={folder}, and there is no {missing}. "
            f"Put {file} there, or set {FOLDER_VARIABLE} to the folder that holds it."
        )
    return path


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, ValueError, TypeError, LookupError, BadZipFile, zlib.error) as problem:
        raise FileProblem(f"{path} cannot be read: {problem}. Put a sound copy of it there.") from problem


# Checks and small parts


def _check_points(call: str, n: int, noise: float) -> None:
    _check_whole(call, "n", n, 1)
    _check_number(call, "noise", noise, at_least=0)


def _check_whole(call: str, name: str, value: int, at_least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ParameterError(f"{call}({name}={value!r}): {name} must be a whole number. Choose {at_least} or more.")
    if value < at_least:
        raise ParameterError(f"{call}({name}={value}): {name} is too small. Choose {at_least} or more.")


def _check_number(call: str, name: str, value: float, at_least: float = -math.inf) -> None:
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ParameterError(f"{call}({name}={value!r}): {name} must be a finite number. Choose one, such as 1.")
    if value < at_least:
        raise ParameterError(f"{call}({name}={value}): {name} is too small. Choose {at_least} or more.")


def _one_of(call: str, name: str, value: Any, choices: Any) -> str:
    if isinstance(value, str) and value in choices:
        return value
    close = difflib.get_close_matches(str(value).lower().replace("-", "_"), choices, n=1)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    raise ParameterError(
        f"{call}({name}={value!r}): there is no such {name}. {hint}Choose among: {', '.join(choices)}."
    )


def _random(call: str, seed: Seed) -> np.random.Generator:
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as problem:
        raise ParameterError(
            f"{call}(seed={seed!r}): this cannot start a random generator. Choose a whole number of 0 or more."
        ) from problem


def _with_noise(X: Array, noise: float, rng: np.random.Generator) -> Array:
    if not noise:
        return X
    # drawn in X's own precision: float64 noise would double the memory of float32 images
    noisy: Array = X + X.dtype.type(noise) * rng.standard_normal(X.shape, dtype=X.dtype)
    return noisy


def _rotation(degrees: float) -> Array:
    """Rotation against the clock, of (x, y) with y up as of (row, column) with rows down."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[cos, -sin], [sin, cos]])


def _numbered(letter: str, d: int) -> tuple[str, ...]:
    return tuple(f"{letter}{column}" for column in range(d))


_MADE_HERE: dict[str, Callable[..., Dataset]] = {
    "iris": _iris,
    "wine": _wine,
    "digits": _digits,
    "airports": _airports,
    "randu": randu,
    "swiss_roll": swiss_roll,
    "s_curve": s_curve,
    "concentric_circles": concentric_circles,
    "ellipse": ellipse,
    "low_rank": low_rank,
    "sphere": sphere,
    "moved_digits": moved_digits,
    "moved_patch": moved_patch,
}
_FROM_FOLDER: dict[str, Callable[..., Dataset]] = {
    "mnist": _mnist,
    "olivetti": _olivetti,
    "frey": _frey,
    "isomap_faces": _isomap_faces,
    "yeast": _yeast,
    "height_weight": _height_weight,
    "eurodist": _eurodist,
    "ability": _ability,
    "harman": _harman,
    "cocktail": _cocktail,
    "foetal_ecg": _foetal_ecg,
    "ica_mixed": _ica_mixed,
    "randu_r": _randu_r,
    "swiss_roll_fixed": _swiss_roll_fixed,
}
_MAKERS = _MADE_HERE | _FROM_FOLDER
