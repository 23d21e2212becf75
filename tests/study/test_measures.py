"""The measures of an embedding, and the mark of scores that use the labels to which the method was fitted."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import lowland
from lowland.data import load_dataset
from lowland.study import load_study
from lowland.study.result import Score
from lowland.study.significance import above, correct_only_in, differ, score_of_choice, ties, worse
from lowland.trial.prediction import accuracy_of_rows
from lowland.trial.scores import OF_LABELS, fidelity


@pytest.fixture(scope="module")
def study():
    iris = load_dataset("iris")
    return lowland.compare(iris.X, iris.y, ["pca", "lda"], cache=False)


def test_a_supervised_map_is_judged_on_rows_placed_out_of_fold(study):
    scores = study["LinearDiscriminantAnalysis"].scores
    assert not any(score.labels_seen for trial in study.trials for score in trial.scores.values())
    assert all(scores[name].held_out and "fitted without them" in scores[name].about for name in OF_LABELS)
    assert "fitted without the held-out rows" in scores["downstream accuracy"].about
    assert not study["PCA"].scores["silhouette"].held_out
    rng = np.random.default_rng(0)  # nothing to learn, and enough columns to learn it by heart
    X, y = rng.standard_normal((80, 75)), np.arange(80) % 2
    Z = lowland.LinearDiscriminantAnalysis(n_components=1).fit(X, y).transform(X)
    assert lowland.quality.neighborhood_hit(Z, y).value > 0.9
    noise = lowland.compare(X, y, ["lda"], k=1, cache=False)["LinearDiscriminantAnalysis"].scores
    assert noise["neighborhood hit"].value < 0.65
    assert noise["silhouette"].value < 0.1


def test_scores_on_training_labels_are_marked(tmp_path):
    rng = np.random.default_rng(0)
    few = lowland.compare(rng.standard_normal((20, 3)), np.arange(20) % 2, ["lda"], k=1, cache=False)
    scores = few["LinearDiscriminantAnalysis"].scores  # too few rows in each fold
    assert {name for name, score in scores.items() if score.labels_seen} == set(OF_LABELS)
    assert all("fitted to these labels" in scores[name].about for name in OF_LABELS)
    back = load_study(few.save(tmp_path / "study"))
    assert back["LinearDiscriminantAnalysis"].scores["silhouette"].labels_seen


def test_neighbors_preserved_per_row(study, iris):
    from sklearn.neighbors import NearestNeighbors

    Z = lowland.PCA(2).fit_transform(iris.X)
    kept = [
        len(set(a) & set(b)) / 10
        for a, b in zip(*(NearestNeighbors(n_neighbors=10).fit(A).kneighbors()[1] for A in (iris.X, Z)), strict=True)
    ]
    found = study["PCA"].per_row["neighbors preserved"]
    assert np.mean(np.abs(found - kept) > 1e-6) < 0.1  # duplicate rows may be ordered differently
    assert study["PCA"].scores["neighbors preserved"].value == pytest.approx(np.mean(found), abs=1e-6)
    trust = study["PCA"].per_row["trustworthiness"]
    assert study["PCA"].scores["trustworthiness"].value == pytest.approx(np.mean(trust), abs=1e-6)


def test_fidelity_is_the_mean_of_neighborhoods_and_distances(study):
    scores = study["PCA"].scores
    mean = (scores["area under R_NX"].value + scores["Pearson correlation"].value) / 2
    assert scores["fidelity"].value == pytest.approx(mean)
    assert scores["fidelity"].low is None  # all rows were compared
    sampled = fidelity(Score(0.4, "higher", ""), Score(0.8, "higher", "", 0.7, 0.86))
    assert (sampled.value, sampled.low, sampled.high) == pytest.approx((0.6, 0.55, 0.63))


def test_the_advised_map_of_real_data_beats_the_one_that_only_preserves_neighborhoods():
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import minmax_scale

    X, y = load_breast_cancer(return_X_y=True)
    found = lowland.compare(minmax_scale(X)[::2], y[::2], ["tsne", "mds"], cache=False)
    names = ("trustworthiness", "continuity", "Spearman correlation", "neighborhood hit")
    quality = {t.name: np.mean([t.scores[name].value for name in names]) for t in found.trials}
    assert found["TSNE"].scores["area under R_NX"].value > found["MDS"].scores["area under R_NX"].value + 0.02
    assert quality["MDS"] > quality["TSNE"] + 0.02
    assert found.advice[0].trial == "MDS"
    assert "If only neighborhoods matter, as in the search for clusters, use t-SNE" in found.advice[0].text


def test_measures_that_cannot_be_computed_are_explained(rng, monkeypatch):
    from lowland.methods.pca import PCA

    monkeypatch.setattr(PCA, "transform", lambda self, X: np.zeros((len(X), 2)))
    (trial,) = lowland.compare(rng.standard_normal((30, 3)), None, ["pca"], cache=False).trials
    assert trial.status == "done"
    assert trial.warnings[-1].startswith("Not evaluated: All rows of `Z` are equal")


def test_rows_without_coordinates_are_reported_and_not_advised(rng):
    near = np.column_stack([rng.uniform(0, 10, (70, 2)), 0.01 * rng.standard_normal((70, 4))])
    X = np.concatenate([near, 2 * rng.standard_normal((60, 6)) + 60])
    study = lowland.compare(X, None, ["pca", "mds"], sweep={"isomap.disconnected": ["largest"]}, cache=False)
    half = study["Isomap disconnected=largest"]
    assert half.n_excluded == 60
    assert np.isnan(half.Z[70:]).all()
    assert np.isnan(half.per_row["neighbors preserved"][70:]).all()
    assert any("60 of 130 rows have no coordinates" in words for words in half.warnings)
    assert study.advice[0].method != "Isomap"


# --- significance ---


def score(value, low=None, high=None):
    return Score(value, "higher", "About it.", low, high)


def accuracy(n_correct, only=0, n=200):
    """An accuracy of n held-out rows: the first are classified correctly, and some more at the end, only here."""
    rows = np.zeros(n, dtype=bool)
    rows[:n_correct], rows[n - only :] = True, True
    return Score(float(rows.mean()), "higher", "About it.", 0.0, 1.0, n, np.packbits(rows).tobytes().hex())


def test_significance_depends_on_rows_that_only_one_trial_classifies_correctly():
    a, b = accuracy(150, 2), accuracy(160)
    assert correct_only_in(a, b) == (2, 10)
    assert differ(a, b)  # exactly 0.039
    assert worse(a, b)
    assert not worse(b, a)
    assert differ(accuracy(150, 3), accuracy(160)) is False  # 0.09
    assert ties(accuracy(150, 3), accuracy(160))
    assert not ties(accuracy(150, 5), accuracy(170))  # 0.075 apart
    assert ties(a, a)


def test_others_differ_by_their_intervals_or_by_the_margin():
    assert differ(score(0.5, 0.4, 0.6), score(0.65, 0.61, 0.7))
    assert differ(score(0.5, 0.4, 0.6), score(0.55, 0.5, 0.6)) is False
    assert differ(score(0.5), score(0.55)) is None
    assert worse(score(0.5), score(0.55))
    assert ties(score(0.5), score(0.51))
    assert not worse(score(0.5), score(0.51))


@given(st.integers(1, 60), st.data())
def test_counts_agree_with_the_rows(n, data):
    a, b = (np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n))) for _ in range(2))
    scores = [Score(float(r.mean()), "higher", "", None, None, n, np.packbits(r).tobytes().hex()) for r in (a, b)]
    assert correct_only_in(*scores) == (int(np.sum(a & ~b)), int(np.sum(b & ~a)))
    exact = binomtest(int(np.sum(a & ~b)), max(1, int(np.sum(a ^ b))), 0.5).pvalue < 0.05 if (a ^ b).any() else False
    assert differ(*scores) == exact
    assert above(scores[0], 0.3) == (binomtest(int(a.sum()), n, 0.3, alternative="greater").pvalue < 0.025)


def test_the_score_of_the_best_of_many_is_unbiased_and_its_interval_holds():
    """Twelve methods that are right in nine of ten rows."""
    rng, fold = np.random.default_rng(0), np.arange(60) % 5
    found = []
    for _ in range(40):
        scores = [accuracy_of_rows(rng.random(60) < 0.9, fold, "") for _ in range(12)]
        found.append(score_of_choice(lambda by: max(map(by, scores), key=lambda s: s.value), scores[0]))  # noqa: B023
    assert np.mean([each.value for each in found]) == pytest.approx(0.9, abs=0.02)
    assert np.std([each.value for each in found]) < 0.05  # of a single method: 0.039
    assert np.mean([each.low <= 0.9 <= each.high for each in found]) >= 0.9


def test_the_stability_of_the_leading_maps_tells_structure_from_noise(iris, rng):
    found = [lowland.compare(X, None, ["pca", "tsne"], cache=False) for X in (iris.X, rng.standard_normal((150, 20)))]
    stable, unstable = ({t.name: t.scores["stability"].value for t in study.trials} for study in found)
    assert min(stable.values()) > 0.8
    assert unstable["TSNE"] < 0.5
    assert all(
        t.scores["stability"].low <= t.scores["stability"].value <= t.scores["stability"].high for t in found[0].trials
    )
    assert "not stable" not in found[0].advice[0].text
    assert "looks like noise" in found[1].advice[0].text


def test_stability_is_the_same_from_the_cache_and_in_a_worker(iris):
    first, again = (lowland.compare(iris.X, None, ["pca", "isomap"], cache=True) for _ in range(2))
    other = lowland.compare(iris.X, None, ["pca", "isomap"], cache=False, worker=True)
    for name in ("PCA", "Isomap"):
        assert first[name].scores == again[name].scores
        assert again[name].cached
        assert other[name].scores["stability"] == first[name].scores["stability"]
