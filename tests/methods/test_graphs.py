"""What all methods on a graph of neighbours share."""

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist

from lowland import DiffusionMap, Isomap, LocallyLinearEmbedding, SpectralEmbedding
from lowland.errors import DataError, ParameterError


def sheet(n=80, seed=0):
    t = np.random.default_rng(seed).uniform(0, 1, (n, 2))
    return np.column_stack([t, t[:, 0] ** 2])


MODELS = [
    Isomap(2, n_neighbors=8),
    LocallyLinearEmbedding(2, n_neighbors=8),
    SpectralEmbedding(2, n_neighbors=9),
    SpectralEmbedding(2, affinity="rbf"),
    DiffusionMap(2),
    DiffusionMap(2, n_neighbors=8),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_what_the_caller_does_to_his_rows_later_changes_nothing(model, dtype):
    X, Y = sheet().astype(dtype), sheet(5, seed=1).astype(dtype)
    before = model.fit(X).transform(Y)
    X[:] = 7
    np.testing.assert_array_equal(model.transform(Y), before)
    assert not any(name.startswith("_rows") for name in vars(model))


@pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array])
def test_nor_what_he_does_to_his_affinities(wrap):
    X, Y = sheet(), sheet(5, seed=1)
    W = wrap(np.exp(-cdist(X, X, "sqeuclidean")))
    A = np.exp(-cdist(Y, X, "sqeuclidean"))
    model = SpectralEmbedding(2, affinity="precomputed").fit(W)
    before, held = model.transform(A), model.affinity_matrix_.copy()
    (W if wrap is np.asarray else W.data)[:] = 7
    np.testing.assert_array_equal(model.transform(A), before)
    assert abs(model.affinity_matrix_ - held).max() == 0


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_rows_are_counted(model):
    assert model.fit(sheet()).n_samples_ == 80


@pytest.mark.parametrize("model", [model for model in MODELS if model.n_neighbors], ids=str)
@pytest.mark.parametrize("scale", [1e-165, 1e180])
def test_values_that_cannot_be_squared_are_refused(model, scale):
    with pytest.raises(DataError, match=r"too (large|small) to be squared.*Rescale"):
        model.fit(sheet() * scale)
    with pytest.raises(DataError, match="too large"):
        model.fit(sheet()).transform(np.full((1, 3), 1e200))


def test_neighbours_must_be_asked_for():
    with pytest.raises(ParameterError, match="give n_neighbors or radius"):
        Isomap(n_neighbors=None).fit(sheet())


@pytest.mark.parametrize("model", [Isomap(metric="foo"), DiffusionMap(n_neighbors=5, metric="foo")])
def test_a_metric_nobody_knows_is_refused(model):
    with pytest.raises(ParameterError, match="There is no metric 'foo'"):
        model.fit(sheet())


def test_metrics_that_learn_from_the_rows_find_neighbours():
    X = sheet()
    scaled = Isomap(2).fit(X / X.std(axis=0, ddof=1))
    learned = Isomap(2, metric="seuclidean").fit(X)
    np.testing.assert_allclose(learned.dist_matrix_, scaled.dist_matrix_)
    np.testing.assert_allclose(learned.transform(X[:5]), learned.embedding_[:5], atol=1e-8)
