"""Little memory (RLIMIT_AS): a clear error, not the end of the interpreter, and no damaged file."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hunt.cases import Area, Wrong
from hunt.children import expect_clean, run_child
from hunt.writers import HUNGRY, OLD, WRITERS, check_target, complete, leftovers
from lowland.errors import LowlandError

STEPS = (0, 1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 64)  # MiB beyond what the process has
BLAMES = ("not a valid", "not a complete", "damaged", "truncated", "disk space", "rite it again")  # of the file


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Run one command with a limit to its memory."""
    writers = HUNGRY if seed % 4 else WRITERS
    writer = writers[int(rng.integers(len(writers)))]
    complete(writer)
    (folder / writer.target).write_bytes(OLD)
    room = int(rng.choice(STEPS)) * 2**20 + int(rng.integers(2**20))
    case = f"{writer.name}, {room / 2**20:.1f} MiB"
    ended = run_child(_limited(writer.work(folder / writer.target), room), limit=80)
    expect_clean(ended, (0, 1), case)
    check_target(writer, folder, case, done=ended.code == 0)
    if ended.code and ("memory" not in ended.stderr.lower() or any(blame in ended.stderr for blame in BLAMES)):
        raise Wrong(f"{case}: the message does not say that the memory is too small: {ended.stderr[-200:]}")
    if left := leftovers(folder):
        raise Wrong(f"{case}: {left[0]} remains")
    return f"done: {case}: exit code {ended.code}: {ended.stderr[-100:]}"


def _limited(work: Callable[[], Any], room: int) -> Callable[[], Any]:
    def limited() -> Any:
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + room, size + room))
        try:
            return work()
        except (LowlandError, MemoryError) as error:
            print(f"lowland: {error}", file=sys.stderr)
            raise SystemExit(1) from None

    return limited


AREA = Area("memory", "a limit to the memory of the process", run, cases=160, limit=90)
