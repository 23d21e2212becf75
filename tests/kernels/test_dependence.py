"""Loops over sorted columns against numpy."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.kernels.dependence import concordant_products, count_nearer, nearest_radii


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(0, 1000), st.booleans())
def test_kernels_agree_with_numpy(n, seed, ties):
    rng = np.random.default_rng(seed)
    x, y = (np.round(a) if ties else a for a in 3 * rng.standard_normal((2, n)))
    x = np.sort(x)
    duplicate = sum((x[i] - x[j]) * (y[i] - y[j]) for i in range(n) for j in range(i) if y[j] <= y[i])
    assert concordant_products(x.copy(), y.copy()) == pytest.approx(duplicate, abs=1e-9)
    radii = np.abs(rng.standard_normal(n))
    near = (np.abs(x[None, :] - y[:, None]) < radii[:, None]).sum(axis=1)
    np.testing.assert_array_equal(count_nearer(x, y, radii), near)
    starts = np.array([0, n // 3, n])
    for a, b in itertools.pairwise(starts):
        distances = np.sort(np.abs(x[a:b, None] - x[None, a:b]), axis=1)
        if b > a:
            np.testing.assert_array_equal(nearest_radii(x, starts, 3)[a:b], distances[:, min(3, b - a - 1)])
