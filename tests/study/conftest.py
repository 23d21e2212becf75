"""Shared fixtures: a separate cache folder, and iris."""

import pytest

from lowland.data import load_dataset


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "lowland" / "studies"


@pytest.fixture(scope="session")
def iris():
    return load_dataset("iris")
