"""Factor analysis and rotations agree with R: the numbers in the JSON files beside this one, each with its source."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from lowland import FactorAnalysis
from lowland.math.factors.rotations import rotate

HERE = Path(__file__).parent
CASES = [("ability.cov", k) for k in (1, 2)] + [("Harman74.cor", k) for k in (1, 2, 3, 4, 5)]
ROTATIONS = {
    "varimax_raw": ("varimax", False),
    "varimax_kaiser": ("varimax", True),
    "GPA_varimax_raw": ("varimax", False),
    "GPA_varimax_kaiser": ("varimax", True),
    "quartimax_raw": ("quartimax", False),
    "quartimax_kaiser": ("quartimax", True),
    "cfT_equamax_raw": ("equamax", False),
    "cfT_equamax_kaiser": ("equamax", True),
    "cfT_parsimax_raw": ("parsimax", False),
    "cfT_parsimax_kaiser": ("parsimax", True),
    "oblimin_gam0_raw": ("oblimin", False),
    "oblimin_gam0_kaiser": ("oblimin", True),
    "quartimin_raw": ("quartimin", False),
    "quartimin_kaiser": ("quartimin", True),
    "geominT_raw": ("geomin-orthogonal", False),
    "geominT_kaiser": ("geomin-orthogonal", True),
    "geominQ_raw": ("geomin", False),
    "geominQ_kaiser": ("geomin", True),
    "promax_m4_after_varimax_kaiser": ("promax", True),
}


def reference(name):
    return json.loads((HERE / f"{name}.json").read_text())


def matched(loadings, expected):
    """Which of our factors is which of theirs, and with what sign: order and signs are arbitrary."""
    cosines = expected.T @ loadings / np.linalg.norm(expected, axis=0)[:, None] / np.linalg.norm(loadings, axis=0)
    _, order = linear_sum_assignment(-np.abs(cosines))
    return order, np.sign(cosines[np.arange(len(order)), order])


def same_up_to_order(loadings, expected, atol):
    expected = np.array(expected)
    order, signs = matched(loadings, expected)
    np.testing.assert_allclose(loadings[:, order] * signs, expected, atol=atol)
    return order, signs


@pytest.mark.parametrize("name", ROTATIONS)
def test_rotations(name):
    file = reference("rotations_Harman74")
    expected, (kind, kaiser) = file["result"][name], ROTATIONS[name]
    found = rotate(np.array(file["inputs"]["L"]), kind, kaiser=kaiser)
    assert found.outcome.converged
    order, signs = same_up_to_order(found.loadings, expected["loadings"], 2e-7)
    if "Phi" in expected:
        phi = found.phi[np.ix_(order, order)] * np.outer(signs, signs)
        np.testing.assert_allclose(phi, expected["Phi"], atol=2e-7)
    else:
        assert kind == "promax" or np.allclose(found.phi, np.eye(4), atol=1e-12)


@pytest.mark.parametrize(("data", "k"), CASES)
def test_factanal(data, k):
    given = reference(f"factanal_{data}")["result"]
    expected = given["fits"][f"factors_{k}"]["none"]
    fa = FactorAnalysis(k).fit_covariance(given["cov"], given["n_obs"])
    assert fa.converged_
    np.testing.assert_allclose(fa.uniquenesses_, expected["uniquenesses"], atol=2e-7)
    same_up_to_order(fa.loadings_, expected["loadings"], 2e-7)
    assert fa.dof_ == fa.fit_test_.dof == expected["dof"]
    assert fa.fit_test_.statistic == pytest.approx(expected["chisq"], rel=1e-10)
    assert fa.fit_test_.p_value == pytest.approx(expected["p_value"], rel=1e-8)


def varimax_value(loadings):
    """Kaiser's criterion, which varimax maximizes: the variance of squared loadings of rows of unit length."""
    squares = loadings**2 / np.sum(loadings**2, axis=1, keepdims=True)
    return np.sum(np.var(squares, axis=0))


@pytest.mark.parametrize("rotation", ["varimax", "promax"])
@pytest.mark.parametrize(("data", "k"), [case for case in CASES if case[1] > 1])
def test_factanal_rotated(data, k, rotation):
    given = reference(f"factanal_{data}")["result"]
    fa = FactorAnalysis(k, rotation=rotation, kaiser=True).fit_covariance(given["cov"], given["n_obs"])
    expected = np.array(given["fits"][f"factors_{k}"][rotation]["loadings"])
    # R stops its varimax where it gains less than 1e-5; to the last digits the rotation is tested above
    same_up_to_order(fa.loadings_, expected, 1e-2)
    if rotation == "varimax":
        assert varimax_value(expected) * (1 - 1e-4) < varimax_value(fa.loadings_)
        assert varimax_value(fa.loadings_) >= varimax_value(expected) - 1e-12


def test_rotation_of_the_method_is_that_of_the_block():
    given = reference("factanal_Harman74.cor")["result"]
    file = reference("rotations_Harman74")["result"]
    for name, (kind, kaiser) in ROTATIONS.items():
        fa = FactorAnalysis(4, rotation=kind, kaiser=kaiser).fit_covariance(given["cov"], given["n_obs"])
        same_up_to_order(fa.loadings_, file[name]["loadings"], 2e-6)


PSYCH = reference("psych_promax")["result"]


@pytest.mark.parametrize("name", PSYCH)
def test_promax_of_psych(name):
    found = rotate(np.array(PSYCH[name]["unrotated"]), "promax", kaiser="target")
    same_up_to_order(found.loadings, PSYCH[name]["promax"], atol=2e-3)  # R ends its varimax early
