"""Rescaling by powers of two, and uniform scaling."""

import numpy as np
import pytest

from lowland.data.open import open_rows
from lowland.math.statistics.rescaling import (
    UniformScaling,
    ValueRange,
    divided_rows,
    largest_of,
    ordinary_unit,
    power_of_two,
    unit_of,
)


def test_largest_power_of_two_below_a_value():
    np.testing.assert_array_equal(power_of_two(np.array([1.0, 1.9, 2.0, 7.0, 0.3])), [1.0, 1.0, 2.0, 4.0, 0.25])
    np.testing.assert_array_equal(power_of_two(np.array([0.0, np.nan, np.inf, -1.0])), 1.0)


def test_ordinary_values_need_no_rescaling():
    assert unit_of(np.array([1e-3, 5.0])) == 1.0
    assert unit_of(np.zeros(2)) == 1.0
    unit = unit_of(np.array([1e200, -3e201]))
    assert unit == 2.0 ** np.floor(np.log2(3e201))
    assert np.frexp(unit)[0] == 0.5  # a power of two
    assert unit_of(np.array([1e12])) == 1.0
    assert unit_of(np.array([1e12]), single=True) > 1.0
    assert unit_of(np.array([1e12], dtype=np.float32)) == ordinary_unit(1e12, single=True)


def test_the_largest_finite_value():
    assert largest_of(np.array([[-5.0, 2.0]])) == 5.0
    assert largest_of(np.array([[np.nan, np.inf, -3.0]])) == 3.0
    assert ValueRange.of(np.array([[2.0]])) + ValueRange.of(np.array([[-4.0]])) == ValueRange(-4.0, 2.0)


@pytest.mark.parametrize("chunks", [False, True])
def test_divided_rows(chunks):
    X = np.arange(12.0).reshape(6, 2)
    rows = divided_rows(open_rows([X[:2], X[2:]] if chunks else X), 4.0)
    np.testing.assert_array_equal(np.concatenate(list(rows.chunks())), X / 4)
    np.testing.assert_array_equal(rows.to_array(), X / 4)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_every_library_scales_identically(rng, library):
    xp = pytest.importorskip(library)
    X = rng.standard_normal((7, 3)).astype(np.float32)
    for scaling in (UniformScaling(rng.standard_normal(3), 0.7), UniformScaling(rng.standard_normal(3))):
        np.testing.assert_array_equal(np.asarray(scaling.apply(xp.asarray(X))), scaling.apply(X))
    assert scaling.apply(np.asfortranarray(X)).flags.c_contiguous
    assert scaling.apply(X).dtype == np.float64
    np.testing.assert_allclose(scaling.invert(scaling.apply(X)), X, rtol=1e-12)
