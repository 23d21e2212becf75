"""Intersections of the graph with a target. The reference is in tests/references."""

import numpy as np

from lowland.math.embeddings.fuzzy_graph import fuzzy_graph
from lowland.math.embeddings.target_graph import intersection, locally_connected, within_classes
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun

RUN = LocalRun()
X = np.random.default_rng(0).normal(size=(60, 3))
GRAPH = fuzzy_graph(nearest_neighbors(X, 8, RUN), RUN)
LABELS = np.arange(60) % 3


def between(graph, labels):
    W = graph.matrix().toarray()
    return W[labels[:, None] != labels[None, :]].sum() / W.sum()


def test_more_weight_of_the_target_leaves_less_between_classes():
    fractions = [between(within_classes(GRAPH, LABELS, weight), LABELS) for weight in (0.0, 0.5, 0.8, 1.0)]
    assert fractions == sorted(fractions, reverse=True)
    assert fractions[-1] == 0


def test_unknown_labels_keep_the_structure():
    """All edges are weaker by the same factor, which the largest weight of each row removes."""
    found = within_classes(GRAPH, np.full(60, -1), 0.5)
    np.testing.assert_allclose(found.matrix().toarray(), locally_connected(GRAPH).matrix().toarray(), atol=1e-6)


def test_every_row_has_an_edge_of_weight_one():
    W = within_classes(GRAPH, LABELS, 0.5).matrix().toarray()
    np.testing.assert_allclose(W.max(axis=1), 1)


def test_the_weight_decides_which_graph_prevails():
    target = fuzzy_graph(nearest_neighbors(LABELS[:, None] + 0.1 * X[:, :1], 8, RUN), RUN)
    pulls = [between(intersection(GRAPH, target, weight), LABELS) for weight in (0.1, 0.5, 0.9)]
    assert pulls == sorted(pulls, reverse=True)
