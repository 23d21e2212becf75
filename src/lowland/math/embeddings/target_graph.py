"""The fuzzy graph of rows, intersected with what is known of a target: class labels, or a graph of numeric targets."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse

from lowland.math.embeddings.fuzzy_graph import FuzzyGraph, fuzzy_union

_UNKNOWN = 1.0  # exponent of an edge to a row of unknown class
_FAR = 2.5  # exponent of an edge between classes, divided by 1 - weight
_SMALLEST, _LARGEST = 1e-8, 1e-4  # bounds of the weight of an edge that only one of two graphs has


def within_classes(graph: FuzzyGraph, codes: np.ndarray, weight: float) -> FuzzyGraph:
    """Return the graph with weaker edges between classes: times exp(-2.5 / (1 - weight)).

    ``codes`` are class numbers; -1 means unknown, and an edge of such a row is multiplied by exp(-1).
    """
    between = math.exp(-_FAR / (1 - weight)) if weight < 1 else 0.0
    here, there = np.repeat(codes, np.diff(graph.start)), codes[graph.to]
    factor = np.where(here == there, np.float32(1), np.float32(between))
    factor[(here < 0) | (there < 0)] = math.exp(-_UNKNOWN)
    return locally_connected(FuzzyGraph(graph.start, graph.to, graph.weight * factor))


def intersection(graph: FuzzyGraph, target: FuzzyGraph, weight: float) -> FuzzyGraph:
    """Return the intersection of two graphs: the product of their memberships, the target to a power by ``weight``.

    An edge that one graph lacks has half the least weight of that graph.
    """
    A, B = graph.matrix(), target.matrix()
    pattern = scipy.sparse.csr_array(A + B).sorted_indices()
    a, b = _values_on(pattern, A), _values_on(pattern, B)
    least = max(float(A.data.min(initial=1)) / 2, _SMALLEST)
    least_target = min(max(float(B.data.min(initial=1)) / 2, _SMALLEST), _LARGEST)
    a[a == 0], b[b == 0] = least, least_target
    powers = (1.0, weight / (1 - weight)) if weight < 0.5 else ((1 - weight) / weight, 1.0)
    pattern.data = a ** np.float32(powers[0]) * b ** np.float32(powers[1])
    return locally_connected(FuzzyGraph.of_matrix(pattern))


def locally_connected(graph: FuzzyGraph) -> FuzzyGraph:
    """Return the union of the graph after each row is divided by its largest weight, so that no row is isolated."""
    counts = np.diff(graph.start)
    top = np.ones(graph.n, dtype=np.float32)
    with_edges = counts > 0
    if with_edges.any():
        top[with_edges] = np.maximum.reduceat(graph.weight, graph.start[:-1][with_edges])
    top[top <= 0] = 1
    return fuzzy_union(graph.start, graph.to, graph.weight / np.repeat(top, counts))


def _values_on(pattern: scipy.sparse.csr_array, W: scipy.sparse.csr_array) -> np.ndarray:
    """The values of W at the entries of a sorted pattern that includes its own, 0 elsewhere, (entries,)."""
    values = np.zeros(pattern.nnz, dtype=np.float32)
    values[np.searchsorted(_keys(pattern), _keys(W))] = W.data
    return values


def _keys(W: scipy.sparse.csr_array) -> np.ndarray:
    """One integer per entry, in increasing order if the entries are sorted, (entries,)."""
    return np.repeat(np.arange(W.shape[0]), np.diff(W.indptr)) * np.int64(W.shape[1]) + W.indices
