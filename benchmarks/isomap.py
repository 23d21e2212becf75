"""Isomap compared with scikit-learn's on Swiss rolls, and landmark Isomap of a million rows."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fresh import fresh
from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer, peak_beyond, stopwatch
from benchmarks.registry import Plan, job

MINUTES = 60.0


def fit_alone(which: str, n: int, landmarks: int, path: str) -> dict[str, Any]:
    """In a new process, after a small fit that compiles: seconds, peak memory beyond the data, R²."""
    from lowland.data import swiss_roll

    fit = {"lowland": _ours, "sklearn": _theirs, "tapkee": _tapkee}[which]
    fit(swiss_roll(500, seed=0).X, min(landmarks, 100))
    roll = swiss_roll(n, seed=0)
    found: list[Any] = []
    memory = peak_beyond(lambda: found.extend(stopwatch(lambda: fit(roll.X, landmarks))))
    seconds, Z = found
    if path:
        np.save(path, Z)
    return {"seconds": seconds, "memory": memory, "r2": likeness(Z, roll.truth)}


def _ours(X: np.ndarray, landmarks: int) -> np.ndarray:
    import lowland

    with lowland.config(threads=2, memory="8GB"):
        return lowland.Isomap(2, n_neighbors=12, n_landmarks=landmarks or None, random_state=0).fit(X).embedding_


def _theirs(X: np.ndarray, landmarks: int) -> np.ndarray:
    from sklearn.manifold import Isomap

    return Isomap(n_components=2, n_neighbors=12).fit(X).embedding_


def _tapkee(X: np.ndarray, landmarks: int) -> np.ndarray:
    import tapkee

    points = np.asfortranarray(X.T)  # its points are columns
    ratio = landmarks / len(X)
    Z = np.asarray(tapkee.embed(points, method="l-isomap", num_neighbors=12, target_dimension=2, landmark_ratio=ratio))
    return Z if len(Z) == len(X) else Z.T


def likeness(Z: np.ndarray, T: np.ndarray) -> float:
    """R² of Z with T after a Procrustes transformation."""
    Z, T = Z - Z.mean(axis=0), T - T.mean(axis=0)
    return float(np.linalg.svd(Z.T @ T, compute_uv=False).sum() ** 2 / ((Z**2).sum() * (T**2).sum()))


@job("Isomap of a Swiss roll, 10,000 points, 12 neighbors")
def isomap_roll(plan: Plan) -> Iterator[Line]:
    n = plan.size(10_000, 800)
    with tempfile.TemporaryDirectory() as folder:
        paths = {which: str(Path(folder) / f"{which}.npy") for which in ("lowland", "sklearn")}
        ours, peer = (fresh(fit_alone, which, n, 0, path) for which, path in paths.items())
        A, B = (np.load(path) for path in paths.values())
    off = float(np.abs(np.abs(A) - np.abs(B)).max() / np.abs(B).max())
    if not off < 1e-4:
        raise WrongAnswer(f"coordinates differ from scikit-learn's by {off:.1e}, allowed 1e-04")
    yield Line(
        "against scikit-learn", ours["seconds"], peer["seconds"], ratio=ours["seconds"] / peer["seconds"],
        required=() if plan.quick else (Bar("speed", 5.0), Bar("memory", peer["memory"] / 2)), memory=ours["memory"],
        remark=f"coordinates agree to {off:.0e}, R² of the true coordinates {ours['r2']:.5f}, "
        f"the peer {peer['r2']:.5f}; its peak {peer['memory'] / 1e6:.0f} MB",
    )  # fmt: skip


@job("Landmark Isomap of a Swiss roll, 1,000,000 points, 12 neighbors, 500 landmarks, two threads")
def landmark_isomap(plan: Plan) -> Iterator[Line]:
    ours = fresh(fit_alone, "lowland", plan.size(1_000_000, 3_000), plan.size(500, 50), "")
    _check(ours)
    yield Line(
        "fit", ours["seconds"], memory=ours["memory"], required=(Bar("ours", 15 * MINUTES), Bar("memory", 8e9)),
        remark=f"R² of the true coordinates {ours['r2']:.5f}",
    )  # fmt: skip
    try:
        import tapkee  # noqa: F401
    except ImportError:
        return
    n, m = plan.size(100_000, 2_000), plan.size(500, 50)
    ours, peer = (fresh(fit_alone, which, n, m, "") for which in ("lowland", "tapkee"))
    yield Line(
        f"against Tapkee, {n:,} points", ours["seconds"], peer["seconds"], ratio=ours["seconds"] / peer["seconds"],
        required=() if plan.quick else (Bar("speed", 2.0),), memory=ours["memory"],
        remark=f"R² of the true coordinates {ours['r2']:.5f}, the peer {peer['r2']:.5f}",
    )  # fmt: skip


def _check(found: dict[str, Any]) -> None:
    if not found["r2"] > 0.99:
        raise WrongAnswer(f"R² of the true coordinates is {found['r2']:.4f}, and should be above 0.99")
