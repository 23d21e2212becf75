"""Agreement with R's MASS::lda."""

import numpy as np
import pytest

from lowland import LinearDiscriminantAnalysis
from lowland.data import load_dataset

from .test_references import reference


@pytest.mark.parametrize("part", ["proportions_prior", "equal_prior"])
@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_lda_iris(part, solver):
    expected = reference("lda_iris")[part]
    iris = load_dataset("iris")
    lda = LinearDiscriminantAnalysis(solver, priors=expected["prior"]).fit(iris.X, iris.y)
    np.testing.assert_allclose(lda.means_, expected["means"], rtol=1e-12)
    np.testing.assert_allclose(lda.counts_, expected["counts"])
    np.testing.assert_allclose(lda.singular_values_, expected["svd"], rtol=1e-10)
    np.testing.assert_allclose(lda.explained_variance_ratio_, expected["prop_of_trace"], rtol=1e-10)
    # R divides the scatter within classes by n - C, scikit-learn and we by n
    scaling = np.array(expected["scaling"]) * np.sqrt(150 / 147)
    signs = np.sign(np.sum(scaling * lda.scalings_[:, :2], axis=0))
    np.testing.assert_allclose(lda.scalings_[:, :2], scaling * signs, atol=1e-10)


@pytest.mark.parametrize("part", ["proportions_prior", "equal_prior"])
def test_lda_iris_rows(part):
    expected = reference("lda_iris")[part]
    iris = load_dataset("iris")
    lda = LinearDiscriminantAnalysis(priors=expected["prior"]).fit(iris.X, iris.y)
    x = np.array(expected["x_first10"]) * np.sqrt(150 / 147)
    Z = lda.transform(iris.X[:10])
    np.testing.assert_allclose(Z, x * np.sign(np.sum(x * Z, axis=0)), atol=1e-10)
    assert int(np.sum(lda.predict(iris.X) != iris.y)) == expected["train_errors"]
