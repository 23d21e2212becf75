"""EMImputer: the values of PCA(missing="em"), names, model files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import lowland
from lowland import PCA
from lowland.prepare.steps import EMImputer


def test_incomplete_rows_are_imputed_by_em_and_saved(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 5)) + 0.1 * rng.standard_normal((80, 5))
    X[rng.random(X.shape) < 0.1] = np.nan
    pipeline = make_pipeline(EMImputer(), PCA(2)).fit(X)
    np.testing.assert_allclose(pipeline[0].transform(X), lowland.impute(X, "em"), atol=1e-10)
    lowland.save(pipeline, tmp_path / "m")
    again = lowland.load(tmp_path / "m")
    assert np.array_equal(again.transform(X), pipeline.transform(X))
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = EMImputer().fit(frame)
    assert named.transform(frame).columns.tolist() == named.get_feature_names_out().tolist() == list("abcde")
    np.testing.assert_allclose(named.open_rows(frame).to_array(), named.transform(frame), atol=1e-12)


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # its tables are small and often degenerate
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([EMImputer()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)
