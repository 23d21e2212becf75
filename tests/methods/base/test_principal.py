"""Coordinates along principal axes and the probability model behind them, on a cross, computed by hand."""

import numpy as np
import pytest

from lowland import PCA
from lowland.errors import DataError, DataWarning
from lowland.methods.base.principal import power_of_variances

CROSS = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]]) + np.array([10.0, 20.0])  # variances 18/3 and 2/3


def test_principal_axes_of_a_cross():
    pca = PCA().fit(CROSS)
    np.testing.assert_allclose(pca.mean_, [10, 20])
    np.testing.assert_allclose(np.abs(pca.components_), np.eye(2), atol=1e-12)
    np.testing.assert_allclose(pca.explained_variance_, [6, 2 / 3])
    np.testing.assert_allclose(pca.explained_variance_ratio_, [0.9, 0.1])
    np.testing.assert_allclose(pca.singular_values_**2, [18, 2])


def test_the_covariance_consists_of_components_and_isotropic_noise():
    pca = PCA(1).fit(CROSS)
    assert pca.noise_variance_ == pytest.approx(2 / 3)
    np.testing.assert_allclose(pca.get_covariance(), [[6, 0], [0, 2 / 3]], atol=1e-12)
    np.testing.assert_allclose(pca.get_precision(), [[1 / 6, 0], [0, 3 / 2]], atol=1e-12)


def test_whitened_coordinates_have_unit_variance_and_can_be_inverted():
    pca = PCA(whiten=True).fit(CROSS)
    Z = pca.transform(CROSS)
    np.testing.assert_allclose(np.cov(Z.T), np.eye(2), atol=1e-12)
    np.testing.assert_allclose(pca.inverse_transform(Z), CROSS)


def test_partial_fit_after_truncation_is_refused():
    with pytest.raises(DataError, match="fit kept 1 of 2 components"):
        PCA(1).fit(CROSS).partial_fit(CROSS)
    more = PCA().fit(CROSS).partial_fit(CROSS)
    np.testing.assert_allclose(more.explained_variance_, [36 / 7, 4 / 7])


def test_constant_rows_warn():
    with pytest.warns(DataWarning, match="column is constant.*arbitrary"):
        PCA(1).fit(np.ones((4, 2)))


def test_a_direction_without_variance_stays_zero():
    np.testing.assert_allclose(power_of_variances(np.array([4.0, 0.0]), -0.5), [0.5, 0.0])
