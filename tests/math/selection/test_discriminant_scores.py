"""Updated discriminants compared with fitted ones."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score

from .cases import by, rows


@pytest.mark.parametrize("classes", [2, 4])
def test_updated_discriminants_classify_like_fitted_ones(classes):
    X, y = rows(120, 7, 3, classes)
    scores = by(LinearDiscriminantAnalysis(), X, y)
    assert type(scores).__name__ == "DiscriminantScores"

    def truth(S):
        return cross_val_score(LinearDiscriminantAnalysis(), X[:, S], y, cv=4).mean()

    J = np.array([0, 4, 6])
    assert scores.with_each((1, 3), J).tolist() == [truth([1, 3, j]) for j in J]
    assert scores.with_each((), J).tolist() == [truth([j]) for j in J]
    assert scores.without_each((1, 3, 4)).tolist() == [truth([3, 4]), truth([1, 4]), truth([1, 3])]
    assert scores.many(np.array([[0, 1], [2, 6]])).tolist() == [truth([0, 1]), truth([2, 6])]
