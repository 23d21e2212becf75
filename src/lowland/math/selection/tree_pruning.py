"""Cost-complexity pruning of a decision tree: the complexity at which each split is pruned, and losses of subtrees."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_DEEPEST = 12  # levels written as rules
_NO_CHILD = -1
_NO_GAIN = 1e-14  # decrease of impurity (which is of order one) below which it is rounding error


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


def losses_by_complexity(
    model: Any,
    node_alphas: np.ndarray,
    alphas: np.ndarray,
    Z: np.ndarray,
    errors: Callable[[np.ndarray, np.ndarray], Any],
) -> np.ndarray:
    """Return the mean loss on some rows of the tree pruned at each complexity, (m,), from the full tree alone.

    A node predicts the rows that reach it from the complexity at which its own split is pruned up to the complexity at
    which its parent's is. ``errors(rows, nodes)`` is the loss of rows predicted by nodes.
    """
    tree = model.tree_
    parent_goes = np.full(len(node_alphas), np.inf)
    for children in (tree.children_left, tree.children_right):
        splits = np.flatnonzero(children != _NO_CHILD)
        parent_goes[children[splits]] = node_alphas[splits]
    passed = model.decision_path(Z).tocoo()
    by_node = np.bincount(passed.col, errors(passed.row, passed.col), len(node_alphas))
    rising = alphas[::-1]
    begin, end = np.searchsorted(rising, node_alphas, side="left"), np.searchsorted(rising, parent_goes, side="left")
    steps = np.bincount(begin, by_node, len(rising) + 1) - np.bincount(end, by_node, len(rising) + 1)
    return np.cumsum(steps[:-1])[::-1] / len(Z)


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
