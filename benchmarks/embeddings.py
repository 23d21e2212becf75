"""Neighbor embeddings compared with openTSNE, scikit-learn, umap-learn and pacmap, on images as 50 components."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fashion import fashion
from benchmarks.fresh import fresh
from benchmarks.gpu_jobs import BARS
from benchmarks.lines import Bar, Line
from benchmarks.measure import Times, WrongAnswer, peak_beyond, stopwatch
from benchmarks.registry import Plan, job
from benchmarks.som import bent_rows

SEED = 0
GPU_RESULT = Path(__file__).with_name("gpu_jobs.json")


@cache
def images(n: int, split: str = "train") -> tuple[np.ndarray, np.ndarray]:
    """Return n images of MNIST as 50 principal components of the training images, float32, and their digits."""
    from lowland import PCA
    from lowland.data import load_dataset

    train = load_dataset("mnist").X.astype(np.float32)
    model = PCA(50, svd_solver="covariance_eigh").fit(train)
    X, y = load_dataset("mnist", split=split)
    return np.ascontiguousarray(model.transform(X[:n].astype(np.float32))), np.asarray(y[:n]).astype(int)


def faces() -> tuple[np.ndarray, np.ndarray]:
    """Return 400 photographs of faces as 50 principal components, and the persons."""
    from lowland import PCA
    from lowland.data import load_dataset

    X, y = load_dataset("olivetti")
    return PCA(50).fit_transform(X.astype(np.float32)), np.asarray(y).astype(int)


def clothes(n: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return n images of Fashion-MNIST as 50 principal components, and their classes, if the data is there."""
    from lowland import PCA

    found = fashion(n)
    return None if found is None else (PCA(50).fit_transform(found[0]), found[1])


def frey() -> np.ndarray:
    """Return 1,965 images of a face in a film as 50 principal components."""
    from lowland import PCA
    from lowland.data import load_dataset

    return PCA(50).fit_transform(load_dataset("frey").X.astype(np.float32))


def in_turn(work: dict[str, Callable[[Any], Any]], X: np.ndarray, rounds: int) -> Times:
    """Time the functions alternately, after a fit of each to some rows, which compiles what there is to compile."""
    for call in work.values():
        call(X[:5000])  # above 4,096 rows umap-learn searches neighbors by another algorithm
    seconds: dict[str, list[float]] = {name: [] for name in work}
    answers: dict[str, Any] = {}
    for i in range(rounds):
        for name in list(work)[:: -1 if i % 2 else 1]:
            taken, answers[name] = stopwatch(partial(work[name], X))
            seconds[name].append(taken)
    return Times(seconds, answers)


def accuracy(Z: np.ndarray, y: np.ndarray, k: int = 10) -> float:
    """Return the fraction of rows whose k nearest others in the map have the row's own label by majority."""
    from sklearn.neighbors import KNeighborsClassifier

    near = KNeighborsClassifier(k).fit(Z, y).kneighbors(return_distance=False)
    votes = np.stack([(y[near] == c).sum(axis=1) for c in range(int(y.max()) + 1)], axis=1)
    return float((votes.argmax(axis=1) == y).mean())


def divergence(X: np.ndarray, Z: np.ndarray, perplexity: float = 30.0) -> float:
    """Return the Kullback-Leibler divergence of a map, with affinities of 3 x perplexity neighbors and all pairs in Z.

    One formula for the maps of all libraries, in float64 and without an approximation.
    """
    from lowland.math.embeddings.kl_divergence import gaussian_affinities
    from lowland.math.neighbors.search import nearest_neighbors

    P = gaussian_affinities(nearest_neighbors(X, int(3 * perplexity)), perplexity)
    Z = np.asarray(Z, dtype=np.float64)
    total = -float(len(Z))  # the pairs of a row with itself
    squares = (Z**2).sum(axis=1)
    for a in range(0, len(Z), 500):
        D = squares[a : a + 500, None] + squares[None, :] - 2 * Z[a : a + 500] @ Z.T
        total += float((1 / (1 + np.maximum(D, 0))).sum())
    i = np.repeat(np.arange(len(Z)), np.diff(P.indptr))
    p, d = P.data.astype(np.float64), ((Z[i] - Z[P.indices]) ** 2).sum(axis=1)
    p /= p.sum()
    return float((p * (np.log(p) + np.log1p(d) + np.log(total))).sum())


# --- maps ---


def our_map(name: str, X: np.ndarray, seed: int = SEED, **options: Any) -> np.ndarray:
    """Return our map by a method."""
    import lowland

    return getattr(lowland, name)(random_state=seed, **options).fit_transform(X)


def peer_map(name: str, X: np.ndarray, seed: int = SEED) -> np.ndarray:
    """Return the map of the reference implementation."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "TSNE":
            from openTSNE import TSNE

            return np.asarray(TSNE(n_jobs=2, random_state=seed).fit(X))
        if name == "UMAP":
            from umap import UMAP

            return UMAP(random_state=seed).fit_transform(X)
        import pacmap

        return getattr(pacmap, name)(random_state=seed).fit_transform(X)


# --- t-SNE ---


def figures(
    X: np.ndarray, y: np.ndarray, maps: dict[str, np.ndarray]
) -> tuple[dict[str, float], dict[str, float], str]:
    """Return the divergence and the 10-NN accuracy of our map and the peer's, and both in words."""
    kl = {name: divergence(X, Z) for name, Z in maps.items()}
    right = {name: accuracy(Z, y) for name, Z in maps.items()}
    words = f"KL {kl['ours']:.4f}, the peer's {kl['peer']:.4f}; 10-NN accuracy {right['ours']:.4f}, {right['peer']:.4f}"
    return kl, right, words


@job("TSNE of MNIST, 60,000 × 50, against openTSNE", data="real")
def tsne_mnist(plan: Plan) -> Iterator[Line]:
    X, y = images(plan.size(60_000, 3000))
    times = in_turn(
        {"ours": partial(our_map, "TSNE", max_iter=750), "peer": partial(peer_map, "TSNE")}, X, min(3, plan.repeat)
    )
    kl, right, remark = figures(X, y, times.answers)
    if not plan.quick and not (kl["ours"] <= 1.005 * kl["peer"] and right["ours"] >= right["peer"] - 0.001):
        raise WrongAnswer(remark)
    yield times.line("750 iterations, fit", "ours", "peer", required=(Bar("speed", 1.5),), remark=remark)


@job("TSNE of MNIST, 10,000 × 50, against scikit-learn", data="real")
def tsne_sklearn(plan: Plan) -> Iterator[Line]:
    import sklearn.manifold

    X, y = images(plan.size(10_000, 1500), "test")
    peer = sklearn.manifold.TSNE(random_state=SEED)
    work = {"ours": partial(our_map, "TSNE", max_iter=650), "peer": peer.fit_transform, "all": partial(our_map, "TSNE")}
    times = in_turn(work, X, min(2, plan.repeat))
    kl, _, remark = figures(X, y, times.answers)
    if not plan.quick and not kl["ours"] <= kl["peer"]:
        raise WrongAnswer(remark)
    yield times.line(
        "650 of 1,000 iterations, to its divergence", "ours", "peer", required=(Bar("speed", 8.0),), remark=remark
    )
    yield times.line("defaults, fit", "all", "peer", remark=f"KL {kl['all']:.4f}")


# --- UMAP and PaCMAP ---


def first_fit(name: str, n: int) -> float:
    """Return the seconds from the import to the map of n images, in this process."""
    X, _ = images(n)
    begin = time.perf_counter()
    {"ours": our_map, "peer": peer_map}[name]("UMAP", X)
    return time.perf_counter() - begin


def against_peer(name: str, plan: Plan, bar: float) -> Line:
    """Return the line that compares the warm fits of one method, at an accuracy that is not lower."""
    X, y = images(plan.size(60_000, 3000))
    times = in_turn({"ours": partial(our_map, name), "peer": partial(peer_map, name)}, X, min(3, plan.repeat))
    right = {which: accuracy(Z, y) for which, Z in times.answers.items()}
    remark = f"10-NN accuracy {right['ours']:.4f}, the peer's {right['peer']:.4f}"
    if not plan.quick and not right["ours"] >= right["peer"] - 0.005:
        raise WrongAnswer(remark)
    return times.line("warm", "ours", "peer", required=(Bar("speed", bar),), remark=remark)


@job("UMAP of MNIST, 60,000 × 50, seeded, against umap-learn", data="real")
def umap_mnist(plan: Plan) -> Iterator[Line]:
    yield against_peer("UMAP", plan, 3.0)
    n = plan.size(60_000, 3000)
    seconds = {name: [fresh(first_fit, name, n)] for name in ("ours", "peer")}
    yield Times(seconds).line("first fit in a new process, with imports", "ours", "peer", required=(Bar("speed", 5.0),))


@job("PaCMAP of MNIST, 60,000 × 50, against pacmap", data="real")
def pacmap_mnist(plan: Plan) -> Iterator[Line]:
    yield against_peer("PaCMAP", plan, 2.0)


@job("UMAP of 1,000,000 × 50 float32, approximate neighbors, two threads")
def umap_many(plan: Plan) -> Iterator[Line]:
    found = fresh(fit_many, plan.size(1_000_000, 3000))
    yield Line(
        "fit", found["seconds"], required=() if plan.quick else (Bar("ours", 1800.0), Bar("memory", 6e9)),
        memory=found["memory"],
        remark=f"recall of the neighbors {found['recall']:.3f}; trustworthiness of a sample "
        f"{found['trustworthiness']:.3f}, of two principal components {found['plain']:.3f}",
    )  # fmt: skip


def fit_many(n: int) -> dict[str, float]:
    """In a new process, compilation included: seconds, peak memory beyond the data, and the quality of the map."""
    import lowland
    from lowland.quality import trustworthiness

    X = bent_rows(n, 50)
    model = lowland.UMAP(random_state=SEED)
    found: list[Any] = []
    with lowland.config(threads=2, memory="6GB"):
        memory = peak_beyond(lambda: found.extend(stopwatch(partial(model.fit, X))))
    rows = np.random.default_rng(0).choice(n, min(n, 20_000), replace=False)
    Z, plain = model.embedding_[rows], lowland.PCA(2).fit_transform(X[rows])
    return {
        "seconds": found[0], "memory": memory, "recall": model.recall_,
        "trustworthiness": float(trustworthiness(X[rows], Z, 15)),
        "plain": float(trustworthiness(X[rows], plain, 15)),
    }  # fmt: skip


# --- new rows ---


def _open_tsne_model(X: np.ndarray) -> Any:
    from openTSNE import TSNE

    return TSNE(n_jobs=2, random_state=SEED, n_iter=250).fit(X)


def _peer_model(name: str, X: np.ndarray) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "TSNE":
            return _open_tsne_model(X)
        if name == "UMAP":
            from umap import UMAP

            return UMAP(random_state=SEED).fit(X)
        from pacmap import PaCMAP

        model = PaCMAP(random_state=SEED)
        model.fit(X)
        return model


@job("transform of held-out images by neighbor embeddings", data="real")
def embedding_transform(plan: Plan) -> Iterator[Line]:
    from sklearn.neighbors import KNeighborsClassifier

    import lowland

    X, y = images(plan.size(20_000, 2000))
    T, t = images(plan.size(10_000, 500), "test")
    for name in ("TSNE", "UMAP", "PaCMAP", "LocalMAP"):
        ours = getattr(lowland, name)(random_state=SEED).fit(X)
        work: dict[str, Callable[[Any], Any]] = {"ours": ours.transform}
        if name != "LocalMAP":
            peer = _peer_model(name, X)
            work["peer"] = partial(peer.transform, basis=X) if name == "PaCMAP" else peer.transform
        times = in_turn(work, T, min(3, plan.repeat))
        Z = times.answers["ours"]
        same = bool((ours.transform(T[3:10]) == Z[3:10]).all())
        held_out = float((KNeighborsClassifier(10).fit(ours.embedding_, y).predict(Z) == t).mean())
        training = accuracy(ours.embedding_, y)
        remark = f"10-NN accuracy {held_out:.4f}, of training rows {training:.4f}; equal in another batch: {same}"
        if not same or not (plan.quick or held_out >= training - 0.01):
            raise WrongAnswer(f"{name}: {remark}")
        what = f"{name}, {len(T):,} new rows among {len(X):,}"
        if "peer" in work:
            yield times.line(what, "ours", "peer", required=(Bar("speed", 1.0),), remark=remark)
        else:
            yield Line(what, times.median("ours"), remark=remark)


# --- quality ---


def qualities(X: np.ndarray, Z: np.ndarray, y: np.ndarray | None) -> dict[str, float]:
    """Return the measures of a map that the comparison is about; without labels, there is no accuracy."""
    from lowland.quality import continuity, trustworthiness

    rng = np.random.default_rng(0)
    i, j, k = rng.integers(0, len(X), (3, 200_000))
    far = np.linalg.norm(X[i] - X[j], axis=1) < np.linalg.norm(X[i] - X[k], axis=1)
    triplets = float((far == (np.linalg.norm(Z[i] - Z[j], axis=1) < np.linalg.norm(Z[i] - Z[k], axis=1))).mean())
    found = {"trustworthiness": float(trustworthiness(X, Z, 15)), "continuity": float(continuity(X, Z, 15))}
    if y is not None:
        found["10-NN accuracy"] = accuracy(Z, y)
    return found | {"random triplets": triplets}


def seeded_map(name: str, X: np.ndarray, seed: int) -> np.ndarray:
    """Return our map by a method. The seed of t-SNE moves its start by 1 %, as openTSNE does: else all are equal."""
    if name != "TSNE":
        return our_map(name, X, seed)
    from lowland import PCA

    start = PCA(2).fit_transform(X)
    start *= 1e-4 / start[:, 0].std()
    return our_map(name, X, seed, init=start + np.random.default_rng(seed).normal(0, 1e-6, start.shape))


@job("quality of neighbor embeddings, mean over seeds, against the reference implementations", data="real")
def embedding_quality(plan: Plan) -> Iterator[Line]:
    from sklearn.datasets import load_digits

    digits = load_digits()
    tables: dict[str, tuple[np.ndarray, np.ndarray | None, int]] = {
        "digits": (digits.data.astype(np.float32), digits.target, 5),
        "Frey faces": (frey(), None, 5),
        "Olivetti faces": (*faces(), 12),  # 400 rows: maps differ much from seed to seed
        "MNIST 10,000": (*images(plan.size(10_000, 1000), "test"), 5),
    }
    if (dressed := clothes(plan.size(10_000, 1000))) is not None:
        tables["Fashion-MNIST 10,000"] = (*dressed, 5)
    for table, (X, y, count) in tables.items():
        seeds = range(plan.size(count, 1))
        for name in ("TSNE", "UMAP", "PaCMAP", "LocalMAP"):
            ours = _mean([qualities(X, seeded_map(name, X, seed), y) for seed in seeds])
            peer = _mean([qualities(X, peer_map(name, X, seed), y) for seed in seeds])
            worst = max(peer[measure] - ours[measure] for measure in ours)
            remark = ", ".join(f"{measure} {ours[measure]:.4f} (peer {peer[measure]:.4f})" for measure in ours)
            bars = () if plan.quick else (Bar("ours", 0.005),)
            what = f"{name}, {table}, {len(seeds)} seeds"
            yield Line(what, max(worst, 0.0), unit="relative error", required=bars, remark=remark)


def _mean(measured: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([each[name] for each in measured])) for name in measured[0]}


# --- on a GPU ---


@job("jobs on a GPU", data="real")
def gpu_jobs(plan: Plan) -> Iterator[Line]:
    """The last result of benchmarks/gpu_jobs.py, which runs on a machine with a GPU."""
    result = json.loads(GPU_RESULT.read_text())
    for name, found in result["jobs"].items():
        bar, more = BARS.get(name), f"first fit {found['first']:.1f} s"
        more += f"; 10-NN accuracy {found['accuracy']}" if "accuracy" in found else ""
        yield Line(
            name, found["seconds"], required=() if bar is None else (Bar("ours", bar),),
            remark=f"{result['device']}, {found.get('date', result['date'])}; {more}",
        )  # fmt: skip
