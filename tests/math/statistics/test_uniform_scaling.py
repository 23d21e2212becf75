"""Rows shifted by one point and divided by one number."""

import numpy as np
import pytest

from lowland.math.statistics.uniform_scaling import UniformScaling


def test_two_rows_by_hand():
    scaling = UniformScaling(np.array([1.0, 2.0]), 4.0)
    X = np.array([[5.0, 2.0], [1.0, 10.0]])
    assert scaling.apply(X).tolist() == [[1, 0], [0, 2]]
    np.testing.assert_array_equal(scaling.invert(scaling.apply(X)), X)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_every_library_scales_identically(rng, library):
    xp = pytest.importorskip(library)
    X = rng.standard_normal((7, 3)).astype(np.float32)
    for scaling in (UniformScaling(rng.standard_normal(3), 0.7), UniformScaling(rng.standard_normal(3))):
        np.testing.assert_array_equal(np.asarray(scaling.apply(xp.asarray(X))), scaling.apply(X))
    assert scaling.apply(np.asfortranarray(X)).flags.c_contiguous
    assert scaling.apply(X).dtype == np.float64
