"""Plain data on the screen; facts about a fitted model, rounded there and complete in JSON."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import lowland as ll
from lowland.cli.show import in_words
from lowland.data import load_dataset
from lowland.data.write import write_chunks

ESCAPE = "\x1b"


def test_control_characters_in_names_are_escaped(lowland, X):
    write_chunks([X], "evil.parquet", ["\x1b[2J", "[red]b", ":smile:", "d"])
    result = lowland("fit", "pca", "evil.parquet", "--model", "m.lowland")
    text = lowland("inspect", "m.lowland").stdout
    assert result.exit_code == 0
    assert ESCAPE not in text
    assert r"\x1b[2J, [red]b, :smile:, d" in text


def test_only_the_first_ten_components_are_listed(lowland, rng):
    np.save("wide.npy", rng.standard_normal((40, 15)))
    lines = lowland("fit", "pca", "wide.npy").stdout.splitlines()
    assert lines[-2].split()[0] == "10"
    assert lines[-1] == "and 5 more; 100.00% in total"


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


SELECTIONS = [
    ("select-filter", ("-k", 4), None),
    ("select-filter", ("-k", 4, "--statistic", "mrmr"), "relevance minus redundancy"),
    ("select-l1", ("-k", 4), "fraction of the null model's loss"),
    ("select-tree", (), "accuracy of the pruned tree after the step, on held-out rows"),
    ("select-sequential", ("-k", 9, "--direction", "backward"), "on held-out rows"),
    ("select-sequential", ("-k", 9, "--scoring", "wilks"), "1 - Wilks' lambda on all rows"),
    ("select-sequential", ("-k", 2, "--direction", "exhaustive", "--scoring", "wilks"), "1 - Wilks' lambda"),
]  # fmt: skip


@pytest.fixture
def wine() -> str:
    data = load_dataset("wine")
    write_chunks([data.X], "wine.csv", list(data.names))
    return "wine.csv"


def reported(lowland, *words):
    """The facts of a fit as JSON, and the text that a model saved by the same fit shows."""
    result = lowland(*words, "--model", "m", "--force", "--json")
    assert result.exit_code == 0, result.stderr or result.stdout
    return json.loads(result.stdout), lowland("inspect", "m").stdout


@pytest.fixture
def wines(lowland) -> str:
    assert lowland("sample", "wine", "--label-column", "--to", "wines.csv").exit_code == 0
    return "wines.csv"


def test_a_heywood_column_is_named(lowland, rng):
    x = rng.standard_normal((200, 1))
    X = np.hstack([x, x + 0.7 * rng.standard_normal((200, 3))])
    write_chunks([X], "x.csv", ["exact", "b", "c", "d"])
    facts, text = reported(lowland, "fit", "factor-analysis", "x.csv", "-k", 1)
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
    facts, text = reported(lowland, "fit", words[0], wine, *words[1:])
    assert facts["converged"] is False
    line = next(line for line in text.splitlines() if line.startswith("Converged"))
    assert line.split()[1].rstrip(":") == "no"


SUMMARIES = [  # words, facts of the model, and texts
    (("lda", "labels.csv", "--label", "way"), {
        "rank within classes": lambda m: 4,
        "rows per class": lambda m: dict(Counter(pd.read_csv("labels.csv")["way"])),
        "standard deviation between / within classes": lambda m: m.singular_values_.tolist(),
    }, lambda m: [f"{m.singular_values_[0]:.4g}", "Fraction of the variance between classes explained"]),
    (("factor-analysis", "wine.csv", "-k", 3), {
        "chi-square of fit": lambda m: m.fit_test_.statistic, "KMO": lambda m: m.kmo_.overall,
    }, lambda m: [f"{m.fit_test_.p_value:.4g}", f"yes: {m.stopped_because_}", "Heywood columns      none"]),
    (("fast-ica", "wine.csv", "-k", 3), {"negentropy": lambda m: m.negentropy_.tolist()},
     lambda m: [f"{m.n_gaussian_} of 3 components", ", ".join(f"{value:.4g}" for value in m.negentropy_)]),
    (("projection-pursuit", "wine.csv", "--index", "kurtosis", "--n-projections", 2, "--n-null", 3), {
        "index of projections": lambda m: m.index_.tolist(), "p-value of projections": lambda m: m.p_value_.tolist(),
        "largest index in noise": lambda m: float(m.null_index_.max()), "rows searched": lambda m: 178,
    }, lambda m: ["P-value of projections"]),
    (("projection-pursuit", "wine.csv", "--index", "kurtosis", "--n-null", 0), {
        "largest index in noise": lambda m: None,
    }, lambda m: ["Index of projections"]),
    (("quantize", "wine.csv", "-k", 4), {
        "distortion per row": lambda m: m.distortion_, "bits per row": lambda m: 2,
        "explained variance ratio": lambda m: m.explained_variance_fraction_,
        "bits per row, uncompressed": lambda m: 13 * 64,
    }, lambda m: [f"{m.entropy_:.4g}"]),
    (("kernel-pca", "wine.csv", "-k", 2, "--kernel", "rbf", "--n-landmarks", 20), {"landmarks": lambda m: 20},
     lambda m: ["Landmarks     20"]),
    (("linear-autoencoder", "wine.csv"), {
        "explained variance ratio": lambda m: pytest.approx(ll.PCA(2).fit("wine.csv").explained_variance_ratio_.sum()),
    }, lambda m: ["Learning rate"]),
]  # fmt: skip


@pytest.mark.parametrize(("words", "wanted", "texts"), SUMMARIES, ids=[words[0] for words, _, _ in SUMMARIES])
def test_the_summary_of_a_model(lowland, wine, labeled, words, wanted, texts):
    facts, text = reported(lowland, "fit", *words, "--prepare", "none")
    model = ll.load("m")
    for name, value in wanted.items():
        assert facts["facts"][name] == value(model)
    for part in texts(model):
        assert part in text


@pytest.mark.parametrize(("verb", "more", "message"), SELECTIONS)
def test_kept_columns_and_the_path_to_them(lowland, wines, verb, more, message):
    facts, text = reported(lowland, "fit", verb, wines, "--label", "label", *more)
    facts, model = facts["facts"], ll.load("m")
    assert facts["selected columns"] == list(model.get_feature_names_out())
    assert f" {', '.join(facts['selected columns'])}\n" in text
    assert ("path" in facts) == hasattr(model, "path_")
    if message is None:
        assert facts["scores"] == dict(zip(model.get_feature_names_out(), model.scores_[model.support_], strict=True))
        assert list(facts["scores"].values()) == sorted(facts["scores"].values(), reverse=True)
        return
    assert message in facts["step score"]
    assert facts["step score"] in text
    assert [step["score"] for step in facts["path"]] == [step.score for step in model.path_]
    assert [step["size"] for step in facts["path"]] == [step.size for step in model.path_]
    step, sign = model.path_[0], {"add": "+ ", "remove": "− ", "find": "best subset "}[model.path_[0].action]
    assert facts["path"][0]["column"] == (None if step.feature is None else step.name)
    assert f"{sign}{facts['path'][0]['column'] or ''} {step.score:.4g}".replace("  ", " ") in text


def test_the_rules_of_a_tree_are_printed_line_by_line(lowland, wines):
    facts, text = reported(lowland, "fit", "select-tree", wines, "--label", "label")
    rules = ll.load("m").rules_
    assert facts["facts"]["rules"] == rules
    lines = [line.rstrip() for line in text.splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith("Rules"))
    indent = lines[start].index("if ")
    assert [line[indent:] for line in lines[start:]][: len(rules.splitlines())] == rules.splitlines()


def test_groups_of_columns_are_complete_in_json(lowland, wine):
    facts, text = reported(
        lowland, "fit", "agglomerate", wine, "-k", 2, "--metric", "correlation", "--linkage", "average"
    )
    names, labels = np.array(load_dataset("wine").names), ll.load("m").labels_
    assert facts["facts"]["clusters"] == {str(group): names[labels == group].tolist() for group in (0, 1)}
    for group in (0, 1):
        assert f" {group}: {', '.join(names[labels == group])}\n" in text


def test_a_constant_table_has_no_fractions_but_a_remedy(lowland):
    np.save("constant.npy", np.ones((5, 3)))
    result = lowland("fit", "pca", "constant.npy")
    assert "%" not in result.stdout
    assert "Every column is constant" in result.stderr
    assert "Pass columns that vary" in result.stderr


def test_json_has_no_nan(lowland):
    np.save("constant.npy", np.ones((5, 3)))
    result = lowland("fit", "pca", "constant.npy", "--json")
    json.loads(result.stdout, parse_constant=lambda token: pytest.fail(f"{token} is not JSON"))
