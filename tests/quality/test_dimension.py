"""Intrinsic dimension on spaces of known dimension, and compared with another derivation of the theory."""

import contextlib
import math
import pickle
import warnings
from typing import get_args

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import lowland
from lowland import quality
from lowland.data import load_dataset
from lowland.errors import DataError, DataTypeError, DataWarning, ParameterError, Stopped
from lowland.quality import spacings
from lowland.quality.dimension import ESTIMATORS, MAPPED, Estimator

NO_ISOMAP = [method for method in ESTIMATORS if method != "isomap"]


def ball(n, d, rng):
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1)[:, None] * rng.random((n, 1)) ** (1 / d)


def torus(n, rng):
    a, b = 2 * np.pi * rng.random((2, n))
    return np.column_stack([(2 + np.cos(b)) * np.cos(a), (2 + np.cos(b)) * np.sin(a), np.sin(b)])


def helix(n, rng):
    t = 12 * rng.random(n)
    return np.column_stack([np.cos(t), np.sin(t), t / 3])


def turned(X, d, rng):
    """The same rows in d dimensions, in no special direction."""
    return X @ np.linalg.qr(rng.standard_normal((d, X.shape[1])))[0].T


# --- known dimensions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "seed"), [(1000, 0), (3000, 1)])
def test_two_on_the_swiss_roll(n, seed):
    assert quality.intrinsic_dimension(load_dataset("swiss_roll", n=n, seed=seed).X).value == pytest.approx(2, rel=0.1)


def test_three_on_shifted_and_turned_digits():
    found = quality.intrinsic_dimension(load_dataset("moved_digits").X)
    assert found.value == pytest.approx(3, rel=0.1)
    assert "extrapolated to scale zero" in found.about


def test_ten_in_a_ball_of_ten(rng):
    X = ball(2000, 10, rng)
    assert quality.intrinsic_dimension(X).value == pytest.approx(10, rel=0.1)
    assert quality.intrinsic_dimension(X, "mle").value < 9


SPACES = {
    "helix": (1, helix),
    "torus": (2, torus),
    "sphere of 10": (10, lambda n, rng: load_dataset("sphere", n=n, d=11, seed=rng).X),
    "noisy roll": (2, lambda n, rng: load_dataset("swiss_roll", n=n, seed=rng, noise=0.3).X),
    "cube of 20": (20, lambda n, rng: rng.random((n, 20))),
    "Gaussian of 5 in 50": (5, lambda n, rng: turned(rng.standard_normal((n, 5)), 50, rng)),
}


@pytest.mark.parametrize("name", SPACES)
def test_estimates_on_other_spaces(name, rng):
    """Borders, closed surfaces, uneven density, noise: none of them is similar to a ball."""
    d, make = SPACES[name]
    assert quality.intrinsic_dimension(make(1500, rng)).value == pytest.approx(d, rel=0.14)


# --- the theory -------------------------------------------------------------------------------------------------------


def test_the_fraction_of_a_ball_agrees_with_simulation(rng):
    for d in (1, 5):
        Y, rho, r = ball(200_000, d, rng), np.array([0.3, 0.9, 1.0]), np.array([0.4, 0.8, 1.2])
        centers = np.eye(1, d) * rho[:, None]
        counted = [[np.mean(np.linalg.norm(Y - c, axis=1) <= each) for each in r] for c in centers]
        np.testing.assert_allclose(spacings.fraction_within(r, rho, d), counted, atol=5e-3)


def test_expected_spacings_equal_simulated_ones():
    """Theory compared with simulation, within standard errors."""
    rng, n, d, k = np.random.default_rng(3), 300, 6, 20
    edges = spacings.shell_edges(k)
    drawn = []
    for _ in range(40):
        X = ball(n, d, rng)
        D = np.sort(np.linalg.norm(X[:, None] - X[None], axis=2), axis=1)[:, 1 : k + 1]
        drawn.append(spacings.shell_means(spacings.log_spacings(D), edges).mean(axis=0))
    mean, error = np.mean(drawn, axis=0), np.std(drawn, axis=0) / math.sqrt(40)
    assert np.all(np.abs(mean - spacings.ball_spacings(d, n, edges)) < 4 * error)


@given(d=st.floats(0.7, 60), n=st.integers(60, 10**7))
@settings(max_examples=10, deadline=None)
def test_spacings_approach_their_limit_as_points_are_added(d, n):
    """Spacings are never below 1/d, approach it as points are added, and decrease with d."""
    edges = spacings.shell_edges(20)
    here = spacings.ball_spacings(d, n, edges)
    assert np.all(here > 1 / d * (1 - 2e-3))
    assert np.all(spacings.ball_spacings(d, 100 * n, edges) <= here * (1 + 2e-3))
    assert np.all(spacings.ball_spacings(1.2 * d, n, edges) < here)


def test_the_curve_of_spacings_is_inverted():
    edges = spacings.shell_edges(20)
    for d in (0.9, 2.0, 7.3, 40.0):
        means = spacings.ball_spacings(d, 1000, edges)
        curve = spacings.BallCurve.around(means, 1000, edges)
        for shell, mean in enumerate(means):
            assert float(curve.dimension(np.array([mean]), shell)[0]) == pytest.approx(d, rel=2e-3)


def test_the_mean_spacing_is_the_likelihood_of_levina_and_bickel(rng):
    D = np.sort(rng.random((50, 12)), axis=1)
    by_hand = np.mean(np.log(D[:, -1:] / D[:, :-1]), axis=1)
    np.testing.assert_allclose(spacings.log_spacings(D).mean(axis=1), by_hand)


def test_a_rising_trend_is_extrapolated_to_scale_zero_and_a_falling_one_is_not():
    radius, V = np.sqrt([0.1, 0.3, 0.6, 1.0]), np.eye(4) * 1e-6
    rising = spacings.over_scales(3 * np.exp(radius**2 / 2), V, radius, np.ones(4))
    falling = spacings.over_scales(3 * np.exp(-(radius**2) / 2), V, radius, np.ones(4))
    assert (rising.taken, falling.taken) == ("extrapolation to scale zero", "the largest scale")
    assert rising.value == pytest.approx(3, rel=1e-3)
    assert falling.value == pytest.approx(3 * math.exp(-0.5), rel=1e-3)
    unsure = spacings.over_scales(3 * np.exp(radius**2 / 2), 100 * np.eye(4), radius, np.ones(4))
    assert unsure.taken == "all scales"
    assert unsure.value == pytest.approx(3 * math.exp(np.mean(radius**2) / 2))
    steep = spacings.over_scales(np.array([900.0, 40, 9, 8]), V, radius, np.ones(4))
    assert steep.value == 8  # the line would end below


def test_standard_errors_account_for_dependent_neighbors(rng):
    """Pairs of equal values have twice the variance of independent points."""
    n = 4000
    values = np.repeat(rng.standard_normal(n // 2), 2)[:, None]
    partner = (np.arange(n) ^ 1)[:, None]
    V = spacings.covariance_of_means(values, partner, np.arange(n))
    assert V[0, 0] == pytest.approx(2 / n, rel=0.1)
    alone = spacings.covariance_of_means(rng.standard_normal((n, 1)), partner, np.arange(n))
    assert alone[0, 0] == pytest.approx(1 / n, rel=0.1)


@pytest.mark.parametrize("method", ["auto", "mle", "twonn", "correlation", "global_pca"])
def test_the_standard_error_is_the_standard_deviation_between_samples(method):
    found = [quality.intrinsic_dimension(np.random.default_rng(seed).random((150, 2)), method) for seed in range(60)]
    deviation = np.std([each.value for each in found], ddof=1)
    assert np.mean([each.standard_error for each in found]) == pytest.approx(deviation, rel=0.35)


def clusters(count, n, d, rng):
    return np.concatenate([rng.standard_normal((n, d)) + 20 * rng.standard_normal(d) for _ in range(count)])


@pytest.mark.filterwarnings("ignore:With 2 clusters of about 15 rows, 7 neighbors")
@pytest.mark.parametrize(("count", "n", "d"), [(10, 25, 5), (2, 15, 3), (4, 300, 6)])
def test_neighbors_are_counted_within_clusters(count, n, d):
    """Beyond a cluster of few rows, the distances are those between clusters."""
    draws = [clusters(count, n, d, np.random.default_rng(seed)) for seed in range(10)]
    found = [quality.intrinsic_dimension(X) for X in draws]
    assert np.mean([each.value for each in found]) == pytest.approx(d, rel=0.18)
    assert all(each.details["clusters"] == count for each in found)
    assert f"{count} clusters" in found[0].about


def test_clusters_are_found_in_a_sample(rng):
    found = quality.intrinsic_dimension(clusters(4, 300, 6, rng), sample=400)
    assert found.details["clusters"] == 4
    assert found.value == pytest.approx(6, rel=0.18)


# --- the other estimators ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", NO_ISOMAP)
def test_each_estimator_on_a_flat_square(method, rng):
    found = quality.intrinsic_dimension(turned(rng.random((1000, 2)), 5, rng), method)
    assert found.value == pytest.approx(2, rel=0.12)
    assert 0 <= found.standard_error < 0.2
    assert found.method == method
    assert found.bias.endswith(".")
    assert found.about.endswith(".")


@pytest.mark.parametrize("method", ["mle", "twonn", "correlation"])
def test_the_stated_bias_exists(method, rng):
    value = quality.intrinsic_dimension(ball(2000, 10, rng), method).value
    assert 7.5 < value < 9.5
    assert "low in high dimensions" in quality.intrinsic_dimension(ball(100, 2, rng), method).bias


def test_two_nearest_neighbors_with_exact_ratios():
    """Where the ratios are the exact quantiles of their distribution, (1 - F)^(-1/d), the slope is d."""
    n, d = 500, 4.0
    ratio = (1 - np.arange(1, n + 1) / (n + 1)) ** (-1 / d)
    assert spacings.two_nearest(np.column_stack([np.ones(n), ratio]))[0] == pytest.approx(d)


def test_correlation_sum_counts_pairs(rng):
    X = rng.random((200, 2))
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    radius, fraction, slope, _ = spacings.correlation_sum(D, 0.02, 0.2)
    pairs = D[np.triu_indices(200, 1)]
    np.testing.assert_allclose(fraction, [np.mean(pairs <= r) for r in radius])
    assert slope == pytest.approx(np.polyfit(np.log(radius), np.log(fraction), 1)[0])


def test_participation_of_a_known_spectrum(rng):
    scales = np.array([3.0, 2.0, 1.0, 0.5])
    value, error = spacings.participation(rng.standard_normal((2000, 4)) * scales)
    truth = np.sum(scales**2) ** 2 / np.sum(scales**4)
    assert abs(value - truth) < 4 * error
    assert error < 0.1


def test_all_gives_the_others_beside_the_default():
    """With Isomap's elbow among them, which is two on the swiss roll."""
    found = quality.intrinsic_dimension(load_dataset("swiss_roll").X, "all")
    assert [each.method for each in (found, *found.others)] == list(get_args(Estimator))
    assert all(each.bias for each in found.others)
    alone = quality.intrinsic_dimension(load_dataset("swiss_roll").X, "twonn")
    by_name = {each.method: each for each in found.others}
    assert by_name["twonn"].value == alone.value
    assert (by_name["isomap"].value, by_name["isomap"].standard_error) == (2, None)
    assert str(found).count("\n") == len(found.others)


# --- local estimates --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", MAPPED)
def test_local_estimates_separate_a_line_from_a_sheet(method, rng):
    sheet = np.column_stack([rng.random((600, 2)), np.zeros(600)])
    line = np.column_stack([np.full((300, 2), 5.0), rng.random(300)])
    found = quality.intrinsic_dimension(np.concatenate([sheet, line]), method, per_point=True)
    assert found.per_point.shape == (900,)
    assert found.per_point.dtype == np.float64
    assert np.median(found.per_point[:600]) == pytest.approx(2, abs=0.25)
    assert np.median(found.per_point[600:]) == pytest.approx(1, abs=0.15)


# --- kinds of input -------------------------------------------------------------------------------------------------


@given(scale=st.floats(1e-3, 1e3), shift=st.floats(-100, 100), seed=st.integers(0, 100))
@settings(max_examples=5, deadline=None)
def test_units_place_and_direction_do_not_matter(scale, shift, seed):
    X = load_dataset("swiss_roll", n=300).X
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]
    here = quality.intrinsic_dimension(X)
    there = quality.intrinsic_dimension(scale * (X @ Q) + shift)
    assert there.value == pytest.approx(here.value, rel=1e-6)


def test_tensors_files_and_float32_give_the_same(tmp_path):
    X = load_dataset("swiss_roll").X.astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    here = quality.intrinsic_dimension(X, per_point=True)
    assert here.value == pytest.approx(quality.intrinsic_dimension(X.astype(np.float64)).value, rel=1e-4)
    assert quality.intrinsic_dimension(tmp_path / "x.npy").value == here.value
    torch = pytest.importorskip("torch")
    there = quality.intrinsic_dimension(torch.asarray(X), per_point=True)
    assert there.value == pytest.approx(here.value, rel=1e-4)
    np.testing.assert_allclose(there.per_point, here.per_point, rtol=1e-3)


@pytest.mark.parametrize("method", NO_ISOMAP)
def test_repeated_rows_are_counted_once(method, rng):
    X = rng.random((300, 2))
    twice = np.concatenate([X, X[:100], X[:50]])
    with pytest.warns(DataWarning, match="150 of 450 rows are duplicates"):
        found = quality.intrinsic_dimension(twice, method, per_point=method in MAPPED)
    alone = quality.intrinsic_dimension(X, method, per_point=method in MAPPED)
    assert found.value == pytest.approx(alone.value)
    assert found.n_rows == 450
    if method in MAPPED:
        np.testing.assert_allclose(found.per_point[:300], alone.per_point)
        np.testing.assert_array_equal(found.per_point[300:400], found.per_point[:100])


def test_neighbors_of_a_sample_are_searched_among_all_rows(rng):
    X = ball(3000, 4, rng)
    whole = quality.intrinsic_dimension(X, sample=None)
    part = quality.intrinsic_dimension(X, sample=600)
    assert (whole.details["sampled rows"], part.details["sampled rows"]) == (3000, 600)
    assert part.value == pytest.approx(4, rel=0.1)
    assert part.standard_error > whole.standard_error
    np.testing.assert_allclose(part.details["radius"], whole.details["radius"], rtol=0.03)  # not those of 600 rows
    assert quality.intrinsic_dimension(X, sample=600, random_state=1).value != part.value
    assert quality.intrinsic_dimension(X, sample=600).value == part.value


@pytest.mark.parametrize(
    ("X", "options", "error", "words"),
    [
        (np.zeros((30, 3)), {}, DataError, "All rows are equal"),
        (np.arange(40.0).reshape(20, 2), {"n_neighbors": 20}, ParameterError, "has 20 rows. Choose at most 19"),
        (np.repeat(np.arange(10.0), 5)[:, None], {"n_neighbors": 10}, ParameterError, "10 distinct rows. Choose at"),
        (np.arange(4.0).reshape(2, 2), {"n_neighbors": 2}, DataError, "too few"),
        (np.array([[0.0, np.nan]] * 30), {}, DataError, "NaN"),
        (np.array([["a"]] * 30), {}, DataError, "not numbers"),
        (scipy.sparse.eye_array(30).tocsr(), {}, DataTypeError, "TruncatedSVD"),
        (np.eye(30), {"method": "best"}, ParameterError, "Choose one of 'auto'"),
        (np.eye(30), {"n_neighbors": 1}, ParameterError, "at least 2"),
        (np.eye(30), {"random_state": -1}, ParameterError, "at least 0"),
        (np.eye(30), {"sample": 0}, ParameterError, "at least 20"),
        (np.eye(30), {"method": "correlation", "per_point": True}, ParameterError,
         "per_point=True.*[Cc]hoose among 'auto'"),
        (np.eye(30), {"method": "mle"}, DataError, "as on a grid"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_data_without_an_estimate_is_reported(X, options, error, words):
    with pytest.raises(error, match=words) as caught:
        quality.intrinsic_dimension(X, **options)
    assert str(caught.value).endswith(".")


def grid(n, d):
    return np.stack(np.meshgrid(*[np.arange(float(n))] * d), axis=-1).reshape(-1, d)


@pytest.mark.parametrize("method", ["auto", "mle", "twonn"])
@pytest.mark.parametrize(("n", "d", "noise"), [(25, 2, 0.05), (8, 3, 0), (200, 1, 0.01)])
def test_estimates_on_a_grid_give_a_warning(method, n, d, noise, rng):
    X = grid(n, d) + noise * rng.standard_normal((n**d, d))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with contextlib.suppress(DataError):  # where all ratios are one
            found = quality.intrinsic_dimension(X, method, n_neighbors=10)
            assert 0 < found.value < math.inf
    assert ["discrete, as on a grid" in str(each.message) for each in caught] == [True]
    assert quality.intrinsic_dimension(X, "pca").value == pytest.approx(d, abs=0.1)  # as the warning advises


@pytest.mark.parametrize("digits", [0, 2])
def test_rounded_rows_are_not_a_grid(digits):
    """Ties alone change nothing and give no warning."""
    X = np.unique(load_dataset("swiss_roll").X.round(digits), axis=0)
    assert quality.intrinsic_dimension(X).value == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("method", get_args(Estimator))
@pytest.mark.parametrize("power", [-1000, 300])
def test_units_far_from_one_do_not_matter(method, power):
    X = load_dataset("swiss_roll", n=200).X
    here, there = (quality.intrinsic_dimension(each, method) for each in (X, X * 2.0**power))
    assert (there.value, there.standard_error) == pytest.approx((here.value, here.standard_error))
    if "radius" in here.details:
        np.testing.assert_allclose(there.details["radius"], here.details["radius"] * 2.0**power)


def test_the_number_of_neighbors_shrinks_with_the_rows_unless_it_was_given(rng):
    X = rng.random((15, 2))
    with pytest.warns(DataWarning, match="15 distinct rows, 7 neighbors"):
        found = quality.intrinsic_dimension(X)
    assert found.details["neighbors"] == 7
    with pytest.warns(DataWarning) as caught:
        assert quality.intrinsic_dimension(np.repeat(X, 3, axis=0)).value == found.value
    assert [str(each.message)[:30] for each in caught] == [
        "intrinsic_dimension: 30 of 45 ",
        "With 15 distinct rows, 7 neigh",
    ]


def test_isomap_warns_once_of_a_disconnected_graph():
    X = load_dataset("iris").X
    with pytest.warns(DataWarning) as caught:
        found = quality.intrinsic_dimension(X, "isomap")
    (message,) = (str(each.message) for each in caught if "duplicates" not in str(each.message))
    assert "2 connected components" in message
    assert found.value <= 4


def test_the_elbow_is_never_beyond_the_columns(rng):
    """On a closed curve Isomap needs more dimensions than there are columns."""
    angle = rng.random(300) * 2 * np.pi
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    found = quality.intrinsic_dimension(circle, "isomap")
    assert found.value <= 2


@pytest.mark.parametrize("method", NO_ISOMAP)
def test_few_rows_give_an_estimate(method, rng):
    found = quality.intrinsic_dimension(rng.random((21, 3)), method)
    assert 0 < found.value < math.inf
    assert 0 <= found.standard_error < math.inf


def test_the_result_can_be_pickled_and_used_as_a_number():
    found = quality.intrinsic_dimension(ball(100, 2, np.random.default_rng(0)))
    again = pickle.loads(pickle.dumps(found))
    assert float(again) == found.value
    with pytest.raises(AttributeError):
        found.value = 3


def test_it_can_be_stopped(rng):
    with lowland.config(progress=lambda event: False), pytest.raises(Stopped):
        quality.intrinsic_dimension(rng.random((5000, 40)), sample=1000)
