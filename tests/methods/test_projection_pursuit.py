"""Projection pursuit."""

import numpy as np
import pytest

import lowland
from lowland import ProjectionPursuit
from lowland.data import load_dataset
from lowland.errors import DataError, ParameterError
from lowland.math.ica.projection_indices import INDICES

NORMAL = np.array([9, -6, 1]) / np.sqrt(118)


def degrees(a, b):
    return np.degrees(np.arccos(min(1.0, abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b))))


def mixed(*sources, d=5, seed=0):
    """Sources among normal columns, each of unit variance, mixed by a random matrix; and the sources."""
    rng = np.random.default_rng(seed)
    S = rng.standard_normal((len(sources[0]), d))
    for j, source in enumerate(sources):
        S[:, j] = (source - np.mean(source)) / np.std(source)
    return S @ rng.standard_normal((d, d)) + 10, S


def two_clusters(n=300, seed=1):
    rng = np.random.default_rng(seed)
    return np.where(np.arange(n) % 2, 1.0, -1.0) + 0.25 * rng.standard_normal(n)


def likeness(z, source):
    return abs(np.corrcoef(z, source)[0, 1])


# --- RANDU ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_the_planes_of_randu_are_found(seed, k):
    sample = load_dataset("randu")
    found = ProjectionPursuit(k, n_null=0, random_state=seed).fit(sample.X)
    assert degrees(found.directions_[0], NORMAL) < 1
    z = found.transform(sample.X)[:, 0]
    lines = [z[sample.y == plane] for plane in range(15)]
    assert max(np.ptp(line) for line in lines) < 0.01  # of a distance of 0.32 between neighbors
    assert len(np.unique(np.round(z, 1))) == 15


def test_p_value_and_trace_of_randu():
    found = ProjectionPursuit(1, random_state=3).fit(load_dataset("randu").X)
    assert len(found.null_index_) == 19
    assert found.p_value_ == pytest.approx([1 / 20])
    assert found.index_[0] > 10 * found.null_index_.max()
    assert np.all(np.diff(found.trace_[0]) >= 0)
    assert found.trace_[0][-1] == found.index_[0]
    assert found.converged_
    assert found.n_iter_ == len(found.trace_[0]) - 1


# --- what each index finds --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "index", ["spacing", "kurtosis", "negentropy", "friedman-tukey", "legendre", "hermite", "holes"]
)
def test_two_clusters_are_found(index):
    X, S = mixed(two_clusters())
    found = ProjectionPursuit(1, index=index, n_null=0, random_state=0).fit(X)
    assert likeness(found.transform(X)[:, 0], S[:, 0]) > 0.99


@pytest.mark.parametrize("index", ["spacing", "skewness", "central-mass", "friedman-tukey"])
def test_a_long_tail_is_found(index):
    X, S = mixed(np.random.default_rng(2).exponential(size=400))
    found = ProjectionPursuit(1, index=index, n_null=0, random_state=0).fit(X)
    assert likeness(found.transform(X)[:, 0], S[:, 0]) > 0.95


@pytest.mark.parametrize("index", ["holes", "kurtosis", "hermite", "legendre"])
def test_a_ring_is_found_in_the_plane(index):
    rng = np.random.default_rng(3)
    angle = rng.uniform(0, 2 * np.pi, 400)
    ring = np.array([np.cos(angle), np.sin(angle)]) + 0.05 * rng.standard_normal((2, 400))
    X, _ = mixed(*ring)
    Z = ProjectionPursuit(2, index=index, n_null=0, random_state=0).fit_transform(X)
    assert np.linalg.norm(Z, axis=1).std() < 0.2  # all rows at about the same distance from the middle


@pytest.mark.parametrize("index", ["negentropy", "hermite"])
@pytest.mark.parametrize("k", [1])
def test_units_and_mixing_do_not_matter(index, k):
    X, _ = mixed(two_clusters(), np.random.default_rng(0).exponential(size=300))
    M = np.random.default_rng(8).standard_normal((5, 5))
    model = ProjectionPursuit(k, index=index, n_null=0, tol=1e-9, random_state=0)
    Z, again = model.fit_transform(X), model.fit_transform(X @ M * 100 - 7)
    np.testing.assert_allclose(np.abs(Z), np.abs(again), atol=1e-4)


@pytest.mark.parametrize(("index", "k"), [*((index, 2) for index in sorted(INDICES)), ("legendre", 3), ("spacing", 3)])
def test_axes_are_white_and_in_order(index, k):
    X, _ = mixed(two_clusters(150), np.random.default_rng(0).exponential(size=150))
    found = ProjectionPursuit(k, index=index, n_null=0, n_starts=50, random_state=0).fit(X)
    Z = found.transform(X)
    np.testing.assert_allclose(np.cov(Z.T), np.eye(k), atol=1e-9)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-9)
    single = INDICES[index](1).value(Z.T[:, None, :])
    assert np.all(np.diff(single) <= 1e-9)
    assert INDICES[index](k).value(Z.T[None])[0] == pytest.approx(found.index_[0], rel=1e-6)
    np.testing.assert_allclose(np.linalg.norm(found.directions_, axis=1), 1)
    np.testing.assert_allclose(found.transform(found.inverse_transform(Z)), Z, atol=1e-9)


def test_the_inverse_transform_is_the_best_linear_prediction():
    X = load_dataset("iris").X
    found = ProjectionPursuit(2, index="kurtosis", n_null=0).fit(X)
    Z = found.transform(X)
    fitted = Z @ np.linalg.lstsq(Z, X - X.mean(axis=0), rcond=None)[0] + X.mean(axis=0)
    np.testing.assert_allclose(found.inverse_transform(Z), fitted, atol=1e-9)
    three = ProjectionPursuit(3, index="kurtosis", n_null=0).fit(X[:, :3])
    np.testing.assert_allclose(three.inverse_transform(three.transform(X[:, :3])), X[:, :3], atol=1e-9)


# --- further projections ----------------------------------------------------------------------------------------------


def test_a_second_projection_is_different():
    X, S = mixed(two_clusters(seed=1), np.random.default_rng(5).exponential(size=300))
    found = ProjectionPursuit(1, index="legendre", n_projections=2, n_null=0, random_state=0).fit(X)
    Z = found.transform(X)
    likenesses = np.array([[likeness(z, s) for s in S.T[:2]] for z in Z.T])
    assert np.array_equal(np.sort(np.argmax(likenesses, axis=1)), [0, 1])
    assert np.all(likenesses.max(axis=1) > 0.95)
    assert found.projections_.shape == (2, 1, 5)
    assert found.components_.shape == found.directions_.shape == (2, 5)
    assert len(found.trace_) == len(found.index_) == 2
    assert list(found.get_feature_names_out()) == ["projectionpursuit0", "projectionpursuit1"]
    first = ProjectionPursuit(1, index="legendre", n_null=0, random_state=0).fit(X)
    np.testing.assert_array_equal(first.components_[0], found.components_[0])  # the first is unchanged


# --- noise ------------------------------------------------------------------------------------------------------------


def test_noise_is_not_significant():
    p_values = [
        ProjectionPursuit(1, index="kurtosis", n_starts=10, random_state=seed)
        .fit(np.random.default_rng(seed).standard_normal((60, 3)))
        .p_value_[0]
        for seed in range(10)
    ]
    assert 0.25 < np.mean(p_values) < 0.75  # uniform, since noise is compared with noise
    assert np.mean(np.array(p_values) <= 0.1) <= 0.3


def test_the_p_value_counts_noise_indices_at_least_as_large():
    X = np.random.default_rng(0).standard_normal((50, 3))
    found = ProjectionPursuit(2, index="skewness", n_null=9, random_state=1).fit(X)
    assert found.p_value_[0] == (1 + np.sum(found.null_index_ >= found.index_[0])) / 10
    assert np.isnan(ProjectionPursuit(2, index="skewness", n_null=0, random_state=1).fit(X).p_value_).all()


# --- many rows --------------------------------------------------------------------------------------------------------


def test_a_sample_is_searched_and_all_rows_are_scaled():
    X, S = mixed(two_clusters(5000), d=4)
    model = ProjectionPursuit(2, index="holes", max_samples=400, n_null=0, random_state=0)
    whole = model.fit(X)
    Z = whole.transform(X)
    assert (whole.n_samples_, whole.n_searched_) == (5000, 400)
    np.testing.assert_allclose(np.cov(Z.T), np.eye(2), atol=1e-9)
    assert likeness(Z[:, 0], S[:, 0]) > 0.98
    parts = lowland.ProjectionPursuit(**model.get_params()).fit([X[:7], X[7:3000], X[3000:]])
    np.testing.assert_allclose(parts.transform(X), Z, atol=1e-6)


# --- invalid and difficult input --------------------------------------------------------------------------------------


def test_constant_directions_are_omitted():
    X, S = mixed(two_clusters(), d=3)
    X = np.column_stack([X, np.full(300, 0.1), X[:, 0] - X[:, 1]])
    found = ProjectionPursuit(1, index="holes", n_null=0, random_state=0).fit(X)
    assert found.rank_ == 3
    assert likeness(found.transform(X)[:, 0], S[:, 0]) > 0.99
    assert np.isfinite(found.components_).all()
    with pytest.raises(DataError, match="at most 1"):
        ProjectionPursuit(2).fit(np.column_stack([X[:, 0], 2 * X[:, 0], X[:, 3]]))
    with pytest.raises(DataError, match="constant"):
        ProjectionPursuit(1).fit(np.full((20, 3), 0.1))


def test_few_rows_of_many_columns():
    X = np.random.default_rng(0).standard_normal((12, 40))
    found = ProjectionPursuit(2, n_starts=50, n_null=4, random_state=0).fit(X)
    assert found.rank_ == 11
    assert found.p_value_[0] > 0.2  # with as many directions as rows, any structure can be found


def test_wrong_parameters():
    X = load_dataset("iris").X
    with pytest.raises(ParameterError, match="at most 2"):
        ProjectionPursuit(3).fit(X[:, :2])


@pytest.mark.parametrize(("dtype", "unit"), [("f4", 1e-4), ("f8", 1e-9), ("f8", 1e9), ("f4", 1e7)])
def test_a_column_in_other_units_is_found(dtype, unit):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    X[:, 0] += np.where(rng.random(400) < 0.5, 3, -3)
    plain, scaled = (
        ProjectionPursuit(1, index="kurtosis", n_null=0, random_state=0).fit((X * [u, 1, 1]).astype(dtype))
        for u in (1, unit)
    )
    assert scaled.rank_ == 3
    np.testing.assert_allclose(scaled.index_, plain.index_, rtol=1e-3)
