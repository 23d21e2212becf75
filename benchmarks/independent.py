"""Independent component analysis, compared with scikit-learn and python-picard."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer, alternate
from benchmarks.registry import Plan, job


def mixed_sources(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Leptokurtic, platykurtic and skewed sources, mixed: rows (n, k) float64 and the mixing matrix (k, k)."""
    rng = np.random.default_rng(0)
    kinds = (rng.laplace(size=(n, k)), rng.uniform(-1, 1, (n, k)), rng.exponential(size=(n, k)))
    S = np.stack([kinds[j % 3][:, j] for j in range(k)], axis=1)
    A = rng.standard_normal((k, k))
    return (S / S.std(axis=0)) @ A.T, A


def gradient_norm(X: np.ndarray, unmixing: np.ndarray) -> float:
    """The largest entry of the antisymmetric part of diag(s) E tanh(y)y', y of unit variance: zero at an optimum."""
    Y = (X - X.mean(axis=0)) @ unmixing.T
    Y /= Y.std(axis=0)
    T = np.tanh(Y)
    C = T.T @ Y / len(Y)
    C *= np.sign((1 - T**2).mean(axis=0) - np.diagonal(C))[:, None]
    return float(np.abs(C - C.T).max() / 2)


@job("FastICA.fit of 100,000 × 30")
def independent(plan: Plan) -> Iterator[Line]:
    from sklearn.decomposition import FastICA as TheirFastICA

    from lowland import FastICA
    from lowland.quality import amari_distance

    X, A = mixed_sources(plan.size(100_000, 5000), plan.size(30, 6))

    def fit(cls: Any, **options: Any) -> Any:
        return cls(random_state=0, **options).fit(X)

    times = alternate(
        {
            "ours": partial(fit, FastICA),
            "peer": partial(fit, TheirFastICA),
            "peer, eigh": partial(fit, TheirFastICA, whiten_solver="eigh"),
        },
        plan.repeat,
    )
    distances = {name: amari_distance(model.components_, A).value for name, model in times.answers.items()}
    _as_exact("Amari distance", distances["ours"], distances["peer"])
    steps = {name: model.n_iter_ for name, model in times.answers.items()}
    remark = (
        f"Amari distance {distances['ours']:.5f}, the peer's {distances['peer']:.5f}; "
        f"{steps['ours']} iterations, the peer's {steps['peer']}"
    )
    yield times.line("against scikit-learn", "ours", "peer", required=(Bar("speed", 1.5),), remark=remark)
    remark = f"the peer with faster whitening; its Amari distance {distances['peer, eigh']:.5f}"
    yield times.line("against scikit-learn, whiten_solver='eigh'", "ours", "peer, eigh", remark=remark)


@job("FastICA(algorithm='picard').fit of 100,000 × 30 to a gradient below 1e-7")
def quasi_newton(plan: Plan) -> Iterator[Line]:
    from picard import picard

    from lowland import FastICA
    from lowland.quality import amari_distance

    X, A = mixed_sources(plan.size(100_000, 5000), plan.size(30, 6))
    tol = 1e-7

    def ours() -> np.ndarray:
        return FastICA(algorithm="picard", tol=tol, random_state=0).fit(X).components_

    def peer() -> np.ndarray:
        K, W, _ = picard(X.T, fun="tanh", ortho=True, extended=True, tol=tol, random_state=0)
        return W @ K

    times = alternate({"ours": ours, "peer": peer}, plan.repeat)
    distances = {name: amari_distance(unmixing, A).value for name, unmixing in times.answers.items()}
    gradients = {name: gradient_norm(X, unmixing) for name, unmixing in times.answers.items()}
    _as_exact("Amari distance", distances["ours"], distances["peer"])
    if gradients["ours"] > 1.01 * tol:
        raise WrongAnswer(f"the gradient is {gradients['ours']:.1e}, tolerance {tol:.0e}")
    remark = (
        f"gradient {gradients['ours']:.0e}, the peer's {gradients['peer']:.0e}; "
        f"Amari distance {distances['ours']:.5f}, the peer's {distances['peer']:.5f}"
    )
    yield times.line("against python-picard", "ours", "peer", required=(Bar("speed", 1.5),), remark=remark)


def _as_exact(what: str, ours: float, peer: float) -> None:
    """Fail if ours is worse than the peer by more than one percent, which the tolerances allow."""
    if ours > 1.01 * peer:
        raise WrongAnswer(f"{what}: ours {ours:.5f}, the peer's {peer:.5f}")
