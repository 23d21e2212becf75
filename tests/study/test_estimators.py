"""The estimator of a study."""

import numpy as np
import pytest

import lowland
from lowland.errors import ParameterError

FEW = ["pca", "isomap", "lda"]


@pytest.fixture
def study(iris):
    return lowland.compare(iris.X, iris.y, FEW)


def test_the_recommended_method_can_be_fitted(study, iris):
    est = study.estimator()
    assert est.n_components == 2
    np.testing.assert_allclose(est.fit_transform(iris.X), study["PCA"].Z, atol=1e-5)
    assert study.estimator("compress").n_components == study.advice[1].n_components == 2
    assert study.estimator("isomap").n_neighbors == 10
    with pytest.raises(ParameterError, match=r"The trials: .* purpose: visualize"):
        study.estimator("UMAP")


def test_columns_that_the_study_standardized_are_standardized_again():
    wine = lowland.data.load_dataset("wine")
    study = lowland.compare(wine.X, wine.y, ["pca"], scale="auto")
    assert study.table.scaled
    np.testing.assert_allclose(study.estimator().fit_transform(wine.X), study["PCA"].Z, atol=1e-4)


def test_without_a_recommendation_there_is_no_estimator(rng):
    study = lowland.compare(rng.standard_normal((40, 3)), None, ["pca"], purpose="compress")
    with pytest.raises(ParameterError, match="no advice for 'compress'"):
        study.estimator()


def test_the_estimator_is_the_pca_that_was_measured():
    wine = lowland.data.load_dataset("wine")
    study = lowland.compare(wine.X, wine.y, ["pca"], 1, sweep={"pca.whiten": [True]}, scale="standard", cache=False)
    est = study.estimator("compress")[-1]
    assert (est.n_components, est.whiten) == (10, False)
