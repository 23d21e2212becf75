"""PCA of rows with missing values, compared with scikit-learn's IterativeImputer and statsmodels; from a CSV file."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fresh import fresh
from benchmarks.lines import Bar, Line, in_seconds
from benchmarks.measure import Times, WrongAnswer, alternate, resident, stopwatch
from benchmarks.registry import Plan, job

K, D = 10, 100
ROUNDS = 10  # of the imputer at most; it stops earlier by its own tolerance


def incomplete_rows(n: int, fraction: float, rng: np.random.Generator, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows of ten factors and noise, complete and with a fraction of the values missing at random."""
    complete = rng.standard_normal((n, len(W))) @ W + 3 * rng.standard_normal((n, W.shape[1])) + 5
    return complete, np.where(rng.random(complete.shape) < fraction, np.nan, complete)


def loadings(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((K, D)) * np.linspace(3, 1, K)[:, None]


def _ours(X: Any) -> Any:
    from lowland import PCA

    return PCA(K, missing="em").fit(X)


def _plain_pass(X: np.ndarray) -> Any:
    """What PCA of complete rows folds: their mean and covariance."""
    from lowland.data.open import open_rows
    from lowland.math.statistics.moments import Moments
    from lowland.run.run import run_for

    rows = open_rows(X)
    return run_for(rows).fold(rows, Moments.of)


def _statsmodels(X: np.ndarray) -> np.ndarray:
    from statsmodels.multivariate.pca import PCA

    return np.asarray(PCA(X, ncomp=K, standardize=False, missing="fill-em").loadings).T


def _imputer(X: np.ndarray) -> tuple[np.ndarray, int]:
    import warnings

    from sklearn.decomposition import PCA
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may not have converged
        imputer = IterativeImputer(max_iter=ROUNDS, random_state=0)
        return PCA(K).fit(imputer.fit_transform(X)).components_, int(imputer.n_iter_)


def _axes(X: np.ndarray) -> np.ndarray:
    return np.linalg.eigh(np.cov(X.T))[1][:, ::-1][:, :K].T


def subspace_error(axes: Any, truth: np.ndarray) -> float:
    """Return the sine of the largest angle between the subspaces; the axes need not be orthogonal."""
    Q = np.linalg.qr(np.asarray(axes, dtype=np.float64).T)[0]
    return float(np.linalg.norm(truth.T - Q @ (Q.T @ truth.T), 2))


@job("PCA(10, missing='em').fit of 50,000 × 100, 10 % missing")
def missing(plan: Plan) -> Iterator[Line]:
    rng = np.random.default_rng(0)
    W = loadings(rng)
    complete, X = incomplete_rows(plan.size(50_000, 3_000), 0.1, rng, W)
    work = {"ours": partial(_ours, X), "plain": partial(_plain_pass, complete), "peer": partial(_statsmodels, X)}
    times = alternate(work, plan.repeat)
    ours, passes, truth = times.answers["ours"], times.answers["ours"].n_iter_, _axes(complete)
    error, theirs, by_means = (
        subspace_error(axes, truth)
        for axes in (ours.components_, times.answers["peer"], _axes(np.where(np.isnan(X), np.nanmean(X, axis=0), X)))
    )
    per_pass = Times({"ours": [s / passes for s in times.seconds["ours"]], "plain": times.seconds["plain"]})
    yield per_pass.line(
        "one iteration against one plain pass for the moments of complete rows", "ours", "plain",
        required=() if plan.quick else (Bar("time", 3.0),), remark=f"{passes} iterations",
    )  # fmt: skip
    yield times.line(
        "against statsmodels (missing='fill-em')", "ours", "peer", required=() if plan.quick else (Bar("speed", 20.0),),
        remark="sine of the largest angle to the subspace of the complete rows: "
        f"{error:.5f}, statsmodels {theirs:.5f}, mean imputation {by_means:.5f}",
    )  # fmt: skip
    if not error < by_means:
        raise WrongAnswer(f"the error of the subspace, {error:.2e}, is not below mean imputation's, {by_means:.2e}")

    few = len(X) // 5  # the imputer takes minutes for all rows
    complete, X = complete[:few], X[:few]
    mine = alternate({"ours": partial(_ours, X)}, plan.repeat)
    seconds, (axes, rounds) = stopwatch(partial(_imputer, X))
    truth = _axes(complete)
    error, theirs = subspace_error(mine.answers["ours"].components_, truth), subspace_error(axes, truth)
    yield Line(
        f"{few:,} of the rows, against scikit-learn's IterativeImputer ({rounds} rounds) and PCA",
        mine.median("ours"), seconds, ratio=mine.median("ours") / seconds,
        required=() if plan.quick else (Bar("speed", 50.0),), remark="the peer ran once",
    )  # fmt: skip
    yield Line(
        f"the error of the subspace, {few:,} rows", error, theirs, unit="relative error",
        required=() if plan.quick else (Bar("ours", theirs),), remark=f"{error:.5f} against {theirs:.5f}",
    )  # fmt: skip


# --- from a text file -------------------------------------------------------------------------------------------------


@contextmanager
def incomplete_csv(n: int) -> Iterator[tuple[str, int]]:
    """Yield the path of a CSV file of n x 100 with 5 % missing, four decimals each, and its size; it is deleted."""
    with tempfile.TemporaryDirectory(prefix="lowland-benchmark-") as folder:
        needed, free = 17 * n * D, shutil.disk_usage(folder).free  # the text and the numbers that a fit stores
        if free < needed:
            raise OSError(f"the file needs {needed / 1e9:.1f} GB; the temporary folder has {free / 1e9:.1f} GB free")
        path = Path(folder) / "rows.csv"
        write_csv(path, n)
        yield str(path), path.stat().st_size


def write_csv(path: Path, n: int) -> None:
    import pyarrow as pa
    import pyarrow.csv as csv

    rng = np.random.default_rng(0)
    W = loadings(rng)
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(D)])
    with csv.CSVWriter(path, schema) as writer:
        for start in range(0, n, 20_000):
            X = np.round(incomplete_rows(min(20_000, n - start), 0.05, rng, W)[1], 4)
            columns = [pa.array(column, mask=np.isnan(column)) for column in np.ascontiguousarray(X.T)]
            writer.write(pa.record_batch(columns, schema=schema))


@job("PCA(10, missing='em').fit of a 4 GB CSV file, 5,700,000 × 100, 5 % missing, memory budget 512 MB")
def missing_csv(plan: Plan) -> Iterator[Line]:
    with incomplete_csv(plan.size(5_700_000, 60_000)) as (path, size):
        found, once = fresh(fit_incomplete_file, path), fresh(parse_file, path)
    truth = np.linalg.qr(loadings(np.random.default_rng(0)).T)[0].T
    error = subspace_error(found["axes"], truth)
    yield Line(
        "against parsing the file once", found["seconds"], once, ratio=found["seconds"] / once,
        required=() if plan.quick else (Bar("memory", 512e6),), memory=found["peak"],
        remark=f"{size / 1e9:.2f} GB, {found['passes']} iterations, {in_seconds(found['cpu'])} of CPU; sine of the "
        f"largest angle to the true subspace {error:.4f}; memory of the whole process",
    )  # fmt: skip


def fit_incomplete_file(path: str) -> dict[str, Any]:
    """In a new process: fit from the path within the budget; peak memory of the whole process."""
    import lowland

    model = lowland.PCA(K, missing="em")
    cpu = time.process_time()
    with lowland.config(memory="512MB"):
        seconds, model = stopwatch(partial(model.fit, path))
    return {
        "seconds": seconds, "cpu": time.process_time() - cpu, "peak": resident("VmHWM"), "own": resident("RssAnon"),
        "passes": int(model.n_iter_), "axes": model.components_.tolist(),
    }  # fmt: skip


def parse_file(path: str) -> float:
    """In a new process: seconds to parse the text alone, with Arrow."""
    import pyarrow.csv as csv

    def parse() -> int:
        with csv.open_csv(path) as reader:
            return sum(batch.num_rows for batch in reader)

    return stopwatch(parse)[0]
