"""Data sets: shipped ones, those of the folder, and the catalog."""

import os
import subprocess
import sys

import numpy as np
import pytest

from lowland import data as samples
from lowland.errors import FileProblem, MissingFile, ParameterError

# --- every data set by name: consistent, described, and suggested for similar names ---


FOLDER = os.environ.get("LOWLAND_DATA")


@pytest.mark.parametrize("name", samples.available())
def test_every_data_set_is_consistent_or_reports_what_is_missing(name):
    assert "\n" not in samples.available()[name]
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


@pytest.mark.parametrize(
    ("wrong", "right"), [("swissroll", "swiss_roll"), ("Iris", "iris"), ("isomap-faces", "isomap_faces")]
)
def test_an_unknown_name_suggests_the_closest_and_lists_all(wrong, right):
    with pytest.raises(ParameterError, match=f"Did you mean '{right}'") as problem:
        samples.load_dataset(wrong)
    assert all(name in str(problem.value) for name in samples.available())


def test_unknown_options_are_refused():
    with pytest.raises(ParameterError, match=r"no option 'rows'.*n, noise, seed"):
        samples.load_dataset("sphere", rows=3)
    with pytest.raises(ParameterError, match="no options"):
        samples.load_dataset("iris", n=3)


def test_the_import_is_light():
    code = (
        "import sys, lowland.data as s; s.available(); s.swiss_roll(10);"
        "print([m for m in ('sklearn', 'scipy', 'pandas', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- a data set unpacks into rows and labels, and describes itself ---


def test_a_sample_unpacks_and_describes_itself():
    sample = samples.load_dataset("iris")
    X, y = sample
    assert X is sample.X
    assert y is sample.y
    assert "150 × 4" in repr(sample)
    assert sample.label_names == ("setosa", "versicolor", "virginica")


# --- real sets from a folder: their shapes, and what is reported when a file is missing or damaged ---


def needs_folder(test):
    return pytest.mark.data(pytest.mark.skipif(not FOLDER, reason="LOWLAND_DATA is not set")(test))


def test_options_of_real_sets_are_checked_before_their_files():
    with pytest.raises(ParameterError, match="Did you mean 'train'"):
        samples.load_dataset("mnist", split="trian")
    with pytest.raises(ParameterError, match="speech, music, hard_speech"):
        samples.load_dataset("cocktail", recording="party")
    with pytest.raises(ParameterError, match="300 or 1000"):
        samples.load_dataset("swiss_roll_fixed", n=500)


def test_a_missing_folder_or_file_is_named_with_the_variable(monkeypatch, tmp_path):
    monkeypatch.delenv("LOWLAND_DATA", raising=False)
    with pytest.raises(MissingFile, match=r"LOWLAND_DATA is not set\. Set LOWLAND_DATA to the folder.*mnist_test"):
        samples.load_dataset("mnist", split="test")
    monkeypatch.setenv("LOWLAND_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(MissingFile, match=r"folder does not exist.*frey\.npz"):
        samples.load_dataset("frey")
    monkeypatch.setenv("LOWLAND_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"yeast\.csv is not in it.*set LOWLAND_DATA"):
        samples.load_dataset("yeast")


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("frey", "frey.npz", b"not a zip"),
        ("frey", "frey.npz", b"PK\x03\x04 broken"),
        ("frey", "frey.npz", b""),
        ("height_weight", "height_weight.csv", b"sex,height_in\nM,tall\n"),
        ("height_weight", "height_weight.csv", b"height_in,weight_lb\n60,120\n"),
        ("foetal_ecg", "foetal_ecg.csv.gz", b"\x1f\x8b broken"),
    ],
)
def test_a_damaged_file_is_named(name, file, content, monkeypatch, tmp_path):
    (tmp_path / file).write_bytes(content)
    monkeypatch.setenv("LOWLAND_DATA", str(tmp_path))
    with pytest.raises(FileProblem, match=f"{file} cannot be read"):
        samples.load_dataset(name)


def test_a_pickle_inside_an_archive_is_not_opened(monkeypatch, tmp_path):
    np.savez(tmp_path / "frey.npz", X=np.array([{"a": 1}], dtype=object))
    monkeypatch.setenv("LOWLAND_DATA", str(tmp_path))
    with pytest.raises(FileProblem, match="allow_pickle=False"):
        samples.load_dataset("frey")


@needs_folder
def test_the_randu_of_r_lies_near_the_planes():
    planes = samples.load_dataset("randu_r").X @ [9, -6, 1]
    assert np.abs(planes - planes.round()).max() < 8.1e-6
    assert sorted(set(planes.round())) == list(range(-5, 10))


@needs_folder
@pytest.mark.parametrize(
    ("name", "options", "shape", "dtype"),
    [
        ("mnist", {"split": "test"}, (10000, 784), np.uint8),
        ("olivetti", {}, (400, 4096), np.uint8),
        ("frey", {}, (1965, 560), np.uint8),
        ("isomap_faces", {}, (698, 1024), np.float32),
        ("yeast", {}, (1484, 8), np.float64),
        ("eurodist", {}, (21, 21), np.float64),
        ("cocktail", {"recording": "hard_speech"}, (300000, 2), np.float64),
        ("swiss_roll_fixed", {"n": 300}, (300, 3), np.float64),
    ],
)
def test_real_sets_have_their_shape_and_compact_numbers(name, options, shape, dtype):
    X, _ = samples.load_dataset(name, **options)
    assert X.shape == shape
    assert X.dtype == dtype


@needs_folder
def test_real_sets_have_the_expected_class_counts():
    yeast = samples.load_dataset("yeast")
    assert yeast.label_names[0] == "CYT"
    assert np.bincount(yeast.y)[0] == 463
    people = samples.load_dataset("height_weight")
    assert dict(zip(people.label_names, np.bincount(people.y), strict=True)) == {"F": 137, "M": 73}
    np.testing.assert_array_equal(np.bincount(samples.load_dataset("olivetti").y), 10)


@needs_folder
def test_the_sources_explain_the_mixtures():
    sample = samples.load_dataset("ica_mixed")
    sources = np.column_stack([sample.truth, np.ones(2000)])
    fitted = sources @ np.linalg.lstsq(sources, sample.X, rcond=None)[0]
    np.testing.assert_allclose(fitted, sample.X, atol=1e-6)


# --- small classic data sets: their known numbers ---


def table(file, **options):
    return np.loadtxt(os.path.join(FOLDER, file), delimiter=",", **options)


@needs_folder
def test_the_airports_are_the_shared_file():
    D = table("airports10_UScitiesD.csv", skiprows=1, usecols=range(1, 11))
    np.testing.assert_array_equal(samples.load_dataset("airports").X, D)


@needs_folder
def test_wine_is_the_shared_file():
    np.testing.assert_array_equal(samples.load_dataset("wine").X, table("wine.csv", skiprows=1, usecols=range(13)))
