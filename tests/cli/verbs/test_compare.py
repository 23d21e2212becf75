"""``lowland compare``: what it prints and writes, and its errors."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lowland.cli.verbs import compare as verb

FEW = ("--methods", "pca,isomap,lda")


@pytest.fixture(autouse=True)
def cache_folder(folder, monkeypatch):
    place = folder.with_name(f"{folder.name}-cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(place))
    return place / "lowland" / "studies"


def test_a_table_of_trials_and_the_advice(lowland, labeled):
    words = ("compare", labeled, "--label", "way", "--methods", "pca")
    assert "looks like noise" in lowland(*words).stdout  # four independent columns
    table = pd.read_csv(labeled)
    table.assign(b=table["a"] + table["b"] / 4, d=table["c"] + table["d"] / 4).to_csv(labeled, index=False)
    result = lowland("compare", labeled, "--label", "way", *FEW, "--sweep", "isomap.n_neighbors=5,8")
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "4 trials on labels.csv, 60 rows × 4 columns"
    head = next(i for i, line in enumerate(lines) if line.startswith("Trial  "))
    names = [line.split("  ")[0] for line in lines[head + 1 : head + 5]]
    assert sorted(names) == ["Isomap n_neighbors=5", "Isomap n_neighbors=8", "LDA", "PCA"]
    for words in ("For visualization, use", "ompression", "lassif"):
        assert words in result.stdout
    assert result.stdout.index("For visualization") < result.stdout.index("Trial  ")  # what matters comes first


def test_the_output_is_short_unless_all_is_asked_for(lowland, labeled):
    sweep = ("--sweep", "isomap.n_neighbors=4,5,6,7,8,9,10,11,12")
    words = ("compare", labeled, "--label", "way", "--methods", "pca", *sweep)
    brief, whole = lowland(*words).stdout, lowland(*words, "--verbose").stdout
    assert "and 2 more" in brief
    assert "Memory" in whole
    assert "Memory" not in brief
    evidence = json.loads(lowland(*words, "--json").stdout)["advice"][0]["evidence"]
    assert all(sentence in whole for sentence in evidence)
    assert not all(sentence in brief for sentence in evidence)
    assert "Fidelity: how well the map preserves neighborhoods and distances" in brief  # in words
    assert "--verbose" in brief


def test_the_evidence_names_flags_where_python_has_arguments(lowland, rng, folder):
    X = rng.standard_normal((60, 3)) * [1, 1, 300]
    np.save("x.npy", X)
    pd.DataFrame(X, columns=list("abc")).mask(rng.random(X.shape) < 0.35).to_csv("gaps.csv", index=False)
    for words, flags in ((("x.npy", "--prepare", "none"), "--prepare standardize"), (("gaps.csv",), "--impute em")):
        study = ("compare", *words, "--methods", "pca")
        evidence = " ".join(json.loads(lowland(*study, "--json").stdout)["advice"][0]["evidence"])
        for text in (evidence, lowland(*study, "--verbose").stdout):
            assert flags in text
            assert "`" not in text
            assert "impute=" not in text
            assert "scale=" not in text


def test_methods_that_do_not_apply_are_counted_and_listed_on_request(lowland, table, monkeypatch):
    from lowland.study import comparison, plan

    few = ("pca", "mca", "famd", "lda")
    monkeypatch.setattr(comparison, "check_names", lambda methods, sweep: plan.check_names(few, sweep))
    reason = "Class labels are required"
    brief = lowland("compare", table)
    assert "(1 left out)" in brief.stdout, brief.stderr
    assert reason not in brief.stdout
    assert reason in lowland("compare", table, "--verbose").stdout


def test_json_is_plain_and_contains_the_call(lowland, labeled):
    words = ("compare", labeled, "--label", "way", *FEW, "--purpose", "classify", "--json", "-k", 1)
    facts = json.loads(lowland(*words).stdout)
    assert (
        facts["command"]
        == "lowland compare labels.csv --label way --methods pca,isomap,lda --purpose classify --json -k 1"
    )
    assert [t["status"] for t in facts["trials"]] == ["done"] * 4  # discriminants with and without shrinkage
    assert facts["advice"][0]["purpose"] == "classify"
    assert facts["label"] == "way"
    assert facts["k"] == facts["trials"][0]["components"] == 1
    assert facts["complete"] is True
    assert not facts["trials"][0]["cached"]
    assert json.loads(lowland(*words).stdout)["trials"][0]["cached"]


def test_no_cache(lowland, table, cache_folder):
    assert lowland("compare", table, "--methods", "pca", "--no-cache").exit_code == 0
    assert not cache_folder.exists()


def test_the_study_is_saved_and_not_overwritten(lowland, labeled):
    from lowland.study import load_study

    words = ("compare", labeled, "--label", "way", "--methods", "pca", "--save", "study")
    result = lowland(*words)
    assert result.exit_code == 0, result.stderr
    assert "Written   study" in result.stdout
    study = load_study("study")
    assert study.table.label_name == "way"
    assert study.table.source == "labels.csv"
    again = lowland(*words)
    assert again.exit_code == 1
    assert "--force" in again.stderr
    assert lowland(*words, "--force").exit_code == 0


def test_the_report_is_written_and_opened_where_asked(lowland, table, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda page: opened.append(page) or len(opened) == 1)
    words = ("compare", table, "--methods", "pca,lda", "--to", "page.html")
    result = lowland(*words)
    assert result.exit_code == 0, result.stderr
    assert "Written   page.html" in result.stdout
    assert "LDA: left out. Class labels are required. Name the column of labels (--label)." in result.stdout
    assert "<!doctype html>" in Path("page.html").read_text(encoding="utf-8").lower()
    assert not opened
    assert lowland(*words, "--open", "--force").exit_code == 0
    assert opened == [Path("page.html").resolve().as_uri()]
    assert "Open it yourself" in lowland(*words, "--open", "--force").stderr


def test_ctrl_c_writes_finished_trials(lowland, table, monkeypatch):
    from lowland.methods.isomap import Isomap

    def interrupted(self, *_, **given):
        raise KeyboardInterrupt

    monkeypatch.setattr(Isomap, "_solve", interrupted)
    result = lowland("compare", table, "--methods", "pca,isomap", "--to", "page.html", "--save", "study")
    assert result.exit_code == 130
    assert "Interrupted" in result.stderr
    assert Path("page.html").is_file()
    study = json.loads(Path("study/study.json").read_text())
    assert study["complete"] is False
    assert [trial["status"] for trial in study["trials"]] == ["done", "stopped"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--sweep", "isomap.neighbours=5"),
            "Isomap has no parameter 'neighbours'. Did you mean 'n_neighbors'? Its parameters: 'n_components'",
        ),
        (("--sweep", "isomap.n_neighbors=few"), "sweep 'isomap.n_neighbors=few': 'few' is not "),
        (("--sweep", "isomap.n_neighbors"), "METHOD.PARAMETER=VALUE"),
        (("--sweep", "trimap.n_inliers=5"), "no method 'trimap'"),
        (("--methods", "trimap"), "no method 'trimap'"),
        (("--methods", "isomapp"), "Did you mean 'isomap'?"),
        (("--purpose", "classify"), "Name the column of labels (--label)"),
        (("--label", "kind"), "no column 'kind'"),
        (("--to", "page.pdf"), ".html"),
        (("--open",), "--to report.html"),
        (("--to", "nowhere/page.html"), "does not exist"),
        (("--save", "table.csv"), "is a file"),
        (("--save", "table.csv/in/it"), "no folder can be created in it"),
        (("-k", "9"), "4 columns"),
    ],
)
def test_invalid_arguments_are_reported_before_any_work(lowland, table, words, message):
    before = set(os.listdir())
    result = lowland("compare", table, *words)
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr
    assert set(os.listdir()) == before


def test_names_are_checked_before_the_rows_are_read(lowland, labeled):
    for words in (("--methods", "trimap"), ("--sweep", "isomap.perplexity=5")):
        message = lowland("compare", labeled, "--prepare", "none", *words).stderr  # its labels are text
        assert "no method" in message or "no parameter" in message
    message = lowland("compare", labeled, "--prepare", "none").stderr
    assert "--label" in message


def test_rows_labeled_na_have_no_label_for_any_verb(lowland, labeled):
    text = Path(labeled).read_text()
    Path(labeled).write_text(text.replace("up", "NA", 3).replace("down", "None", 20))
    for words in (("fit", "lda", labeled), ("fit", "select-tree", labeled)):
        result = lowland(*words, "--label", "way")
        assert result.exit_code == 1
        assert "3 rows without a label" in result.stderr
    result = lowland("compare", labeled, *FEW, "--label", "way")  # drawn gray, and not counted
    assert result.exit_code == 0, result.stderr
    assert "3 rows have no label" in result.stdout


def test_methods_may_be_named_more_than_once(lowland, table):
    result = lowland("compare", table, "--methods", "pca", "--methods", "isomap,lda")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("2 trials on table.csv")
    assert "LDA: left out. Class labels are required. Name the column of labels (--label)." in result.stdout


def test_labels_that_are_not_classes_are_reported(lowland, table):
    names = Path(table).read_text().splitlines()[0].replace('"', "").split(",")
    result = lowland("compare", table, "--label", names[0], "--methods", "pca,lda")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("1 trial on table.csv")
    assert "Class labels are required, but the labels are non-integer numbers." in result.stdout
    numbers = lowland("compare", table, "--label", names[0], "--purpose", "classify", "--methods", "pca")
    assert numbers.exit_code == 0, numbers.stderr
    assert "R²" in numbers.stdout
    Path("names.csv").write_text("a,b,who\n" + "".join(f"{i % 7},{i * i},row {i}\n" for i in range(30)))
    refused = lowland("compare", "names.csv", "--label", "who", "--purpose", "classify")
    assert refused.exit_code == 1
    assert "identify rows rather than classes" in refused.stderr


def test_repeated_lists_of_choices_agree():
    from typing import get_args

    from lowland.study.result import Purpose

    assert get_args(Purpose) == verb.PURPOSES


def test_the_best_trial_for_the_purpose_comes_first(lowland, labeled):
    words = ("compare", labeled, "--label", "way", "--methods", "pca,lda,isomap")
    for purpose, measure in (("visualize", "Fidelity"), ("classify", "Downstream accuracy")):
        result = lowland(*words, "--purpose", purpose, "--json")
        trials = json.loads(result.stdout)["trials"]
        name = measure[:1].lower() + measure[1:]
        best = max(trials, key=lambda t: t["scores"][name]["value"])["scores"][name]["value"]
        lines = lowland(*words, "--purpose", purpose).stdout.splitlines()
        head, first = next(lines[i : i + 2] for i, line in enumerate(lines) if line.startswith("Trial  "))
        assert re.split(r"\s{2,}", head)[1] == measure
        assert f"{best:.3f}" in first


def test_given_coordinates_and_a_limit_for_the_study(lowland):

    from lowland.data.write import write_chunks

    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    write_chunks([X], "t.csv", list("abc"))
    write_chunks([X[:, :2]], "umap.csv", ["x", "y"])
    words = ("compare", "t.csv", "--methods", "pca", "--no-cache", "--total-limit", 300)
    result = lowland(*words, "--embedding", "umap.csv", "--embedding", "again=umap.csv")
    assert result.exit_code == 0, result.stderr
    assert "umap, again: These coordinates were passed, not fitted." in result.stdout
    same = lowland(*words, "--embedding", "umap.csv", "--embedding", "umap.csv")
    assert same.exit_code != 0
    assert "NAME=" in same.stderr


def test_columns_that_are_no_features_are_named(lowland):

    from lowland.data.write import write_chunks

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((40, 2)), rng.integers(10_000, 99_999, 40)])
    write_chunks([X], "t.csv", ["a", "b", "zip code"])
    out = lowland("compare", "t.csv", "--methods", "pca", "--no-cache").stdout
    assert "zip code: codes (40 distinct integers" in out
    assert "e+0" not in out
    out = lowland("compare", "t.csv", "--methods", "pca", "--no-cache", "--use", "zip code").stdout
    assert "zip code: number, standardized" in out


def test_a_copy_of_the_labels_is_left_out_and_the_advice_says_so(lowland):
    """A column with the names of the classes beside their numbers would predict them perfectly."""
    from sklearn.datasets import load_wine

    wine = load_wine(as_frame=True)
    names = wine.target.map(dict(enumerate(wine.target_names)))
    wine.frame.assign(class_name=names).rename(columns={"target": "class"}).to_csv("w.csv", index=False)
    words = ("compare", "w.csv", "--label", "class", "--methods", "pca", "--no-cache", "--json")
    facts = json.loads(lowland(*words).stdout)
    assert facts["prepared"]["class_name"] == "a copy of the labels, not used"
    assert facts["encoded"] == 13
    assert any("'class_name': a copy of the labels" in text for text in facts["advice"][0]["evidence"])
    used = json.loads(lowland(*words, "--use", "class_name").stdout)
    assert used["encoded"] == 16
