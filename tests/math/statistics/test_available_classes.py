"""Moments of classes by available cases: those of complete rows, and pairwise ones otherwise."""

import numpy as np
import pytest

from lowland.data.open import open_rows
from lowland.errors import DataError
from lowland.math.statistics.available_classes import available_class_moments
from lowland.math.statistics.class_moments import MomentsByClass
from lowland.run.local import LocalRun

LABELS = np.array(["a", "b", "c"])


def table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    return rng.standard_normal((200, 4)) + y[:, None], y


def test_complete_rows_have_the_usual_moments():
    X, y = table()
    found, _ = available_class_moments(open_rows(X), LocalRun(), y, LABELS, X.mean(axis=0))
    usual = MomentsByClass(3)(X, y)
    np.testing.assert_allclose(found.mean, usual.mean, atol=1e-12)
    np.testing.assert_allclose(found.scatter, usual.scatter, atol=1e-9)


def test_negative_eigenvalues_are_removed():
    """Three columns of which each pair is observed together only where it is collinear, with contradicting signs."""
    rng = np.random.default_rng(0)
    t, gap = rng.standard_normal((3, 60)), np.full(60, np.nan)
    X = np.concatenate([np.c_[t[0], t[0], gap], np.c_[gap, t[1], t[1]], np.c_[t[2], gap, -t[2]]])
    y = np.tile([0, 1, 2], 60)
    found, least = available_class_moments(open_rows(X), LocalRun(), y, LABELS, np.zeros(3))
    assert least < -0.5
    assert np.linalg.eigvalsh(found.scatter)[0] > -1e-8


def test_a_class_without_values_in_a_column_is_named():
    X, y = table()
    X[y == 1, 2] = np.nan
    with pytest.raises(DataError, match=r"'b'.*column 2"):
        available_class_moments(open_rows(X), LocalRun(), y, LABELS, np.zeros(4))
