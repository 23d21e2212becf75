"""Kernel PCA compared with scikit-learn's solvers, and with landmarks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.fresh import fresh
from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer, agree, alternate, resident
from benchmarks.registry import Plan, job

_LONGEST = 120.0  # seconds after which no further round begins


def _cloud(n: int, d: int) -> np.ndarray:
    """Normal rows whose directions fall in variance, as those of most tables do."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)) * np.geomspace(3, 0.3, d)


@job("KernelPCA.fit of 8,000 × 20, rbf, k = 10")
def kernel_pca(plan: Plan) -> Iterator[Line]:
    n, k = plan.size(8_000, 1_500), 10
    X = _cloud(n, 20)
    gamma = 1 / (2 * np.var(X, axis=0).sum())  # the mean squared distance of two rows
    exact = None
    for solver, bar, rounds in (("auto", 8.0, min(plan.repeat, 2)), ("randomized", 1.3, plan.repeat)):
        work = {"ours": partial(_fit, "lowland", X, k, gamma), "peer": partial(_fit, "sklearn", X, k, gamma, solver)}
        times = alternate(work, rounds, at_most=_LONGEST)
        ours, peer = (times.answers[whose].eigenvalues_ for whose in ("ours", "peer"))
        exact = peer if solver == "auto" else exact  # with ten components, scikit-learn's auto is LAPACK
        error = agree("eigenvalues", ours, exact, within=1e-6)
        theirs = float(np.max(np.abs(peer - exact) / exact))
        yield times.line(
            f"against scikit-learn's {solver}", "ours", "peer", required=(Bar("speed", bar),),
            remark=f"eigenvalues {ours[0]:.6f} … {ours[-1]:.6f}, the peer {peer[0]:.6f} … {peer[-1]:.6f}; "
            f"relative error {error:.0e}, the peer {theirs:.0e}",
        )  # fmt: skip


def _fit(package: str, X: np.ndarray, k: int, gamma: float, solver: str = "auto") -> Any:
    if package == "lowland":
        from lowland import KernelPCA as Method
    else:
        from sklearn.decomposition import KernelPCA as Method
    return Method(k, kernel="rbf", gamma=gamma, eigen_solver=solver, random_state=0).fit(X)


@job("KernelPCA.fit of 1,000,000 × 50 from 1,000 landmarks, rbf, k = 10")
def kernel_pca_landmarks(plan: Plan) -> Iterator[Line]:
    n, m = plan.size(1_000_000, 20_000), plan.size(1_000, 200)
    result = fresh(fit_landmarks, n, m)
    if not result["off"] <= 1e-8:
        raise WrongAnswer(f"coordinates: their squares are off the eigenvalues by {result['off']:.1e}, allowed 1e-8")
    ratio = ", ".join(f"{value:.3f}" for value in result["ratios"])
    yield Line(
        "fit and transform", result["seconds"], required=(Bar("ours", 900.0), Bar("memory", 4e9)),
        memory=result["peak"],
        remark=f"memory of the whole process, rows and coordinates included; ratios of the "
        f"eigenvalues per row to an exact fit of {result['checked']:,} rows: {ratio}",
    )  # fmt: skip


def fit_landmarks(n: int, m: int) -> dict[str, Any]:
    """In a new process: fit and transform; ratios of the first eigenvalues to an exact fit of some rows."""
    from lowland import KernelPCA

    X = _cloud(n, 50)
    kpca = KernelPCA(10, kernel="rbf", gamma="median", n_landmarks=m, random_state=0)
    start = time.perf_counter()
    Z = kpca.fit_transform(X)
    seconds, peak = time.perf_counter() - start, resident("VmHWM")
    off = float(np.abs(np.sum(Z**2, axis=0) / kpca.eigenvalues_ - 1).max())
    part = X[:: max(1, n // 4000)]
    exact = KernelPCA(3, kernel="rbf", gamma=kpca.gamma_).fit(part).eigenvalues_ / len(part)
    ratios = (kpca.eigenvalues_[:3] / n / exact).tolist()
    return {"seconds": seconds, "peak": peak, "off": off, "ratios": ratios, "checked": len(part)}
