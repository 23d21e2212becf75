"""Time and memory by the number of rows, ours and the peers', a script of its own.

``PYTHONPATH=src python benchmarks/growth_peers.py FILE`` needs the peers of the extra ``bench``. FILE is an .npz with
X, 60,000 images of MNIST as 50 principal components. Every library runs in a process of its own, with its default
parameters, on all cores; the sizes follow each other. With the variable OUT set it writes growth_peers.json to that
folder; kept beside this file, it is drawn by docs/pictures.py.
"""

import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

SIZES = (1_000, 3_000, 10_000, 30_000, 60_000)
LONGEST = 25.0  # seconds of a fit after which no larger size is tried


def jobs():
    """The fit of each method in each library, as a function of the rows."""
    import sklearn.decomposition
    import sklearn.manifold

    import lowland

    def opentsne(X):
        import openTSNE

        openTSNE.TSNE(n_jobs=os.cpu_count()).fit(X)

    def umap_learn(X):
        import umap

        umap.UMAP().fit(X)

    def pacmap(X):
        import pacmap

        pacmap.PaCMAP().fit_transform(X)

    return {
        "PCA": {
            "Lowland": lambda X: lowland.PCA(10).fit(X),
            "scikit-learn": lambda X: sklearn.decomposition.PCA(10).fit(X),
        },
        "t-SNE": {
            "Lowland": lambda X: lowland.TSNE(max_iter=750).fit(X),
            "openTSNE": opentsne,
            "scikit-learn": lambda X: sklearn.manifold.TSNE(max_iter=750).fit(X),
        },
        "UMAP": {"Lowland": lambda X: lowland.UMAP().fit(X), "umap-learn": umap_learn},
        "PaCMAP": {"Lowland": lambda X: lowland.PaCMAP().fit(X), "pacmap": pacmap},
        "Isomap": {
            "Lowland": lambda X: lowland.Isomap().fit(X[:, :10]),
            "scikit-learn": lambda X: sklearn.manifold.Isomap(n_jobs=-1).fit(X[:, :10]),
        },
    }


def measure(path, method, library):
    """Print the seconds of a fit, and the memory beyond the data, for each size."""
    warnings.simplefilter("ignore")
    with np.load(path) as file:
        X = np.ascontiguousarray(file["X"], dtype=np.float32)
    fit = jobs()[method][library]
    fit(X[:5_000])  # above the sizes at which some libraries change the algorithm and compile it
    before, points = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, []
    for n in SIZES:
        begin = time.perf_counter()
        fit(X[:n])
        seconds = time.perf_counter() - begin
        memory = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
        points.append([n, round(seconds, 4), memory])
        print("RESULT" + json.dumps(points), flush=True)
        if seconds > LONGEST or (method == "Isomap" and n == 10_000):
            break


def main():
    path, *asked = sys.argv[1:]
    if asked:
        return measure(path, *asked)
    result = {"cores": os.cpu_count(), "methods": {}}
    for method, libraries in jobs().items():
        for library in libraries:
            command = [sys.executable, __file__, path, method, library]
            done = subprocess.run(command, capture_output=True, text=True)
            lines = [line.removeprefix("RESULT") for line in done.stdout.splitlines() if line.startswith("RESULT")]
            if not lines:
                print(f"{method}, {library}: {done.stderr[-500:]}", flush=True)
                continue
            result["methods"].setdefault(method, {})[library] = json.loads(lines[-1])
            print(method, library, lines[-1], flush=True)
            if "OUT" in os.environ:
                Path(os.environ["OUT"], "growth_peers.json").write_text(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
