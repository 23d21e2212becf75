"""Neighbor embeddings on a GPU, a script of its own: ``PYTHONPATH=src python benchmarks/gpu_embeddings.py FILE``.

FILE is an .npz with X, 60,000 images of MNIST as 50 principal components, and y, their digits. With the variable OUT
set it writes gpu_embeddings.json to that folder; kept beside this file, it shows in ``make bench``.
"""

import datetime
import json
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch

BARS = {"TSNE": 4.0, "UMAP": 2.0, "PaCMAP": 1.5, "LocalMAP": None}  # seconds
ROUNDS = 4


def main():
    if not torch.cuda.is_available():
        sys.exit("gpu_embeddings.py needs a CUDA device, and torch finds none here. Run it on a machine with a GPU.")
    import lowland

    with np.load(sys.argv[1]) as file:
        X, y = torch.as_tensor(file["X"]).cuda(), file["y"].astype(int)
    result = {
        "date": datetime.date.today().isoformat(),
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "methods": {},
    }
    for name, bar in BARS.items():
        options = {"max_iter": 750} if name == "TSNE" else {}
        maps, seconds = [], []
        for _ in range(ROUNDS):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            model = getattr(lowland, name)(random_state=0, **options).fit(X)
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - begin)
            maps.append(model.embedding_)
        assert all(torch.equal(maps[0], each) for each in maps), f"{name}: the bits differ from fit to fit"
        result["methods"][name] = {
            "bar in seconds": bar,
            "seconds": round(statistics.median(seconds[1:]), 3),
            "first fit": round(seconds[0], 3),
            "10-NN accuracy": round(accuracy(maps[0], y), 4),
            "objective": round(model.solver_.trace[-1], 4),
        }
        print(name, result["methods"][name], flush=True)
    if os.environ.get("OUT"):
        (Path(os.environ["OUT"]) / "gpu_embeddings.json").write_text(json.dumps(result, indent=1) + "\n")


def accuracy(Z, y, k=10):
    """Return the fraction of rows whose k nearest others in the map have the row's own label by majority."""
    right = 0
    labels = torch.as_tensor(y, device=Z.device)
    for a in range(0, len(Z), 5000):
        D = torch.cdist(Z[a : a + 5000], Z)
        D[torch.arange(len(D)), torch.arange(a, a + len(D))] = float("inf")
        near = labels[torch.topk(D, k, largest=False).indices]
        votes = torch.nn.functional.one_hot(near, int(y.max()) + 1).sum(1)
        right += int((votes.argmax(1) == labels[a : a + 5000]).sum())
    return right / len(Z)


if __name__ == "__main__":
    main()
