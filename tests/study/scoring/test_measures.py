"""What is said of scores whose labels the method was fitted to."""

import pytest

import lowland
from lowland.data import load_dataset
from lowland.study.scoring.measures import OF_LABELS


@pytest.fixture(scope="module")
def study():
    iris = load_dataset("iris")
    return lowland.compare(iris.X, iris.y, ["pca", "lda"], cache=False)


def test_scores_that_count_labels_the_method_was_fitted_to_are_marked(study):
    scores = study["LinearDiscriminantAnalysis"].scores
    assert {name for name, score in scores.items() if score.seen} == set(OF_LABELS)
    assert all("has seen these labels" in scores[name].about for name in OF_LABELS)
    assert not any(score.seen for score in study["PCA"].scores.values())
    assert not scores["downstream accuracy"].seen  # fitted without the rows that it asks about


def test_the_mark_survives_on_disk(study, tmp_path):
    from lowland.study import load_study as load_study

    back = load_study(study.save(tmp_path / "study"))
    assert back["LinearDiscriminantAnalysis"].scores["silhouette"].seen
