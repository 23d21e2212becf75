"""Procrustes analysis, stability under resampling, and the Amari distance."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist

import lowland
from lowland import quality
from lowland.data import load_dataset
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.quality.alignment import Procrustes


def test_procrustes_agrees_with_scipy(rng):
    A, B = rng.standard_normal((2, 30, 3))
    laid = Procrustes.onto(A, B)
    assert 1 - laid.explained == pytest.approx(procrustes(B, A)[2])
    left = np.sum((laid(A) - B) ** 2) / np.sum((B - B.mean(axis=0)) ** 2)
    assert left == pytest.approx(1 - laid.explained)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    same = Procrustes.onto(4 * A @ turn - 1, A)
    assert same.explained == pytest.approx(1)
    assert same.scale == pytest.approx(0.25)
    np.testing.assert_allclose(same(4 * A @ turn - 1), A, atol=1e-12)


@pytest.mark.parametrize("size", [1e-300, 1e200, 1e307])
def test_procrustes_does_not_depend_on_extreme_scales(size, rng):
    A, B = rng.uniform(-1, 1, (2, 30, 3))
    plain, laid = Procrustes.onto(A, B), Procrustes.onto(size * A, size * B)
    assert laid.explained == pytest.approx(plain.explained)
    assert laid.scale == pytest.approx(plain.scale)
    np.testing.assert_allclose(laid(size * A) / size, plain(A), atol=1e-12)
    assert Procrustes.onto(size * A, B).explained == pytest.approx(plain.explained)


@pytest.mark.parametrize("resample", ["halves", "bootstrap"])
def test_well_determined_directions_are_stable_and_others_are_not(resample, rng):
    line = rng.standard_normal((200, 5)) * [10, 5, 0.1, 0.1, 0.1]
    round_ = rng.standard_normal((200, 5))
    sure = quality.procrustes_stability(lowland.PCA(2), line, resample=resample, per_row=True)
    assert sure.value > 0.999
    assert sure.low <= sure.value <= sure.high <= 1
    assert sure.per_row.shape == (200,)
    assert np.nanmax(sure.per_row) < 0.1
    loose = quality.procrustes_stability(lowland.PCA(2), round_, resample=resample)
    assert loose.high < 0.95
    again = quality.procrustes_stability(lowland.PCA(2), round_, resample=resample)
    assert again.value == loose.value
    assert quality.procrustes_stability(lowland.PCA(2), round_, resample=resample, random_state=1).value != loose.value


def test_stability_with_a_rule_with_labels_and_with_omitted_rows(iris):
    assert quality.procrustes_stability(lowland.PCA(0.9), load_dataset("wine").X, resamples=3).value > 0.9
    assert quality.procrustes_stability(lowland.LinearDiscriminantAnalysis(n_components=2), iris.X, iris.y).value > 0.9
    with pytest.warns(lowland.errors.DataWarning):
        found = quality.procrustes_stability(
            lowland.Isomap(2, disconnected="largest"), iris.X, resamples=2, per_row=True
        )
    assert found.left_out == 50
    assert np.isnan(found.per_row).sum() >= 50


@pytest.mark.parametrize("resample", ["halves", "bootstrap"])
def test_stability_draws_columns_with_the_rows_where_pairs_are_given(resample, iris):
    D = cdist(iris.X, iris.X)
    by_rows = quality.procrustes_stability(lowland.ClassicalMDS(2), iris.X, resamples=3, resample=resample)
    by_pairs = quality.procrustes_stability(
        lowland.ClassicalMDS(2, metric="precomputed"), D, resamples=3, resample=resample
    )
    assert by_pairs.value == pytest.approx(by_rows.value)
    by_rows = quality.procrustes_stability(lowland.KernelPCA(2), iris.X, resamples=3, resample=resample)
    by_pairs = quality.procrustes_stability(
        lowland.KernelPCA(2, kernel="precomputed"), iris.X @ iris.X.T, resamples=3, resample=resample
    )
    assert by_pairs.value == pytest.approx(by_rows.value)


def test_stability_takes_tensors(iris):
    torch = pytest.importorskip("torch")
    found = quality.procrustes_stability(lowland.PCA(2), torch.tensor(iris.X), resamples=3)
    assert found.value == pytest.approx(
        quality.procrustes_stability(lowland.PCA(2), iris.X, resamples=3).value, abs=1e-9
    )


@pytest.mark.parametrize("size", [1e-200, 1e-90, 1e80, 1e200])
def test_stability_does_not_depend_on_the_size_of_coordinates(size, iris):
    class Sized(lowland.PCA):
        def fit_transform(self, X, y=None):
            return size * super().fit_transform(X)

    plain, found = (
        quality.procrustes_stability(model, iris.X, resamples=3, per_row=True) for model in (lowland.PCA(2), Sized(2))
    )
    assert found.value == pytest.approx(plain.value)
    np.testing.assert_allclose(found.per_row, plain.per_row, rtol=1e-6)


def test_stability_of_a_map_that_is_returned_with_radii(iris):
    given = {"n_epochs": 5, "random_state": 0}
    plain, found = (
        quality.procrustes_stability(lowland.UMAP(**given, output_dens=dens), iris.X, resamples=2)
        for dens in (False, True)
    )
    assert found.value == plain.value


def test_invalid_input_of_stability_is_reported(iris):
    with pytest.raises(DataTypeError, match=r"int .*fit_transform.*PCA\(2\)"):
        quality.procrustes_stability(3, iris.X)
    with pytest.raises(DataTypeError, match=r"PCA .*fit_transform.*PCA\(2\)"):
        quality.procrustes_stability(lowland.PCA, iris.X)
    with pytest.raises(ParameterError, match="resamples=1"):
        quality.procrustes_stability(lowland.PCA(2), iris.X, resamples=1)
    with pytest.raises(ParameterError, match="resample='jack'"):
        quality.procrustes_stability(lowland.PCA(2), iris.X, resample="jack")
    with pytest.raises(DataError, match="one value for each"):
        quality.procrustes_stability(lowland.PCA(2), iris.X, iris.y[:5])
    with pytest.raises(DataError, match=r"resample of 75 of the 150 rows: .*[Cc]hoose at most 74"):
        quality.procrustes_stability(lowland.Isomap(2, n_neighbors=100), iris.X)
    with pytest.raises(DataError, match="fewer than 3 different rows"):
        quality.procrustes_stability(lowland.PCA(2), iris.X[:3], resample="bootstrap", resamples=20)
    two_parts = iris.X[:100]
    with (
        warnings.catch_warnings(action="ignore", category=lowland.errors.DataWarning),
        pytest.raises(DataError, match="disconnected='connect'"),
    ):
        quality.procrustes_stability(lowland.Isomap(2, disconnected="largest"), two_parts)
    D = csr_array(cdist(iris.X, iris.X))
    with pytest.raises(DataTypeError, match=r"Sparse distances .* all pairs"):
        quality.procrustes_stability(lowland.Isomap(2, metric="precomputed"), D)


# --- Amari distance


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 6), extra=st.integers(0, 3))
def test_the_index_is_zero_for_scaled_permutations_and_bounded(seed, k, extra):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((k + extra, k))
    scale = rng.uniform(0.1, 10, k) * rng.choice([-1, 1], k)
    W = (np.linalg.pinv(A) * scale[:, None])[rng.permutation(k)]
    assert quality.amari_distance(W, A).value == pytest.approx(0, abs=1e-7)
    other = rng.standard_normal((k, k + extra))
    value = quality.amari_distance(other, A).value
    assert 0 <= value <= 1
    turned = (other * np.sign(scale)[:, None])[rng.permutation(k)]
    assert quality.amari_distance(turned, A).value == pytest.approx(value)


def test_by_hand_and_the_worst():
    P = np.array([[1.0, 0.5], [0.25, 2.0]])
    # rows: 0.5 + 0.125, columns: 0.25 + 0.25; over 2k(k − 1) = 4
    assert quality.amari_distance(P, np.eye(2)).value == pytest.approx((0.5 + 0.125 + 0.25 + 0.25) / 4)
    assert quality.amari_distance(np.ones((3, 3)), np.eye(3)).value == pytest.approx(1)
    found = quality.amari_distance(P, np.eye(2))
    assert found.better == "lower"
    assert "Amari" in str(found)


def test_mixing_matrices_may_be_tensors_and_lists():
    torch = pytest.importorskip("torch")
    assert quality.amari_distance(torch.eye(2), [[0.0, 1.0], [1.0, 0.0]]).value == 0


def test_wrong_shapes_and_values():
    with pytest.raises(DataError, match=r"unmixing.*\(3, 3\).*mixing.*\(2, 2\).*components_"):
        quality.amari_distance(np.eye(3), np.eye(2))
    with pytest.raises(DataError, match="full rank"):
        quality.amari_distance(np.zeros((2, 2)), np.eye(2))
    with pytest.raises(DataError, match="NaN"):
        quality.amari_distance(np.full((2, 2), np.nan), np.eye(2))
