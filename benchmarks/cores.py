"""Scaling over threads, a script of its own: ``PYTHONPATH=src python benchmarks/cores.py FILE [JOB ...]``.

FILE is an .npz with X, 60,000 images of MNIST as 50 principal components. Each job runs in its own process, which may
use the first 1, 4 or 16 cores (variable THREADS), and reports its stages. With the variable OUT set, the script writes
cores.json to that folder.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

THREADS = [int(t) for t in os.environ.get("THREADS", "1,4,16").split(",")]
BARS = {
    "Isomap 20,000": 8,
    "KernelPCA 20,000": 6,
    "MDS 5,000": 6,
    "15-NN 200,000": 11,
    "LLE 20,000": 4,
    "LLE modified 50,000": 4,
    "trustworthiness 50,000": 8,
    "FastICA 1,000,000": 6,
    "UMAP 60,000": 8,
    "PaCMAP 60,000": 8,
    "t-SNE 60,000": 6,
    "PCA 200,000": None,
    "SpectralEmbedding 20,000": None,
    "DiffusionMap 20,000": None,
}  # fmt: skip  how many times as fast on 16 threads as on one


def prepare(name, file):
    """Return the call of a job; what it needs is made here."""
    import numpy as np

    import lowland

    rng = np.random.default_rng(0)
    with np.load(file) as found:
        X = found["X"]
    n = int(name.split()[-1].replace(",", ""))
    calls = {
        "Isomap": lambda: lowland.Isomap(n_neighbors=12).fit(X[:n]),
        "KernelPCA": lambda: lowland.KernelPCA(2, kernel="rbf", gamma=1e-6).fit(X[:n]),
        "MDS": lambda: lowland.MDS(2, n_init=1, init="classical_mds", random_state=0, max_iter=100).fit(X[:n]),
        "LLE": lambda: lowland.LocallyLinearEmbedding(n_neighbors=12, random_state=0).fit(X[:n]),
        "UMAP": lambda: lowland.UMAP(random_state=0).fit(X[:n]),
        "PaCMAP": lambda: lowland.PaCMAP(random_state=0).fit(X[:n]),
        "t-SNE": lambda: lowland.TSNE(random_state=0, max_iter=750).fit(X[:n]),
        "SpectralEmbedding": lambda: lowland.SpectralEmbedding(n_neighbors=12, random_state=0).fit(X[:n]),
        "DiffusionMap": lambda: lowland.DiffusionMap(n_neighbors=12, random_state=0).fit(X[:n]),
        "trustworthiness": lambda: lowland.quality.trustworthiness(X[:n], X[:n, :2]),
    }
    first = name.split()[0]
    if name.startswith("LLE modified"):
        t = 1.5 * np.pi * (1 + 2 * rng.uniform(size=n))
        roll = np.column_stack([t * np.cos(t), 21 * rng.uniform(size=n), t * np.sin(t)])
        return lambda: lowland.LocallyLinearEmbedding(n_neighbors=12, method="modified", random_state=0).fit(roll)
    if first == "15-NN":
        wide = (X[rng.integers(0, len(X), n)] + rng.normal(0, 50, (n, 50))).astype(np.float32)
        from lowland.math.neighbors.search import nearest_neighbors

        return lambda: nearest_neighbors(wide, 15)
    if first == "FastICA":
        mixed = rng.laplace(size=(n, 30)) @ rng.normal(size=(30, 30))
        return lambda: lowland.FastICA(random_state=0).fit(mixed)
    if first == "PCA":
        wide = rng.normal(size=(n, 784)).astype(np.float32)
        return lambda: lowland.PCA(50).fit(wide)
    return calls[first]


def one_job(name, file):
    """Time a job: a first run compiles, the better of two more counts; print seconds and those of the stages.

    Where kernels are in the cache of an earlier process (variable COMPILED), the first run has few rows. A run of more
    than three seconds is not repeated.
    """
    import lowland

    call, seconds, stages = prepare(name, file), [], {}
    if os.environ.get("COMPILED"):
        prepare(f"{name.rpartition(' ')[0]} 2,000", file)()

    def follow(event):
        stages[event.stage] = max(stages.get(event.stage, 0.0), event.seconds)

    for number in range(1 if os.environ.get("COMPILED") else 0, 3):
        stages.clear()
        began = time.perf_counter()
        with lowland.config(progress=follow if number else False):
            call()
        seconds.append(time.perf_counter() - began)
        if number and seconds[-1] > 3:
            break
    shown = {stage: round(value, 2) for stage, value in stages.items() if value > 0.02}
    print(json.dumps({"seconds": min(seconds[1:] or seconds), "stages": shown}))


def main():
    file, wanted = sys.argv[1], sys.argv[2:] or list(BARS)
    result = {name: {} for name in wanted}
    for threads in THREADS:
        for name in wanted:
            command = ["taskset", "-c", f"0-{threads - 1}", sys.executable, __file__, "--job", name, file]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(name, threads, "failed:", done.stderr[-600:], flush=True)
                continue
            result[name][threads] = json.loads(done.stdout.splitlines()[-1])
            print(name, threads, result[name][threads], flush=True)
    if os.environ.get("OUT"):
        (Path(os.environ["OUT"]) / "cores.json").write_text(json.dumps(result, indent=1) + "\n")
    for name, found in result.items():
        times = [f"{found[t]['seconds']:8.2f}" if t in found else "       -" for t in THREADS]
        ends = [found[t]["seconds"] for t in (THREADS[0], THREADS[-1]) if t in found]
        print(f"{name:28}{''.join(times)}  {ends[0] / ends[-1]:6.2f}x  at least {BARS.get(name)}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--job":
        one_job(*sys.argv[2:])
    else:
        main()
