"""What a method has to tell besides: on the screen in few digits, in JSON whole."""

import json

import numpy as np
import pytest

import lowland as ll
from lowland.cli.outputs import refusal_of_coordinates
from lowland.cli.show import in_words
from lowland.data import load
from lowland.data.write import write_chunks
from lowland.methods.registry import entries, load_method


@pytest.fixture
def wine() -> str:
    data = load("wine")
    write_chunks([data.X], "wine.csv", list(data.names))
    return "wine.csv"


def told(lowland, *words):
    """The facts of a fit as JSON, and the text that a model saved by the same fit shows."""
    result = lowland(*words, "--model", "m", "--force", "--json")
    assert result.exit_code == 0, result.stderr or result.stdout
    return json.loads(result.stdout), lowland("inspect", "m").stdout


def test_discriminants(lowland, labelled, X):
    facts, text = told(lowland, "fit", "lda", labelled, "--label", "way")
    lda = ll.load("m")
    assert facts["facts"]["rows of classes"] == {"down": int((X[:, 0] <= 0).sum()), "up": int((X[:, 0] > 0).sum())}
    assert facts["facts"]["rank within classes"] == 4
    assert facts["facts"]["deviation between/within"] == lda.singular_values_.tolist()
    assert f"{lda.singular_values_[0]:.4g}" in text
    assert "Shares of the variance between classes" in text


def test_factors(lowland, wine):
    facts, text = told(lowland, "fit", "factor-analysis", wine, "-k", 3)
    fa = ll.load("m")
    assert facts["facts"]["chi-square of fit"] == fa.fit_test_.statistic
    assert facts["facts"]["KMO"] == fa.kmo_.overall
    assert facts["converged"] is True
    for words in (f"{fa.fit_test_.p_value:.4g}", f"{fa.kmo_.overall:.4g}", f"yes: {fa.stopped_because_}"):
        assert words in text
    assert "Heywood columns      none" in text


def test_a_heywood_column_is_named(lowland, rng):
    x = rng.standard_normal((200, 1))
    X = np.hstack([x, x + 0.7 * rng.standard_normal((200, 3))])
    write_chunks([X], "x.csv", ["exact", "b", "c", "d"])
    facts, text = told(lowland, "fit", "factor-analysis", "x.csv", "-k", 1)
    names = facts["facts"]["Heywood columns"]
    assert names
    assert names == [["exact", "b", "c", "d"][j] for j in ll.load("m").heywood_]
    assert ", ".join(names) in text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "words",
    [
        ("factor-analysis", "-k", 3, "--method", "em", "--max-iter", 2),
        ("fast-ica", "-k", 3, "--max-iter", 1),
        ("linear-autoencoder", "--max-iter", 2),
        ("projection-pursuit", "--index", "kurtosis", "--max-iter", 1, "--n-null", 0),
    ],
    ids=lambda words: words[0],
)
def test_a_model_that_did_not_converge_says_so(lowland, wine, words):
    facts, text = told(lowland, "fit", words[0], wine, *words[1:])
    assert facts["converged"] is False
    line = next(line for line in text.splitlines() if line.startswith("Converged"))
    assert line.split()[1].rstrip(":") == "no"


def test_sources(lowland, wine):
    facts, text = told(lowland, "fit", "fast-ica", wine, "-k", 3)
    ica = ll.load("m")
    assert facts["facts"]["negentropy"] == ica.negentropy_.tolist()
    assert f"{ica.n_gaussian_} of 3 components" in text
    assert ", ".join(f"{value:.4g}" for value in ica.negentropy_) in text


def test_views(lowland, wine):
    facts, text = told(lowland, "fit", "projection-pursuit", wine, "--index", "kurtosis", "--n-views", 2, "--n-null", 3)
    found = ll.load("m")
    assert facts["facts"] == {
        "index of views": found.index_.tolist(),
        "p-value of views": found.p_value_.tolist(),
        "largest index in noise": float(found.null_index_.max()),
        "rows searched": 178,
    }
    assert "P-value of views" in text
    facts, text = told(lowland, "fit", "projection-pursuit", wine, "--index", "kurtosis", "--n-null", 0)
    assert facts["facts"]["largest index in noise"] is None
    assert "noise " not in text.split("Rows searched")[0].split("Index of views")[1]


def test_what_an_autoencoder_keeps(lowland, table, X):
    facts, text = told(lowland, "fit", "linear-autoencoder", table)
    pca = ll.PCA(2).fit(X)
    np.testing.assert_allclose(facts["facts"]["share of variance kept"], pca.explained_variance_ratio_.sum())
    assert "Learning rate" in text


@pytest.mark.parametrize("name", entries())
def test_before_a_fit_nothing_speaks_against_coordinates(name):
    assert refusal_of_coordinates(load_method(name)()) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (0.123456789, "0.1235"),
        (12, "12"),
        ([], "none"),
        ([1.0, None], "1, –"),
        ({"a": 1, "b": 2.5}, "a 1, b 2.5"),
        (list(range(14)), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more"),
    ],
)
def test_values_in_words(value, text):
    assert in_words(value) == text


def test_the_command_lines_of_the_page_run(lowland):
    from pathlib import Path

    page = Path(__file__).parents[2] / "docs" / "command-line.md"
    lines = [line.split() for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("lowland ")]
    assert len(lines) > 10
    for words in lines:
        result = lowland(*words[1:])
        assert result.exit_code == 0, (words, result.stderr)
