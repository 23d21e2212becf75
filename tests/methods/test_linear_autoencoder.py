"""Linear autoencoders."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import subspace_angles
from sklearn.exceptions import ConvergenceWarning

from lowland import PCA, LinearAutoencoder
from lowland.data import load_dataset
from lowland.data.open import open_rows
from lowland.errors import ParameterError
from lowland.math.networks.linear_autoencoder import (
    ENCODERS,
    shuffled_batches,
)
from lowland.run.run import Run


def table(n=400, d=8, seed=0, far=50.0):
    """Rows with a decreasing spectrum, away from the origin."""
    rng = np.random.default_rng(seed)
    X = rng.laplace(size=(n, d)) * np.geomspace(3, 0.3, d) @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    return X + far * rng.standard_normal(d)


def largest_angle(model, X):
    """The angle between the span of PCA and that of the decoder or encoder."""
    U = PCA(model.n_components).fit(X).components_.T
    return max(subspace_angles(U, A).max() for A in (model.decoder_, model.encoder_.T))


# --- the result agrees with PCA ---


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize(
    "X", [table(), load_dataset("iris").X, load_dataset("digits").X], ids=["table", "iris", "digits"]
)
def test_span_and_loss_agree_with_pca(X, encoder):
    model = LinearAutoencoder(3, encoder=encoder, random_state=0).fit(X)
    assert model.converged_
    assert largest_angle(model, X) < 1e-3
    assert model.loss_ == pytest.approx(PCA(3).fit(X).distortion(), rel=1e-6)
    error = np.mean(np.sum((X - model.decode(model.encode(X))) ** 2, axis=1))
    assert error == pytest.approx(model.loss_, rel=1e-6)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("size", [1, 1000])
def test_mini_batches_find_the_same(encoder, size):
    X = table(120)
    model = LinearAutoencoder(2, encoder=encoder, batch_size=size, tol=1e-6, random_state=0).fit(X)
    assert model.converged_
    assert largest_angle(model, X) < 1e-3
    assert model.loss_ == pytest.approx(PCA(2).fit(X).distortion(), rel=1e-6)


def test_mini_batches_do_not_depend_on_the_chunks():
    X = table()
    whole = LinearAutoencoder(2, batch_size=48, max_iter=40, tol=1e-4, random_state=0).fit(X)
    for borders in ([0, 1, 130, 400], [0, 399, 400], [0, 48, 96, 400]):
        chunks = [X[a:b] for a, b in itertools.pairwise(borders)]
        parts = LinearAutoencoder(2, batch_size=48, max_iter=40, tol=1e-4, random_state=0).fit(chunks)
        np.testing.assert_allclose(parts.encode(X), whole.encode(X), atol=1e-9)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_condition_number_1000_far_from_the_origin(encoder):
    X = np.random.default_rng(3).standard_normal((500, 20)) * np.geomspace(1000, 1, 20) ** 0.5 + 1e4
    model = LinearAutoencoder(4, encoder=encoder, random_state=0).fit(X)
    assert model.converged_
    assert largest_angle(model, X) < 1e-3


def test_batches_hold_every_row_once(monkeypatch):
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 64 * 8 * 2)  # windows of 60 rows
    X = np.stack([np.arange(205.0), -np.arange(205.0)], axis=1)
    batches = list(shuffled_batches(open_rows(X), Run(), np.zeros(2), 10, np.random.default_rng(0)))
    assert [len(Y) for Y in batches] == [10] * 20 + [5]
    seen = np.concatenate(batches)[:, 0]
    assert sorted(seen) == sorted(X[:, 0])
    assert 0 < np.abs(seen - X[:, 0]).max() < 64  # shuffled within a window only


def test_a_batch_larger_than_the_table_is_the_table(rng):
    X = rng.laplace(size=(60, 5)) * np.arange(1, 6)
    whole, larger = (LinearAutoencoder(2, batch_size=size, tol=1e-6, random_state=0).fit(X) for size in (60, 10_000))
    assert larger.n_iter_ == whole.n_iter_
    np.testing.assert_array_equal(larger.decoder_, whole.decoder_)


def test_the_tied_optimum_is_orthonormal_without_a_constraint():
    X = table()
    start = ENCODERS["tied"]().start(3, np.cov(X.T), 1.0, np.random.default_rng(0))
    assert np.abs(start.T @ start - np.eye(3)).max() > 0.3
    for size in (None, 64):
        C = LinearAutoencoder(3, batch_size=size, tol=1e-6, random_state=0).fit(X).decoder_
        np.testing.assert_allclose(C.T @ C, np.eye(3), atol=1e-3)
    D = LinearAutoencoder(3, encoder="untied", random_state=0).fit(X).decoder_  # the others are not
    assert np.abs(D.T @ D - np.eye(3)).max() > 0.1


def test_free_codes_are_the_best_codes():
    X = table()
    model = LinearAutoencoder(2, encoder="least_squares", random_state=0).fit(X)
    best = np.linalg.lstsq(model.decoder_, (X - model.mean_).T)[0].T
    np.testing.assert_allclose(model.codes_, best, atol=1e-8)
    np.testing.assert_array_equal(model.encode(X), model.codes_)
    assert not hasattr(
        LinearAutoencoder(2, encoder="least_squares", random_state=0).fit([X[:100], X[100:]]), "codes_"
    )  # rows not in memory


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 5),
    encoder=st.sampled_from(list(ENCODERS)),
    scale=st.sampled_from([1e-100, 1, 1e9]),
)
def test_no_plane_has_a_smaller_error_than_pca(seed, k, encoder, scale):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 5)) @ rng.standard_normal((5, 5)) * scale
    pca = PCA(k).fit(X)
    for size in (None, 7):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model = LinearAutoencoder(k, encoder=encoder, batch_size=size, max_iter=5, tol=0, random_state=seed).fit(X)
        assert model.loss_ >= pca.distortion() - 1e-9 * pca.distortion(0)
        assert model.loss_ <= model.trace_[0]


# --- the descent ---


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("size", [None, 64])
def test_the_trace_falls(encoder, size):
    X = table()
    model = LinearAutoencoder(2, encoder=encoder, batch_size=size, tol=1e-6, random_state=0).fit(X)
    trace = np.array(model.trace_)
    assert len(trace) == model.n_iter_ + 1
    assert np.all(np.diff(trace) <= 0)
    assert trace[-1] == model.loss_ < 0.5 * trace[0]
    if encoder == "tied" and size is None:  # the seeded start, before any step
        assert trace[0] < PCA().fit(X).distortion(0)


@pytest.mark.parametrize("size", [None, 64])
def test_a_learning_rate_too_large_is_refused(size):
    X = table()
    auto = LinearAutoencoder(2, batch_size=size, tol=1e-6, random_state=0).fit(X)
    assert auto.learning_rate_ > 0
    with pytest.raises(ParameterError, match=r"learning_rate=\d.*loss.*Choose a smaller learning_rate"):
        LinearAutoencoder(2, batch_size=size, learning_rate=100 * auto.learning_rate_, random_state=0).fit(X)
    given = LinearAutoencoder(2, batch_size=size, learning_rate=auto.learning_rate_, tol=1e-6, random_state=0).fit(X)
    np.testing.assert_allclose(given.encode(X), auto.encode(X), atol=1e-9)


# --- partial fits, and unusual tables ---


def test_partial_fit_is_one_fit_to_all():
    X = table()
    parts = LinearAutoencoder(2, random_state=0).partial_fit(X[:150]).partial_fit(X[150:])
    np.testing.assert_allclose(parts.encode(X), LinearAutoencoder(2, random_state=0).fit(X).encode(X), atol=1e-8)
    again = LinearAutoencoder(2, random_state=0).fit(X[:150]).partial_fit(X[150:])
    np.testing.assert_allclose(again.decoder_, parts.decoder_, atol=1e-10)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_fewer_directions_than_codes(encoder):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 6)) + 7  # rank 2
    model = LinearAutoencoder(4, encoder=encoder, random_state=0).fit(X)
    assert model.converged_
    np.testing.assert_allclose(model.decode(model.encode(X)), X, atol=1e-6)


def test_constant_rows_warn():
    with pytest.warns(UserWarning, match="Every column is constant"):
        model = LinearAutoencoder(2, random_state=0).fit(np.full((9, 3), 0.1))
    assert model.loss_ == 0
    np.testing.assert_allclose(model.decode(model.encode(np.full((2, 3), 0.1))), 0.1)


def test_sparse_rows_dask_and_tensors_in_mini_batches():
    import dask.array as da
    import scipy.sparse

    X = np.where(np.random.default_rng(0).random((300, 6)) < 0.4, table(300, 6, far=0), 0.0)
    whole = LinearAutoencoder(2, batch_size=50, tol=1e-6, random_state=0).fit(X)
    torch = pytest.importorskip("torch")
    for other in (scipy.sparse.csr_array(X), da.from_array(X, chunks=(77, 6)), torch.asarray(X)):
        model = LinearAutoencoder(2, batch_size=50, tol=1e-6, random_state=0).fit(other)
        np.testing.assert_allclose(np.asarray(model.decoder_), whole.decoder_, atol=1e-7)


def test_weights_count_repetitions(rng):
    X = rng.laplace(size=(60, 5)) * np.arange(1, 6)
    times = np.arange(60) % 3
    weighted = LinearAutoencoder(2, random_state=0).fit(X, sample_weight=times)
    repeated = LinearAutoencoder(2, random_state=0).fit(np.repeat(X, times, axis=0))
    np.testing.assert_allclose(weighted.decoder_, repeated.decoder_, atol=1e-8)
    with pytest.raises(ParameterError, match="repeat the rows"):
        LinearAutoencoder(2, batch_size=10, random_state=0).fit(X, sample_weight=times)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_plateau_does_not_count_as_convergence(encoder, rng):
    """One column of much larger scale is learned at once; the others would take long, which gives a warning."""
    X = rng.standard_normal((300, 6)) @ rng.standard_normal((6, 6)) * np.array([1e5, 1, 1, 1, 1, 1])
    with pytest.warns(ConvergenceWarning, match="scale the columns"):
        model = LinearAutoencoder(2, encoder=encoder, max_iter=500, random_state=0).fit(X)
    assert not model.converged_
