"""The GPU job of classical scaling, a script of its own: ``PYTHONPATH=src python benchmarks/gpu_scaling.py``.

It makes the geodesic distances of 20,000 points on a sphere on the device, fits ClassicalMDS with 2 components, and
prints where the time goes. With the variable OUT set it writes gpu_scaling.json to that folder; kept beside this file,
it shows in ``make bench``.
"""

import datetime
import json
import os
import sys
from pathlib import Path

import torch

from gpu import milliseconds  # beside this script

N, K = 20_000, 2
BAR = 60.0  # milliseconds


def main():
    if not torch.cuda.is_available():
        sys.exit("gpu_scaling.py needs a CUDA device, and torch finds none here. Run it on a machine with a GPU.")
    from lowland import ClassicalMDS
    from lowland.data.rows import ArrayRows
    from lowland.math.distances.to_points import check_distances
    from lowland.math.spectra.operators import DoubleCentered
    from lowland.run.run import Run

    D = geodesics(N)
    B, V = DoubleCentered(ArrayRows(D), Run(), True), torch.randn(N, K + 10, device="cuda", dtype=torch.float64)
    model = ClassicalMDS(K, metric="precomputed").fit(D)
    work = {
        "fit": lambda: ClassicalMDS(K, metric="precomputed").fit(D),
        "checking the matrix": lambda: check_distances(D),
        "mean squares": lambda: B.row_means(D),
        "one product": lambda: B @ V,
        "bare float32 product": lambda: (D * D) @ V.float(),
    }
    times = {name: milliseconds(call) for name, call in work.items()}
    truth = exact_values(D)
    error = float(((model.eigenvalues_.double() - truth).abs() / truth).max())
    assert error <= 1e-6, f"the eigenvalues are off by {error:.1e}"
    lengths = (model.embedding_.double() ** 2).sum(dim=0)
    assert float(((lengths - truth).abs() / truth).max()) <= 1e-5, "the coordinates do not have these lengths"
    result = {
        "date": datetime.date.today().isoformat(),
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "table": f"geodesics of {N} points on a sphere, float32, k = {K}",
        "bar in milliseconds": BAR,
        "milliseconds": {name: round(ms, 3) for name, ms in times.items()},
        "iterations": model.n_iter_,
        "eigenvalues": model.eigenvalues_.tolist(),
        "eigenvalue error": error,
    }
    print(json.dumps(result, indent=1))
    print(f"fit {times['fit']:.2f} ms, bar {BAR:.0f} ms: {'met' if times['fit'] <= BAR else 'MISSED'}")
    if os.environ.get("OUT"):
        (Path(os.environ["OUT"]) / "gpu_scaling.json").write_text(json.dumps(result, indent=1) + "\n")


def geodesics(n):
    """Great-circle distances, (n, n) float32, symmetric to the last bit."""
    torch.manual_seed(0)
    U = torch.nn.functional.normalize(torch.randn(n, 3, device="cuda", dtype=torch.float64), dim=1)
    D = torch.arccos((U @ U.T).clip(-1, 1))
    D = ((D + D.T) / 2).float()
    return D.fill_diagonal_(0)


def exact_values(D):
    """The leading eigenvalues by LAPACK's route, all of them in float64 on the device."""
    B = D.double() ** 2
    B -= B.mean(dim=0)
    B -= B.mean(dim=1, keepdim=True)
    return torch.linalg.eigvalsh(B / -2).flip(0)[:K]


if __name__ == "__main__":
    main()
