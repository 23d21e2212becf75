"""Very large and very small units: measures do not depend on the unit, or report that they are undefined."""

import numpy as np
import pytest

from lowland import PCA, quality
from lowland.errors import DataError
from lowland.math.neighbors.ranks import PointSet


def measures(X, Z, y):
    return {
        "trust": quality.trustworthiness(X, Z).value,
        "missed": quality.continuity(X, Z).value,
        "LCMC": quality.lcmc(X, Z).value,
        "area": quality.r_nx_area(X, Z).value,
        "stress": quality.normalized_stress(X, Z).value,
        "Sammon": quality.sammon_stress(X, Z).value,
        "residual": quality.residual_variance(X, Z).value,
        "Spearman": quality.shepard(X, Z).spearman.value,
        "silhouette": quality.silhouette(Z, y).value,
        "hit": quality.neighborhood_hit(Z, y).value,
        "accuracy": quality.nearest_neighbor_accuracy(X, y).value,
        "manhattan": quality.silhouette(X, y, metric="manhattan").value,
        "squared": quality.normalized_stress(X, Z, metric="sqeuclidean").value,
        "seuclidean": quality.normalized_stress(X, Z, metric="seuclidean").value,
        "downstream": quality.downstream_accuracy(Z, y).value,
    }


@pytest.mark.parametrize(
    ("d", "unit", "kind"),
    [(4, u, np.float64) for u in (-1050, -540, 515, 1000)] + [(4, u, np.float32) for u in (-120, 110)]
    + [(30, -660, np.float64), (30, 660, np.float64), (30, -83, np.float32)],
)  # fmt: skip
def test_no_measure_depends_on_the_unit(d, unit, kind):
    rng = np.random.default_rng(d)
    X = (rng.standard_normal((120, d)) * np.linspace(3, 0.3, d)).astype(kind)
    if unit < -1000:
        X = np.round(X * 64) / 64  # such small numbers have few digits
    Z, y = X[:, :2].copy(), (X[:, 0] > 0).astype(int)
    ordinary, found = measures(X, Z, y), measures(np.ldexp(X, unit), np.ldexp(Z, unit), y)
    assert found == pytest.approx(ordinary, rel=1e-9, abs=1e-12)
    every = quality.evaluate(np.ldexp(X, unit), Z, y, sample=60)
    assert [m.high for m in every] == pytest.approx([m.high for m in quality.evaluate(X, Z, y, sample=60)])


def test_measures_with_a_unit_scale_with_it():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    Z = X[:, :2] / 2
    diagram = quality.shepard(X, Z)
    for a, b in ((1e-100, 1e100), (1e120, 1.0), (1.0, 1e-200)):
        far = quality.shepard(a * X, b * Z)
        np.testing.assert_allclose(far.original, a * diagram.original, rtol=1e-9)
        np.testing.assert_allclose(far.embedded, b * diagram.embedded, rtol=1e-9)
        assert far.scale == pytest.approx(diagram.scale * a / b)
    raw = quality.raw_stress(X, Z)
    assert quality.raw_stress(1e-100 * X, Z).value == pytest.approx(1e-200 * raw.value)
    assert quality.raw_stress(1e100 * X, Z, per_row=True).per_row.sum() == pytest.approx(1e200 * raw.value)
    plain = quality.normalized_stress(X, Z, rescale=False).value
    for unit in (1e-200, 1e200):
        assert quality.normalized_stress(unit * X, unit * Z, rescale=False).value == pytest.approx(plain)
    assert quality.normalized_stress(1e200 * X, Z, rescale=False).value == pytest.approx(1)
    assert f"multiplied by {1e100 * diagram.scale:.4g}" in quality.normalized_stress(1e100 * X, Z).about


def test_nan_and_infinity_are_refused():
    X = np.random.default_rng(0).standard_normal((50, 3))
    for unit in (1e-162, 1e155):
        with pytest.raises(DataError, match=r"overflows or underflows.*normalized_stress"):
            quality.raw_stress(unit * X, X)
    with pytest.raises(DataError, match="rescale=True"):
        quality.normalized_stress(1e-200 * X, X, rescale=False)
    with pytest.raises(DataError, match="rescale=True"):
        quality.sammon_stress(1e-200 * X, X, rescale=False)


def test_ordinary_numbers_are_not_copied():
    X = np.random.default_rng(0).standard_normal((50, 3)) * 1e15
    assert PointSet.of(X).X is X
    assert PointSet.of(X * 1e200, lambda a, b: abs(a - b).max()).unit == 1


def test_variance_lost_to_underflow_is_not_explained():
    X = np.random.default_rng(0).standard_normal((50, 3))
    model = PCA(2).fit(X)
    with pytest.raises(DataError, match="variance underflows"):
        quality.explained_variance_fraction(model, 1e-162 * X)
