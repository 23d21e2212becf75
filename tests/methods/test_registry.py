"""The registry: methods by name, and a method that is one new file."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lowland
from lowland.errors import ParameterError
from lowland.methods import registry
from lowland.methods.registry import entries, find_method, load_method

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "lda", " LDA ", "linear-discriminant_analysis"])
def test_a_method_is_found_by_class_or_verb(name):
    assert find_method(name).name == "LinearDiscriminantAnalysis"
    assert load_method(name) is lowland.LinearDiscriminantAnalysis


def test_an_unknown_name_is_reported_with_the_closest_and_all_names():
    with pytest.raises(
        ParameterError, match=r"no method 'isomaps'\. Did you mean 'isomap'\?.*agglomerate, .*whitening"
    ):
        find_method("isomaps")
    with pytest.raises(ParameterError, match=r"no method 'zzz'\. Available methods: "):
        find_method("zzz")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The file that keeps the index, in an empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return registry._cache_path()


def test_the_index_is_kept_until_a_source_file_changes(cache, monkeypatch):
    first = entries.__wrapped__()
    assert cache.exists()
    with monkeypatch.context() as patch:
        patch.setattr(registry, "build_entries", lambda: pytest.fail("not read from the cache"))
        assert entries.__wrapped__() == first
    monkeypatch.setattr(registry, "_stamp", lambda: "changed")
    monkeypatch.setattr(registry, "build_entries", lambda: list(first.values())[:3])
    assert len(entries.__wrapped__()) == 3


@pytest.mark.parametrize("text", ["", "{}", '{"stamp": ', '{"stamp": "STAMP", "methods": [{"name": 3}]}'])
def test_a_damaged_index_is_made_again(cache, text):
    cache.parent.mkdir(parents=True)
    cache.write_text(text.replace("STAMP", registry._stamp()), encoding="utf-8")
    assert entries.__wrapped__() == entries()


def test_without_a_cache_folder_methods_are_found(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # no folder can be made in a file
    assert entries.__wrapped__() == entries()


def test_classes_are_found_and_listed_without_the_index():
    assert list(registry.method_names()) == sorted(entries())
    program = "import lowland; lowland.PCA, dir(lowland); print(lowland.methods.registry.entries.cache_info())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "misses=0" in done.stdout


NEW_METHOD = """
import sys
import numpy as np
from click.testing import CliRunner
import lowland
from lowland.cli.main import cli
from lowland.study.plan import StudySize, plan

def run(*words):
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    return result.stdout

X = np.random.default_rng(0).standard_normal((80, 6))
np.save("x.npy", X)
assert lowland.__file__.startswith(sys.argv[1])
assert "random-projection" in run("methods")
assert "--random-state" in run("fit", "random-projection", "--help")
run("fit", "random-projection", "x.npy", "-k", "3", "--random-state", "0", "--to", "z.npy", "--model", "m.lowland")
model = lowland.RandomProjection(3, random_state=0).fit(X)
np.testing.assert_array_equal(np.load("z.npy"), model.transform(X))
loaded = lowland.load("m.lowland")
assert type(loaded) is lowland.RandomProjection and "RandomProjection" in dir(lowland)
np.testing.assert_array_equal(loaded.transform(X), model.transform(X))
trials = {trial.method: trial for trial in plan(StudySize(80, 6, 2))}
assert trials["RandomProjection"].why_left_out is None and trials["RandomProjection"].parameters["n_components"] == 2
"""


def test_a_new_method_is_one_file(tmp_path):
    """The random projection of the contributing guide, added as a file without other changes."""
    package, compiled = Path(lowland.__file__).parent, shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, tmp_path / "src/lowland", ignore=compiled)
    page = (ROOT / "docs" / "develop" / "add_a_method.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    (tmp_path / "src/lowland/methods/random_projection.py").write_text(text, encoding="utf-8")
    program = [sys.executable, "-c", NEW_METHOD, str(tmp_path)]
    done = subprocess.run(
        program, cwd=tmp_path, capture_output=True, text=True,
        env={"PYTHONPATH": str(tmp_path / "src"), "PATH": "", "XDG_CACHE_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
