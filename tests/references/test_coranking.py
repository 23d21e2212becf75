"""Agreement with R's coRanking: the numbers in coranking.json beside this file, which names its source."""

import json
from pathlib import Path

import numpy as np
import pytest

from lowland import quality

FILE = json.loads((Path(__file__).parent / "coranking.json").read_text())
X = np.array(FILE["inputs"]["X"])


@pytest.fixture(params=["pca2", "isomap_k8"])
def case(request):
    return np.array(FILE["inputs"][f"Y_{request.param}"]), FILE["result"][request.param]


def test_measures_of_k_neighbors(case):
    Z, expected = case
    for i, k in enumerate(expected["K"]):
        assert quality.trustworthiness(X, Z, k).value == pytest.approx(expected["trustworthiness_M_T"][i], abs=1e-13)
        assert quality.continuity(X, Z, k).value == pytest.approx(expected["continuity_M_C"][i], abs=1e-13)
        assert quality.lcmc(X, Z, k).value == pytest.approx(expected["LCMC_at_K"][i], abs=1e-13)
        false, _ = quality.mean_relative_rank_errors(X, Z, k)
        assert false.value == pytest.approx(expected["W_n"][i], abs=1e-13)


def test_curves(case):
    Z, expected = case
    found = quality.co_ranking(X, Z)
    places = np.array(expected["K"]) - 1
    np.testing.assert_allclose(found.q_nx, expected["Q_NX_all"][:-1], atol=1e-13)  # the last is 1 for any embedding
    np.testing.assert_allclose(found.r_nx[places], expected["R_NX_at_K"], atol=1e-13)
    np.testing.assert_allclose(found.lcmc[places], expected["LCMC_at_K"], atol=1e-13)
    assert found.area.value == pytest.approx(expected["AUC_ln_K"], abs=1e-13)


def test_matrix(case):
    Z, expected = case
    Q = quality.co_ranking_matrix(X, Z)
    assert Q[:5, :5].tolist() == expected["Q_first5x5"]
    assert Q.sum() == expected["Q_sum"]


def test_relative_rank_error_agrees_except_for_the_normalizing_rank(case):
    """Theirs divides by the rank in the embedding, though its worst case does not; ours by the rank in the data.

    So do Lee and Verleysen: it is the error of false neighbors with data and embedding exchanged.
    """
    Z, expected = case
    Q = quality.co_ranking_matrix(X, Z)
    n, ranks = len(X), np.arange(1, len(X))
    gap = np.abs(ranks[:, None] - ranks[None, :])
    for i, k in enumerate(expected["K"]):
        worst = n * np.sum(np.abs(n - 2 * ranks[:k]) / ranks[:k])
        theirs = (gap / ranks[None, :] * Q)[:k].sum() / worst
        assert theirs == pytest.approx(expected["W_nu"][i], abs=1e-13)
        ours = (gap / ranks[:, None] * Q)[:k].sum() / worst
        _, missed = quality.mean_relative_rank_errors(X, Z, k)
        assert missed.value == pytest.approx(ours, abs=1e-13)
        assert missed.value == pytest.approx(quality.mean_relative_rank_errors(Z, X, k)[0].value, abs=1e-15)
