"""The registry: methods by name, and the index of them."""

import subprocess
import sys

import pytest

import lowland
from lowland.errors import ParameterError
from lowland.methods import registry
from lowland.methods.registry import entries, find_method, load_method


@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "lda", " LDA ", "linear-discriminant_analysis"])
def test_a_method_is_found_by_class_or_verb(name):
    assert find_method(name).name == "LinearDiscriminantAnalysis"
    assert load_method(name) is lowland.LinearDiscriminantAnalysis


def test_every_method_has_a_title_as_people_write_it_and_is_found_by_it():
    titles = {entry.title: entry.name for entry in entries().values()}
    assert len(titles) == len(entries())
    written = {"t-SNE": "TSNE", "spectral embedding": "SpectralEmbedding", "LDA": "LinearDiscriminantAnalysis"}
    assert written.items() <= titles.items()
    assert all(find_method(title).name == name for title, name in titles.items())


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
