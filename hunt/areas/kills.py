"""kill -9 at random moments of a command that writes: the old file is intact, or the new one complete."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np

from hunt.cases import Area, Wrong
from hunt.children import expect_clean, run_child
from hunt.writers import OLD, WRITERS, check_target, complete, leftovers


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Kill one command, look at its file, then run it again to the end."""
    writer = WRITERS[seed % len(WRITERS)]
    seconds = complete(writer)[1]
    work = writer.work(folder / writer.target)
    (folder / writer.target).write_bytes(OLD)
    moment = float(rng.uniform(0, 1.1) * seconds)
    case = f"{writer.name}, killed after {moment * 1e3:.0f} of {seconds * 1e3:.0f} ms"
    ended = run_child(work, signal_after=(signal.SIGKILL, moment))
    if ended.code != -signal.SIGKILL:
        expect_clean(ended, (0,), case)
    check_target(writer, folder, case, done=ended.code == 0)
    left = leftovers(folder)
    if left or rng.random() < 0.1:
        expect_clean(run_child(work), (0,), f"{case}, and run again")
        check_target(writer, folder, f"{case}, and run again", done=True)
        if leftovers(folder):
            raise Wrong(f"{case}: {left[0]} remains after the next run")
    return f"done: {case}"


AREA = Area("kills", "kill -9 at random moments of commands that write", run, cases=700, limit=90)
