"""Isomap."""

import os

import numpy as np
import pytest
import scipy.sparse
from sklearn.manifold import Isomap as Theirs
from sklearn.neighbors import kneighbors_graph

import lowland
from lowland import Isomap
from lowland.data import load_dataset, swiss_roll
from lowland.errors import DataError, DataWarning, MemoryBudgetError, ParameterError
from lowland.methods.base import plan
from lowland.run.cost import Rates


def r2(Z, truth):
    """Squared Procrustes correlation: 1 where Z is the truth up to rotation, reflection and scale."""
    Z, truth = Z - Z.mean(axis=0), truth - truth.mean(axis=0)
    overlap = np.linalg.svd(Z.T @ truth, compute_uv=False).sum()
    return overlap**2 / ((Z**2).sum() * (truth**2).sum())


@pytest.fixture(scope="module")
def roll():
    return swiss_roll(600, seed=1)


@pytest.fixture(scope="module")
def fitted(roll):
    return Isomap(2, n_neighbors=9).fit(roll.X)


# --- unrolling --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif("LOWLAND_DATA" not in os.environ, reason="needs the data folder")
def test_the_fixed_roll_unrolls():
    roll = load_dataset("swiss_roll_fixed")
    assert r2(Isomap(2, n_neighbors=10).fit_transform(roll.X), roll.truth) > 0.99


@pytest.mark.skipif("LOWLAND_DATA" not in os.environ, reason="needs the data folder")
def test_the_faces_have_three_dimensions():
    with np.load(os.path.join(os.environ["LOWLAND_DATA"], "isomap_faces32.npz")) as faces:
        X = faces["X"].reshape(698, -1)
    assert Isomap(3, n_neighbors=6).fit(X).elbow_ == 3


def test_the_elbow_of_a_roll_is_its_dimension(fitted):
    assert fitted.elbow_ == 2
    left = fitted.residual_variances_
    assert len(left) == 10
    Z = fitted.embedding_
    i, j = np.tril_indices(len(Z), -1)
    straight = np.linalg.norm(Z[i] - Z[j], axis=1)
    assert left[1] == pytest.approx(1 - np.corrcoef(fitted.dist_matrix_[i, j], straight)[0, 1] ** 2, rel=1e-6)


def test_a_curve_has_one_dimension():
    t = np.linspace(0, 5, 200)
    assert Isomap(1, n_neighbors=2).fit(np.column_stack([np.cos(t), np.sin(t), t])).elbow_ == 1


def test_points_of_a_plane_with_all_neighbors_are_classical_scaling():
    X = np.random.default_rng(0).random((40, 2))
    Z = Isomap(2, n_neighbors=39).fit_transform(X)
    np.testing.assert_allclose(np.abs(Z), np.abs(lowland.ClassicalMDS(2).fit_transform(X)), atol=1e-10)


# --- agreement with scikit-learn --------------------------------------------------------------------------------------


def test_scikit_learn_gives_the_same(roll, fitted):
    theirs = Theirs(n_components=2, n_neighbors=9).fit(roll.X)
    np.testing.assert_allclose(fitted.dist_matrix_, theirs.dist_matrix_, rtol=1e-12)
    np.testing.assert_allclose(np.abs(fitted.embedding_), np.abs(theirs.embedding_), atol=1e-7)
    assert fitted.reconstruction_error() == pytest.approx(theirs.reconstruction_error(), rel=1e-9)
    new = swiss_roll(50, seed=8).X
    np.testing.assert_allclose(np.abs(fitted.transform(new)), np.abs(theirs.transform(new)), atol=1e-6)


@pytest.mark.parametrize("choice", [{"path_method": "FW"}, {"path_method": "D"}, {"eigen_solver": "dense"}])
def test_algorithm_choices_do_not_change_the_embedding(roll, fitted, choice):
    Z = Isomap(2, n_neighbors=9, **choice).fit_transform(roll.X)
    np.testing.assert_allclose(Z, fitted.embedding_, atol=1e-7)


def test_radius_against_scikit_learn(roll):
    ours = Isomap(2, n_neighbors=None, radius=6.0).fit(roll.X)
    theirs = Theirs(n_components=2, n_neighbors=None, radius=6.0).fit(roll.X)
    np.testing.assert_allclose(ours.dist_matrix_, theirs.dist_matrix_, rtol=1e-12)
    new = roll.X[:30] + 0.1
    np.testing.assert_allclose(np.abs(ours.transform(new)), np.abs(theirs.transform(new)), atol=1e-6)


def test_given_distances_and_graphs(roll, fitted):
    D = np.linalg.norm(roll.X[:, None] - roll.X[None, :], axis=2)
    whole = Isomap(2, n_neighbors=9, metric="precomputed").fit(D)
    np.testing.assert_allclose(whole.embedding_, fitted.embedding_, atol=1e-7)
    np.testing.assert_allclose(whole.transform(D[:5]), fitted.embedding_[:5], atol=1e-7)
    nearest = np.sort(D, axis=1)[:, 9:10]
    graph = scipy.sparse.csr_array(np.where(nearest >= D, D, 0))
    np.testing.assert_allclose(Isomap(2).fit(roll.X, graph=graph).embedding_, fitted.embedding_, atol=1e-7)
    sparse = Isomap(2, n_neighbors=9, metric="precomputed").fit(graph)
    np.testing.assert_allclose(sparse.embedding_, fitted.embedding_, atol=1e-7)
    new = scipy.sparse.csr_array(([0.0], ([0], [3])), shape=(1, 600))  # one that lies on point 3
    np.testing.assert_allclose(sparse.transform(new), fitted.embedding_[3:4], atol=1e-7)


# --- landmarks --------------------------------------------------------------------------------------------------------


def test_landmarks_approximate_the_exact_embedding(roll, fitted):
    few = Isomap(2, n_neighbors=9, n_landmarks=80, random_state=0).fit(roll.X)
    assert few.dist_matrix_.shape == (80, 600)
    np.testing.assert_array_equal(few.dist_matrix_[:, few.landmarks_[7]], few.dist_matrix_[7, few.landmarks_])
    assert r2(few.embedding_, fitted.embedding_) > 0.995
    np.testing.assert_allclose(few.transform(roll.X), few.embedding_, atol=1e-9)
    assert few.elbow_ == 2
    assert few.reconstruction_error() > 0


def test_every_component_has_landmarks():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.random((500, 2)), rng.random((6, 2)) + 50])
    with (
        pytest.warns(DataWarning, match="number of connected components is 2"),
        pytest.warns(DataWarning, match=r"n_landmarks=5\): 1 of 2 .* no landmark"),
    ):
        model = Isomap(2, n_landmarks=5, disconnected="ignore").fit(X)
    assert len(np.unique(model.component_labels_[model.landmarks_])) == 2
    assert np.isfinite(model.embedding_).all()


def test_too_many_landmarks_are_reported(roll):
    with pytest.warns(DataWarning, match="exactly"):
        assert Isomap(2, n_neighbors=9, n_landmarks=600).fit(roll.X).landmarks_ is None


# --- connected components ---


def test_components_left_apart_are_at_the_largest_distance():
    X = load_dataset("iris").X
    with pytest.warns(DataWarning, match="number of connected components is 2: 100 and 50 rows.*stay disconnected"):
        model = Isomap(2, n_neighbors=12, disconnected="ignore").fit(X)
    D, part = model.dist_matrix_, model.component_labels_
    assert (D[part[:, None] != part[None, :]] == D.max()).all()
    assert np.isfinite(model.embedding_).all()


def test_the_sweep_takes_one_number(roll):
    (step,) = Isomap().neighbors_sweep(roll.X, 5)
    assert step.n_neighbors == 5
    with pytest.raises(ParameterError, match="integers from 1 to 599"):
        Isomap().neighbors_sweep(roll.X, 5.5)


# --- bad input --------------------------------------------------------------------------------------------------------


def test_bad_input(roll):
    X = roll.X[:50]
    with pytest.raises(ParameterError, match=r"n_neighbors=50\): the data has 50 rows"):
        Isomap(2, n_neighbors=50).fit(X)
    with pytest.raises(ParameterError, match="Both n_neighbors and radius"):
        Isomap(2, radius=3.0).fit(X)
    with pytest.raises(DataError, match=r"radius.*no point has a neighbor"):
        Isomap(2, n_neighbors=None, radius=1e-6).fit(X)
    with pytest.raises(DataError, match=r"[Aa]ll (rows|points)"):
        Isomap(2).fit(np.ones((30, 3)))
    with pytest.raises(DataError, match="negative"):
        Isomap(2).fit(X, graph=-scipy.sparse.eye_array(50, k=1))
    with pytest.raises(DataError, match=r"graph has 7 nodes.*50 rows"):
        Isomap(2).fit(X, graph=scipy.sparse.eye_array(7, k=1))
    with lowland.config(memory="1MB"), pytest.raises(MemoryBudgetError, match="n_landmarks"):
        Isomap(2, n_neighbors=9).fit(roll.X)


def test_many_rows_announce_their_cost_before_the_long_work(monkeypatch):
    monkeypatch.setattr(plan, "own_rates", lambda: Rates(loop=1e8))  # a slow machine
    X = np.zeros((49_000, 3))  # no neighbor is searched for: all rows are equal, which the search would refuse
    with (
        lowland.config(memory="1GB"),
        pytest.raises(MemoryBudgetError, match=r"49,000 rows.*9\.7 GB.*n_landmarks=1000\), which takes"),
    ):
        Isomap(2).fit(X)
    with (
        lowland.config(memory="20GB"),
        pytest.warns(DataWarning, match=r"49,000 rows.*min.*9\.7 GB.*n_landmarks=1000\) takes about"),
        pytest.raises(DataError, match="equal"),
    ):
        Isomap(2).fit(X)
    with lowland.config(memory="1GB"), pytest.raises(DataError, match="equal"):
        Isomap(2, n_landmarks=1000).fit(X)


def test_attributes_of_scikit_learn_are_made_when_they_are_read(roll, tmp_path):
    X = roll.X[:300]
    ours, theirs = (cls(n_components=2, n_neighbors=9).fit(X) for cls in (Isomap, Theirs))
    np.testing.assert_array_equal(ours.nbrs_.kneighbors(X[:5])[1], theirs.nbrs_.kneighbors(X[:5])[1])
    assert type(ours.nbrs_) is type(theirs.nbrs_)
    np.testing.assert_allclose(ours.kernel_pca_.eigenvalues_, theirs.kernel_pca_.eigenvalues_, rtol=1e-9)
    G = -0.5 * theirs.dist_matrix_[:5] ** 2
    np.testing.assert_allclose(
        np.abs(ours.kernel_pca_.transform(G)), np.abs(theirs.kernel_pca_.transform(G)), atol=1e-8
    )
    lowland.save(ours, tmp_path / "model")
    loaded = lowland.load(tmp_path / "model")
    assert not {"nbrs_", "kernel_pca_"} & set(vars(loaded))
    np.testing.assert_array_equal(loaded.nbrs_.kneighbors(X[:5])[1], theirs.nbrs_.kneighbors(X[:5])[1])
    given = Isomap(2, n_neighbors=9, metric="precomputed").fit(ours.dist_matrix_)
    assert not hasattr(given, "nbrs_")
    assert not hasattr(Isomap(2, n_neighbors=9, n_landmarks=50).fit(X), "kernel_pca_")
    assert not hasattr(Isomap(), "nbrs_")


@pytest.mark.parametrize("k", [40, 100])
def test_more_dimensions_than_points_span_are_refused(roll, k):
    with pytest.raises(ParameterError, match=rf"Isomap\(n_components={k}\): 40 rows span.*Choose at most 39\.$"):
        Isomap(k).fit(roll.X[:40])
    with pytest.raises(ParameterError, match=r"Isomap\(n_components=2\): 2 landmarks .* at most 1, or more landmarks"):
        Isomap(2, n_neighbors=9, n_landmarks=2).fit(roll.X)


def test_beyond_4096_rows_paths_are_summed_in_float32(monkeypatch, roll, fitted):
    monkeypatch.setattr("lowland.methods.isomap.IN_DOUBLE", 100)
    single = Isomap(2, n_neighbors=9).fit(roll.X)
    assert single.dist_matrix_.dtype == np.float32
    assert single.embedding_.dtype == np.float64
    np.testing.assert_allclose(single.embedding_, fitted.embedding_, atol=1e-3)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", [1e-100, 1e80])
def test_units_do_not_matter(monkeypatch, roll, fitted, unit):
    monkeypatch.setattr("lowland.methods.isomap.IN_DOUBLE", 100)
    other = Isomap(2, n_neighbors=9).fit(roll.X * unit)
    np.testing.assert_allclose(other.embedding_ / unit, fitted.embedding_, atol=1e-3)
    np.testing.assert_allclose(other.dist_matrix_ / unit, fitted.dist_matrix_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(other.residual_variances_, fitted.residual_variances_, atol=1e-5)
    assert other.reconstruction_error() / unit / unit == pytest.approx(fitted.reconstruction_error(), rel=1e-3)


def test_training_rows_keep_a_small_second_coordinate_in_transform():
    X = np.random.default_rng(0).standard_normal((25, 3)) * [1e-6, 1, 1e6]
    found = Isomap(2, n_neighbors=24).fit(X)
    np.testing.assert_allclose(found.transform(X)[:, 1], found.embedding_[:, 1], atol=1e-2)


def test_coincident_points_are_handled(roll):
    X = np.repeat(roll.X[:200], 2, axis=0)
    Z = Isomap(2, n_neighbors=18).fit_transform(X)
    np.testing.assert_allclose(Z[::2], Z[1::2], atol=1e-8)


def test_a_disconnected_graph_without_distances_is_a_runtime_error():
    X = np.array([0.0, 1, 2, 5, 6, 7])[:, None]
    G = kneighbors_graph(X, n_neighbors=2, mode="distance")
    for cls in (Isomap, Theirs):
        with pytest.raises(RuntimeError, match="number of connected components"):
            cls(n_neighbors=1, metric="precomputed").fit(G)
    with pytest.raises(DataError, match=r"components is 2.*Add the missing edges"):
        Isomap(n_neighbors=1, metric="precomputed").fit(G)
