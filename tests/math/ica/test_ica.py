"""Whitened rows and contrasts, unmixing, and the negentropy of the components."""

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lowland
from lowland.data.open import open_rows
from lowland.data.rows import ArrayRows
from lowland.errors import DataError, ParameterError
from lowland.math.ica import ica
from lowland.math.ica import whitened_rows as white_rows
from lowland.math.ica.ica import (
    ALGORITHMS,
    polar,
    unmix_by_deflation,
    unmix_by_quasi_newton,
    unmix_in_parallel,
    unmixing_matrix,
)
from lowland.math.ica.negentropy import count_gaussian, mutual_information, negentropies, shape_sums
from lowland.math.ica.whitened_rows import (
    Cube,
    Custom,
    Exponential,
    LogCosh,
    Whiten,
    as_contrast,
    contrast_sums,
    whitened,
)
from lowland.run.run import Run

CONTRASTS = {
    "logcosh": (LogCosh(), lambda y: np.log(np.cosh(y))),
    "logcosh 1.7": (LogCosh(1.7), lambda y: np.log(np.cosh(1.7 * y)) / 1.7),
    "exp": (Exponential(), lambda y: -np.exp(-(y**2) / 2)),
    "cube": (Cube(), lambda y: y**4 / 4),
}


@pytest.mark.parametrize("name", CONTRASTS)
def test_g_and_its_slope_are_derivatives_of_the_contrast(name):
    contrast, G = CONTRASTS[name]
    y, h = np.linspace(-3, 3, 41), 1e-5
    g, _ = contrast(y[None, :].copy())
    np.testing.assert_allclose(g[0], (G(y + h) - G(y - h)) / (2 * h), atol=1e-8)
    for value in y[::5]:  # one column at a time: the sum is the slope itself
        near = [contrast(np.array([[value + step]]))[0][0, 0] for step in (-h, h)]
        assert contrast(np.array([[value]]))[1][0] == pytest.approx((near[1] - near[0]) / (2 * h), abs=1e-8)


@pytest.mark.parametrize("name", CONTRASTS)
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries_agree(name, library):
    xp = pytest.importorskip(library)
    contrast, _ = CONTRASTS[name]
    Y = np.random.default_rng(0).standard_normal((3, 50))
    ours = contrast(xp.asarray(Y))
    for a, b in zip(contrast(Y.copy()), ours, strict=True):
        np.testing.assert_allclose(np.asarray(b), a, rtol=1e-12)


@settings(max_examples=20, deadline=None)
@given(cut=st.integers(1, 9_999), seed=st.integers(0, 99))
def test_sums_merge(cut, seed):
    rng = np.random.default_rng(seed)
    Z, W = rng.standard_normal((10_000, 3)), rng.standard_normal((2, 3))
    of = partial(contrast_sums, LogCosh(), W, None)
    whole, parts = of(Z), of(Z[:cut]) + of(Z[cut:])
    assert whole.n == parts.n == 10_000
    np.testing.assert_allclose(parts.cross, whole.cross, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(parts.slopes, whole.slopes, rtol=1e-10)
    Y = Z @ W.T
    np.testing.assert_allclose(whole.cross, np.tanh(Y).T @ Z, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(whole.slopes, (1 - np.tanh(Y) ** 2).sum(axis=0), rtol=1e-9)


def test_the_folded_function_can_be_pickled_and_whitens():
    rng = np.random.default_rng(0)
    X, K, W = rng.standard_normal((500, 4)) + 5, rng.standard_normal((3, 4)), np.eye(3)
    of = pickle.loads(pickle.dumps(partial(contrast_sums, Exponential(), W, Whiten(K, X.mean(axis=0)))))
    expected = contrast_sums(Exponential(), W, None, (X - X.mean(axis=0)) @ K.T)
    np.testing.assert_allclose(of(X).cross, expected.cross, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("rows", [1, 3])
def test_user_functions_may_return_means_or_values(rows):
    Y = np.random.default_rng(0).standard_normal((rows, 40))

    def averaged(x, power=3):
        assert x.ndim == (1 if rows == 1 else 2)  # one projection alone comes as a vector, as in scikit-learn
        return x**power, (power * x ** (power - 1)).mean(axis=-1)

    def each(x):
        return x**3, 3 * x**2

    expected = Cube()(Y)
    for contrast in (as_contrast(averaged, None), as_contrast(averaged, {"power": 3}), Custom(each)):
        for a, b in zip(contrast(Y), expected, strict=True):
            np.testing.assert_allclose(a, b)


def test_wrong_contrasts():
    for arguments in ({"alpha": 0.5}, {"alpha": 3}, {"alpha": "one"}):
        with pytest.raises(ParameterError, match=r"alpha must be in \[1,2\]"):
            as_contrast("logcosh", arguments)
    with pytest.raises(ParameterError, match="takes no argument 'beta'"):
        as_contrast("logcosh", {"beta": 1})
    with pytest.raises(ParameterError, match="two values"):
        Custom(lambda x: x**3)(np.ones((2, 5)))
    with pytest.raises(ParameterError, match="derivative of shape"):
        Custom(lambda x: (x**3, np.ones(7)))(np.ones((2, 5)))


RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (200, 4)) @ RNG.standard_normal((4, 4)) + 7


def test_rows_are_whitened_and_reconstructed():
    found = whitened(open_rows(X), Run(), None, exact=True)
    Z = found.white.rows.to_array()
    np.testing.assert_allclose(np.cov(Z.T, bias=True), np.eye(4), atol=1e-10)
    np.testing.assert_allclose(Z @ found.inverse.T + found.mean, X)
    np.testing.assert_allclose((X - found.mean) @ found.K.T, Z, atol=1e-10)
    assert (found.k, found.n) == (4, 200)


def test_stored_and_recomputed_white_rows_agree():
    W = np.linalg.qr(RNG.standard_normal((4, 4)))[0]
    held = whitened(open_rows(X), Run(), None, exact=True).white
    with lowland.config(memory="15kB"):
        passing = whitened(open_rows([X[:90], X[90:]]), Run(), None, exact=True).white
    assert held.whiten is None
    assert passing.whiten is not None
    Z = held.rows.to_array()
    g = np.tanh(Z @ W.T)
    for white in (held, passing):
        cross, slopes = white.expect(LogCosh(), W)
        np.testing.assert_allclose(cross, g.T @ Z / 200, atol=1e-10)
        np.testing.assert_allclose(slopes, np.mean(1 - g**2, axis=0))


def test_columns_in_very_different_units_keep_their_digits():
    units = X * [1.0, 1e-9, 1.0, 1e9]
    found = whitened(open_rows(units), Run(), None, exact=True)
    assert found.k == 4
    np.testing.assert_allclose(np.cov(found.white.rows.to_array().T, bias=True), np.eye(4), atol=1e-6)


def test_the_number_of_directions_with_variance():
    flat = np.column_stack([X, X[:, 0] + X[:, 1]])
    found = whitened(open_rows(flat), Run(), None, exact=True)
    assert found.k == 4
    assert "the 5 columns have rank 4" in found.choice.reason
    found = whitened(open_rows(flat), Run(), 5, exact=True)
    assert found.k == 4
    assert "rank 4" in found.choice.reason
    with pytest.raises(DataError, match="constant"):
        whitened(open_rows(np.ones((5, 2))), Run(), None, exact=True)


def white(X):
    return whitened(ArrayRows(X), Run(), None, exact=True).white


def start(k):
    return np.random.default_rng(0).standard_normal((k, k))


def sources(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([rng.laplace(size=n), rng.uniform(size=n), rng.exponential(size=n), rng.laplace(size=n)], axis=1)


@pytest.mark.parametrize("fun", ["logcosh", "exp", "cube"])
def test_quasi_newton_and_parallel_iteration_have_the_same_fixed_point(fun):
    """Both stop where diag(s) E g(y)y' is symmetric."""
    rows, contrast = white(sources()), as_contrast(fun, None)
    found = unmix_by_quasi_newton(rows, contrast, start(4), 1e-11, 200)
    assert found.outcome.converged
    still = unmix_in_parallel(rows, contrast, found.W, 1e-15, 1)
    np.testing.assert_allclose(np.abs(np.sum(still.W * found.W, axis=1)), 1, atol=1e-13)
    parallel = unmix_in_parallel(rows, contrast, start(4), 1e-14, 500)
    overlap = np.abs(parallel.W @ found.W.T)
    np.testing.assert_allclose(np.sort(overlap, axis=1)[:, -1], 1, atol=1e-9)


def test_deflation_finds_orthogonal_rows_one_by_one():
    found = unmix_by_deflation(white(sources()), LogCosh(), start(4), 1e-10, 200)
    assert found.outcome.converged
    np.testing.assert_allclose(found.W @ found.W.T, np.eye(4), atol=1e-12)
    parallel = unmix_in_parallel(white(sources()), LogCosh(), start(4), 1e-10, 200)
    assert np.all(np.max(np.abs(found.W @ parallel.W.T), axis=1) > 0.99)


def test_oscillating_steps_are_shortened(monkeypatch):
    """Rows without structure: full steps oscillate forever, shorter ones converge to a fixed point of both."""
    rows = white(np.random.default_rng(0).standard_normal((300, 10)))
    monkeypatch.setattr(ica, "_PATIENCE", 10**9)
    plain = unmix_in_parallel(rows, LogCosh(), start(10), 1e-8, 200)
    monkeypatch.undo()
    damped = unmix_in_parallel(rows, LogCosh(), start(10), 1e-8, 400)
    assert not plain.outcome.converged
    assert damped.outcome.converged
    assert unmix_in_parallel(rows, LogCosh(), damped.W, 1e-5, 1).outcome.converged


def test_quasi_newton_converges_on_hard_rows():
    """Twenty almost Gaussian sources: the plain iteration rotates by a right angle in every step."""
    rows = white(np.random.default_rng(0).standard_t(20, (600, 20)))
    found = unmix_by_quasi_newton(rows, LogCosh(), start(20), 1e-4, 200)
    assert found.outcome.converged
    C, slopes = rows.expect(LogCosh(), found.W)
    C = np.sign(slopes - np.diagonal(C @ found.W.T))[:, None] * (C @ found.W.T)
    assert np.abs(C - C.T).max() / 2 < 1e-4  # the gradient, written out


def test_same_bits_on_any_number_of_threads_and_the_same_numbers_from_a_stream(monkeypatch):
    import lowland

    X = sources(5000)
    answers = []
    monkeypatch.setattr(white_rows, "_SLAB", 1000)
    for threads in (1, 3):
        with lowland.config(threads=threads):
            answers.append(unmix_in_parallel(white(X), LogCosh(), start(4), 1e-6, 100).W)
    assert np.array_equal(*answers)
    with lowland.config(memory="250kB"):  # the white rows do not fit in memory: they are whitened in every pass
        held = whitened(lowland.open_rows([X[:2000], X[2000:]]), Run(), None, exact=True).white
        assert held.whiten is not None
        streamed = unmix_in_parallel(held, LogCosh(), start(4), 1e-6, 100).W
    np.testing.assert_allclose(streamed, answers[0], atol=1e-9)


def test_polar_gives_the_nearest_orthogonal_matrix():
    A = np.random.default_rng(0).standard_normal((5, 5))
    Q = polar(A)
    np.testing.assert_allclose(Q @ Q.T, np.eye(5), atol=1e-12)
    values, vectors = np.linalg.eigh(A @ A.T)
    np.testing.assert_allclose(Q, vectors / np.sqrt(values) @ vectors.T @ A, atol=1e-10)  # (AA')^-1/2 A


def test_the_trace_shows_fast_convergence():
    trace = np.array(unmix_by_quasi_newton(white(sources()), LogCosh(), start(4), 1e-12, 100).outcome.trace)
    assert trace[-1] < 1e-12
    assert len(trace) < 30
    assert np.all(trace[-2:] < 0.1 * trace[-3:-1])  # faster than linear convergence


def test_a_rotated_square_is_rotated_back():
    """The four corners of a square have independent coordinates only along its sides."""
    corners = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    for angle in (0.1, 0.5, 1.2):
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        for algorithm in ALGORITHMS:
            found = unmixing_matrix(corners @ turn, algorithm=algorithm, tol=1e-10)
            assert found.outcome.converged
            np.testing.assert_allclose(np.sort(np.abs(found.W @ turn.T), axis=1), [[0, 1], [0, 1]], atol=1e-5)


def shape_of(Y):
    Y = (Y - Y.mean(axis=0)) / Y.std(axis=0)
    return shape_sums(np.eye(Y.shape[1]), None, None, Y)


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(0)


def test_negentropy_of_known_densities(rng):
    """Close to the true H(normal) − H(y) where that is known, and equal to the formula."""
    n = 200_000
    Y = np.stack([rng.standard_normal(n), rng.uniform(size=n), rng.laplace(size=n), rng.exponential(size=n)], axis=1)
    J = negentropies(shape_of(Y))
    half = np.log(2 * np.pi * np.e) / 2
    true = np.array([0, half - np.log(np.sqrt(12)), half - 1 - np.log(np.sqrt(2)), half - 1])
    assert J[0] < 1e-4
    assert np.all(J[1:] > 0.35 * true[1:])
    assert np.all(J[1:] < 1.25 * true[1:])
    # uniform: E exp(−y²/2) over [−√3, √3] by hand, and no skew
    bell = np.sqrt(2 * np.pi) * 0.9167354833364496 / (2 * np.sqrt(3))
    assert J[1] == pytest.approx(24 / (16 * np.sqrt(3) - 27) * (bell - np.sqrt(0.5)) ** 2, rel=0.02)


def test_dependence_is_zero_for_independent_columns_and_grows_with_common_parts(rng):
    n = 50_000
    Y = rng.laplace(size=(n, 4))
    assert np.all(mutual_information(shape_of(Y)) < 1e-3)
    loud = np.exp(rng.standard_normal(n))[:, None]
    Y[:, :2] *= loud  # two components with dependent magnitudes, but uncorrelated
    shared = mutual_information(shape_of(Y))
    assert np.all(shared[:2] > 0.05)
    assert np.all(shared[2:] < 1e-3)


def test_dependence_of_normal_functions_is_the_textbook_formula(rng):
    """One pair of functions, one pair of components: I = −½ log(det S / (det S_11 det S_22))."""
    y = rng.laplace(size=(20_000, 2))
    y[:, 1] = np.abs(y[:, 0]) * rng.choice([-1, 1], 20_000) + 0.3 * y[:, 1]
    y = (y - y.mean(axis=0)) / y.std(axis=0)
    e = np.exp(-(y**2) / 2)
    S = np.cov(np.hstack([e, y * e]).T, bias=True)[np.ix_([0, 2, 1, 3], [0, 2, 1, 3])] + 1e-4 * np.eye(4)
    det = np.linalg.det
    expected = -np.log(det(S) / (det(S[:2, :2]) * det(S[2:, 2:]))) / 2 - 2 / 20_000
    np.testing.assert_allclose(mutual_information(shape_of(y)), expected, rtol=1e-6)


def test_two_valued_sources_are_independent_and_few_rows_tell_nothing(rng):
    signs = rng.choice([-1.0, 1.0], (1000, 2))
    assert np.all(mutual_information(shape_of(signs)) < 0.01)
    assert np.isnan(mutual_information(shape_of(rng.standard_normal((20, 5))))).all()


@pytest.mark.parametrize(
    ("J", "n", "count"),
    [([0.2, 0.1, 0.05], 1000, 0), ([0.2, 0.1, 0.001], 1000, 1), ([0.2, 0.002, 0.001], 1000, 2), ([0.002] * 3, 150, 0)],
)
def test_gaussian_components_are_counted_if_the_rows_suffice(J, n, count):
    assert count_gaussian(np.array(J), n) == count
