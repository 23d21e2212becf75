"""Tables of hundreds to thousands of rows that repeat: maps of a usual size, exact divergences."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from hunt.cases import Area, Wrong
from hunt.laws import dense
from hunt.routes import ROUTES, Fitted
from lowland.data import load_dataset
from lowland.errors import LowlandError
from lowland.methods.registry import load_method

METHODS: dict[str, dict[str, Any]] = {
    "TSNE": {"max_iter": 400},
    "UMAP": {"n_epochs": 100},
    "PaCMAP": {"num_iters": (30, 30, 60)},
    "LocalMAP": {"num_iters": (30, 30, 60)},
    "Isomap": {"disconnected": "connect"},
    "LocallyLinearEmbedding": {"disconnected": "connect", "n_neighbors": 12},
    "SpectralEmbedding": {"disconnected": "connect"},
    "DiffusionMap": {},
    "MDS": {"max_iter": 30},
    "SammonMapping": {"max_iter": 30},
    "ClassicalMDS": {},
    "KernelPCA": {"kernel": "rbf", "n_components": 2},
    "SelfOrganizingMap": {"grid": (6, 5)},
    "VectorQuantizer": {"n_clusters": 8},
}
WIDEST = {"TSNE": 1000.0, "UMAP": 300.0, "PaCMAP": 1000.0, "LocalMAP": 1000.0}  # extent of a map
PLACED_ANEW = ("MDS", "SammonMapping")
MANY = 40  # every so many cases, a table of thousands of rows


def _halves(X: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    half = rng.integers(len(X), size=n)
    half[: n // 2] = half[0]
    return X[half]


WAYS: dict[str, Callable[[np.ndarray, int, np.random.Generator], np.ndarray]] = {
    "tiled": lambda X, n, r: np.tile(X[: n // 4], (n // len(X[: n // 4]) + 1, 1))[:n],
    "drawn": lambda X, n, r: X[r.integers(min(len(X), n // 3), size=n)],
    "a few distinct rows": lambda X, n, r: X[r.integers(int(r.integers(5, 40)), size=n)],
    "half of the rows equal": _halves,
    "rounded": lambda X, n, r: np.round(X[r.integers(len(X), size=n)]),
    "nearly equal": lambda X, n, r: (Y := X[r.integers(len(X), size=n)]) + 1e-13 * r.standard_normal(Y.shape),
    "equal but for one row": lambda X, n, r: np.vstack([np.tile(X[:1], (n - 1, 1)), X[-1:]]),
}


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Fit one method to one table of repeated rows."""
    names, ways, bases = list(METHODS), list(WAYS), ("iris", "wine", "digits", "normal")
    many = seed % MANY == 0
    name = names[seed // MANY % len(WIDEST) if many else seed % len(names)]
    way, base = ways[seed // len(names) % len(ways)], str(rng.choice(bases))
    n = int(rng.integers(3000, 4500)) if many else int(rng.integers(200, 800))
    X = WAYS[way](_base(base), n, rng)
    X = X.astype(np.float32) if rng.random() < 0.2 else X
    given = METHODS[name] | ({"perplexity": float(rng.choice([5, 20, 30]))} if name == "TSNE" else {})
    case = f"{name} on {base}, {way}, {n} rows, {X.dtype}, {given}"
    est = load_method(name)(**given)
    est = est.set_params(random_state=seed) if "random_state" in est.get_params() else est
    try:
        Z = dense(est.fit_transform(X))
        again = dense(est.transform(X))
    except LowlandError as error:
        return f"refused: {case}: {error}"[:240]
    except Exception as error:
        error.args = (f"{case}: {error}",)
        raise
    try:
        _check(name, est, X.astype(float), Z, again, float(np.finfo(X.dtype).eps))
    except Wrong as error:
        raise Wrong(f"{case}: {error}") from None
    return f"done: {case}"


def _check(name: str, est: Any, X: np.ndarray, Z: np.ndarray, again: np.ndarray, eps: float) -> None:
    extent = float(np.ptp(Z, axis=0).max(initial=0.0))
    if not np.isfinite(Z).all() or not np.isfinite(again).all():
        raise Wrong("the map is not finite")
    if not 0 < extent < WIDEST.get(name, np.inf):
        raise Wrong(f"the extent of the map is {extent:.3g}")
    moved = _distance_to_equal_rows(X, Z, again)
    rounding = np.sqrt(len(X)) * eps  # of a sum over the training rows, as in KernelPCA
    allowed = 0.01 if name == "TSNE" else max(1e-6, rounding)  # TSNE: at their median
    if name not in PLACED_ANEW and moved > allowed * extent:
        raise Wrong(f"transform places a training row {moved / extent:.2g} of the extent from all rows equal to it")
    if name == "TSNE":
        theirs = divergence(Z, X, est.perplexity)
        if abs(est.kl_divergence_ - theirs) > 0.02 + 0.02 * theirs:
            raise Wrong(f"the divergence is {est.kl_divergence_:.4g}, by exact sums {theirs:.4g}")
    elif name in ROUTES and len(X) < 1000:
        eps = 1e-7  # a float32 table is compared with its float64 copy
        ROUTES[name](Fitted(est, Z, X, None, 1.0, eps, "duplicates"))


def _distance_to_equal_rows(X: np.ndarray, Z: np.ndarray, again: np.ndarray) -> float:
    """The largest distance of a transformed row from the nearest place of a training row that is equal to it."""
    group = np.unique(X, axis=0, return_inverse=True)[1].reshape(-1)
    return max(float(cdist(again[group == g][:5], Z[group == g]).min(axis=1).max()) for g in range(group.max() + 1))


def divergence(Z: np.ndarray, X: np.ndarray, perplexity: float) -> float:
    """The Kullback-Leibler divergence of a map, by exact sums over all pairs and scikit-learn's widths of kernels."""
    from sklearn.manifold import _utils

    n = len(X)
    D = cdist(X, X, "sqeuclidean")
    np.fill_diagonal(D, np.inf)
    near = np.argsort(D, axis=1, kind="stable")[:, : min(n - 1, int(3 * perplexity + 1))]  # ties: the lower index
    rows = np.arange(n)[:, None]
    P = np.zeros((n, n))
    P[rows, near] = _utils._binary_search_perplexity(D[rows, near].astype(np.float32), perplexity, 0)
    P = (P + P.T) / (P + P.T).sum()
    Q = 1 / (1 + cdist(Z, Z, "sqeuclidean"))
    np.fill_diagonal(Q, 0)
    Q /= Q.sum()
    return float((P[P > 0] * np.log(P[P > 0] / Q[P > 0])).sum())


@cache
def _base(name: str) -> np.ndarray:
    if name == "normal":
        return np.random.default_rng(0).standard_normal((1000, 6)) * [4, 3, 2, 1, 1, 1]
    return np.asarray(load_dataset(name).X, dtype=np.float64)


AREA = Area("duplicates", "maps of tables whose rows repeat", run, cases=600, limit=60)
