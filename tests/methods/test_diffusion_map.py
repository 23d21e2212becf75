"""Diffusion maps: diffusion distances, circles and intervals of any density, time, components, new rows."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist

import lowland
from lowland import DiffusionMap
from lowland.errors import DataError, DataWarning, ParameterError


def cloud(n=40, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def walk(X, model):
    """P and its stationary distribution, by definition."""
    K = np.exp(-(cdist(X, X) ** 2) / model.epsilon_)
    q = K.sum(axis=1)
    K = K / np.outer(q, q) ** model.alpha
    return K / K.sum(axis=1, keepdims=True), K.sum(axis=1) / K.sum()


# --- definition -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("t", [1, 2, 5])
def test_distances_are_diffusion_distances(alpha, t):
    X = cloud()
    model = DiffusionMap(39, alpha=alpha, t=t).fit(X)
    P, pi = walk(X, model)
    Pt = np.linalg.matrix_power(P, t)
    truth = cdist(Pt / np.sqrt(pi), Pt / np.sqrt(pi))
    np.testing.assert_allclose(cdist(model.embedding_, model.embedding_), truth, atol=1e-9 * truth.max())
    np.testing.assert_allclose(model.stationary_, pi, atol=1e-12)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), alpha=st.floats(0, 1), a=st.integers(1, 4), b=st.integers(1, 4))
def test_diffusion_times_add_up(seed, alpha, a, b):
    """λ^(a+b) = λ^a λ^b: a further step only multiplies each coordinate by its eigenvalue."""
    X = cloud(25, 2, seed)
    one, other = (DiffusionMap(4, alpha=alpha, t=t).fit(X) for t in (a, a + b))
    np.testing.assert_allclose(other.embedding_, one.embedding_ * one.eigenvalues_**b, atol=1e-9)


def density_free(Z, angle):
    """The fraction of the variance of two coordinates that a rotated cos and sin does not explain."""
    A = np.column_stack([np.cos(angle), np.sin(angle), np.ones_like(angle)])
    rest = Z - A @ np.linalg.lstsq(A, Z, rcond=None)[0]
    return np.sum(rest**2) / np.sum((Z - Z.mean(axis=0)) ** 2)


def test_a_circle_is_a_circle_whatever_its_density():
    u = (np.arange(300) + 0.5) / 300
    angle = 2 * np.pi * u + 0.8 * np.sin(2 * np.pi * u)  # nine times denser on one side
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    for options in ({}, {"epsilon": 0.02}, {"n_neighbors": 80, "epsilon": 0.02}):
        assert density_free(DiffusionMap(2, **options).fit_transform(X), angle) < 2e-3
    assert density_free(DiffusionMap(2, alpha=0).fit_transform(X), angle) > 2e-2


def test_an_interval_has_cosine_modes():
    x = np.linspace(0, 1, 300)
    model = DiffusionMap(4, epsilon=5e-4).fit(x[:, None])
    rates = -np.log(model.eigenvalues_)
    np.testing.assert_allclose(rates / rates[0], np.arange(1, 5) ** 2, rtol=5e-3)
    np.testing.assert_allclose(rates[0], np.pi**2 * 5e-4 / 4, rtol=0.1)  # exp(-d²/ε) is heat after the time ε/4
    for j in range(4):  # at the ends the kernel reaches out of the interval, by about √ε
        assert abs(np.corrcoef(model.embedding_[:, j], np.cos(np.pi * (j + 1) * x))[0, 1]) > 0.998


def test_given_and_computed_distances_agree():
    X = cloud()
    D = cdist(X, X)
    for n_neighbors in (None, 15):
        a = DiffusionMap(2, n_neighbors=n_neighbors).fit(X)
        b = DiffusionMap(2, n_neighbors=n_neighbors, metric="precomputed").fit(D)
        np.testing.assert_allclose(b.embedding_, a.embedding_, atol=1e-9)
    np.testing.assert_allclose(
        DiffusionMap(2, metric="precomputed").fit(D).transform(D[:7]),
        DiffusionMap(2).fit(X).transform(X[:7]),
        atol=1e-9,
    )
    city = DiffusionMap(2, metric="manhattan").fit(X)
    np.testing.assert_allclose(
        city.embedding_, DiffusionMap(2, metric="precomputed").fit(cdist(X, X, "cityblock")).embedding_, atol=1e-9
    )


def test_enough_neighbors_agree_with_all_pairs():
    X = cloud(60, 2)
    whole, some = (DiffusionMap(3, epsilon=0.1, n_neighbors=k).fit(X) for k in (None, 59))
    np.testing.assert_allclose(some.eigenvalues_, whole.eigenvalues_, rtol=1e-3)
    assert procrustes(some.embedding_, whole.embedding_)[2] < 1e-3


def test_kernel_values_below_rounding_are_not_edges(rng):
    X = rng.normal(size=(100, 3))
    X[50:] += 8
    order, maps = rng.permutation(100), []
    for rows in (X, X[order]):
        with pytest.warns(DataWarning, match=r"number of connected components is 2.*beyond rounding error"):
            maps.append(np.abs(DiffusionMap(2).fit_transform(rows)))
    np.testing.assert_allclose(maps[1], maps[0][order], atol=1e-9)


def test_time_by_rule():
    X = cloud(200, 3)
    model = DiffusionMap(2, t="auto").fit(X)
    values = DiffusionMap(3).fit(X).eigenvalues_
    t = model.diffusion_time_
    assert (values[2] / values[0]) ** t <= 0.1 < (values[2] / values[0]) ** (t - 1)
    np.testing.assert_allclose(model.embedding_, DiffusionMap(2, t=t).fit(X).embedding_, atol=1e-10)
    assert DiffusionMap(39, t="auto").fit(cloud()).diffusion_time_ == 1.0


# --- new rows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"alpha": 0}, {"alpha": 0.5, "t": 3}, {"metric": "manhattan"}, {"t": 0.5}])
def test_fitted_rows_keep_their_coordinates(options):
    X = cloud(80)
    model = DiffusionMap(3, **options).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)


def test_a_distant_row_is_placed_at_its_nearest_point():
    X = cloud()
    model = DiffusionMap(2).fit(X)
    far = model.transform(1e6 * np.ones((1, 3)))
    nearest = np.argmin(np.linalg.norm(X - 1e6, axis=1))
    np.testing.assert_allclose(far[0], model.embedding_[nearest] / model.eigenvalues_, rtol=1e-6)


def test_held_out_rows_are_placed_as_if_they_had_been_fitted():
    rng = np.random.default_rng(0)
    angle = 2 * np.pi * rng.random(600)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    for options in ({}, {"n_neighbors": 60}):
        model = DiffusionMap(2, **options).fit(X[::2])
        assert density_free(model.transform(X[1::2]), angle[1::2]) < 0.05


# --- connected components ---


def test_policies_for_disconnected_graphs():
    X = np.vstack([cloud(40, 2), cloud(20, 2, 1) + 60])
    with pytest.warns(DataWarning, match="stay disconnected"):
        model = DiffusionMap(2, n_neighbors=8, disconnected="ignore").fit(X)
    assert model.eigenvalues_[0] == 1 > model.eigenvalues_[1]
    assert np.ptp(model.embedding_[:40, 0]) < 1e-12
    with pytest.warns(DataWarning, match="Raise epsilon"):
        model = DiffusionMap(2, epsilon=1.0).fit(X)
    assert model.n_connected_components_ == 2
    with pytest.warns(DataWarning, match="NaN"):
        model = DiffusionMap(2, epsilon=1.0, disconnected="largest").fit(X)
    np.testing.assert_allclose(model.embedding_[:40], DiffusionMap(2, epsilon=1.0).fit(X[:40]).embedding_, atol=1e-9)


def test_negative_distances_of_new_rows_are_refused():
    D = cdist(cloud(), cloud())
    model = DiffusionMap(2, metric="precomputed").fit(D)
    with pytest.raises(DataError, match="is negative"):
        model.transform(np.stack([D[0], D[1] - 5]))
    with pytest.raises(DataError, match="dense array"):
        model.transform(scipy.sparse.csr_array(D[:2]))


def test_a_user_defined_graph():
    X = cloud(60, 2)
    D = cdist(X, X)
    G = scipy.sparse.csr_array(np.where(D <= 1.2, D, 0))
    model = DiffusionMap(2, epsilon=0.5, t=0).fit(X, graph=G)
    K = np.where(D <= 1.2, np.exp(-(D**2) / 0.5), 0)
    q = K.sum(axis=1)
    K = K / np.outer(q, q)
    P = K / K.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(P @ model.embedding_, model.embedding_ * model.eigenvalues_, atol=1e-9)
    with pytest.raises(ParameterError, match=r"cannot transform new rows.*neighbor graph alone"):
        model.transform(X)


# --- wrong input, and the rest ----------------------------------------------------------------------------------------


def test_unsupported_combinations_are_reported():
    X = cloud(30)
    with pytest.raises(ParameterError, match=r"n_neighbors=30\): the data has 30 rows. Choose at most 29"):
        DiffusionMap(n_neighbors=30).fit(X)
    with pytest.raises(ParameterError, match="at most 29"):
        DiffusionMap(30).fit(X)
    for options in ({}, {"n_neighbors": 5}):
        with pytest.raises(DataError, match="All rows are equal"):
            DiffusionMap(**options).fit(np.ones((30, 2)))
    with pytest.raises(ParameterError, match="no metric 'crow'"):
        DiffusionMap(metric="crow").fit(X)
    with pytest.raises(DataError, match="symmetric"):
        DiffusionMap(metric="precomputed").fit(np.triu(cdist(X, X)))
    with pytest.raises(DataError, match="negative"):
        DiffusionMap().fit(X, graph=scipy.sparse.csr_array(-cdist(X, X)))
    with lowland.config(memory="20MB"), pytest.raises(MemoryError, match="n_neighbors=15"):
        DiffusionMap().fit(cloud(1500))


def test_duplicates_have_equal_coordinates():
    X = np.vstack([cloud(), cloud()[:10]])
    Z = DiffusionMap(2).fit_transform(X)
    np.testing.assert_allclose(Z[40:], Z[:10], atol=1e-10)
    assert np.isfinite(DiffusionMap(2, n_neighbors=8, disconnected="largest").fit(X).transform(X)).all()
