"""Independent component analysis."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import FastICA as TheirFastICA
from sklearn.exceptions import ConvergenceWarning

import lowland
from lowland import FastICA, quality
from lowland.errors import DataError, DataWarning, ParameterError

ALGORITHMS = ["parallel", "deflation", "picard"]
FUNS = ["logcosh", "exp", "cube"]


def sources(n=2000, seed=0):
    """Four sources of unit variance, of four shapes."""
    rng = np.random.default_rng(seed)
    S = np.stack([rng.exponential(size=n), rng.laplace(size=n), rng.uniform(size=n), rng.choice([-1, 1.0], n)], axis=1)
    return S / S.std(axis=0)


def mixing(seed=1, d=4):
    return np.random.default_rng(seed).standard_normal((d, 4))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("fun", FUNS)
def test_known_sources_are_recovered(algorithm, fun):
    S, A = sources(), mixing()
    ica = FastICA(algorithm=algorithm, fun=fun, random_state=0).fit(S @ A.T + 7)
    assert ica.converged_
    assert quality.amari_distance(ica.components_, A).value < 0.06
    Z = ica.transform(S @ A.T + 7)
    np.testing.assert_allclose(np.cov(Z.T, bias=True), np.eye(4), atol=1e-10)
    np.testing.assert_allclose(ica.inverse_transform(Z), S @ A.T + 7, atol=1e-10)
    assert np.all(np.abs(np.corrcoef(Z.T, S.T)[:4, 4:]).max(axis=1) > 0.98)


@pytest.mark.parametrize("whiten", ["unit-variance", "arbitrary-variance"])
@pytest.mark.parametrize("fun", FUNS)
def test_agrees_with_scikit_learn(whiten, fun):
    X = sources() @ mixing().T
    given = {"whiten": whiten, "fun": fun, "tol": 1e-12, "max_iter": 1000, "random_state": 0}
    ours, theirs = FastICA(**given).fit(X), TheirFastICA(**given).fit(X)
    overlap = ours.components_ @ theirs.mixing_
    order, signs = np.argmax(np.abs(overlap), axis=1), np.sign(overlap[range(4), np.argmax(np.abs(overlap), axis=1)])
    np.testing.assert_allclose(ours.components_, signs[:, None] * theirs.components_[order], rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ours.mixing_, theirs.mixing_[:, order] * signs, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(np.abs(ours.whitening_), np.abs(theirs.whitening_), rtol=1e-8)
    np.testing.assert_allclose(ours.mean_, theirs.mean_, atol=1e-12)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X)[:, order] * signs, rtol=1e-4, atol=1e-5)


def test_without_whitening_the_rows_are_taken_as_white():
    X = sources() @ mixing().T
    Z = lowland.Whitening().fit_transform(X) * np.sqrt(2000 / 1999)
    ica = FastICA(whiten=False, random_state=0, tol=1e-12).fit(Z)
    assert not hasattr(ica, "mean_")
    assert not hasattr(ica, "whitening_")
    np.testing.assert_allclose(ica.components_ @ ica.components_.T, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(ica.transform(Z), Z @ ica.components_.T, atol=1e-12)
    whole = FastICA(random_state=0, tol=1e-12).fit_transform(X)
    np.testing.assert_allclose(np.abs(ica.transform(Z)), np.abs(whole), atol=1e-5)
    np.testing.assert_allclose(ica.negentropy_, FastICA(random_state=0, tol=1e-12).fit(X).negentropy_, atol=1e-6)
    with pytest.warns(UserWarning, match="Ignoring n_components"):
        FastICA(2, whiten=False, random_state=0).fit(Z)


def test_components_are_sorted_by_negentropy_and_signed_by_the_largest_loading():
    ica = FastICA(random_state=0).fit(sources() @ mixing().T)
    assert np.all(np.diff(ica.negentropy_) <= 0)
    assert np.all(np.abs(ica.mixing_).max(axis=0) == ica.mixing_.max(axis=0))
    S = sources()
    own = np.abs(np.corrcoef(ica.transform(S @ mixing().T).T, S.T)[:4, 4:]).argmax(axis=1)
    assert own[0] == 3  # the source of two values is the farthest from normal
    assert own[3] == 2  # the uniform one the nearest
    assert np.all(ica.mutual_information_ < 0.01)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000))
def test_sources_do_not_depend_on_how_they_were_mixed(seed):
    """Equivariance: another invertible mixing of the same sources gives the same sources."""
    S = sources(1000)
    A = np.linalg.qr(mixing(seed))[0] @ np.diag([1, 2, 3, 4.0])
    given = {"tol": 1e-13, "max_iter": 1000, "random_state": 0}
    one, other = (FastICA(**given).fit_transform(S @ M.T) for M in (np.eye(4), A))
    np.testing.assert_allclose(np.abs(other), np.abs(one), atol=1e-4)


def test_fewer_components_than_columns():
    X = sources() @ mixing(d=7).T  # seven columns, four directions
    ica = FastICA(4, random_state=0).fit(X)
    assert ica.components_.shape == (4, 7)
    assert quality.amari_distance(ica.components_, mixing(d=7)).value < 0.05
    np.testing.assert_allclose(ica.inverse_transform(ica.transform(X)), X, atol=1e-9)
    np.testing.assert_allclose(ica.components_ @ ica.mixing_, np.eye(4), atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("solver", ["svd", "eigh"])
def test_constant_and_collinear_columns_are_omitted_and_reported(dtype, solver):
    X = sources() @ mixing().T
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.full(len(X), 3.0)]).astype(dtype)  # rank 4 of 6
    with pytest.warns(DataWarning, match="4 sources in 6 columns.*rank 4.*n_components=4"):
        ica = FastICA(random_state=0, whiten_solver=solver).fit(X)
    assert ica.transform(X).shape == (2000, 4)
    assert np.isfinite(ica.components_).all()
    np.testing.assert_allclose(ica.inverse_transform(ica.transform(X)), X, atol=1e-3 if dtype == np.float32 else 1e-8)
    with pytest.warns(UserWarning, match="n_components=5.*set to 4.*rank 4"):
        assert FastICA(5, random_state=0, whiten_solver=solver).fit_transform(X).shape == (2000, 4)


def test_few_rows_are_reported():
    X = np.random.default_rng(0).laplace(size=(6, 9))
    with pytest.warns(DataWarning, match="5 sources in 9 columns.*6 rows span at most 5 dimensions"):
        FastICA(random_state=0).fit(X)
    with pytest.warns(UserWarning, match=r"set to 5.*6 rows span at most 5 dimensions"):
        FastICA(6, random_state=0).fit(X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_units_of_columns_do_not_matter(dtype):
    """After squaring, the smaller columns would be lost in the rounding errors of the larger."""
    X = (sources() @ mixing().T).astype(dtype)
    units = np.array([1e9, 1, 1e-3, 1e3], dtype=dtype)
    plain, scaled = (FastICA(random_state=0, tol=1e-9).fit(rows) for rows in (X, X * units))
    np.testing.assert_allclose(
        np.abs(scaled.transform(X * units)), np.abs(plain.transform(X)), atol=1e-4 if dtype == np.float64 else 1e-2
    )
    np.testing.assert_allclose(np.abs(scaled.mixing_ / units[:, None]), np.abs(plain.mixing_), atol=1e-2)
    np.testing.assert_allclose(scaled.inverse_transform(scaled.transform(X * units)) / units, X, atol=1e-3)
    with pytest.warns(DataWarning, match="much smaller units"):
        faint = FastICA(random_state=0, whiten_solver="eigh").fit(X * units)
    assert len(faint.components_) < 4


def test_columns_without_variance_have_no_sources():
    with pytest.raises(DataError, match="constant"):
        FastICA().fit(np.ones((10, 3)))


@pytest.mark.parametrize(("n", "k"), [(200, 3), (1000, 10), (20_000, 4)])
@pytest.mark.parametrize("algorithm", ["parallel", "picard"])
def test_gaussian_sources_are_reported(n, k, algorithm):
    X = np.random.default_rng(n + k).standard_normal((n, k))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        with pytest.warns(DataWarning, match="cannot be separated"):
            ica = FastICA(algorithm=algorithm, random_state=0).fit(X)
    assert ica.n_gaussian_ >= k - 1


def test_two_gaussian_sources_are_counted_and_one_is_allowed():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6))
    two = np.column_stack([sources(5000), rng.standard_normal((5000, 2))])
    with pytest.warns(DataWarning, match="2 of 6 components"):
        FastICA(random_state=0).fit(two @ A.T)
    one = FastICA(random_state=0).fit(two[:, :5] @ A[:5, :5].T)  # warnings are errors
    assert one.n_gaussian_ == 1


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")
def test_hard_data_on_which_only_quasi_newton_converges():
    """Twenty almost Gaussian sources: the plain iteration oscillates, shortened steps do not quite converge."""
    X = np.random.default_rng(0).standard_t(20, (600, 20))
    with pytest.warns(ConvergenceWarning):
        TheirFastICA(random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match='algorithm="picard"'):
        hard = FastICA(random_state=0, tol=1e-10).fit(X)
    assert not hard.converged_
    assert hard.n_iter_ == len(hard.trace_) == 200
    settled = FastICA(random_state=0, algorithm="picard", tol=1e-7).fit(X)
    assert settled.converged_
    assert settled.n_iter_ < 200
    assert settled.trace_[-1] < 1e-7
    assert "gradient" in settled.stopped_because_


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_user_defined_contrast_functions(algorithm):
    def cube(x, times=1.0):
        return times * x**3, (3 * times * x**2).mean(axis=-1)

    X = sources() @ mixing().T
    given = {"algorithm": algorithm, "random_state": 0, "tol": 1e-10, "max_iter": 500}
    ours, own = FastICA(fun="cube", **given).fit(X), FastICA(fun=cube, fun_args={"times": 1.0}, **given).fit(X)
    np.testing.assert_allclose(own.components_, ours.components_, atol=1e-6)


def test_alpha_matters_and_is_checked():
    X = sources() @ mixing().T
    sharp = FastICA(fun_args={"alpha": 1.8}, random_state=0, tol=1e-10).fit(X)
    theirs = TheirFastICA(fun_args={"alpha": 1.8}, random_state=0, tol=1e-12, max_iter=1000).fit(X)
    assert quality.amari_distance(sharp.components_, theirs.mixing_).value < 1e-4
    assert quality.amari_distance(sharp.components_, FastICA(random_state=0).fit(X).mixing_).value > 1e-4
    with pytest.raises(ParameterError, match=r"alpha must be in \[1,2\]"):
        FastICA(fun_args={"alpha": 3}).fit(X)


def test_the_initial_matrix_is_used_and_checked():
    X = sources() @ mixing().T
    ica = FastICA(w_init=np.eye(4), tol=1e-10).fit(X)
    again = FastICA(w_init=np.eye(4).tolist(), tol=1e-10).fit(X)
    assert np.array_equal(ica.components_, again.components_)
    for wrong in (np.eye(3), np.zeros((4, 4)), np.full((4, 4), np.nan), "W"):
        with pytest.raises(ParameterError, match="w_init"):
            FastICA(w_init=wrong).fit(X)


def test_a_failing_contrast_is_reported():
    with pytest.raises(DataError, match="not finite"):
        FastICA(fun=lambda x: (x * np.nan, np.zeros(x.shape[:-1]))).fit(sources())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_streams_and_dask_and_torch_agree(algorithm, tmp_path):
    da, torch = pytest.importorskip("dask.array"), pytest.importorskip("torch")
    X = sources(3000) @ mixing().T
    np.save(tmp_path / "x.npy", X)
    given = {"algorithm": algorithm, "random_state": 0}
    Z = FastICA(**given).fit_transform(X)
    with lowland.config(memory="250kB"):  # the white rows do not fit in memory: they are whitened in every pass
        streamed = FastICA(**given).fit([X[:700], X[700:1500], X[1500:]])
    np.testing.assert_allclose(streamed.transform(X), Z, atol=1e-8)
    np.testing.assert_allclose(FastICA(**given).fit(tmp_path / "x.npy").transform(X), Z, atol=1e-8)
    np.testing.assert_allclose(FastICA(**given).fit(da.from_array(X, chunks=(800, 4))).transform(X), Z, atol=1e-8)
    np.testing.assert_allclose(FastICA(**given).fit(torch.asarray(X)).transform(X), Z, atol=1e-8)
