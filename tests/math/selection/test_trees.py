"""Pruning against scikit-learn's, importances, rules, and the one-standard-error rule."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from lowland.data import load_dataset
from lowland.math.selection.cross_validation import best_model
from lowland.math.selection.trees import (
    Pruning,
    border_of,
    features_of,
    losses_by_complexity,
    ranks_of,
    removal_alphas,
    removals,
    rules_of,
    weakest_links,
)


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_pruning_agrees_with_scikit_learn(kind):
    wine = load_dataset("wine")
    Z = wine.X[:, 1:].astype(np.float32)
    y = wine.y if kind is DecisionTreeClassifier else wine.X[:, 0] + np.sin(wine.X[:, 3])
    tree = kind(random_state=0).fit(Z, y)
    node_alphas = weakest_links(tree.tree_)
    theirs = tree.cost_complexity_pruning_path(Z, y).ccp_alphas
    np.testing.assert_allclose(np.unique(node_alphas.round(12)), np.unique(theirs.round(12)), atol=1e-11)
    pruning = Pruning.of(node_alphas)
    assert pruning.n_leaves[0] == 1
    losses = losses_by_complexity(tree, pruning.alphas, Z, y)
    last = removal_alphas(tree.tree_, node_alphas, Z.shape[1])
    for i in range(0, len(pruning.alphas), max(1, len(pruning.alphas) // 12)):
        again = clone(tree).set_params(ccp_alpha=float(pruning.alphas[i])).fit(Z, y)
        assert again.get_n_leaves() == pruning.n_leaves[i]
        np.testing.assert_array_equal(features_of(again.tree_), np.flatnonzero(last > pruning.alphas[i]))
        apart = again.predict(Z) - y
        loss = np.mean(apart != 0) if kind is DecisionTreeClassifier else np.mean(apart**2)
        assert losses[i] == pytest.approx(loss, abs=1e-12)


def test_a_tree_of_one_node_has_one_pruning_step():
    tree = DecisionTreeRegressor().fit(np.zeros((4, 1)), np.arange(4.0))
    pruning = Pruning.of(weakest_links(tree.tree_))
    assert 0 < pruning.alphas[0] < 1e-12
    assert pruning.n_leaves.tolist() == [1]
    assert features_of(tree.tree_).size == 0


def test_rules_use_the_units_of_the_columns():
    X = np.array([[10.0], [20.0], [30.0], [40.0]])
    y = np.array([0, 0, 1, 1])
    tree = DecisionTreeClassifier().fit(ranks_of(X), y)
    text = rules_of(tree, ["length"], X, np.array(["short", "long"]))
    assert text.splitlines() == ["if length <= 25:", "    short (2 rows)", "else:", "    long (2 rows)"]
    tree = DecisionTreeRegressor().fit(ranks_of(X), y)
    assert "    1 (2 rows)" in rules_of(tree, ["length"], X, None)


def test_thresholds_have_enough_digits_to_separate_values():
    assert border_of(np.array([3.0, 1.0, 1.0, 2.0]), 0.5) == "1.5"
    assert border_of(np.array([1e8, 1e8 + 1, 1e8 + 2]), 1.0) == "100000001.5"
    assert 0.1 <= float(border_of(np.array([0.1, np.nextafter(0.1, 1)]), 0.5)) < np.nextafter(0.1, 1)
    assert float(border_of(np.array([-1.7e308, 1.7e308]), 0.5)) == 0


def test_splits_without_improvement_are_pruned():
    X, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]] * 5), np.array([0, 1, 1, 0] * 5)
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)  # exclusive or: the first split gains nothing
    assert tree.get_n_leaves() == 2
    pruning = Pruning.of(weakest_links(tree.tree_))
    assert pruning.n_leaves.tolist() == [1]
    assert tree.set_params(ccp_alpha=pruning.alphas[0]).fit(X, y).get_n_leaves() == 1


def test_weak_columns_are_pruned_first():
    """Column 0 splits the rows in halves ten apart, column 1 each half in quarters one apart; 2 is noise."""
    X = np.column_stack([np.repeat([0.0, 1.0], 20), np.tile(np.repeat([0.0, 1.0], 10), 2), np.cos(np.arange(40.0))])
    tree = DecisionTreeRegressor(random_state=0).fit(ranks_of(X), 10 * X[:, 0] + X[:, 1]).tree_
    node_alphas = weakest_links(tree)
    last = removal_alphas(tree, node_alphas, 3)
    assert last[0] > last[1] > last[2] == 0
    assert last[0] == pytest.approx(25)  # the variance between halves
    pruning = Pruning.of(node_alphas)
    moves = list(removals(last, features_of(tree), pruning.alphas, np.array([0.0, 0.9, 1.0])))
    assert [(move.feature, move.features) for move in moves] == [(1, (0,)), (0, ())]
    assert [move.score for move in moves] == [0.9, 0.0]


def test_the_simplest_model_within_a_standard_error():
    losses = np.array([[5.0, 5.0], [1.1, 1.3], [0.9, 1.3], [1.1, 1.1], [2.0, 2.0]])
    assert best_model(losses, "min") == 2  # 1.1 twice: the simpler one
    assert best_model(losses, "one-standard-error") == 1
    assert best_model(losses[:, :1], "one-standard-error") == 2


def test_complexities_lie_between_those_at_which_splits_are_pruned():
    found = Pruning.of(np.array([8.0, 1.0, 2.0, 4.0, 2.0]))
    np.testing.assert_allclose(found.alphas, [16, np.sqrt(32), np.sqrt(8), np.sqrt(2), 0.5])
    assert found.n_leaves.tolist() == [1, 2, 3, 5, 6]
