"""Which methods compute on a GPU, a script of its own: ``PYTHONPATH=src python benchmarks/gpu_methods.py``.

Each method fits 4,000 × 40 rows as a tensor on the host and on the GPU. What the GPU allocated during the fit, beyond
the rows, shows whether the computation took place there. With the variable OUT set it writes gpu_methods.json to that
folder.
"""

import datetime
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch


def main():
    if not torch.cuda.is_available():
        sys.exit("gpu_methods.py needs a CUDA device, and torch finds none here. Run it on a machine with a GPU.")
    import lowland
    from lowland.methods.registry import entries

    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 4000)
    X = (4 * rng.standard_normal((5, 40))[y] + rng.standard_normal((4000, 40)) ** 3).astype(np.float32)
    result = {"date": datetime.date.today().isoformat(), "device": torch.cuda.get_device_name(), "methods": {}}
    for name, entry in entries().items():
        rows = np.abs(X).round() if name == "CorrespondenceAnalysis" else X
        found = result["methods"][name] = {"host": measured(lowland, name, entry, rows, y, torch.as_tensor)}
        found["gpu"] = measured(lowland, name, entry, rows, y, lambda a: torch.as_tensor(a, device="cuda"))
        print(name, found, flush=True)
    if "OUT" in os.environ:
        Path(os.environ["OUT"], "gpu_methods.json").write_text(json.dumps(result, indent=1) + "\n")


def measured(lowland, name, entry, X, y, place):
    """Seconds of the second fit, the memory it took on the GPU, and where the new coordinates are; or the error."""
    X = place(X)
    labels = (place(y),) if entry.needs_y else ()
    try:
        for _ in range(2):
            model = getattr(lowland, name)()
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before, begin = torch.cuda.memory_allocated(), time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X, *labels)
            torch.cuda.synchronize()
            seconds = time.perf_counter() - begin
            if seconds > 20:
                break
        megabytes = (torch.cuda.max_memory_allocated() - before) / 1e6
        Z = model.transform(X[:10])
        return {
            "seconds": round(seconds, 3),
            "megabytes": round(megabytes, 1),
            "output": str(getattr(Z, "device", "host")),
        }
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:200]}


if __name__ == "__main__":
    main()
