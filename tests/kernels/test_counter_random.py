import numpy as np

from lowland.kernels.compile import kernel
from lowland.kernels.counter_random import below, draw, fraction, key_of


@kernel
def drawn(seed, iterations, rows, slots, n):
    out = np.empty((iterations, rows, slots), np.int64)
    parts = np.empty((iterations, rows, slots))
    for t in range(iterations):
        for i in range(rows):
            key = key_of(seed, t, i)
            for s in range(slots):
                bits = draw(key, s)
                out[t, i, s] = below(bits, n)
                parts[t, i, s] = fraction(bits)
    return out, parts


def test_draws_are_uniform_and_uncorrelated():
    numbers, parts = drawn(3, 20, 100, 50, 10)
    counts = np.bincount(numbers.ravel(), minlength=10)
    expected = numbers.size / 10
    assert ((counts - expected) ** 2 / expected).sum() < 30  # chi-squared with nine degrees of freedom, p < 0.001
    assert parts.min() >= 0
    assert parts.max() < 1
    assert abs(parts.mean() - 0.5) < 0.005
    for axis in range(3):
        a, b = np.take(parts, range(parts.shape[axis] - 1), axis), np.take(parts, range(1, parts.shape[axis]), axis)
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.015


def test_the_draw_depends_on_seed_iteration_row_and_slot_alone():
    small, _ = drawn(3, 2, 5, 4, 1000)
    large, _ = drawn(3, 4, 9, 8, 1000)
    assert (small == large[:2, :5, :4]).all()
    assert (drawn(4, 2, 5, 4, 1000)[0] != small).mean() > 0.9


def test_the_first_numbers_of_a_counter_are_those_of_splitmix64():
    """SplitMix64 with seed 0 begins with 0xE220A8397B1DCDAF (a published test vector)."""
    assert int(draw(np.uint64(0), 0)) == 0xE220A8397B1DCDAF
    assert int(draw(np.uint64(0), 1)) == 0x6E789E6AA1B965F4
