"""Locally linear embedding."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.manifold

from lowland import LocallyLinearEmbedding
from lowland.data import load_dataset
from lowland.errors import DataError, DataWarning, ParameterError

METHODS = ["standard", "modified", "hessian", "ltsa"]


@pytest.fixture(scope="module")
def roll():
    return load_dataset("swiss_roll", n=600, seed=1)


def apart(Z, Y):
    """The sine of the largest angle between the spans of two embeddings."""
    A, B = np.linalg.qr(Z)[0], np.linalg.qr(Y)[0]
    return np.linalg.norm(B - A @ (A.T @ B), 2)


def explained(Z, truth):
    """The fraction of the variance of the true coordinates that a linear map of the embedding explains."""
    A = np.column_stack([np.ones(len(Z)), Z])
    left = truth - A @ np.linalg.lstsq(A, truth, rcond=None)[0]
    return 1 - (left**2).sum(axis=0) / ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)


# --- the answer ---


@pytest.mark.parametrize(("method", "solver"), [("standard", "arpack"), ("modified", "dense"), ("ltsa", "dense")])
def test_results_agree_with_scikit_learn(method, solver, roll):
    options = {"n_neighbors": 10, "method": method, "eigen_solver": solver, "tol": 1e-9}
    exact = options | {"eigen_solver": "dense"}  # theirs by ARPACK depends on the version of scipy
    theirs = sklearn.manifold.LocallyLinearEmbedding(n_components=2, random_state=0, **exact).fit(roll.X)
    ours = LocallyLinearEmbedding(2, **options).fit(roll.X)
    assert apart(ours.embedding_, theirs.embedding_) < 1e-5
    np.testing.assert_allclose(ours.reconstruction_error_, theirs.reconstruction_error_, rtol=1e-5, atol=1e-13)
    np.testing.assert_allclose(ours.embedding_.T @ ours.embedding_, np.eye(2), atol=1e-6)  # columns of unit length
    np.testing.assert_allclose(ours.embedding_.sum(axis=0), 0, atol=1e-5)
    rng = np.random.default_rng(0)
    new = roll.X[::7] + rng.normal(0, 0.05, roll.X[::7].shape)
    turn = np.linalg.lstsq(ours.embedding_, theirs.embedding_, rcond=None)[0]
    np.testing.assert_allclose(ours.transform(new) @ turn, theirs.transform(new), atol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_a_rolled_sheet_is_unrolled(method):
    roll = load_dataset("swiss_roll", n=1500)
    model = LocallyLinearEmbedding(2, n_neighbors=12, method=method).fit(roll.X)
    fractions = explained(model.embedding_, roll.truth)
    assert fractions.min() > (0.5 if method == "standard" else 0.99)


@pytest.mark.parametrize("method", METHODS)
def test_new_rows_are_placed_near_their_training_neighbors(method, roll):
    model = LocallyLinearEmbedding(2, n_neighbors=10, method=method).fit(roll.X)
    Z = model.transform(roll.X + 1e-3)
    assert np.median(np.linalg.norm(Z - model.embedding_, axis=1)) < 0.1 * model.embedding_.std()


# --- disconnected graphs ---


def test_the_textbooks_collapse_on_iris_and_how_it_is_avoided(iris):
    def fit(policy):
        return LocallyLinearEmbedding(2, n_neighbors=12, disconnected=policy).fit(iris.X)

    with pytest.warns(DataWarning, match="disconnected, and the number of connected components is 2: 100 and 50 rows"):
        collapsed = fit("ignore").embedding_
    setosa = iris.y == 0
    assert collapsed[setosa].std(axis=0).max() < 1e-6 * collapsed.std()  # a third of the flowers collapse to one point
    with pytest.warns(DataWarning, match="connected by 1 edge"):
        joined = fit("connect")
    assert joined.embedding_[setosa].std(axis=0).max() > 0.1 * joined.embedding_.std()
    assert (joined.n_connected_components_, joined.n_edges_added_) == (2, 1)
    with pytest.warns(DataWarning, match="Only the largest component"):
        largest = fit("largest")
    assert np.isnan(largest.embedding_[setosa]).all()
    assert not np.isnan(largest.embedding_[~setosa]).any()
    assert largest.n_excluded_ == 50
    alone = LocallyLinearEmbedding(2, n_neighbors=12).fit(iris.X[~setosa])
    np.testing.assert_allclose(largest.embedding_[~setosa], alone.embedding_, atol=1e-5)  # two equal flowers
    np.testing.assert_allclose(largest.transform(iris.X[:3]), alone.transform(iris.X[:3]), atol=1e-5)
    with pytest.raises(DataError, match="number of connected components is 2"):
        fit("error")


def two_clumps(rng):
    """Two clusters with edges only inside each, and one point between them with edges to both."""
    a, b = rng.normal(0, 1, (20, 2)), rng.normal(0, 1, (15, 2)) + np.array([40, 0])
    return np.vstack([a, b, [[20.0, 0.0]]])


def test_sink_components_do_not_collapse(rng):
    X = two_clumps(rng)
    some = np.r_[36 * [6]]
    D = np.linalg.norm(X[:, None] - X, axis=2)
    near = np.argsort(D, axis=1)[:, 1:7]
    near[35] = [*np.argsort(D[35, :20])[:3], *(20 + np.argsort(D[35, 20:35])[:3])]
    rows = np.repeat(np.arange(36), some)
    graph = scipy.sparse.csr_array((D[rows, near.ravel()], (rows, near.ravel())), shape=(36, 36))
    with pytest.warns(DataWarning, match=r"2 groups of rows .*sink components.*Reverse edges were added"):
        model = LocallyLinearEmbedding(2, n_neighbors=6).fit(X, graph=graph)
    assert model.n_connected_components_ == 1
    assert model.embedding_[:20].std(axis=0).max() > 1e-3
    assert model.eigenvalues_[0] > 1e-10
    with pytest.warns(DataWarning, match=r"sink components.*set disconnected='connect'"):
        ignored = LocallyLinearEmbedding(2, n_neighbors=6, disconnected="ignore").fit(X, graph=graph)
    assert ignored.eigenvalues_[0] < 1e-12
    with pytest.raises(DataError, match="each would collapse to a point"):
        LocallyLinearEmbedding(2, n_neighbors=6, disconnected="error").fit(X, graph=graph)


@pytest.mark.parametrize("method", ["ltsa", "hessian"])
def test_a_point_in_no_other_neighborhood_does_not_occupy_a_coordinate(method, rng):
    U = rng.uniform(-1, 1, (200, 2))
    X = np.vstack([U, [[3.0, 3.0]]])  # in no neighborhood
    model = LocallyLinearEmbedding(2, n_neighbors=10, method=method).fit(X)
    assert explained(model.embedding_, X).min() > 1 - 1e-8  # a flat sheet is found exactly
    peer = sklearn.manifold.LocallyLinearEmbedding(n_neighbors=10, method="ltsa", eigen_solver="dense").fit(X)
    assert np.abs(peer.embedding_).max() > 0.99  # scikit-learn uses a coordinate for it


# --- duplicates ---


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")
def test_duplicates_give_finite_coordinates(method, roll):
    X = np.vstack([roll.X[:300], roll.X[:40], np.repeat(roll.X[:1], 15, axis=0)])  # more duplicates than neighbors
    model = LocallyLinearEmbedding(2, n_neighbors=10, method=method).fit(X)
    Z = model.embedding_
    assert np.isfinite(Z).all()
    assert np.abs(Z).max() < 0.9
    assert np.linalg.norm(Z[:40] - Z[300:340], axis=1).max() < 0.5 * np.ptp(Z)
    assert np.isfinite(model.transform(X[:20])).all()


def test_equal_rows_are_refused():
    with pytest.raises(DataError, match="all 20 rows are equal"):
        LocallyLinearEmbedding(2).fit(np.ones((20, 3)))


@pytest.mark.parametrize("method", METHODS)
def test_three_components_joined_by_added_edges_do_not_collapse(method):
    X = np.vstack([np.random.default_rng(s).standard_normal((60, 3)) + 20 * s for s in range(3)])
    with pytest.warns(DataWarning, match="connected by 2 edges") as caught:
        model = LocallyLinearEmbedding(2, n_neighbors=10, method=method).fit(X)
    assert len(caught) == 1
    spread = [np.linalg.norm(model.embedding_[model.component_labels_ == part].std(axis=0)) for part in range(3)]
    in_the_data = np.linalg.norm(X[:60].std(axis=0)) / np.linalg.norm(X.std(axis=0))
    assert min(spread) > in_the_data / 4 * np.linalg.norm(model.embedding_.std(axis=0))


@pytest.mark.filterwarnings("ignore:.*number of connected components is 8")
def test_collapsed_components_are_reported():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((7, 3)) + 300 * center for center in rng.standard_normal((8, 3))])
    with pytest.warns(DataWarning, match=r"connected components have collapsed.*n_neighbors"):
        LocallyLinearEmbedding(2, method="ltsa").fit(X)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [1e-140, 1e140])
def test_the_unit_of_the_columns_does_not_matter(method, unit, roll):
    X = roll.X[:200]
    one, other = (LocallyLinearEmbedding(2, n_neighbors=8, method=method).fit(s * X).embedding_ for s in (1.0, unit))
    assert apart(one, other) < 1e-6


# --- wrong input ---


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"n_neighbors": 30}, "the data has 30 rows"),
        ({"n_components": 4, "n_neighbors": 8}, "output dimension must be less than or equal"),
        (
            {"n_neighbors": 5, "method": "hessian"},
            r"n_neighbors must be at least 6 \(more than k \(k \+ 3\) / 2 for k components\)",
        ),
        ({"n_neighbors": 1, "method": "modified"}, "at least 2"),
        ({"n_neighbors": 2, "method": "ltsa"}, "at least 3"),
    ],
)
def test_invalid_parameters_are_refused(options, text, rng):
    with pytest.raises(ParameterError, match=text):
        LocallyLinearEmbedding(**{"n_components": 2, **options}).fit(rng.standard_normal((30, 3)))


def test_given_graphs(roll):
    X = roll.X[:100]
    graph = sklearn.neighbors.kneighbors_graph(X, 10, mode="distance")
    given = LocallyLinearEmbedding(2, n_neighbors=10).fit(X, graph=graph)
    searched = LocallyLinearEmbedding(2, n_neighbors=10).fit(X)
    assert apart(given.embedding_, searched.embedding_) < 1e-6
    with pytest.raises(DataError, match="negative"):
        LocallyLinearEmbedding(2).fit(X, graph=-graph)
    with pytest.raises(DataError, match="graph has 100 nodes, but X has 90 rows"):
        LocallyLinearEmbedding(2).fit(X[:90], graph=graph)
    thin = graph.tolil()
    thin[7, :] = 0
    thin[7, 8] = 1.0
    with pytest.raises(ParameterError, match="n_neighbors must be at least 3, but it is 1 for row 7"):
        LocallyLinearEmbedding(2, n_neighbors=10, method="ltsa").fit(X, graph=thin.tocsr())


def test_a_coordinate_spent_on_one_row_is_reported():
    model = LocallyLinearEmbedding(2)
    model.embedded_mask_ = np.ones(50, dtype=bool)
    Z = np.full((50, 2), 0.02)
    Z[7, 1] = 0.99
    with pytest.warns(DataWarning, match=r"only separates row 7 from all others.*n_neighbors or reg"):
        model._warn_of_lone_points(Z)


def test_the_neighbors_of_scikit_learn_are_made_when_they_are_read():
    X = load_dataset("iris").X[:40]
    ours, theirs = (
        cls(n_neighbors=6, n_components=2).fit(X)
        for cls in (LocallyLinearEmbedding, sklearn.manifold.LocallyLinearEmbedding)
    )
    assert type(ours.nbrs_) is type(theirs.nbrs_)
    np.testing.assert_array_equal(ours.nbrs_.kneighbors(X[:5])[1], theirs.nbrs_.kneighbors(X[:5])[1])
    assert "nbrs_" not in vars(ours)
