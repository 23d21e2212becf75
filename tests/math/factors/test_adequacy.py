"""Whether correlations suit a factor model, and whether a model fits them."""

import numpy as np
import pytest

from lowland.math.factors.adequacy import (
    concerns,
    fit_test,
    goodness_of_fit,
    kmo,
    listed,
    named,
    sphericity,
    too_many_factors,
)
from lowland.math.factors.correlations import Correlations
from lowland.math.factors.maximum_likelihood import factor_loadings


def of(R, n=100):
    return Correlations(np.array(R), np.ones(len(R)), n)


def test_two_columns_by_hand():
    R = [[1.0, 0.6], [0.6, 1.0]]
    assert kmo(of(R)).overall == pytest.approx(0.5)  # the partial correlation is the correlation
    test = sphericity(of(R))
    assert test.statistic == pytest.approx(-(100 - 1 - 9 / 6) * np.log(1 - 0.36))
    assert test.dof == 1
    assert sphericity(of(np.eye(4))).p_value == 1.0
    assert kmo(of(np.ones((3, 3)))) is None
    assert sphericity(of(np.ones((3, 3)))) is None


def test_partial_correlations_agree_with_regression():
    R = np.array([[1.0, 0.7, 0.5], [0.7, 1.0, 0.4], [0.5, 0.4, 1.0]])
    P = np.linalg.inv(R)
    partial = -P / np.sqrt(np.outer(np.diagonal(P), np.diagonal(P)))
    off = ~np.eye(3, dtype=bool)
    expected = np.sum(R[off] ** 2) / (np.sum(R[off] ** 2) + np.sum(partial[off] ** 2))
    assert kmo(of(R)).overall == pytest.approx(expected)


def test_an_exact_model_passes_the_test_of_fit_and_bic_counts_its_parameters():
    loadings = np.array([0.9, 0.8, 0.7, 0.6])
    R = np.outer(loadings, loadings) + np.diag(1 - loadings**2)
    found = factor_loadings(R, 1)
    test = fit_test(of(R), found.deviance, 1)
    assert test.dof == 2
    assert test.statistic == pytest.approx(0, abs=1e-6)
    assert test.p_value == pytest.approx(1, abs=1e-6)
    good = goodness_of_fit(of(R), found, 1)
    assert good.dof == 2
    parameters = 4 + 4 + 4  # means, uniquenesses, loadings
    normal = -100 / 2 * (4 * np.log(2 * np.pi) + np.linalg.slogdet(R)[1] + 4)
    assert good.loglike[-1] == pytest.approx(normal)
    assert good.aic == pytest.approx(2 * parameters - 2 * normal)
    assert good.bic == pytest.approx(np.log(100) * parameters - 2 * normal)
    assert len(good.start_loglike) == 1


def test_problems_of_a_model_are_reported():
    assert too_many_factors(4, 1) is None
    assert "Choose at most 1." in too_many_factors(4, 2)
    assert "at least 3 columns" in too_many_factors(2, 1)
    clean = of(np.eye(5) * 0.7 + 0.3)
    assert concerns(clean, 1, (), 1e-15, None) == []
    constant = Correlations(clean.R, np.array([1.0, 1, 1, 0, 1, 1]), 100)
    (only,) = concerns(constant, 1, (), 1e-15, np.array(list("abcdef")))
    assert only.startswith("Column 'd' is constant")
    assert "Heywood case" in concerns(clean, 1, (2,), 1e-15, None)[0]
    same = of([[1.0, 1.0, 0.2], [1.0, 1.0, 0.2], [0.2, 0.2, 1.0]])
    assert "Columns 0, 1 are perfectly collinear" in concerns(same, 1, (), 1e-15, None)[0]


def test_column_names_in_messages():
    assert named(3, None) == "column 3"
    assert listed([1], None) == "Column 1 is"
    assert listed(range(7), list("abcdefg")) == "Columns 'a', 'b', 'c', 'd', 'e', … are"
