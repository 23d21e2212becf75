"""kill -9 at random moments of a command that writes: the old file is intact, or the new one complete."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np

from hunt.cases import Area, Wrong
from hunt.children import expect_clean, run_child
from hunt.writers import check_target, disturbed, leftovers


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Kill one command, look at its file, then run it again to the end."""
    found = disturbed(rng, seed, folder, signal.SIGKILL)
    if found.ended.code != -signal.SIGKILL:
        expect_clean(found.ended, (0,), found.case)
    check_target(found.writer, folder, found.case, done=found.ended.code == 0)
    left = leftovers(folder)
    if left or rng.random() < 0.1:
        again = f"{found.case}, and run again"
        expect_clean(run_child(found.work), (0,), again)
        check_target(found.writer, folder, again, done=True)
        if leftovers(folder):
            raise Wrong(f"{again}: {left[0]} remains")
    return f"done: {found.case}"


AREA = Area("kills", "kill -9 at random moments of commands that write", run, cases=700, limit=90)
