"""Every way to fail, on purpose: the tests check that the hunt notices each."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np

from hunt.cases import Area, Skipped, Wrong

WAYS = ("done", "refused", "skipped", "wrong", "raw error", "segmentation fault", "hang")


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Fail in the way that the seed names."""
    way = WAYS[seed]
    if way == "skipped":
        raise Skipped("not on this machine")
    if way == "wrong":
        raise Wrong("another result")
    if way == "raw error":
        raise ValueError("not an error of Lowland")
    if way == "segmentation fault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if way == "hang":
        time.sleep(1000)
    return way


AREA = Area("on-purpose", "every way to fail", run, cases=len(WAYS), limit=0.5)
