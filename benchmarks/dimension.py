"""Intrinsic dimension: estimates where it is known, and their time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer, agree, alternate, stopwatch
from benchmarks.registry import Plan, job

ALLOWED = 0.1  # maximum relative error of the default
OTHERS = ("mle", "twonn", "correlation", "pca", "global_pca")


@job("Intrinsic dimension of known spaces, 2,000 rows each: the error of the default")
def dimension_known(plan: Plan) -> Iterator[Line]:
    from lowland.quality import intrinsic_dimension

    for name, (true, make) in _spaces(2_000).items():
        X = make()
        seconds, found = stopwatch(partial(intrinsic_dimension, X))
        off = abs(found.value / true - 1)
        others = ", ".join(f"{method} {intrinsic_dimension(X, method).value:.1f}" for method in OTHERS)
        yield Line(
            name, off, unit="relative error", required=(Bar("ours", ALLOWED),),
            remark=f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f}) of {true}, in {seconds:.2g} s; {others}",
        )  # fmt: skip


@job("Intrinsic dimension of a 10-ball, compared with maximum likelihood on scikit-learn's neighbors")
def dimension_time(plan: Plan) -> Iterator[Line]:
    from lowland.quality import intrinsic_dimension

    n = plan.size(10_000, 1_000)
    X = ball(n, 10)
    work = {"ours": partial(intrinsic_dimension, X, sample=None), "peer": partial(_likelihood, X)}
    times = alternate(work, plan.repeat, at_most=120.0)
    agree("likelihood", intrinsic_dimension(X, "mle", sample=None).value, times.answers["peer"], within=1e-6)
    found = times.answers["ours"]
    if not abs(found.value / 10 - 1) <= ALLOWED:
        raise WrongAnswer(f"the dimension of a 10-ball: {found.value:.2f}")
    yield times.line(
        f"{n:,} rows, all used", "ours", "peer", required=(Bar("ours", 10.0),),
        remark=f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f}), the likelihood {times.answers['peer']:.2f}",
    )  # fmt: skip


def ball(n: int, d: int) -> np.ndarray:
    """Uniform points in the unit ball, (n, d)."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1)[:, None] * rng.random((n, 1)) ** (1 / d)


def _likelihood(X: np.ndarray, k: int = 20) -> float:
    """Levina and Bickel's estimate, averaged as MacKay and Ghahramani do."""
    from sklearn.neighbors import NearestNeighbors

    D = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()[0]
    return float(1 / np.mean(np.log(D[:, -1:] / D[:, :-1])))


def _spaces(n: int) -> dict[str, tuple[int, Callable[[], np.ndarray]]]:
    from lowland.data import load_dataset

    rng = np.random.default_rng(1)
    return {
        "swiss roll": (2, lambda: load_dataset("swiss_roll", n=n).X),
        "swiss roll with noise 0.3": (2, lambda: load_dataset("swiss_roll", n=n, noise=0.3).X),
        "shifted and turned digits": (3, lambda: load_dataset("moved_digits", n=n).X),
        "ball of 10": (10, lambda: ball(n, 10)),
        "ball of 20": (20, lambda: ball(n, 20)),
        "sphere of 2": (2, lambda: load_dataset("sphere", n=n, d=3).X),
        "sphere of 10": (10, lambda: load_dataset("sphere", n=n, d=11).X),
        "cube of 10": (10, lambda: rng.random((n, 10))),
        "cube of 20": (20, lambda: rng.random((n, 20))),
    }
