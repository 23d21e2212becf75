"""Memory of fits to millions of points in a file, a script of its own: ``PYTHONPATH=src python benchmarks/mapped.py``.

Arguments: METHOD [POINTS [BUDGET]], for example ``UMAP 5000000 8GB``. The table has 100 columns in float32: ten
Gaussian groups of ten dimensions each, rotated, with noise in all columns. It is written to a ``.npy`` file in the
folder for temporary files first. To prove a bound, run the script where the system limits its memory, mapped files
included.
"""

import json
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np

COLUMNS, GROUPS, LATENT = 100, 10, 10
PARAMETERS = {
    "SpectralEmbedding": {"n_neighbors": 15},
    "UMAP": {},
    "Isomap": {"n_landmarks": 100, "n_neighbors": 15, "disconnected": "connect"},
}


def write_points(path, n):
    """Write the table in chunks."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, COLUMNS))
    centers = 4 * rng.standard_normal((GROUPS, COLUMNS), dtype=np.float32)
    axes = rng.standard_normal((GROUPS, LATENT, COLUMNS), dtype=np.float32)
    for start in range(0, n, 50_000):
        stop = min(start + 50_000, n)
        group = (start // 50_000) % GROUPS
        rows = rng.standard_normal((stop - start, LATENT), dtype=np.float32) @ axes[group] + centers[group]
        X[start:stop] = rows + 0.3 * rng.standard_normal(rows.shape, dtype=np.float32)
    X.flush()


def memory():
    """Bytes of this process: all, and those that are not mapped to files."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return tuple(1024 * int(lines[name].split()[0]) for name in ("VmRSS", "RssAnon"))


def main():
    """Fit, and print time and memory, of which the level before the fit is a part."""
    import lowland

    method, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 500_000
    budget = sys.argv[3] if len(sys.argv) > 3 else "800MB"
    model = getattr(lowland, method)(**PARAMETERS[method], **({} if method == "Isomap" else {"random_state": 0}))
    warnings.simplefilter("ignore")
    model.fit(np.random.default_rng(0).standard_normal((2_000, COLUMNS), dtype=np.float32))  # compiles
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        write_points(path, n)
        before, peak, done = memory(), [0, 0], threading.Event()

        def watch():
            while not done.wait(0.05):
                peak[:] = map(max, peak, memory())

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        began, cpu = time.perf_counter(), time.process_time()

        with lowland.config(memory=budget, progress=False):
            model.fit(path)
        seconds = {"seconds": round(time.perf_counter() - began), "processor": round(time.process_time() - cpu)}
        done.set()
        watcher.join()
    names = ("all", "not mapped")
    result = {"method": method, "points": n, "budget": budget, **seconds}
    result |= {f"peak, {name}, MB": round(each / 1e6) for name, each in zip(names, peak, strict=True)}
    result |= {f"before, {name}, MB": round(each / 1e6) for name, each in zip(names, before, strict=True)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
