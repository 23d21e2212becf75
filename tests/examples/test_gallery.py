"""Every script of the gallery runs, and its assertions hold."""

import ast
import importlib.util
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from lowland.methods.registry import entries

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
SHARED = {"__main__", "gallery", "maps", "sheets"}
SCRIPTS = sorted({path.stem for path in EXAMPLES.glob("*.py")} - SHARED)
LONG = {
    "attraction_and_repulsion",
    "density_of_clusters",
    "mnist_four_maps",
    "mnist_three_ways",
    "s_curve",
    "sphere_patch",
    "textbook_question",
    "tsne_perplexity",
}  # make gallery runs them
MOST_LINES = 90


@pytest.fixture
def runner(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    spec = importlib.util.spec_from_file_location("gallery_runner", EXAMPLES / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "gallery_runner", module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in LONG])
def test_the_script_shows_its_result(name, monkeypatch, tmp_path, capsys):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.chdir(tmp_path)
    try:
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    except SystemExit as reason:
        pytest.skip(str(reason))
    assert Path("gallery", f"{name}.png").stat().st_size > 5_000
    assert Path("gallery", f"{name}.txt").read_text(encoding="utf-8").strip() in capsys.readouterr().out


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_short_and_assert(name):
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(text)))


def test_every_script_is_in_the_gallery_once(runner):
    listed = [name for names in runner.CHAPTERS.values() for name in names]
    assert sorted(listed) == SCRIPTS


def test_the_page_lists_every_script_with_its_picture(runner):
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    for name in SCRIPTS:
        assert f"### [{runner.about(name)}](../examples/{name}.py)" in page
    for picture in re.findall(r"\]\((gallery/.*?)\)", page):
        assert (ROOT / "docs" / picture).is_file()


def test_a_script_without_its_data_explains_how_to_get_it(runner, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LOWLAND_DATA", raising=False)
    outcome = runner.run("eigenfaces")
    assert outcome.status == "skipped"
    assert "LOWLAND_DATA" in outcome.words


def test_a_failed_assertion_is_a_failure(runner, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "HERE", tmp_path)
    (tmp_path / "wrong.py").write_text('"""Two is three."""\nassert 2 == 3, "it is not"\n')
    outcome = runner.run("wrong")
    assert outcome.status == "failed"
    assert "it is not" in outcome.words


def test_the_page_of_the_textbooks_question_agrees_with_itself():
    page = (ROOT / "docs" / "textbook-question.md").read_text(encoding="utf-8")
    lines = [line.strip("|").split("|") for line in page.splitlines() if " ± " in line]
    assert {name.strip() for name, *_ in lines[1:]} <= set(entries())
    fractions = np.array([[float(cell.split()[0]) for cell in cells] for _, *cells in lines])
    gains = (fractions[1:] - fractions[0]).sum(axis=1)
    assert np.all(np.diff(gains) < 0.061), "in descending order, up to the rounding of twelve numbers"
    results, worse = fractions[1:].size, page.partition("## The table")[2].count("▼")
    assert f"None of {results} results is significantly better" in page
    assert f"and {worse} are significantly worse" in page
