"""Tables of counts: recognized, weighted by TF-IDF, and compared by the angles between rows."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

import lowland
from lowland.cli.main import cli
from lowland.data.scales import are_counts


def test_counts_are_told_from_pixels_answers_and_indicators(texts, rng):
    counts = texts[0]
    assert are_counts(counts)
    assert are_counts(counts.toarray())
    assert are_counts(rng.negative_binomial(1, 0.4, (100, 30)) * (rng.random((100, 30)) < 0.5))  # species
    assert not are_counts(load_digits().data)
    assert not are_counts((rng.random((100, 30)) < 0.2).astype(float))  # 0 and 1
    assert not are_counts(np.minimum(rng.poisson(0.5, (100, 30)), 3))  # answers from 0 to 3
    assert not are_counts(rng.standard_normal((100, 30)))
    assert not are_counts(counts.toarray()[:, :10])
    assert not are_counts(sparse.csr_matrix((100, 30)))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_study_of_counts_compares_weights_of_words(texts, kind):
    S, y = texts
    X = S if kind == "sparse" else S.toarray()
    study = lowland.compare(X, y, ["pca"], cache=False)
    weights = TfidfTransformer(sublinear_tf=True).fit_transform(S).toarray()
    expected = lowland.PCA(2).fit_transform(weights)
    np.testing.assert_allclose(study["pca"].Z, expected, atol=1e-5)
    assert all(any("TF-IDF" in sentence for sentence in advice.evidence) for advice in study.advice)
    assert not any("tandardize" in text for advice in study.advice for text in (advice.text, *advice.evidence[:2]))
    np.testing.assert_allclose(study.estimator("pca").fit_transform(X), expected, atol=1e-8)
    model = study.estimator("classify").fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.9
    if kind == "dense":
        assert study.table.values.max() >= 5  # colors show the counts


@pytest.mark.parametrize("kind", ["dense", "sparse", "long"])
def test_a_command_weights_counts_as_a_study_does(texts, kind, tmp_path, monkeypatch):
    """In memory, sparse, and from a file of which only the first rows are looked at."""
    monkeypatch.chdir(tmp_path)
    S, y = texts
    path = "x.npz" if kind == "sparse" else "x.csv"
    if kind == "sparse":
        sparse.save_npz(path, S)
    else:
        pd.DataFrame(S.toarray()).add_prefix("w").to_csv(path, index=False)
    if kind == "long":
        monkeypatch.setattr("lowland.prepare.preparation.CELLS", 4)
        monkeypatch.setattr("lowland.prepare.preparation.LEAST_ROWS", 50)
    expected = lowland.compare(S, y, ["pca"], cache=False)["pca"].Z
    fitted = _run("fit", "pca", path, "-k", "2", "--to", "z.csv", "--model", "m.lowland")
    assert "weighted by TF-IDF" in next(iter(fitted["prepared"].values()))
    Z = pd.read_csv("z.csv").to_numpy()
    np.testing.assert_allclose(Z, expected, atol=1e-5)
    _run("transform", "m.lowland", path, "--to", "again.csv")
    np.testing.assert_allclose(pd.read_csv("again.csv").to_numpy(), Z, atol=1e-8)
    plain = _run("fit", "pca", path, "-k", "2", "--prepare", "none")
    assert plain["prepared"] is None
    other = _run("fit", "kernel-pca", path, "--kernel", "linear", "-k", "2")  # not only PCA
    assert "weighted" in next(iter(other["prepared"].values()))
    if kind == "sparse":
        return
    own = _run("fit", "classical-mds", path, "-k", "2", "--metric", "braycurtis")  # compares counts
    assert own["prepared"] is None


def test_the_baseline_of_counts_is_that_of_a_plain_pipeline(texts):
    S, y = texts
    study = lowland.compare(S, y, ["pca"], cache=False, purpose="classify")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    steps = [TfidfTransformer(sublinear_tf=True), LogisticRegression(C=1.0, max_iter=1000)]
    expected = cross_val_score(make_pipeline(*steps), S, y, cv=folds).mean()
    advised = cross_val_score(study.estimator("classify"), S, y, cv=folds).mean()
    assert advised > expected - 0.02


def test_weights_separate_the_topics_better_than_counts(texts):
    S, y = texts
    found = {scale: lowland.compare(S.toarray(), y, ["pca"], scale=scale, cache=False) for scale in ("auto", "none")}
    accuracy = {scale: study["pca"].scores["downstream accuracy"].value for scale, study in found.items()}
    assert accuracy["auto"] > accuracy["none"] + 0.02
    assert found["none"].table.preparation.counts is None


def test_look_suggests_correspondence_analysis_of_counts(texts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(texts[0].toarray().astype(int)).add_prefix("w").assign(module=texts[1]).to_csv("x.csv", index=False)
    looked = lowland.look("x.csv")
    assert looked.counts
    assert "chi-squared" in str(looked)
    assert "tandardize" not in str(looked)
    command = _run("look", "x.csv")["command"]
    assert command.startswith("lowland fit correspondence-analysis x.csv --label module")
    assert CliRunner().invoke(cli, shlex.split(command)[1:]).exit_code == 0
    assert not lowland.look(load_digits().data).counts


def _run(*words):
    """Run a command, and return what it reports."""
    done = CliRunner().invoke(cli, [*words, "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)
