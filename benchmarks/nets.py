"""Autoencoders: MNIST compared with PCA, an epoch compared with a torch loop, and a file larger than the budget."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import samples
from benchmarks.fresh import fresh
from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer, alternate, resident, stopwatch
from benchmarks.registry import Plan, job

BOTTLENECK = 32
MNIST = {"hidden_layer_sizes": (512,), "max_iter": 30, "learning_rate": 4e-3, "batch_size": 256, "random_state": 0}


@job("Autoencoder of MNIST, 60,000 digits, four layers, bottleneck of 32: error on the 10,000 test images", data="real")
def autoencoder_mnist(plan: Plan) -> Iterator[Line]:
    if not os.environ.get("LOWLAND_DATA"):
        return
    from lowland import PCA, Autoencoder
    from lowland.data import load_dataset

    X, new = (_pixels(load_dataset("mnist", split=split).X) for split in ("train", "test"))
    X = X[: plan.size(60_000, 1_000)]
    options: dict[str, Any] = {**MNIST, "max_iter": plan.size(MNIST["max_iter"], 2)}  # type: ignore[call-overload]
    seconds, model = stopwatch(lambda: Autoencoder(BOTTLENECK, **options).fit(X))
    pca = PCA(BOTTLENECK).fit(X)
    flat = float(np.mean(np.sum((pca.inverse_transform(pca.transform(new)) - new) ** 2, axis=1)))
    bent = float(np.mean(model.reconstruction_error(new)))
    errors = f"reconstruction error per image {bent:.2f}, PCA {flat:.2f}"
    yield Line(
        "training on all cores",
        seconds,
        required=(Bar("ours", 600.0),),
        remark=f"{model.n_iter_} epochs, {model.engine_}",
    )
    half = () if plan.quick else (Bar("ours", 0.5),)
    yield Line(
        "error relative to PCA",
        bent / flat,
        unit="relative error",
        required=half,
        remark=f"{bent / flat:.3f}: {errors}",
    )


@job("Autoencoder: an epoch of 20,000 × 784, 784-512-32-512-784, against the same loop written in torch")
def autoencoder_epoch(plan: Plan) -> Iterator[Line]:
    from lowland import Autoencoder

    X = _bent_images(plan.size(20_000, 1_000))
    options = {**MNIST, "max_iter": 1, "validation_fraction": 0.0}
    work: dict[str, Any] = {
        "torch": lambda: Autoencoder(BOTTLENECK, engine="torch", **options).fit(X).loss_,
        "numpy": lambda: Autoencoder(BOTTLENECK, engine="numpy", **options).fit(X).loss_,
        "peer": partial(_plain_loop, X),
    }
    times = alternate(work, min(3, plan.repeat))
    if not abs(times.answers["torch"] / times.answers["numpy"] - 1) < 0.01:
        raise WrongAnswer(f"the engines disagree: {times.answers}")
    for name in ("torch", "numpy"):
        yield times.line(
            f"engine {name}", name, "peer", remark=f"loss {times.answers[name]:.3f}, computed in an additional pass"
        )


@job("Autoencoder of a 2 GB Parquet file, 2,600,000 × 200 float32, one epoch, budget 512 MB")
def autoencoder_of_file(plan: Plan) -> Iterator[Line]:
    n, d, group = plan.size(2_600_000, 100_000), plan.size(200, 50), 80_000
    with samples.large_file(n, d, group) as (path, size):
        found = fresh(fit_file, path)
    if not found["lost"] < (1.5 if plan.quick else 1.2) * found["pca"]:  # after one epoch
        raise WrongAnswer(f"reconstruction error {found['lost']:.3g}, PCA {found['pca']:.3g}")
    yield Line(
        "fit within the budget", found["seconds"], memory=found["peak"], required=(Bar("memory", 1.5e9),),
        remark=f"{size / 1e9:.2f} GB; reconstruction error {found['lost']:.3g} per row, PCA {found['pca']:.3g}; "
        "memory of the whole process, torch included",
    )  # fmt: skip


def fit_file(path: str) -> dict[str, Any]:
    """In a new process: one epoch from the path within the budget; peak memory of the whole process."""
    import pyarrow.parquet as pq

    import lowland

    fit = lowland.Autoencoder(20, hidden_layer_sizes=(128,), max_iter=1, random_state=0).fit
    with lowland.config(memory="512MB"):
        seconds, model = stopwatch(partial(fit, path))
    peak = resident("VmHWM")
    X = np.column_stack([c.to_numpy() for c in next(pq.ParquetFile(path).iter_batches(20_000)).columns]).astype(float)
    pca = float(lowland.PCA(20).fit(X).distortion())
    return {"seconds": seconds, "peak": peak, "lost": float(model.reconstruction_error(X).mean()), "pca": pca}


def _pixels(X: np.ndarray) -> np.ndarray:
    return X.astype(np.float32) / 255


def _bent_images(n: int) -> np.ndarray:
    """Rows about a curved surface of 32 dimensions, (n, 784) float32."""
    rng = np.random.default_rng(0)
    L = rng.standard_normal((n, 32)).astype(np.float32)
    return np.tanh(L @ rng.standard_normal((32, 784)).astype(np.float32) / 4)


def _plain_loop(X: np.ndarray) -> float:
    """The peer: the same net, batches and optimizer, with automatic differentiation."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    Y = torch.as_tensor((X - X.mean(axis=0)) / X.std())
    parts = [nn.Linear(784, 512), nn.SiLU(), nn.Linear(512, 32), nn.Linear(32, 512), nn.SiLU(), nn.Linear(512, 784)]
    net = nn.Sequential(*parts)
    adam = torch.optim.Adam(net.parameters(), lr=4e-3, fused=True)
    size, lost = MNIST["batch_size"], 0.0
    for which in torch.randperm(len(Y)).split(size):  # type: ignore[arg-type]
        rows = Y[which]
        adam.zero_grad()
        loss = nn.functional.mse_loss(net(rows), rows)
        loss.backward()
        adam.step()
        lost += loss.item() * len(which)
    return lost / len(Y)
