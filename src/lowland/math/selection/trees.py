"""Decision trees: cost-complexity pruning, losses on held-out rows, permutation importance, and rules in words."""

from __future__ import annotations

import heapq
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import UndefinedMetricWarning

from lowland.errors import DataError
from lowland.math.selection.cross_validation import Folds, score_of
from lowland.math.selection.subset_search import Move
from lowland.math.statistics.labels import Target
from lowland.run.progress import in_one_call

_LARGE = 100_000  # numbers in a table from which growing a tree may take a while
_DEEPEST = 12  # levels written as rules
_NO_CHILD = -1
_NO_GAIN = 1e-14  # decrease of impurity (which is of order one) below which it is rounding error


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


def weakest_links(tree: Any) -> np.ndarray:
    """Return the complexity at which each split is pruned, (nodes,); zero for leaves.

    Minimal cost-complexity pruning (Breiman, Friedman, Olshen and Stone 1984) minimizes R(T) + α |leaves of T| for all
    α. The node t with the smallest g(t) = (R(t) - R(leaves below t)) / (leaves below t - 1) is pruned first. ``tree``
    is scikit-learn's ``tree_``; R is its impurity, weighted by the fraction of rows. A split without gain is pruned at
    zero.
    """
    left, right = tree.children_left.tolist(), tree.children_right.tolist()
    n = len(left)
    R = (tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]).tolist()
    parent = [_NO_CHILD] * n
    below, leaves = R.copy(), [1] * n
    for t in range(n):
        if left[t] != _NO_CHILD:
            parent[left[t]] = parent[right[t]] = t
    for t in range(n - 1, -1, -1):  # children come after their parents
        if left[t] != _NO_CHILD:
            below[t], leaves[t] = below[left[t]] + below[right[t]], leaves[left[t]] + leaves[right[t]]
    node_alphas = np.zeros(n)
    standing = [child != _NO_CHILD for child in left]
    heap = [((R[t] - below[t]) / (leaves[t] - 1), t, leaves[t]) for t in range(n) if standing[t]]
    heapq.heapify(heap)
    alpha = 0.0
    while heap:
        g, t, as_of = heapq.heappop(heap)
        if not standing[t] or as_of != leaves[t]:  # pruned, or a stale entry: a new one was pushed
            continue
        alpha = max(alpha, g if g > _NO_GAIN else 0.0)
        waiting = [t]
        while waiting:
            s = waiting.pop()
            if standing[s]:
                standing[s], node_alphas[s] = False, alpha
                waiting += [left[s], right[s]]
        gain, fewer = R[t] - below[t], leaves[t] - 1
        below[t], leaves[t] = R[t], 1
        a = parent[t]
        while a != _NO_CHILD:
            below[a], leaves[a] = below[a] + gain, leaves[a] - fewer
            heapq.heappush(heap, ((R[a] - below[a]) / (leaves[a] - 1), a, leaves[a]))
            a = parent[a]
    return node_alphas


@dataclass(frozen=True)
class Pruning:
    """The nested subtrees of pruning, from the root alone to the full tree."""

    alphas: np.ndarray  # (m,) decreasing: one complexity per subtree, between those at which splits are pruned
    n_leaves: np.ndarray  # (m,)

    @classmethod
    def of(cls, node_alphas: np.ndarray) -> Pruning:
        """Represent each interval between two pruning complexities by their geometric mean.

        No complexity is zero, because scikit-learn prunes nothing at zero, not even splits without gain.
        """
        ends = np.unique(node_alphas[node_alphas > 0])  # increasing
        inner = np.sqrt(ends[:-1] * ends[1:])
        alphas = np.concatenate([ends[-1:] * 2, inner[::-1], ends[:1] / 2]) if ends.size else np.array([_NO_GAIN])
        splits_left = len(node_alphas) - np.searchsorted(np.sort(node_alphas), alphas, side="right")
        return cls(alphas, 1 + splits_left)


def cross_validated_losses(
    model: Any, Z: np.ndarray, y: np.ndarray, folds: Folds, alphas: np.ndarray, tick: Callable[[], None]
) -> np.ndarray:
    """Return the loss of each complexity on the held-out rows of each fold, (m, F): one tree per fold."""
    losses = np.empty((len(alphas), len(folds)))
    for f, (train, test) in enumerate(folds):
        losses[:, f] = losses_by_complexity(grow(model, Z[train], y[train]), alphas, Z[test], y[test])
        tick()
    return losses


def losses_by_complexity(model: Any, alphas: np.ndarray, Z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the mean loss on some rows of the tree pruned at each complexity, (m,), from the full tree alone.

    The loss is 0 or 1 for classes, the squared error for numbers. A node predicts the rows that reach it from the
    complexity at which its own split is pruned up to the complexity at which its parent's is.
    """
    tree, node_alphas = model.tree_, weakest_links(model.tree_)
    parent_goes = np.full(len(node_alphas), np.inf)
    for children in (tree.children_left, tree.children_right):
        splits = np.flatnonzero(children != _NO_CHILD)
        parent_goes[children[splits]] = node_alphas[splits]
    passed = model.decision_path(Z).tocoo()
    if is_classifier(model):
        answers = model.classes_[np.argmax(tree.value[:, 0], axis=1)]
        errors = (y[passed.row] != answers[passed.col]).astype(np.float64)
    else:
        errors = (y[passed.row] - tree.value[passed.col, 0, 0]) ** 2
    by_node = np.bincount(passed.col, errors, len(node_alphas))
    rising = alphas[::-1]
    begin, end = np.searchsorted(rising, node_alphas, side="left"), np.searchsorted(rising, parent_goes, side="left")
    steps = np.bincount(begin, by_node, len(rising) + 1) - np.bincount(end, by_node, len(rising) + 1)
    return np.cumsum(steps[:-1])[::-1] / len(Z)


def permutation_importances(
    model: Any, scorer: Any, Z: np.ndarray, target: Target, folds: Folds, repeats: int, random: np.random.Generator,
    tick: Callable[[], None],
) -> np.ndarray:  # fmt: skip
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


def rules_of(model: Any, names: Sequence[str], X: np.ndarray, classes: np.ndarray | None) -> str:
    """Return a tree that was fitted to the ranks of X, from 0, as nested conditions in the units of the columns."""
    tree, lines = model.tree_, []

    def answer(t: int) -> str:
        rows = int(tree.n_node_samples[t])
        value = f"{tree.value[t, 0, 0]:.5g}" if classes is None else str(classes[int(np.argmax(tree.value[t, 0]))])
        return f"{value} ({rows} row{'s' * (rows != 1)})"

    def write(t: int, depth: int) -> None:
        pad = "    " * depth
        if tree.children_left[t] == _NO_CHILD:
            lines.append(f"{pad}{answer(t)}")
        elif depth == _DEEPEST:
            lines.append(f"{pad}… {answer(t)}")
        else:
            j = int(tree.feature[t])
            lines.append(f"{pad}if {names[j]} <= {border_of(X[:, j], tree.threshold[t])}:")
            write(int(tree.children_left[t]), depth + 1)
            lines.append(f"{pad}else:")
            write(int(tree.children_right[t]), depth + 1)

    write(0, 0)
    return "\n".join(lines)


def border_of(x: np.ndarray, rank: float) -> str:
    """Return a number between the values of two adjacent ranks, with as few digits as separate them."""
    kinds, i = np.unique(x), math.floor(rank)
    low, high = float(kinds[i]), float(kinds[i + 1])
    middle = low / 2 + high / 2
    texts = (f"{value:.{digits}g}" for value in (middle, low) for digits in range(6, 18))
    return next(text for text in texts if low <= float(text) < high)
