"""Agreement with the fuzzy graphs of umap-learn.

The reference holds 60 rows (two of them duplicates), their neighbors (each row first), and what umap-learn 0.5.12 makes
of them: ``fuzzy_simplicial_set`` with these neighbors in float32 (k, local_connectivity, set_op_mix_ratio as stored),
``discrete_metric_simplicial_set_intersection`` with ``far_dist = 2.5 / (1 - weight)`` and ``y``,
``general_simplicial_set_intersection`` followed by ``reset_local_connectivity`` with the graph of 8 neighbors of ``t``,
and ``find_ab_params``. Entries are sorted by row and column, rounded to 7 digits.
"""

import numpy as np
import pytest
import scipy.sparse

from lowland.math.embeddings.fuzzy_graph import (
    FuzzyGraph,
    fuzzy_graph,
    intersection,
    local_scales,
    mean_length,
    similarity_curve,
    weaken_between_classes,
)
from lowland.math.neighbors.graph import NeighborGraph
from lowland.run.run import Run

from .test_references import reference

RUN = Run()


@pytest.fixture(scope="module")
def expected():
    return reference("umap_learn_graphs")


def neighbors(expected, k):
    indices, distances = np.array(expected["indices"]), np.array(expected["distances"])
    return NeighborGraph.of_table(indices[:, 1:k], distances[:, 1:k].astype(np.float32), "given")


def matrix(entries, n=60):
    return scipy.sparse.csr_array((entries["value"], (entries["row"], entries["col"])), shape=(n, n)).toarray()


@pytest.mark.parametrize("which", range(4))
def test_the_fuzzy_graph_is_that_of_umap_learn(expected, which):
    case = expected["graphs"][which]
    graph = neighbors(expected, case["k"])
    mean, connectivity = mean_length(graph), case["local_connectivity"]
    rho, sigma = local_scales(graph.start, graph.length, mean, RUN, connectivity=connectivity)
    np.testing.assert_allclose(rho, case["rho"], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(sigma, case["sigma"], rtol=2e-4)
    found = fuzzy_graph(graph, RUN, connectivity=connectivity, mix=case["mix"])
    np.testing.assert_allclose(found.matrix().toarray(), matrix(case), atol=1e-5)


@pytest.mark.parametrize("which", range(2))
def test_labels_weaken_the_same_edges(expected, which):
    case, graph = expected["categorical"][which], fuzzy_graph(neighbors(expected, 10), RUN)
    found = weaken_between_classes(graph, np.array(expected["y"]), case["weight"])
    np.testing.assert_allclose(found.matrix().toarray(), matrix(case), atol=1e-5)


@pytest.mark.parametrize("which", range(3))
def test_numeric_targets_give_the_same_intersection(expected, which):
    case, graph = expected["numeric"][which], fuzzy_graph(neighbors(expected, 10), RUN)
    target = FuzzyGraph.of_matrix(scipy.sparse.csr_array(matrix(expected["target_graph"])))
    found = intersection(graph, target, case["weight"])
    np.testing.assert_allclose(found.matrix().toarray(), matrix(case), atol=1e-5)


def test_the_curve_is_that_of_umap_learn(expected):
    for case in expected["curves"]:
        found = similarity_curve(case["min_dist"], case["spread"])
        np.testing.assert_allclose(found, (case["a"], case["b"]), rtol=1e-6)
