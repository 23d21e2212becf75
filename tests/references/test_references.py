"""Agreement with R: the numbers in the JSON files beside this one, each with its source."""

import json
from pathlib import Path

import numpy as np
import pytest

from lowland import PCA, Whitening
from lowland.data import load_dataset

HERE = Path(__file__).parent
SOLVERS = ["full", "covariance_eigh", "power", "arpack", "randomized"]


def reference(name):
    return json.loads((HERE / f"{name}.json").read_text())["result"]


def prcomp_agrees(X, expected, scale, solver):
    pca = PCA(svd_solver=solver, scale=scale, random_state=0).fit(X)
    k = pca.n_components_
    assert k == X.shape[1] - (solver == "arpack")  # as in scikit-learn, ARPACK keeps all but one
    rotation = np.array(expected["rotation_p_by_k"])[:, :k]
    signs = np.sign(np.sum(rotation * pca.components_.T, axis=0))
    np.testing.assert_allclose(pca.explained_variance_, expected["variance"][:k], rtol=1e-8)
    np.testing.assert_allclose(pca.explained_variance_ratio_, expected["proportion"][:k], rtol=1e-8)
    np.testing.assert_allclose(pca.components_.T, rotation * signs, atol=1e-8)
    np.testing.assert_allclose(pca.mean_, expected["center"], rtol=1e-10)
    if expected["scale"]:
        np.testing.assert_allclose(pca.scale_, expected["scale"], rtol=1e-10)
    scores = np.array(expected["scores_first10"])[:, :k]
    np.testing.assert_allclose(pca.transform(X)[:10, : scores.shape[1]], scores * signs[: scores.shape[1]], atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("part", "scale"), [("centered", False), ("scaled", True)])
def test_prcomp_iris(part, scale, solver):
    prcomp_agrees(load_dataset("iris").X, reference("prcomp_iris")[part], scale, solver)


@pytest.mark.parametrize(("part", "scale"), [("centered", False), ("scaled", True)])
def test_prcomp_yeast(part, scale, data_folder):
    prcomp_agrees(load_dataset("yeast").X, reference("prcomp_yeast")[part], scale, "auto")


@pytest.mark.parametrize("kind", ["ZCA", "ZCA-cor", "PCA", "PCA-cor", "Cholesky"])
@pytest.mark.parametrize("data", ["iris", "wine"])
def test_whitening(data, kind):
    expected = reference("whitening")[data][kind]
    X = load_dataset(data).X
    white = Whitening(method=kind.lower()).fit(X)
    W = np.array(expected["W"])
    if kind.startswith("PCA"):  # the package fixes signs by the diagonal, we by the largest entry
        W = W * np.sign(np.sum(W * white.whitening_, axis=1))[:, None]
    np.testing.assert_allclose(white.whitening_, W, atol=1e-8 * np.abs(W).max())
