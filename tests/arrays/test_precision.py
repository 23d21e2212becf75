"""Precision: the dtype of computations, and what counts as rounding error."""

import numpy as np
import pytest

from lowland.arrays.precision import ROUNDINGS, as_double, eps_of, float_dtype, result_dtype, rounding_in, rounding_of


@pytest.mark.parametrize(
    ("given", "worked"),
    [("float16", "float32"), ("float32", "float32"), ("float64", "float64"), ("int8", "float64"), ("bool", "float64")],
)
def test_only_float32_rows_are_processed_in_float32(given, worked):
    assert float_dtype(given) == np.dtype(worked)


def test_results_take_the_precision_of_the_rows():
    torch = pytest.importorskip("torch")
    assert result_dtype(np, np.dtype("float32")) is np.float32
    assert result_dtype(np, np.dtype("float64")) is np.float64
    assert result_dtype(torch, np.dtype("float32")) is torch.float32


def test_sums_are_float64_and_float64_arrays_are_not_copied():
    X = np.ones(3, dtype=np.float32)
    assert as_double(X).dtype == np.float64
    wide = np.ones(3)
    assert as_double(wide) is wide


def test_the_rounding_tolerance_is_eight_machine_epsilons():
    assert ROUNDINGS == 8
    assert rounding_of(np.float64) == 8 * 2.0**-52
    assert rounding_of("float32") == 8 * 2.0**-23 == rounding_in(np.zeros(1, dtype=np.float32))
    assert eps_of(np.zeros(1)) == 2.0**-52
