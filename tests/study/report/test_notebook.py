"""Studies and trials in notebooks: small tables of escaped text."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd

import lowland
from lowland import PCA
from lowland.plain import html_table

from . import results


class Reader(HTMLParser):
    """The tags and the cells of a table."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.cells = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes = [*getattr(self, "attributes", []), *(name for name, _ in attrs)]
        if tag in ("td", "th", "p", "li"):
            self.cells.append("")

    def handle_data(self, data):
        self.cells[-1] += data


TABLE = {"table", "p", "thead", "tbody", "tr", "th", "td"}


def test_a_study_is_a_table_of_all_trials_best_first():
    study = results.study()
    shown = Reader(study._repr_html_())
    assert set(shown.tags) == TABLE
    assert shown.cells[0] == str(study).split("\n")[0]
    assert all(advice.text in shown.cells for advice in study.advice)  # not only the first
    assert all(advice.text in str(study) for advice in study.advice)
    assert shown.cells.index("PCA") < shown.cells.index("Isomap") < shown.cells.index("autoencoder")
    assert "trustworthiness ↑" in shown.cells
    assert any(cell.startswith("0.97 (0.958") for cell in shown.cells)
    assert "timed out" in shown.cells
    lines = shown.tags.count("tr")
    done = [trial for trial in study.trials if trial.status != "left out"]
    assert lines == len(done) + len(study.advice) + 1


def test_advice_scores_and_choices_are_tables():
    study = results.study()
    advice, score = study.advice[0], study.trials[0].scores["trustworthiness"]
    shown = Reader(advice._repr_html_())
    assert advice.text in shown.cells
    assert set(shown.tags) <= TABLE | {"ul", "li"}
    assert f"{score.low:.4g} to {score.high:.4g}" in Reader(score._repr_html_()).cells
    pca = PCA(0.9).fit(np.random.default_rng(0).standard_normal((30, 4)))
    assert pca.choice_.reason in Reader(pca.choice_._repr_html_()).cells
    looked = Reader(lowland.look(pd.DataFrame({"a<b": [1.5, 2.5, None], "kind": ["x", "y", "x"]}))._repr_html_())
    assert {"a<b", "Kind", "kind"} <= set(looked.cells)
    assert set(looked.tags) <= TABLE | {"ul", "li"}


def test_a_trial_shows_its_scores_parameters_and_error():
    study = results.study()
    shown = Reader(study.trials[3]._repr_html_())
    assert shown.cells[0] == study.trials[3].title
    assert "n_components=2, n_neighbors=13" in shown.cells
    assert "stress ↓" in shown.cells
    assert any("did not converge" in cell for cell in shown.cells)
    failed = Reader(results.WITHOUT[0]._repr_html_())
    assert any("Choose at most 149" in cell for cell in failed.cells)


def test_text_is_escaped_and_nothing_is_loaded():
    study = results.nasty()
    for text in (study._repr_html_(), *(trial._repr_html_() for trial in study.trials)):
        shown = Reader(text)
        assert set(shown.tags) <= TABLE
        assert set(shown.attributes) <= {"style"}
    assert results.SCRIPT in Reader(study._repr_html_()).cells


def test_values_that_are_missing_are_dashes():
    study = results.gaps()
    assert study.trials[0].scores["stress"].value != study.trials[0].scores["stress"].value
    assert "nan" not in study._repr_html_()
    assert "nan" not in study.trials[0]._repr_html_()
    assert np.isnan(study.trials[0].Z).any()


def test_a_long_caption_is_not_as_narrow_as_its_table():
    shown = html_table([("reliable", "82%")], caption="82% of the points keep their neighbors. " * 9)
    assert shown.index("82% of") < shown.index("<table")
