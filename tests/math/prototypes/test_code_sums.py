"""Sums of two parts add up, and tell whether they are finite."""

import numpy as np

from lowland.math.prototypes.code_sums import CodeSums


def test_parts_add_up_and_tell_nan():
    one, other = (CodeSums(np.full((2, 3), v), np.array([v, 0.0]), v) for v in (1.0, 2.0))
    both = one + other
    assert (both.sums == 3).all()
    assert both.counts.tolist() == [3, 0]
    assert both.error == 3
    assert both.is_finite()
    assert not (both + CodeSums(both.sums, both.counts, np.nan)).is_finite()
