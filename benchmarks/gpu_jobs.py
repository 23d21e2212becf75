"""All GPU jobs with aims, a script of its own: ``PYTHONPATH=src python benchmarks/gpu_jobs.py FILE [JOB ...]``.

FILE is an .npz with X, 60,000 images of MNIST as 50 principal components, and y, their digits. Each job runs in its own
process: the first fit, which loads or compiles kernels, then the median of the next ones (variable FITS, by default 3).
It checks that the bits are equal from fit to fit, that neighbors are those by differences in float64, and maps by the
accuracy of their 10 nearest neighbors. With the variable OUT set, the script writes gpu_jobs.json to that folder.
Kept beside this file, it shows in ``make bench``.
"""

import datetime
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

BARS = {
    "LDA 1,000,000": 0.1,
    "FactorAnalysis 1,000,000": 0.2,
    "Isomap 20,000": 1.5,
    "LLE 20,000": 0.5,
    "DiffusionMap 20,000": 0.5,
    "SpectralEmbedding 20,000": 0.5,
    "15-NN 200,000": 0.5,
    "15-NN 1,000,000": 6.0,
    "t-SNE 60,000": 0.8,
    "UMAP 60,000": 0.35,
    "PaCMAP 60,000": 0.3,
    "LocalMAP 60,000": None,
    "UMAP 1,000,000": 4.0,
    "t-SNE 1,000,000": 8.0,
    "PaCMAP 1,000,000": 4.0,
    "UMAP 10,000,000": 180.0,
}  # fmt: skip  seconds on an H200
SAMPLED = 200  # rows whose neighbors are searched by differences


def prepare(name, file):
    """Return the call of a job, its rows, and the labels of the images, if the rows are all of them."""
    import numpy as np
    import torch

    import lowland
    from lowland.math.neighbors.search import nearest_neighbors

    with np.load(file) as found:
        images, digits = torch.as_tensor(found["X"]).cuda(), found["y"].astype(int)
    first, n = name.split()[0], int(name.split()[1].replace(",", ""))
    torch.manual_seed(0)
    if first in ("LDA", "FactorAnalysis"):
        d = 784
        y, spread = torch.randint(0, 10, (n,), device="cuda"), 0.5 + torch.rand(d, device="cuda")
        X = (
            torch.randn(n, 20, device="cuda") @ torch.randn(20, d, device="cuda")
            + torch.randn(n, d, device="cuda") * spread
        )
        X += torch.randn(10, d, device="cuda")[y]
        lowland.LinearDiscriminantAnalysis(), lowland.FactorAnalysis()  # imports are not part of the first fit
        if first == "LDA":
            return lambda: lowland.LinearDiscriminantAnalysis().fit(X, y), X, None
        return lambda: lowland.FactorAnalysis(20).fit(X), X, None
    X = images[:n]
    if n > len(images):
        X = images[torch.randint(0, len(images), (n,), device="cuda")] + 50 * torch.randn(n, 50, device="cuda")
    methods = {
        "Isomap": lambda: lowland.Isomap(n_neighbors=12),
        "LLE": lambda: lowland.LocallyLinearEmbedding(n_neighbors=12, random_state=0),
        "DiffusionMap": lambda: lowland.DiffusionMap(n_neighbors=12, random_state=0),
        "SpectralEmbedding": lambda: lowland.SpectralEmbedding(n_neighbors=12, random_state=0),
        "t-SNE": lambda: lowland.TSNE(random_state=0, max_iter=750),
        "UMAP": lambda: lowland.UMAP(random_state=0),
        "PaCMAP": lambda: lowland.PaCMAP(random_state=0),
        "LocalMAP": lambda: lowland.LocalMAP(random_state=0),
    }
    if first == "15-NN":
        return lambda: nearest_neighbors(X, 15), X, None
    methods[first]()  # imports are not part of the first fit
    return lambda: methods[first]().fit(X), X, digits[:n] if n <= len(images) else None


def one_job(name, file):
    """Time a job and check its results; print them as JSON."""
    import torch

    call, X, labels = prepare(name, file)
    seconds, results = [], []
    for _ in range(1 + int(os.environ.get("FITS", "3"))):
        torch.cuda.synchronize()
        began = time.perf_counter()
        results.append(call())
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    found = {"seconds": round(statistics.median(seconds[1:] or seconds), 3), "first": round(seconds[0], 3)}
    if name.startswith("15-NN"):
        found["right"] = right_neighbors(X, results[0])
    elif hasattr(results[0], "embedding_"):
        maps = [each.embedding_ for each in results]
        assert all(torch.equal(maps[0], each) for each in maps), f"{name}: the bits differ from fit to fit"
        if labels is not None:
            found["accuracy"] = round(accuracy(maps[0], labels), 4)
    print(json.dumps(found))


def accuracy(Z, y, k=10):
    """Return the fraction of rows whose k nearest others in the map have the row's own label by majority."""
    import torch

    right = 0
    labels = torch.as_tensor(y, device=Z.device)
    for a in range(0, len(Z), 5000):
        D = torch.cdist(Z[a : a + 5000], Z)
        D[torch.arange(len(D)), torch.arange(a, a + len(D))] = float("inf")
        near = labels[torch.topk(D, k, largest=False).indices]
        votes = torch.nn.functional.one_hot(near, int(y.max()) + 1).sum(1)
        right += int((votes.argmax(1) == labels[a : a + 5000]).sum())
    return right / len(Z)


def right_neighbors(X, graph):
    """Return the fraction of some rows whose neighbors are those by differences in float64."""
    import torch

    rows = torch.arange(0, len(X), len(X) // SAMPLED, device="cuda")
    P, found = X.double(), graph.table()[0]
    right = 0
    for row in rows:
        D = ((P - P[row]) ** 2).sum(1)
        D[row] = float("inf")
        nearest = D.topk(found.shape[1], largest=False).indices
        right += int(torch.equal(nearest.cpu(), torch.as_tensor(found[int(row)]).long()))
    return right / len(rows)


def main():
    file, wanted = sys.argv[1], sys.argv[2:] or list(BARS)
    result = {}
    for name in wanted:
        done = subprocess.run([sys.executable, __file__, "--job", name, file], capture_output=True, text=True)
        if done.returncode:
            print(name, "failed:", done.stderr[-600:], flush=True)
            continue
        result[name] = json.loads(done.stdout.splitlines()[-1])
        print(f"{name:28}{result[name]['seconds']:9.3f} s  aim {BARS.get(name)}  {result[name]}", flush=True)
    if os.environ.get("OUT"):
        import torch

        about = {"date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name()}
        record = {**about, "torch": torch.__version__, "jobs": result}
        (Path(os.environ["OUT"]) / "gpu_jobs.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "--job":
        one_job(*sys.argv[2:])
    else:
        main()
