"""Linear discriminant analysis compared with scikit-learn's solvers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.lines import Bar, Line
from benchmarks.measure import agree, alternate
from benchmarks.registry import Plan, job


@job("LinearDiscriminantAnalysis.fit of 100,000 × 300, 20 classes")
def discriminants(plan: Plan) -> Iterator[Line]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Theirs

    from lowland import LinearDiscriminantAnalysis as Ours

    n, d, classes = plan.size(100_000, 5_000), plan.size(300, 40), 20
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) / d**0.5 + 0.02 * rng.standard_normal((classes, d))[y]
    X += 3
    for solver, bar in (("svd", 8.0), ("eigen", 4.0)):
        work = {"ours": partial(_fit, Ours, solver, X, y), "peer": partial(_fit, Theirs, solver, X, y)}
        times = alternate(work, plan.repeat)
        ours, peer = times.answers["ours"], times.answers["peer"]
        agree("proportions of trace", ours.explained_variance_ratio_, peer.explained_variance_ratio_, within=1e-8)
        right = {whose: float(np.mean(model.predict(X) == y)) for whose, model in times.answers.items()}
        agree("accuracies", right["ours"], right["peer"], within=1e-4)
        off = {whose: _residual(X, y, model) for whose, model in times.answers.items()}
        yield times.line(
            f"against scikit-learn's {solver}", "ours", "peer", required=(Bar("speed", bar),),
            remark=f"accuracy {right['ours']:.4f}, the peer {right['peer']:.4f}; "
            f"error of the unit within-class variance {off['ours']:.0e}, the peer {off['peer']:.0e}",
        )  # fmt: skip
    times = alternate({"ours": partial(_fit, Ours, "svd", X, y), "bare": lambda: X.T @ X}, plan.repeat)
    yield times.line("against the bare product X'X", "ours", "bare", remark="for reference")


def _fit(cls: Any, solver: str, X: np.ndarray, y: np.ndarray) -> Any:
    return cls(solver).fit(X, y)


def _residual(X: np.ndarray, y: np.ndarray, model: Any) -> float:
    """Deviation of the coordinates from unit variance within the classes."""
    Z = model.transform(X)
    counts = np.bincount(y)
    means = np.stack([np.bincount(y, column) for column in Z.T], axis=1) / counts[:, None]
    C = Z - means[y]
    return float(np.abs(C.T @ C / len(C) - np.eye(Z.shape[1])).max())
