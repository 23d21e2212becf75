"""Vector quantization and feature agglomeration compared with scikit-learn's k-means and FeatureAgglomeration."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.lines import Line
from benchmarks.measure import WrongAnswer, agree, alternate
from benchmarks.registry import Plan, job

ITERATIONS = 20


@job("VectorQuantizer, 200,000 × 50, 64 code vectors, 20 iterations from the same initialization, against KMeans")
def code_book(plan: Plan) -> Iterator[Line]:
    n, d, k = plan.size(200_000, 5_000), plan.size(50, 10), plan.size(64, 8)
    for dtype in (np.float64, np.float32):
        X = heaps(n, d, k).astype(dtype)
        start = X[np.random.default_rng(1).choice(n, k, replace=False)]
        times = alternate({"ours": partial(_ours, X, start), "peer": partial(_peer, X, start)}, plan.repeat)
        ours, peer = times.answers["ours"], times.answers["peer"]
        inertia = agree("inertia", ours.inertia_, peer.inertia_, within=1e-9 if dtype is np.float64 else 1e-4)
        off = float(np.abs(ours.cluster_centers_ - peer.cluster_centers_).max())
        if off > (1e-6 if dtype is np.float64 else 1e-2) or ours.n_iter_ != peer.n_iter_:
            raise WrongAnswer(f"error of code vectors {off:.1e}; {ours.n_iter_} iterations, the peer {peer.n_iter_}")
        yield times.line(
            f"against scikit-learn, {np.dtype(dtype).name}", "ours", "peer",
            remark=f"{ours.n_iter_} iterations; inertia agrees to {inertia:.0e}, code vectors to {off:.0e}",
        )  # fmt: skip


@job("VectorQuantizer, 200,000 × 50, 64 code vectors, with initialization, against KMeans")
def code_book_whole(plan: Plan) -> Iterator[Line]:
    from sklearn.cluster import KMeans

    from lowland import VectorQuantizer

    n, d, k = plan.size(200_000, 5_000), plan.size(50, 10), plan.size(64, 8)
    X = heaps(n, d, k)
    times = alternate(
        {
            "ours": lambda: VectorQuantizer(k, random_state=0).fit(X),
            "peer": lambda: KMeans(k, random_state=0, n_init=1).fit(X),
        },
        plan.repeat,
    )
    ours, peer = times.answers["ours"], times.answers["peer"]
    if not ours.inertia_ <= 1.05 * peer.inertia_:
        raise WrongAnswer(f"inertia {ours.inertia_:.6g}, the peer {peer.inertia_:.6g}")
    yield times.line(
        "against scikit-learn", "ours", "peer",
        remark=f"inertia {ours.inertia_:.6g} after {ours.n_iter_} iterations; the peer's {peer.inertia_:.6g} after "
        f"{peer.n_iter_}",
    )  # fmt: skip


def heaps(n: int, d: int, k: int) -> np.ndarray:
    """Overlapping clusters away from the origin, (n, d)."""
    rng = np.random.default_rng(0)
    return 2 * rng.standard_normal((k, d))[rng.integers(0, k, n)] + 1.5 * rng.standard_normal((n, d)) + 5


def _ours(X: np.ndarray, start: np.ndarray) -> Any:
    from lowland import VectorQuantizer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of iterations is compared
        return VectorQuantizer(len(start), init=start, max_iter=ITERATIONS, tol=0.0).fit(X)


def _peer(X: np.ndarray, start: np.ndarray) -> Any:
    from sklearn.cluster import KMeans

    return KMeans(len(start), init=start, n_init=1, max_iter=ITERATIONS, tol=0.0, algorithm="lloyd").fit(X)


@job("FeatureAgglomeration, 2,000 × 3,000, 100 clusters, against scikit-learn")
def tree_of_columns(plan: Plan) -> Iterator[Line]:
    n, d, k = plan.size(2_000, 200), plan.size(3_000, 150), plan.size(100, 10)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, k))[:, rng.integers(0, k, d)] + 0.8 * rng.standard_normal((n, d))
    for linkage in ("ward", "average"):
        times = alternate(
            {whose: partial(_agglomerated, whose, X, k, linkage) for whose in ("ours", "peer")}, min(2, plan.repeat)
        )
        ours, peer = times.answers["ours"], times.answers["peer"]
        if not np.array_equal(ours.labels_, peer.labels_):
            raise WrongAnswer(f"{linkage}: clusters differ from the peer's")
        heights = agree("heights", ours.distances_, peer.distances_, within=1e-8)
        pooled = float(np.abs(ours.transform(X) - peer.transform(X)).max())
        yield times.line(
            f"{linkage}, against scikit-learn", "ours", "peer",
            remark=f"identical clusters; heights agree to {heights:.0e}, pooled columns to {pooled:.0e}",
        )  # fmt: skip


def _agglomerated(whose: str, X: np.ndarray, k: int, linkage: str) -> Any:
    import sklearn.cluster

    import lowland

    cls: Any = (lowland if whose == "ours" else sklearn.cluster).FeatureAgglomeration
    return cls(k, linkage=linkage, compute_distances=True).fit(X)
