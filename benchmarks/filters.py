"""Feature filters compared with scikit-learn's scores, and distance correlation with its definition."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.lines import Bar, Line
from benchmarks.measure import Times, WrongAnswer, agree, alternate, peak_beyond, stopwatch
from benchmarks.registry import Plan, job


@job("FeatureFilter in one pass, 200,000 × 300")
def filters_one_pass(plan: Plan) -> Iterator[Line]:
    from sklearn.feature_selection import SelectKBest, VarianceThreshold, chi2, f_classif, f_regression

    n, d = plan.size(200_000, 4_000), plan.size(300, 30)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, n)
    X = rng.standard_normal((n, d))
    X += 0.05 * rng.standard_normal((10, d))[y] + 3
    numbers = X[:, 0] + rng.standard_normal(n)
    yield _beside(plan, "anova against f_classif", "anova", SelectKBest(f_classif, k=10), X, y, Bar("speed", 3.0))
    yield _beside(plan, "pearson against f_regression", "pearson", SelectKBest(f_regression, k=10), X, numbers)
    yield _beside(plan, "chi2 against chi2", "chi2", SelectKBest(chi2, k=10), np.abs(X), y)
    yield _beside(plan, "variance against VarianceThreshold", "variance", VarianceThreshold(), X, y)


def _beside(plan: Plan, what: str, score: str, peer: Any, X: np.ndarray, y: np.ndarray, *required: Bar) -> Line:
    times = alternate({"ours": partial(_fit, score, X, y, 10), "peer": partial(peer.fit, X, y)}, plan.repeat)
    ours, theirs = times.answers["ours"], times.answers["peer"]
    if score == "variance":
        off = agree("variances", ours.scores_, np.var(X, axis=0), within=1e-9)
    else:
        scores = ours.scores_**2 / (1 - ours.scores_**2) * (len(X) - 2) if score == "pearson" else ours.scores_
        off = agree("scores", scores, theirs.scores_, within=1e-6)
        if not np.array_equal(ours.support_, theirs.get_support()):
            raise WrongAnswer(f"{score}: columns differ from the peer's")
    memory = peak_beyond(partial(_fit, score, X, y, 10))
    remark = f"relative error of scores {off:.0e}" + ("" if score == "variance" else "; the same 10 columns")
    return times.line(what, "ours", "peer", required=required, memory=memory, remark=remark)


@job("FeatureFilter('mutual-information'), 20,000 × 30")
def filters_information(plan: Plan) -> Iterator[Line]:
    from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

    n, d = plan.size(20_000, 1_000), plan.size(30, 5)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n)
    X = rng.standard_normal((n, d)) + 0.4 * rng.standard_normal((5, d))[y]
    numbers = np.sin(2 * X[:, 0]) + 0.5 * rng.standard_normal(n)
    for words, peer, target in (
        ("against mutual_info_classif", mutual_info_classif, y),
        ("against mutual_info_regression", mutual_info_regression, numbers),
    ):
        work = {
            "ours": partial(_fit, "mutual-information", X, target, 3),
            "peer": partial(peer, X, target, random_state=0),
        }
        times = alternate(work, min(plan.repeat, 3))
        off = float(np.abs(times.answers["ours"].scores_ - times.answers["peer"]).max())
        if not off <= 1e-4:  # the peer adds noise, which changes some neighbors
            raise WrongAnswer(f"mutual information: off by {off:.1e} nats")
        yield times.line(words, "ours", "peer", remark=f"error {off:.0e} nats; the peer uses one core, Lowland threads")


@job("FeatureFilter('distance-correlation'): 1,000,000 rows, for which the n × n definition needs 8 TB")
def filters_distances(plan: Plan) -> Iterator[Line]:
    rng = np.random.default_rng(0)
    few = plan.size(8_000, 800)
    x, y = rng.standard_normal((2, few))
    y += x**2
    fit = partial(_fit, "distance-correlation", x[:, None], y, 1)
    fit()
    taken, ours = stopwatch(fit)
    longer, truth = stopwatch(partial(_by_definition, x, y))
    off = agree("distance correlation", ours.scores_, truth, within=1e-9)
    times = Times({"ours": [taken], "peer": [longer]})
    yield times.line(f"{few:,} rows against the n × n definition", "ours", "peer", remark=f"relative error {off:.0e}")
    for many in (plan.size(100_000, 2_000), plan.size(1_000_000, 4_000)):
        x, y = rng.standard_normal((2, many))
        y += x**2
        fit = partial(_fit, "distance-correlation", x[:, None], y, 1)
        taken, found = stopwatch(fit)
        yield Line(
            f"{many:,} rows", taken, memory=peak_beyond(fit),
            remark=f"{found.scores_[0]:.5f}; {few:,} rows: {ours.scores_[0]:.5f}",
        )  # fmt: skip


def _by_definition(x: np.ndarray, y: np.ndarray) -> float:
    A, B = (np.abs(v[:, None] - v[None, :]) for v in (x, y))
    for D in (A, B):
        means = D.mean(axis=0)
        D -= means[None, :]
        D -= means[:, None]
        D += means.mean()
    return float(np.sqrt(np.vdot(A, B) / np.sqrt(np.vdot(A, A) * np.vdot(B, B))))


def _fit(score: str, X: np.ndarray, y: np.ndarray, k: int) -> Any:
    from lowland import FeatureFilter

    return FeatureFilter(score, n_features_to_select=k).fit(X, y)
