"""Standard errors, intervals, p-values and claims in repeated experiments whose truth is known.

A case repeats one experiment. It is wrong if the rate of errors exceeds the stated one by more than chance: four
standard deviations, which happens once in 30,000 cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lowland
from hunt.cases import Area, Wrong
from lowland import quality
from lowland.study.significance import above, differ, score_of_choice
from lowland.trial.prediction import accuracy_of_rows
from lowland.trial.records import Score

Rng = np.random.Generator
ESTIMATORS = ("auto", "mle", "twonn", "correlation", "pca", "global_pca")
MEASURES = (
    *("raw_stress", "normalized_stress", "sammon_stress", "residual_variance", "trustworthiness", "continuity"),
    *("neighborhood_hit", "nearest_neighbor_accuracy"),
)
STATISTICS = ("anova", "pearson", "spearman", "distance-correlation", "mutual-information")


def run(rng: Rng, seed: int, folder: Path) -> str:
    """Repeat one experiment."""
    name = list(EXPERIMENTS)[seed % len(EXPERIMENTS)]
    try:
        return f"done: {name}: {EXPERIMENTS[name](rng)}"
    except Wrong as error:
        raise Wrong(f"{name}: {error}") from None


def _at_most(errors: Any, rate: float, what: str) -> str:
    """Check that a rate of errors is at most the stated one."""
    found, n = float(np.mean(errors)), len(errors)
    if found > rate + 4 * math.sqrt(rate * (1 - rate) / n):
        raise Wrong(f"{what}: {found:.3f} of {n} experiments, stated {rate:g}")
    return f"{what}, {found:.3f} of {n}"


def _standard_error_of_dimension(rng: Rng) -> str:
    """The standard error is the standard deviation between samples of as many rows."""
    method, n, d = str(rng.choice(ESTIMATORS)), int(rng.integers(150, 700)), int(rng.integers(1, 7))
    shape = str(rng.choice(["normal", "cube", "sphere", "surface"]))

    def rows() -> np.ndarray:
        X = rng.random((n, d)) if shape == "cube" else rng.standard_normal((n, d + 1))
        if shape == "sphere":
            return X / np.linalg.norm(X, axis=1)[:, None]
        return np.column_stack([X, np.sin(3 * X[:, :1])]) if shape == "surface" else X

    found = [quality.intrinsic_dimension(rows(), method) for _ in range(40)]
    deviation = float(np.std([each.value for each in found], ddof=1))
    stated = float(np.mean([each.standard_error for each in found]))  # type: ignore[misc]
    case = f"{method}, {n} rows, {shape} of dimension {d}: deviation {deviation:.3g}, stated {stated:.3g}"
    if not 0.5 * deviation <= stated + 1e-9 <= 2 * deviation + 1e-6:
        raise Wrong(case)
    return case


def _interval_of_measure(rng: Rng) -> str:
    """The interval of a sample covers the value of all rows."""
    measure, n = getattr(quality, str(rng.choice(MEASURES))), int(rng.integers(200, 500))
    X = rng.standard_normal((n, 5)) * rng.uniform(0.3, 3, 5)
    Z = X[:, :2] + rng.uniform(0, 1) * rng.standard_normal((n, 2))
    y = (X[:, 0] > rng.uniform(-1, 1)).astype(int)
    of_labels = measure.__name__ in ("neighborhood_hit", "nearest_neighbor_accuracy")
    data = (Z, y) if of_labels else (X, Z)
    value, m = measure(*data).value, int(rng.integers(60, n // 2))
    found = [measure(*data, sample=m, random_state=i) for i in range(60)]
    missed = [not each.low <= value <= each.high for each in found]
    return _at_most(missed, 0.07, f"{measure.__name__}, {m} of {n} rows, value outside of its interval")


def _accuracy(rng: Rng, p: float, m: int, shared: np.ndarray | None = None, weight: float = 0.0) -> Score:
    """The score of a method that is right with probability p; a part of its luck is shared."""
    luck = rng.random(m) if shared is None else np.where(rng.random(m) < weight, shared, rng.random(m))
    return accuracy_of_rows(luck < p, np.arange(m) % 5, "")


def _claimed_difference(rng: Rng) -> str:
    """Methods of equal accuracy are rarely said to differ, however many are compared."""
    p, m, weight, tried = rng.uniform(0.3, 0.97), int(rng.integers(30, 400)), rng.random(), int(rng.integers(1, 8))
    claims = []
    for _ in range(500):
        shared = rng.random(m)
        scores = [_accuracy(rng, p, m, shared, weight) for _ in range(tried + 1)]
        claims.append(any(differ(scores[0], other, tried) for other in scores[1:]))
    return _at_most(claims, 0.05, f"{tried} comparisons of accuracy {p:.2f} on {m} rows, claimed to differ")


def _claimed_skill(rng: Rng) -> str:
    """A method without skill is rarely said to be above the baseline."""
    p, m, tried = rng.uniform(0.3, 0.9), int(rng.integers(30, 400)), int(rng.integers(1, 8))
    claims = [any(above(_accuracy(rng, p, m), p, tried) for _ in range(tried)) for _ in range(500)]
    return _at_most(claims, 0.05, f"{tried} methods at the baseline {p:.2f} on {m} rows, claimed to be above it")


def _winner(rng: Rng) -> str:
    """The quoted accuracy of the winner among many equal methods is unbiased, and its interval covers the truth."""
    p, m, k = rng.uniform(0.4, 0.95), int(rng.integers(40, 300)), int(rng.integers(2, 15))
    quoted = []
    for _ in range(200):
        scores = [_accuracy(rng, p, m) for _ in range(k)]
        quoted.append(score_of_choice(lambda by: max(map(by, scores), key=lambda s: s.value), scores[0]))  # noqa: B023
    bias = float(np.mean([each.value for each in quoted])) - p
    if abs(bias) > 4 * float(np.std([each.value for each in quoted])) / math.sqrt(len(quoted)):
        raise Wrong(f"winner of {k} methods of accuracy {p:.2f} on {m} rows: biased by {bias:.3f}")
    missed = [not each.low <= p <= each.high for each in quoted]  # type: ignore[operator]
    return _at_most(missed, 0.05, f"winner of {k} methods on {m} rows, accuracy outside of its interval")


def _p_values(rng: Rng) -> str:
    """Under independence, p-values below a level are no more frequent than it; so are false discoveries."""
    statistic, d = str(rng.choice(STATISTICS)), 10
    n = int(rng.integers(5 if statistic == "distance-correlation" else 12, 80))
    more = {"n_permutations": 39} if statistic == "mutual-information" else {}
    tail, rounded = float(rng.choice([1.0, 3.0])), statistic == "distance-correlation" and rng.random() < 0.5
    p, found = [], []
    for i in range(12 if more else 60):
        y = rng.integers(0, 3, n) if statistic in ("anova", "mutual-information") else rng.standard_normal(n)
        X = np.sign(N := rng.standard_normal((n, d))) * np.abs(N) ** tail
        X = np.round(X) if rounded else X
        model = lowland.FeatureFilter(statistic=statistic, false_discovery_rate=0.1, random_state=i, **more)
        est = model.set_params(threshold=None).fit(X, y)
        p += est.pvalues_.tolist()
        found.append(bool(est.get_support().any()))
    if statistic in ("anova", "pearson") and tail > 1:
        return f"{statistic} assumes normal numbers"
    _at_most(found, 0.1, f"{statistic}, {n} rows: false discoveries")
    levels = [(np.array(p) <= level, level) for level in (0.01, 0.05, 0.2)]
    return "; ".join(_at_most(hit, level, f"{statistic}, {n} rows: p <= {level}") for hit, level in levels)


def _fit_tests(rng: Rng) -> str:
    """Bartlett's test of independence, and the test of the number of factors, under the hypothesis."""
    n, d = int(rng.integers(150, 600)), int(rng.integers(6, 10))
    L = rng.uniform(0.5, 0.9, (d, 1))
    spherical, fit = [], []
    for _ in range(60):
        noise = rng.standard_normal((n, d))
        spherical.append(lowland.FactorAnalysis(1).fit(noise).sphericity_.p_value <= 0.05)
        X = rng.standard_normal((n, 1)) @ L.T + noise * np.sqrt(1 - L[:, 0] ** 2)
        fit.append(lowland.FactorAnalysis(1).fit(X).fit_test_.p_value <= 0.05)
    return f"{_at_most(spherical, 0.05, 'sphericity')}; {_at_most(fit, 0.05, f'fit, {n} x {d}')}"


def _projection_pursuit(rng: Rng) -> str:
    """No structure in Gaussian noise."""
    n, d = int(rng.integers(40, 100)), int(rng.integers(2, 4))
    short = {"n_starts": 5, "n_null": 9, "max_iter": 30}
    fits = (lowland.ProjectionPursuit(1, random_state=i, **short).fit(rng.standard_normal((n, d))) for i in range(25))
    return _at_most([est.p_value_[0] <= 0.1 for est in fits], 0.1, f"structure in noise of {n} x {d}")


EXPERIMENTS: dict[str, Callable[[Rng], str]] = {
    "standard error of the dimension": _standard_error_of_dimension,
    "interval of a measure": _interval_of_measure,
    "claimed difference": _claimed_difference,
    "claimed skill": _claimed_skill,
    "winner": _winner,
    "p-values": _p_values,
    "tests of factors": _fit_tests,
    "projection pursuit": _projection_pursuit,
}
AREA = Area("simulations", "standard errors, intervals, p-values and claims in experiments", run, cases=160, limit=120)
