"""Sequential feature selection compared with scikit-learn's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.lines import Bar, Line
from benchmarks.measure import Times, WrongAnswer, agree, stopwatch
from benchmarks.registry import Plan, job


@job("SequentialFeatureSelector forward, linear model, 2,000 × 60, 20 columns, 5 folds")
def sequential_linear(plan: Plan) -> Iterator[Line]:
    from sklearn.linear_model import LinearRegression

    n, d, k = plan.size(2_000, 400), plan.size(60, 12), plan.size(20, 4)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.3 * rng.standard_normal((d, d)))
    y = X @ (rng.standard_normal(d) * np.linspace(1, 0, d) ** 2) + 4 * rng.standard_normal(n)
    yield _beside(plan, LinearRegression(), X, y, k, required=(Bar("speed", 100.0),))


@job("SequentialFeatureSelector forward, discriminants, 1,000 × 40 in 4 classes, 8 columns, 5 folds")
def sequential_discriminants(plan: Plan) -> Iterator[Line]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    n, d, k = plan.size(1_000, 200), plan.size(40, 10), plan.size(8, 3)
    rng = np.random.default_rng(0)
    y = np.arange(n) % 4
    X = rng.standard_normal((n, d)) + 0.5 * rng.standard_normal((4, d))[y]
    yield _beside(plan, LinearDiscriminantAnalysis(), X, y, k)


def _beside(plan: Plan, model: Any, X: np.ndarray, y: np.ndarray, k: int, required: tuple[Bar, ...] = ()) -> Line:
    from sklearn.feature_selection import SequentialFeatureSelector as Theirs
    from sklearn.model_selection import cross_val_score

    from lowland import SequentialFeatureSelector as Ours

    fit = partial(_fit, Ours, model, X, y, k)
    ours = fit()
    seconds = [stopwatch(fit)[0] for _ in range(max(plan.repeat, 3))]
    taken, peer = stopwatch(partial(_fit, Theirs, model, X, y, k))  # thousands of fits: too long to repeat
    if not np.array_equal(ours.support_, peer.support_):
        raise WrongAnswer(f"columns differ: {np.flatnonzero(ours.support_)}, the peer {np.flatnonzero(peer.support_)}")
    again = float(np.mean(cross_val_score(model, X[:, ours.support_], y, cv=5)))
    agree("score of the columns, fitted again", ours.score_, again, within=1e-9)
    times = Times({"ours": [float(np.median(seconds))], "peer": [taken]})
    return times.line(
        "against scikit-learn", "ours", "peer", required=required,
        remark=f"the same {k} columns; score {ours.score_:.4f}, after refitting {again:.4f}; "
        f"{ours.n_subsets_:,} subsets",
    )  # fmt: skip


def _fit(cls: Any, model: Any, X: np.ndarray, y: np.ndarray, k: int) -> Any:
    return cls(model, n_features_to_select=k).fit(X, y)
