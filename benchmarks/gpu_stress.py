"""Scaling on a GPU, a script of its own: ``PYTHONPATH=src python benchmarks/gpu_stress.py`` on a machine with CUDA.

It makes 20,000 rows on the device, fits MDS to their distances, and prints what an iteration takes. With the variable
OUT set it writes gpu_stress.json to that folder; kept as benchmarks/gpu_stress.json, it shows in ``make bench``.
"""

import datetime
import json
import os
import sys
import time
import warnings
from pathlib import Path

import torch

N, BAR = 20_000, 8.0  # points; milliseconds an iteration
FEW, MANY = 5, 45  # iterations of the two fits whose difference is timed


def main():
    if not torch.cuda.is_available():
        sys.exit(
            "gpu_stress.py needs a CUDA device, and torch finds none here. Run it on a machine with an NVIDIA GPU."
        )
    from lowland import MDS
    from lowland.math.scaling.stress import Targets, stress_gradient
    from lowland.run.run import Run

    warnings.simplefilter("ignore")  # the fits are cut short on purpose
    torch.manual_seed(0)
    X = torch.randn(N, 20, device="cuda") * torch.linspace(3, 0.3, 20, device="cuda")
    D = torch.cdist(X, X, compute_mode="donot_use_mm_for_euclid_dist")
    D.fill_diagonal_(0)
    start = torch.randn(N, 2, device="cuda")
    models = {}
    seconds = {}
    for steps in (FEW, FEW, MANY):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        models[steps] = MDS(metric="precomputed", eps=0, max_iter=steps).fit(D, init=start)
        torch.cuda.synchronize()
        seconds[steps] = time.perf_counter() - begin
    steps = models[MANY].n_iter_ - models[FEW].n_iter_
    each = 1e3 * (seconds[MANY] - seconds[FEW]) / steps
    check(D, models[MANY])
    targets, Z, run = Targets.of(D), models[MANY].embedding_.double(), Run()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(10):
        stress_gradient(targets, Z, run, exact=False)
    torch.cuda.synchronize()
    one_pass = 1e3 * (time.perf_counter() - begin) / 10
    result = {
        "date": datetime.date.today().isoformat(),
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "bar in milliseconds": BAR,
        "milliseconds an iteration": round(each, 3),
        "milliseconds a pass": round(one_pass, 3),
        "iterations": models[MANY].n_iter_,
        "stress-1": models[MANY].stress1_,
        "peak beyond the matrix, MB": round((torch.cuda.max_memory_allocated() - D.nbytes) / 1e6),
    }
    for name, value in result.items():
        print(f"{name}: {value}")
    print(f"bar of {BAR:g} ms: {'met' if each <= BAR else 'MISSED'}")
    if os.environ.get("OUT"):
        (Path(os.environ["OUT"]) / "gpu_stress.json").write_text(json.dumps(result, indent=1) + "\n")


def check(D, model):
    """Check that the reported stress is that of the coordinates in float64, and that it decreased throughout."""
    Z = model.embedding_.double()
    truth = 0.0
    for start in range(0, N, 2000):
        d = torch.cdist(Z[start : start + 2000], Z, compute_mode="donot_use_mm_for_euclid_dist")
        truth += float(((D[start : start + 2000].double() - d) ** 2).sum()) / 2
    assert abs(model.stress_ / truth - 1) < 1e-5, f"stress {model.stress_:.8g}, but the coordinates have {truth:.8g}"
    assert all(b <= a for a, b in zip(model.trace_, model.trace_[1:], strict=False))


if __name__ == "__main__":
    main()
