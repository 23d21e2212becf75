"""Duplicate points become one point with their total mass."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from lowland.math.scaling.duplicate_points import merge_duplicates


def test_duplicates_are_merged_with_their_masses(rng):
    X = rng.standard_normal((6, 2))[[0, 1, 1, 2, 0, 0]]
    merged = merge_duplicates(cdist(X, X))
    assert merged.masses.tolist() == [3, 2, 1]
    assert merged.total == pytest.approx(pdist(X).sum())
    np.testing.assert_array_equal(merged.expanded(merged.representatives(X)), X)


def test_distances_that_differ_are_merged_by_their_harmonic_mean():
    """Points 0 and 1 coincide, at distances 1 and 3 from point 2: h = 2 / (1 + 1/3) = 1.5, and 4 - 2h = 1 is fixed."""
    D = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 3.0], [1.0, 3.0, 0.0]])
    merged = merge_duplicates(D)
    np.testing.assert_allclose(merged.D, [[0, 1.5], [1.5, 0]])
    assert (merged.total, merged.fixed) == (4, pytest.approx(1))
    for d in (0.5, 1.5, 4.0):  # the stress of the three pairs at any distance
        whole = (1 - d) ** 2 / 1 + (3 - d) ** 2 / 3
        assert whole == pytest.approx(2 * (1.5 - d) ** 2 / 1.5 + merged.fixed)


def test_without_duplicates_nothing_is_copied(rng):
    D = cdist(*[rng.standard_normal((5, 2))] * 2)
    merged = merge_duplicates(D)
    assert merged.D is D
    assert merged.fixed == 0
