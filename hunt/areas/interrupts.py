"""Ctrl-C at random moments: exit code 130 within seconds, the old file intact, no unfinished file."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np

from hunt.cases import Area, Wrong
from hunt.children import INTERRUPTED, expect_clean, run_child
from hunt.writers import OLD, WRITERS, check_target, complete, leftovers

PATIENCE = 10.0  # seconds from Ctrl-C to the end, on a busy machine


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Interrupt one command and look at what it leaves."""
    writer = WRITERS[seed % len(WRITERS)]
    seconds = complete(writer)[1]
    work = writer.work(folder / writer.target)
    (folder / writer.target).write_bytes(OLD)
    moment = float(rng.uniform(0, 1.05) * seconds)
    case = f"{writer.name}, Ctrl-C after {moment * 1e3:.0f} of {seconds * 1e3:.0f} ms"
    ended = run_child(work, signal_after=(signal.SIGINT, moment))
    expect_clean(ended, (0, INTERRUPTED), case)
    check_target(writer, folder, case, done=ended.code == 0)
    if left := leftovers(folder):
        raise Wrong(f"{case}: {left[0]} remains")
    if ended.after_signal > PATIENCE:
        raise Wrong(f"{case}: ended {ended.after_signal:.1f} s after Ctrl-C")
    return f"done: {case}: exit code {ended.code}"


AREA = Area("interrupts", "Ctrl-C at random moments of commands that write", run, cases=700, limit=90)
