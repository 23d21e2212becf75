"""Projection pursuit: the indices, their gradients, and the search."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import hermite_e, legendre
from scipy.special import ndtr, ndtri

import lowland
from lowland.kernels.triweight import add_triweight_slopes, add_triweights
from lowland.math.ica.projection_indices import INDICES, LOGCOSH_OF_NORMAL, places
from lowland.math.ica.pursuit import (
    PursuitSearch,
    gaussianized,
    noise_indices,
    pursue,
    sphered,
)
from lowland.run.run import Run

NAMES = sorted(INDICES)
EVEN = (np.arange(4000) + 0.5) / 4000
UNIFORM = math.sqrt(12) * (EVEN - 0.5)
NORMAL = ndtri(EVEN)
NODES, WEIGHTS = hermite_e.hermegauss(80)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def rotation(k, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((k, k)))[0]


def of(name, *axes, **options):
    P = np.array(axes, dtype=float)
    return float(INDICES[name](len(P), **options).value(P[None])[0])


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_slopes_against_finite_differences(name, k):
    P = np.random.default_rng(k).laplace(size=(2, k, 40))
    index, h = INDICES[name](k), 1e-6
    values, G = index.slope(P)
    np.testing.assert_allclose(values, index.value(P), rtol=1e-12)
    for place in [(0, 0, 3), (1, k - 1, 17), (0, k // 2, 39)]:
        step = np.zeros_like(P)
        step[place] = h
        rise = (index.value(P + step) - index.value(P - step))[place[0]] / (2 * h)
        assert G[place] == pytest.approx(rise, rel=1e-5, abs=1e-6 * np.abs(G).max())


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.sampled_from([2, 3]), name=st.sampled_from(NAMES))
def test_indices_are_invariant_to_rotation_and_reflection(seed, k, name):
    P = np.random.default_rng(seed).exponential(size=(k, 50)) - 1
    index = INDICES[name](k)
    value = index.value(P[None])[0]
    mirrored = P[::-1] * np.where(np.arange(k) % 2, 1.0, -1.0)[:, None]
    assert index.value(mirrored[None])[0] == pytest.approx(value, rel=1e-9)
    turned = index.value((rotation(k, seed) @ P)[None])[0]
    assert (turned == pytest.approx(value, rel=1e-9)) == index.turns


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("holes", "central-mass")])
def test_indices_are_zero_for_normal_data(name):
    noise = np.random.default_rng(0).standard_normal((3, 20_000))
    scale = of(name, *np.random.default_rng(0).exponential(size=(3, 20_000)) - 1)  # its value for other data
    assert abs(of(name, *noise)) < (0.1 if name == "spacing" else 0.03) * scale  # reduced by the smallest gap
    if not INDICES[name].by_axes or name == "negentropy":
        assert abs(of(name, NORMAL)) < 1e-3  # the spacing index needs random gaps, not equal ones


@pytest.mark.parametrize("k", [1, 2, 3])
def test_holes_index_of_normal_data_and_of_a_shell(k):
    noise = np.random.default_rng(0).standard_normal((k, 200_000))
    assert of("holes", *noise) == pytest.approx((1 - 2 ** (-k / 2)) / (1 - math.exp(-k / 2)), abs=0.005)
    shell = noise[:, :100] / np.linalg.norm(noise[:, :100], axis=0) * math.sqrt(k)
    assert of("holes", *shell) == pytest.approx(1, rel=1e-12)  # no white projection has a larger one
    assert of("central-mass", *noise) == pytest.approx(1 - of("holes", *noise), rel=1e-12)


def test_closed_forms():
    signs = np.tile([-1.0, 1.0], 50)
    assert of("kurtosis", signs) == pytest.approx(4)  # (1 - 3)²
    assert of("kurtosis", UNIFORM) == pytest.approx(1.44, rel=1e-3)  # (9/5 - 3)²
    assert of("kurtosis", signs, np.repeat(signs, 2)[:100]) == pytest.approx(16)  # (|z|⁴ = 4, less 8)²
    exponential = -np.log1p(-EVEN) - 1
    assert of("skewness", exponential) == pytest.approx(4, rel=0.03)
    assert of("skewness", UNIFORM) == pytest.approx(0, abs=1e-12)
    assert pytest.approx(LOGCOSH_OF_NORMAL, abs=1e-10) == WEIGHTS @ np.log(np.cosh(NODES))
    assert of("negentropy", signs) == pytest.approx((math.log(math.cosh(1)) - LOGCOSH_OF_NORMAL) ** 2, rel=1e-9)


def test_entropy_from_spacings():
    rng = np.random.default_rng(1)
    uniform, exponential = rng.uniform(-1, 1, 4000) * math.sqrt(3), rng.exponential(size=4000)
    assert of("spacing", uniform) == pytest.approx(0.5 * math.log(math.pi * math.e / 6), abs=0.03)
    assert of("spacing", exponential) == pytest.approx(0.5 * math.log(2 * math.pi / math.e), abs=0.07)  # H = 1
    assert [places(n) for n in (2, 100, 400, 1000)] == [1, 2, 5, 8]


def test_thinner_stripes_have_a_larger_spacing_index_and_ties_are_finite():
    rng = np.random.default_rng(2)
    lines, smear = rng.integers(-7, 8, 400) / 4.3, rng.standard_normal(400)
    found = [of("spacing", lines + width * smear) for width in (0.3, 0.03, 0.003, 0.0)]
    assert np.all(np.diff(found) > 0)
    assert np.isfinite(found).all()


def by_hand(functions, of_normal, order, *axes):
    """Σ (E B_i(x) B_j(y) - E B_i(ν) E B_j(ν'))² over i + j up to the order."""
    x, y = (np.array([f(axis) for f in functions]) for axis in axes)
    return sum(
        (np.mean(x[i] * y[j]) - of_normal[i] * of_normal[j]) ** 2
        for i in range(order + 1)
        for j in range(order + 1 - i)
    )


@pytest.mark.parametrize("order", [1, 4, 7])
def test_expansions_by_hand(order):
    x, y = np.random.default_rng(3).laplace(size=(2, 70))
    unit = np.eye(order + 1)
    L = [lambda z, j=j: math.sqrt(j + 0.5) * legendre.legval(2 * ndtr(z) - 1, unit[j]) for j in range(order + 1)]
    H = [
        lambda z, j=j: (
            hermite_e.hermeval(z, unit[j]) / math.sqrt(math.factorial(j)) * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        )
        for j in range(order + 1)
    ]
    for name, functions in (("legendre", L), ("hermite", H)):
        means = [WEIGHTS @ f(NODES) for f in functions]
        assert of(name, x, y, order=order) == pytest.approx(by_hand(functions, means, order, x, y), rel=1e-8)


@pytest.mark.parametrize("name", [name for name in NAMES if INDICES[name].by_axes])
def test_sums_over_axes(name):
    P = np.random.default_rng(0).laplace(size=(3, 60))
    assert of(name, *P) == pytest.approx(sum(of(name, axis) for axis in P), rel=1e-12)


def test_expansions_approach_their_integrals():
    """∫(f - φ)²φ and ∫(p - 1/2)² of a narrower normal, by quadrature."""
    z, h = np.linspace(-8, 8, 16_001, retstep=True)
    phi, f = (np.exp(-((z / s) ** 2) / 2) / math.sqrt(2 * math.pi) / s for s in (1.0, 0.8))
    assert of("hermite", 0.8 * NORMAL, order=20) == pytest.approx(np.sum((f - phi) ** 2 * phi) * h, rel=1e-3)
    integral = np.sum((f / (2 * phi) - 0.5) ** 2 * 2 * phi) * h  # p = f/2φ, dR = 2φ dz
    assert of("legendre", 0.8 * NORMAL, order=20) == pytest.approx(integral, rel=1e-3)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.sampled_from([1, 2, 3]), width=st.floats(0.05, 5))
def test_pair_sums_against_all_pairs(seed, k, width):
    P = np.random.default_rng(seed).standard_normal((k, 30))
    away = P[:, :, None] - P[:, None, :]
    t = np.maximum(1 - np.square(away).sum(axis=0) / width**2, 0)
    G = np.zeros_like(P)
    total = np.triu(t**3, 1).sum()
    assert add_triweights(P, width) == pytest.approx(total, rel=1e-10, abs=1e-12)
    assert add_triweight_slopes(P, width, G) == pytest.approx(total, rel=1e-10, abs=1e-12)
    np.testing.assert_allclose(G, (-6 / width**2 * t**2 * away).sum(axis=2), atol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_friedman_tukey_estimates_the_integral_of_the_squared_density(k):
    """With two tight clusters, half of all pairs count fully; the mean for normal data is subtracted."""
    index, n = INDICES["friedman-tukey"](k), 2000
    noise = np.random.default_rng(0).standard_normal((k, n))
    far = 1e-3 * noise
    far[0] += np.where(np.arange(n) % 2, 30.0, -30.0)
    constant = index._weight_of_pair(n) * n * (n - 2) / 4 - float(index.value(far[None])[0])
    normal = index._weight_of_pair(n) * add_triweights(noise, index.width(n))
    assert constant == pytest.approx(normal, rel=0.02)
    assert abs(index.value(noise[None])[0]) < 0.02 * normal


def mixture(n=300, d=5, seed=0):
    """Three columns of two clusters and two of noise, mixed."""
    rng = np.random.default_rng(seed)
    S = rng.standard_normal((n, d))
    S[:, :3] = np.where(rng.random((n, 3)) < 0.5, 1.0, -1.0) + 0.25 * S[:, :3]
    return (S / S.std(axis=0)) @ rng.standard_normal((d, d)) + 10


@pytest.mark.parametrize("k", [1, 2, 3])
def test_removing_structure_gaussianizes_the_projection_and_keeps_the_rest(k):
    Y = sphered(mixture()).Y
    A = pursue(Y, PursuitSearch(INDICES["negentropy"](k), 200, np.eye(5), 200, 1e-6), np.random.default_rng(0)).A
    after = gaussianized(Y, A, np.random.default_rng(0))
    aside = np.eye(5) - A.T @ A
    np.testing.assert_allclose(aside @ after, aside @ Y, atol=1e-10)
    hermite = INDICES["hermite"](k)
    assert hermite.value((A @ after)[None])[0] < 0.1 * hermite.value((A @ Y)[None])[0]


def test_noise_does_not_depend_on_threads():
    search = PursuitSearch(INDICES["spacing"](1), 30, np.eye(3), 50, 1e-3)
    found = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            found.append(noise_indices(40, 3, search, 5, np.random.default_rng(0), Run()))
    assert np.array_equal(*found)
    assert len(set(found[0])) == 5


@pytest.mark.parametrize("index", ["negentropy", "spacing"])
def test_two_clusters_among_noise_are_found(index):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3))
    X[:, 1] = 4 * np.where(np.arange(200) % 2, 1.0, -1.0) + X[:, 1]
    white = sphered(X)
    search = PursuitSearch(INDICES[index](1), 100, np.zeros((0, 3)), 100, 1e-4)
    found = pursue(white.Y, search, np.random.default_rng(1))
    z = (found.A @ white.Y)[0]
    assert abs(np.corrcoef(z, X[:, 1])[0, 1]) > 0.95
    assert found.outcome.converged
    assert found.outcome.trace[-1] == found.index
    assert np.all(np.diff(found.outcome.trace) >= 0)
    np.testing.assert_allclose(found.A @ found.A.T, np.eye(1), atol=1e-12)


def test_sphered_rows_are_white_for_any_units():
    X = mixture() * [1, 10, 1e-6, 1e6, 1]
    white = sphered(X)
    np.testing.assert_allclose(np.cov(white.Y), np.eye(5), atol=1e-9)
    np.testing.assert_allclose(white.W @ (X - X.mean(axis=0)).T, white.Y, atol=1e-8)
    np.testing.assert_allclose(
        (white.inverse @ white.Y).T / X.std(axis=0), (X - X.mean(axis=0)) / X.std(axis=0), atol=1e-9
    )
    flat = sphered(np.column_stack([X, X[:, 0], np.ones(300)]), 1e-12)
    assert flat.Y.shape == (5, 300)
