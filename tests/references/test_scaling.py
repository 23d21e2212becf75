"""Agreement with R's cmdscale."""

import numpy as np
import pytest

from lowland import ClassicalMDS
from lowland.data import load_dataset

from .test_references import reference

DISTANCES = ["cmdscale_UScitiesD", "cmdscale_eurodist"]


def up_to_signs(Z, points):
    points = np.array(points)
    return points * np.sign(np.sum(points * Z, axis=0))


def scaled(name, **choices):
    expected = reference(name)
    return expected, ClassicalMDS(metric="precomputed", **choices).fit(np.array(expected["D"], dtype=float))


@pytest.mark.parametrize("name", DISTANCES)
def test_cmdscale(name):
    expected, model = scaled(name, all_eigenvalues=True)
    first = expected["eig"][0]
    np.testing.assert_allclose(model.eigenvalues_, expected["eig"], rtol=1e-10, atol=1e-13 * first)
    np.testing.assert_allclose(model.goodness_of_fit_, expected["GOF"], rtol=1e-12)
    Z = model.embedding_
    np.testing.assert_allclose(Z, up_to_signs(Z, expected["points"]), atol=1e-9)
    assert model.lowest_eigenvalue_ == pytest.approx(min(expected["eig"]), rel=1e-10)


@pytest.mark.parametrize("name", DISTANCES)
def test_goodness_of_fit_in_three_dimensions(name):
    expected, model = scaled(name, n_components=3)
    np.testing.assert_allclose(model.goodness_of_fit_, expected["GOF_k3"], rtol=1e-12)


@pytest.mark.parametrize("name", DISTANCES)
def test_cmdscale_with_the_additive_constant(name):
    expected, model = scaled(name, add_constant=True, all_eigenvalues=True)
    assert model.additive_constant_ == pytest.approx(expected["additive_constant"], rel=1e-11)
    first = expected["eig_add"][0]
    np.testing.assert_allclose(model.eigenvalues_, expected["eig_add"], rtol=1e-10, atol=1e-13 * first)
    np.testing.assert_allclose(model.goodness_of_fit_, expected["GOF_add"], rtol=1e-12)
    Z = model.embedding_
    np.testing.assert_allclose(Z, up_to_signs(Z, expected["points_add"]), atol=1e-9)


def test_the_airports_agree_with_r():
    np.testing.assert_array_equal(load_dataset("airports").X, reference("cmdscale_UScitiesD")["D"])
