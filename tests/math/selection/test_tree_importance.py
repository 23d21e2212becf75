"""Importances of the columns of a tree, and the order in which pruning removes them."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from lowland.math.selection.tree_importance import (
    NodeErrors,
    cross_validated_losses,
    features_of,
    in_own_units,
    ranks_of,
    removal_alphas,
    removals,
    shuffled_losses,
)
from lowland.math.selection.tree_pruning import Pruning, weakest_links
from lowland.math.statistics.labels import Target


def steps():
    """Column 0 splits the rows in halves ten apart, column 1 each half in quarters one apart; 2 is noise."""
    X = np.column_stack([np.repeat([0.0, 1.0], 20), np.tile(np.repeat([0.0, 1.0], 10), 2), np.cos(np.arange(40.0))])
    return ranks_of(X), 10 * X[:, 0] + X[:, 1]


def test_ranks_keep_the_order_and_ties():
    assert ranks_of(np.array([[3e300, 1.0], [-1.0, 1.0], [3e300, 0.0]])).tolist() == [[1, 1], [0, 1], [1, 0]]


def test_weak_columns_are_pruned_first():
    Z, y = steps()
    tree = DecisionTreeRegressor(random_state=0).fit(Z, y).tree_
    node_alphas = weakest_links(tree)
    last = removal_alphas(tree, node_alphas, 3)
    assert last[0] > last[1] > last[2] == 0
    assert last[0] == pytest.approx(25)  # the variance between halves
    pruning = Pruning.of(node_alphas)
    moves = list(removals(last, features_of(tree), pruning.alphas, np.array([0.0, 0.9, 1.0])))
    assert [(move.feature, move.features) for move in moves] == [(1, (0,)), (0, ())]
    assert [move.score for move in moves] == [0.9, 0.0]


def test_permuting_a_column_raises_the_loss_by_its_importance():
    Z, y = steps()
    target = Target.of_numbers(y).standardized()
    model, folds = DecisionTreeRegressor(random_state=0), list(KFold(2, shuffle=True, random_state=0).split(Z))
    rng = np.random.default_rng(0)
    drops = shuffled_losses(model, get_scorer("r2"), Z, target, folds, 4, rng, lambda: None)
    assert drops.shape == (3, 8)
    assert drops[0].mean() > 0.5 > drops[1].mean() > 0
    assert not drops[2].any()
    losses = cross_validated_losses(model, Z, target.values, folds, np.array([1e3, 1e-9]), lambda: None)
    assert (losses[0] > 0.9).all()
    np.testing.assert_allclose(losses[1], 0, atol=1e-12)


def test_a_tree_predicts_in_the_units_of_y():
    Z, y = steps()
    target = Target.of_numbers(y).standardized()
    fitted = in_own_units(DecisionTreeRegressor(random_state=0).fit(Z, target.values), target)
    np.testing.assert_allclose(fitted.predict(Z), y, atol=1e-12)
    errors = NodeErrors.of(fitted.tree_, y, None)
    np.testing.assert_allclose(errors(np.arange(40), fitted.apply(Z)), 0, atol=1e-12)
