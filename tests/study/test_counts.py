"""Tables of counts: recognized, weighted by TF-IDF, and compared by the angles between rows."""

import importlib
import inspect
import json
import shlex

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

import lowland
from lowland.cli.main import cli
from lowland.data.scales import are_counts


@pytest.fixture(scope="module")
def texts():
    """Counts of words in real texts, the documentation of three modules of scipy, and the modules as classes."""
    docs, y = [], []
    for name in ("scipy.linalg", "scipy.ndimage", "scipy.signal"):
        module = importlib.import_module(name)
        for each in vars(module).values():
            doc = inspect.getdoc(each) or ""
            if callable(each) and doc.count(" ") > 80 and each.__module__.startswith(name):
                docs.append(doc)
                y.append(name)
    words = CountVectorizer(stop_words="english", min_df=5, max_features=200, token_pattern="[a-z]{3,}")
    return words.fit_transform(docs).astype(np.float64), np.array(y)


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
    command = json.loads(CliRunner().invoke(cli, ["look", "x.csv", "--json"]).stdout)["command"]
    assert command.startswith("lowland fit correspondence-analysis x.csv --label module")
    assert CliRunner().invoke(cli, shlex.split(command)[1:]).exit_code == 0
    assert not lowland.look(load_digits().data).counts
