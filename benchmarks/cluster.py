"""Two worker processes of Dask: ``PYTHONPATH=src python -m benchmarks.cluster GIGABYTES [JOB ...]``.

Each job fits a method to a Dask array of that size, whose partitions the workers generate, and compares the answer with
that of a local fit to the same partitions, one after the other. It prints the time, the difference, and the peak memory
of each worker, which is limited to 1.5 GB: a worker that needs more is killed.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.measure import resident

COLUMNS, ROWS = 50, 100_000  # of a partition: 40 MB
LIMIT = "1.5GB"
CLASSES = 5


def partition(number: int, kind: str = "plain") -> np.ndarray:
    """Return a partition: sources that are not normal, mixed; "blobs": shifted by class; "roll": a Swiss roll."""
    rng = np.random.default_rng([number, 29])
    if kind == "roll":
        t = 1.5 * np.pi * (1 + 2 * rng.uniform(size=ROWS))
        base = np.column_stack([t * np.cos(t), 21 * rng.uniform(size=ROWS), t * np.sin(t)])
        return base @ np.random.default_rng(0).normal(size=(3, COLUMNS)) / np.sqrt(COLUMNS)
    X = rng.laplace(size=(ROWS, COLUMNS)) @ _mixing()
    if kind == "blobs":
        X += 2 * np.random.default_rng(1).normal(size=(CLASSES, COLUMNS))[labels(number)]
    return X


def labels(number: int) -> np.ndarray:
    """Return the classes of the rows of a partition."""
    return np.random.default_rng([number, 30]).integers(0, CLASSES, ROWS)


def _mixing() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.normal(size=(COLUMNS, COLUMNS)) * np.linspace(1, 3, COLUMNS)


class Chunks:
    """The partitions one after the other, for a local fit."""

    def __init__(self, count: int, kind: str) -> None:
        self.count, self.kind = count, kind

    def __iter__(self) -> Iterator[np.ndarray]:
        return (partition(number, self.kind) for number in range(self.count))


def lazy(count: int, kind: str) -> Any:
    """Return the partitions as a Dask array."""
    import dask
    import dask.array as da

    parts = [dask.delayed(partition)(number, kind) for number in range(count)]
    return da.concatenate([da.from_delayed(each, (ROWS, COLUMNS), float) for each in parts])


def pca(count: int) -> Callable[[Any], Any]:
    from lowland import PCA

    return lambda X: PCA(10).fit(X).explained_variance_


def lda(count: int) -> Callable[[Any], Any]:
    from lowland import LinearDiscriminantAnalysis

    y = np.concatenate([labels(number) for number in range(count)])
    return lambda X: np.abs(LinearDiscriminantAnalysis().fit(X, y).scalings_)


def fast_ica(count: int) -> Callable[[Any], Any]:
    from lowland import FastICA

    return lambda X: FastICA(5, random_state=0, max_iter=8, tol=1e-3).fit(X).components_


def som(count: int) -> Callable[[Any], Any]:
    from lowland import SelfOrganizingMap

    return lambda X: SelfOrganizingMap((6, 6), epochs=3, convergence_epochs=0).fit(X).prototypes_


def landmark_kernel(count: int) -> Callable[[Any], Any]:
    from lowland import KernelPCA

    return lambda X: KernelPCA(3, kernel="rbf", gamma=1e-3, n_landmarks=300, random_state=0).fit(X).eigenvalues_


def isomap(count: int) -> Callable[[Any], Any]:
    """A landmark Isomap of 10,000 rows, which places all others; the sums of squared coordinates are compared."""
    from lowland import Isomap

    model = Isomap(2, n_neighbors=10, n_landmarks=300, random_state=0).fit(partition(0, "roll")[:10_000])

    def place(X: Any) -> Any:
        if isinstance(X, Chunks):
            return sum((model.transform(chunk) ** 2).sum(axis=0) for chunk in X)
        return (model.transform(X) ** 2).sum(axis=0).compute()

    return place


JOBS: dict[str, tuple[Callable[[int], Callable[[Any], Any]], str, float]] = {
    "PCA": (pca, "plain", 1e-10),
    "LDA": (lda, "blobs", 1e-10),
    "FastICA": (fast_ica, "plain", 1e-4),
    "SOM": (som, "plain", 1e-6),
    "KernelPCA": (landmark_kernel, "plain", 1e-8),
    "Isomap": (isomap, "roll", 1e-8),
}


def peak() -> int:
    """Return the peak memory of this process; called on a worker."""
    return resident("VmHWM")


def main() -> None:
    """Run the jobs and print a line for each."""
    import distributed

    gigabytes, wanted = float(sys.argv[1]), sys.argv[2:] or list(JOBS)
    count = max(2, round(gigabytes * 1e9 / (ROWS * COLUMNS * 8)))
    warnings.simplefilter("ignore")
    for name in wanted:
        make, kind, allowed = JOBS[name]
        fit = make(count)
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, memory_limit=LIMIT, dashboard_address="127.0.0.1:0"
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            began = time.perf_counter()
            ours = fit(lazy(count, kind))
            seconds = time.perf_counter() - began
            peaks = list(client.run(peak).values())
        facts = {
            "job": name, "gigabytes": count * ROWS * COLUMNS * 8 / 1e9, "seconds": round(seconds, 1),
            "worker peaks in MB": [round(each / 1e6) for each in peaks],
        }  # fmt: skip
        print(json.dumps(facts), flush=True)
        local = fit(Chunks(count, kind))
        error = float(np.max(np.abs(ours - local)) / np.max(np.abs(local)))
        print(json.dumps({"job": name, "difference": error, "allowed": allowed}), flush=True)


if __name__ == "__main__":
    from benchmarks import cluster  # by its name, under which the workers find it

    cluster.main()
