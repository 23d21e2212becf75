"""Advice makes no claim where there is nothing to claim: on noise, and between two identical methods.

``LOWLAND_RUNS=200`` runs the whole simulation, in which at most 5% of the runs may make a claim.
"""

import os

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer
from sklearn.random_projection import GaussianRandomProjection

from lowland import compare
from lowland.evidence.dependence import dependence_p_value
from lowland.study.significance import differ_again
from lowland.trial.records import Score

RUNS = int(os.environ.get("LOWLAND_RUNS", "4"))
UNDECIDED = ("not significantly different", "equivalence margin", "as well as the best")


def is_claim(study):
    """Whether the advice calls one map better than another."""
    advice = study.advice[0]
    return advice.trial is not None and not any(text in advice.text for text in UNDECIDED)


def claims(table, methods):
    found = []
    for seed in range(RUNS):
        study = compare(table(np.random.default_rng(seed)), methods=methods(seed), seed=seed, cache=False)
        found.append(is_claim(study))
    print(f"{sum(found)} claims in {RUNS} runs")
    return sum(found)


def noise(rng):
    return rng.normal(size=(60, 5)) if rng.random() < 0.5 else rng.uniform(size=(60, 5))


def groups(rng):
    return rng.normal(size=(60, 6)) + 4 * np.repeat(rng.normal(size=(3, 6)), 20, axis=0)


def projections(seed):
    """Two identical methods, whose maps depend very much on their seeds."""
    return [(name, GaussianRandomProjection(2, random_state=100 * seed + i)) for i, name in enumerate("ab")]


@pytest.mark.parametrize(
    ("table", "methods"),
    [
        (noise, lambda seed: ["pca", "fast-ica", ("projection", GaussianRandomProjection(2, random_state=seed))]),
        (groups, projections),
        (groups, lambda seed: [("a", PCA(2)), ("b", PCA(2))]),
    ],
    ids=["noise", "identical methods", "identical maps"],
)
def test_no_claim_where_there_is_nothing_to_claim(table, methods):
    assert claims(table, methods) <= binom.ppf(0.999, RUNS, 0.05)


def plane(rng):
    """Points near a plane in 20 columns."""
    return 2 * rng.normal(size=(100, 2)) @ rng.normal(size=(2, 20)) + rng.normal(size=(100, 20))


def test_a_true_difference_is_claimed():
    def methods(seed):
        return ["pca", ("projection", GaussianRandomProjection(2, random_state=seed))]

    assert claims(plane, methods) >= 0.75 * RUNS  # about nine of ten


def test_noise_is_called_noise_and_structure_is_not():
    advice = compare(noise(np.random.default_rng(1)), methods=["pca"], cache=False).advice[0]
    assert advice.trial is None
    assert "looks like noise" in advice.text
    study = compare(groups(np.random.default_rng(1)), methods=["pca"], cache=False)
    assert study.advice[0].trial == "PCA"


@pytest.mark.parametrize("shape", ["circle", "correlated", "groups"])
def test_dependence_is_found(shape):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 150)
    tables = {
        "circle": np.column_stack([np.cos(angle), np.sin(angle)]),  # without correlation
        "correlated": rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], 150),
        "groups": groups(rng),
    }
    assert dependence_p_value(tables[shape], 0) == 0.01


def test_p_values_of_independent_columns_are_uniform():
    p = np.array([dependence_p_value(np.random.default_rng(s).exponential(size=(40, 3)), s) for s in range(60)])
    assert np.mean(p <= 0.5) == pytest.approx(0.5, abs=0.2)
    assert np.mean(p <= 0.05) <= binom.ppf(0.999, len(p), 0.05) / len(p)


def test_a_better_map_must_stay_better_when_it_is_made_again():
    def made(*values):
        return Score(float(np.mean(values)), "higher", "", by_fold=values)

    assert differ_again(made(0.8, 0.81, 0.79), made(0.5, 0.52, 0.49))
    assert differ_again(made(0.8, 0.5, 0.6), made(0.5, 0.6, 0.55)) is False
    assert differ_again(made(0.5, 0.52, 0.49), made(0.8, 0.81, 0.79)) is False  # the other one is better
    assert differ_again(made(0.8), made(0.5)) is None


def test_a_clear_winner_is_still_named():
    X = groups(np.random.default_rng(0))
    X[:, 4:] = np.random.default_rng(1).normal(size=(60, 2))
    methods = [("two columns", FunctionTransformer(lambda X: X[:, 4:])), ("axes", PCA(2))]
    study = compare(X, methods=methods, cache=False)
    assert study.advice[0].trial == "axes"
    assert is_claim(study)
    assert "significantly lower when both maps are made again" in study.advice[0].text
