"""Classifiers compared with the formulas and with scikit-learn."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as TheirLDA

from lowland import LinearDiscriminantAnalysis
from lowland.data import load_dataset


@pytest.mark.parametrize("classes", [2, 3])
def test_scores_and_probabilities_agree_with_scikit_learn(classes):
    iris = load_dataset("iris")
    kept = iris.y < classes
    X, y = iris.X[kept], iris.y[kept]
    ours, theirs = LinearDiscriminantAnalysis().fit(X, y), TheirLDA().fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(X)), ours.predict_proba(X))
    assert ours.decision_function(X).shape == ((len(X),) if classes == 2 else (len(X), 3))
    assert ours.score(X, y) == theirs.score(X, y)


def test_the_decision_is_linear_in_the_rows():
    iris = load_dataset("iris")
    lda = LinearDiscriminantAnalysis().fit(iris.X, iris.y)
    np.testing.assert_allclose(lda.decision_function(iris.X), iris.X @ lda.coef_.T + lda.intercept_)
