"""Regression tests of silent errors: extreme scales, weights and shapes."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.decomposition import PCA as TheirPCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import ShuffleSplit
from sklearn.pipeline import make_pipeline

import lowland
from lowland import (
    MDS,
    PCA,
    TSNE,
    UMAP,
    ClassicalMDS,
    IncrementalPCA,
    LocalMAP,
    PaCMAP,
    TruncatedSVD,
    Whitening,
)
from lowland.errors import DataError, DataWarning, ParameterError
from lowland.rules import Downstream, EigenvalueAbove, ParallelAnalysis

R = np.random.default_rng


def test_a_column_in_large_units_does_not_hide_the_others():
    X = R(0).standard_normal((100_000, 3)) * [1e6, 1, 0.5]
    X[:, 2] += X[:, 1]
    exact = TheirPCA().fit(X)
    ours = PCA().fit(X)
    np.testing.assert_allclose(ours.explained_variance_, exact.explained_variance_, rtol=1e-3)
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(exact.components_), atol=1e-3)
    np.testing.assert_allclose(PCA(whiten=True).fit_transform(X).std(axis=0), 1, rtol=1e-3)
    s = np.linalg.svd(X, compute_uv=False)
    np.testing.assert_allclose(TruncatedSVD(3).fit(X).singular_values_, s, rtol=1e-3)


def test_whitening_keeps_small_directions_of_many_float32_rows():
    X = R(0).standard_normal((100_000, 4)).astype("f4") * np.float32([1, 1, 0.1, 0.1])
    Z = Whitening().fit_transform(X)
    np.testing.assert_allclose(np.cov(Z.T), np.eye(4), atol=1e-4)


def test_rows_of_weight_zero_may_contain_any_value():
    X, w = R(0).standard_normal((500, 4)), np.ones(500)
    X[:64], w[:64] = 1e20, 0
    for solver in ("covariance_eigh", "full", "randomized", "power", "arpack"):
        ours = PCA(svd_solver=solver, random_state=0).fit(X, sample_weight=w)
        np.testing.assert_allclose(ours.explained_variance_, PCA().fit(X[64:]).explained_variance_, rtol=1e-7)


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "full", "randomized"])
def test_rows_of_weight_zero_may_contain_nan_also_in_wide_tables(solver):
    X, w = R(0).standard_normal((30, 80)), np.ones(30)
    X[3], w[3] = np.nan, 0
    ours = PCA(3, svd_solver=solver).fit(X, sample_weight=w)
    exact = PCA(3, svd_solver="full").fit(np.delete(X, 3, axis=0))
    np.testing.assert_allclose(ours.explained_variance_, exact.explained_variance_, rtol=1e-7)


def test_weights_that_add_up_to_one_are_refused():
    X, w = R(0).standard_normal((100, 3)), R(2).uniform(0.5, 2, 100)
    for weights in (w / w.sum(), np.full(100, 0.01)):
        with pytest.raises(DataError, match="multiply them"):
            PCA(2).fit(X, sample_weight=weights)


def test_what_is_discarded_is_not_a_difference_of_large_numbers():
    X = R(0).standard_normal((100, 5)) * [1e10, 1, 1, 1, 1]
    exact = TheirPCA(1, svd_solver="full").fit(X)
    ours = PCA(1, svd_solver="full").fit(X)
    assert ours.noise_variance_ == pytest.approx(exact.noise_variance_, rel=1e-3)
    C = X[:, 1:] - X[:, 1:].mean(axis=0)
    assert ours.distortion() == pytest.approx(np.mean(np.sum(C**2, axis=1)), rel=0.05)
    with pytest.raises(DataError, match="cannot be added"):
        ours.partial_fit(X)


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "full"])
def test_small_components_of_wide_float32_tables(solver):
    n, d = 200, 1200
    U, V = np.linalg.qr(R(0).standard_normal((n, 60)))[0], np.linalg.qr(R(1).standard_normal((d, 60)))[0]
    Y = ((U * np.geomspace(1, 1e-5, 60)) @ V.T).astype("f4")
    exact = np.linalg.svd(Y.astype(float) - Y.astype(float).mean(axis=0), compute_uv=False)[:50] ** 2 / (n - 1)
    pca = PCA(50, svd_solver=solver).fit(Y)
    np.testing.assert_allclose(pca.explained_variance_, exact, rtol=2e-2 if solver == "full" else 1e-4)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(50), atol=1e-5)


def test_wide_float32_far_from_the_origin_stays_orthonormal():
    X = (R(0).standard_normal((200, 500)) + 1e3).astype("f4")
    pca = PCA().fit(X)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(200), atol=1e-5)
    exact = TheirPCA(svd_solver="full").fit(X.astype(float))
    np.testing.assert_allclose(pca.explained_variance_[:100], exact.explained_variance_[:100], rtol=1e-4)


def test_first_rows_unlike_the_rest():
    X = R(0).standard_normal((200_000, 4)).astype("f4")
    X[:64, 0] += 100
    exact = np.linalg.eigvalsh(np.cov(X.astype(float).T))[::-1]
    np.testing.assert_allclose(PCA().fit(X).explained_variance_, exact, rtol=3e-6)
    strided = np.repeat(X, 2, axis=1)[:, ::2]
    np.testing.assert_allclose(PCA().fit(strided).explained_variance_, exact, rtol=3e-6)


def test_a_constant_column_stays_constant_under_weights_and_in_sparse_rows():
    X = R(0).standard_normal((63, 3))
    X[:, 2] = 0.1
    w = R(1).uniform(0.5, 2, 63)
    for solver in ("covariance_eigh", "full"):
        assert PCA(scale=True, svd_solver=solver).fit(X, sample_weight=w).scale_[2] == 1
    assert PCA(scale=True, svd_solver="covariance_eigh").fit(sp.csr_array(X)).scale_[2] == 1
    for kind in ("zca-cor", "pca-cor"):
        white = Whitening(method=kind).fit(X, sample_weight=w)
        assert white.rank_ == 2
        assert np.abs(white.whitening_).max() < 100


def test_sparse_rows_far_from_the_origin():
    B = R(1).standard_normal((200, 4))
    B[:, 0] += 1e8
    sparse, dense = PCA(random_state=0).fit(sp.csr_array(B)), PCA(svd_solver="full").fit(B)
    np.testing.assert_allclose(sparse.explained_variance_, dense.explained_variance_, rtol=1e-4)
    assert "far from the origin" in sparse.solver_.reason
    A = R(0).standard_normal((200, 4))
    A[:, 3] = 0.1
    assert PCA(ParallelAnalysis(20)).fit(sp.csr_array(A)).n_components_ >= 1


def test_variance_of_coordinates_far_from_the_origin():
    X = R(0).standard_normal((1000, 4)) + 1e8
    svd = TruncatedSVD(3).fit(X)
    np.testing.assert_allclose(svd.explained_variance_[1:], svd.transform(X).var(axis=0)[1:], rtol=1e-4)
    assert svd.explained_variance_[0] == pytest.approx(1.0, rel=0.2)


def test_a_copy_does_not_share_sums():
    X = R(0).standard_normal((100, 3))
    a = IncrementalPCA().partial_fit(X[:50])
    before = IncrementalPCA().fit(X[:50]).explained_variance_
    copy.copy(a).partial_fit(X[50:] * 100)
    np.testing.assert_allclose(a.explained_variance_, before)


def test_iterated_power_counts_as_in_scikit_learn():
    X = R(0).standard_normal((400, 300)) * np.linspace(1, 0.01, 300)
    exact = TheirPCA(3, svd_solver="full").fit(X).explained_variance_
    for steps in (0, 1, 3):
        ours = PCA(3, svd_solver="randomized", iterated_power=steps, random_state=0).fit(X).explained_variance_
        theirs = TheirPCA(3, svd_solver="randomized", iterated_power=steps, random_state=0).fit(X).explained_variance_
        assert np.all(ours / exact > theirs / exact - 0.08)


def test_rules_do_not_count_rounding():
    X = R(0).standard_normal((100, 3)) @ R(1).standard_normal((3, 40))
    for solver in ("full", "covariance_eigh", "randomized"):
        assert PCA(EigenvalueAbove(0), svd_solver=solver, random_state=0).fit(X).n_components_ == 3


def test_downstream_on_sparse_one_split_text_labels_and_weights():
    X = R(0).standard_normal((90, 5)) * [5, 4, 3, 2, 1]
    y = np.where(X[:, 0] > 0, "yes", "no")
    rule = Downstream(LogisticRegression(), cv=ShuffleSplit(1, random_state=0))
    assert PCA(rule).fit(X, y).n_components_ >= 1
    assert PCA(Downstream(LogisticRegression())).fit(sp.csr_array(X), y).n_components_ >= 1
    assert PCA(Downstream(LinearRegression())).fit(X, X[:, 0]).n_components_ >= 1
    with pytest.raises(ParameterError, match="sample_weight"):
        PCA(rule).fit(X, y, sample_weight=np.ones(90))


def test_a_failed_fit_keeps_the_earlier_result():
    X = R(0).standard_normal((20, 5))
    pca = PCA(2).fit(X)
    with pytest.raises(DataError):
        pca.fit(X[:, :3], sample_weight=-np.ones(20))
    assert pca.transform(X).shape == (20, 2)


def test_tensors_stay_tensors_when_frames_are_requested():
    torch = pytest.importorskip("torch")
    with lowland.config(output="frame"):
        assert isinstance(PCA(2).fit_transform(torch.randn(30, 4)), torch.Tensor)


def test_targets_unused_by_pca_are_not_checked():
    X = R(0).standard_normal((30, 5))
    assert make_pipeline(PCA(2), LinearRegression()).fit(X, X[:, :2]).predict(X).shape == (30, 2)


def test_constant_rows_on_every_solver():
    for solver in ("full", "covariance_eigh", "power", "arpack", "randomized"):
        with pytest.warns(UserWarning, match="constant"):
            pca = PCA(3, svd_solver=solver, random_state=0).fit(np.ones((100, 40)))
        np.testing.assert_array_equal(pca.explained_variance_, 0)
        np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(3), atol=1e-12)


def test_the_budget_is_kept_or_refused():
    Y = R(0).standard_normal((3000, 1000))
    with lowland.config(memory="20MB"):
        for model in (PCA(), PCA(2, svd_solver="full"), IncrementalPCA(2)):
            with pytest.raises(MemoryError, match="config"):
                model.fit([Y[:500], Y[500:1000], Y[1000:]])
        assert "budget" in TruncatedSVD(2).fit([Y[:500], Y[500:]]).solver_.reason
    whole = PCA(3).fit(Y[:, :200])
    with lowland.config(memory="4MB"):
        free = PCA(3).fit([Y[i : i + 100, :200] for i in range(0, 3000, 100)])
    np.testing.assert_allclose(free.explained_variance_, whole.explained_variance_, rtol=1e-9)
    with pytest.raises(ParameterError, match="random_state"):
        PCA(2, random_state=-1).fit(Y)


def test_slabs_of_inverse_transform_are_sized_by_the_wider_table(monkeypatch):
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 8 * 50 * 40)  # forty rows of fifty columns
    X = R(0).standard_normal((500, 50))
    pca = PCA(2).fit(X)
    Z = pca.transform(X)
    heights = [len(chunk) for chunk in pca.inverse_chunks(Z)]
    assert max(heights) == 40
    assert sum(heights) == 500
    np.testing.assert_array_equal(np.concatenate(list(pca.inverse_chunks(Z))), pca.inverse_transform(Z))


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e160])
@pytest.mark.parametrize(("cls", "name"), [(MDS, "stress_"), (ClassicalMDS, "eigenvalues_")])
def test_squares_that_float64_cannot_hold_are_reported(cls, name, scale):
    X = np.random.default_rng(0).standard_normal((20, 4))
    est = cls(2, random_state=0)
    expected = est.fit_transform(X)
    with pytest.warns(DataWarning, match=rf"{name}: .*beyond the range"):
        Z = est.fit_transform(X * scale)
    np.testing.assert_allclose(Z / scale, expected, atol=1e-6)


@pytest.mark.parametrize("cls", [TSNE, UMAP, PaCMAP, LocalMAP])
def test_given_initial_coordinates_of_any_size_do_not_end_in_one_place(cls):
    X, Z = R(0).standard_normal((30, 4)), R(1).standard_normal((30, 2))
    quick = {"perplexity": 5} if cls is TSNE else {"n_neighbors": 5}
    for init in (Z * 1e-200, Z * 1e200, Z + 1e12):
        assert cls(init=init, random_state=0, **quick).fit(X).embedding_.std(axis=0).min() > 0.1
    with pytest.raises(DataError, match="coordinates of all points are equal"):
        cls(init=np.full((30, 2), 5.0), **quick).fit(X)
    with pytest.raises(DataError, match="complex"):
        cls(init=Z + 1j, **quick).fit(X)


def test_tsne_scales_initial_coordinates_that_no_step_could_bring_together():
    X, Z = R(0).standard_normal((30, 4)), R(1).standard_normal((30, 2))
    expected = TSNE(perplexity=5, init=Z * 1e-4, random_state=0).fit(X).kl_divergence_
    with pytest.warns(DataWarning, match="standard deviation of 8.6e\\+09"):
        found = TSNE(perplexity=5, init=Z * 1e10, random_state=0).fit(X).kl_divergence_
    assert found < expected + 0.1
