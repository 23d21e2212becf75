"""The jobs whose bars Lowland must meet.

To add one, write a function under ``@job("what is done")`` that takes the Plan and yields Lines. Time ours and the peer
with ``alternate``, measure memory with ``fresh`` and ``peak_beyond``, and check the answer with ``agree`` before it is
called fast.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import samples
from benchmarks.fresh import fresh
from benchmarks.lines import Bar, Line, in_seconds
from benchmarks.measure import Times, agree, alternate, largest_error, peak_beyond, resident, same_axes, stopwatch
from benchmarks.registry import Plan, job

GPU_RESULT = Path(__file__).with_name("gpu.json")


def _fit(library: str, X: Any, k: int) -> Any:
    """Fit the PCA of ``lowland`` or of ``sklearn.decomposition``."""
    return _load(library, "PCA")(n_components=k).fit(X)


def _load(library: str, name: str) -> Any:
    return getattr(importlib.import_module(library), name)


# --- in memory --------------------------------------------------------------------------------------------------------


@job("PCA.fit of 200,000 × 784 float32, k = 50")
def tall(plan: Plan) -> Iterator[Line]:
    n, d, k = plan.size(200_000, 10_000), plan.size(784, 100), 50
    X = samples.tall_table(n, d)
    times = alternate(
        {
            "ours": partial(_fit, "lowland", X, k),
            "peer": partial(_fit, "sklearn.decomposition", X, k),
            "bare": lambda: X.T @ X,
        },
        plan.repeat,
    )
    ours, peer = times.answers["ours"], times.answers["peer"]
    values, axes = samples.exact_axes(X, k)
    error = agree("eigenvalues", ours.explained_variance_, values, within=1e-5)
    same_axes("axes", ours.components_, axes, within=1e-5)
    agree("eigenvalues against the peer", ours.explained_variance_, peer.explained_variance_, within=1e-3)
    peak, peer_peak = (fresh(memory_of_tall_fit, library, n, d, k) for library in ("lowland", "sklearn.decomposition"))
    yield times.line(
        "against scikit-learn", "ours", "peer", required=(Bar("speed", 0.95), Bar("memory", 200e6)), memory=peak,
        remark=f"eigenvalues within {error:.0e} of float64; the peer's memory {_megabytes(peer_peak)}",
    )  # fmt: skip
    yield times.line("against the bare product X'X", "ours", "bare", required=(Bar("time", 1.1),))
    yield times.line("scikit-learn against the bare product X'X", "peer", "bare", remark="for reference")

    X += 1e4 * X.std(axis=0)
    values, _ = samples.exact_axes(X, k)
    yield Line(
        "eigenvalues where mean = 10⁴ standard deviations",
        agree("eigenvalues far from the origin", _fit("lowland", X, k).explained_variance_, values, within=1e-4),
        largest_error(_fit("sklearn.decomposition", X, k).explained_variance_, values),
        unit="relative error", required=(Bar("ours", 1e-4),), remark="compared with float64 sums of the same rows",
    )  # fmt: skip


def memory_of_tall_fit(library: str, n: int, d: int, k: int) -> int | None:
    """In a new process: the peak of one fit beyond the table, once the library is loaded."""
    X = samples.tall_table(n, d)
    _fit(library, X[:10_000], k)
    return peak_beyond(partial(_fit, library, X, k))


def _megabytes(count: float | None) -> str:
    return "unknown" if count is None else f"{count / 1e6:.0f} MB"


@job("partial_fit of 200,000 × 784 float32 in chunks of 4,096 rows, k = 50")
def chunks(plan: Plan) -> Iterator[Line]:
    n, k = plan.size(200_000, 10_000), 50
    X = samples.tall_table(n, plan.size(784, 100))

    def fit(library: str) -> Any:
        model = _load(library, "IncrementalPCA")(n_components=k)
        for start in range(0, n, 4096):
            model.partial_fit(X[start : start + 4096])
        return model.explained_variance_, model.components_

    times = alternate({"ours": partial(fit, "lowland")}, plan.repeat)
    peer_seconds, (peer_values, _) = stopwatch(partial(fit, "sklearn.decomposition"))
    values, axes = samples.exact_axes(X, k)
    error = agree("eigenvalues", times.answers["ours"][0], values, within=1e-5)
    same_axes("axes", times.answers["ours"][1], axes, within=1e-5)
    peer_error = largest_error(peer_values, values)
    yield Line(
        "against scikit-learn's IncrementalPCA", times.median("ours"), peer_seconds,
        ratio=times.median("ours") / peer_seconds, required=(Bar("speed", 20),),
        remark=f"the peer ran once, without warm-up; eigenvalues within {error:.0e}, the peer's {peer_error:.0e}",
    )  # fmt: skip


@job("PCA.fit of 2,000 × 20,000 float32, k = 50")
def wide(plan: Plan) -> Iterator[Line]:
    n, d, k = plan.size(2000, 300), plan.size(20_000, 1500), 50
    X = samples.wide_table(n, d)
    work = {"ours": partial(_fit, "lowland", X, k), "peer": partial(_fit, "sklearn.decomposition", X, k)}
    times = alternate(work, plan.repeat)
    values = samples.exact_values_by_rows(X, k)
    errors = {whose: largest_error(model.explained_variance_, values) for whose, model in times.answers.items()}
    agree("eigenvalues", times.answers["ours"].explained_variance_, values, within=1e-4)
    solver = f"solver: {times.answers['ours'].solver_.name}"
    yield times.line("against scikit-learn", "ours", "peer", required=(Bar("speed", 1.5),), remark=solver)
    yield Line(
        "eigenvalues", errors["ours"], errors["peer"], unit="relative error", required=(Bar("ours", 1e-6),),
        remark="compared with float64 eigenvalues of the Gram matrix",
    )  # fmt: skip


@job("PCA.fit of iris, 150 × 4", data="real")
def iris(plan: Plan) -> Iterator[Line]:
    from sklearn.datasets import load_iris

    X = load_iris().data
    work = {"ours": partial(_fit, "lowland", X, 2), "peer": partial(_fit, "sklearn.decomposition", X, 2)}
    times = alternate(work, 4 * plan.repeat, calls=plan.size(300, 50))
    ours, peer = times.answers["ours"], times.answers["peer"]
    agree("eigenvalues", ours.explained_variance_, peer.explained_variance_, within=1e-10)
    same_axes("axes", ours.components_, peer.components_, within=1e-10)
    yield times.line("against scikit-learn", "ours", "peer", required=(Bar("time", 2.0),))


@job("PCA.fit of 200,000 × 100 float32 with a progress callback")
def progress(plan: Plan) -> Iterator[Line]:
    import lowland

    X = samples.tall_table(200_000, plan.size(100, 50))
    events: list[Any] = []

    def fit(shown: Any) -> Any:
        with lowland.config(progress=shown):
            return _fit("lowland", X, 10).explained_variance_

    work = {"callback": partial(fit, events.append), "silent": partial(fit, False)}
    times = alternate(work, 40 * plan.repeat, at_most=plan.size(120, 3))
    agree("eigenvalues", times.answers["callback"], times.answers["silent"], within=0)
    assert events, "the callback was never called"
    remark = f"{len(times.seconds['callback'])} pairs of runs"
    yield times.line("against progress=False", "callback", "silent", required=(Bar("time", 1.01),), remark=remark)


# --- from a file ------------------------------------------------------------------------------------------------------


@job("PCA.fit of a 4 GB Parquet file, 5,200,000 × 200 float32, k = 10, memory budget 512 MB")
def parquet(plan: Plan) -> Iterator[Line]:
    n, d, group = plan.size(5_200_000, 400_000), plan.size(200, 50), 80_000
    with samples.large_file(n, d, group) as (path, size):
        # one warm-up for both loads the file into the cache of the operating system
        fresh(gram_of_file, path)
        runs = [(fresh(fit_file, path), fresh(gram_of_file, path)) for _ in range(min(plan.repeat, 3))]
    ours, bare = zip(*runs, strict=True)
    agree("eigenvalues", ours[0]["values"], bare[0]["values"], within=1e-4)
    times = Times({name: [run["seconds"] for run in each] for name, each in (("ours", ours), ("bare", bare))})
    yield times.line(
        "against reading and multiplying alone", "ours", "bare",
        required=(Bar("time", 2.0), Bar("memory", 1e9)), memory=max(run["peak"] for run in ours),
        remark=f"{size / 1e9:.2f} GB, cached by the operating system for both; memory of the whole process",
    )  # fmt: skip


def fit_file(path: str) -> dict[str, Any]:
    """In a new process: fit from the path within the budget; peak memory of the whole process."""
    import lowland

    fit = lowland.PCA(n_components=10).fit  # imported here: the file is timed, not the imports
    with lowland.config(memory="512MB"):
        seconds, model = stopwatch(partial(fit, path))
    return {"seconds": seconds, "peak": resident("VmHWM"), "values": model.explained_variance_.tolist()}


def gram_of_file(path: str) -> dict[str, Any]:
    """In a new process: the minimum, batches to slabs and a plain product of each."""
    import pyarrow.parquet as pq

    start = time.perf_counter()
    with pq.ParquetFile(path, pre_buffer=False) as file:  # the faster setting here; the default also keeps the file
        n, d = file.metadata.num_rows, file.metadata.num_columns
        G = np.zeros((d, d))
        for batch in file.iter_batches(batch_size=file.metadata.row_group(0).num_rows):
            slab = np.empty((d, batch.num_rows), dtype=np.float32)
            for j, column in enumerate(batch.columns):
                slab[j] = column.to_numpy()
            G += slab @ slab.T
    values = np.linalg.eigvalsh(G / (n - 1))[::-1][:10]  # the rows have mean about zero
    return {"seconds": time.perf_counter() - start, "values": values.tolist()}


# --- before the first answer ------------------------------------------------------------------------------------------


@job("import lowland in a new interpreter", data="none")
def importing(plan: Plan) -> Iterator[Line]:
    def start(statement: str) -> None:
        subprocess.run([sys.executable, "-c", statement], check=True)

    work = {name: partial(start, name) for name in ("import lowland", "import numpy", "pass")}
    times = alternate(work, plan.size(max(15, 4 * plan.repeat), 5))
    bare = times.median("pass")
    ours, peer = (in_seconds(max(times.median(name) - bare, 0.0)) for name in ("import lowland", "import numpy"))
    yield times.line(
        "against import numpy", "import lowland", "import numpy", required=(Bar("time", 1.5),),
        remark=f"beyond the bare interpreter's {in_seconds(bare)}: ours {ours}, numpy {peer}",
    )  # fmt: skip


@job("first PCA.fit of a sparse table, which compiles a kernel")
def compiling(plan: Plan) -> Iterator[Line]:
    times = Times({"cold": [], "warm": []})
    for _ in range(1 if plan.quick else min(plan.repeat, 3)):
        with tempfile.TemporaryDirectory(prefix="lowland-benchmark-") as folder:
            for seconds in times.seconds.values():
                seconds.append(fresh(first_sparse_fit, NUMBA_CACHE_DIR=folder))
    remark = "a new process each; imports included"
    yield times.line("cold cache against warm", "cold", "warm", required=(Bar("ours", 5.0),), remark=remark)


def first_sparse_fit() -> float:
    """In a new process: seconds from ``import lowland`` to a fitted model of sparse rows."""
    import scipy.sparse

    X = scipy.sparse.random(2000, 100, density=0.05, format="csr", rng=np.random.default_rng(0))
    seconds, model = stopwatch(partial(_fit, "lowland", X, 5))
    agree("eigenvalues", model.explained_variance_, samples.exact_axes(X.toarray(), 5)[0], within=1e-10)
    return seconds


# --- on a device ------------------------------------------------------------------------------------------------------


@job("PCA fit and transform of 1,000,000 × 784 float32 on a GPU, k = 50")
def gpu(plan: Plan) -> Iterator[Line]:
    """The last result of benchmarks/gpu.py, which runs on a machine with a GPU."""
    if not GPU_RESULT.exists():
        return
    result = json.loads(GPU_RESULT.read_text())
    ms, errors, bar = result["milliseconds"], result["eigenvalue errors"], result["bar in milliseconds"]
    yield Line(
        "fit and transform", ms["fit and transform"] / 1e3, required=(Bar("ours", bar / 1e3),),
        remark=f"{result['device']}, {result['date']}; the bare product X'X takes {ms['bare product']:.3g} ms",
    )  # fmt: skip
    yield Line(
        "eigenvalues, against a plain float32 Gram and eigh", errors["lowland"], errors["plain float32"],
        unit="relative error", remark="against float64",
    )  # fmt: skip
