"""Factor analysis compared with scikit-learn's."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer, alternate
from benchmarks.registry import Plan, job


def factor_rows(n: int, d: int, k: int) -> np.ndarray:
    """Rows of a factor model with a different noise variance per column, (n, d)."""
    rng = np.random.default_rng(0)
    W, noise = rng.standard_normal((d, k)), np.sqrt(rng.uniform(0.5, 3.0, d))
    return rng.standard_normal((n, k)) @ W.T + noise * rng.standard_normal((n, d)) + rng.standard_normal(d)


def _fit(library: str, X: np.ndarray, k: int) -> Any:
    return importlib.import_module(library).FactorAnalysis(n_components=k).fit(X)


@job("FactorAnalysis.fit of 50,000 × 200, 20 factors")
def factors(plan: Plan) -> Iterator[Line]:
    n, d, k = plan.size(50_000, 3000), plan.size(200, 50), plan.size(20, 5)
    X = factor_rows(n, d, k)
    work = {"ours": partial(_fit, "lowland", X, k), "peer": partial(_fit, "sklearn.decomposition", X, k)}
    times = alternate(work, plan.repeat, at_most=120)
    likelihood = {whose: float(model.score(X)) for whose, model in times.answers.items()}
    if not likelihood["ours"] >= likelihood["peer"]:
        raise WrongAnswer(f"log-likelihood {likelihood['ours']:.9f} per row, the peer's {likelihood['peer']:.9f}")
    remark = (
        f"mean log-likelihood {likelihood['ours']:.7f}, the peer's {likelihood['peer']:.7f}; "
        f"iterations {times.answers['ours'].n_iter_}, the peer's {times.answers['peer'].n_iter_}"
    )
    yield times.line("against scikit-learn", "ours", "peer", required=(Bar("speed", 25),), remark=remark)
