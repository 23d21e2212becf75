"""The start of a disconnected graph: components apart, each spread out."""

import numpy as np

from lowland.math.embeddings.component_starts import separate_start
from lowland.math.embeddings.fuzzy_graph import fuzzy_graph
from lowland.math.graphs.graph_affinities import affinity_components
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun

RUN = LocalRun()


def test_components_do_not_overlap():
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1, 2, 3], [60, 50, 40, 12])
    X = rng.normal(size=(162, 4)) + 100 * label[:, None] * np.array([1, 0.3, 0, 0])
    W = fuzzy_graph(nearest_neighbors(X, 8, RUN), RUN).matrix()
    found = affinity_components(W)
    assert found.max() == 3
    centers = np.array([X[found == c, :2].mean(axis=0) for c in range(4)])
    Z = separate_start(W, found, centers, 2, RUN, rng)
    middle = np.array([Z[found == c].mean(axis=0) for c in range(4)])
    nearest = np.argmin(((Z[:, None] - middle[None]) ** 2).sum(axis=2), axis=1)
    assert np.mean(nearest == found) > 0.95
    for c in range(4):
        assert np.all(np.std(Z[found == c], axis=0) > 0.05)


def test_places_are_random_where_none_are_known():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(40, 3)), rng.normal(size=(40, 3)) + 100]
    W = fuzzy_graph(nearest_neighbors(X, 8, RUN), RUN).matrix()
    Z = separate_start(W, affinity_components(W), None, 3, RUN, rng)
    assert Z.shape == (80, 3)
    assert np.isfinite(Z).all()
