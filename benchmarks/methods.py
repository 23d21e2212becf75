"""One job per method: the digits, compared with scikit-learn's class of the same name."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.lines import Line
from benchmarks.measure import WrongAnswer, alternate
from benchmarks.registry import METHODS, Job, Plan

_PLACES = ("decomposition", "manifold", "discriminant_analysis", "random_projection", "feature_selection", "neighbors",
           "cluster")  # fmt: skip
_LONGEST = 20.0  # seconds after which no further round begins
_WORSE = 0.1  # allowed difference in trustworthiness from the peer


def method_jobs() -> list[Job]:
    """Return a job for each method of the index, named by its verb."""
    from lowland.methods.registry import entries

    return [
        Job(
            entry.verb,
            f"{entry.name}.fit_transform of the digits, 1,797 × 64",
            partial(_compare, entry.name),
            "real",
            METHODS,
        )
        for entry in entries().values()
    ]


def _compare(name: str, plan: Plan) -> Iterator[Line]:
    from sklearn.datasets import load_digits
    from sklearn.manifold import trustworthiness

    from lowland.methods.registry import load_method

    X, y = load_digits(return_X_y=True)
    X, y = X[: plan.size(1797, 300)], y[: plan.size(1797, 300)]
    peer = _peer_of(name)
    work = {"ours": partial(_embedding, load_method(name), X, y)}
    if peer is not None:
        work["peer"] = partial(_embedding, peer, X, y)
    times = alternate(work, 4 * plan.repeat, at_most=_LONGEST)
    trust = {whose: trustworthiness(X, Z, n_neighbors=10) for whose, Z in times.answers.items()}
    if peer is None:
        yield Line("alone", times.median("ours"), remark=f"trustworthiness {trust['ours']:.3f}")
        return
    if not trust["ours"] >= trust["peer"] - _WORSE:
        raise WrongAnswer(f"{name}: trustworthiness {trust['ours']:.3f}, the peer's {trust['peer']:.3f}")
    remark = f"trustworthiness {trust['ours']:.3f}, the peer's {trust['peer']:.3f}"
    yield times.line("against scikit-learn", "ours", "peer", remark=remark)


def _peer_of(name: str) -> Any:
    modules = (importlib.import_module(f"sklearn.{place}") for place in _PLACES)
    return next((getattr(module, name) for module in modules if hasattr(module, name)), None)


def _embedding(method: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    model = method()
    wanted = {"n_components": 2, "random_state": 0}
    model.set_params(**{name: value for name, value in wanted.items() if name in model.get_params()})
    return np.asarray(model.fit_transform(X, y))
