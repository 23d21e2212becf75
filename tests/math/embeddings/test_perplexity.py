import numpy as np
import pytest
import scipy.sparse
from sklearn.manifold import _t_sne

from lowland.errors import DataError
from lowland.math.embeddings.perplexity import (
    conditional_affinities,
    gaussian_affinities,
    given_affinities,
    uniform_affinities,
)
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun
from lowland.run.settings import Settings

X = np.random.default_rng(0).standard_normal((700, 5)) * np.geomspace(1, 10, 700)[:, None]
RUN = LocalRun(Settings(threads=2, progress=False))


def perplexities(P):
    """exp of the entropy of each row."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.exp(-np.nansum(P * np.log(P), axis=1))


@pytest.mark.parametrize("perplexity", [2.0, 30.0, 85.0])
@pytest.mark.parametrize("unit", [1.0, 1e-120, 1e120])
def test_every_row_has_the_perplexity_in_any_unit(perplexity, unit):
    graph = nearest_neighbors(X * unit, 90)
    P = conditional_affinities(graph, perplexity, RUN).reshape(700, 90)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_allclose(perplexities(P), perplexity, rtol=1e-6)
    assert (np.diff(P, axis=1) <= 0).all()  # nearest first


def test_joint_affinities_are_those_of_scikit_learn():
    graph = nearest_neighbors(X, 90)
    squares = scipy.sparse.csr_matrix((graph.length**2, graph.to.copy(), graph.start))  # theirs sorts in place
    theirs = _t_sne._joint_probabilities_nn(squares, 30.0, 0)
    ours = gaussian_affinities(graph, 30.0)
    assert ours.sum() == pytest.approx(1)
    assert abs(ours - ours.T).max() < 1e-18
    np.testing.assert_allclose(
        ours.toarray(), theirs.toarray(), rtol=2e-3, atol=1e-9
    )  # theirs: tolerance 1e-5, float32


def test_several_perplexities_are_averaged():
    graph = nearest_neighbors(X, 90)
    both = conditional_affinities(graph, [5.0, 30.0], RUN)
    each = [conditional_affinities(graph, p, RUN) for p in (5.0, 30.0)]
    np.testing.assert_allclose(both, (each[0] + each[1]) / 2)


def test_bits_are_equal_on_any_number_of_threads():
    graph = nearest_neighbors(X, 90)
    found = [
        gaussian_affinities(graph, 20.0, LocalRun(Settings(threads=t, progress=False))).toarray() for t in (1, 2, 16)
    ]
    assert all((found[0] == P).all() for P in found)


def test_where_no_width_attains_the_perplexity():
    length = np.array([0, 0, 0, 0, 1.0, 2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 4.0])
    graph = NeighborGraph(np.array([0, 5, 10, 12, 12]), np.array([1, 2, 3, 0, 2] * 2 + [0, 1], dtype=np.int32), length)
    P = conditional_affinities(graph, 3.0, RUN)
    np.testing.assert_allclose(P[:5], [0.25, 0.25, 0.25, 0.25, 0], atol=1e-12)  # four duplicates are more than three
    np.testing.assert_allclose(P[5:10], 0.2)  # equal distances
    np.testing.assert_allclose(P[10:], 0.5)  # only two neighbors


def test_uniform_affinities_count_neighbors():
    graph = nearest_neighbors(X, 10)
    P = uniform_affinities(graph)
    values = np.unique((P.data * 2 * 700 * 10).round(9))
    np.testing.assert_array_equal(values, [1, 2])  # one-sided or mutual neighbors
    assert P.sum() == pytest.approx(1)


def test_given_affinities_are_made_symmetric_and_sum_to_one():
    A = np.array([[5, 2.0, 0], [0, 0, 1.0], [0, 3.0, 0]])
    expected = np.array([[0, 2, 0], [2, 0, 4], [0, 4, 0]]) / 12
    for kind in (np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_array):
        np.testing.assert_allclose(given_affinities(kind(A)).toarray(), expected)


@pytest.mark.parametrize(
    ("A", "fault"),
    [
        (np.ones((3, 2)), "square"),
        (np.array([[0, -1.0], [1, 0]]), "negative"),
        (np.array([[0, np.nan], [1, 0]]), "NaN"),
        (np.eye(3), "zero"),
    ],
)
def test_invalid_affinities_are_refused(A, fault):
    with pytest.raises(DataError, match=fault):
        given_affinities(A)
