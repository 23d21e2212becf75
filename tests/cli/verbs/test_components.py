"""``lowland show`` and ``lowland completion``."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import lowland as library


@pytest.fixture
def models(lowland):
    assert lowland("sample", "wine", "--label-column", "--to", "wine.csv").exit_code == 0
    for words in (("pca", "-k", 4), ("lda",), ("factor-analysis", "-k", 2)):
        result = lowland("fit", *words, "wine.csv", "--label", "label", "--model", f"{words[0]}.lowland")
        assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize(
    ("name", "attribute"), [("pca", "components_"), ("lda", "scalings_"), ("factor-analysis", "loadings_")]
)
def test_loadings_are_those_of_the_model(lowland, models, name, attribute):
    facts = json.loads(lowland("show", f"{name}.lowland", "--json").stdout)
    model = library.load(f"{name}.lowland")
    own = getattr(model[-1] if hasattr(model, "steps") else model, attribute)
    L = np.asarray(facts["loadings"])
    np.testing.assert_array_equal(L, own.T if attribute == "components_" else own)
    assert len(L) == len(facts["columns"]) == 13
    assert facts["columns"][0] == "alcohol"
    text = lowland("show", f"{name}.lowland", "-k", 1).stdout
    assert f"{L[0, 0]:+.3f}" in text
    assert f"{L[0, 1]:+.3f}" not in text.split("\n")[text.split("\n").index("Loadings") + 2]


def test_the_largest_loadings_of_many_columns(lowland):
    X = np.random.default_rng(0).standard_normal((200, 60)) * np.arange(1, 61)
    np.save("wide.npy", X)
    assert lowland("fit", "pca", "wide.npy", "-k", 1, "--prepare", "none", "--model", "m").exit_code == 0
    lines = lowland("show", "m").stdout.split("\n")
    shown = lines[lines.index("Loadings") + 2 :]
    axis = np.abs(library.load("m").components_[0])
    assert [line.split()[0] for line in shown[:40]] == [f"x{j}" for j in np.argsort(-axis)[:40]]
    assert "largest loadings, of 60" in shown[40]


def test_figures(lowland, models):
    assert lowland("show", "pca.lowland", "--to", "both.png").exit_code == 0
    assert Path("both.png").read_bytes()[:4] == b"\x89PNG"
    assert lowland("show", "factor-analysis.lowland", "--to", "both.svg").exit_code == 0
    assert "component 2" in Path("both.svg").read_text(encoding="utf-8")
    assert "already exists" in lowland("show", "pca.lowland", "--to", "both.png").stderr
    assert ".svg" in lowland("show", "pca.lowland", "--to", "both.doc").stderr


def test_a_map_without_loadings_names_describe(lowland, models):
    assert lowland("fit", "isomap", "wine.csv", "--label", "label", "--model", "isomap.lowland").exit_code == 0
    assert "lowland describe" in lowland("show", "isomap.lowland").stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_valid(lowland, shell):
    script = lowland("completion", shell).stdout
    assert "_LOWLAND_COMPLETE" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_completion_completes_commands(process):
    asked = {**os.environ, "_LOWLAND_COMPLETE": "bash_complete", "COMP_WORDS": "lowland comp", "COMP_CWORD": "1"}
    assert set(process(env=asked).stdout.split()) == {"plain,compare", "plain,completion"}
