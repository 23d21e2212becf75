"""Spectral embedding compared with scikit-learn's."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.lines import Line
from benchmarks.measure import Times, WrongAnswer, alternate
from benchmarks.registry import Plan, job

_LONGEST = 120.0  # seconds after which no further round begins
_NEIGHBORS = 12


@job("SpectralEmbedding of a Swiss roll, 20,000 and 50,000 points, 12 neighbors, k = 2")
def spectral_embedding(plan: Plan) -> Iterator[Line]:
    from lowland.data import swiss_roll

    for n in (plan.size(20_000, 1_000), plan.size(50_000, 2_000)):
        yield _beside(f"Swiss roll, {n:,}", swiss_roll(n, seed=0).X, _NEIGHBORS, plan)


@job("SpectralEmbedding of MNIST, 10,000 digits, 15 neighbors, k = 2", data="real")
def spectral_embedding_mnist(plan: Plan) -> Iterator[Line]:
    if not os.environ.get("LOWLAND_DATA"):
        return
    from lowland import SpectralEmbedding
    from lowland.data import load_dataset
    from lowland.errors import DataWarning

    X = np.asarray(load_dataset("mnist").X[: plan.size(10_000, 1_000)], dtype=np.float64)
    with warnings.catch_warnings():  # compare on the largest connected component, which both embed alike
        warnings.simplefilter("ignore", DataWarning)
        X = X[SpectralEmbedding(2, n_neighbors=15, disconnected="largest").fit(X).embedded_mask_]
    yield _beside(f"MNIST, {len(X):,}", X, 15, plan)


def _beside(what: str, X: np.ndarray, n_neighbors: int, plan: Plan) -> Line:
    """Compare time, the angle between the subspaces, and Rayleigh quotients."""
    work = {whose: partial(_fit, whose, X, n_neighbors) for whose in ("lowland", "sklearn.manifold")}
    times: Times = alternate(work, plan.repeat, at_most=_LONGEST)
    ours, peer = times.answers["lowland"], times.answers["sklearn.manifold"]
    angle = plane_angle(ours.embedding_, peer.embedding_, ours.affinity_matrix_)
    values = [quotients(peer.affinity_matrix_, model.embedding_) for model in (ours, peer)]
    off = float(np.max(np.abs(values[0] / ours.eigenvalues_ - 1)))
    if not (angle <= 1e-4 and off <= 1e-6):
        raise WrongAnswer(f"{what}: angle between subspaces {angle:.1e}, error of eigenvalues {off:.1e}")
    return times.line(
        what, "lowland", "sklearn.manifold",
        remark=f"angle between subspaces {angle:.0e}; eigenvalues {_listed(values[0])}, the peer {_listed(values[1])}; "
        f"{ours.solver_.name}",
    )  # fmt: skip


def _fit(package: str, X: np.ndarray, n_neighbors: int) -> Any:
    import importlib

    method = importlib.import_module(package).SpectralEmbedding
    return method(2, n_neighbors=n_neighbors, random_state=0).fit(X)


def plane_angle(A: np.ndarray, B: np.ndarray, W: Any) -> float:
    """The largest angle between the spans of the columns, weighted by the square roots of the degrees."""
    from scipy.linalg import subspace_angles

    root = np.sqrt(np.asarray(W.sum(axis=1)).ravel() - W.diagonal())[:, None]
    return float(subspace_angles(A * root, B * root).max())


def quotients(W: Any, Z: np.ndarray) -> np.ndarray:
    """Rayleigh's quotients z'Lz / z'Dz: the eigenvalues of the coordinates."""
    degree = np.asarray(W.sum(axis=1)).ravel()
    own = W.diagonal()
    return np.array([1 - (z @ (W @ z) - z @ (own * z)) / (z @ ((degree - own) * z)) for z in Z.T])


def _listed(values: np.ndarray) -> str:
    return ", ".join(f"{value:.6g}" for value in values)


# --- from a thousand rows to a million --------------------------------------------------------------------------------
