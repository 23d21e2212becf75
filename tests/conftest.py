"""Fixtures of all tests."""

import gc
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import sklearn
from hypothesis import settings
from sklearn.utils.fixes import parse_version

os.environ.setdefault("SCIPY_ARRAY_API", "1")
settings.register_profile("lowland", settings(), deadline=None)  # no deadline: a busy machine is slow
settings.load_profile("lowland")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without the garbage collector: all is kept, and looking through it again and again takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _ctrl_c():
    """Ctrl-C as in a terminal, also in processes that tests start: background jobs of a shell ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _global_seed():
    """Seed numpy's global generator, from which random_state=None draws: a test gives the same result every time."""
    np.random.seed(0)


def pytest_runtest_setup(item):
    """Skip what compares with a newer scikit-learn than the one that is installed: ``scikit_learn("1.9")``."""
    for mark in item.iter_markers("scikit_learn"):
        if parse_version(sklearn.__version__) < parse_version(mark.args[0]):
            pytest.skip(f"compares with scikit-learn {mark.args[0]}")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def iris():
    from lowland.data import load_dataset

    return load_dataset("iris")


@pytest.fixture(scope="session")
def wine():
    from lowland.data import load_dataset

    return load_dataset("wine")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = os.environ.get("LOWLAND_DATA")
    if not folder:
        pytest.skip("LOWLAND_DATA is not set")
    return Path(folder)
