"""Random manifolds, point clouds and moving images with known ground truth."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland import data as samples
from lowland.data.datasets.generators import GENERATORS
from lowland.errors import ParameterError

# --- manifolds and point clouds have the stated geometry ---


FOLDER = os.environ.get("LOWLAND_DATA")


seeds = st.integers(0, 2**32)


quick = settings(max_examples=20, deadline=None)


def needs_folder(test):
    return pytest.mark.data(pytest.mark.skipif(not FOLDER, reason="LOWLAND_DATA is not set")(test))


def table(file, **options):
    return np.loadtxt(os.path.join(FOLDER, file), delimiter=",", **options)


@pytest.mark.parametrize("make", [samples.swiss_roll, samples.s_curve], ids=["swiss_roll", "s_curve"])
def test_the_truth_of_a_sheet_is_an_isometry(make):
    sample = make(1500)
    in_space = np.linalg.norm(sample.X[:, None] - sample.X, axis=2)
    on_sheet = np.linalg.norm(sample.truth[:, None] - sample.truth, axis=2)
    # a chord is never longer than its path
    assert (in_space <= on_sheet + 1e-9).all()
    # and no shorter than 1 - s²/24 of it where the radius of curvature is 1 or more
    near = (on_sheet < 0.5) & (on_sheet > 0)
    assert near.sum() > 500
    assert (in_space[near] >= on_sheet[near] * (1 - 0.5**2 / 24)).all()


def test_the_swiss_roll_with_a_hole_has_one():
    X = samples.swiss_roll(5000, hole=True).X
    t, height = np.hypot(X[:, 0], X[:, 2]), X[:, 1]
    # t runs over 3π and the height over 21: the window is the middle third of each
    in_the_middle = np.column_stack([np.abs(t - 3 * np.pi) < np.pi / 2, np.abs(height - 10.5) < 3.5])
    assert not in_the_middle.all(axis=1).any()
    # two of the eight cells left are beside the window, two above and below
    np.testing.assert_allclose(in_the_middle.mean(axis=0), 2 / 8, atol=0.03)


def test_points_on_the_sphere_are_uniform():
    X, height = samples.sphere(20000)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=0.02)
    np.testing.assert_allclose(np.cov(X.T), np.eye(3) / 3, atol=0.01)
    # Archimedes: equal slices in height hold equally many points
    np.testing.assert_allclose(np.histogram(height, bins=10, range=(-1, 1))[0], 2000, atol=200)
    for d in (1, 2, 30):
        np.testing.assert_allclose(np.linalg.norm(samples.sphere(50, d=d).X, axis=1), np.ones(50), rtol=1e-12)


def test_a_cap_is_uniform_and_its_truth_keeps_distances_from_the_pole():
    cap = samples.sphere(20000, cap=60)
    X, height = cap
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.histogram(height, bins=10, range=(0.5, 1))[0], 2000, atol=200)
    np.testing.assert_allclose(X[:, :2].mean(axis=0), 0, atol=0.02)
    way = np.linalg.norm(cap.truth, axis=1)
    np.testing.assert_allclose(np.cos(way), height, rtol=1e-12)
    np.testing.assert_allclose(cap.truth * np.sin(way)[:, None], X[:, :2] * way[:, None], atol=1e-12)
    noisy = samples.sphere(20000, cap=60, noise=0.1)
    np.testing.assert_array_equal(noisy.truth, cap.truth)
    np.testing.assert_allclose((noisy.X - X).std(), 0.1, rtol=0.02)


@quick
@given(n=st.integers(5, 300), rings=st.integers(1, 5), seed=seeds)
def test_circles_have_their_radius_and_share_the_points(n, rings, seed):
    X, y = samples.concentric_circles(n, 0, seed, rings=rings)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), y + 1)
    assert np.ptp(np.bincount(y, minlength=rings)) <= 1


@pytest.mark.parametrize(("axes", "angle", "noise"), [((3, 1), 30, 0), ((2.0, 0.5), -75, 0.5)])
def test_the_covariance_of_the_ellipse(axes, angle, noise):
    sample = samples.ellipse(40000, noise, axes=axes, angle=angle)
    cos, sin = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    first, second = np.array([cos, sin]), np.array([-sin, cos])
    S = axes[0] ** 2 * np.outer(first, first) + axes[1] ** 2 * np.outer(second, second) + noise**2 * np.eye(2)
    np.testing.assert_allclose(np.cov(sample.X.T), S, atol=0.03 * max(axes) ** 2)


@quick
@given(seed=seeds, angle=st.floats(-360, 360))
def test_the_ellipse_is_its_truth_rotated(seed, angle):
    sample = samples.ellipse(20, seed=seed, angle=angle)
    complex_truth = sample.truth @ [1, 1j]
    np.testing.assert_allclose(sample.X @ [1, 1j], complex_truth * np.exp(1j * np.deg2rad(angle)), atol=1e-9)


@quick
@given(n=st.integers(1, 60), d=st.integers(1, 60), decay=st.floats(0.5, 1), seed=seeds, data=st.data())
def test_without_noise_the_singular_values_are_as_requested(n, d, decay, seed, data):
    rank = data.draw(st.integers(1, min(n, d)))
    sample = samples.low_rank(n, 0, seed, d=d, rank=rank, decay=decay)
    message = np.zeros(min(n, d))
    message[:rank] = np.sqrt(n * d) * decay ** np.arange(rank)
    np.testing.assert_allclose(np.linalg.svd(sample.X, compute_uv=False), message, atol=1e-9 * message[0])
    np.testing.assert_allclose(sample.truth @ sample.truth.T, sample.X @ sample.X.T, atol=1e-9 * message[0] ** 2)


def test_randu_follows_its_recurrence():
    # from exact integer arithmetic, seed 1
    first = np.array([[65539, 393225, 1769499], [7077969, 26542323, 95552217]])
    np.testing.assert_array_equal(samples.randu(2).X * 2**31, first)


@quick
@given(seed=st.integers(0, 2**30 - 1).map(lambda half: 2 * half + 1))
def test_randu_lies_on_fifteen_planes(seed):
    sample = samples.randu(2000, seed)
    planes = sample.X @ [9.0, -6.0, 1.0]
    assert set(planes) <= set(range(-5, 10))
    np.testing.assert_array_equal(planes, sample.y - 5)
    assert ((sample.X > 0) & (sample.X < 1)).all()


@needs_folder
def test_randu_is_the_shared_file():
    whole = table("randu_generated_int.csv.gz", skiprows=1)
    np.testing.assert_array_equal(samples.randu(10000).X * 2**31, whole)


# --- moved images: the ground truth can be measured in the pixels ---


@pytest.fixture(scope="module")
def moved():
    return samples.moved_digits(60, size=100, shift=20, rotation=45, seed=5)


def centroids_and_axes(X, shape):
    """Center of mass (right, down) of each image and the direction of its longest axis in degrees, y up."""
    rows, columns = np.indices(shape).reshape(2, -1)
    mass = X.sum(axis=1)
    right, down = X @ columns / mass, X @ rows / mass
    x, y = columns - right[:, None], down[:, None] - rows
    xx, yy, xy = ((X * a * b).sum(axis=1) for a, b in ((x, x), (y, y), (x, y)))
    return np.column_stack([right, down]), np.degrees(np.arctan2(2 * xy, xx - yy)) / 2


def test_moved_digits_stay_in_the_image_and_the_truth_in_its_range(moved):
    images = moved.X.reshape(-1, 100, 100)
    frame = np.ones((100, 100), dtype=bool)
    frame[1:-1, 1:-1] = False
    assert images[:, frame].max() == 0
    largest = np.abs(moved.truth).max(axis=0)
    assert (largest <= [20, 20, 45]).all()
    assert (largest > [18, 18, 40]).all()


@pytest.mark.parametrize("digit", range(10))
def test_every_digit_is_moved_without_losing_brightness(digit):
    mass = samples.moved_digits(3, digit=digit).X.sum(axis=1)
    assert mass.min() > 0
    np.testing.assert_allclose(mass, mass.mean(), rtol=0.01)


def test_the_truth_of_moved_digits_can_be_measured_in_the_images(moved):
    centers, axes = centroids_and_axes(moved.X.astype(float), (100, 100))
    np.testing.assert_allclose(centers, 49.5 + moved.truth[:, :2], atol=0.1)
    upright = samples.moved_digits(1, rotation=0).X.astype(float)
    _, (axis,) = centroids_and_axes(upright, (100, 100))
    turned = (axes - axis + 90) % 180 - 90
    np.testing.assert_allclose(turned, moved.truth[:, 2], atol=1.5)


def test_the_patch_visits_every_position():
    sample = samples.moved_patch()
    assert sample.X.shape == (961, 2500)
    assert sample.image_shape == (50, 50)
    assert {(x, y) for x, y in sample.truth} == {(x, y) for x in range(31) for y in range(31)}


def test_the_position_of_the_patch_can_be_measured_in_the_images():
    noisy = samples.moved_patch(noise=0.1)
    clean = samples.moved_patch(noise=0)
    centers, _ = centroids_and_axes(clean.X, clean.image_shape)
    np.testing.assert_allclose(centers - centers[0], clean.truth - clean.truth[0], atol=1e-9)
    np.testing.assert_array_equal(np.argmax(noisy.X @ clean.X.T, axis=1), np.arange(961))


# --- arguments of generators: seeds, noise, and invalid input ---


each_generator = pytest.mark.parametrize(
    "make", [make for name, make in GENERATORS.items() if name != "randu"], ids=lambda make: make.__name__
)


@each_generator
def test_same_seed_same_numbers_other_seed_other_numbers(make):
    one, again, other = make(n=16, noise=0.1, seed=3), make(n=16, noise=0.1, seed=3), make(n=16, noise=0.1, seed=4)
    np.testing.assert_array_equal(one.X, again.X)
    assert len(one.X) == 16
    assert not np.array_equal(one.X, other.X)


@each_generator
def test_noise_moves_the_points_but_not_the_truth(make):
    clean, noisy = make(n=100, noise=0), make(n=100, noise=0.01)
    if clean.truth is not None:
        np.testing.assert_array_equal(clean.truth, noisy.truth)
    moves = noisy.X - clean.X
    # under the patch of moved_patch there is no noise
    assert np.std(moves[moves != 0]) == pytest.approx(0.01, rel=0.25)


@each_generator
@pytest.mark.parametrize(
    "options", [{"n": 0}, {"n": 2.5}, {"n": True}, {"noise": -0.1}, {"noise": np.nan}, {"noise": "much"}, {"seed": -1}]
)
def test_invalid_arguments_are_refused_with_a_remedy(make, options):
    with pytest.raises(ParameterError, match=rf"{make.__name__}\({next(iter(options))}=.*Choose"):
        make(**options)


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (samples.low_rank, {"n": 10, "d": 4, "rank": 5}, "at most 4"),
        (samples.low_rank, {"n": 3, "d": 40, "rank": 5}, "at most 3"),
        (samples.low_rank, {"decay": 0}, "above 0"),
        (samples.low_rank, {"d": 0}, "1 or more"),
        (samples.concentric_circles, {"n": 3, "rings": 4}, "at most 3 rings"),
        (samples.ellipse, {"axes": (1, 2, 3)}, "two numbers"),
        (samples.ellipse, {"axes": 3.0}, "two numbers"),
        (samples.ellipse, {"axes": (1, -2)}, "0 or more"),
        (samples.ellipse, {"angle": np.inf}, "finite number"),
        (samples.sphere, {"d": 0}, "1 or more"),
        (samples.sphere, {"cap": 180}, "below 180"),
        (samples.sphere, {"cap": 60, "d": 4}, "d=3"),
        (samples.moved_digits, {"digit": 10}, "from 0 to 9"),
        (samples.moved_digits, {"size": 24}, "25 or more"),
        (samples.moved_digits, {"shift": 40}, "Choose a shift of at most 2"),
        (samples.moved_patch, {"n": 1000}, "961 or 1024"),
        (samples.randu, {"seed": 2}, "odd number"),
        (samples.randu, {"seed": 2**31 + 1}, "odd number"),
    ],
)
def test_limits_are_stated(make, options, words):
    with pytest.raises(ParameterError, match=words):
        make(**options)
