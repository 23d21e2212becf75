"""Dask workers killed while they compute: the result is the same, or an error says what happened."""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import lowland
from hunt.cases import Area, Skipped
from hunt.routes import close
from lowland.errors import LowlandError

X = np.random.default_rng(0).standard_normal((4000, 8)) * np.arange(1, 9)


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Kill one worker at a random moment of a fit."""
    client = _client()
    import dask.array as da

    lazy = da.from_array(X, chunks=(400, 8)).map_blocks(_slowly, meta=np.empty((0, 0)))
    victims = list(client.run(os.getpid).values())
    moment = float(rng.uniform(0, 0.4))

    def kill() -> None:
        time.sleep(moment)
        if victims:
            os.kill(victims[int(seed) % len(victims)], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    name = ("PCA", "TruncatedSVD", "Whitening")[seed % 3]
    case = f"{name}, a worker killed after {moment * 1e3:.0f} ms"
    try:
        est = getattr(lowland, name)(3).fit(lazy)
        Z = np.asarray(est.transform(lazy).compute())
    except LowlandError as error:
        return f"refused: {case}: {error}"[:200]
    finally:
        killer.join()
        client.wait_for_workers(2, timeout=60)
    theirs = getattr(lowland, name)(3).fit(X).transform(X)
    close(Z, theirs, 1e-8 * np.abs(theirs).max(), case)
    return f"done: {case}"


def _slowly(block: Any) -> Any:
    time.sleep(0.02)
    return block


@cache
def _client() -> Any:
    """A cluster of two worker processes; the nannies replace those that are killed."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise Skipped(f"Dask workers: distributed is not installed ({error}).") from None
    dask.config.set({"distributed.scheduler.allowed-failures": 100})
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50)
    return Client(cluster)


AREA = Area("dask-workers", "Dask workers killed while they compute", run, cases=12, limit=150, alone=True)
