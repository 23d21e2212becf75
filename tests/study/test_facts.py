"""The facts about the table."""

import json
import re

import numpy as np
import pytest

import lowland
from lowland.study.facts import TableFacts, table_facts
from lowland.trial.prediction import PredictionTest


def test_the_intrinsic_dimension_is_not_above_the_columns(rng):
    study = lowland.compare(rng.standard_normal((12, 2)), None, ["pca"], cache=False)
    found = [s for s in study.advice[0].evidence if "intrinsic dimension" in s]
    assert all(float(number) <= 2 for s in found for number in re.findall(r"\d+\.\d", s))


def test_the_majority_class_is_counted_among_the_tested_rows(rng):
    y = np.array(["a"] * 60 + ["b"] * 12 + [f"r{i // 2}" for i in range(58)])
    study = lowland.compare(rng.standard_normal((130, 5)), y, ["pca", "lda"], purpose="classify", cache=False)
    assert study.advice[0].method is None
    assert "majority-class baseline of 0.83" in study.advice[0].text  # 60 of 72


def test_the_facts_of_a_table_and_of_its_labels(iris):
    X, y = iris.X, np.asarray(iris.y)
    facts = table_facts(X, y, 0)
    pca = lowland.PCA().fit(X)
    np.testing.assert_allclose(facts.explained_variance_ratio, pca.explained_variance_ratio_)
    np.testing.assert_allclose(facts.distortions, [pca.distortion(m) for m in range(5)], atol=1e-9)
    whole = PredictionTest.for_classes(y, 0).scores(X)
    assert (facts.accuracy, facts.linear_accuracy) == (whole["downstream accuracy"], whole["linear accuracy"])
    assert facts.companions["AUC"] == whole["AUC"]
    assert [m for m, _ in facts.by_components] == [1, 2]  # fewer than the columns
    assert facts.majority_class_fraction == 1 / 3
    assert facts.n_duplicate_rows == len(X) - len(np.unique(X, axis=0))
    assert facts.standard_deviation_ratio == pytest.approx(X.std(axis=0).max() / X.std(axis=0).min())
    without = table_facts(X, None, 0)
    assert (without.accuracy, without.accuracy_by_components, without.n_duplicate_rows) == (None, (), 0)


def test_facts_are_restored_from_json(iris):
    facts = table_facts(iris.X, np.asarray(iris.y), 0)
    assert TableFacts.from_plain(json.loads(json.dumps(facts.to_plain()))) == facts
