"""The example runs, and shows what it says: Fisher's direction separates the classes better than PCA's."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).parents[2] / "examples" / "fisher_against_pca.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("fisher_against_pca", PATH)
    module = sys.modules["fisher_against_pca"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules["fisher_against_pca"]


def test_separation_on_paper(example):
    found = example.separation(np.array([0.0, 2.0, 5.0, 7.0]), np.array([0, 0, 1, 1]))
    assert found.ratio == pytest.approx(25 / 2)  # means 1 and 6, variances 1 and 1
    assert found.right == 1
    assert example.separation(np.array([0.0, 5.0, 1.0, 6.0]), np.array([0, 0, 1, 1])).right == 0.5


@pytest.mark.parametrize("name", ["two_classes", "wine"])
def test_fisher_separates_better(example, name):
    sample = getattr(example, name)()
    pca, fisher = (example.separation(sample.X @ w, sample.y) for w in example.directions(sample))
    assert fisher.ratio > 2 * pca.ratio
    assert fisher.right > pca.right


def test_no_direction_separates_more_than_fishers(example):
    sample = example.two_classes()
    best = example.separation(sample.X @ example.directions(sample)[1], sample.y).ratio
    for angle in np.linspace(0, np.pi, 60):
        w = np.array([np.cos(angle), np.sin(angle)])
        assert example.separation(sample.X @ w, sample.y).ratio <= best * (1 + 1e-9)


def test_it_runs(example, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    example.main()
    assert (tmp_path / "demo" / "fisher_against_pca.png").stat().st_size > 10_000
    assert "Fisher" in capsys.readouterr().out
