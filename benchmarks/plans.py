"""What ``plan`` expects against what a fit takes: ``PYTHONPATH=src python -m benchmarks.plans [FILE]``.

Each fit runs in its own process on one thread, after a small one that compiles. Its time is that of the processor, so
that other programs on the machine change it little; its memory is the peak above the level before. docs/scale.md
shows the results. FILE keeps the measurements: a job that is in it is planned again, not fitted again.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fresh import fresh

NOISE = 20e6  # bytes below which the measured memory is mostly chance
SMALL = 400  # rows of the fit that compiles
ROLLS = {"n_neighbors": 12}

# the table, its numbers of rows and columns; the method; its parameters
Job = tuple[str, int, int, str, dict[str, Any]]
DIGITS: list[Job] = [
    ("digits", 1797, 64, name, {})
    for name in (
        "Autoencoder", "ClassicalMDS", "DiffusionMap", "FactorAnalysis", "FastICA", "FeatureAgglomeration",
        "FeatureFilter", "IncrementalPCA", "Isomap", "KernelPCA", "L1Selector", "LinearAutoencoder",
        "LinearDiscriminantAnalysis", "LocalMAP", "LocallyLinearEmbedding", "MDS", "PaCMAP", "PCA",
        "ProjectionPursuit", "SammonMapping", "SelfOrganizingMap", "SequentialFeatureSelector", "SpectralEmbedding",
        "TreeSelector", "TruncatedSVD", "TSNE", "UMAP", "VectorQuantizer", "Whitening",
    )
]  # fmt: skip
LARGER: list[Job] = [
    ("table", 200_000, 784, "PCA", {"n_components": 50}),
    ("table", 2_000, 20_000, "PCA", {"n_components": 50}),
    ("table", 200_000, 100, "PCA", {"n_components": 10}),
    ("table", 200_000, 784, "IncrementalPCA", {"n_components": 50}),
    ("table", 200_000, 100, "TruncatedSVD", {"n_components": 10}),
    ("table", 100_000, 300, "LinearDiscriminantAnalysis", {}),
    ("table", 50_000, 200, "FactorAnalysis", {"n_components": 20}),
    ("table", 200_000, 100, "Whitening", {}),
    ("table", 200_000, 300, "FeatureFilter", {}),
    ("table", 200_000, 100, "LinearAutoencoder", {"n_components": 10, "batch_size": 256}),
    ("sources", 100_000, 30, "FastICA", {}),
    ("sources", 100_000, 30, "FastICA", {"algorithm": "picard"}),
    ("table", 20_000, 50, "ProjectionPursuit", {}),
    ("blobs", 200_000, 50, "VectorQuantizer", {"n_clusters": 64}),
    ("blobs", 20_000, 30, "VectorQuantizer", {}),
    ("blobs", 100_000, 30, "SelfOrganizingMap", {"grid": "20x20"}),
    ("blobs", 20_000, 30, "SelfOrganizingMap", {}),
    ("table", 2_000, 3_000, "FeatureAgglomeration", {"n_clusters": 100}),
    ("table", 20_000, 300, "L1Selector", {}),
    ("table", 5_000, 20, "TreeSelector", {}),
    ("table", 2_000, 60, "SequentialFeatureSelector", {"n_features_to_select": 20}),
    ("answers", 100_000, 20, "MultipleCorrespondenceAnalysis", {}),
    ("answers", 10_000, 20, "MultipleCorrespondenceAnalysis", {}),
    ("answers", 100_000, 20, "FactorAnalysisOfMixedData", {}),
    ("counts", 20_000, 100, "CorrespondenceAnalysis", {}),
    ("counts", 200_000, 100, "CorrespondenceAnalysis", {}),
    ("table", 20_000, 784, "Autoencoder", {"max_iter": 5, "hidden_layer_sizes": (128,)}),
]
PAIRS: list[Job] = [
    ("roll", 3_000, 3, "Isomap", ROLLS),
    ("roll", 10_000, 3, "Isomap", ROLLS),
    *(("roll", n, 3, "Isomap", {**ROLLS, "n_landmarks": 500}) for n in (10_000, 100_000)),
    *(("roll", n, 3, "LocallyLinearEmbedding", ROLLS) for n in (10_000, 50_000)),
    ("roll", 20_000, 3, "LocallyLinearEmbedding", {**ROLLS, "method": "modified"}),
    ("roll", 20_000, 3, "LocallyLinearEmbedding", {**ROLLS, "method": "ltsa"}),
    *(("roll", n, 3, "SpectralEmbedding", ROLLS) for n in (20_000, 100_000)),
    *(("roll", n, 3, "DiffusionMap", ROLLS) for n in (20_000, 100_000)),
    ("images", 5_000, 50, "DiffusionMap", {}),
    ("images", 10_000, 50, "SpectralEmbedding", {"n_neighbors": 15}),
    ("images", 10_000, 50, "LocallyLinearEmbedding", {"n_neighbors": 10}),
    ("images", 5_000, 50, "Isomap", {"n_neighbors": 10}),
    *(("images", n, 50, "KernelPCA", {"n_components": 2, "kernel": "rbf", "gamma": 1e-6}) for n in (3_000, 8_000)),
    ("images", 50_000, 50, "KernelPCA", {"n_components": 10, "kernel": "rbf", "gamma": 1e-6, "n_landmarks": 1000}),
    ("images", 5_000, 50, "ClassicalMDS", {"metric": "manhattan"}),
    ("images", 50_000, 50, "ClassicalMDS", {"metric": "manhattan", "n_landmarks": 500}),
    ("images", 3_000, 50, "MDS", {"n_init": 1}),
    ("images", 3_000, 50, "SammonMapping", {}),
]
MAPS: list[Job] = [
    ("images", n, 50, name, {}) for name in ("TSNE", "UMAP", "PaCMAP", "LocalMAP") for n in (5_000, 20_000)
]
MORE: list[Job] = [
    ("table", 60_000, 400, "PCA", {"n_components": 20}),
    ("table", 30_000, 150, "LinearDiscriminantAnalysis", {}),
    ("table", 20_000, 120, "FactorAnalysis", {"n_components": 10}),
    ("sources", 40_000, 20, "FastICA", {}),
    ("blobs", 50_000, 20, "VectorQuantizer", {"n_clusters": 32}),
    ("blobs", 20_000, 60, "SelfOrganizingMap", {"grid": "15x15"}),
    ("answers", 40_000, 40, "MultipleCorrespondenceAnalysis", {}),
    ("table", 1_000, 1_500, "FeatureAgglomeration", {"n_clusters": 50}),
    ("roll", 6_000, 3, "Isomap", {"n_neighbors": 8}),
    ("images", 3_000, 50, "Isomap", {"n_neighbors": 12}),
    ("roll", 40_000, 3, "Isomap", {"n_neighbors": 10, "n_landmarks": 300}),
    ("roll", 30_000, 3, "LocallyLinearEmbedding", {"n_neighbors": 8}),
    ("images", 5_000, 50, "LocallyLinearEmbedding", {"n_neighbors": 12}),
    ("roll", 50_000, 3, "SpectralEmbedding", {"n_neighbors": 8}),
    ("images", 20_000, 50, "DiffusionMap", {"n_neighbors": 10}),
    ("images", 5_000, 50, "KernelPCA", {"n_components": 5, "kernel": "rbf", "gamma": 1e-6}),
    ("images", 4_000, 50, "ClassicalMDS", {"metric": "manhattan"}),
    ("images", 2_000, 50, "MDS", {"n_init": 1}),
    ("images", 10_000, 50, "UMAP", {"n_neighbors": 30}),
    ("images", 10_000, 50, "PaCMAP", {}),
    ("images", 10_000, 50, "TSNE", {"perplexity": 15.0}),
]
OTHER: list[Job] = [  # measured after the constants of the formulas had been chosen from the other jobs
    ("table", 30_000, 200, "PCA", {"n_components": 30}),
    ("table", 50_000, 100, "LinearDiscriminantAnalysis", {}),
    ("table", 10_000, 200, "FactorAnalysis", {"n_components": 15}),
    ("sources", 60_000, 25, "FastICA", {}),
    ("blobs", 80_000, 40, "VectorQuantizer", {"n_clusters": 48}),
    ("blobs", 30_000, 40, "SelfOrganizingMap", {"grid": "12x12"}),
    ("answers", 60_000, 30, "MultipleCorrespondenceAnalysis", {}),
    ("table", 1_500, 2_000, "FeatureAgglomeration", {"n_clusters": 80}),
    ("table", 3_000, 40, "SequentialFeatureSelector", {"n_features_to_select": 10}),
    ("roll", 5_000, 3, "Isomap", {"n_neighbors": 10}),
    ("roll", 60_000, 3, "Isomap", {"n_neighbors": 10, "n_landmarks": 400}),
    ("roll", 40_000, 3, "LocallyLinearEmbedding", {"n_neighbors": 10}),
    ("roll", 70_000, 3, "SpectralEmbedding", {"n_neighbors": 10}),
    ("images", 15_000, 50, "SpectralEmbedding", {"n_neighbors": 12}),
    ("images", 15_000, 50, "DiffusionMap", {"n_neighbors": 15}),
    ("images", 4_000, 50, "KernelPCA", {"n_components": 5, "kernel": "rbf", "gamma": 1e-6}),
    ("images", 2_500, 50, "MDS", {"n_init": 1}),
    ("images", 2_000, 50, "SammonMapping", {}),
    ("images", 15_000, 50, "UMAP", {"n_neighbors": 20}),
    ("images", 15_000, 50, "PaCMAP", {}),
    ("images", 8_000, 50, "TSNE", {"perplexity": 20.0}),
]
JOBS = DIGITS + LARGER + PAIRS + MAPS + MORE + OTHER


def table(kind: str, n: int, d: int) -> tuple[Any, Any]:
    """Return the rows of a job, and labels for the methods that read them."""
    rng = np.random.default_rng(0)
    if kind == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X[:n], y[:n]
    if kind == "roll":
        from lowland.data import swiss_roll

        return swiss_roll(n, seed=0).X, None
    if kind == "images":
        from benchmarks.embeddings import images

        return images(n)
    if kind == "answers":
        from benchmarks.categories import answers

        return answers(n, d), None
    if kind == "counts":
        return rng.poisson(rng.gamma(1.0, 1.0, (n, 1)) * rng.gamma(1.0, 2.0, d)) + (np.arange(d) == 0), None
    if kind == "sources":
        return rng.laplace(size=(n, d)) @ rng.normal(size=(d, d)), None
    if kind == "blobs":
        centers = rng.normal(0, 3, (20, d))
        y = rng.integers(0, 20, n)
        return centers[y] + rng.normal(size=(n, d)), y
    from benchmarks.samples import tall_table, wide_table

    X = (tall_table if n >= d else wide_table)(n, d)
    y = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.33, 0.66]))
    return X, y


def model(name: str, params: dict[str, Any], n: int) -> Any:
    """Return the method of a job; for few rows with few landmarks."""
    from lowland.methods.registry import load_method

    if "n_landmarks" in params:
        params = {**params, "n_landmarks": min(params["n_landmarks"], n // 5)}
    if "hidden_layer_sizes" in params:
        params = {**params, "hidden_layer_sizes": tuple(params["hidden_layer_sizes"])}
    est = load_method(name)(**params)
    if "random_state" in est.get_params():
        est.set_params(random_state=0)
    return est


def one_fit(kind: str, n: int, d: int, name: str, params: dict[str, Any]) -> tuple[float, int | None]:
    """Return the seconds of the processor and the peak memory of a fit, after one of few rows that compiles."""
    import lowland
    from lowland.run.processes import PeakMemory

    warnings.simplefilter("ignore")
    X, y = table(kind, n, d)
    y = y if traits(name).reads_y else None
    with lowland.config(threads=1, progress=False):
        with contextlib.suppress(Exception):  # too few rows for the parameters: the fit compiles
            for m in (SMALL,) if n < 6_000 else (SMALL, 5_000):  # above 4,096 rows other kernels serve
                model(name, params, m).fit(X[:m], None if y is None else y[:m])
        seconds: list[float] = []

        def fit() -> None:
            began = time.process_time()
            model(name, params, n).fit(X, y)
            seconds.append(time.process_time() - began)

        with PeakMemory() as memory:
            fit()
        while len(seconds) < 5 and sum(seconds) < 0.5:
            fit()
    return min(seconds), memory.bytes


def traits(name: str) -> Any:
    """Return the traits of a method."""
    from lowland.methods.base.traits import traits_of
    from lowland.methods.registry import load_method

    return traits_of(load_method(name))


def key(each: Job) -> str:
    """Return the name of a job."""
    kind, n, d, name, params = each
    given = ", ".join(f"{key}={value}" for key, value in params.items())
    return f"{name}({given}) | {kind} {n:,} × {d:,}"


def measured(file: Path | None) -> dict[str, list[float]]:
    """Return seconds and bytes of every job: from the file, or measured now and written to it."""
    found = json.loads(file.read_text()) if file is not None and file.exists() else {}
    for each in JOBS:
        if key(each) in found:
            continue
        try:
            found[key(each)] = fresh(one_fit, *each, OMP_NUM_THREADS="1")
        except RuntimeError as error:
            print(key(each), str(error)[-300:], file=sys.stderr, flush=True)
            continue
        print(key(each), found[key(each)], file=sys.stderr, flush=True)
        if file is not None:
            file.write_text(json.dumps(found, indent=1) + "\n")
    return found


def expected(each: Job) -> tuple[float, float]:
    """Return the seconds and bytes of the plan of a job, on one thread."""
    import lowland
    from lowland.methods.base.plan import own_rates, steps_of
    from lowland.run.cost import Size, peak_bytes

    kind, n, d, name, params = each
    classes = {"digits": 10, "blobs": 20, "table": 3}.get(kind, 2)
    with lowland.config(threads=1):
        steps = steps_of(model(name, params, n), Size(n, d, 4 if kind in ("table", "images") else 8, classes=classes))
        return sum(own_rates().seconds(step) for step in steps), peak_bytes(steps)


def report(found: dict[str, list[float]]) -> str:
    """Return the table of the jobs that the plan missed, below a sentence that counts the good ones."""
    lines, good = [], {"time": 0, "memory": 0, "time of the others": 0, "memory of the others": 0}
    done = [each for each in JOBS if key(each) in found]
    for each in done:
        (seconds, used), (time_planned, bytes_planned) = found[key(each)], expected(each)
        in_time = 0.5 <= time_planned / seconds <= 2
        in_memory = max(used, bytes_planned) < NOISE or 0.75 <= bytes_planned / max(used, 1) <= 1.25
        for name, is_good in (("time", in_time), ("memory", in_memory)):
            good[name] += is_good
            good[f"{name} of the others"] += is_good and each in OTHER
        if in_time and in_memory:
            continue
        text = key(each).replace("|", "of")
        lines.append(
            f"| {text} | {seconds:.3g} | {time_planned:.3g} | {used / 1e6:.3g} | {bytes_planned / 1e6:.3g} |"
            f" {', '.join(what for what, fine in (('time', in_time), ('memory', in_memory)) if not fine)} |"
        )
    others = sum(each in OTHER for each in done)
    head = (
        f"The plan was within a factor of two of the measured time in {good['time']} of {len(done)} jobs, and within "
        f"25 % of the peak memory, or both below 20 MB, in {good['memory']}. The constants were chosen from "
        f"{len(done) - others} of these jobs. Of the {others} others, "
        f"{good['time of the others']} were within a factor of two, and {good['memory of the others']} within 25 %. "
        "The jobs outside these bounds, with all times in seconds and memory in MB:"
    )
    table_head = "| Job | time | planned | memory | planned | missed |\n|---|---|---|---|---|---|"
    return f"{head}\n\n{table_head}\n" + "\n".join(lines)


if __name__ == "__main__":
    from benchmarks import plans  # by its name, under which other processes find it

    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(plans.report(plans.measured(Path(sys.argv[1]) if len(sys.argv) > 1 else None)))
