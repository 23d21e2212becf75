"""Correlations of columns: agreement with numpy, constant columns omitted, collinear columns."""

import numpy as np
import pytest

from lowland.math.factors import correlations as module
from lowland.math.factors.correlations import Correlations, low_root
from lowland.math.spectra.component_rules import Kaiser, ParallelAnalysis
from lowland.math.statistics.moments import Moments
from lowland.run.local import LocalRun

rng = np.random.default_rng(0)
X = rng.standard_normal((50, 4)) @ rng.standard_normal((4, 4)) + 3


def test_constant_columns_are_left_out():
    found = Correlations.of(Moments.of(np.column_stack([X[:, :2], np.ones(50), X[:, 2:]])))
    assert found.varying.tolist() == [True, True, False, True, True]
    np.testing.assert_allclose(found.R, np.corrcoef(X.T), atol=1e-12)
    np.testing.assert_allclose(found.variances[found.varying], X.var(axis=0))
    np.testing.assert_allclose(found.inverse, np.linalg.inv(np.corrcoef(X.T)))
    assert found.log_det == pytest.approx(np.linalg.slogdet(np.corrcoef(X.T))[1])


def test_collinear_columns_are_named():
    found = Correlations.of(Moments.of(np.column_stack([X, X[:, 0] - X[:, 1]])))
    assert found.collinear().tolist() == [0, 1, 4]
    assert found.inverse is None
    assert found.log_det == -np.inf
    assert Correlations.of(Moments.of(X)).collinear().size == 0


def test_a_root_of_low_rank():
    Z = rng.standard_normal((3, 8))
    Z /= np.sqrt(np.sum(Z**2, axis=0))
    root = low_root(Z.T @ Z, 3)
    assert root.shape == (3, 8)
    np.testing.assert_allclose(root.T @ root, Z.T @ Z, atol=1e-10)
    assert low_root(np.eye(8), 3) is None


def test_correlations_of_wide_tables_are_stored_as_a_root(monkeypatch):
    wide = rng.standard_normal((6, 20))
    whole = Correlations.of(Moments.of(wide))
    assert whole.root.Z is None
    monkeypatch.setattr(module, "MANY", 10)
    few = Correlations.of(Moments.of(wide))
    assert few.root.Z.shape == (5, 20)
    np.testing.assert_allclose(few.spectrum.values, whole.spectrum.values, atol=1e-10)


def test_rules_receive_the_eigenvalues():
    found = Correlations(np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.ones(3), 100)
    np.testing.assert_allclose(found.spectrum.values, [1.8, 1.0, 0.2], atol=1e-12)
    assert found.decide(Kaiser(), LocalRun()).n_components == 1
    assert found.decide(ParallelAnalysis(20), LocalRun()).n_components == 1
