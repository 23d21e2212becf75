"""Classical scaling: results by hand, both ends of the spectrum, Cailliez's constant, Gower's formula."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

from lowland.arrays.namespace import to_numpy
from lowland.data.rows import ArrayRows
from lowland.math.scaling import classical as scaling
from lowland.math.scaling.classical import Eigenvalues, Placement, additive_constant, classical_scaling, formed
from lowland.math.spectra import leading as spectral
from lowland.math.spectra import operators
from lowland.math.spectra.operators import DoubleCentered
from lowland.run.run import Run

RUN = Run()


def geodesics(n, seed=0):
    """Great-circle distances: not Euclidean."""
    U = np.random.default_rng(seed).standard_normal((n, 3))
    U /= np.linalg.norm(U, axis=1)[:, None]
    D = np.arccos(np.clip(U @ U.T, -1, 1))
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    return D


@pytest.fixture
def few_are_many(monkeypatch):
    """Iterate where all eigenpairs would be found."""
    monkeypatch.setattr(scaling, "SMALL", 50)


def centered_squares(D):
    J = np.eye(len(D)) - 1 / len(D)
    return -J @ (D * D) @ J / 2


def test_the_worked_example_entry_by_entry():
    """Points on a line at 0, 1 and 5: distances 1, 5 and 4."""
    D = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 4.0], [5.0, 4.0, 0.0]])
    G = formed(DoubleCentered(ArrayRows(D), RUN, True), D)
    assert G[0, 1] == pytest.approx(2)
    np.testing.assert_allclose(G, [[4, 2, -6], [2, 1, -3], [-6, -3, 9]], atol=1e-14)
    found = classical_scaling(D, 1, RUN)
    np.testing.assert_allclose(found.Z[:, 0], [-2, -1, 3], atol=1e-14)
    np.testing.assert_allclose(found.eigenvalues.known, [14, 0, 0], atol=1e-13)
    assert found.eigenvalues.trace == pytest.approx(14)
    np.testing.assert_allclose(found.eigenvalues.goodness, [1, 1])
    assert found.eigenvalues.significant == 1


@pytest.mark.parametrize("constant", [0.0, 0.7])
@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
def test_the_operator_is_the_matrix(library, constant, rng):
    xp = pytest.importorskip(library)
    D = geodesics(40)
    V = rng.standard_normal((40, 3))
    B = DoubleCentered(ArrayRows(xp.asarray(D)), RUN, True, constant)
    away = D + constant * (1 - np.eye(40))
    np.testing.assert_allclose(to_numpy(B @ xp.asarray(V)), centered_squares(away) @ V, atol=1e-12)
    np.testing.assert_allclose(to_numpy(B.row_means(xp.asarray(D))), (away * away).mean(axis=1), rtol=1e-13)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_iteration_agrees_with_the_full_decomposition(library, dtype, few_are_many):
    xp = pytest.importorskip(library)
    D = geodesics(300).astype(dtype)
    values, vectors = np.linalg.eigh(centered_squares(D.astype(float)))
    found = classical_scaling(xp.asarray(D), 4, RUN)
    assert found.outcome.name == "krylov"
    np.testing.assert_allclose(found.eigenvalues.leading, values[::-1][:4], rtol=1e-10)
    Z, truth = to_numpy(found.Z), vectors[:, ::-1][:, :4] * np.sqrt(values[::-1][:4])
    truth *= np.sign(np.sum(truth * Z, axis=0))
    np.testing.assert_allclose(Z, truth, atol=1e-7 if dtype == "float32" else 1e-8)
    whole = classical_scaling(xp.asarray(D), 4, RUN, whole=True)
    np.testing.assert_allclose(whole.eigenvalues.known, values[::-1], atol=1e-10 * values[-1])
    np.testing.assert_allclose(to_numpy(whole.Z), Z, atol=1e-7)


def test_the_iteration_bounds_the_remaining_eigenvalues(few_are_many):
    D = geodesics(300)
    few, whole = (classical_scaling(D, 2, RUN, whole=whole).eigenvalues for whole in (False, True))
    assert not few.exact
    assert whole.exact
    assert whole.lowest <= few.lowest < 0.8 * whole.lowest  # Ritz values lie within the spectrum
    assert few.significant == whole.significant == 3  # a sphere needs three dimensions
    for bound, truth in zip(few.goodness, whole.goodness, strict=True):
        assert truth <= bound < 1.2 * truth


def test_device_arrays_use_products_and_agree(monkeypatch, few_are_many):
    torch = pytest.importorskip("torch")
    D = geodesics(300)
    expected = classical_scaling(D, 3, RUN)
    for module in (spectral, operators):
        monkeypatch.setattr(module, "on_accelerator", lambda X: isinstance(X, torch.Tensor))
    found = classical_scaling(torch.asarray(D), 3, RUN)
    np.testing.assert_allclose(found.Z.numpy(), expected.Z, atol=1e-9)
    X = np.random.default_rng(0).standard_normal((300, 3))
    flat = classical_scaling(torch.asarray(cdist(X, X)), 2, RUN)  # the Krylov space closes after three dimensions
    assert flat.outcome.converged
    assert flat.eigenvalues.significant == 3


def test_eigenvalues_by_hand():
    found = Eigenvalues(np.array([6.0, 3.0]), np.array([6.0, 3.0, 1.0, 0.0, -2.0]), True, 8.0, 1e-13)
    assert found.goodness == pytest.approx((9 / 12, 9 / 10))
    assert found.lowest == -2
    assert found.significant == 2
    beyond = Eigenvalues(np.array([6.0, -1.0]), np.array([6.0, -1.0]), True, 5.0, 1e-13)
    assert beyond.positive == 1
    assert beyond.goodness == pytest.approx((6 / 7, 1.0))
    assert classical_scaling(np.zeros((4, 4)), 1, RUN).eigenvalues.one_point
    assert Eigenvalues(np.array([6.0]), np.array([6.0]), False, 8.0, 0.0).significant is None


# --- the additive constant ---


def by_cailliez(D):
    """The largest real eigenvalue of his unsymmetric matrix of twice the size."""
    n = len(D)
    J = np.eye(n) - 1 / n
    M = np.block([[np.zeros((n, n)), -J @ (D * D) @ J], [-np.eye(n), 2 * J @ D @ J]])
    return np.max(scipy.linalg.eigvals(M).real)


def random_distances(n, seed):
    D = np.random.default_rng(seed).uniform(1, 10, (n, n))
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    return D


@pytest.mark.parametrize("D", [random_distances(12, 0), random_distances(40, 1), geodesics(60)])
def test_the_additive_constant_follows_cailliez(D):
    found = additive_constant(D, RUN)
    assert found.outcome.converged
    assert found.value == pytest.approx(by_cailliez(D), rel=1e-10)
    assert np.all(np.diff(found.outcome.trace) >= 0)  # the bound increases


@settings(max_examples=30, deadline=None)
@given(arrays(float, 15, elements=st.floats(0.5, 50)))
def test_the_additive_constant_is_the_smallest_that_makes_distances_euclidean(pairs):
    D = np.zeros((6, 6))
    D[np.triu_indices(6, 1)] = pairs
    D = D + D.T
    c = additive_constant(D, RUN).value
    off = 1 - np.eye(6)
    scale = np.abs(centered_squares(D)).max() + c * c
    assert np.linalg.eigvalsh(centered_squares(D + c * off)).min() > -1e-10 * scale
    if c > 1e-3:
        assert np.linalg.eigvalsh(centered_squares(D + 0.99 * c * off)).min() < 0


def test_the_additive_constant_without_forming_matrices(monkeypatch):
    D = geodesics(100)
    expected = additive_constant(D, RUN).value
    monkeypatch.setattr(scaling, "SMALL", 50)
    found = additive_constant(D, RUN)
    assert found.outcome.converged
    assert found.value == pytest.approx(expected, rel=1e-9)


# --- Gower's out-of-sample formula ---


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
def test_a_new_point_of_the_same_space_is_placed_exactly(library, rng):
    """Distances in a plane are kept: the new points are as far from the old and from each other as they were."""
    xp = pytest.importorskip(library)
    X, new = rng.standard_normal((50, 2)), rng.standard_normal((7, 2))
    found = classical_scaling(xp.asarray(cdist(X, X)), 2, RUN)
    Z = Placement(found.weights, found.means)(xp.asarray(cdist(new, X)))
    assert type(Z) is type(found.Z)
    np.testing.assert_allclose(cdist(to_numpy(Z), to_numpy(found.Z)), cdist(new, X), atol=1e-12)
    np.testing.assert_allclose(cdist(to_numpy(Z), to_numpy(Z)), cdist(new, new), atol=1e-12)


def test_distances_that_break_the_triangle_inequality_need_a_constant():
    """1, 1 and 3 become distances on a line when 1 is added to each: 2 + 2 = 4."""
    D = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
    found = additive_constant(D)
    assert found.value == pytest.approx(1)
    Z = classical_scaling(D, 1, constant=found.value).Z
    np.testing.assert_allclose(np.abs(Z[:, 0]), [2, 0, 2], atol=1e-6)


def test_the_weights_of_gowers_formula_sum_to_zero(rng):
    """Even where the eigenvector of a small eigenvalue contains a part of the constant one."""
    Z = rng.standard_normal((30, 2))
    Z -= Z.mean(axis=0)
    Z[:, 1] = 1e-6 * (Z[:, 1] + 0.01)
    found = scaling.Scaling(Z, Eigenvalues(np.sum(Z * Z, axis=0), np.ones(2), False, 1.0, 1e-13), np.ones(30), None)
    np.testing.assert_allclose(found.weights.sum(axis=0), 0, atol=1e-9 * np.abs(found.weights).max())
    np.testing.assert_allclose(found.weights[:, 0], Z[:, 0] / (2 * np.sum(Z[:, 0] ** 2)))
