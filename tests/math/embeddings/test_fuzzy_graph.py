"""Set operations on fuzzy graphs."""

import numpy as np
import pytest
import scipy.sparse

from lowland.math.embeddings.fuzzy_graph import FuzzyGraph, difference, intersection, union


def graph(pairs):
    """Four points; the edges 0-1 and 2-3 have weight 1, so that no row is divided by its largest weight."""
    W = np.zeros((4, 4), dtype=np.float32)
    for (i, j), weight in {(0, 1): 1.0, (2, 3): 1.0, **pairs}.items():
        W[i, j] = W[j, i] = weight
    return FuzzyGraph.of_matrix(scipy.sparse.csr_array(W))


def both_ways(weight):
    """The fuzzy union of the two directions of an edge."""
    return weight + weight - weight**2


@pytest.mark.parametrize(("weight", "powers"), [(0.2, (1, 0.25)), (0.5, (1, 1)), (0.8, (0.25, 1))])
def test_the_weight_of_an_intersection_is_the_power_of_the_other_graph(weight, powers):
    a, b = graph({(0, 2): 0.6}), graph({(0, 2): 0.3})
    found = intersection(a, b, weight).matrix().toarray()
    assert found[0, 2] == pytest.approx(both_ways(0.6 ** powers[0] * 0.3 ** powers[1]), rel=1e-5)
    assert found[0, 1] == found[2, 3] == 1


def test_an_edge_that_the_graph_lacks_has_half_its_least_weight():
    found = intersection(graph({(0, 2): 0.6}), graph({(1, 3): 0.4})).matrix().toarray()
    assert found[1, 3] == pytest.approx(both_ways(0.6 / 2 * 0.4), rel=1e-5)
    assert 0 < found[0, 2] < 1e-3  # what the target lacks is almost cut


def test_a_graph_with_itself():
    a = graph({(0, 2): 0.6})
    assert union(a, a).matrix().nnz == a.matrix().nnz
    assert union(a, a).matrix().toarray()[0, 2] == pytest.approx(both_ways(1 - 0.4**2), rel=1e-5)
    assert difference(a, graph({(0, 2): 0.25})).matrix().toarray()[0, 2] > 0
