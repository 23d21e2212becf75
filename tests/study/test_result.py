"""How a study describes itself."""

import pytest

import lowland
from lowland.errors import ParameterError

FEW = ["pca", "isomap", "lda"]


@pytest.fixture
def study(iris):
    return lowland.compare(iris.X, iris.y, FEW)


def test_a_study_describes_itself(study):
    assert repr(study).startswith("Study of X: 3 of 3 trials done. For visualization, use PCA")
    assert study["pca"] is study["PCA"]
    table = study.scores()
    assert table["trial"] == ["PCA", "Isomap", "LinearDiscriminantAnalysis"]
    assert table["explained variance ratio"][1] is None
    assert table["trustworthiness"][0] == study["PCA"].scores["trustworthiness"].value


def test_a_report_is_written(study, tmp_path):
    assert study.report(tmp_path / "r.html") == tmp_path / "r.html"
    assert study.report(tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")  # replaces the other
    with pytest.raises(ParameterError, match=r"ends in \.html"):
        study.report(tmp_path / "r.pdf")
