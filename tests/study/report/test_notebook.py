"""Studies and trials in notebooks: small tables of escaped text."""

from html.parser import HTMLParser

import numpy as np

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
        if tag in ("td", "th", "caption"):
            self.cells.append("")

    def handle_data(self, data):
        self.cells[-1] += data


TABLE = {"table", "caption", "thead", "tbody", "tr", "th", "td"}


def test_a_study_is_a_table_of_all_trials_best_first():
    study = results.study()
    shown = Reader(study._repr_html_())
    assert set(shown.tags) == TABLE
    assert shown.cells[0] == str(study)
    assert shown.cells.index("PCA") < shown.cells.index("Isomap") < shown.cells.index("Autoencoder")
    assert "trustworthiness ↑" in shown.cells
    assert any(cell.startswith("0.97 (0.958") for cell in shown.cells)
    assert "timed out" in shown.cells
    lines = shown.tags.count("tr")
    assert lines == len(study.trials) + 1


def test_a_trial_shows_its_scores_parameters_and_error():
    study = results.study()
    shown = Reader(study.trials[3]._repr_html_())
    assert shown.cells[0] == study.trials[3].name
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
