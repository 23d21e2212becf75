"""The GPU job, a script of its own: ``PYTHONPATH=src python benchmarks/gpu.py`` on a machine with CUDA.

It makes 1,000,000 × 784 float32 on the device, fits PCA with 50 components, transforms, and prints where the time goes.
With the variable OUT set it writes gpu.json to that folder; kept as benchmarks/gpu.json, it shows in ``make bench``.
"""

import datetime
import json
import os
import statistics
import sys
import time
from pathlib import Path

import torch

N, D, K = 1_000_000, 784, 50
WARM_UPS, RUNS = 3, 10
BAR = 60.0  # milliseconds for fit and transform
BLOCK = 50_000


def main():
    if not torch.cuda.is_available():
        sys.exit("gpu.py needs a CUDA device, and torch finds none here. Run it on a machine with an NVIDIA GPU.")
    from lowland import PCA
    from lowland.data.open import open_rows
    from lowland.math.spectra.leading import leading_eigenpairs
    from lowland.math.statistics.moments import Moments
    from lowland.run.run import Run

    X = make_table()
    truth = exact_values(X)
    run = Run()

    def moments():
        return run.fold(open_rows(X), Moments.of)

    S = moments().covariance
    model = PCA(K).fit(X)
    work = {
        "fit and transform": lambda: PCA(K).fit(X).transform(X),
        "fit": lambda: PCA(K).fit(X),
        "moments": moments,
        "eigenpairs": lambda: leading_eigenpairs(S, K, run=run),
        "transform": lambda: model.transform(X),
        "bare product": lambda: X.T @ X,
        "eigh in float64": lambda: torch.linalg.eigh(S),
        "eigh in float32": lambda: torch.linalg.eigh(S.float()),
    }
    times = {name: milliseconds(call) for name, call in work.items()}
    errors = {
        "lowland": error_of(model.explained_variance_, truth),
        "plain float32": error_of(plain_values(X), truth),
    }
    check(model, X, truth)
    result = {
        "date": datetime.date.today().isoformat(),
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "table": f"{N} x {D} float32, k = {K}",
        "bar in milliseconds": BAR,
        "milliseconds": {name: round(ms, 3) for name, ms in times.items()},
        "eigenvalue errors": errors,
        "peak beyond the table, MB": round(peak_beyond(work["fit and transform"]) / 1e6),
    }
    tell(result)
    if os.environ.get("OUT"):
        (Path(os.environ["OUT"]) / "gpu.json").write_text(json.dumps(result, indent=1) + "\n")


def make_table():
    """Correlated columns with a falling spectrum, away from the origin, made on the device."""
    torch.manual_seed(0)
    Q, _ = torch.linalg.qr(torch.randn(D, D, device="cuda"))
    mix = (3 * 0.95 ** torch.arange(D, device="cuda") + 0.1)[:, None] * Q.T
    return torch.randn(N, D, device="cuda") @ mix + 5


def exact_values(X):
    """The leading eigenvalues of the covariance, in float64, block by block."""
    mean = sum(block.double().sum(dim=0) for block in X.split(BLOCK)) / N
    S = sum(C.T @ C for C in (block.double() - mean for block in X.split(BLOCK)))
    return torch.linalg.eigvalsh(S / (N - 1)).flip(0)[:K]


def plain_values(X):
    """What one would write first: a float32 Gram matrix minus the mean's, and eigh in float32."""
    mean = X.mean(dim=0)
    return torch.linalg.eigvalsh((X.T @ X - N * torch.outer(mean, mean)) / (N - 1)).flip(0)[:K]


def error_of(values, truth):
    return float(((values.double() - truth).abs() / truth).max())


def check(model, X, truth):
    """A fast wrong answer must fail: eigenvalues to 1e-5, coordinates with those variances and no correlation."""
    error = error_of(model.explained_variance_, truth)
    assert error <= 1e-5, f"the eigenvalues are off by {error:.1e}"
    Z = model.transform(X).double()
    assert Z.shape == (N, K)
    off = ((Z.T @ Z / (N - 1) - torch.diag(truth)).abs() / truth[0]).max()
    assert off <= 1e-4, f"the coordinates' covariance is off by {off:.1e} of the first eigenvalue"


def milliseconds(call):
    """The median of ten runs after three warm-ups, each waited for."""
    times = []
    for _ in range(WARM_UPS + RUNS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[WARM_UPS:])


def peak_beyond(call):
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def tell(result):
    times = result["milliseconds"]
    whole = times["fit and transform"]
    print(f"{result['device']}, torch {result['torch']}, {result['date']}: {result['table']}")
    print(f"fit and transform  {whole:8.2f} ms   bar {BAR:.0f} ms: {'met' if whole <= BAR else 'MISSED'}")
    for name in ("moments", "eigenpairs", "transform"):
        print(f"  {name:17s}{times[name]:8.2f} ms   {times[name] / whole:4.0%}")
    for name in ("fit", "bare product", "eigh in float64", "eigh in float32"):
        print(f"{name:19s}{times[name]:8.2f} ms")
    for name, error in result["eigenvalue errors"].items():
        print(f"largest relative error of the eigenvalues, {name}: {error:.1e}")
    print(f"device memory beyond the table: {result['peak beyond the table, MB']} MB")


if __name__ == "__main__":
    main()
