"""Mutual information against scikit-learn, and against a normal pair, whose information is known."""

import numpy as np
import pytest
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from sklearn.metrics import mutual_info_score

from lowland.errors import ParameterError
from lowland.math.selection.mutual_information import MutualInformation, discrete_columns
from lowland.math.statistics.labels import Target


def information(x, target, discrete=False, k=3):
    measure = MutualInformation.to(target, np.array([discrete]), k, seed=0)
    return measure(measure.prepare(x, 0), 0)[0]


@pytest.mark.parametrize("k", [1, 3, 7])
def test_mutual_information_agrees_with_scikit_learn(k):
    rng = np.random.default_rng(0)
    y = rng.standard_normal(400)
    x = np.sin(2 * y) + 0.3 * rng.standard_normal(400)
    kinds = np.digitize(y, [-1, 0.5])
    kinds[0] = 3  # a class of one row
    steps = np.digitize(x, [-0.5, 0, 0.5])
    options = {"n_neighbors": k, "random_state": 0}
    pairs = [
        (information(x, Target(y, None), k=k), mutual_info_regression(x[:, None], y, **options)),
        (information(x, Target.of_classes(kinds), k=k), mutual_info_classif(x[:, None], kinds, **options)),
        (
            information(steps, Target(y, None), discrete=True, k=k),
            mutual_info_regression(steps[:, None], y, discrete_features=True, **options),
        ),
        (information(steps, Target.of_classes(kinds), discrete=True, k=k), mutual_info_score(steps, kinds)),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_mutual_information_of_a_normal_pair():
    rng = np.random.default_rng(0)
    x, e = rng.standard_normal((2, 4000))
    assert information(x, Target(0.8 * x + 0.6 * e, None)) == pytest.approx(-0.5 * np.log(1 - 0.64), abs=0.05)
    assert information(x, Target(e, None)) < 0.03


def test_tied_values_are_jittered():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    x = np.round(rng.standard_normal(600) + y)
    theirs = [mutual_info_classif(x[:, None], y, random_state=s)[0] for s in range(10)]
    assert information(x, Target.of_classes(y)) == pytest.approx(np.mean(theirs), abs=4 * np.std(theirs) + 1e-9)


def test_discrete_columns_are_identified():
    assert discrete_columns("auto", 3, sparse=True).tolist() == [True, True, True]
    assert discrete_columns([0, 2], 3, sparse=False).tolist() == [True, False, True]
    assert discrete_columns([False, True, False], 3, sparse=False).tolist() == [False, True, False]
    with pytest.raises(ParameterError, match="from 0 to 2"):
        discrete_columns([3], 3, sparse=False)
