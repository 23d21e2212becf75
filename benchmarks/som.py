"""Self-organizing maps compared with MiniSom, and of a file larger than the memory budget."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import samples
from benchmarks.fresh import fresh
from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer, agree, alternate, resident, stopwatch
from benchmarks.registry import Plan, job

SIDE = 20
# schedules chosen for a quantization error close to that of the peer, and not above it
ONLINE = {"training": "online", "epochs": 1, "radius": 10.0, "final_radius": 1.2}
BATCH = {"epochs": 40, "radius": 10.0, "final_radius": 1.4}


@job("SelfOrganizingMap of 20 x 20 units, 100,000 × 30, against MiniSom")
def self_organizing(plan: Plan) -> Iterator[Line]:
    X = bent_rows(plan.size(100_000, 3000), 30)
    double = X.astype(np.float64)  # what the peer works in
    times = alternate(
        {"online": partial(_fit, X, ONLINE), "batch": partial(_fit, X, BATCH), "peer": partial(_fit_peer, double)},
        min(2, plan.repeat),
    )
    measured = {name: _measured(double, units) for name, units in times.answers.items()}
    errors = {name: f"quantization error {q:.4f}, topographic {t:.4f}" for name, (q, t) in measured.items()}
    for name in ("online", "batch"):
        if not plan.quick and not all(
            ours <= peer for ours, peer in zip(measured[name], measured["peer"], strict=True)
        ):
            raise WrongAnswer(f"{name}: {errors[name]}; the peer's {errors['peer']}")
    remark = f"{errors['online']}; the peer's {errors['peer']}; same number of rows presented"
    yield times.line("online, one epoch", "online", "peer", required=(Bar("speed", 10.0),), remark=remark)
    yield times.line("batch, at least 40 epochs", "batch", "peer", remark=f"{errors['batch']}; for reference")


def bent_rows(n: int, d: int) -> np.ndarray:
    """Rows about a curved surface of four dimensions, in three clouds, (n, d) float32."""
    rng = np.random.default_rng(0)
    L = rng.standard_normal((n, 4))
    L[:, 0] += 3 * rng.integers(0, 3, n)
    return (2 * np.tanh(L @ rng.standard_normal((4, d)) / 2) + 0.3 * rng.standard_normal((n, d))).astype(np.float32)


def _fit(X: np.ndarray, options: dict[str, Any]) -> np.ndarray:
    from lowland import SelfOrganizingMap

    return SelfOrganizingMap((SIDE, SIDE), topology="rectangular", **options).fit(X).prototypes_


def _fit_peer(X: np.ndarray) -> np.ndarray:
    from minisom import MiniSom

    som = MiniSom(
        SIDE, SIDE, X.shape[1], sigma=SIDE / 2, learning_rate=0.5, sigma_decay_function="linear_decay_to_one",
        decay_function="linear_decay_to_zero", random_seed=0,
    )  # fmt: skip
    som.pca_weights_init(X)
    som.train(X, len(X), random_order=True)
    return som.get_weights().reshape(SIDE * SIDE, -1)


def _measured(X: np.ndarray, units: np.ndarray) -> tuple[float, float]:
    """Quantization and topographic error, by all distances in float64."""
    W = np.asarray(units, dtype=np.float64)
    error, astray = 0.0, 0
    for start in range(0, len(X), 10_000):
        Y = X[start : start + 10_000]
        D = (W**2).sum(axis=1) - 2 * Y @ W.T
        first, second = np.argsort(D, axis=1)[:, :2].T
        error += float(np.linalg.norm(Y - W[first], axis=1).sum())
        apart = np.hypot(first // SIDE - second // SIDE, first % SIDE - second % SIDE)
        astray += int((apart > 1.5).sum())
    return error / len(X), astray / len(X)


@job("SelfOrganizingMap of a 4 GB Parquet file, 5,200,000 × 200 float32, 10 x 10 units, ten epochs, budget 512 MB")
def map_of_file(plan: Plan) -> Iterator[Line]:
    n, d, group = plan.size(5_200_000, 200_000), plan.size(200, 50), 80_000
    with samples.large_file(n, d, group) as (path, size):
        found = fresh(fit_file, path)
        agree("quantization error of the first rows", found["plain"], found["ours"], within=1e-6)
    yield Line(
        "fit within the budget", found["seconds"], memory=found["peak"], required=(Bar("memory", 1e9),),
        remark=f"{size / 1e9:.2f} GB, {found['epochs']} epochs; quantization error {found['error']:.4f}, topographic "
        f"{found['topographic']:.3f}; memory of the whole process",
    )  # fmt: skip


def fit_file(path: str) -> dict[str, Any]:
    """In a new process: fit from the path within the budget; peak memory of the whole process."""
    import pyarrow.parquet as pq

    import lowland

    fit = lowland.SelfOrganizingMap((10, 10), epochs=10, convergence_epochs=0).fit
    with lowland.config(memory="512MB"):
        seconds, som = stopwatch(partial(fit, path))
    peak = resident("VmHWM")
    X = np.column_stack([c.to_numpy() for c in next(pq.ParquetFile(path).iter_batches(5000)).columns]).astype(float)
    W = som.prototypes_.astype(np.float64)
    squares = (X**2).sum(axis=1)[:, None] - 2 * X @ W.T + (W**2).sum(axis=1)
    return {
        "seconds": seconds, "peak": peak, "epochs": som.n_iter_, "error": som.quantization_error_,
        "topographic": som.topographic_error_, "ours": som.errors(X)[0],
        "plain": float(np.sqrt(squares.min(axis=1)).mean()),
    }  # fmt: skip
