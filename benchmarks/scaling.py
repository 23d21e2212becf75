"""Classical MDS compared with scikit-learn's, landmark MDS of a file, and the last GPU result."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lines import Bar, Line
from benchmarks.measure import Times, WrongAnswer, agree, peak_beyond, stopwatch
from benchmarks.registry import Plan, job

GPU_RESULT = Path(__file__).with_name("gpu_scaling.json")
MINUTES = 60.0


@job("ClassicalMDS of geodesic distances on a sphere, precomputed, 8,000 points, k = 2")
def classical(plan: Plan) -> Iterator[Line]:
    from sklearn.manifold import ClassicalMDS as Theirs

    from lowland import ClassicalMDS as Ours

    n = plan.size(8_000, 600)
    D = geodesics(n)
    ours = _fit(Ours, D)
    seconds = [stopwatch(partial(_fit, Ours, D))[0] for _ in range(plan.repeat)]
    taken, peer = stopwatch(partial(_fit, Theirs, D))  # all n eigenpairs: too long to repeat
    agree("eigenvalues", ours.eigenvalues_, peer.eigenvalues_, within=1e-10)
    agree("mean squares of the coordinates", (ours.embedding_**2).mean(), (peer.embedding_**2).mean(), within=1e-9)
    times = Times({"ours": [float(np.median(seconds))], "peer": [taken]})
    yield times.line(
        "against scikit-learn", "ours", "peer", required=(Bar("speed", 30.0),),
        remark=f"eigenvalues {_listed(ours.eigenvalues_)}, the peer {_listed(peer.eigenvalues_)}; "
        f"dimensionality {ours.dimensionality_}, lowest eigenvalue {ours.lowest_eigenvalue_:.4g}",
    )  # fmt: skip


@job("Landmark MDS of 1,000,000 × 50 in a file, manhattan, 500 landmarks, two threads")
def landmarks(plan: Plan) -> Iterator[Line]:
    import lowland
    from lowland import ClassicalMDS

    n, d, m = plan.size(1_000_000, 20_000), 50, plan.size(500, 100)
    with tempfile.TemporaryDirectory() as folder, lowland.config(threads=2):
        path = Path(folder) / "x.npy"
        rng = np.random.default_rng(0)
        np.save(path, (rng.standard_normal((n, 6)) @ rng.standard_normal((6, d)) + rng.normal(0, 0.1, (n, d))))
        fitted: dict[str, Any] = {}

        def fit() -> None:
            taken, model = stopwatch(
                partial(ClassicalMDS(3, metric="manhattan", n_landmarks=m, random_state=0).fit, path)
            )
            fitted.update(seconds=taken, model=model)

        memory = peak_beyond(fit)
        model, X = fitted["model"], np.load(path, mmap_mode="r")
        _check_landmarks(model, X)
        some = np.sort(rng.integers(0, n, 300))
        kept = _correlation(np.asarray(X[some]), model.embedding_[some])
    yield Line(
        "fit and transform all rows", fitted["seconds"], memory=memory,
        required=(Bar("ours", 15 * MINUTES), Bar("memory", 4e9)),
        remark=f"correlation of the distances of 300 rows with those in the embedding {kept:.3f}",
    )  # fmt: skip


@job("ClassicalMDS of 20,000 points on a GPU, precomputed, float32, k = 2")
def gpu_scaling(plan: Plan) -> Iterator[Line]:
    """The last result of benchmarks/gpu_scaling.py, which runs on a machine with a GPU."""
    if not GPU_RESULT.exists():
        return
    result = json.loads(GPU_RESULT.read_text())
    ms, bar = result["milliseconds"], result["bar in milliseconds"]
    yield Line(
        "fit", ms["fit"] / 1e3, required=(Bar("ours", bar / 1e3),),
        remark=f"{result['device']}, {result['date']}; {result['iterations']} iterations, one product takes "
        f"{ms['one product']:.3g} ms; relative error of eigenvalues {result['eigenvalue error']:.0e}",
    )  # fmt: skip


def geodesics(n: int) -> np.ndarray:
    """Great-circle distances of n points on a sphere, (n, n): not Euclidean."""
    U = np.random.default_rng(0).standard_normal((n, 3))
    U /= np.linalg.norm(U, axis=1)[:, None]
    D = np.arccos(np.clip(U @ U.T, -1, 1))
    D += D.T
    D /= 2
    np.fill_diagonal(D, 0)
    return D


def _fit(cls: Any, D: np.ndarray) -> Any:
    return cls(2, metric="precomputed").fit(D)


def _listed(values: np.ndarray) -> str:
    return " and ".join(f"{value:.8f}" for value in values)


def _check_landmarks(model: Any, X: np.ndarray) -> None:
    """Check the coordinates of the landmarks, and of another row by Gower's formula."""
    from scipy.spatial.distance import cdist

    L = np.asarray(X[model.landmarks_])
    D = cdist(L, L, "cityblock") ** 2
    B = -(D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean()) / 2
    values, V = np.linalg.eigh(B)
    values, Z = values[::-1][:3], V[:, ::-1][:, :3] * np.sqrt(values[::-1][:3])
    agree("eigenvalues", model.eigenvalues_, values, within=1e-10)
    Z *= np.sign(np.sum(Z * model.embedding_[model.landmarks_], axis=0))
    rows = np.array([0, len(X) // 3, len(X) - 1])
    placed = (D.mean(axis=0) - cdist(X[rows], L, "cityblock") ** 2) @ Z / (2 * values)
    off = max(
        np.abs(model.embedding_[model.landmarks_] - Z).max() / np.abs(Z).max(),
        np.abs(model.embedding_[rows] - placed).max() / np.abs(Z).max(),
    )
    if not off <= 1e-8:
        raise WrongAnswer(f"coordinates: off by {off:.1e}, allowed 1e-08")


def _correlation(X: np.ndarray, Z: np.ndarray) -> float:
    from scipy.spatial.distance import pdist

    return float(np.corrcoef(pdist(X, "cityblock"), pdist(Z))[0, 1])
