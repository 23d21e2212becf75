"""PCA: theorems, agreement with scikit-learn, and agreement between solvers."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA as TheirPCA
from sklearn.linear_model import LogisticRegression

import lowland
from lowland import PCA, IncrementalPCA
from lowland.data import low_rank
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.math.spectra.component_rules import (
    Cumulative,
    Downstream,
    EachAtLeast,
    EigenvalueAbove,
    Kaiser,
    Knee,
    ParallelAnalysis,
)

SOLVERS = ["full", "covariance_eigh", "power", "arpack", "randomized"]
REFUSED = [("mle", "arpack"), ("mle", "randomized")]
COUNTS = [3, "mle", Kaiser(), Cumulative(0.9), EachAtLeast(0.05), EigenvalueAbove(1.0), Knee(), ParallelAnalysis(20)]


@pytest.fixture
def X():
    rng = np.random.default_rng(3)
    return rng.standard_normal((60, 7)) @ np.diag([6, 4, 3, 2, 1, 0.5, 0.2]) @ rng.standard_normal((7, 7)) + 5


# --- theorems ---


def test_maximum_variance_is_minimum_error(X):
    pca = PCA(3).fit(X)
    Z = pca.transform(X)
    error = np.mean(np.sum((X - pca.inverse_transform(Z)) ** 2, axis=1))
    variance = np.sum(np.var(Z, axis=0))
    assert error + variance == pytest.approx(np.sum(np.var(X, axis=0)))
    rng = np.random.default_rng(0)
    for _ in range(20):  # any other three directions keep less and lose more
        Q = np.linalg.qr(rng.standard_normal((7, 3)))[0]
        C = X - X.mean(axis=0)
        assert np.sum(np.var(C @ Q, axis=0)) < variance
        assert np.mean(np.sum((C - C @ Q @ Q.T) ** 2, axis=1)) > error


def test_distortion_is_the_measured_error(X):
    pca = PCA().fit(X)
    C = X - pca.mean_
    for m in range(8):
        U = pca.components_[:m]
        assert pca.distortion(m) == pytest.approx(np.mean(np.sum((C - C @ U.T @ U) ** 2, axis=1)), abs=1e-10)
        assert pca.distortion(m) == pytest.approx(np.sum(pca.explained_variance_[m:]) * 59 / 60, abs=1e-10)


def test_distortion_needs_only_the_kept_components(X):
    assert PCA(2).fit(X).distortion() == pytest.approx(PCA().fit(X).distortion(2))


def test_storage(X):
    before, after = PCA(2).fit(X).storage()
    assert before == 60 * 7
    assert after == 60 * 2 + 2 * 7 + 7
    assert PCA(2).fit(X).storage(1).ratio == pytest.approx(420 / (60 + 7 + 7))


# --- the same answer as scikit-learn, from every solver with every choice ---


@pytest.mark.parametrize("solver", ["auto", *SOLVERS])
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("k", [1, 3, None, 0.8, "mle"])
def test_results_agree_with_scikit_learn(X, solver, whiten, k):
    if (k, solver) in REFUSED or (k is None and solver == "arpack"):
        pytest.skip("ARPACK keeps all components but one, and no iteration finds all: see the tests below")
    ours = PCA(k, svd_solver=solver, whiten=whiten, random_state=0).fit(X)
    theirs = TheirPCA(k, svd_solver="full", whiten=whiten).fit(X)
    assert ours.n_components_ == theirs.n_components_
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-7)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_", "noise_variance_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-7, atol=1e-12, err_msg=name)
    plain = TheirPCA(k, svd_solver="full").fit(X)  # with whiten=True theirs scales the components twice
    np.testing.assert_allclose(ours.get_covariance(), plain.get_covariance(), atol=1e-7)
    np.testing.assert_allclose(ours.get_precision(), plain.get_precision(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.score_samples(X), plain.score_samples(X), rtol=1e-6)
    assert ours.score(X) == pytest.approx(plain.score(X))
    np.testing.assert_allclose(
        ours.inverse_transform(ours.transform(X)), theirs.inverse_transform(theirs.transform(X)), atol=1e-7
    )


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("k", COUNTS, ids=repr)
@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_every_solver_with_every_rule(X, solver, k, shape):
    if (shape == "wide" and k == "mle") or (k, solver) in REFUSED:
        pytest.skip("needs more rows than columns, and a solver that computes all eigenvalues")
    data = X if shape == "tall" else low_rank(n=12, d=30, rank=12, noise=0.1).X * 10
    exact = PCA(k, svd_solver="full").fit(data)
    ours = PCA(k, svd_solver=solver, random_state=0).fit(data)
    assert ours.n_components_ == exact.n_components_
    np.testing.assert_allclose(ours.explained_variance_, exact.explained_variance_, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.abs(ours.transform(data)), np.abs(exact.transform(data)), atol=1e-4)
    assert ours.solver_.name == solver
    assert ours.choice_.reason


def test_arpack_keeps_at_most_all_components_but_one(X):
    d = X.shape[1]
    for data in (X, X[: d - 2]):
        most = min(data.shape)
        ours = PCA(svd_solver="arpack").fit(data)
        theirs = TheirPCA(svd_solver="arpack", random_state=0).fit(data)
        assert ours.n_components_ == theirs.n_components_ == most - 1
        np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_)
        limit = rf"n_components={most} must be strictly less than min\(n_samples, n_features\)={most} with svd_solver="
        with pytest.raises(ParameterError, match=limit):
            PCA(most, svd_solver="arpack").fit(data)


@pytest.mark.parametrize(("k", "solver"), REFUSED)
def test_mle_needs_all_eigenvalues(X, k, solver):
    with pytest.raises(ParameterError, match=f"n_components='mle' cannot be a string with svd_solver='{solver}'"):
        PCA(k, svd_solver=solver).fit(X)


def test_messages_have_scikit_learns_phrases(X):
    d = X.shape[1]
    limit = rf"n_components={d + 1} must be between 0 and min\(n_samples, n_features\)={d} with svd_solver='full'"
    for options, data, phrase in [
        ({"n_components": d + 1, "svd_solver": "full"}, X, limit),
        ({"n_components": "mle"}, X[: d - 1], "n_components='mle' is only supported if n_samples >= n_features"),
        (
            {"svd_solver": "full"},
            scipy.sparse.csr_array(X),
            'PCA only support sparse inputs .* while "full" was passed',
        ),
    ]:
        with pytest.raises(ValueError, match=phrase):
            PCA(**options).fit(data)


@pytest.mark.parametrize("cls", [PCA, IncrementalPCA])
def test_float32_rows_give_a_float32_covariance(X, cls):
    model, double = (cls(2).fit(X.astype(dtype)) for dtype in (np.float32, np.float64))
    for matrix in ("get_covariance", "get_precision"):
        ours, exact = getattr(model, matrix)(), getattr(double, matrix)()
        assert (ours.dtype, exact.dtype) == (np.float32, np.float64)
        np.testing.assert_allclose(ours, exact, atol=1e-4 * np.abs(exact).max())


@pytest.mark.parametrize("solver", SOLVERS)
def test_matrix_free_gives_the_same(X, solver):
    """With a budget too small for d x d, iterative solvers are matrix-free, and the direct one raises an error."""
    wide = low_rank(n=300, d=400, rank=10, noise=0.01).X
    exact = PCA(3, svd_solver="full").fit(wide)
    with lowland.config(memory="3MB"):
        if solver in ("covariance_eigh", "full"):
            with pytest.raises(MemoryError, match="randomized"):
                PCA(3, svd_solver=solver).fit([wide[:150], wide[150:]])
            return
        ours = PCA(3, svd_solver=solver, random_state=0).fit([wide[:150], wide[150:]])
        automatic = PCA(3, random_state=0).fit([wide[:150], wide[150:]])
    np.testing.assert_allclose(ours.explained_variance_, exact.explained_variance_, rtol=1e-7)
    assert automatic.solver_.name == "randomized"
    assert "budget" in automatic.solver_.reason


def test_auto_reports_solver_and_reason(X):
    assert PCA(2).fit(X).solver_.name == "full"
    tall = np.random.default_rng(0).standard_normal((1000, 5))
    chosen = PCA(2).fit(tall).solver_
    assert chosen.name == "covariance_eigh"
    assert "5 x 5" in str(chosen)


def test_convergence_is_recorded_and_warned_about(X, monkeypatch):
    from sklearn.exceptions import ConvergenceWarning

    pca = PCA(2, svd_solver="power", random_state=0).fit(X)
    assert pca.n_iter_ == len(pca.solver_.trace) > 0
    assert pca.solver_.trace[-1] <= 1e-9
    flat = np.random.default_rng(0).standard_normal((400, 50))
    monkeypatch.setattr("lowland.math.spectra.leading.MOST_POWER_STEPS", 3)
    with pytest.warns(ConvergenceWarning, match="power"):
        PCA(5, svd_solver="power", random_state=0).fit(flat)


# --- number of components ---


def test_parallel_analysis_finds_the_rank():
    X = low_rank(n=400, d=20, rank=2, noise=0.05, decay=0.9).X
    pca = PCA(ParallelAnalysis(random_state=0), scale=True).fit(X)
    assert pca.n_components_ == 2
    assert len(pca.choice_.evidence["threshold"]) == 20


def test_parallel_analysis_of_pure_noise_keeps_almost_nothing():
    X = np.random.default_rng(0).standard_normal((500, 10))
    assert PCA(ParallelAnalysis(quantile=0.99)).fit(X).n_components_ == 1


def test_downstream_finds_the_informative_components():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.standard_normal((300, 8)) * np.array([5, 4, 3, 1, 1, 1, 1, 1])
    X[:, 2] += 12 * y  # the class shows in the third-largest direction, which becomes the first
    pca = PCA(Downstream(LogisticRegression(), tolerance=0.01)).fit(X, y)
    assert pca.n_components_ == 1
    X[:, 2] -= 6 * y
    pca = PCA(Downstream(LogisticRegression(), candidates=[1, 2, 3, 4, 8])).fit(X, y)
    assert pca.choice_.evidence["scores"].shape == (5, 5)
    with pytest.raises(DataError, match="y"):
        PCA(Downstream(LogisticRegression())).fit(X)


# --- numerical accuracy ---


@pytest.mark.parametrize("route", ["fit", "partial_fit", "full", "randomized"])
def test_float64_far_from_the_origin(X, route):
    near, far = PCA(3, svd_solver="full").fit(X), X + 1e6
    if route == "partial_fit":
        ours = PCA(3)
        for start in range(0, 60, 7):
            ours.partial_fit(far[start : start + 7])
    else:
        ours = PCA(3, svd_solver={"fit": "covariance_eigh"}.get(route, route), random_state=0).fit(far)
    np.testing.assert_allclose(ours.explained_variance_, near.explained_variance_, rtol=1e-8)
    whole = PCA(3, svd_solver="covariance_eigh").fit(far)
    np.testing.assert_allclose(ours.explained_variance_, whole.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(ours.mean_, whole.mean_, rtol=1e-15)


def test_float32_far_from_the_origin():
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((5000, 20)) * np.linspace(1, 2, 20) + 1e4).astype(np.float32)
    exact = TheirPCA(5, svd_solver="full").fit(X.astype(np.float64))
    ours = PCA(5, svd_solver="covariance_eigh").fit(X)
    np.testing.assert_allclose(ours.explained_variance_, exact.explained_variance_, rtol=2e-6)
    np.testing.assert_allclose(ours.transform(X), exact.transform(X.astype(np.float64)), atol=2e-4)
    np.testing.assert_allclose(ours.transform(X).mean(axis=0), 0, atol=1e-6)


def test_the_full_solver_finds_components_too_small_for_the_covariance():
    """Components 1e-9 times smaller than the first: their squares are below rounding, their own size is not."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    X = rng.standard_normal((100, 4)) * np.array([1.0, 1e-3, 1e-6, 1e-9]) @ Q
    pca = PCA(svd_solver="full").fit(X)
    s = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    np.testing.assert_allclose(pca.singular_values_, s, rtol=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(-1e3, 1e3), st.floats(0.01, 100))
def test_shift_and_scale_laws(seed, shift, factor):
    """Components ignore shifts; variances follow the square of the unit."""
    X = np.random.default_rng(seed).standard_normal((30, 4)) * [4, 3, 2, 1]
    one, other = PCA().fit(X), PCA().fit(X * factor + shift)
    np.testing.assert_allclose(other.explained_variance_, one.explained_variance_ * factor**2, rtol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(one.components_ * other.components_, axis=1)), 1, atol=1e-6)


def test_signs_are_fixed_for_every_route(X):
    reference = PCA(4, svd_solver="full").fit(X).components_
    assert np.all(reference[np.arange(4), np.argmax(np.abs(reference), axis=1)] > 0)
    for solver in SOLVERS:
        np.testing.assert_allclose(PCA(4, svd_solver=solver, random_state=1).fit(X).components_, reference, atol=1e-6)
    np.testing.assert_allclose(IncrementalPCA(4).fit([X[:9], X[9:]]).components_, reference, atol=1e-8)


def test_directions_without_variance_are_determined():
    """Fewer directions than components: all solvers complete the basis in the same way."""
    rng = np.random.default_rng(0)
    X = np.hstack([rng.standard_normal((50, 2)) @ rng.standard_normal((2, 4)), np.full((50, 2), 7.0)])
    results = [PCA(6, svd_solver=solver, random_state=0).fit(X) for solver in SOLVERS if solver != "arpack"]
    for pca in results:
        np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(6), atol=1e-8)
        np.testing.assert_allclose(np.abs(pca.components_), np.abs(results[0].components_), atol=1e-6)
        white = pca.set_params(whiten=True).transform(X)
        assert np.isfinite(white).all()


def test_tied_eigenvalues_give_the_same_subspace():
    X = np.vstack([np.eye(6)[:4] * 3, -np.eye(6)[:4] * 3, np.eye(6)[4:], -np.eye(6)[4:]])
    for solver in SOLVERS:
        U = PCA(4, svd_solver=solver, random_state=0).fit(X).components_
        np.testing.assert_allclose(U.T @ U, np.diag([1, 1, 1, 1, 0, 0]), atol=1e-6)


# --- weights, scaling, streams ---


def test_chunks_of_rows_are_mapped_in_order(X):
    pca = PCA(2).fit(X)
    Z = pca.transform(X)
    found = list(pca.transform_chunks([X[:40], X[40:]]))
    assert [len(part) for part in found] == [40, 20]
    np.testing.assert_allclose(np.concatenate(found), Z, atol=1e-12)
    back = np.concatenate(list(pca.inverse_chunks([Z[:40], Z[40:]])))
    np.testing.assert_allclose(back, pca.inverse_transform(Z), atol=1e-12)


def test_weights_are_repetitions(X):
    w = np.arange(60) % 4
    weighted = PCA(3).fit(X, sample_weight=w)
    repeated = PCA(3).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(weighted.explained_variance_, repeated.explained_variance_)
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-10)
    half = PCA(3).partial_fit(X[:20], sample_weight=w[:20]).partial_fit(X[20:], sample_weight=w[20:])
    np.testing.assert_allclose(half.explained_variance_, repeated.explained_variance_)
    assert half.score(X) == pytest.approx(repeated.score(X))
    for solver in SOLVERS:
        other = PCA(3, svd_solver=solver, random_state=0).fit(X, sample_weight=w)
        np.testing.assert_allclose(other.explained_variance_, repeated.explained_variance_)


def test_fit_transform_accepts_sample_weight(X):
    weights = np.arange(60) % 3
    Z = PCA(2).fit_transform(X, sample_weight=weights)
    np.testing.assert_allclose(Z, PCA(2).fit(X, sample_weight=weights).transform(X))


@pytest.mark.parametrize(
    "weights", [np.full(60, -1.0), np.zeros(60), np.full(60, np.nan), np.ones(59), np.ones((60, 2))]
)
def test_weights_that_make_no_sense(X, weights):
    with pytest.raises(DataError, match="sample_weight"):
        PCA(2).fit(X, sample_weight=weights)


@pytest.mark.parametrize("solver", SOLVERS)
def test_scale_is_pca_of_standardized_columns(X, solver):
    standard = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    ours = PCA(3, scale=True, svd_solver=solver, random_state=0).fit(X)
    theirs = TheirPCA(3, svd_solver="full").fit(standard)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(standard), atol=1e-7)
    if solver == "arpack":  # all components but one
        return
    everything = PCA(scale=True, svd_solver=solver, random_state=0).fit(X)
    np.testing.assert_allclose(everything.inverse_transform(everything.transform(X)), X, atol=1e-8)
    np.testing.assert_allclose(everything.get_covariance(), np.cov(X.T), atol=1e-8)


def test_scale_leaves_a_constant_column_alone(X):
    X[:, 2] = 4.0
    pca = PCA(scale=True).fit(X)
    assert np.isfinite(pca.transform(X)).all()
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)), X, atol=1e-8)


def test_partial_fit_only_merges_and_solves_when_read(X, monkeypatch):
    calls = []
    original = PCA._solve_moments
    monkeypatch.setattr(PCA, "_solve_moments", lambda self, *a: (calls.append(1), original(self, *a))[1])
    pca = PCA(2)
    for start in range(0, 60, 10):
        pca.partial_fit(X[start : start + 10])
    assert not calls
    np.testing.assert_allclose(pca.components_, PCA(2).fit(X).components_, atol=1e-10)
    pca.transform(X)
    assert len(calls) == 1


def test_partial_fit_after_fit(X):
    on = PCA().fit(X[:30]).partial_fit(X[30:])
    np.testing.assert_allclose(on.explained_variance_, PCA().fit(X).explained_variance_)
    with pytest.raises(DataError, match="IncrementalPCA"):
        PCA(2).fit(X[:30]).partial_fit(X[30:])


def test_one_row_is_an_error_when_results_are_read():
    one = PCA(1).partial_fit(np.ones((1, 3)))
    assert not hasattr(one, "components_")
    with pytest.raises(AttributeError, match="one row"):
        _ = one.components_
    with pytest.raises(DataError, match="one row"):
        one.transform(np.ones((1, 3)))


def test_sparse_stays_sparse_on_every_solver():
    X = scipy.sparse.random_array((400, 30), density=0.1, random_state=np.random.default_rng(0), format="csr")
    exact = PCA(3, svd_solver="full").fit(X.toarray())
    for solver in ("auto", "covariance_eigh", "power", "arpack", "randomized"):
        ours = PCA(3, svd_solver=solver, random_state=0).fit(X)
        np.testing.assert_allclose(ours.explained_variance_, exact.explained_variance_, rtol=1e-6)
    with pytest.raises(DataTypeError, match="sparse"):
        PCA(3, svd_solver="full").fit(X)


def test_wide_sparse_is_never_made_dense():
    X = scipy.sparse.random_array((300, 50_000), density=1e-3, random_state=np.random.default_rng(0), format="csr")
    with lowland.config(memory="50MB"):  # the rows alone would take 120 MB
        pca = PCA(2, random_state=0).fit(X)
        scaled = PCA(2, scale=True, random_state=0).fit(X)
    assert "300 x 300" in pca.solver_.reason
    C = X.toarray() - X.mean(axis=0)
    np.testing.assert_allclose(pca.singular_values_, np.linalg.svd(C @ C.T, compute_uv=False)[:2] ** 0.5)
    np.testing.assert_allclose(pca.transform(X), C @ pca.components_.T, atol=1e-8)
    assert scaled.explained_variance_[0] > 0


def test_the_likelihood_with_duplicate_columns_does_not_depend_on_rounding(rng):
    X = rng.standard_normal((60, 4))
    X = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2]])
    scores = [
        PCA().fit(X[:, order]).score(X[:, order]) for order in (np.arange(6), np.arange(6)[::-1], [3, 1, 5, 0, 2, 4])
    ]
    assert np.isfinite(scores).all()
    assert np.ptp(scores) < 2  # of about 50: the rows lie off the plane by rounding only
