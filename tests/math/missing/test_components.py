"""The M-step and the rules: complete moments give PCA; a rule sees the unrestricted covariance."""

import numpy as np
import pytest
from sklearn.base import clone

from lowland import PCA, FactorAnalysis, LinearDiscriminantAnalysis
from lowland.data.open import open_rows
from lowland.errors import DataError
from lowland.math.missing.components import FitComponents, axes_of_incomplete_rows, components_model
from lowland.math.spectra.component_rules import Cumulative, Fixed
from lowland.math.statistics.available import AvailableColumns
from lowland.math.statistics.moments import Moments
from lowland.run.local import LocalRun


def table(n=300, d=6):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) * 3 + rng.standard_normal((n, d))


def test_the_m_step_is_probabilistic_pca():
    X = table()
    model = FitComponents(2, np.ones(6), LocalRun())(Moments.of(X))
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    noise = values[:4].mean()
    S = (vectors[:, 4:] * (values[4:] - noise)) @ vectors[:, 4:].T + noise * np.eye(6)
    found = (np.eye(6) + model.L @ model.L.T) * np.outer(model.unit, model.unit)
    np.testing.assert_allclose(found, S, atol=1e-9)


def test_a_model_without_noise_stays_finite():
    model = components_model(np.eye(3)[:, :1], np.array([2.0]), 0.0, np.zeros(3), np.ones(3))
    assert np.isfinite(model.L).all()
    assert (model.unit > 0).all()
    found = model.completed(np.array([[1.0, np.nan, 0.0]]))
    assert np.isfinite(found.C).all()


@pytest.mark.parametrize("rule", [Cumulative(0.6), Fixed(2)])
def test_a_rule_decides_and_the_fit_has_as_many_components(rule):
    X = table()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    axes = axes_of_incomplete_rows(open_rows(X), LocalRun(), rule, AvailableColumns.of(X), tol=1e-8)
    k = axes.choice.n_components
    assert k <= 2
    assert axes.pairs.vectors.shape[1] >= k
    assert axes.outcome.name == "em"
    assert axes.outcome.converged


@pytest.mark.parametrize(("scale", "words"), [(1e-200, "too small"), (1e-160, "too small"), (1e160, "too large")])
@pytest.mark.parametrize(
    "est",
    [
        PCA(2, missing="em"),
        FactorAnalysis(1, missing="em"),
        LinearDiscriminantAnalysis(missing="available"),
    ],
)
def test_squares_out_of_range_are_an_error(est, scale, words):
    X = np.random.default_rng(0).standard_normal((40, 4)) * [4, 3, 2, 1]
    X[::7, 1] = np.nan
    for given in (X * scale, [X[:15] * scale, X[15:] * scale]):
        with pytest.raises(DataError, match=words):
            clone(est).fit(given, np.arange(40) % 2)
