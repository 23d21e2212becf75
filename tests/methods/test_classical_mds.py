"""ClassicalMDS: the map of the airports, PCA, scikit-learn, Gower, landmarks, and invalid input."""

import numpy as np
import pytest
import sklearn.manifold
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import lowland
from lowland import PCA, ClassicalMDS
from lowland.arrays.namespace import to_numpy
from lowland.data import load_dataset
from lowland.errors import DataError, DataWarning, MemoryBudgetError, ParameterError

Theirs = getattr(sklearn.manifold, "ClassicalMDS", None)
compared = pytest.mark.skipif(Theirs is None, reason="scikit-learn has no ClassicalMDS before 1.8")


def rows(n=90, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * np.geomspace(4, 0.5, d) + 3


def geodesics(n=90, seed=0):
    U = np.random.default_rng(seed).standard_normal((n, 3))
    U /= np.linalg.norm(U, axis=1)[:, None]
    D = np.arccos(np.clip(U @ U.T, -1, 1))
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    return D


# --- known answers ---


def test_the_worked_example():
    D = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 4.0], [5.0, 4.0, 0.0]])
    model = ClassicalMDS(1, metric="precomputed", all_eigenvalues=True).fit(D)
    np.testing.assert_allclose(model.embedding_ @ model.embedding_.T, [[4, 2, -6], [2, 1, -3], [-6, -3, 9]], atol=1e-13)
    np.testing.assert_allclose(model.eigenvalues_, [14, 0, 0], atol=1e-13)
    assert model.dimensionality_ == 1
    np.testing.assert_allclose(model.transform([[1.0, 2.0, 6.0]]), [[-3.0]])  # a point at -1 on the line


def test_the_embedding_of_airports_matches_the_map():
    airports = load_dataset("airports")
    model = ClassicalMDS(metric="precomputed", all_eigenvalues=True).fit(airports.X)
    assert model.dimensionality_ == 2
    assert model.lowest_eigenvalue_ < 0
    assert np.isfinite(model.embedding_).all()
    drawn = cdist(model.embedding_, model.embedding_)
    assert np.abs(drawn - airports.X).max() < 0.02 * airports.X.max()
    # west to east along the first axis, from Seattle and San Francisco to Miami
    west, east = (airports.names.index(name) for name in ("SFO", "MIA"))
    assert {int(np.argmax(model.embedding_[:, 0])), int(np.argmin(model.embedding_[:, 0]))} == {west, east}


@pytest.mark.parametrize("way", ["rows", "matrix", "constant", "minkowski"])
def test_euclidean_distances_give_principal_components(way):
    X = rows()
    pca = PCA(3).fit(X)
    model = {
        "rows": ClassicalMDS(3).fit(X),
        "matrix": ClassicalMDS(3, metric="precomputed").fit(cdist(X, X)),
        "constant": ClassicalMDS(3, add_constant=True).fit(X),  # none is needed
        "minkowski": ClassicalMDS(3, metric="minkowski", metric_params={"p": 2}).fit(X),
    }[way]
    scores = pca.transform(X)
    loose = 1e-5 if way == "constant" else 1e-11
    np.testing.assert_allclose(
        model.embedding_, scores * np.sign(np.sum(scores * model.embedding_, axis=0)), atol=loose
    )
    np.testing.assert_allclose(model.eigenvalues_, pca.explained_variance_ * (len(X) - 1), rtol=loose)
    explained = pca.explained_variance_ratio_.sum()
    np.testing.assert_allclose(model.goodness_of_fit_, [explained, explained], rtol=loose)
    if way != "constant":
        assert model.dimensionality_ == 5
        assert model.lowest_eigenvalue_ == 0
    new = rows(7, seed=1)
    asked = cdist(new, X) if way == "matrix" else new
    placed = pca.transform(new)
    np.testing.assert_allclose(np.abs(model.transform(asked)), np.abs(placed), atol=10 * loose)


@compared
def test_scikit_learn_agrees_including_signs():
    X = rows()
    for choices, table in (({}, X), ({"metric": "manhattan"}, X), ({"metric": "precomputed"}, geodesics())):
        ours, theirs = ClassicalMDS(2, **choices).fit(table), Theirs(2, **choices).fit(table)
        np.testing.assert_allclose(ours.embedding_, theirs.embedding_, atol=1e-11)
        np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-11)
        np.testing.assert_allclose(ours.dissimilarity_matrix_, theirs.dissimilarity_matrix_, atol=1e-7)


@compared
def test_coordinates_beyond_the_positive_eigenvalues_are_zero_where_scikit_learn_returns_nan():
    D = load_dataset("airports").X
    with np.errstate(invalid="ignore"):
        assert np.isnan(Theirs(8, metric="precomputed").fit_transform(D)).any()
    six = ClassicalMDS(6, metric="precomputed").fit(D)
    with pytest.warns(DataWarning, match=r"n_components=8.* 6 positive eigenvalues.*Choose at most 6\."):
        eight = ClassicalMDS(8, metric="precomputed").fit(D)
    np.testing.assert_allclose(eight.embedding_[:, :6], six.embedding_, atol=1e-6)
    assert not eight.embedding_[:, 6:].any()
    assert eight.goodness_of_fit_ == pytest.approx(six.goodness_of_fit_)
    np.testing.assert_allclose(eight.transform(D), eight.embedding_, atol=1e-6)
    X = rows()  # of five columns
    with pytest.warns(DataWarning, match="Choose at most 5"):
        seven = ClassicalMDS(7).fit(X)
    np.testing.assert_allclose(seven.embedding_[:, :5], ClassicalMDS(5).fit_transform(X), atol=1e-12)
    assert not seven.transform(X)[:, 5:].any()
    assert seven.eigenvalues_.shape == (7,)
    for metric in ("euclidean", "manhattan"):
        with pytest.raises(ParameterError, match=f"Choose at most {len(X)}"):
            ClassicalMDS(len(X) + 1, metric=metric).fit(X)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), factor=st.floats(1e-3, 1e3))
def test_shift_rotation_and_scale(seed, factor):
    """Distances do not depend on shift and rotation; scaling scales the embedding."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 3)) * [3, 2, 1]
    turned = X @ np.linalg.qr(rng.standard_normal((3, 3)))[0] * factor + rng.standard_normal(3)
    first, second = ClassicalMDS(2).fit(X), ClassicalMDS(2).fit(turned)
    np.testing.assert_allclose(np.abs(second.embedding_), factor * np.abs(first.embedding_), atol=1e-9 * factor)
    assert second.goodness_of_fit_ == pytest.approx(first.goodness_of_fit_)


# --- negative eigenvalues, the constant ---


def test_all_eigenvalues_on_request():
    D = geodesics()
    few, whole = (ClassicalMDS(metric="precomputed", all_eigenvalues=on).fit(D) for on in (False, True))
    assert few.eigenvalues_.shape == (2,)
    assert whole.eigenvalues_.shape == (90,)
    np.testing.assert_allclose(whole.eigenvalues_[:2], few.eigenvalues_)
    J = np.eye(90) - 1 / 90
    truth = np.linalg.eigvalsh(-J @ (D * D) @ J / 2)[::-1]
    np.testing.assert_allclose(whole.eigenvalues_, truth, atol=1e-11)
    assert whole.goodness_of_fit_ == pytest.approx(
        (truth[:2].sum() / np.abs(truth).sum(), truth[:2].sum() / truth[truth > 0].sum())
    )
    assert few.goodness_of_fit_ == pytest.approx(whole.goodness_of_fit_)
    assert whole.dimensionality_ == int(np.sum(truth > -truth[-1])) == 3
    euclidean = ClassicalMDS(all_eigenvalues=True).fit(rows())
    assert euclidean.eigenvalues_.shape == (90,)
    assert np.all(euclidean.eigenvalues_[5:] == 0)


def test_attributes_unknown_for_large_problems_are_none(monkeypatch):
    monkeypatch.setattr("lowland.math.scaling.classical.SMALL", 50)
    D = geodesics(200)
    few = ClassicalMDS(metric="precomputed").fit(D)
    whole = ClassicalMDS(metric="precomputed", all_eigenvalues=True).fit(D)
    assert few.goodness_of_fit_ is None
    assert few.solver_.name == "krylov"
    assert few.n_iter_ == len(few.solver_.trace) > 0
    assert all(a >= b for a, b in zip(few.goodness_of_fit_bound_, whole.goodness_of_fit_, strict=True))
    assert few.dimensionality_ == whole.dimensionality_ == 3
    np.testing.assert_allclose(few.embedding_, whole.embedding_, atol=1e-9)


def test_the_additive_constant_makes_eigenvalues_nonnegative():
    D = geodesics()
    model = ClassicalMDS(metric="precomputed", add_constant=True, all_eigenvalues=True).fit(D)
    assert model.additive_constant_ > 0
    assert model.lowest_eigenvalue_ == 0
    assert model.goodness_of_fit_[0] == pytest.approx(model.goodness_of_fit_[1])
    np.testing.assert_allclose(model.transform(D), model.embedding_, atol=1e-11)
    assert ClassicalMDS(metric="precomputed").fit(D).additive_constant_ == 0


# --- metrics and landmarks, tested as the contract tests do for the default ---

CHOICES = {
    "manhattan": {"metric": "manhattan"},
    "landmarks": {"metric": "chebyshev", "n_landmarks": 30, "random_state": 0},
    "euclidean landmarks": {"n_landmarks": 30, "random_state": 0},
    "precomputed": {"metric": "precomputed"},
    "precomputed landmarks": {"metric": "precomputed", "n_landmarks": 30, "random_state": 0},
    "constant": {"metric": "manhattan", "add_constant": True},
}


def table_for(which, dtype=float):
    return (geodesics() if "precomputed" in which else rows()).astype(dtype)


@pytest.mark.parametrize("which", CHOICES)
def test_transform_reproduces_the_fitted_coordinates(which):
    X = table_for(which)
    model = ClassicalMDS(**CHOICES[which])
    Z = model.fit_transform(X)
    np.testing.assert_allclose(model.transform(X), Z, atol=1e-11)
    np.testing.assert_array_equal(Z, model.embedding_)
    assert model.n_samples_ == 90


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("which", CHOICES)
def test_other_libraries(which, dtype, library):
    xp = pytest.importorskip(library)
    X = table_for(which, dtype)
    expected = ClassicalMDS(**CHOICES[which]).fit(X)
    model = ClassicalMDS(**CHOICES[which]).fit(xp.asarray(X))
    assert expected.embedding_.dtype == dtype
    for Z in (model.embedding_, model.transform(xp.asarray(X))):
        assert type(Z) is type(xp.asarray(X))
        assert str(Z.dtype).endswith(dtype)
        scale = np.abs(expected.embedding_).max()
        np.testing.assert_allclose(
            to_numpy(Z), expected.embedding_, atol=(2e-5 if dtype == "float32" else 1e-10) * scale
        )


@pytest.mark.parametrize("which", CHOICES)
def test_files_chunks_threads_and_dask(which, tmp_path, monkeypatch):
    da = pytest.importorskip("dask.array")
    X = table_for(which)
    model = ClassicalMDS(**CHOICES[which])
    Z = model.fit_transform(X)
    np.save(tmp_path / "x.npy", X)
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 2000)
    for source in (tmp_path / "x.npy", [X[:11], X[11:60], X[60:]], da.from_array(X, chunks=(20, 3))):
        again = ClassicalMDS(**CHOICES[which]).fit(source)
        assert type(again.embedding_) is np.ndarray
        np.testing.assert_allclose(again.embedding_, Z, atol=1e-10)
    assert isinstance(again.transform(source), da.Array)
    np.testing.assert_allclose(again.transform(source).compute(), Z, atol=1e-10)
    results = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            results.append(ClassicalMDS(**CHOICES[which]).fit_transform(X))
    np.testing.assert_array_equal(*results)


def test_a_user_defined_metric():
    X = rows()
    own = ClassicalMDS(metric=lambda a, b: float(np.abs(a - b).sum())).fit(X)
    named = ClassicalMDS(metric="manhattan").fit(X)
    np.testing.assert_allclose(own.embedding_, named.embedding_, atol=1e-10)
    np.testing.assert_allclose(own.transform(X[:3]), named.transform(X[:3]), atol=1e-10)
    with pytest.raises(DataError, match="not symmetric"):
        ClassicalMDS(metric=lambda a, b: float(abs(2 * a[0] - b[0])) * float(not np.array_equal(a, b))).fit(X)


# --- landmarks ---


def test_landmarks_of_flat_data_are_exact():
    """Euclidean distances in a plane: 20 landmarks place all points as all distances do, up to a rotation."""
    X = rows(200, 2)
    few = ClassicalMDS(n_landmarks=20, random_state=0).fit(X)
    assert few.landmarks_.shape == (20,)
    np.testing.assert_allclose(cdist(few.embedding_, few.embedding_), cdist(X, X), atol=1e-11)
    alone = ClassicalMDS(metric="precomputed").fit(cdist(X[few.landmarks_], X[few.landmarks_]))
    np.testing.assert_allclose(few.embedding_[few.landmarks_], alone.embedding_, atol=1e-11)
    with pytest.raises(AttributeError, match="landmarks"):
        few.dissimilarity_matrix_  # noqa: B018  reading it measures


def test_as_many_landmarks_as_rows_is_exact_with_a_warning():
    X = rows()
    exact = ClassicalMDS().fit(X)
    for m in (90, 1000):
        with pytest.warns(DataWarning, match="n_landmarks.*all rows are scaled"):
            model = ClassicalMDS(n_landmarks=m).fit(X)
        assert model.landmarks_ is None
        np.testing.assert_array_equal(model.embedding_, exact.embedding_)


def test_landmarks_do_not_store_the_full_matrix(tmp_path):
    """Distances of all pairs take 400 MB; the budget is a tenth of that."""
    X = rows(10_000, 4).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    with lowland.config(memory="40MB"):
        with pytest.raises(MemoryBudgetError, match=r"10,000 rows.*n_landmarks"):
            ClassicalMDS(metric="manhattan").fit(X)
        with pytest.raises(MemoryBudgetError, match=r"MDS of 10,000 rows"):
            ClassicalMDS(metric="manhattan").fit([X[:5000], X[5000:]])
        model = ClassicalMDS(metric="manhattan", n_landmarks=100).fit(tmp_path / "x.npy")
    assert model.embedding_.shape == (10_000, 2)
    assert model.embedding_.dtype == np.float32


@pytest.mark.parametrize("landmarks", [None, 9])
def test_invalid_distance_matrices_are_reported(landmarks):
    good = load_dataset("airports").X
    for words, spoiled in {
        "square": good[:, :4],
        "not symmetric": good + np.eye(10, k=1),
        "negative": good - 2 * good.max() * (np.eye(10, k=1) + np.eye(10, k=-1)),
        "diagonal must be zero": good + np.eye(10),
        "not connected": np.where(good > 2500, np.inf, good),
        "missing": np.where(good > 2500, np.nan, good),
    }.items():
        with pytest.raises(DataError, match=words if landmarks is None or words == "square" else "."):
            ClassicalMDS(metric="precomputed", n_landmarks=landmarks).fit(spoiled)
    with pytest.raises(ParameterError, match="n_landmarks"):
        ClassicalMDS(n_landmarks=1).fit(rows())


# --- invalid input ---


def test_the_given_matrix_is_stored_without_a_copy():
    D = geodesics()
    before = D.copy()
    model = ClassicalMDS(metric="precomputed", add_constant=True).fit(D)
    np.testing.assert_array_equal(D, before)  # and not written to
    assert model.dissimilarity_matrix_ is D
    assert model.__sklearn_tags__().input_tags.pairwise


def test_the_additive_constant_separates_duplicates():
    """The constant is added to the distance of any two points, so duplicates differ; a new row equals both of them."""
    X = rows(30)[[*range(30), 4, 4, 9]]
    few = ClassicalMDS(metric="manhattan", add_constant=True).fit(X)
    np.testing.assert_allclose(few.transform(X), few.embedding_, atol=1e-10)
    many = ClassicalMDS(31, metric="manhattan", add_constant=True).fit(X)  # with the directions of duplicates
    means = many.embedding_.copy()
    assert np.linalg.norm(means[9] - means[32]) == pytest.approx(many.additive_constant_)
    for duplicates in ([4, 30, 31], [9, 32]):
        means[duplicates] = means[duplicates].mean(axis=0)
    np.testing.assert_allclose(many.transform(X), means, atol=1e-6)


def test_facts_of_a_fit():
    facts = ClassicalMDS(metric="manhattan", add_constant=True, n_landmarks=20, random_state=0).fit(rows())._facts()
    assert facts["additive constant"] > 0
    assert facts["landmarks"] == 20
    assert not {"additive constant", "landmarks"} & set(ClassicalMDS().fit(rows())._facts())
