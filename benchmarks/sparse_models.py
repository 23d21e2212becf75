"""Selection by sparse models and by trees, compared with scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.lines import Line
from benchmarks.measure import WrongAnswer, agree, alternate
from benchmarks.registry import Plan, job

_LONGEST = 60.0  # seconds after which no further round begins


@job("L1Selector: path of 100 penalties and 5 folds, 20,000 × 300")
def l1_tall(plan: Plan) -> Iterator[Line]:
    yield _lasso(plan, plan.size(20_000, 600), plan.size(300, 30))


@job("L1Selector: path of 100 penalties and 5 folds, 200 × 2,000")
def l1_wide(plan: Plan) -> Iterator[Line]:
    yield _lasso(plan, plan.size(200, 60), plan.size(2_000, 100))


def _lasso(plan: Plan, n: int, d: int) -> Line:
    """Correlated columns, 20 of which have an effect."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import Lasso, LassoCV

    from lowland import L1Selector

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) / 2
    y = X[:, :20] @ np.linspace(2, 0.2, 20) + 5 * rng.standard_normal(n)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)  # the peer does not standardize
    ours, peer = L1Selector(rule="min", standardize=False), LassoCV(cv=5, max_iter=10_000)
    times = alternate(
        {"ours": partial(ours.fit, Z, y), "peer": partial(peer.fit, Z, y)}, 3 * plan.repeat, at_most=_LONGEST
    )
    agree("largest penalty", ours.alphas_[0], peer.alphas_[0], within=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it may not reach this tolerance
        tight = Lasso(ours.alpha_, tol=1e-10, max_iter=100_000, precompute=n > d).fit(Z, y)
    apart = float(np.abs(ours.coef_ - tight.coef_).max() / np.abs(tight.coef_).max())
    places = [int(np.argmin(np.abs(ours.alphas_ - model.alpha_))) for model in (ours, peer)]
    if abs(places[0] - places[1]) > 2 or apart > 1e-3:  # the losses of the peer are inexact by its tolerance
        raise WrongAnswer(f"penalty {ours.alpha_:.6g}, the peer's {peer.alpha_:.6g}; coefficients {apart:.1e} apart")
    return times.line(
        "against LassoCV", "ours", "peer",
        remark=f"penalty {ours.alpha_:.5g}, the peer's {peer.alpha_:.5g}; difference of coefficients from "
        f"Lasso at tol=1e-10 {apart:.1e} of the largest; "
        f"duality gap {ours.dual_gaps_.max():.0e} of the loss, the peer 1e-4",
    )  # fmt: skip


@job("L1Selector: logistic path of 30 penalties, 2,000 × 50 in 3 classes")
def l1_classes(plan: Plan) -> Iterator[Line]:
    from sklearn.linear_model import LogisticRegression

    from lowland import L1Selector

    n, d = plan.size(2_000, 200), plan.size(50, 10)
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = rng.standard_normal((n, d)) + 0.3 * rng.standard_normal((3, d))[y]
    ours = L1Selector(d // 2, alphas=30, standardize=False).fit(X, y)

    def path() -> Any:
        model = LogisticRegression(l1_ratio=1, solver="saga", tol=1e-6, max_iter=10_000, warm_start=True)
        return [model.set_params(C=1 / (n * alpha)).fit(X, y).coef_.copy() for alpha in ours.alphas_]

    times = alternate({"ours": partial(ours.fit, X, y), "peer": path}, plan.repeat, at_most=_LONGEST)
    theirs = np.stack(times.answers["peer"])
    apart = float(np.abs(ours.coef_path_ - theirs).max() / np.abs(theirs).max())
    if apart > 0.01:
        raise WrongAnswer(f"coefficients {apart:.1e} of the largest apart")
    remark = f"difference of coefficients {apart:.1e}; duality gap {ours.dual_gaps_.max():.0e}; the peer: saga at 1e-6"
    yield times.line("against LogisticRegression", "ours", "peer", remark=remark)


@job("TreeSelector: pruning chosen by 5 folds, 5,000 × 20 in 3 classes")
def tree_pruning(plan: Plan) -> Iterator[Line]:
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeClassifier

    from lowland import TreeSelector

    n = plan.size(5_000, 300)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 20))
    y = (X[:, 0] > 0).astype(int) + ((X[:, 1] > X[:, 2]) & (rng.random(n) < 0.8))
    ours = TreeSelector(rule="min", n_repeats=1)

    def search() -> Any:
        tree = DecisionTreeClassifier(random_state=0)
        alphas = tree.cost_complexity_pruning_path(X, y).ccp_alphas
        some = np.unique(alphas[:: max(1, len(alphas) // 50)])  # 50 of them: a fit for each, and each fold
        return GridSearchCV(tree, {"ccp_alpha": some}, cv=5).fit(X, y)

    times = alternate({"ours": partial(ours.fit, X, y), "peer": search}, plan.repeat, at_most=_LONGEST)
    peer = times.answers["peer"].best_score_
    if not ours.score_ >= peer - 0.02:
        raise WrongAnswer(f"accuracy {ours.score_:.4f}, the peer's {peer:.4f}")
    remark = (
        f"accuracy {ours.score_:.4f}, the peer's {peer:.4f}; {len(ours.alphas_)} complexities, the peer's at most 51"
    )
    yield times.line("against GridSearchCV", "ours", "peer", remark=remark)
