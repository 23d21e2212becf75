"""Data of any scale: the same result up to the scale, or an error that says that the values are too large or small."""

import functools

import numpy as np
import pytest
import scipy.sparse

from lowland import (
    PCA,
    DiffusionMap,
    FactorAnalysis,
    IncrementalPCA,
    Isomap,
    LinearDiscriminantAnalysis,
    TruncatedSVD,
    Whitening,
)
from lowland.errors import DataError

from .battery import METHODS, labels, make, table, table_for

TOO_FAR = r"too (large|small)|underflow|overflow|out of the range"


def fitted(name, X):
    est = make(name).fit(X, labels())
    return est, np.asarray(est.transform(X), dtype=np.float64)


@functools.cache
def expected_of(name, dtype):
    return fitted(name, table_for(name, dtype=dtype))[1]


def assert_same_up_to_scale(Z, expected, scale, tol):
    size = np.abs(expected).max()
    gaps = [np.abs(Z / factor - expected).max() / size for factor in (1.0, scale)]  # invariant, or proportional
    assert min(gaps) < tol


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")
@pytest.mark.parametrize("power", [-664, -500, -250, 250, 500, 664])
@pytest.mark.parametrize("name", METHODS)
def test_float64_of_any_scale(name, power):
    X, scale = table_for(name), 2.0**power
    try:
        est, Z = fitted(name, X * scale)
    except DataError:
        assert abs(power) >= 500
        with pytest.raises(DataError, match=TOO_FAR):
            make(name).fit(X * scale, labels())
        return
    assert_same_up_to_scale(Z, expected_of(name, np.float64), scale, 1e-7)
    for attribute in ("explained_variance_", "explained_variance_ratio_"):
        assert np.isfinite(getattr(est, attribute, 0.0)).all()


@pytest.mark.parametrize("power", [-110, -60, 60, 110])
@pytest.mark.parametrize("name", [name for name in METHODS if name != "KernelPCA"])
def test_float32_of_any_scale(name, power):
    X, scale = table_for(name, dtype=np.float32), 2.0**power
    est, Z = fitted(name, X * np.float32(scale))
    assert_same_up_to_scale(Z, expected_of(name, np.float32), scale, 2e-5)
    assert est.transform(X * np.float32(scale)).dtype == np.float32


@pytest.mark.parametrize("power", [-75, 75])
def test_float32_kernel_values_out_of_range_are_refused(power):
    with pytest.raises(DataError, match="out of the range"):
        make("KernelPCA").fit(table(dtype=np.float32) * np.float32(2.0**power))


@pytest.mark.parametrize("options", [{}, {"svd_solver": "full"}, {"svd_solver": "randomized"}, {"scale": True}])
@pytest.mark.parametrize(("shape", "power"), [((120, 6), -75), ((30, 80), 75)])
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


@pytest.mark.parametrize("solver", ["power", "arpack", "randomized"])
def test_iterative_solvers_of_any_scale(solver):
    X = table(60, 30)
    here, *others = (PCA(3, svd_solver=solver, random_state=0).fit(np.ldexp(X, p)) for p in (0, -500, 495))
    for there in others:
        np.testing.assert_allclose(there.components_, here.components_, atol=1e-5)
        np.testing.assert_allclose(there.explained_variance_ratio_, here.explained_variance_ratio_, rtol=1e-8)


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # no two factors describe these rows
@pytest.mark.parametrize("rotation", ["varimax", "quartimax", "promax"])
def test_rotated_loadings_do_not_depend_on_the_scale(rotation):
    here, *others = (FactorAnalysis(2, rotation=rotation).fit(np.ldexp(table(), p)) for p in (0, -400, 490))
    for there in others:
        np.testing.assert_allclose(there.loadings_, here.loadings_, atol=1e-7)


def test_a_small_column_beside_large_ones_is_no_error():
    X = table()
    X[:, 5] *= 1e-170
    expected = PCA(2).fit(X[:, :5]).explained_variance_
    np.testing.assert_allclose(PCA(2).fit(X).explained_variance_, expected)


@pytest.mark.parametrize("X", [np.full((15, 4), 1.5), np.eye(4)[[0] * 14 + [1]] + 1, table(7, 15) / 10])
def test_uncentered_squares_that_overflow_are_refused(X):
    with pytest.raises(DataError, match="too large"):
        TruncatedSVD(2).fit(np.ldexp(X, 512))


def test_data_far_from_the_origin_whose_squares_overflow_keeps_its_variances():
    X = np.random.default_rng(0).standard_normal((50, 4)) * [4, 3, 2, 1] + 1e6
    for solver in ("auto", "covariance_eigh", "full", "randomized"):
        found = PCA(2, svd_solver=solver, random_state=0)
        expected = found.fit(X).explained_variance_ratio_
        np.testing.assert_allclose(found.fit(np.ldexp(X, 500)).explained_variance_ratio_, expected, rtol=1e-5)


@pytest.mark.parametrize("est", [PCA(svd_solver="covariance_eigh"), PCA(2, svd_solver="randomized"), IncrementalPCA()])
def test_chunks_that_differ_by_too_little_are_refused(est):
    with pytest.raises(DataError, match="too small"):
        est.fit([np.full((3, 4), 2.0**-1000), np.full((3, 4), 2.0**-999)])


@pytest.mark.parametrize(
    "est",
    [
        PCA(scale=True),
        PCA(scale=True, svd_solver="full"),
        PCA(2, scale=True, svd_solver="randomized"),
        FactorAnalysis(2),
        Whitening(method="zca-cor"),
        LinearDiscriminantAnalysis(),
    ],
)
def test_a_column_too_small_to_be_standardized_is_refused(est):
    X = table()
    X[:, 5] *= 1e-170
    with pytest.raises(DataError, match="too small to be standardized"):
        est.fit(X, labels())


def test_sums_of_the_largest_numbers_are_refused_by_projection_pursuit():
    X = table()
    with pytest.raises(DataError, match="too large"):
        make("ProjectionPursuit").fit(X / np.abs(X).max() * 1.7e308)


@pytest.mark.parametrize("power", [-540, -1000, 508, 530])
def test_squared_distances_out_of_range_are_refused(power):
    X = np.ldexp(table(), power)
    for est in (DiffusionMap(2, epsilon="median"), Isomap(metric="manhattan")):
        with pytest.raises(DataError, match=TOO_FAR):
            est.fit(X)


def test_sparse_rows_whose_distances_overflow_are_refused():
    X = np.random.default_rng(0).standard_normal((30, 4))
    with pytest.raises(DataError, match=TOO_FAR):
        DiffusionMap(2).fit(scipy.sparse.csr_array(np.ldexp(X, 530)))


def test_weights_of_very_close_neighbors_do_not_depend_on_the_scale():
    angle = np.sort(np.random.default_rng(0).uniform(3, 9, 40))
    X = np.column_stack([angle * np.cos(angle), np.linspace(0, 4, 40), angle * np.sin(angle)])
    here, there = (make("LocallyLinearEmbedding").fit(each).embedding_ for each in (X, np.ldexp(X, -504)))
    np.testing.assert_allclose(np.abs(there), np.abs(here), atol=1e-7)


def test_class_scatters_that_overflow_are_refused():
    X = np.random.default_rng(0).standard_normal((7, 15))
    with pytest.raises(DataError, match="too large"):
        LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(np.ldexp(X, 511), np.arange(7) % 3)
