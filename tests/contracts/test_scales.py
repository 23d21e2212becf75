"""Data of any scale: the same result up to the scale, or an error that says that the values are too large or small."""

import numpy as np
import pytest

from lowland import PCA, TruncatedSVD
from lowland.errors import DataError

from .battery import METHODS, labels, make, table, table_for

TOO_FAR = r"too (large|small)|underflow|overflow|out of the range"


def fitted(name, X):
    est = make(name).fit(X, labels())
    return est, np.asarray(est.transform(X), dtype=np.float64)


def assert_same_up_to_scale(Z, expected, scale, tol):
    size = np.abs(expected).max()
    gaps = [np.abs(Z / factor - expected).max() / size for factor in (1.0, scale)]  # invariant, or proportional
    assert min(gaps) < tol


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")
@pytest.mark.parametrize("power", [-664, -530, -500, -250, -75, 75, 250, 500, 530, 664])
@pytest.mark.parametrize("name", METHODS)
def test_float64_of_any_scale(name, power):
    X, scale = table_for(name), 2.0**power
    expected = fitted(name, X)[1]
    try:
        est, Z = fitted(name, X * scale)
    except DataError:
        assert abs(power) >= 500
        with pytest.raises(DataError, match=TOO_FAR):
            make(name).fit(X * scale, labels())
        return
    assert_same_up_to_scale(Z, expected, scale, 1e-7)
    for attribute in ("explained_variance_", "explained_variance_ratio_"):
        assert np.isfinite(getattr(est, attribute, 0.0)).all()


@pytest.mark.parametrize("power", [-110, -75, -60, 60, 75, 110])
@pytest.mark.parametrize("name", [name for name in METHODS if name != "KernelPCA"])
def test_float32_of_any_scale(name, power):
    X, scale = table_for(name, dtype=np.float32), 2.0**power
    expected = fitted(name, X)[1]
    est, Z = fitted(name, X * np.float32(scale))
    assert_same_up_to_scale(Z, expected, scale, 2e-5)
    assert est.transform(X * np.float32(scale)).dtype == np.float32


@pytest.mark.parametrize("power", [-75, 75])
def test_float32_kernel_values_out_of_range_are_refused(power):
    with pytest.raises(DataError, match="out of the range"):
        make("KernelPCA").fit(table(dtype=np.float32) * np.float32(2.0**power))


@pytest.mark.parametrize("options", [{}, {"svd_solver": "full"}, {"svd_solver": "randomized"}, {"scale": True}])
@pytest.mark.parametrize("shape", [(120, 6), (30, 80)])
@pytest.mark.parametrize("power", [-75, 75])
def test_fractions_of_float32_data_do_not_depend_on_the_scale(options, shape, power):
    X = table(*shape, dtype=np.float32)
    here, there = (PCA(3, random_state=0, **options).fit(each) for each in (X, X * np.float32(2.0**power)))
    np.testing.assert_allclose(there.explained_variance_ratio_, here.explained_variance_ratio_, rtol=1e-4)
    unit = 1.0 if options.get("scale") else 2.0 ** (2 * power)
    np.testing.assert_allclose(there.explained_variance_ / unit, here.explained_variance_, rtol=1e-4)


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "randomized", "arpack"])
def test_squares_that_float64_cannot_hold_are_refused(solver):
    X = table()
    for scale, words in ((1e160, "too large"), (1e-160, "too small")):
        with pytest.raises(DataError, match=words):
            PCA(2, svd_solver=solver, random_state=0).fit(X * scale)
    with pytest.raises(DataError, match="too small"):
        TruncatedSVD(2).fit(X * 1e-200)
    with pytest.raises(DataError, match="too small"):
        TruncatedSVD(2).fit(np.full((5, 3), 1e-200))


def test_a_small_column_beside_large_ones_is_no_error():
    X = table()
    X[:, 5] *= 1e-170
    expected = PCA(2).fit(X[:, :5]).explained_variance_
    np.testing.assert_allclose(PCA(2).fit(X).explained_variance_, expected)
