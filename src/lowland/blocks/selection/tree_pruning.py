"""Pruning of a decision tree: at which cost of a leaf every split goes, and what the trees in between predict."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_DEEPEST = 12  # levels written down
_NO_CHILD = -1
_NO_GAIN = 1e-14  # impurity, of which a tree has about one, below which a gain is rounding


def weakest_links(tree: Any) -> np.ndarray:
    """Return the complexity at which each node stops being a split, (nodes,); zero for those that never were one.

    Minimal cost-complexity pruning (Breiman, Friedman, Olshen and Stone 1984): of R(T) + α |leaves of T| the least, for
    all α. The node t with the least g(t) = (R(t) - R(leaves below t)) / (leaves below t - 1) goes first.
    ``tree`` is scikit-learn's ``tree_``; R is its impurity, weighted by the fraction of the rows. A split that gains
    nothing goes at zero.
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
    """The trees that pruning goes through, from the bare root to the whole tree."""

    alphas: np.ndarray  # (m,) falling: one complexity for each tree, between those at which splits go
    n_leaves: np.ndarray  # (m,)

    @classmethod
    def of(cls, node_alphas: np.ndarray) -> Pruning:
        """Between two complexities at which splits go, their geometric mean stands for all.

        None is zero, at which scikit-learn prunes nothing, also not what gains nothing.
        """
        ends = np.unique(node_alphas[node_alphas > 0])  # rising
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
    """Return the mean loss on some rows of the tree pruned at each complexity, (m,), from the one tree.

    A node answers for the rows that pass it from the complexity at which it stops to be a split up to the one at which
    its parent does. ``errors(rows, nodes)`` is the loss of rows answered by nodes.
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
    """Return a tree that was grown on the ranks of X, from 0, as a text of conditions in the units of its columns."""
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
    """Return a number between the values of two neighbouring ranks, with as many digits as tell them apart."""
    kinds, i = np.unique(x), math.floor(rank)
    low, high = float(kinds[i]), float(kinds[i + 1])
    middle = low / 2 + high / 2
    texts = (f"{value:.{digits}g}" for value in (middle, low) for digits in range(6, 18))
    return next(text for text in texts if low <= float(text) < high)
