"""Arguments of generators: seeds, noise, and invalid input."""

import numpy as np
import pytest

from lowland import data as samples
from lowland.errors import ParameterError

GENERATORS = (
    samples.swiss_roll,
    samples.s_curve,
    samples.concentric_circles,
    samples.ellipse,
    samples.low_rank,
    samples.sphere,
    samples.moved_digits,
    samples.moved_patch,
)
each_generator = pytest.mark.parametrize("make", GENERATORS, ids=lambda make: make.__name__)


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
