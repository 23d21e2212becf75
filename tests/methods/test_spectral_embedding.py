"""Laplacian eigenmaps: agreement with scikit-learn, known graphs, connected components, new rows."""

import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn.manifold
from scipy.spatial import procrustes
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph

import lowland
from lowland import SpectralEmbedding
from lowland.errors import DataError, DataWarning, ParameterError


def roll(n=400, seed=0):
    rng = np.random.default_rng(seed)
    s, h = 1.5 * np.pi * (1 + 2 * rng.random(n)), 21 * rng.random(n)
    return np.column_stack([s * np.cos(s), h, s * np.sin(s)])


def test_affinities_far_below_those_of_rows_with_themselves_keep_their_digits():
    for X in (8 * np.array([[1.0 - 2 * (i >> j & 1) for j in range(3)] for i in range(8)]), 40 * np.eye(5)):
        W = rbf_kernel(X, gamma=1 / X.shape[1]) * ~np.eye(len(X), dtype=bool)
        assert 0 < W.max() < 1e-20
        root = np.sqrt(W.sum(axis=1))
        exact = np.linalg.eigvalsh(np.eye(len(X)) - W / root[:, None] / root[None, :])
        found = SpectralEmbedding(2, affinity="rbf").fit(X)
        np.testing.assert_allclose(found.eigenvalues_, exact[1:3], rtol=1e-9)
        np.testing.assert_allclose(found.transform(X), found.embedding_, atol=1e-9 * np.abs(found.embedding_).max())


def test_an_outlier_of_tiny_affinities_among_many_rows():
    X = np.random.default_rng(0).standard_normal((1100, 3))
    X[0] = [8, 0, 0]
    found = SpectralEmbedding(2, affinity="rbf", gamma=1.0).fit(X)
    W, y = found.affinity_matrix_ - np.diag(np.diag(found.affinity_matrix_)), found.embedding_
    degree = W.sum(axis=1)[:, None]
    np.testing.assert_allclose(degree * y - W @ y, found.eigenvalues_ * degree * y, atol=1e-6)


def two_clouds(n=40, apart=50.0, seed=0):
    rng = np.random.default_rng(seed)
    return np.vstack([rng.standard_normal((n, 2)), rng.standard_normal((n // 2, 2)) + apart])


def agree(ours, theirs, atol=1e-8):
    signs = np.sign(np.sum(ours * theirs, axis=0))
    np.testing.assert_allclose(ours * signs, theirs, atol=atol * np.abs(theirs).max())


# --- scikit-learn -----------------------------------------------------------------------------------------------------


def pairs_of(X):
    D = np.sqrt(np.sum((X[:, None] - X[None]) ** 2, axis=-1))
    return np.exp(-D / 5)


GRAPH = kneighbors_graph(roll(), 12, mode="distance")
OPTIONS = {
    "neighbors": ({"n_neighbors": 12}, roll()),
    "default number of neighbors": ({}, roll()),
    "rbf": ({"affinity": "rbf"}, roll() / 10),
    "rbf, gamma": ({"affinity": "rbf", "gamma": 0.05}, roll()),
    "affinities": ({"affinity": "precomputed"}, rbf_kernel(roll(), gamma=0.02)),
    "sparse affinities": ({"affinity": "precomputed"}, ((GRAPH + GRAPH.T) > 0).astype(float)),
    "neighbors given": ({"affinity": "precomputed_nearest_neighbors", "n_neighbors": 10}, GRAPH),
    "distances given": (
        {"affinity": "precomputed_nearest_neighbors", "n_neighbors": 9},
        np.sqrt(np.sum((roll()[:, None] - roll()[None]) ** 2, axis=-1)),
    ),
    "neighbors given, and each itself": (
        {"affinity": "precomputed_nearest_neighbors", "n_neighbors": 9},
        kneighbors_graph(roll(), 12, mode="distance", include_self=True),
    ),
    "a function": ({"affinity": pairs_of}, roll()),
}


@pytest.mark.parametrize("what", OPTIONS)
def test_results_agree_with_scikit_learn(what):
    options, X = OPTIONS[what]
    theirs = sklearn.manifold.SpectralEmbedding(3, random_state=0, **options).fit(X)
    ours = SpectralEmbedding(3, random_state=0, **options).fit(X)
    agree(ours.embedding_, theirs.embedding_)
    gap = abs(ours.affinity_matrix_ - theirs.affinity_matrix_)
    assert gap.max() < 1e-12
    assert type(ours.affinity_matrix_) is type(theirs.affinity_matrix_)
    for name in ("n_neighbors_", "gamma_"):
        if hasattr(theirs, name):
            assert getattr(ours, name) == getattr(theirs, name)


@pytest.mark.parametrize("solver", ["arpack", "lobpcg", "amg"])
def test_every_solver_finds_the_same(solver):
    if solver == "amg":
        pytest.importorskip("pyamg")
    X = roll(300)
    plain = SpectralEmbedding(2, n_neighbors=15).fit(X)
    other = SpectralEmbedding(2, n_neighbors=15, eigen_solver=solver, eigen_tol=1e-10, random_state=0).fit(X)
    np.testing.assert_allclose(other.eigenvalues_, plain.eigenvalues_, rtol=1e-6)
    agree(other.embedding_, plain.embedding_, 1e-4)


# --- known answers ----------------------------------------------------------------------------------------------------


def test_a_line_of_points_gives_cosines():
    n = 50
    x = np.arange(n, dtype=float)[:, None]
    model = SpectralEmbedding(3, weights="binary", laplacian="unnormalized", drop_first=False)
    G = scipy.sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1])
    Z = model.fit_transform(x, graph=G)
    for j in range(3):
        truth = np.cos(np.pi * j * (np.arange(n) + 0.5) / n)
        agree(Z[:, [j]] / np.linalg.norm(Z[:, j]), truth[:, None] / np.linalg.norm(truth), 1e-9)
    np.testing.assert_allclose(model.eigenvalues_, 2 - 2 * np.cos(np.pi * np.arange(3) / n), atol=1e-12)


@pytest.mark.parametrize("weights", ["average", "binary", "heat"])
def test_coordinates_solve_the_stated_eigenproblem(weights):
    X = roll(200)
    model = SpectralEmbedding(3, n_neighbors=12, weights=weights).fit(X)
    W = model.affinity_matrix_.toarray() - np.eye(200)
    D = np.diag(W.sum(axis=1))
    Y = model.embedding_
    np.testing.assert_allclose(Y.T @ D @ Y, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(np.ones(200) @ D @ Y, 0, atol=1e-10)
    np.testing.assert_allclose((D - W) @ Y, D @ Y * model.eigenvalues_, atol=1e-9)


def test_duplicates_have_finite_coordinates():
    X = np.vstack([roll(100), roll(100)[:20], roll(100)[:20]])
    model = SpectralEmbedding(2, n_neighbors=12).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("weights", ["average", "binary", "heat"])
def test_equal_rows_have_one_place(weights):
    """Which of several equal rows are neighbors of others, their order decides: their eigenvector entries differ."""
    X = np.random.default_rng(0).integers(0, 6, (300, 2)).astype(float)
    model = SpectralEmbedding(2, weights=weights).fit(X)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)


# --- connected components ---


def test_ignored_components_are_marked():
    X = two_clouds()
    with pytest.warns(DataWarning, match="stay disconnected"):
        model = SpectralEmbedding(2, n_neighbors=8, disconnected="ignore").fit(X)
    assert np.ptp(model.embedding_[:40, 0]) < 1e-15
    assert np.ptp(model.embedding_[40:, 0]) < 1e-15
    assert model.embedding_[0, 0] != model.embedding_[50, 0]
    assert model.eigenvalues_[0] == 0 < model.eigenvalues_[1]
    with pytest.raises(DataError, match="number of connected components is 2"):
        SpectralEmbedding(2, n_neighbors=8, disconnected="error").fit(X)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_components_of_given_affinities(kind):
    A = rbf_kernel(roll(30), gamma=0.01)
    W = kind(scipy.sparse.block_diag([A, A[:10, :10]]).toarray())
    with pytest.warns(DataWarning, match="[Ww]ithout distances.*stay disconnected"):
        model = SpectralEmbedding(2, affinity="precomputed").fit(W)
    assert model.n_connected_components_ == 2
    assert np.ptp(model.embedding_[:30, 0]) == 0
    with pytest.warns(DataWarning, match="largest"):
        model = SpectralEmbedding(2, affinity="precomputed", disconnected="largest").fit(W)
    agree(model.embedding_[:30], SpectralEmbedding(2, affinity="precomputed").fit(A).embedding_)
    with pytest.raises(DataError, match="connect all rows"):
        SpectralEmbedding(2, affinity="precomputed", disconnected="error").fit(W)
    with pytest.warns(DataWarning, match="Lower gamma"):
        SpectralEmbedding(1, affinity="rbf", gamma=1e4).fit(two_clouds()[:, :1])


def test_a_kernel_that_is_flat_is_reported():
    with pytest.warns(DataWarning, match="Raise gamma"):
        SpectralEmbedding(2, affinity="rbf", gamma=1e-20).fit(two_clouds())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SpectralEmbedding(2, affinity="rbf", gamma=1e-6).fit(two_clouds())


def test_components_of_neighbors_given():
    X = two_clouds()
    G = kneighbors_graph(X, 8, mode="distance")
    with pytest.warns(DataWarning, match="stay disconnected"):
        model = SpectralEmbedding(2, affinity="precomputed_nearest_neighbors", n_neighbors=8).fit(G)
    assert np.ptp(model.embedding_[:40, 0]) < 1e-15
    D = np.sqrt(np.sum((X[:, None] - X[None]) ** 2, axis=-1))
    with pytest.warns(DataWarning, match="connected by 1 edge"):
        model = SpectralEmbedding(2, affinity="precomputed_nearest_neighbors", n_neighbors=9).fit(D)
    with pytest.warns(DataWarning, match="connected by 1 edge"):
        agree(model.embedding_, SpectralEmbedding(2, n_neighbors=9).fit(X).embedding_)


@pytest.mark.parametrize(
    ("laplacian", "shift", "count"), [("normalized", 8, 1), ("unnormalized", 8, 1), ("normalized", 9, 2)]
)
def test_edges_below_rounding_are_reported_and_do_not_mix_components(laplacian, shift, count, rng):
    X = rng.normal(size=(200, 3))
    X[100:] += shift
    order = rng.permutation(200)
    places = []
    for rows in (X, X[order]):
        model = SpectralEmbedding(2, affinity="rbf", laplacian=laplacian)
        with pytest.warns(DataWarning, match="almost disconnected" if count == 1 else "beyond rounding error"):
            places.append(model.fit_transform(rows))
        assert model.n_connected_components_ == count
    agree(places[1], places[0][order])
    first = places[0][:, 0]
    assert np.ptp(first[:100]) + np.ptp(first[100:]) < 1e-6 * np.ptp(first)


def test_added_edges_have_heat_kernel_weights_like_others():
    with pytest.warns(DataWarning, match="connected by 1 edge"):
        model = SpectralEmbedding(2, n_neighbors=8, weights="heat").fit(two_clouds())
    W = model.affinity_matrix_ - scipy.sparse.eye_array(60)
    assert W[:40, 40:].data == pytest.approx(np.median(W.data), rel=0.05)


# --- new rows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("laplacian", ["normalized", "unnormalized"])
@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors", pairs_of])
def test_fitted_rows_keep_their_coordinates(affinity, laplacian):
    X = roll(150) / 5
    model = SpectralEmbedding(3, affinity=affinity, n_neighbors=12, laplacian=laplacian).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)


def test_given_affinities_are_extended_exactly():
    A = rbf_kernel(roll(100), gamma=0.01)
    for W in (A, A - np.eye(100), scipy.sparse.csr_array(A)):
        model = SpectralEmbedding(3, affinity="precomputed").fit(W)
        np.testing.assert_allclose(model.transform(W), model.embedding_, atol=1e-9)
    model = SpectralEmbedding(3, affinity="precomputed").fit(A - np.eye(100))
    with pytest.raises(DataError, match="no affinity with any training row"):
        model.transform(np.zeros((1, 100)))


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_new_rows_without_coordinates_are_named(kind):
    A = rbf_kernel(roll(60), gamma=0.01)
    model, new = SpectralEmbedding(2, affinity="precomputed").fit(kind(A)), A[:5].copy()
    new[3] = 0
    with pytest.raises(DataError, match=r"Row 3 of the 5 .* no affinity with any training row"):
        model.transform(kind(new))
    with pytest.raises(DataError, match=r"Row 0 .* negative affinity"):
        model.transform(kind(-new))
    X = roll(60) / 10
    with pytest.raises(DataError, match=r"Row 1 of the 2 .* no affinity"):
        SpectralEmbedding(2, affinity="rbf").fit(X).transform(X[:2] + np.array([[0], [1000]]))


@pytest.mark.parametrize("weights", ["average", "heat"])
def test_held_out_rows_are_placed_as_if_they_had_been_fitted(weights):
    X = roll(3000, seed=1)
    whole = SpectralEmbedding(2, n_neighbors=15, weights=weights).fit(X).embedding_[1::2]
    placed = SpectralEmbedding(2, n_neighbors=15, weights=weights).fit(X[::2]).transform(X[1::2])
    assert procrustes(whole, placed)[2] < 0.02


def test_a_model_of_a_graph_alone_cannot_transform_new_rows():
    model = SpectralEmbedding(2, affinity="precomputed_nearest_neighbors", n_neighbors=10).fit(GRAPH)
    with pytest.raises(ParameterError, match=r"cannot transform new rows.*neighbor graph alone"):
        model.transform(GRAPH)


# --- wrong input ------------------------------------------------------------------------------------------------------


def test_unsupported_combinations_are_reported():
    X = roll(30)
    for k in (1, 31):
        with pytest.raises(ParameterError, match=rf"n_neighbors={k}.*30 points.*at least 2 and at most 30"):
            SpectralEmbedding(2, n_neighbors=k).fit(X)
    with pytest.raises(ParameterError, match="at most 29"):
        SpectralEmbedding(30).fit(X)
    for options in ({}, {"affinity": "rbf"}):
        with pytest.raises(DataError, match="All rows are equal"):
            SpectralEmbedding(2, **options).fit(np.ones((30, 3)))
    with pytest.raises(DataError, match="negative"):
        SpectralEmbedding(2, affinity="precomputed").fit(-np.ones((5, 5)))
    with pytest.raises(DataError, match="square"):
        SpectralEmbedding(2, affinity="precomputed").fit(np.ones((5, 4)))
    with pytest.raises(DataError, match="negative"):
        SpectralEmbedding(2).fit(X, graph=-GRAPH[:30, :30])
    with pytest.raises(DataError, match="graph has 400 nodes"):
        SpectralEmbedding(2).fit(X, graph=GRAPH)
    with pytest.raises(ParameterError, match=r"affinity=.*neighbor graph.*only one"):
        SpectralEmbedding(2, affinity="rbf").fit(X, graph=GRAPH[:30, :30])
    with lowland.config(memory="10MB"), pytest.raises(MemoryError, match="nearest_neighbors"):
        SpectralEmbedding(2, affinity="rbf", n_neighbors=10).fit(roll(1000))


def test_what_a_neighbors_transformer_gives_is_averaged_with_its_transpose():
    X = roll(200)
    G = KNeighborsTransformer(n_neighbors=20, mode="connectivity").fit_transform(X)
    phrase = "Array is not symmetric, and will be converted to symmetric by average with its transpose"
    with pytest.warns(UserWarning, match=phrase):
        theirs = sklearn.manifold.SpectralEmbedding(2, affinity="precomputed", random_state=0).fit(G)
    for W in (G, G.toarray(), scipy.sparse.csc_array(G)):
        with pytest.warns(UserWarning, match=phrase):
            ours = SpectralEmbedding(2, affinity="precomputed", random_state=0).fit(W)
        np.testing.assert_allclose(np.abs(ours.embedding_), np.abs(theirs.embedding_), atol=1e-8)
    G = KNeighborsTransformer(n_neighbors=20).fit_transform(X)
    models = [
        cls(2, affinity="precomputed_nearest_neighbors", n_neighbors=10, random_state=0).fit(G)
        for cls in (SpectralEmbedding, sklearn.manifold.SpectralEmbedding)
    ]
    np.testing.assert_allclose(*(np.abs(model.embedding_) for model in models), atol=1e-8)


def test_the_default_number_of_neighbors_is_bounded_for_many_rows():
    with pytest.warns(DataWarning, match=r"n_neighbors=None\): 990 neighbors.*10,100 rows"):
        default = SpectralEmbedding(2)._default_neighbors(10_100)
    assert default * 10_100 <= 10_000_000
    with pytest.warns(DataWarning, match="10 neighbors"):
        assert SpectralEmbedding(2)._default_neighbors(5_000_000) == 10
    assert SpectralEmbedding(2)._default_neighbors(10_000) == 1000  # as in scikit-learn
