"""Small classic data sets: their known numbers."""

import os

import numpy as np
import pytest

from lowland import data as samples

FOLDER = os.environ.get("LOWLAND_DATA")


def needs_folder(test):
    return pytest.mark.data(pytest.mark.skipif(not FOLDER, reason="LOWLAND_DATA is not set")(test))


def table(file, **options):
    return np.loadtxt(os.path.join(FOLDER, file), delimiter=",", **options)


def test_the_airports_are_a_distance_matrix():
    sample = samples.load_dataset("airports")
    D = sample.X
    assert sample.names == ("ATL", "ORD", "DEN", "HOU", "LAX", "MIA", "JFK", "SFO", "SEA", "IAD")
    assert sample.y is None
    assert sample.kind == "distances"
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_array_equal(np.diag(D), 0)
    # great circles obey the triangle inequality, up to rounding to integer miles
    assert (D[:, None, :] <= D[:, :, None] + D[None, :, :] + 2).all()
    assert D[6, 4] == 2451


@needs_folder
def test_the_airports_are_the_shared_file():
    D = table("airports10_UScitiesD.csv", skiprows=1, usecols=range(1, 11))
    np.testing.assert_array_equal(samples.load_dataset("airports").X, D)


@needs_folder
def test_wine_is_the_shared_file():
    np.testing.assert_array_equal(samples.load_dataset("wine").X, table("wine.csv", skiprows=1, usecols=range(13)))


@pytest.mark.parametrize(
    ("name", "shape", "classes"), [("iris", (150, 4), 3), ("wine", (178, 13), 3), ("digits", (1797, 64), 10)]
)
def test_small_included_data_sets(name, shape, classes):
    sample = samples.load_dataset(name)
    assert sample.X.shape == shape
    assert sample.X.dtype == np.float64
    assert len(sample.label_names) == classes
