"""Whitened rows and the expectations of contrasts over them."""

import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lowland
from lowland.data.open import open_rows
from lowland.errors import DataError, ParameterError
from lowland.math.ica.whitened_rows import (
    Cube,
    Custom,
    Exponential,
    LogCosh,
    Whiten,
    already_white,
    as_contrast,
    contrast_sums,
    whitened,
)
from lowland.run.local import LocalRun

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
        with pytest.raises(ParameterError, match=r"alpha must be in \[1, 2\]"):
            as_contrast("logcosh", arguments)
    with pytest.raises(ParameterError, match="takes no argument 'beta'"):
        as_contrast("logcosh", {"beta": 1})
    with pytest.raises(ParameterError, match="two values"):
        Custom(lambda x: x**3)(np.ones((2, 5)))
    with pytest.raises(ParameterError, match="derivative of shape"):
        Custom(lambda x: (x**3, np.ones(7)))(np.ones((2, 5)))


rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (200, 4)) @ rng.standard_normal((4, 4)) + 7


def test_rows_are_whitened_and_reconstructed():
    found = whitened(open_rows(X), LocalRun(), None, exact=True)
    Z = found.white.rows.to_array()
    np.testing.assert_allclose(np.cov(Z.T, bias=True), np.eye(4), atol=1e-10)
    np.testing.assert_allclose(Z @ found.inverse.T + found.mean, X)
    np.testing.assert_allclose((X - found.mean) @ found.K.T, Z, atol=1e-10)
    assert (found.k, found.n) == (4, 200)


def test_stored_and_recomputed_white_rows_agree():
    W = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    held = whitened(open_rows(X), LocalRun(), None, exact=True).white
    with lowland.config(memory="15kB"):
        passing = whitened(open_rows([X[:90], X[90:]]), LocalRun(), None, exact=True).white
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
    found = whitened(open_rows(units), LocalRun(), None, exact=True)
    assert found.k == 4
    np.testing.assert_allclose(np.cov(found.white.rows.to_array().T, bias=True), np.eye(4), atol=1e-6)


def test_the_number_of_directions_with_variance():
    flat = np.column_stack([X, X[:, 0] + X[:, 1]])
    found = whitened(open_rows(flat), LocalRun(), None, exact=True)
    assert found.k == 4
    assert "the 5 columns have rank 4" in found.choice.reason
    found = whitened(open_rows(flat), LocalRun(), 5, exact=True)
    assert found.k == 4
    assert "rank 4" in found.choice.reason
    with pytest.raises(DataError, match="constant"):
        whitened(open_rows(np.ones((5, 2))), LocalRun(), None, exact=True)


def test_rows_taken_as_white_can_be_standardized():
    found = already_white(open_rows(X), LocalRun())
    B, shift = found.standardized(np.eye(4))
    Y = X @ B.T + shift
    np.testing.assert_allclose(Y.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Y.std(axis=0), 1)
    white = whitened(open_rows(X), LocalRun(), None, exact=True)
    assert white.standardized(np.eye(4))[1] is None
