"""Vector quantization."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

import lowland
from lowland import VectorQuantizer
from lowland.data import load_dataset
from lowland.errors import DataError, DataWarning, ParameterError


@pytest.fixture(scope="module")
def digits():
    return load_dataset("digits").X


def clouds(n=600, d=5, k=6, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return (8 * rng.standard_normal((k, d))[rng.integers(0, k, n)] + rng.standard_normal((n, d))).astype(dtype)


# --- agreement with scikit-learn


@pytest.mark.parametrize("k", [1, 3, 16])
@pytest.mark.parametrize("far", [0.0, 1e5])
def test_the_same_initialization_gives_the_result_of_k_means(digits, k, far):
    X = digits + far
    start = X[np.random.default_rng(k).choice(len(X), k, replace=False)]
    ours = VectorQuantizer(k, init=start, random_state=0).fit(X)
    theirs = KMeans(k, init=start, n_init=1, algorithm="lloyd").fit(X)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-6 * max(1, far * 1e-3))
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9 if far == 0 else 1e-6)
    assert ours.n_iter_ == theirs.n_iter_
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    atol = 1e-8 if far == 0 else 1e-4  # theirs loses digits far from the origin
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=atol)
    np.testing.assert_allclose(ours.transform(X), cdist(X, ours.cluster_centers_), atol=1e-9 * max(1, far * 1e-3))


def test_weights_count_repetitions_and_zero_leaves_out():
    X = clouds(200)
    weights = np.random.default_rng(1).integers(0, 4, 200)
    weighted = VectorQuantizer(6, random_state=0).fit(X, sample_weight=weights)
    repeated = VectorQuantizer(6, random_state=0).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_, atol=1e-10)
    X[weights == 0] = 1e300
    np.testing.assert_allclose(
        VectorQuantizer(6, random_state=0).fit(X, sample_weight=weights).cluster_centers_, weighted.cluster_centers_
    )


def test_the_initialization_is_as_good_as_that_of_k_means(digits):
    ours = [VectorQuantizer(10, random_state=seed).fit(digits).inertia_ for seed in range(8)]
    theirs = [KMeans(10, random_state=seed, n_init=1).fit(digits).inertia_ for seed in range(8)]
    assert np.mean(ours) < 1.02 * np.mean(theirs)


# --- definition


def test_code_vectors_are_the_means_of_their_clusters(digits):
    model = VectorQuantizer(12, tol=0.0, random_state=0).fit(digits)
    D = cdist(digits, model.cluster_centers_)
    nearest = D.argmin(axis=1)
    np.testing.assert_array_equal(model.predict(digits), nearest)
    means = np.stack([digits[nearest == c].mean(axis=0) for c in range(12)])
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-10)
    np.testing.assert_array_equal(model.counts_, np.bincount(nearest, minlength=12))
    assert model.inertia_ == pytest.approx((D.min(axis=1) ** 2).sum())
    assert model.distortion_ == pytest.approx(model.inertia_ / len(digits))
    assert model.distortion(digits) == pytest.approx(model.distortion_)
    assert model.explained_variance_fraction_ == pytest.approx(1 - model.distortion_ / digits.var(axis=0).sum())


@settings(max_examples=25, deadline=None)
@given(k=st.integers(1, 9), seed=st.integers(0, 10**6), init=st.sampled_from(["k-means++", "random"]))
def test_the_distortion_never_rises(k, seed, init):
    X = clouds(150, seed=seed)
    model = VectorQuantizer(k, init=init, random_state=seed, tol=0.0).fit(X)
    trace = np.array(model.trace_)
    assert np.all(np.diff(trace) <= 1e-9 * trace[:-1])
    assert trace[-1] == model.distortion_
    assert model.converged_
    assert len(trace) == model.n_iter_ + 1


def test_more_initializations_are_never_worse(digits):
    one, six = (VectorQuantizer(10, n_init=n, random_state=3).fit(digits[:300]).inertia_ for n in (1, 6))
    assert six <= one


def test_one_code_is_the_mean(digits):
    model = VectorQuantizer(1, random_state=0).fit(digits)
    np.testing.assert_allclose(model.cluster_centers_[0], digits.mean(axis=0))
    assert (model.bits_per_row_, model.entropy_, model.compression_) == (0, 0, np.inf)
    assert model.explained_variance_fraction_ == pytest.approx(0)


def test_as_many_codes_as_rows_reconstruct_exactly():
    X = clouds(20)
    model = VectorQuantizer(20, random_state=0).fit(X)
    assert model.inertia_ < 1e-20
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X)
    assert model.entropy_ == pytest.approx(np.log2(20))


# --- the API of KMeans


def test_labels_and_scores_agree_with_k_means(digits):
    w = np.random.default_rng(0).integers(0, 3, len(digits)).astype(float)
    start = digits[::150][:10]
    theirs = KMeans(10, init=start, n_init=1).fit(digits, sample_weight=w)
    ours = VectorQuantizer(10, init=start, random_state=0)
    np.testing.assert_array_equal(ours.fit_predict(digits, sample_weight=w), theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, atol=1e-6)
    assert ours.counts_.sum() == pytest.approx(w.sum())
    assert ours.n_samples_ == np.count_nonzero(w)
    np.testing.assert_array_equal(ours.labels_, ours.predict(digits))
    assert ours.score(digits) == pytest.approx(theirs.score(digits))
    assert ours.score(digits, sample_weight=w) == pytest.approx(-ours.inertia_)


def test_labels_are_omitted_for_streamed_rows(tmp_path):
    X = clouds()
    np.save(tmp_path / "x.npy", X)
    model = VectorQuantizer(5, random_state=0)
    streamed = model.fit_predict(tmp_path / "x.npy")
    assert not hasattr(model, "labels_")
    np.testing.assert_array_equal(streamed, VectorQuantizer(5, random_state=0).fit(X).labels_)


def test_predicted_indices_can_be_decoded():
    import pandas as pd

    X = clouds()
    model = VectorQuantizer(5, output="index", random_state=0).fit(X)
    numbers, back = model.predict(X), model.inverse_transform(model.transform(X))
    assert numbers.ndim == 1
    np.testing.assert_array_equal(model.inverse_transform(numbers), back)
    np.testing.assert_array_equal(model.inverse_transform(pd.Series(numbers)), back)
    torch, da = pytest.importorskip("torch"), pytest.importorskip("dask.array")
    assert type(model.inverse_transform(torch.asarray(numbers))) is torch.Tensor
    np.testing.assert_array_equal(model.inverse_transform(da.from_array(numbers, chunks=100)), back)
    with pytest.raises(DataError):
        VectorQuantizer(5, random_state=0).fit(X).inverse_transform(numbers)


# --- compression


def test_bits_per_row_and_compression(digits):
    model = VectorQuantizer(32, random_state=0).fit(digits)
    assert model.bits_per_row_ == 5
    assert model.compression_ == 64 * 64 / 5
    fractions = model.counts_ / model.counts_.sum()
    assert model.entropy_ == pytest.approx(-(fractions * np.log2(fractions)).sum())
    assert model.entropy_ < 5
    assert VectorQuantizer(32, random_state=0).fit(digits.astype(np.float32)).compression_ == 32 * 64 / 5


# --- rows and codes


@pytest.mark.parametrize("output", ["distances", "index"])
def test_transform_and_inverse_transform(digits, output):
    model = VectorQuantizer(9, output=output, random_state=0).fit(digits)
    Z = model.transform(digits)
    nearest = cdist(digits, model.cluster_centers_).argmin(axis=1)
    if output == "index":
        np.testing.assert_array_equal(Z[:, 0], nearest)
        assert list(model.get_feature_names_out()) == ["vectorquantizer0"]
    else:
        np.testing.assert_allclose(Z, cdist(digits, model.cluster_centers_), atol=1e-10)
    back = model.inverse_transform(Z)
    np.testing.assert_array_equal(back, model.cluster_centers_[nearest])
    assert ((digits - back) ** 2).sum() == pytest.approx(model.inertia_)


def test_an_invalid_code_book_index_is_refused(digits):
    model = VectorQuantizer(9, output="index", random_state=0).fit(digits)
    for wrong in (9.0, -1.0, 1.5):
        with pytest.raises(DataError, match=f"{wrong:g} is not a code book index.*0 to 8.*transform"):
            model.inverse_transform(np.array([[0.0], [wrong]]))
    with pytest.raises(DataError, match="NaN"):
        model.inverse_transform(np.array([[0.0], [np.nan]]))


@pytest.mark.parametrize("away", [1e3, 1e6, 1e9])
def test_an_outlier_does_not_cost_precision(away):
    X = clouds(400)
    far = np.vstack([X, np.full((1, 5), away)])
    model = VectorQuantizer(7, init=far[-7:], tol=0.0, random_state=0).fit(far)
    theirs = KMeans(7, init=far[-7:], n_init=1, tol=0).fit(far)
    assert model.inertia_ == pytest.approx(theirs.inertia_, rel=1e-6)
    drawn = VectorQuantizer(7, tol=0.0, n_init=3, random_state=0).fit(far)
    assert drawn.inertia_ < 2.2 * VectorQuantizer(6, n_init=3, random_state=0).fit(X).inertia_


# --- empty clusters


def test_an_empty_cluster_is_relocated():
    X = clouds(300)
    start = np.vstack([X[:5], [[1e4] * 5]])  # the last cluster is empty
    model = VectorQuantizer(6, init=start, random_state=0).fit(X)
    assert (model.counts_ > 0).all()
    assert np.all(np.diff(model.trace_) <= 0)
    theirs = KMeans(6, init=start, n_init=1).fit(X)
    assert model.inertia_ == pytest.approx(theirs.inertia_)
    torch = pytest.importorskip("torch")
    found = VectorQuantizer(6, init=start, random_state=0).fit(torch.asarray(X))
    np.testing.assert_allclose(np.asarray(found.cluster_centers_), model.cluster_centers_, atol=1e-9)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_fewer_distinct_rows_than_clusters_warn(init):
    X = np.repeat(np.arange(5.0)[:, None], 8, axis=0)
    with pytest.warns(DataWarning, match="3 of 8 clusters are empty.*fewer distinct rows"):
        model = VectorQuantizer(8, init=init, random_state=0).fit(X)
    assert model.inertia_ == 0
    np.testing.assert_array_equal(model.inverse_transform(model.transform(X)), X)


def test_constant_rows_warn():
    with pytest.warns(DataWarning, match="7 of 8 clusters are empty: every column is constant"):
        model = VectorQuantizer(8, random_state=0).fit(np.full((20, 3), 0.1))
    np.testing.assert_allclose(model.cluster_centers_, 0.1)
    assert model.explained_variance_fraction_ == 1


# --- where the rows come from


def test_tensors_and_dask_give_the_codes_of_the_array():
    torch, da = pytest.importorskip("torch"), pytest.importorskip("dask.array")
    X, weights = clouds(400), np.random.default_rng(2).uniform(0, 2, 400)
    for w, (other, kind) in itertools.product(
        (None, weights), ((torch.asarray(X), torch.Tensor), (da.from_array(X, chunks=(90, 2)), da.Array))
    ):
        model, found = (VectorQuantizer(6, random_state=0).fit(rows, sample_weight=w) for rows in (X, other))
        np.testing.assert_allclose(np.asarray(found.cluster_centers_), model.cluster_centers_, atol=1e-9)
        np.testing.assert_array_equal(np.asarray(found.predict(other)), model.predict(X))
        assert isinstance(found.predict(other), kind)


def test_many_rows_are_initialized_from_a_sample(monkeypatch):
    monkeypatch.setattr("lowland.math.prototypes.kmeans._SAMPLE", 200)
    monkeypatch.setattr("lowland.math.prototypes.kmeans._SAMPLE_PER_CODE", 1)
    X = clouds(3000)
    plain, settled = (
        VectorQuantizer(6, random_state=0).fit(X),
        VectorQuantizer(6, refine_on_sample=True, random_state=0).fit(X),
    )
    weighted = VectorQuantizer(6, random_state=0).fit(X, sample_weight=np.where(np.arange(3000) % 2, 1.0, 0.0))
    assert settled.n_iter_ <= plain.n_iter_
    for model in (plain, settled, weighted):
        assert model.distortion_ < 5.5
    assert settled.trace_[0] < plain.trace_[0]


# --- invalid parameters


def test_more_codes_than_rows():
    with pytest.raises(ParameterError, match=r"n_clusters=21\).*20 rows.*at most 20"):
        VectorQuantizer(21, random_state=0).fit(clouds(20))
    with pytest.raises(ParameterError, match="n_samples=5"):
        VectorQuantizer(6, random_state=0).fit(clouds(20), sample_weight=np.r_[np.ones(5), np.zeros(15)])


@pytest.mark.parametrize("start", [np.zeros((3, 4)), np.full((4, 5), np.nan), [["a"] * 5] * 4, np.zeros(4)])
def test_a_wrong_initialization_is_refused(start):
    with pytest.raises(ParameterError, match="init"):
        VectorQuantizer(4, init=start, random_state=0).fit(clouds())


def test_saved_with_its_initialization(tmp_path, digits):
    model = VectorQuantizer(3, init=digits[:3], random_state=0).fit(digits)
    lowland.save(model, tmp_path / "m.lowland")
    loaded = lowland.load(tmp_path / "m.lowland")
    np.testing.assert_array_equal(loaded.init, digits[:3])
    np.testing.assert_array_equal(loaded.fit(digits).cluster_centers_, model.cluster_centers_)
