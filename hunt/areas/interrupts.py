"""Ctrl-C at random moments: exit code 130 within seconds, the old file intact, no unfinished file."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np

from hunt.cases import Area, Wrong
from hunt.children import INTERRUPTED, expect_clean
from hunt.writers import check_target, disturbed, leftovers

PATIENCE = 10.0  # seconds from Ctrl-C to the end, on a busy machine


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Interrupt one command and look at what it leaves."""
    found = disturbed(rng, seed, folder, signal.SIGINT)
    expect_clean(found.ended, (0, INTERRUPTED), found.case)
    check_target(found.writer, folder, found.case, done=found.ended.code == 0)
    if left := leftovers(folder):
        raise Wrong(f"{found.case}: {left[0]} remains")
    if found.ended.after_signal > PATIENCE:
        raise Wrong(f"{found.case}: ended {found.ended.after_signal:.1f} s after Ctrl-C")
    return f"done: {found.case}: exit code {found.ended.code}"


AREA = Area("interrupts", "Ctrl-C at random moments of commands that write", run, cases=700, limit=90)
