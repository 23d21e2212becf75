"""Trees over folds: their losses when pruned, and how much worse they do when a column is shuffled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning

from lowland.blocks.selection.refit_scores import score_of
from lowland.blocks.selection.selection_path import Move
from lowland.blocks.selection.tree_pruning import losses_by_complexity, weakest_links
from lowland.blocks.statistics.fold_moments import Folds
from lowland.blocks.statistics.targets import Target
from lowland.errors import DataError


@dataclass(frozen=True)
class NodeErrors:
    """The loss of rows answered by nodes: whether the class is another, or the squared difference."""

    values: np.ndarray  # (n,) numbers, or the number of each row's class
    answers: np.ndarray  # (nodes,)
    classes: bool

    @classmethod
    def of(cls, tree: Any, values: np.ndarray, classes: np.ndarray | None) -> NodeErrors:
        """Of a grown tree; ``classes`` are the numbers of the classes that it knows."""
        if classes is None:
            return cls(values, tree.value[:, 0, 0], False)
        return cls(values, classes[np.argmax(tree.value[:, 0], axis=1)], True)

    def __call__(self, rows: np.ndarray, nodes: np.ndarray) -> np.ndarray:
        """Of pairs of a row and a node."""
        apart = self.values[rows] - self.answers[nodes]
        return (apart != 0).astype(np.float64) if self.classes else apart**2


def ranks_of(X: np.ndarray) -> np.ndarray:
    """Return the columns as ranks from 0, equal values the same, (n, d) float32.

    A tree asks only which values are larger. scikit-learn's are grown in float32, which would make one of values that
    lie close together beside a far one, or far from zero.
    """
    Z = np.empty(X.shape, dtype=np.float32)
    for j in range(X.shape[1]):
        Z[:, j] = np.unique(X[:, j], return_inverse=True)[1]
    return Z


def cross_validated_losses(
    model: Any, Z: np.ndarray, y: np.ndarray, folds: Folds, alphas: np.ndarray, tick: Callable[[], None]
) -> np.ndarray:
    """Return the loss of each complexity on the rows that each fold has held out, (m, F): one tree per fold."""
    losses = np.empty((len(alphas), len(folds)))
    for f, (train, test) in enumerate(folds):
        grown = clone(model).fit(Z[train], y[train])
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
    """Return by how much the score on held-out rows falls when a column is shuffled, (d, folds x repeats).

    A column in which the tree of a fold never splits costs nothing, and is not tried (Breiman 2001).
    """
    drops = np.zeros((Z.shape[1], len(folds), repeats))
    for f, (train, test) in enumerate(folds):
        fitted = in_own_units(clone(model).fit(Z[train], target.values[train]), target)
        held, truth = Z[test], target.own[test]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)  # refused below
            whole = score_of(fitted, scorer, held, truth)
        if not np.isfinite(whole):
            raise DataError(
                f"The score of {len(test)} held-out rows is {whole}, so nothing can be lost of it. R² wants two rows "
                "or more in every fold: choose fewer folds (cv), or another scoring."
            )
        for j in features_of(fitted.tree_):
            shuffled = held.copy()
            for r in range(repeats):
                shuffled[:, j] = held[random.permutation(len(held)), j]
                drops[j, f, r] = whole - score_of(fitted, scorer, shuffled, truth)
        tick()
    return drops.reshape(len(drops), -1)


def in_own_units(fitted: Any, target: Target) -> Any:
    """Let a tree that was grown on numbers near zero, or on numbers of classes, answer as y came."""
    if target.classes is None:
        fitted.tree_.value[...] = fitted.tree_.value * target.scale + target.center
    else:
        fitted.classes_ = target.classes[fitted.classes_]
    return fitted


def features_of(tree: Any) -> np.ndarray:
    """Return the columns in which a tree splits."""
    return np.unique(tree.feature[tree.children_left >= 0])


def removal_alphas(tree: Any, node_alphas: np.ndarray, d: int) -> np.ndarray:
    """Return the complexity at which the last split in each column is pruned, (d,); zero for one never met."""
    last = np.zeros(d)
    splits = tree.children_left >= 0
    np.maximum.at(last, tree.feature[splits], node_alphas[splits])
    return last


def removals(last: np.ndarray, grown: np.ndarray, alphas: np.ndarray, scores: np.ndarray) -> Iterator[Move]:
    """Yield the columns in the order in which pruning takes them out, with the validated score of what is left."""
    inside = tuple(int(j) for j in grown)
    for j in sorted(inside, key=lambda j: (last[j], -j)):
        inside = tuple(i for i in inside if i != j)
        after = len(alphas) - int(np.searchsorted(alphas[::-1], last[j], side="left")) - 1
        yield Move("remove", j, float(scores[max(after, 0)]), inside)
