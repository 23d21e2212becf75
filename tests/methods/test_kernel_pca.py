"""Kernel PCA: against scikit-learn, against PCA, against itself by other routes; landmarks, pre-images, bad input."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import KernelPCA as Theirs
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import lowland
from lowland import PCA, KernelPCA
from lowland.arrays.namespace import to_numpy
from lowland.data import load_dataset
from lowland.errors import DataError, DataWarning, ParameterError


def table(n=120, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * np.geomspace(3, 0.5, d) + 2


def product(a, b, power=1):
    return float(a @ b) ** power


KERNELS = {
    "linear": {},
    "rbf": {"gamma": 0.1},
    "poly": {"degree": 2, "coef0": 0.5},
    "cosine": {},
    "sigmoid": {"gamma": 1e-4},
    "function": {"kernel_params": {"power": 2}},
    "precomputed": {},
}


def product_nearby(a, b):
    """A kernel that is undefined far from the training rows."""
    return product(a, b) if np.abs(a - b).max() < 500 else np.nan


def options(name):
    return {"kernel": product if name == "function" else name, **KERNELS[name]}


# --- against scikit-learn ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # the sigmoid kernel is indefinite
@pytest.mark.parametrize("name", KERNELS)
def test_results_agree_with_scikit_learn(name):
    X, new = table(), table(30, seed=1)
    if name == "precomputed":
        X, new = (np.exp(-0.1 * np.sum((A[:, None] - X[None]) ** 2, axis=2)) for A in (X, new))
    theirs, ours = Theirs(4, **options(name)).fit(X), KernelPCA(4, **options(name)).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(ours.eigenvectors_, theirs.eigenvectors_, atol=1e-8)
    size = np.abs(theirs.transform(X)).max()
    np.testing.assert_allclose(ours.transform(new), theirs.transform(new), atol=1e-8 * size)
    np.testing.assert_allclose(ours.fit_transform(X), theirs.fit_transform(X), atol=1e-8 * size)
    assert ours.gamma_ == theirs.gamma_


@pytest.mark.parametrize("solver", ["auto", "dense", "arpack", "randomized"])
def test_every_solver_finds_the_same(solver):
    X = table(1400)  # large enough for an iteration
    exact = Theirs(4, kernel="rbf", eigen_solver="dense").fit(X)
    ours = KernelPCA(4, kernel="rbf", eigen_solver=solver, random_state=0).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, exact.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(ours.eigenvectors_, exact.eigenvectors_, atol=1e-6)
    assert (ours.n_iter_ > 0) == (solver != "dense")


def test_a_fixed_number_of_power_steps():
    X = table(600)
    options = {"kernel": "rbf", "random_state": 0}
    exact = KernelPCA(4, **options).fit(X).eigenvalues_
    none, five = (
        np.abs(KernelPCA(4, eigen_solver="randomized", iterated_power=steps, **options).fit(X).eigenvalues_ / exact - 1)
        for steps in (0, 5)
    )
    assert five.max() < 1e-3 < none.max()


def test_three_circles_separate_on_one_component():
    rings = load_dataset("concentric_circles")
    Z = KernelPCA(3, kernel="rbf", gamma="median").fit_transform(rings.X)
    ends = [(Z[rings.y == ring, 2].min(), Z[rings.y == ring, 2].max()) for ring in range(3)]
    assert ends[0][1] < ends[1][0]
    assert ends[1][1] < ends[2][0]


def test_all_components():
    X = table(40)
    theirs, ours = Theirs(kernel="rbf").fit(X), KernelPCA(kernel="rbf").fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-6)
    assert len(ours.eigenvalues_) == 39  # centering takes one


# --- against PCA and itself -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(80, 6), (12, 30)])
def test_the_linear_kernel_is_pca(shape):
    X = np.random.default_rng(0).standard_normal(shape) * np.linspace(3, 1, shape[1]) + 50
    kpca, pca = KernelPCA(4).fit(X), PCA(4).fit(X)
    Z = pca.transform(X)
    signs = np.sign(np.sum(Z * kpca.transform(X), axis=0))
    np.testing.assert_allclose(kpca.transform(X), Z * signs, atol=1e-10 * np.abs(Z).max())
    np.testing.assert_allclose(kpca.eigenvalues_, pca.explained_variance_ * (shape[0] - 1), rtol=1e-10)
    as_matrix = KernelPCA(4, kernel="precomputed").fit(X @ X.T)
    np.testing.assert_allclose(as_matrix.eigenvalues_, kpca.eigenvalues_, rtol=1e-8)


@pytest.mark.parametrize("name", ["linear", "rbf", "poly", "cosine"])
def test_fitted_rows_keep_their_coordinates(name):
    X = table()
    kpca = KernelPCA(3, **options(name))
    Z = kpca.fit_transform(X)
    np.testing.assert_allclose(kpca.transform(X), Z, atol=1e-10 * np.abs(Z).max())
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-10)  # centered in feature space
    np.testing.assert_allclose(Z.T @ Z, np.diag(kpca.eigenvalues_), atol=1e-9 * kpca.eigenvalues_[0])


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 99), move=st.floats(-100, 100))
def test_rbf_coordinates_are_invariant_to_shift_and_rotation(seed, move):
    X = table(40, 3, seed)
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]
    values = [KernelPCA(3, kernel="rbf", gamma=0.2).fit(A).eigenvalues_ for A in (X, X @ Q + move)]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-8)


def test_a_matrix_beyond_the_budget_is_made_in_slabs(monkeypatch):
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 10**6)
    X = table(1500)
    held = KernelPCA(3, kernel="rbf").fit(X)
    with lowland.config(memory="8MB"):
        made = KernelPCA(3, kernel="rbf").fit(X)
    assert "kept in memory" in held.solver_.reason
    assert "computed again" in made.solver_.reason
    np.testing.assert_allclose(made.eigenvalues_, held.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(made.transform(X), held.transform(X), atol=1e-8)


@pytest.mark.parametrize("landmarks", [None, 50])
def test_same_bits_on_any_number_of_threads(landmarks, monkeypatch):
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 10**6)
    X, results = table(1300), []
    for threads in (1, 2, 3):
        with lowland.config(threads=threads):
            results.append(KernelPCA(2, kernel="rbf", n_landmarks=landmarks, random_state=0).fit(X).transform(X))
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_a_flat_spectrum_is_solved_by_lapack():
    X = np.random.default_rng(0).standard_normal((1300, 30))
    kpca = KernelPCA(3, kernel="rbf", gamma=0.1, max_iter=4).fit(X)  # rows far from each other
    assert "flat" in kpca.solver_.reason
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        KernelPCA(3, kernel="rbf", gamma=0.1, max_iter=4, eigen_solver="randomized").fit(X)


def test_gamma_by_the_median_rule():
    X = table(60)
    gaps = np.sum((X[:, None] - X[None]) ** 2, axis=2)[np.triu_indices(60, 1)]
    assert KernelPCA(2, kernel="rbf", gamma="median").fit(X).gamma_ == pytest.approx(1 / np.median(gaps))


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # the sigmoid kernel is indefinite
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_stay_in_the_array_library(name, library):
    xp, X = pytest.importorskip(library), table()
    X = X @ X.T if name == "precomputed" else X
    ways = {"fit_inverse_transform": name != "precomputed", **options(name)}
    ours, there = KernelPCA(3, **ways).fit(X), KernelPCA(3, **ways).fit(xp.asarray(X))
    Z = there.transform(xp.asarray(X))
    assert type(Z) is type(xp.asarray(X)) is type(there.eigenvectors_)
    size = np.abs(ours.transform(X)).max()
    np.testing.assert_allclose(to_numpy(Z), ours.transform(X), atol=1e-8 * size)
    if name != "precomputed":
        back = there.inverse_transform(Z)
        assert type(back) is type(Z)
        np.testing.assert_allclose(to_numpy(back), ours.inverse_transform(ours.transform(X)), atol=1e-5)


def test_iterations_and_fixed_points_stay_in_the_array_library():
    xp, X = pytest.importorskip("torch"), table(1300, 2)
    asked = {"kernel": "rbf", "gamma": 0.1, "fit_inverse_transform": True, "preimage": "fixed-point"}
    ours, there = KernelPCA(3, **asked).fit(X), KernelPCA(3, **asked).fit(xp.asarray(X))
    assert there.solver_.name == "krylov"
    np.testing.assert_allclose(to_numpy(there.eigenvalues_), ours.eigenvalues_, rtol=1e-10)
    Z = ours.transform(X[:20])
    back = to_numpy(there.inverse_transform(xp.asarray(Z)))
    np.testing.assert_allclose(back, ours.inverse_transform(Z), atol=1e-5)


# --- copies of the caller's rows --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["numpy", "torch", "sparse"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_later_changes_of_the_rows_do_not_affect_the_model(kernel, kind):
    new = table(10, seed=1)
    X = scipy.sparse.csr_array(table()) if kind == "sparse" else pytest.importorskip(kind).asarray(table())
    kpca = KernelPCA(2, kernel=kernel).fit(X)
    before, kept = kpca.transform(new), kpca.X_fit_.sum()
    (X.data if kind == "sparse" else X)[:] = 7.0
    np.testing.assert_array_equal(kpca.transform(new), before)
    assert kpca.X_fit_.sum() == kept


def test_rows_are_not_copied_without_need():
    X = table()
    assert KernelPCA(2, kernel="rbf", copy_X=False).fit(X).X_fit_ is X
    assert not np.shares_memory(KernelPCA(2, kernel="rbf").fit(X).X_fit_, X)


# --- sparse rows ------------------------------------------------------------------------------------------------------


def holes(n=150, d=12):
    """Rows with many zeros, two of them equal and two all zero."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n, d)) < 0.3, table(n, d), 0.0)
    X[7], X[[11, 12]] = X[9], 0.0
    return X


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # the sigmoid kernel is indefinite
@pytest.mark.parametrize("landmarks", [None, 60])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "poly", "sigmoid", "cosine"])
def test_sparse_and_dense_rows_agree(kernel, landmarks, tmp_path):
    X = holes()
    S = scipy.sparse.csr_array(X)
    dense, sparse = (
        KernelPCA(3, kernel=kernel, gamma=0.02, n_landmarks=landmarks, random_state=0).fit(A) for A in (X, S)
    )
    Z = dense.transform(X)
    signs = np.sign(np.sum(Z * sparse.transform(S), axis=0))
    lowland.save(sparse, tmp_path / "m")
    for model in (sparse, lowland.load(tmp_path / "m")):
        assert scipy.sparse.issparse(model.X_fit_ if landmarks is None else model.landmarks_)
        for A in (S, X):  # either kind is placed, whatever was fitted
            np.testing.assert_allclose(model.transform(A) * signs, Z, atol=1e-9 * np.abs(Z).max())
    np.testing.assert_allclose(dense.transform(S), Z, atol=1e-9 * np.abs(Z).max())
    np.testing.assert_allclose(sparse.fit_transform(S) * signs, Z, atol=1e-9 * np.abs(Z).max())


@pytest.mark.parametrize("landmarks", [None, 30])
def test_sparse_blocks_of_dask(landmarks):
    da = pytest.importorskip("dask.array")
    X = holes()
    lazy = da.from_array(X, chunks=(50, 12)).map_blocks(scipy.sparse.csr_array, meta=scipy.sparse.csr_array((0, 0)))
    ours, there = (KernelPCA(2, kernel="rbf", n_landmarks=landmarks, random_state=0).fit(A) for A in (X, lazy))
    np.testing.assert_allclose(np.abs(there.transform(lazy).compute()), np.abs(ours.transform(X)), atol=1e-9)


def test_sparse_rows_in_a_file_are_checked(tmp_path):
    """An index beyond the columns would read outside the array."""
    kpca = KernelPCA(2, kernel="rbf").fit(scipy.sparse.csr_array(holes()))
    kpca.X_fit_.indices[0] = 10**6
    lowland.save(kpca, tmp_path / "m")
    with pytest.raises(lowland.errors.ModelFileError, match="damaged"):
        lowland.load(tmp_path / "m")


def test_unsupported_combinations_with_sparse_rows():
    S = scipy.sparse.csr_array(holes())
    for words, choices in {
        "kernel='precomputed'.*toarray": {"kernel": "precomputed"},
        "fit_inverse_transform.*toarray": {"fit_inverse_transform": True},
        "function takes dense rows": {"kernel": product},
    }.items():
        with pytest.raises(DataError, match=words):
            KernelPCA(2, **choices).fit(S)


# --- landmarks --------------------------------------------------------------------------------------------------------


def test_as_many_landmarks_as_rows_is_exact():
    X = table()
    exact = KernelPCA(3, kernel="rbf").fit(X)
    with pytest.warns(DataWarning, match="n_landmarks.*all rows are used"):
        all_rows = KernelPCA(3, kernel="rbf", n_landmarks=500, random_state=0).fit(X)
    np.testing.assert_array_equal(all_rows.transform(X), exact.transform(X))


@pytest.mark.parametrize("name", ["linear", "poly"])
def test_landmarks_are_exact_where_they_span_the_features(name):
    """Features of few dimensions: 30 rows span them, and Nystrom's kernel is the kernel."""
    X, new = table(), table(20, seed=1)
    exact, few = (KernelPCA(3, n_landmarks=m, **options(name), random_state=0).fit(X) for m in (None, 30))
    np.testing.assert_allclose(few.eigenvalues_, exact.eigenvalues_, rtol=1e-7)
    Z = exact.transform(new)
    signs = np.sign(np.sum(Z * few.transform(new), axis=0))
    np.testing.assert_allclose(few.transform(new) * signs, Z, atol=1e-6 * np.abs(Z).max())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_linear_landmarks_far_from_the_origin_are_pca(dtype):
    """Mean over standard deviation is 10⁶: uncentered products would lose the digits in which rows differ."""
    X = (table(500) + 1e6).astype(dtype)
    pca, few = PCA(3).fit(X), KernelPCA(3, n_landmarks=30, random_state=0).fit(X)
    rounding = 1e-9 if dtype == np.float64 else 1e-4
    np.testing.assert_allclose(few.eigenvalues_, pca.explained_variance_ * 499, rtol=rounding)
    Z = pca.transform(X)
    signs = np.sign(np.sum(Z * few.transform(X), axis=0))
    np.testing.assert_allclose(few.transform(X) * signs, Z, atol=rounding * np.abs(Z).max())


@pytest.mark.parametrize("name", ["poly", "cosine"])
def test_landmarks_far_from_the_origin_lose_no_more_than_all_rows_do(name):
    X = table(300) + 1e5
    exact, few = (KernelPCA(3, n_landmarks=m, **options(name), random_state=0).fit(X) for m in (None, 100))
    np.testing.assert_allclose(few.eigenvalues_, exact.eigenvalues_, rtol=1e-5)


def test_identical_landmarks():
    X = np.zeros((40, 2))
    X[0] = 1.0
    with pytest.raises(DataError, match=r"5 landmarks are identical.*Use more landmarks"):
        KernelPCA(1, kernel="rbf", n_landmarks=5, random_state=1).fit(X)


def test_more_landmarks_approximate_better():
    X = load_dataset("digits").X[:400]
    exact = KernelPCA(5, kernel="rbf", gamma="median").fit(X)
    errors = []
    for m in (25, 100, 350):
        few = KernelPCA(5, kernel="rbf", gamma=exact.gamma_, n_landmarks=m, random_state=0).fit(X)
        assert few.landmarks_.shape == (m, 64)
        assert np.all(few.eigenvalues_ <= exact.eigenvalues_ * (1 + 1e-10))  # Nystrom's kernel lies below the kernel
        errors.append(np.abs(few.eigenvalues_ / exact.eigenvalues_ - 1).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01


def test_landmarks_stream(tmp_path, monkeypatch):
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 5000)
    X = table(700)
    np.save(tmp_path / "x.npy", X)
    kpca = KernelPCA(3, kernel="rbf", n_landmarks=60, random_state=0)
    Z = kpca.fit_transform(X)
    np.testing.assert_allclose(Z.T @ Z, np.diag(kpca.eigenvalues_), atol=1e-9 * kpca.eigenvalues_[0])
    da, torch = pytest.importorskip("dask.array"), pytest.importorskip("torch")
    lazy, tensor = da.from_array(X, chunks=(170, 5)), torch.asarray(X)
    for source in (tmp_path / "x.npy", [X[:100], X[100:650], X[650:]], lazy, tensor):
        again = KernelPCA(3, kernel="rbf", n_landmarks=60, random_state=0).fit(source)
        assert again.n_samples_ == 700
        np.testing.assert_allclose(again.transform(X), Z, atol=1e-9)
    assert isinstance(again.transform(lazy), da.Array)
    assert isinstance(again.transform(tensor), torch.Tensor)
    assert not hasattr(kpca, "X_fit_")
    assert not hasattr(kpca, "eigenvectors_")


# --- inverse transform ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["linear", "rbf", "poly"])
def test_the_ridge_inverse_agrees_with_scikit_learn(name):
    X = table()
    asked = {"fit_inverse_transform": True, "alpha": 0.1, **options(name)}
    theirs, ours = Theirs(3, **asked).fit(X), KernelPCA(3, **asked).fit(X)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-7 * np.abs(theirs.dual_coef_).max())
    back = theirs.inverse_transform(theirs.transform(X))
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), back, atol=1e-7 * np.abs(back).max())
    parts = np.concatenate(list(ours.inverse_chunks(ours.transform(X))))
    np.testing.assert_allclose(parts, back, atol=1e-7 * np.abs(back).max())


@pytest.mark.parametrize("landmarks", [None, 100])
def test_the_fixed_point_inverts_the_map(landmarks):
    """With all components kept, the features of a row determine it."""
    X = table(150, 3)
    kpca = KernelPCA(
        40,
        kernel="rbf",
        gamma=0.05,
        n_landmarks=landmarks,
        fit_inverse_transform=True,
        preimage="fixed-point",
        random_state=0,
    ).fit(X)
    new = table(20, 3, seed=5) * 0.5 + 1
    back = kpca.inverse_transform(kpca.transform(new))
    np.testing.assert_allclose(back, new, atol=0.02)


def test_both_inverse_transforms_denoise():
    """Mika et al. 1998: the pre-image of few components lies nearer to the curve than the noisy row."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 2 * np.pi, 300)
    clean = 3 * np.stack([np.cos(t), np.sin(t)], axis=1)
    noisy = clean + 0.2 * rng.standard_normal(clean.shape)
    for way, alpha in (("ridge", 1e-3), ("fixed-point", 1.0)):
        kpca = KernelPCA(6, kernel="rbf", gamma=0.1, fit_inverse_transform=True, alpha=alpha, preimage=way)
        back = kpca.fit(noisy).inverse_transform(kpca.transform(noisy))
        off = [np.abs(np.linalg.norm(A, axis=1) - 3).mean() for A in (noisy, back)]
        assert off[1] < 0.7 * off[0], way


def test_without_fit_inverse_transform_there_is_no_inverse():
    kpca = KernelPCA(2).fit(table())
    assert not hasattr(kpca, "inverse_transform")
    with pytest.raises(NotFittedError, match="fit_inverse_transform=True"):
        kpca.inverse_transform(kpca.transform(table()))
    with pytest.raises(NotFittedError, match="fit_inverse_transform=True"):
        kpca.set_params(fit_inverse_transform=True).inverse_transform(np.zeros((2, 2)))
    with pytest.raises(DataError, match="3 columns"):
        KernelPCA(2, fit_inverse_transform=True).fit(table()).inverse_transform(np.zeros((2, 3)))


def test_models_with_either_inverse_are_saved(tmp_path):
    X = table()
    for way in ("ridge", "fixed-point"):
        kpca = KernelPCA(3, kernel="rbf", fit_inverse_transform=True, preimage=way, n_landmarks=50, random_state=0)
        kpca.fit(X)
        lowland.save(kpca, tmp_path / "m.lowland")
        loaded = lowland.load(tmp_path / "m.lowland")
        Z = kpca.transform(X)
        np.testing.assert_array_equal(loaded.transform(X), Z)
        np.testing.assert_array_equal(loaded.inverse_transform(Z), kpca.inverse_transform(Z))


# --- bad input --------------------------------------------------------------------------------------------------------


def test_components_beyond_the_positive_eigenvalues_are_zero():
    X = table(50, 2)
    quadratic = {"kernel": "poly", "degree": 2, "coef0": 1.0}  # five features: x, y, x², xy, y²
    for options, k in (({}, 5), ({"n_landmarks": 20}, 5)):
        with pytest.warns(DataWarning, match=r"n_components=7.*5 positive eigenvalues.*Choose at most 5"):
            model = KernelPCA(7, **quadratic, **options).fit(X)
        exact = KernelPCA(5, **quadratic, **options).fit(X)
        np.testing.assert_allclose(model.transform(X)[:, :k], exact.transform(X), atol=1e-9)
        assert (model.transform(X)[:, k:] == 0).all()
        assert (model.eigenvalues_[k:] == 0).all()
    with pytest.warns(DataWarning, match=r"49 positive eigenvalues"):
        assert KernelPCA(80, kernel="rbf").fit_transform(X).shape == (50, 50)
    assert KernelPCA(6, remove_zero_eig=True, **quadratic).fit_transform(X).shape == (50, 5)
    assert KernelPCA(**quadratic).fit_transform(X).shape == (50, 5)


def test_identical_rows():
    X = np.full((20, 3), 1.7)
    for kernel in ("linear", "rbf", "poly", "cosine"):
        with pytest.warns(DataWarning, match="identical in the feature space"):
            assert (KernelPCA(1, kernel=kernel).fit_transform(X) == np.zeros((20, 1))).all()
        with pytest.warns(DataWarning, match="identical in the feature space"):
            model = KernelPCA(2, kernel=kernel, remove_zero_eig=True).fit(X)
        assert model.transform(X).shape == (20, 0)


@pytest.mark.parametrize("n", [60, 1100])
def test_an_indefinite_kernel_matrix(n):
    X = table(n, 2)
    squared = np.sum((X[:, None] - X[None]) ** 2, axis=2)
    K = np.exp(-0.1 * squared) - 0.5 * np.exp(-0.5 * squared)
    with pytest.warns(DataWarning, match=r"indefinite.*times the largest"):
        Z = KernelPCA(2, kernel="precomputed").fit_transform(K)
    np.testing.assert_allclose(
        np.abs(Z), np.abs(Theirs(2, kernel="precomputed", eigen_solver="dense").fit_transform(K)), atol=1e-6
    )
    with pytest.warns(DataWarning, match=r"indefinite.*none is positive"), pytest.warns(DataWarning, match="identical"):
        Z = KernelPCA(2, kernel="precomputed").fit_transform(squared)  # distances, not a kernel
    assert (Z == 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelPCA(2, kernel="precomputed").fit(-squared)  # centered, it is twice the inner products


def test_a_negative_eigenvalue_that_is_kept_is_an_error():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    K = Q @ np.diag([5.0, 4.0, 3.0, *[0.0] * 7, -1.0, -2.0]) @ Q.T
    for k in (12, None):
        for make in (KernelPCA, Theirs):
            with pytest.raises(ValueError, match="significant negative eigenvalues"):
                make(k, kernel="precomputed").fit(K)
    with pytest.warns(DataWarning, match="indefinite"):
        kept = KernelPCA(12, kernel="precomputed", remove_zero_eig=True).fit(K)
    assert (kept.eigenvalues_ > 0).all()


@pytest.mark.parametrize("n", [60, 1100])
def test_an_asymmetry_of_rounding_errors_is_none(n):
    X = table(n, 3)
    K = np.exp(-0.2 * np.sum((X[:, None] - X[None]) ** 2, axis=2))
    noisy = K + 1e-9 * np.random.default_rng(0).uniform(-1, 1, K.shape)
    Z = KernelPCA(2, kernel="precomputed").fit_transform(noisy)
    np.testing.assert_allclose(Z, KernelPCA(2, kernel="precomputed").fit_transform(K), atol=1e-6)


def test_invalid_kernel_matrices_are_refused():
    with pytest.raises(DataError, match="square"):
        KernelPCA(2, kernel="precomputed").fit(table())
    with pytest.raises(DataError, match="not symmetric"):
        KernelPCA(2, kernel="precomputed").fit(table(5, 5))
    with pytest.raises(DataError, match="NaN"):
        KernelPCA(2, kernel="precomputed").fit(np.full((5, 5), np.nan))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
@pytest.mark.parametrize("landmarks", [None, 30])
def test_infinite_values_are_detected_behind_the_kernel(kernel, landmarks):
    X = table()
    good = KernelPCA(2, kernel=kernel, n_landmarks=landmarks, random_state=0).fit(X)
    X[7, 2] = -np.inf  # exp(-∞) is zero
    with pytest.raises(DataError, match=r"infinity \(1 value\) in column 2"):
        KernelPCA(2, kernel=kernel, n_landmarks=landmarks, random_state=0).fit(X)
    with pytest.raises(DataError, match=r"infinity \(1 value\) in column 2"):
        good.transform(X)


@pytest.mark.parametrize("landmarks", [None, 100])
def test_a_kernel_matrix_close_to_the_identity_warns(landmarks):
    """Nearly equal eigenvalues: LAPACK's driver for some of them may return none."""
    X = table(200)
    with pytest.warns(DataWarning, match=r"nearly the identity.*Lower gamma"):
        kpca = KernelPCA(2, kernel="rbf", gamma=1e6, n_landmarks=landmarks, random_state=0).fit(X)
    np.testing.assert_allclose(kpca.eigenvalues_, 1.0, rtol=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelPCA(2, kernel="rbf", gamma="median").fit(X)


@pytest.mark.parametrize("landmarks", [None, 30])
def test_undefined_kernel_values_are_explained(landmarks):
    X = table() - 2
    with pytest.raises(DataError, match=r"the degree 2.5 .* is negative.*integer degree"):
        KernelPCA(2, kernel="poly", degree=2.5, gamma=1.0, n_landmarks=landmarks, random_state=0).fit(X)
    with pytest.raises(DataError, match="returned NaN for a pair"):
        KernelPCA(2, kernel=lambda a, b: np.nan, n_landmarks=landmarks, random_state=0).fit(X)
    with pytest.raises(DataError, match="returned None for two rows"):
        KernelPCA(2, kernel=lambda a, b: None, n_landmarks=landmarks, random_state=0).fit(X)
    with pytest.raises(DataError, match="'poly' overflow"):
        KernelPCA(2, kernel="poly", n_landmarks=landmarks, random_state=0).fit(X * 1e110)
    small = KernelPCA(2, kernel="poly", degree=2.5, gamma=1e-3, n_landmarks=landmarks, random_state=0).fit(X)
    with pytest.raises(DataError, match="is negative"):
        small.transform(X * 1000)
    near = KernelPCA(2, kernel=product_nearby, n_landmarks=landmarks, random_state=0).fit(X)
    with pytest.raises(DataError, match="returned NaN for a pair"):
        near.transform(X + 1000)


def test_kernel_values_of_new_rows_are_checked_as_such():
    X = table()
    K = X @ X.T
    kpca = KernelPCA(2, kernel="precomputed").fit(K)
    with pytest.raises(DataError, match=r"has 7 columns, .* kernel values of 120 rows. Pass the kernel values"):
        kpca.transform(K[:5, :7])
    new = K[:5].copy()
    new[2, 3] = np.nan
    with pytest.raises(DataError, match=r"with training row 3 is NaN. Pass finite kernel values"):
        kpca.transform(new)


def test_incompatible_parameters():
    for words, choices in {
        "fit_inverse_transform.*precomputed.*no rows": {"kernel": "precomputed", "fit_inverse_transform": True},
        "n_landmarks.*precomputed.*no rows": {"kernel": "precomputed", "n_landmarks": 3},
        "kernel='rbf'": {"preimage": "fixed-point", "fit_inverse_transform": True},
        "distances": {"kernel": "poly", "gamma": "median"},
    }.items():
        with pytest.raises(ParameterError, match=words):
            KernelPCA(2, **choices).fit(table(5, 5))


def test_the_memory_budget_is_checked_before_allocation():
    X = table(3000)
    with lowland.config(memory="20MB"), pytest.raises(MemoryError, match="landmarks"):
        KernelPCA(kernel="rbf").fit(X)
    with lowland.config(memory="1MB"), pytest.raises(MemoryError, match="fewer rows"):
        KernelPCA(2, kernel="rbf").fit(X)
    with lowland.config(memory="10MB"), pytest.raises(MemoryError, match="Set a smaller n_landmarks"):
        KernelPCA(2, kernel="rbf", n_landmarks=2000, random_state=0).fit(X)
    with lowland.config(memory="200MB"), pytest.raises(MemoryError, match=r"pre-images.*landmarks"):
        KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(X)
