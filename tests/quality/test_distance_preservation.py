"""Stress, Shepard diagram and residual variance against numpy, scipy, methods that minimize them, and invariants."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist, pdist
from scipy.stats import pearsonr, spearmanr

import lowland
from lowland import quality
from lowland.data import load_dataset
from lowland.errors import DataError


@pytest.fixture(scope="module")
def cloud():
    X = np.random.default_rng(0).standard_normal((200, 6)) * [3, 2, 1, 1, 0.5, 0.5]
    return X, 5 * X[:, :2]


def test_definitions(cloud):
    X, Z = cloud
    x, z = pdist(X), pdist(Z)
    s = x @ z / (z @ z)
    assert quality.raw_stress(X, Z).value == pytest.approx(((x - s * z) ** 2).sum(), rel=1e-12)
    assert quality.raw_stress(X, Z, rescale=False).value == pytest.approx(((x - z) ** 2).sum(), rel=1e-12)
    found = quality.normalized_stress(X, Z)
    assert found.value == pytest.approx(np.sqrt(1 - (x @ z) ** 2 / (x @ x * (z @ z))), rel=1e-9)
    assert f"multiplied by {s:.4g}" in found.about
    t = z.sum() / (z * z / x).sum()
    assert quality.sammon_stress(X, Z).value == pytest.approx(((x - t * z) ** 2 / x).sum() / x.sum(), rel=1e-12)
    assert quality.sammon_stress(X, Z, rescale=False).value == pytest.approx(((x - z) ** 2 / x).sum() / x.sum())
    r = pearsonr(x, z).statistic
    assert quality.residual_variance(X, Z).value == pytest.approx(1 - r * r, abs=1e-12)
    diagram = quality.shepard(X, Z)
    np.testing.assert_allclose(diagram.original, x, rtol=1e-12)
    np.testing.assert_allclose(diagram.embedded, z, rtol=1e-12)
    assert diagram.pearson.value == pytest.approx(r, abs=1e-12)
    assert diagram.spearman.value == pytest.approx(spearmanr(x, z).statistic, abs=1e-12)
    assert diagram.scale == pytest.approx(s)


@pytest.mark.parametrize("stress", [quality.raw_stress, quality.normalized_stress, quality.sammon_stress])
def test_the_best_scale_minimizes_the_stress(stress, cloud):
    X, Z = cloud
    best = stress(X, Z).value
    for scale in (0.1, 0.18, 0.2, 0.22, 1):
        assert stress(X, scale * Z, rescale=False).value >= best - 1e-12
        assert stress(X, scale * Z).value == pytest.approx(best, rel=1e-9)  # whatever the unit


def test_what_mds_and_sammon_minimize_is_what_is_measured():
    D = load_dataset("airports").X
    mds = lowland.MDS(metric="precomputed").fit(D)
    raw = quality.raw_stress(D, mds.embedding_, metric="precomputed", rescale=False)
    assert raw.value == pytest.approx(mds.stress_, rel=1e-9)
    best = quality.normalized_stress(D, mds.embedding_, metric="precomputed").value
    assert best == pytest.approx(mds.stress1_, rel=0.01)  # MDS stops just before its best scale
    assert best <= mds.stress1_
    sammon = lowland.SammonMapping(metric="precomputed").fit(D)
    found = quality.sammon_stress(D, sammon.embedding_, metric="precomputed", rescale=False)
    assert found.value == pytest.approx(sammon.stress_, rel=1e-9)


def test_residual_variance_of_isomap_uses_geodesic_distances():
    roll = load_dataset("swiss_roll", n=300, seed=1)
    isomap = lowland.Isomap(2).fit(roll.X)
    along = quality.residual_variance(isomap.dist_matrix_, isomap.embedding_, metric="precomputed").value
    assert along == pytest.approx(isomap.residual_variances_[1], abs=1e-9)
    assert along < 0.2 * quality.residual_variance(roll.X, isomap.embedding_).value


@given(st.integers(0, 10_000), st.floats(1e-6, 1e6))
@settings(max_examples=20, deadline=None)
def test_a_perfect_embedding_has_no_stress_in_any_unit(seed, unit):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 3))
    X[3] = X[4]  # duplicates
    Z = unit * (X @ np.linalg.qr(rng.standard_normal((3, 3)))[0]) + 5
    assert quality.normalized_stress(X, Z).value < 1e-6
    assert quality.sammon_stress(X, Z).value < 1e-10
    diagram = quality.shepard(X, Z)
    assert diagram.pearson.value == pytest.approx(1, abs=1e-9)
    assert quality.residual_variance(X, Z).value < 1e-8


def test_equal_distances_cannot_correlate():
    X = np.eye(4)  # a simplex
    with pytest.raises(DataError, match=r"distances are equal in the data.*stress"):
        quality.residual_variance(X, X[:, :2] + np.arange(8).reshape(4, 2) ** 2)


def test_each_row(cloud):
    X, Z = cloud
    raw = quality.raw_stress(X, Z, per_row=True)
    assert raw.per_row.sum() == pytest.approx(raw.value)
    x, z = cdist(X, X), cdist(Z, Z)
    s = (x * z).sum() / (z * z).sum()
    found = quality.normalized_stress(X, Z, per_row=True)
    np.testing.assert_allclose(found.per_row, np.sqrt(((x - s * z) ** 2).sum(1) / (x * x).sum(1)), rtol=1e-9)
    assert quality.sammon_stress(X, Z, per_row=True).per_row.shape == (200,)


@pytest.mark.parametrize(
    "of",
    [
        quality.raw_stress,
        quality.normalized_stress,
        quality.sammon_stress,
        quality.residual_variance,
        lambda *a, **k: quality.shepard(*a, **k).spearman,
        lambda *a, **k: quality.shepard(*a, **k).pearson,
    ],
    ids=["raw", "normalized", "sammon", "residual", "spearman", "pearson"],
)
def test_intervals_have_the_nominal_coverage(of):
    X = np.random.default_rng(1).standard_normal((600, 6)) * [3, 2, 1, 1, 0.5, 0.5]
    Z = X[:, :2]
    value = of(X, Z).value
    found = [of(X, Z, sample=80, random_state=seed) for seed in range(20)]
    assert found[0].sample == 80
    assert np.mean([m.low <= value <= m.high for m in found]) > 0.75
    assert np.mean([m.value for m in found]) == pytest.approx(value, rel=0.1)


@pytest.mark.parametrize("metric", ["euclidean", "seuclidean", "precomputed"])
def test_distances_beyond_the_memory_budget_are_recomputed(cloud, metric, monkeypatch):
    X, Z = cloud
    if metric == "precomputed":
        X = cdist(X, X)
    every = (quality.raw_stress, quality.normalized_stress, quality.sammon_stress, quality.residual_variance)

    def found():
        both = [of(X, Z, metric=metric, sample=sample) for of in every for sample in (None, 90)]
        return [each for m in both for each in (m.value, m.high) if each is not None]

    kept = found()
    monkeypatch.setattr("lowland.quality.original_space.KEPT_DISTANCES", 0)
    monkeypatch.setattr("lowland.quality.original_space._DISTANCES", 200 * 30)
    assert found() == pytest.approx(kept, rel=1e-12)


def test_the_stress_of_all_rows_needs_no_matrix_of_pairs(rng):
    X = rng.standard_normal((4000, 3))
    quality.normalized_stress(X[:500], X[:500, :2])
    tracemalloc.start()
    found = quality.normalized_stress(X, X[:, :2], sample=None)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.sample is None
    assert peak < 80e6  # one matrix of distances has 128 MB


def test_metrics_estimated_from_all_rows(cloud):
    X, Z = cloud
    exact = quality.normalized_stress(X, Z, metric="seuclidean").value
    D = cdist(X, X, "seuclidean", V=X.var(axis=0, ddof=1))
    assert exact == pytest.approx(quality.normalized_stress(D, Z, metric="precomputed").value)
    some = quality.normalized_stress(X, Z, metric="seuclidean", sample=100)
    given = quality.normalized_stress(D, Z, metric="precomputed", sample=100)
    assert some.low <= exact <= some.high
    assert given.low <= exact <= given.high


def test_ranks_with_ties_are_those_of_scipy(rng):
    from scipy.stats import rankdata

    from lowland.quality.original_space import mean_ranks

    for values in (rng.integers(0, 20, 500).astype(float), rng.random(500), np.zeros(3), np.ones(1)):
        np.testing.assert_array_equal(mean_ranks(values), rankdata(values))
