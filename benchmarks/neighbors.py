"""Neighbor search compared with scikit-learn's, approximate search, and connecting components."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.fresh import fresh
from benchmarks.lines import Bar, Line
from benchmarks.measure import WrongAnswer, agree, alternate, peak_beyond, stopwatch
from benchmarks.registry import Plan, job


def _ours(X: np.ndarray, k: int, search: Any = "auto") -> Any:
    from lowland.math.neighbors.search import nearest_neighbors
    from lowland.run.run import Run

    return nearest_neighbors(X, k, Run(), search=search)


def _theirs(X: np.ndarray, k: int, algorithm: str) -> Any:
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=k, algorithm=algorithm, n_jobs=-1).fit(X).kneighbors()


@job("12 neighbors of each of 1,000,000 × 3, by a k-d tree")
def neighbors_tree(plan: Plan) -> Iterator[Line]:
    X = np.random.default_rng(0).standard_normal((plan.size(1_000_000, 5_000), 3))
    yield _side_by_side(plan, X, 12, "tree", "kd_tree", Bar("ours", 30.0))


@job("10 neighbors of each of 20,000 × 784 float32, by matrix products")
def neighbors_products(plan: Plan) -> Iterator[Line]:
    n, d = plan.size(20_000, 1_000), plan.size(784, 60)
    X = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    yield _side_by_side(plan, X, 10, "products", "brute", Bar("speed", 1.0))


def _side_by_side(plan: Plan, X: np.ndarray, k: int, search: str, algorithm: str, bar: Bar) -> Line:
    _ours(X[: 20 * k], k, search)  # compiles
    times = alternate({"ours": partial(_ours, X, k, search), "peer": partial(_theirs, X, k, algorithm)}, plan.repeat)
    indices, distances = times.answers["ours"].table()
    theirs, places = times.answers["peer"]
    agree("distances", distances, theirs, within=1e-5 if X.dtype == np.float32 else 1e-12)
    same = float(np.mean(indices == places))
    return times.line(
        "against scikit-learn", "ours", "peer", required=(bar,),
        remark=f"fraction of identical neighbors: {same:.5f}",
    )  # fmt: skip


@job("14 neighbors of each of MNIST, 60,000 × 50 float32, against faiss", data="real")
def neighbors_faiss(plan: Plan) -> Iterator[Line]:
    import faiss

    from benchmarks.embeddings import images

    X, _ = images(plan.size(60_000, 3_000))
    k = 14  # and the row itself, as UMAP counts

    def search(index: Any) -> Any:
        index.add(X)
        return index.search(X, k + 1)

    def hnsw() -> Any:
        index = faiss.IndexHNSWFlat(X.shape[1], 16)
        index.hnsw.efConstruction, index.hnsw.efSearch = 100, 64
        return search(index)

    work = {
        "ours": partial(_ours, X, k), "flat": lambda: search(faiss.IndexFlatL2(X.shape[1])), "hnsw": hnsw,
    }  # fmt: skip
    times = alternate(work, min(3, plan.repeat))
    indices, _ = times.answers["ours"].table()
    same = {name: _recall(indices, times.answers[name][1]) for name in ("flat", "hnsw")}
    required = () if plan.quick else (Bar("speed", 1.0),)
    yield times.line(
        "exact, against IndexFlatL2", "ours", "flat", required=required,
        remark=f"fraction of identical neighbors: {same['flat']:.5f}",
    )  # fmt: skip
    yield times.line(
        "exact, against IndexHNSWFlat(16, 100, 64)", "ours", "hnsw", required=required,
        remark=f"recall of the peer {same['hnsw']:.4f}",
    )  # fmt: skip


@job("15 approximate neighbors of each of MNIST, 60,000 × 50 float32, against pynndescent", data="real")
def neighbors_descent(plan: Plan) -> Iterator[Line]:
    from pynndescent import NNDescent

    from benchmarks.embeddings import images

    X, _ = images(plan.size(60_000, 3_000))
    k = 15

    def peer(rows: np.ndarray) -> Any:  # which counts the row itself
        return NNDescent(rows, n_neighbors=k + 1, random_state=0, n_jobs=os.cpu_count()).neighbor_graph[0][:, 1:]

    exact, _ = _ours(X, k, "products").table()
    _ours(X[:1000], k, "approximate"), peer(X[:1000])  # compiles
    times = alternate({"ours": partial(_ours, X, k, "approximate"), "peer": partial(peer, X)}, min(3, plan.repeat))
    found, theirs = _recall(exact, times.answers["ours"].table()[0]), _recall(exact, times.answers["peer"])
    remark = f"recall {found:.4f}, the peer's {theirs:.4f}"
    if found < theirs:
        raise WrongAnswer(remark)
    required = () if plan.quick else (Bar("speed", 1.0),)
    yield times.line("nearest-neighbor descent", "ours", "peer", required=required, remark=remark)


def _recall(exact: np.ndarray, found: np.ndarray) -> float:
    """Return the fraction of the exact neighbors among those found, which may contain the row itself."""
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(exact, found, strict=True)]))


@job("500 small components connected to 1,000,000 × 3 by the shortest edges")
def connected_components(plan: Plan) -> Iterator[Line]:
    from lowland.math.neighbors.connectivity import ShortestBridges, component_labels, connected
    from lowland.run.run import Run

    n, count = plan.size(1_000_000, 5_000), plan.size(500, 20)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    X[: 30 * count] = np.repeat(rng.uniform(-300, 300, (count, 3)), 30, axis=0) + rng.normal(0, 0.05, (30 * count, 3))
    graph = _ours(X, 12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, parts = stopwatch(partial(connected, graph, "connect", ShortestBridges(X), Run()))
    if len(parts.bridges) != parts.count - 1 or component_labels(parts.graph).max() > 0:
        raise WrongAnswer(f"{parts.count} components, {len(parts.bridges)} edges, and the graph is disconnected")
    yield Line(
        "find the components and connect them", seconds, required=(Bar("ours", 30.0),),
        remark=f"{parts.count} components, {len(parts.bridges)} edges",
    )  # fmt: skip


@job("10 neighbors of each of 100,000 × 32 normal numbers, approximately")
def neighbors_approximate(plan: Plan) -> Iterator[Line]:
    X = np.random.default_rng(0).standard_normal((plan.size(100_000, 3_000), 32), dtype=np.float32)
    seconds, graph = stopwatch(partial(_ours, X, 10, "approximate"))
    if graph.recall < 0.95:
        raise WrongAnswer(f"recall {graph.recall:.3f}")
    exact, _ = stopwatch(partial(_ours, X, 10, "products"))
    yield Line("search", seconds, remark=f"recall {graph.recall:.4f} on a sample; exact search takes {exact:.1f} s")


@job("UMAP, landmark Isomap and SpectralEmbedding of a file of 500,000 × 100 float32, with a budget of 800 MB")
def neighbors_file(plan: Plan) -> Iterator[Line]:
    n = plan.size(500_000, 5_000)
    for name in ("UMAP", "Isomap", "SpectralEmbedding"):
        found = fresh(fit_file, name, n)
        bars = () if plan.quick else (Bar("memory", 0.8e9),)
        yield Line(
            name, found["seconds"], required=bars, memory=found["memory"], remark=f"recall {found['recall']:.4f}"
        )


def fit_file(name: str, n: int) -> dict[str, float]:
    """In a new process: seconds, peak memory, and the recall of the neighbors."""
    import tempfile

    import lowland
    from benchmarks.som import bent_rows

    params = {"UMAP": {}, "Isomap": {"n_landmarks": 50, "n_neighbors": 15}, "SpectralEmbedding": {"n_neighbors": 15}}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/rows.npy"
        np.save(path, bent_rows(n, 100))
        model = getattr(lowland, name)(random_state=0, **params[name])
        model.fit(np.load(path)[:2000])  # compiles
        found: list[Any] = []
        with lowland.config(threads=2, memory="800MB"):
            memory = peak_beyond(lambda: found.extend(stopwatch(partial(model.fit, path))))
    return {"seconds": found[0], "memory": float(memory or 0), "recall": model.recall_}
