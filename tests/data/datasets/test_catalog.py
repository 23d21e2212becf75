"""Every data set by name: consistent, described, and suggested for similar names."""

import os
import subprocess
import sys

import numpy as np
import pytest

from lowland import data as samples
from lowland.errors import MissingFile, ParameterError

FOLDER = os.environ.get("LOWLAND_DATA")


@pytest.mark.parametrize("name", samples.available())
def test_every_data_set_is_consistent_or_reports_what_is_missing(name):
    try:
        sample = samples.load_dataset(name)
    except MissingFile as problem:
        sample, message = None, str(problem)
    if sample is None:
        assert "LOWLAND_DATA" in message
        assert "LOWLAND_DATA" in samples.available()[name]
        return
    n, d = sample.X.shape
    assert sample.about.endswith(".")
    assert len(sample.names) == d
    assert len(set(sample.names)) == d
    assert np.isfinite(sample.X).all()
    if sample.y is not None:
        assert sample.y.shape == (n,)
    if sample.label_names is not None:
        assert sample.y.dtype == np.int64
        assert set(sample.y) == set(range(len(sample.label_names)))
    if sample.truth is not None:
        assert len(sample.truth) == n
    if sample.image_shape is not None:
        assert sample.image_shape[0] * sample.image_shape[1] == d
    if sample.kind != "rows":
        assert n == d
        np.testing.assert_array_equal(sample.X, sample.X.T)


@pytest.mark.parametrize("name", samples.available())
def test_descriptions_are_one_line(name):
    line = samples.available()[name]
    assert len(line) > 20
    assert "\n" not in line


@pytest.mark.parametrize(
    ("wrong", "right"), [("swissroll", "swiss_roll"), ("Iris", "iris"), ("isomap-faces", "isomap_faces")]
)
def test_an_unknown_name_suggests_the_closest_and_lists_all(wrong, right):
    with pytest.raises(ParameterError, match=f"Did you mean '{right}'") as problem:
        samples.load_dataset(wrong)
    assert all(name in str(problem.value) for name in samples.available())


def test_a_name_like_no_other_gets_no_suggestion():
    with pytest.raises(ParameterError, match=r"There is no data set.*Choose.*iris"):
        samples.load_dataset("qqqqqq")


def test_unknown_options_are_refused():
    with pytest.raises(ParameterError, match=r"no option 'rows'.*n, noise, seed"):
        samples.load_dataset("sphere", rows=3)
    with pytest.raises(ParameterError, match="no options"):
        samples.load_dataset("iris", n=3)


def test_options_reach_the_generator():
    np.testing.assert_array_equal(samples.load_dataset("sphere", n=5, d=4, seed=9).X, samples.sphere(5, d=4, seed=9).X)


def test_the_import_is_light():
    code = (
        "import sys, lowland.data as s; s.available(); s.swiss_roll(10);"
        "print([m for m in ('sklearn', 'scipy', 'pandas', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
