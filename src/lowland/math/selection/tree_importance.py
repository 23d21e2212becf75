"""Cross-validation of decision trees: losses of the pruned trees, and permutation importance."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning

from lowland.errors import DataError
from lowland.math.selection.refit_scores import score_of
from lowland.math.selection.selection_path import Move
from lowland.math.selection.tree_pruning import losses_by_complexity, weakest_links
from lowland.math.statistics.fold_moments import Folds
from lowland.math.statistics.targets import Target
from lowland.run.progress import in_one_call

_LARGE = 100_000  # numbers in a table from which growing a tree may take a while


@dataclass(frozen=True)
class NodeErrors:
    """The loss of rows predicted by nodes: 0-1 loss for classes, squared error for numbers."""

    values: np.ndarray  # (n,) numbers, or the class index of each row
    answers: np.ndarray  # (nodes,) predictions
    classes: bool

    @classmethod
    def of(cls, tree: Any, values: np.ndarray, classes: np.ndarray | None) -> NodeErrors:
        """Return the losses of a tree; ``classes`` are the indices of the classes in its training rows."""
        if classes is None:
            return cls(values, tree.value[:, 0, 0], False)
        return cls(values, classes[np.argmax(tree.value[:, 0], axis=1)], True)

    def __call__(self, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """Return the loss of each pair of a row and a node."""
        apart = self.values[rows] - self.answers[nodes]
        return (apart != 0).astype(np.float64) if self.classes else apart**2


def ranks_of(X: np.ndarray) -> np.ndarray:
    """Return the columns as ranks from 0, ties equal, (n, d) float32.

    A tree depends only on the order of the values. scikit-learn's trees convert to float32, which would merge values
    that are close together relative to their distance from zero or to an outlier.
    """
    Z = np.empty(X.shape, dtype=np.float32)
    for j in range(X.shape[1]):
        Z[:, j] = np.unique(X[:, j], return_inverse=True)[1]
    return Z


def grow(model: Any, Z: np.ndarray, y: np.ndarray) -> Any:
    """Return a new tree, fitted to the rows; a large one in a thread, so that it can be stopped."""
    tree = clone(model)
    return tree.fit(Z, y) if Z.size < _LARGE else in_one_call(lambda: tree.fit(Z, y), "the tree")


def cross_validated_losses(
    model: Any, Z: np.ndarray, y: np.ndarray, folds: Folds, alphas: np.ndarray, tick: Callable[[], None]
) -> np.ndarray:
    """Return the loss of each complexity on the held-out rows of each fold, (m, F): one tree per fold."""
    losses = np.empty((len(alphas), len(folds)))
    for f, (train, test) in enumerate(folds):
        grown = grow(model, Z[train], y[train])
        errors = NodeErrors.of(grown.tree_, y[test], getattr(grown, "classes_", None))
        losses[:, f] = losses_by_complexity(grown, weakest_links(grown.tree_), alphas, Z[test], errors)
        tick()
    return losses


def shuffled_losses(
    model: Any,
    scorer: Any,
    Z: np.ndarray,
    target: Target,
    folds: Folds,
    repeats: int,
    random: np.random.Generator,
    tick: Callable[[], None],
) -> np.ndarray:
    """Return the decrease of the score on held-out rows when a column is permuted, (d, folds x repeats).

    It is zero for a column that the tree of a fold does not use, which is not permuted (Breiman 2001).
    """
    drops = np.zeros((Z.shape[1], len(folds), repeats))
    for f, (train, test) in enumerate(folds):
        fitted = in_own_units(grow(model, Z[train], target.values[train]), target)
        held, truth = Z[test], target.own[test]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)  # refused below
            whole = score_of(fitted, scorer, held, truth)
        if not np.isfinite(whole):
            raise DataError(
                f"The score of {len(test)} held-out rows is {whole}, so permutation importance is undefined. R² "
                "needs at least two rows in every fold: choose fewer folds (`cv`), or another scoring."
            )
        for j in features_of(fitted.tree_):
            shuffled = held.copy()
            for r in range(repeats):
                shuffled[:, j] = held[random.permutation(len(held)), j]
                drops[j, f, r] = whole - score_of(fitted, scorer, shuffled, truth)
        tick()
    return drops.reshape(len(drops), -1)


def in_own_units(fitted: Any, target: Target) -> Any:
    """Make a tree that was fitted to standardized numbers, or to class indices, predict in the units of y."""
    if target.classes is None:
        fitted.tree_.value[...] = fitted.tree_.value * target.scale + target.center
    else:
        fitted.classes_ = target.classes[fitted.classes_]
    return fitted


def features_of(tree: Any) -> np.ndarray:
    """Return the indices of the columns used in the splits of a tree."""
    return np.unique(tree.feature[tree.children_left >= 0])


def removal_alphas(tree: Any, node_alphas: np.ndarray, d: int) -> np.ndarray:
    """Return the complexity at which the last split in each column is pruned, (d,); zero for an unused column."""
    last = np.zeros(d)
    splits = tree.children_left >= 0
    np.maximum.at(last, tree.feature[splits], node_alphas[splits])
    return last


def removals(last: np.ndarray, grown: np.ndarray, alphas: np.ndarray, scores: np.ndarray) -> Iterator[Move]:
    """Yield the columns in the order in which pruning removes them, with the cross-validated score after it."""
    inside = tuple(int(j) for j in grown)
    for j in sorted(inside, key=lambda j: (last[j], -j)):
        inside = tuple(i for i in inside if i != j)
        after = len(alphas) - int(np.searchsorted(alphas[::-1], last[j], side="left")) - 1
        yield Move("remove", j, float(scores[max(after, 0)]), inside)
