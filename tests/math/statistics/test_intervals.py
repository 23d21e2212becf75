"""Confidence intervals of means of samples."""

import numpy as np
import pytest
from scipy.stats import t

from lowland.math.statistics.intervals import confidence_interval, wilson_interval


def test_a_sample_of_all_rows_leaves_no_uncertainty():
    low, high = confidence_interval(0.4, 0.2, 50, 50, ends=(0.0, 1.0))
    assert low == high == 0.4
    widths = [np.diff(confidence_interval(0.4, 0.2, 50, n, ends=(0.0, 1.0)))[0] for n in (51, 100, 1000, np.inf)]
    assert 0 < widths[0] < widths[1] < widths[2] < widths[3]


def test_the_ends_for_binary_values_are_wilsons_with_students_quantile():
    """At an end θ, the observed fraction lies q standard errors of θ away: (p - θ)² = q θ (1 - θ)."""
    m, n, p = 40, 400, 0.3
    q = t.ppf(0.975, m - 1) ** 2 * (1 / m - 1 / n)
    for end in confidence_interval(p, np.sqrt(p * (1 - p)), m, n, ends=(0.0, 1.0)):
        assert (p - end) ** 2 == pytest.approx(q * end * (1 - end))


def test_wilsons_interval_of_ten_in_a_hundred():
    assert wilson_interval(0.1, 100) == pytest.approx((0.0552, 0.1744), abs=1e-4)  # Wilson 1927
