"""Filter scores of a plain table: the statistic for a target, by hand and compared with scikit-learn."""

import numpy as np
import pytest
import scipy.sparse
from scipy.stats import spearmanr
from sklearn.feature_selection import f_classif

from lowland.errors import DataError, ParameterError
from lowland.math.selection.filter_scores import choose_statistic, filter_scores


def test_scores_by_hand():
    X = np.array([[1.0, 5.0, 1.0], [2.0, 5.0, -1.0], [3.0, 5.0, -1.0], [4.0, 5.0, 1.0]])
    found = filter_scores(X, np.array([1.5, 2.5, 3.5, 4.5]), "pearson")
    np.testing.assert_allclose(found.values, [1, 0, 0], atol=1e-15)
    assert found.constant.tolist() == [False, True, False]
    assert filter_scores(X, statistic="variance").values.tolist() == [1.25, 0, 1]
    assert filter_scores(np.abs(X), np.array([0, 0, 1, 1]), "chi2").values.tolist() == [1.6, 0, 0]


@pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array], ids=["dense", "sparse"])
def test_scores_agree_with_other_libraries(wrap):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 4)), np.arange(50) % 3
    np.testing.assert_allclose(filter_scores(wrap(X), y).values, f_classif(X, y)[0])
    z = X[:, 1] ** 3 + rng.standard_normal(50)
    theirs = [spearmanr(X[:, j], z).statistic for j in range(4)]
    np.testing.assert_allclose(filter_scores(wrap(X), z, "spearman").values, theirs)
    assert np.argmax(filter_scores(X, z, "distance-correlation").values) == 1
    assert np.argmax(filter_scores(X, z, "mutual-information").values) == 1


def test_the_statistic_is_chosen_by_the_target():
    classes, numbers = np.arange(60) % 3, np.linspace(0.1, 1, 60)
    assert choose_statistic("auto", classes, "auto", for_numbers="")[0] == "anova"
    assert choose_statistic("auto", classes, "numbers", for_numbers="")[0] == "pearson"
    assert choose_statistic("auto", numbers, "auto", for_numbers="")[0] == "pearson"
    assert choose_statistic(np.var, numbers, "auto", for_numbers="") == ("var()", None)
    with pytest.raises(DataError, match=r"3 classes.*set it"):
        choose_statistic("pearson", classes, "auto", for_numbers="it")
    with pytest.raises(ParameterError, match="compares classes"):
        choose_statistic("anova", classes, "numbers", for_numbers="")
    with pytest.raises(DataError, match="y is None"):
        filter_scores(np.eye(3), statistic="spearman")
