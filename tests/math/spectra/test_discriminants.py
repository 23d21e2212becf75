"""Fisher's discriminants: S_B a = λ S_W a, by either route, and their classification scores."""

import numpy as np
import pytest
import scipy.linalg

from lowland.math.spectra.discriminants import (
    class_scores,
    directions_of_means,
    directions_of_ratio,
    discriminant_axes_of_scatter,
    within_axes,
    within_axes_of_rows,
)
from lowland.math.statistics.class_moments import MomentsByClass

rng = np.random.default_rng(0)
y = np.arange(60) % 3
X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 4)) + np.eye(3, 4)[y] * 3
moments = MomentsByClass(3)(X, y)
S_W, S_B, priors = moments.pooled / 60, moments.between / 60, np.full(3, 1 / 3)


def test_two_classes_by_hand():
    """S_W = diag(1, 4) and means 2δ apart along (1, 1): a ∝ S_W⁻¹δ = (1, 1/4), λ = δ'S_W⁻¹δ = 5/4."""
    delta = np.array([[1.0], [1.0]])
    found = discriminant_axes_of_scatter(np.diag([1.0, 4.0]), delta @ delta.T, 1)
    a = found.directions[:, 0]
    np.testing.assert_allclose(a / a[0], [1.0, 0.25])
    assert a @ np.diag([1.0, 4.0]) @ a == pytest.approx(1)
    np.testing.assert_allclose(found.ratios, [1.25])
    assert found.total == pytest.approx(1.25)
    np.testing.assert_allclose(found.patterns[:, 0], np.diag([1.0, 4.0]) @ a)


def test_scatter_matrices_class_means_and_scipy_agree():
    found = discriminant_axes_of_scatter(S_W, S_B, 2)
    values = scipy.linalg.eigh(S_B, S_W, eigvals_only=True)[::-1]
    np.testing.assert_allclose(found.ratios, values[:2])
    assert found.total == pytest.approx(values.sum())
    axes = within_axes(S_W, moments.mean, moments.rounding, 1e-12)
    np.testing.assert_allclose(axes.A.T @ S_W @ axes.A, np.eye(4), atol=1e-10)
    by_means = directions_of_means(moments.mean, priors, axes, 1e-4)
    by_ratio = directions_of_ratio(S_W + S_B, axes)
    for other in (by_means, by_ratio):
        np.testing.assert_allclose(other.directions[:, :2], found.directions, atol=1e-8)
        np.testing.assert_allclose(other.ratios[:2], found.ratios)


def test_few_rows_give_the_same_axes():
    wide, labels = rng.standard_normal((9, 30)), np.arange(9) % 3
    few = MomentsByClass(3)(wide, labels)
    one = within_axes(few.pooled / 9, few.mean, few.rounding, 1e-8)
    other = within_axes_of_rows(wide, labels, few.mean, 1e-8)
    assert one.rank == other.rank == 6
    np.testing.assert_allclose(one.A @ one.A.T, other.A @ other.A.T, atol=1e-6)
    np.testing.assert_allclose(one.patterns @ one.patterns.T, other.patterns @ other.patterns.T, atol=1e-10)


def test_the_nearest_class_mean_has_the_largest_score():
    A = within_axes(S_W, moments.mean, moments.rounding, 1e-12).A
    center = priors @ moments.mean
    P = np.linalg.inv(S_W)
    expected = X @ P @ moments.mean.T - np.sum(moments.mean @ P * moments.mean, axis=1) / 2 + np.log(priors)
    coef, intercept = class_scores(moments.mean, priors, A)
    np.testing.assert_allclose(X @ coef.T + intercept, expected)
    coef, intercept = class_scores(moments.mean, priors, A, center)  # minus what all classes have in common
    seen = X @ coef.T + intercept
    np.testing.assert_allclose(seen - seen[:, :1], expected - expected[:, :1], atol=1e-9)
