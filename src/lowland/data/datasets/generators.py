"""Random manifolds, point clouds, and images of one picture at many positions, with known ground truth."""

import math
from collections.abc import Callable

import numpy as np

from lowland.data.datasets.dataset import (
    Array,
    Dataset,
    Seed,
    check_integer,
    check_number,
    image_dataset,
    random_generator,
)
from lowland.errors import ParameterError


def swiss_roll(n: int = 1000, noise: float = 0.0, seed: Seed = 0, *, hole: bool = False) -> Dataset:
    """Swiss roll: a rolled-up sheet in three dimensions, which geodesic distances unroll.

    The spiral is (t cos t, t sin t) for t from 3π/2 to 9π/2, and the height of the sheet is 21. y is the arc length
    along it, truth the flat sheet: arc length and height. hole=True removes a rectangle in the middle, which distorts
    the shortest paths of Isomap but not Hessian LLE (Donoho and Grimes 2003).

    Examples
    --------
    >>> from lowland import data
    >>> roll = data.swiss_roll(500, hole=True)
    >>> roll.X.shape, roll.truth.shape
    ((500, 3), (500, 2))
    """
    rng = random_generator("swiss_roll", n, noise, seed)
    if hole:  # of the nine cells of a 3 × 3 grid, the middle one is never sampled
        cell = rng.integers(0, 8, n)
        cell += cell >= 4
        u = (rng.random((n, 2)) + np.column_stack([cell // 3, cell % 3])) / 3
    else:
        u = rng.random((n, 2))
    t, height = 1.5 * np.pi * (1 + 2 * u[:, 0]), 21 * u[:, 1]
    X = np.column_stack([t * np.cos(t), height, t * np.sin(t)])
    return rolled_sheet(
        with_noise(X, noise, rng), t, height, "generated; after Tenenbaum, de Silva and Langford (2000)"
    )


def s_curve(n: int = 1000, noise: float = 0.0, seed: Seed = 0) -> Dataset:
    """S curve: a sheet bent into an S in three dimensions.

    The curve (sin t, sign(t)(cos t − 1)) runs at unit speed, so t from −3π/2 to 3π/2 is its arc length, and the sheet
    is 2 wide. y is t, truth the flat sheet: t and height.

    Examples
    --------
    >>> from lowland import data
    >>> data.s_curve(500).X.shape
    (500, 3)
    """
    rng = random_generator("s_curve", n, noise, seed)
    u = rng.random((n, 2))
    t, height = 3 * np.pi * (u[:, 0] - 0.5), 2 * u[:, 1]
    X = np.column_stack([np.sin(t), height, np.sign(t) * (np.cos(t) - 1)])
    about = "A sheet bent into an S, generated. truth: arc length and height on the flat sheet."
    return Dataset(with_noise(X, noise, rng), t, ("x", "y", "z"), about=about, truth=np.column_stack([t, height]))


def concentric_circles(n: int = 600, noise: float = 0.05, seed: Seed = 0, *, rings: int = 3) -> Dataset:
    """Concentric circles of radius 1, 2, 3 …: not linearly separable, but separable with a kernel.

    y is the ring, numbered from 0 at the center. All rings have the same number of points, up to one. truth is radius
    and angle.

    Examples
    --------
    >>> from lowland import data
    >>> data.concentric_circles(60, rings=2).X.shape
    (60, 2)
    """
    rng = random_generator("concentric_circles", n, noise, seed)
    check_integer("concentric_circles", "rings", rings, 1)
    if rings > n:
        raise ParameterError(
            f"there are only {n} points.", f"Choose at most {n} rings.", method="concentric_circles", rings=rings
        )
    y = np.arange(n) % rings
    radius, angle = y + 1.0, rng.uniform(0, 360, n)
    X = radius[:, None] * np.column_stack([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    about = f"{rings} concentric circles, generated. truth: radius and angle in degrees."
    label_names = tuple(f"ring {ring}" for ring in range(rings))
    truth = np.column_stack([radius, angle])
    return Dataset(with_noise(X, noise, rng), y, ("x", "y"), label_names, about, truth)


def ellipse(
    n: int = 500, noise: float = 0.0, seed: Seed = 0, *, axes: tuple[float, float] = (3.0, 1.0), angle: float = 30.0
) -> Dataset:
    """Normal distribution in the plane, with given standard deviations along two rotated axes.

    The covariance is R diag(axes²) Rᵀ + noise² I, with R the counterclockwise rotation by `angle`. truth holds the
    coordinates along the axes, and y is the first of them.

    Examples
    --------
    >>> from lowland import data
    >>> X = data.ellipse(1000, axes=(3.0, 1.0)).X
    >>> X.shape
    (1000, 2)
    """
    rng = random_generator("ellipse", n, noise, seed)
    if not isinstance(axes, tuple | list | np.ndarray) or len(axes) != 2:
        raise ParameterError("axes must be two numbers, such as 3 and 1.", method="ellipse", axes=axes)
    for axis in axes:
        check_number("ellipse", "axes", axis, at_least=0)
    check_number("ellipse", "angle", angle)
    truth = rng.standard_normal((n, 2)) * np.asarray(axes, dtype=float)
    X = truth @ rotation_matrix(angle).T
    about = f"Normal, standard deviations {axes[0]:g} and {axes[1]:g}, rotated by {angle:g} degrees, generated."
    return Dataset(with_noise(X, noise, rng), truth[:, 0].copy(), ("x", "y"), about=about, truth=truth)


def low_rank(
    n: int = 500, noise: float = 0.01, seed: Seed = 0, *, d: int = 50, rank: int = 5, decay: float = 0.7
) -> Dataset:
    """Low-rank table with decaying singular values plus noise.

    X = U diag(σ) Vᵀ + noise, with U and V random and orthonormal and σᵢ = √(nd) decayⁱ, so that the entries are of
    order 1 for any shape. truth is U diag(σ).

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.low_rank(200, noise=0.0, d=20, rank=3).X
    >>> lowland.PCA(0.999).fit(X).n_components_
    3
    """
    rng = random_generator("low_rank", n, noise, seed)
    check_integer("low_rank", "d", d, 1)
    check_integer("low_rank", "rank", rank, 1)
    if rank > min(n, d):
        reason, remedy = f"a table of {n} × {d} has rank at most {min(n, d)}.", f"Choose at most {min(n, d)}."
        raise ParameterError(reason, remedy, method="low_rank", rank=rank)
    check_number("low_rank", "decay", decay)
    if not 0 < decay <= 1:
        reason = "decay is the ratio of successive singular values."
        raise ParameterError(reason, "Choose a number above 0 and at most 1.", method="low_rank", decay=decay)
    U = np.linalg.qr(rng.standard_normal((n, rank)))[0]  # (n, rank)
    V = np.linalg.qr(rng.standard_normal((d, rank)))[0]  # (d, rank)
    truth = U * (np.sqrt(n * d) * float(decay) ** np.arange(rank))
    about = (
        f"A table of rank {rank} with noise of standard deviation {noise:g}, generated. truth: the true coordinates."
    )
    return Dataset(with_noise(truth @ V.T, noise, rng), None, _numbered("x", d), about=about, truth=truth)


def sphere(n: int = 1000, noise: float = 0.0, seed: Seed = 0, *, d: int = 3, cap: float | None = None) -> Dataset:
    """Uniform points on the unit sphere in d dimensions: a closed manifold without a global flat map.

    y is the last coordinate, the height. With `cap`, in three dimensions, the points lie within that many degrees of
    the north pole: a patch that can be flattened, but not isometrically. truth is then the azimuthal equidistant
    projection, which preserves distance and direction from the pole.

    Examples
    --------
    >>> from lowland import data
    >>> X = data.sphere(100, d=4).X
    >>> bool(abs((X**2).sum(axis=1) - 1).max() < 1e-12)
    True
    """
    rng = random_generator("sphere", n, noise, seed)
    check_integer("sphere", "d", d, 1)
    if cap is not None:
        check_number("sphere", "cap", cap)
        if d != 3 or not 0 < cap < 180:
            remedy = "Choose d=3 and a cap above 0 and below 180."
            raise ParameterError(
                "cap is an angle between 0 and 180 degrees, and needs 3 dimensions.",
                remedy,
                method="sphere",
                cap=cap,
                d=d,
            )
    # a standard normal distribution is isotropic, so its directions are uniform
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    if cap is None:
        about = f"Uniform points on the unit sphere in {d} dimensions, generated. y: height."
        return Dataset(with_noise(X, noise, rng), X[:, -1].copy(), _numbered("x", d), about=about)
    # heights are uniform on a sphere (Archimedes), so rescaled they are uniform on its cap
    height = 1 - (1 - X[:, 2]) * (1 - np.cos(np.radians(cap))) / 2
    east = X[:, :2] / np.linalg.norm(X[:, :2], axis=1, keepdims=True)  # (n, 2) directions from the pole
    X = np.column_stack([east * np.sqrt(1 - height**2)[:, None], height])
    about = f"Uniform points on the unit sphere within {cap:g} degrees of the north pole, generated. y: height."
    truth = east * np.arccos(height)[:, None]
    return Dataset(with_noise(X, noise, rng), height, _numbered("x", 3), about=about, truth=truth)


def randu(n: int = 400, seed: int = 1) -> Dataset:
    """Triples of the flawed random generator RANDU: they look uniform but lie on 15 planes.

    I ← 65539 I mod 2³¹, three steps per row, divided by 2³¹ without rounding. Since 65539 = 2¹⁶ + 3, 9x − 6y + z is an
    integer from −5 to 9 in every row, and y is the plane, numbered from 0. The seed is the initial I.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import data
    >>> X, plane = data.randu()
    >>> np.unique(np.round(X @ [9, -6, 1])).size == np.unique(plane).size
    True
    """
    check_integer("randu", "n", n, 1)
    check_integer("randu", "seed", seed, 1)
    if seed % 2 == 0 or seed >= 2**31:
        raise ParameterError(
            "the seed must be an odd number below 2^31.", "Choose one, such as 1.", method="randu", seed=seed
        )
    integers, value = [], int(seed)
    for _ in range(3 * n):
        value = 65539 * value % 2**31
        integers.append(value)
    whole = np.array(integers, dtype=np.int64).reshape(n, 3)
    y = whole @ [9, -6, 1] // 2**31 + 5
    label_names = tuple(f"9x-6y+z={value}" for value in range(-5, 10))
    about = "Consecutive triples of RANDU, IBM's generator of the 1960s, by its integer recurrence. y: the plane."
    return Dataset(whole / 2**31, y, ("x", "y", "z"), label_names, about)


def rolled_sheet(X: Array, t: Array, height: Array, source: str) -> Dataset:
    """Return points on a spiral sheet, with their arc length along it."""
    # the arc length of the spiral r = t, from its center: the integral of √(1 + t²)
    arc = (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2
    about = f"A rolled-up sheet, {source}. truth: arc length and height on the flat sheet."
    return Dataset(X, arc, ("x", "y", "z"), about=about, truth=np.column_stack([arc, height]))


def with_noise(X: Array, noise: float, rng: np.random.Generator) -> Array:
    """Return X with Gaussian noise of this standard deviation."""
    if not noise:
        return X
    # sampled in the precision of X: float64 noise would double the memory of float32 images
    noisy: Array = X + X.dtype.type(noise) * rng.standard_normal(X.shape, dtype=X.dtype)
    return noisy


def rotation_matrix(degrees: float) -> Array:
    """Return the counterclockwise rotation, of (x, y) with y up as of (row, column) with rows down."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array([[cos, -sin], [sin, cos]])


def _numbered(letter: str, d: int) -> tuple[str, ...]:
    return tuple(f"{letter}{column}" for column in range(d))


# --- one picture at many positions: images with few degrees of freedom ------------------------------------------------


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

    The center of mass of the digit is shifted from the image center by up to `shift` pixels in each direction, and the
    digit is rotated about it by up to `rotation` degrees. truth is the shift to the right, the shift down, and the
    counterclockwise angle, and y is the angle. X is float32, with 1 for ink and 0 for background.

    Examples
    --------
    >>> from lowland import data
    >>> found = data.moved_digits(10, size=40, shift=5.0)
    >>> found.X.shape, found.truth.shape
    ((10, 1600), (10, 3))
    """
    from scipy.ndimage import affine_transform, center_of_mass
    from sklearn.datasets import load_digits

    rng = random_generator("moved_digits", n, noise, seed)
    _check_moved_digits(digit, size, shift, rotation)
    digits = load_digits()
    glyph = digits.images[np.argmax(digits.target == digit)] / 16  # (8, 8)
    heart = np.array(center_of_mass(glyph))
    zoom = size / 25
    # linear interpolation spreads ink over one more glyph pixel each way, √2 along the diagonal
    reach = zoom * (np.linalg.norm(np.argwhere(glyph > 0) - heart, axis=1).max() + np.sqrt(2))
    room = (size - 1) / 2 - reach
    if shift > room:
        reason = f"the digit would leave the image of {size} × {size}."
        remedy = f"Choose a shift of at most {math.floor(10 * room) / 10}, or a larger size."
        raise ParameterError(reason, remedy, method="moved_digits", shift=shift)
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


def _check_moved_digits(digit: int, size: int, shift: float, rotation: float) -> None:
    check_integer("moved_digits", "digit", digit, 0)
    if digit > 9:
        raise ParameterError("not a digit.", "Choose one from 0 to 9.", method="moved_digits", digit=digit)
    # below 25 pixels the glyph would be smaller than its original 8 × 8
    check_integer("moved_digits", "size", size, 25)
    check_number("moved_digits", "shift", shift, at_least=0)
    check_number("moved_digits", "rotation", rotation, at_least=0)


def moved_patch(n: int = 961, noise: float = 0.05, seed: Seed = 0) -> Dataset:
    """A small face at each position of a square grid over background noise, a test of locally linear embedding.

    With n = 31² = 961 the face of 20 × 20 pixels moves through images of 50 × 50. truth is the position, in columns
    from the left and rows from the top, and y is the first of them. After Saul and Roweis (2003), with a drawn face.

    Examples
    --------
    >>> from lowland import data
    >>> found = data.moved_patch(100)
    >>> found.truth.shape
    (100, 2)
    """
    rng = random_generator("moved_patch", n, noise, seed)
    steps = math.isqrt(n)
    if steps**2 != n:
        remedy = f"Choose n = {steps**2} or {(steps + 1) ** 2}."
        raise ParameterError("the number of positions must be a square.", remedy, method="moved_patch", n=n)
    patch = _drawn_face(20)
    size = len(patch) + steps - 1
    images = with_noise(np.zeros((n, size, size)), noise, rng)
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


GENERATORS: dict[str, Callable[..., Dataset]] = {
    make.__name__: make
    for make in (
        randu, swiss_roll, s_curve, concentric_circles, ellipse, low_rank, sphere, moved_digits, moved_patch
    )
}  # fmt: skip
