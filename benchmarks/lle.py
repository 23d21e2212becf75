"""Locally linear embedding compared with scikit-learn's on Swiss rolls, and of many points."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.fresh import fresh
from benchmarks.lines import Bar, Line
from benchmarks.measure import Times, WrongAnswer, resident, stopwatch
from benchmarks.registry import Plan, job

_NEIGHBORS = 12
_BARS = {"standard": 3.0, "modified": 15.0, "ltsa": 15.0}
_NEAR = 1e-3  # sine of the angle between two embeddings: the eigenvalues are 1e-12, the rounding of their matrix 1e-16


def roll(n: int) -> np.ndarray:
    from lowland.data import load_dataset

    return load_dataset("swiss_roll", n=n).X


def _fit(package: str, method: str, X: np.ndarray) -> Any:
    if package == "lowland":
        from lowland import LocallyLinearEmbedding as Method
    else:
        from sklearn.manifold import LocallyLinearEmbedding as Method
    return Method(n_components=2, n_neighbors=_NEIGHBORS, method=method, random_state=0).fit(X)


def apart(Z: np.ndarray, Y: np.ndarray) -> float:
    """The sine of the largest angle between the planes of two embeddings."""
    A, B = np.linalg.qr(Z)[0], np.linalg.qr(Y)[0]
    return float(np.linalg.norm(B - A @ (A.T @ B), 2))


@job("LocallyLinearEmbedding of a Swiss roll, 50,000 points, 12 neighbors, k = 2")
def lle(plan: Plan) -> Iterator[Line]:
    X = roll(plan.size(50_000, 2_000))
    for method, bar in _BARS.items():
        ours = _fit("lowland", method, X)
        seconds = [stopwatch(partial(_fit, "lowland", method, X))[0] for _ in range(min(plan.repeat, 3))]
        taken, peer = stopwatch(partial(_fit, "sklearn", method, X))  # minutes: too long to repeat
        angle = apart(ours.embedding_, peer.embedding_)
        if not angle <= _NEAR:
            raise WrongAnswer(f"{method}: the angle between the embeddings is {angle:.1e}, allowed {_NEAR:.0e}")
        times = Times({"ours": [float(np.median(seconds))], "peer": [taken]})
        yield times.line(
            f"{method}, against scikit-learn", "ours", "peer", required=(Bar("speed", bar),),
            remark=f"angle between embeddings {angle:.1e}; error {ours.reconstruction_error_:.4e}, the peer "
            f"{peer.reconstruction_error_:.4e}; solver {ours.solver_.name}",
        )  # fmt: skip


@job("LocallyLinearEmbedding of a Swiss roll, 500,000 points, 12 neighbors, k = 2")
def lle_many(plan: Plan) -> Iterator[Line]:
    result = fresh(fit_once, plan.size(500_000, 5_000), "standard")
    if not result["off"] <= _NEAR:
        raise WrongAnswer(f"the eigenvectors' residual is {result['off']:.1e} of λ, allowed {_NEAR:.0e}")
    yield Line(
        "fit", result["seconds"], memory=result["peak"], required=(Bar("ours", 900.0), Bar("memory", 12e9)),
        remark=f"memory of the whole process; residual |Mz - λz| / λ {result['off']:.0e}; R² of the true coordinates "
        f"{result['explained']:.4f}",
    )  # fmt: skip


def fit_once(n: int, method: str) -> dict[str, Any]:
    """In a new process, after a small fit that compiles: seconds, peak memory, accuracy of the result."""
    from lowland.data import load_dataset

    _fit("lowland", method, roll(1_000))
    sample = load_dataset("swiss_roll", n=n)
    start = time.perf_counter()
    model = _fit("lowland", method, sample.X)
    seconds, peak = time.perf_counter() - start, resident("VmHWM")
    Z, lam = model.embedding_, model.eigenvalues_
    off = float(np.abs(_residual(sample.X, Z, lam)).max()) if method == "standard" else 0.0
    A = np.column_stack([np.ones(n), Z])
    T = sample.truth - sample.truth.mean(axis=0)
    left = T - A @ np.linalg.lstsq(A, T, rcond=None)[0]
    explained = 1 - float((left**2).sum() / (T**2).sum())
    return {"seconds": seconds, "peak": peak, "off": off, "explained": explained}


def _residual(X: np.ndarray, Z: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """|Mz - λz| over the largest λ, with recomputed weights."""
    from lowland.math.graphs.locally_linear import weight_matrix
    from lowland.math.neighbors.search import nearest_neighbors
    from lowland.run.run import Run

    run = Run()
    W = weight_matrix(X, nearest_neighbors(X, _NEIGHBORS, run), run)
    E = Z - W @ Z
    return np.linalg.norm(E - W.T @ E - Z * lam, axis=0) / lam.max()
