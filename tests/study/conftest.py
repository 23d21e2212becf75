"""Shared fixtures: a separate cache folder, iris, and counts of words."""

import importlib
import inspect

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "lowland" / "studies"


@pytest.fixture(scope="session")
def texts():
    """Counts of words in real texts, the documentation of three modules of scipy, and the modules as classes."""
    docs, y = [], []
    for name in ("scipy.linalg", "scipy.ndimage", "scipy.signal"):
        module = importlib.import_module(name)
        for each in vars(module).values():
            doc = inspect.getdoc(each) or ""
            if callable(each) and doc.count(" ") > 80 and each.__module__.startswith(name):
                docs.append(doc)
                y.append(name)
    words = CountVectorizer(stop_words="english", min_df=5, max_features=200, token_pattern="[a-z]{3,}")
    return words.fit_transform(docs).astype(np.float64), np.array(y)
