"""Intrinsic dimension: estimates where it is known, and their time."""

from __future__ import annotations

import warnings
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
            remark=f"{found.value:.2f} of {true} (standard error {found.standard_error:.2f}), in {seconds:.2g} s; "
            f"{others}",
        )  # fmt: skip


@job("Standard errors of the intrinsic dimension: samples more than two standard errors from the mean of all samples")
def dimension_errors(plan: Plan) -> Iterator[Line]:
    from lowland.quality import intrinsic_dimension

    for name, (true, make) in SAMPLED.items():
        for method in ("auto", *OTHERS):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about few rows
                draws = [make(np.random.default_rng(seed)) for seed in range(plan.size(500, 50))]
                found = [intrinsic_dimension(X, method) for X in draws]
            value = np.array([each.value for each in found])
            error = np.array([each.standard_error for each in found])
            # the numbers of local components are often all equal, so a hundredth is allowed
            beyond = float(np.mean(np.abs(value - value.mean()) > np.maximum(2 * error, 0.01 * value)))
            yield Line(
                f"{name}, {method}", beyond, unit="relative error",
                remark=f"mean {value.mean():.2f} of {true}, standard deviation {value.std():.3f}, mean standard error "
                f"{error.mean():.3f}",
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
        remark=f"{found.value:.2f} (standard error {found.standard_error:.2f}), the likelihood "
        f"{times.answers['peer']:.2f}",
    )  # fmt: skip


def _sphere(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    X = rng.standard_normal((n, d + 1))
    return X / np.linalg.norm(X, axis=1)[:, None]


def _clusters(count: int, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Normal clusters of n rows each, with centers that are the same in every sample."""
    centers = 20 * np.random.default_rng(0).standard_normal((count, 1, d))
    return (centers + rng.standard_normal((count, n, d))).reshape(-1, d)


SAMPLED: dict[str, tuple[int, Callable[[np.random.Generator], np.ndarray]]] = {
    "10 clusters of 25 rows in 5-D": (5, lambda rng: _clusters(10, 25, 5, rng)),
    "2 clusters of 15 rows in 3-D": (3, lambda rng: _clusters(2, 15, 3, rng)),
    "anisotropic normal in 5-D, 200 rows": (5, lambda rng: rng.standard_normal((200, 5)) * [1, 0.7, 0.5, 0.3, 0.1]),
    "2-sphere, 50 rows": (2, lambda rng: _sphere(50, 2, rng)),
    "normal in 3-D, 200 rows": (3, lambda rng: rng.standard_normal((200, 3))),
    "square, 200 rows": (2, lambda rng: rng.random((200, 2))),
}


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
