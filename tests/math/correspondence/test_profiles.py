"""Tables of counts: margins, profiles, and the points of a map."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse

from lowland.data.open import open_rows
from lowland.math.correspondence.profiles import (
    Margins,
    ProfilePoints,
    map_points,
    profile_distances,
    profile_rows,
    row_sums_of,
    scaled_profiles,
    v_tests,
)
from lowland.math.statistics.moments import Moments

N = np.random.default_rng(0).poisson(2, (20, 6)).astype(float)
N[3] = 0


def test_margins_merge():
    whole, parts = Margins.of(N), Margins.of(N[:7]) + Margins.of(N[7:])
    np.testing.assert_allclose(parts.row_sums, whole.row_sums)
    np.testing.assert_allclose(parts.column_sums, N.sum(axis=0))
    assert parts.total == N.sum()
    assert (parts.smallest, Margins.of(-N).smallest) == (0, -N.max())
    bad = N.copy()
    bad[0, 0] = np.nan
    assert not Margins.of(bad).is_finite()


def library(kind):
    return scipy.sparse.csr_array if kind == "sparse" else pytest.importorskip(kind).asarray


@pytest.mark.parametrize("kind", ["sparse", "torch", "array_api_strict"])
def test_other_libraries_agree(kind):
    X, masses = library(kind)(N), N.sum(axis=0) / N.sum()
    np.testing.assert_allclose(row_sums_of(X), N.sum(axis=1))
    np.testing.assert_allclose(Margins.of(X).column_sums, N.sum(axis=0))
    points = ProfilePoints(masses, np.eye(6)[:, :2] - masses[:2])
    for f in (partial(scaled_profiles, np.sqrt(masses)), points, partial(profile_distances, masses)):
        got = f(X)
        got = got.toarray() if scipy.sparse.issparse(got) else np.asarray(got)
        np.testing.assert_allclose(got, f(N), atol=1e-12)


def test_weighted_moments_of_profiles_are_the_squared_residuals():
    P = N / N.sum()
    r, c = P.sum(axis=1), P.sum(axis=0)
    expected = np.outer(r, c)
    S = np.divide(P - expected, np.sqrt(expected), out=np.zeros_like(P), where=expected > 0)
    rows = profile_rows(open_rows(N), c)
    moments = Moments.of(rows.to_array(), r * 20)
    np.testing.assert_allclose(moments.scatter / moments.n, S.T @ S, atol=1e-14)


def test_distances_to_the_centroid():
    masses = N.sum(axis=0) / N.sum()
    profile = N[0] / N[0].sum()
    expected = ((profile - masses) ** 2 / masses).sum()
    found = profile_distances(masses, N)
    assert found[0] == pytest.approx(expected)
    assert found[3] == 0  # a row of zeros has no profile


def test_decompositions():
    F = np.array([[1.0, 2.0], [-1.0, 0.0], [0.0, -2.0]])
    masses = np.array([0.5, 0.25, 0.25])
    eigenvalues = masses @ F**2
    points = map_points(None, masses, F, eigenvalues, (F**2).sum(axis=1))
    np.testing.assert_allclose(points.contributions.sum(axis=0), 1)
    np.testing.assert_allclose(points.cos2.sum(axis=1), 1)
    np.testing.assert_allclose(points.inertias.sum(), eigenvalues.sum())
    np.testing.assert_allclose(masses @ points.standard_coordinates**2, 1)
    assert len(points) == 3


def test_v_tests_are_standardized_under_chance():
    """Means of rows drawn without replacement: their v-tests have variance 1."""
    rng = np.random.default_rng(0)
    n, m = 60, 12
    z = rng.standard_normal(n)
    z = (z - z.mean()) / z.std()
    means = np.array([z[rng.permutation(n)[:m]].mean() for _ in range(20_000)])
    tests = v_tests(means[:, None], np.full(len(means), float(m)), n)
    assert abs(tests.std() - 1) < 0.02
    assert not v_tests(np.ones((1, 1)), np.array([60.0]), n).any()  # every row has this level
